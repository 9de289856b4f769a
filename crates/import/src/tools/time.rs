//! `time`, in the words of every shell and of GNU's program: how long a command took on the wall clock, and on CPUs.

use record::command_line::{CommandLine, comparable_name, conditions};

use crate::prompts;
use crate::reading::*;

/// Where a time was spent: on CPUs in this state, or else it is the clock's.
type Part = Option<&'static str>;
const REAL: Part = None;
const USER: Part = Some("user");
const SYSTEM: Part = Some("system");

/// `time`.
pub(super) const TIME: Tool = Tool {
    name: "time",
    opens: |line, _| {
        let text = line.text.trim();
        text.starts_with(TIMED) || !parts(text).is_empty()
    },
    reader: |command| Box::new(TimeReader::new(command)),
};

const TIMED: &str = "Command being timed: ";

/// The part that a line is of and how it is written, by what stands before it.
type Form = (Part, fn(&str) -> Option<f64>);

/// Bash, ksh and POSIX (`real    0m39.763s`, `real 2,57`), fish (`usr time    0.92 millis`), GNU's `-v`.
const LABELLED: &[(&str, Form)] = &[
    ("real", (REAL, seconds)),
    ("user", (USER, seconds)),
    ("usr time", (USER, fish)),
    ("sys time", (SYSTEM, fish)),
    ("sys", (SYSTEM, seconds)),
    ("Executed in ", (REAL, fish)),
    ("User time (seconds):", (USER, seconds)),
    ("System time (seconds):", (SYSTEM, seconds)),
    ("Elapsed (wall clock) time (h:mm:ss or m:ss):", (REAL, gnu_clock)),
];

/// What GNU's `-v` counts, and what the events are called.
const COUNTS: &[(&str, &str)] = &[
    ("Major (requiring I/O) page faults:", "major-faults"),
    ("Minor (reclaiming a frame) page faults:", "minor-faults"),
    ("Voluntary context switches:", "voluntary-switches"),
    ("Involuntary context switches:", "involuntary-switches"),
];

/// The seconds that a line tells, in the order of the line. Empty for any other line.
fn parts(text: &str) -> Vec<(Part, f64)> {
    let text = text.trim();
    if let Some(((part, read), rest)) = scan::find_start(LABELLED, text)
        && (rest.starts_with([' ', '\t']))
    {
        return read(rest.trim()).map(|seconds| (part, seconds)).into_iter().collect();
    }
    in_one_line(text).unwrap_or_default()
}

/// Everything in one line: GNU, csh, BSD and mksh, zsh.
fn in_one_line(text: &str) -> Option<Vec<(Part, f64)>> {
    // Of zsh the command stands before it, whatever it begins with.
    if let Some((_, [user, system, total])) = zsh(text) {
        return in_order([(USER, user), (SYSTEM, system), (REAL, total)]);
    }
    // Most lines begin with no figure.
    text.starts_with(|c: char| c.is_ascii_digit()).then_some(())?;
    match scan::words(text)[..] {
        // `0.01 real         0.00 user         0.00 sys`
        [real, "real", user, "user", system, "sys" | "system"] => {
            in_order([(REAL, real), (USER, user), (SYSTEM, system)])
        }
        // `0.00user 0.00system 0:00.01elapsed 9%CPU (…`, `0.000u 0.001s 0:00.00 0.0%    0+0k 0+0io 0pf+0w`
        [user, system, elapsed, share, ..] if share.contains('%') => {
            let user = user.strip_suffix("user").or(user.strip_suffix('u'))?;
            let system = system.strip_suffix("system").or(system.strip_suffix('s'))?;
            in_order([(USER, user), (SYSTEM, system), (REAL, elapsed.trim_end_matches("elapsed"))])
        }
        _ => None,
    }
}

fn in_order(parts: [(Part, &str); 3]) -> Option<Vec<(Part, f64)>> {
    parts.into_iter().map(|(part, text)| Some((part, seconds(text)?))).collect()
}

/// The command and its times: `bc -l -q  39.63s user 0.13s system 99% cpu 39.763 total`
fn zsh(text: &str) -> Option<(&str, [&str; 3])> {
    let front = text.strip_suffix(" total")?;
    let words: Vec<&str> = front.split_whitespace().rev().take(7).collect();
    let [total, "cpu", _, "system", system, "user", user] = words[..] else { return None };
    let (before, _) = front.rsplit_once(" user ")?;
    Some((before.trim_end().strip_suffix(user)?.trim(), [user, system, total]))
}

/// `0m39.763s`, `1h2m3s`, `39.763`, `2,57`, `0.01s`, `0:00.01`, `1:02:03`.
fn seconds(text: &str) -> Option<f64> {
    text.strip_suffix('s').unwrap_or(text).split(['h', 'm', ':']).try_fold(0.0, |total, part| {
        let blank = part.contains(char::is_whitespace) || part.starts_with('-');
        Some(total * 60.0 + parse_decimal(part).filter(|_| !blank)?)
    })
}

/// `0:00.12`, `1:02:03`: hundredths, or whole minutes and seconds; anything else was cut.
fn gnu_clock(text: &str) -> Option<f64> {
    let (front, last) = text.rsplit_once(':')?;
    seconds(text).filter(|_| last.len() == if front.contains(':') { 2 } else { 5 })
}

fn fish(text: &str) -> Option<f64> {
    let minutes = |unit: &str, scale: f64| Some(scan::quantity(text, &[(unit, 0)])? * scale);
    scan::quantity(text, &[("secs", 0), ("millis", -3), ("micros", -6)])
        .or_else(|| minutes("mins", 60.0))
        .or_else(|| minutes("hours", 3600.0))
}

/// Reads one output of `time`.
#[derive(Debug, Default)]
struct TimeReader {
    workload: Option<String>,
    under: Option<String>,
    times: Vec<(Part, f64, PendingLine)>,
    /// Events that GNU's `-v` counts.
    counts: Vec<(&'static str, f64, PendingLine)>,
    max_rss_bytes: Option<u64>,
    verbose: bool,
}

impl TimeReader {
    fn new(command: Option<&Command>) -> Self {
        // Without the word it is what a document writes above the times.
        let names = |command: &&Command| prompts::may_be_command(&command.text);
        let line = command.filter(names).map(|command| CommandLine::read(&command.text));
        // What was timed is perf with what it ran.
        let name = |line: CommandLine| match line.perf {
            Some(_) => format!("perf stat {}", line.name),
            None => line.name,
        };
        Self { workload: line.map(name).filter(|name| !name.is_empty()), ..Self::default() }
    }

    fn set_command(&mut self, command: &str) {
        self.workload = Some(comparable_name(command)).filter(|name| !name.is_empty());
        self.under = conditions(command);
    }
}

impl Reader for TimeReader {
    fn line(&mut self, line: Line, _: &mut Sink) -> Fit {
        let text = line.text.trim();
        if let Some(command) = text.strip_prefix(TIMED) {
            if self.verbose || !self.times.is_empty() {
                return Fit::Over;
            }
            self.verbose = true;
            self.set_command(command.trim_matches('"'));
            return Fit::Taken;
        }
        if let Some((event, rest)) = scan::find_start(COUNTS, text).filter(|_| self.verbose)
            && let Some(count) = parse_whole(rest)
        {
            self.counts.push((event, count as f64, line.into()));
            return Fit::Taken;
        }
        if let Some(kib) = text.strip_prefix("Maximum resident set size (kbytes):").and_then(parse_whole) {
            self.max_rss_bytes = kib.checked_mul(1024);
        }
        let parts = parts(text);
        if parts.is_empty() {
            let further = self.verbose && text.contains(": ") || text.ends_with("swaps");
            return match self.times.len() {
                _ if further => Fit::Taken,
                0..=2 => Fit::Between,
                _ => Fit::Over,
            };
        }
        if parts.iter().any(|(part, _)| self.times.iter().any(|(known, ..)| known == part)) {
            return Fit::Over;
        }
        if let (None, Some((command, _))) = (&self.workload, zsh(text)) {
            self.set_command(command);
        }
        self.times.extend(parts.into_iter().map(|(part, seconds)| (part, seconds, PendingLine::from(line))));
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        sink.under = sink.under.take().or(self.under.take());
        for (state, seconds, line) in std::mem::take(&mut self.times) {
            let mut m = scan::run_time(self.workload.as_deref(), state, seconds);
            m.doubt = self.workload.is_none().then(|| "what was timed is not told".into());
            let most = self.max_rss_bytes.filter(|_| state.is_none());
            sink.add_figure(m.with_known_detail(detail::MAX_RSS_BYTES, most), line.line());
        }
        for (event, count, line) in std::mem::take(&mut self.counts) {
            let place = Labels::new()
                .with_label(Label::Event, event)
                .with_known(Label::Workload, self.workload.as_deref());
            let m = Measurement::exact(
                metrics::COUNTER_COUNT,
                place.with_label(Label::Scope, "process"),
                vec![count],
            );
            sink.add_figure(m, line.line());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::{figures, import};
    use proptest::prelude::*;

    /// Real, user and system seconds of a text.
    fn times(text: &str) -> [Option<f64>; 3] {
        let of = |part: Part| {
            parts(text).into_iter().find(|(known, _)| *known == part).map(|(_, seconds)| seconds)
        };
        [of(REAL), of(USER), of(SYSTEM)]
    }

    #[test]
    fn every_shell_tells_the_same_three_times() {
        assert_eq!(times("real\t0m39.763s")[0], Some(39.763));
        assert_eq!(times("user 1h2m3,5s")[1], Some(3723.5));
        assert_eq!(times("real 2,57")[0], Some(2.57));
        let all = [Some(39.763), Some(39.63), Some(0.13)];
        assert_eq!(times("bc -l -q  39.63s user 0.13s system 99% cpu 39.763 total"), all);
        assert_eq!(
            times("39.63user 0.13system 0:39.763elapsed 99%CPU (0avgtext+0avgdata 1684maxresident)k"),
            all
        );
        assert_eq!(times("39.63u 0.13s 0:39.763 99.9%\t0+0k 0+0io 0pf+0w"), all);
        assert_eq!(times("       39.763 real         39.63 user         0.13 sys"), all);
        assert_eq!(times("Elapsed (wall clock) time (h:mm:ss or m:ss): 1:02:03")[0], Some(3723.0));
        assert_eq!(times("Executed in   10.05 millis    fish           external")[0], Some(0.01005));
        assert_eq!(times("   usr time    0.92 millis    0.00 micros    0.92 millis")[1], Some(0.00092));
        for text in
            ["", "real", "real estate", "user 5 was here", "sys", "real 1e5", "total", "5 total", "real -m1s"]
        {
            assert_eq!(times(text), [None; 3], "{text}");
        }
    }

    #[test]
    fn the_times_are_of_the_command_that_was_timed() {
        let imported =
            import("$ time ./solver --grid 512\n\nreal\t1m0.500s\nuser\t0m59.000s\nsys\t0m0.250s\n");
        assert_eq!(
            figures(&imported),
            [
                "workload.time workload=solver --grid 512: 60.5",
                "workload.cpu_time workload=solver --grid 512 state=user: 59",
                "workload.cpu_time workload=solver --grid 512 state=system: 0.25",
            ]
        );
        let verbose = "\tCommand being timed: \"/usr/bin/sleep 0.01\"\n\tUser time (seconds): 0.00\n\tSystem time (seconds): \
            0.01\n\tPercent of CPU this job got: 9%\n\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:00.01\n\tExit status: 0\n";
        assert_eq!(
            figures(&import(verbose)),
            [
                "workload.cpu_time workload=sleep 0.01 state=user: 0",
                "workload.cpu_time workload=sleep 0.01 state=system: 0.01",
                "workload.time workload=sleep 0.01: 0.01",
            ]
        );
    }

    #[test]
    fn zsh_names_the_command_whatever_it_begins_with() {
        for command in ["sleep 0.01", "./run.sh -x", "user-tool a b", "12monkeys"] {
            let imported = import(&format!("{command}  0.00s user 0.00s system 6% cpu 0.020 total\n"));
            let name = command.trim_start_matches("./");
            assert_eq!(figures(&imported)[2], format!("workload.time workload={name}: 0.02"));
        }
        let unknown = import("real\t0m0.012s\nuser\t0m0.001s\nsys\t0m0.000s\n");
        assert!(unknown.measurements.iter().all(|m| m.doubt.is_some()), "nothing tells what was timed");
    }

    proptest! {
        #[test]
        fn no_line_panics(text in "\\PC{0,80}", times in "[0-9a-z:.,% -]{0,60}") {
            for line in [text, format!("real {times}"), format!("{times} total"), times] {
                let _ = parts(&line);
            }
        }
    }
}
