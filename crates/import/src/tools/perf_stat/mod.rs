//! `perf stat`: counters of a command, of a process that ran already or of the whole machine; as text, in fields (`-x`)
//! and as JSON (`-j`).

mod counts;
mod fields;
mod run;
mod text;
mod topdown;

#[cfg(test)]
mod tests;

use record::{Label, Labels, Measurement, detail};

use self::counts::Counts;
use self::run::Run;
use self::text::Counter;
use crate::line::{Line, PendingLine};
use crate::numbers;
use crate::sink::Sink;
use crate::tool::{Command, Fit, Reader, Tool};
use record::command_line::{CommandLine, comparable_name, conditions};

/// How an output begins.
const HEAD: &str = "Performance counter stats for ";

/// Events that people ask for by name, to know a counter's line where nothing above it says that it is one.
const KNOWN: &str = "\
    cycles instructions branches task-clock cpu-clock cs faults migrations page-faults context-switches \
    cpu-migrations cpu-cycles ref-cycles bus-cycles cache-misses cache-references branch-misses \
    branch-instructions slots";

/// `perf stat`.
pub(super) const PERF_STAT: Tool =
    Tool { name: "perf stat", opens, reader: |command| Box::new(PerfReader::new(command)) };

fn opens(line: Line, command: Option<&Command>) -> bool {
    let text = line.text;
    if text.contains(HEAD)
        || is_interval_head(text)
        || ["tma_", "topdown-"].iter().any(|mark| text.contains(mark)) && topdown::share(text).is_some()
    {
        return true;
    }
    // Of a counter's line every layout has letters and begins with a figure, a part's name or a brace.
    let first = text.trim().bytes().next().unwrap_or(b' ');
    if !first.is_ascii_alphanumeric() && first != b'<' && first != b'{' {
        return false;
    }
    if fields::json(text).is_some() {
        return true;
    }
    let of_perf =
        || command.is_some_and(|command| command.text.contains("perf") && command.text.contains("stat"));
    let known = |counter: Counter| {
        let name = counter.event.split(':').next().unwrap_or_default();
        KNOWN.split(' ').any(|known| known == name) || name.starts_with("power/energy-")
    };
    if of_perf() && text::counter(text).is_some_and(known) {
        return true;
    }
    let named =
        |counter: &Counter| ["cycles", "instructions"].iter().any(|name| counter.event.contains(name));
    // What stands before the first separator is one word.
    let one_word = || {
        let front = text.trim_start().split(fields::USUAL).next().unwrap_or_default();
        front.len() < 64 && !front.contains(' ') || front.starts_with("<not ")
    };
    fields::fields(text, None)
        .is_some_and(|counter| (named(&counter) || known(counter) || of_perf()) && one_word())
        || fields::blanks(text).is_some_and(|counter| named(&counter) || known(counter))
}

/// Whether a text is what perf prints, or that without one of its letters: no command is called `ystem wide`.
fn is_nearly(text: &str, printed: &str) -> bool {
    let same = text.bytes().zip(printed.bytes()).take_while(|(one, other)| one == other).count();
    text == printed
        || text.len() + 1 == printed.len()
            && text.as_bytes().get(same..) == printed.as_bytes().get(same + 1..)
}

fn is_interval_head(text: &str) -> bool {
    if !text.trim().starts_with('#') {
        return false;
    }
    let mut words = text.split_whitespace();
    words.next() == Some("#") && words.next() == Some("time") && text.contains("counts")
}

/// A time that perf printed.
struct PrintedTime {
    seconds: f64,
    spread: Option<f64>,
    line: PendingLine,
}

struct PerfReader {
    command: Option<CommandLine>,
    run: Run,
    under: Option<String>,
    head: bool,
    over: bool,
    counts: Counts,
    shares: topdown::Shares,
    elapsed: Option<PrintedTime>,
    user: Option<PrintedTime>,
    system: Option<PrintedTime>,
}

impl PerfReader {
    fn new(command: Option<&Command>) -> Self {
        let line = command
            .filter(|command| command.text.contains("perf"))
            .map(|command| CommandLine::read(&command.text))
            .filter(|line| line.perf.is_some());
        let mut run = Run::default();
        if let Some(line) = &line {
            run.workload = Some(&line.name).filter(|name| !name.is_empty()).cloned();
            if let Some(perf) = &line.perf {
                run.system = perf.system;
                run.attached = perf.attached.clone();
                run.runs = perf.runs.filter(|runs| *runs > 1);
            }
        }
        Self {
            command: line,
            run,
            under: None,
            head: false,
            over: false,
            counts: Counts::default(),
            shares: topdown::Shares::default(),
            elapsed: None,
            user: None,
            system: None,
        }
    }

    /// `Performance counter stats for 'sleep 1' (10 runs):`
    fn heading(&mut self, rest: &str) {
        self.head = true;
        let rest = rest.trim().trim_end_matches(':').trim_end();
        let mut target = rest;
        if let Some((front, runs)) = rest.rsplit_once(" (").filter(|(front, _)| front.ends_with('\'')) {
            self.run.runs = runs.strip_suffix(" runs)").and_then(numbers::parse_whole).or(self.run.runs);
            target = front;
        }
        let (kind, target) = target.split_once('\'').unwrap_or(("", target));
        let target = target.strip_suffix('\'').unwrap_or(target);
        let kind = kind.trim().trim_end_matches(':');
        let cpus = target.trim_start_matches(|c: char| !c.is_ascii_digit());
        match target.strip_suffix(cpus).unwrap_or(target) {
            _ if is_nearly(kind, "process id") => self.run.attached = Some(format!("process {target}")),
            _ if is_nearly(kind, "thread id") => self.run.attached = Some(format!("thread {target}")),
            _ if is_nearly(target, "system wide") || is_nearly(kind, "system wide") => self.run.system = true,
            front => match is_nearly(front, "CPU(s) ") {
                true => {
                    self.run.system = true;
                    self.run.cpus = Some(cpus.to_owned());
                }
                false => {
                    let named = Some(comparable_name(target)).filter(|name| !name.is_empty());
                    self.under = conditions(target);
                    self.run.workload = named.or(self.run.workload.take());
                }
            },
        }
    }

    /// The line says a time of the run.
    fn take_time(&mut self, line: Line) -> bool {
        let Some((number, rest)) = numbers::split_leading(line.text) else { return false };
        let rest = rest.trim();
        // `0.1017551 +- 0.0000909 seconds time elapsed  ( +-  0.09% )`
        let after = match rest.strip_prefix("+-") {
            Some(rest) => numbers::split_leading(rest).map_or("", |(_, rest)| rest.trim()),
            None => rest,
        };
        let slot = if after.starts_with("seconds time elapsed") {
            &mut self.elapsed
        } else if after == "seconds user" {
            &mut self.user
        } else if after == "seconds sys" {
            &mut self.system
        } else {
            return false;
        };
        let Some(seconds) = numbers::parse_decimal(number) else { return false };
        let spread = after
            .rsplit_once("+-")
            .and_then(|(_, share)| numbers::parse_decimal(share.trim().strip_suffix("% )")?));
        *slot = Some(PrintedTime {
            seconds,
            spread: spread.map(|percent| percent / 100.0),
            line: PendingLine::from(line),
        });
        self.over = true;
        true
    }

    fn counter<'a>(&self, text: &'a str) -> Option<Counter<'a>> {
        let separator = self.command.as_ref().and_then(|line| line.perf.as_ref()?.separator.as_deref());
        let separator = separator.map(|separator| if separator == "\\t" { "\t" } else { separator });
        let named = separator.and_then(|separator| fields::fields(text, Some(separator)));
        named
            .or_else(|| text::counter(text))
            .or_else(|| fields::json(text))
            .or_else(|| fields::fields(text, None))
    }

    /// What the figures are of: a window over a whole machine (`-a sleep 10`) is no workload, and a process that was
    /// attached to is not the command that only told for how long.
    fn settle(&mut self) {
        // Fields, JSON and intervals say nothing of it themselves.
        if !self.head && self.command.is_none() {
            let system = self.counts.system();
            self.run.system = system == Some(true);
            self.run.unknown = system.is_none();
        }
        self.run.system |= self.counts.of_cpus() && self.run.attached.is_none();
        if let Some(attached) = &self.run.attached {
            self.run.workload = Some(attached.clone());
        }
        let window =
            self.run.workload.as_deref().is_some_and(|name| name == "sleep" || name.starts_with("sleep "));
        if self.run.system && window {
            self.run.workload = None;
        }
    }
}

impl Reader for PerfReader {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let text = line.text.trim();
        if text.is_empty() {
            return Fit::Between;
        }
        if let Some(at) = text.find(HEAD) {
            // With --summary the totals of all intervals stand behind them, as an output of their own.
            if self.head || self.over || !self.counts.is_empty() {
                return Fit::Over;
            }
            self.heading(&text[at + HEAD.len()..]);
            return Fit::Taken;
        }
        if self.take_time(line) {
            return Fit::Taken;
        }
        if self.over {
            return Fit::Over;
        }
        if is_interval_head(text) || text.starts_with("# started on ") {
            return Fit::Taken;
        }
        if self.shares.take_table(line) {
            return Fit::Taken;
        }
        let share = self.shares.take(line);
        if let Some(counter) = self.counter(line.text) {
            if self.counts.is_of_another(&counter) {
                return Fit::Over;
            }
            return if self.counts.take(counter, line, sink) { Fit::Taken } else { Fit::Between };
        }
        if share {
            self.counts.leave();
            return Fit::Taken;
        }
        if topdown::is_metric(text) {
            self.counts.leave();
            sink.withhold("counter.share", "no category of level 1 or 2".to_owned(), line);
            return Fit::Taken;
        }
        if let Some(further) = text::continuation(line.text).filter(|_| !self.counts.is_empty()) {
            self.counts.go_on(&further, line, sink);
            return Fit::Taken;
        }
        Fit::Between
    }

    fn end(&mut self, sink: &mut Sink) {
        self.settle();
        sink.under = sink.under.take().or(self.under.take());
        std::mem::take(&mut self.counts).into_sink(&self.run, sink);
        std::mem::take(&mut self.shares).into_sink(&self.run, sink);
        // The time of a command that only says how long to look is nobody's speed.
        if self.run.attached.is_none()
            && let Some(workload) = self.run.workload.clone()
        {
            let place = Labels::new().with_label(Label::Workload, workload);
            let with = |m: Measurement, time: &PrintedTime| {
                m.with_known_detail(detail::STANDARD_ERROR, time.spread)
                    .with_known_detail(detail::RUNS, self.run.runs)
            };
            if let Some(time) = &self.elapsed {
                let m = Measurement::exact("workload.time", place.clone(), vec![time.seconds]);
                sink.add_figure(with(m, time), time.line.line());
            }
            for (state, time) in [("user", &self.user), ("system", &self.system)] {
                let Some(time) = time else { continue };
                let place = place.clone().with_label(Label::State, state);
                let m = Measurement::exact("workload.cpu_time", place, vec![time.seconds]);
                sink.add_figure(with(m, time), time.line.line());
            }
        }
    }
}
