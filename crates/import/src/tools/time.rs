//! `time`, in the words of every shell and of GNU's program: how long a command took on the wall clock, and on CPUs.

use record::{Label, Labels, Measurement};

use crate::line::{Line, PendingLine};
use crate::numbers;
use crate::sink::Sink;
use crate::tool::{Command, Fit, Reader, Tool};
use record::command_line::{CommandLine, comparable_name, conditions};

/// A part of what it prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Real,
    User,
    System,
}

/// `time`.
pub(super) const TIME: Tool = Tool {
    name: "time",
    opens: |line, _| is_time(line),
    reader: |command| Box::new(TimeReader::new(command)),
};

/// Whether a line is one of `time`'s.
fn is_time(line: Line) -> bool {
    let text = line.text.trim();
    text.starts_with("Command being timed: ") || !parts(text).is_empty()
}

/// The seconds that a line tells, in the order of the line. Empty for any other line.
fn parts(text: &str) -> Vec<(Part, f64)> {
    let text = text.trim();
    // zsh: the command stands before it, whatever it begins with.
    if text.ends_with(" total") {
        return zsh(text).map(|(_, parts)| parts).unwrap_or_default();
    }
    let first = text.bytes().next().unwrap_or(b' ');
    let mut words = text.split_whitespace();
    match first {
        // bash, ksh, POSIX: `real    0m39.763s`, `real 2,57`.
        b'r' | b'u' | b's' => {
            let (Some(label), Some(value)) = (words.next(), words.next()) else { return Vec::new() };
            // fish: `usr time    0.92 millis`
            if let ("usr" | "sys", "time") = (label, value) {
                let value = words.next().zip(words.next()).and_then(|(value, unit)| fish(value, unit));
                let part = if label == "usr" { Part::User } else { Part::System };
                return value.map(|seconds| (part, seconds)).into_iter().collect();
            }
            let part = match label {
                "real" => Part::Real,
                "user" => Part::User,
                "sys" => Part::System,
                _ => return Vec::new(),
            };
            match (seconds(value), words.next()) {
                (Some(seconds), None) => vec![(part, seconds)],
                _ => Vec::new(),
            }
        }
        // fish: `Executed in   10.05 millis    fish           external`
        b'E' if text.starts_with("Executed in ") => {
            let value = words.nth(2).zip(words.next()).and_then(|(value, unit)| fish(value, unit));
            value.map(|seconds| (Part::Real, seconds)).into_iter().collect()
        }
        // GNU -v
        b'U' | b'S' | b'E' => gnu_verbose(text).into_iter().collect(),
        b'0'..=b'9' => one_line(text).unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn gnu_verbose(text: &str) -> Option<(Part, f64)> {
    if let Some(value) = text.strip_prefix("User time (seconds): ") {
        return Some((Part::User, numbers::parse_decimal(value)?));
    }
    if let Some(value) = text.strip_prefix("System time (seconds): ") {
        return Some((Part::System, numbers::parse_decimal(value)?));
    }
    let value = text.strip_prefix("Elapsed (wall clock) time (h:mm:ss or m:ss): ")?;
    // A margin may have broken it: `0:00.12` has hundredths, `1:02:03` whole minutes and seconds.
    let (front, last) = value.rsplit_once(':')?;
    let whole = if front.contains(':') { last.len() == 2 } else { last.len() == 5 };
    Some((Part::Real, clock(value).filter(|_| whole)?))
}

/// Everything in one line: GNU, csh, BSD.
fn one_line(text: &str) -> Option<Vec<(Part, f64)>> {
    let mut words = text.split_whitespace();
    // What each of them begins with: most lines that begin with a figure are something else.
    let (first, second) = (words.next()?, words.next()?);
    if !first.ends_with(['r', 'u']) && second != "real" {
        return None;
    }
    let words: Vec<&str> = text.split_whitespace().take(16).collect();
    // GNU: `0.00user 0.00system 0:00.01elapsed 9%CPU (…`
    if let Some(user) = words.first()?.strip_suffix("user") {
        let system = words.get(1)?.strip_suffix("system")?;
        let elapsed = words.get(2)?.strip_suffix("elapsed")?;
        return Some(vec![
            (Part::User, numbers::parse_decimal(user)?),
            (Part::System, numbers::parse_decimal(system)?),
            (Part::Real, clock(elapsed)?),
        ]);
    }
    // csh: `0.000u 0.001s 0:00.00 0.0%    0+0k 0+0io 0pf+0w`
    if let Some(user) = words.first()?.strip_suffix('u') {
        let system = words.get(1)?.strip_suffix('s')?;
        let share = words.get(3)?;
        if !share.ends_with('%') {
            return None;
        }
        return Some(vec![
            (Part::User, numbers::parse_decimal(user)?),
            (Part::System, numbers::parse_decimal(system)?),
            (Part::Real, clock(words.get(2)?)?),
        ]);
    }
    // BSD, mksh: `0.01 real         0.00 user         0.00 sys`
    if let [real, "real", user, "user", system, "sys" | "system"] = words[..] {
        return Some(vec![
            (Part::Real, seconds(real)?),
            (Part::User, seconds(user)?),
            (Part::System, seconds(system)?),
        ]);
    }
    None
}

/// zsh, with the command: `bc -l -q  39.63s user 0.13s system 99% cpu 39.763 total`
fn zsh(text: &str) -> Option<(&str, Vec<(Part, f64)>)> {
    let front = text.strip_suffix(" total")?;
    let words: Vec<&str> = front.split_whitespace().rev().take(7).collect();
    let [total, "cpu", share, "system", system, "user", user] = words[..] else { return None };
    if !share.ends_with('%') {
        return None;
    }
    let (before, _) = front.rsplit_once(" user ")?;
    let command = before.trim_end().strip_suffix(user)?;
    let parts = vec![
        (Part::User, numbers::parse_decimal(user.strip_suffix('s')?)?),
        (Part::System, numbers::parse_decimal(system.strip_suffix('s')?)?),
        (Part::Real, clock(total)?),
    ];
    Some((command.trim(), parts))
}

/// `0m39.763s`, `1h2m3s`, `39.763`, `2,57`, `0.01s`.
fn seconds(text: &str) -> Option<f64> {
    let Some(rest) = text.strip_suffix('s') else { return numbers::parse_decimal(text) };
    let (hours, rest) = rest.split_once('h').map_or((0.0, rest), |(hours, rest)| (whole(hours), rest));
    let (minutes, rest) = rest.split_once('m').map_or((0.0, rest), |(minutes, rest)| (whole(minutes), rest));
    Some(hours * 3600.0 + minutes * 60.0 + numbers::parse_decimal(rest)?)
        .filter(|seconds| seconds.is_finite())
}

fn whole(text: &str) -> f64 {
    numbers::parse_whole(text).map_or(f64::NAN, |value| value as f64)
}

/// `0:00.01`, `1:02:03`, `39.763`.
fn clock(text: &str) -> Option<f64> {
    let mut total = 0.0;
    for part in text.split(':') {
        total = total * 60.0 + numbers::parse_decimal(part).filter(|part| *part >= 0.0)?;
    }
    Some(total)
}

fn fish(value: &str, unit: &str) -> Option<f64> {
    let scale = match unit {
        "secs" => 1.0,
        "millis" => return Some(numbers::parse_decimal(value)? / 1e3),
        "micros" => return Some(numbers::parse_decimal(value)? / 1e6),
        "mins" => 60.0,
        "hours" => 3600.0,
        _ => return None,
    };
    Some(numbers::parse_decimal(value)? * scale)
}

/// Reads one output of `time`.
#[derive(Debug)]
struct TimeReader {
    workload: Option<String>,
    under: Option<String>,
    times: Vec<(Part, f64, PendingLine)>,
    verbose: bool,
}

impl TimeReader {
    fn new(command: Option<&Command>) -> Self {
        let line = command
            .filter(|command| command.text.contains("time"))
            .map(|command| CommandLine::read(&command.text))
            .filter(|line| line.timed);
        // What was timed is perf with what it ran.
        let name = |line: CommandLine| match line.perf {
            Some(_) => format!("perf stat {}", line.name),
            None => line.name,
        };
        let workload = line.map(name).filter(|name| !name.is_empty());
        Self { workload, under: None, times: Vec::new(), verbose: false }
    }
}

impl Reader for TimeReader {
    fn line(&mut self, line: Line, _: &mut Sink) -> Fit {
        let text = line.text.trim();
        if let Some(command) = text.strip_prefix("Command being timed: ") {
            if self.verbose || !self.times.is_empty() {
                return Fit::Over;
            }
            self.verbose = true;
            let command = command.trim_matches('"');
            self.workload = Some(comparable_name(command)).filter(|name| !name.is_empty());
            self.under = conditions(command);
            return Fit::Taken;
        }
        let parts = parts(text);
        if parts.is_empty() {
            let further = self.verbose && text.contains(": ") || text.ends_with("swaps");
            return match (further, self.times.len()) {
                (true, _) => Fit::Taken,
                (false, 0..=2) => Fit::Between,
                (false, _) => Fit::Over,
            };
        }
        if parts.iter().any(|(part, _)| self.times.iter().any(|(known, ..)| known == part)) {
            return Fit::Over;
        }
        if self.workload.is_none()
            && let Some((command, _)) = zsh(text)
        {
            self.workload = Some(comparable_name(command)).filter(|name| !name.is_empty());
            self.under = conditions(command);
        }
        self.times.extend(parts.into_iter().map(|(part, seconds)| (part, seconds, PendingLine::from(line))));
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        sink.under = sink.under.take().or(self.under.take());
        for (part, seconds, line) in &self.times {
            let place = Labels::new().with_known(Label::Workload, self.workload.as_deref());
            let (metric, place) = match part {
                Part::Real => ("workload.time", place),
                Part::User => ("workload.cpu_time", place.with_label(Label::State, "user")),
                Part::System => ("workload.cpu_time", place.with_label(Label::State, "system")),
            };
            let mut m = Measurement::exact(metric, place, vec![*seconds]);
            if self.workload.is_none() {
                m.doubt = Some("what was timed is not told".into());
            }
            sink.add_figure(m, line.line());
        }
        self.times.clear();
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
        [of(Part::Real), of(Part::User), of(Part::System)]
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
