//! `perf stat`: counters of a command, a running process or the whole machine, as text, in fields (`-x`) or as JSON (`-j`).

mod counts;
mod fields;
mod text;
mod topdown;

#[cfg(test)]
mod tests;

use self::counts::Counts;
use self::text::Counter;
use crate::reading::*;
use record::command_line::{CommandLine, comparable_name, conditions};

/// The beginning of an output.
const HEAD: &str = "Performance counter stats for ";

/// Common events, which identify a counter's line if nothing above the line does.
const KNOWN: &str = "cycles|instructions|branches|task-clock|cpu-clock|cs|faults|migrations|page-faults|context-switches|\
    cpu-migrations|cpu-cycles|ref-cycles|bus-cycles|cache-misses|cache-references|branch-misses|branch-instructions|slots";

/// The properties of the run.
#[derive(Debug, Default)]
struct Run {
    /// The name under which the command is compared with other runs.
    workload: Option<String>,
    /// Whether the whole machine was counted.
    system: bool,
    /// Whether it is unknown if the whole machine or one process was counted.
    unknown: bool,
    /// Number of runs over which the results are averaged.
    runs: Option<u64>,
    /// The counted CPUs, unless all were counted.
    cpus: Option<String>,
    /// The counted process or thread, if it was already running.
    attached: Option<String>,
}

/// `perf stat`.
pub(super) const PERF_STAT: Tool =
    Tool { name: "perf stat", opens, reader: |command| Box::new(PerfReader::new(command)) };

fn opens(line: Line, command: Option<&Command>) -> bool {
    let text = line.text;
    let is_share =
        || ["tma_", "topdown-"].iter().any(|mark| text.contains(mark)) && topdown::share(text).is_some();
    if text.contains(HEAD) || is_interval_head(text) || is_share() {
        return true;
    }
    // In every layout, a counter's line begins with a number, the name of a part of the machine, or a brace.
    if !text.trim_start().starts_with(|c: char| c.is_ascii_alphanumeric() || "<{".contains(c)) {
        return false;
    }
    let of_perf =
        command.is_some_and(|command| command.text.contains("perf") && command.text.contains("stat"));
    let known = |counter: &Counter| {
        let name = counter.event.split(':').next().unwrap_or_default();
        scan::is_one_of(name, KNOWN) || name.starts_with("power/energy-")
    };
    let named = |counter: &Counter| {
        counter.event.contains("cycles") || counter.event.contains("instructions") || known(counter)
    };
    // The text before the first separator must be a single word.
    let front = text.trim_start().split(fields::USUAL).next().unwrap_or_default();
    let one_word = front.len() < 64 && !front.contains(' ') || front.starts_with("<not ");
    fields::json(text).is_some()
        || of_perf && text::counter(text).as_ref().is_some_and(known)
        || one_word && fields::fields(text, None).is_some_and(|counter| of_perf || named(&counter))
        || fields::blanks(text).as_ref().is_some_and(named)
}

fn is_interval_head(text: &str) -> bool {
    let rest = text.trim_start().strip_prefix('#').map(str::trim_start);
    rest.is_some_and(|rest| rest.starts_with("time ") && rest.contains("counts"))
}

/// A printed time.
struct PrintedTime {
    seconds: f64,
    spread: Option<f64>,
    line: PendingLine,
}

/// The text that follows each time of a run.
const TIMES: [&str; 3] = ["seconds time elapsed", "seconds user", "seconds sys"];

#[derive(Default)]
struct PerfReader {
    command: Option<CommandLine>,
    run: Run,
    under: Option<String>,
    head: bool,
    over: bool,
    counts: Counts,
    shares: topdown::Shares,
    /// The printed times in the order of [`TIMES`].
    times: [Option<PrintedTime>; 3],
}

impl PerfReader {
    fn new(command: Option<&Command>) -> Self {
        let line = command.map(|command| CommandLine::read(&command.text)).filter(|line| line.perf.is_some());
        let mut run = Run::default();
        if let Some(line) = &line {
            run.workload = Some(&line.name).filter(|name| !name.is_empty()).cloned();
            if let Some(perf) = &line.perf {
                run.system = perf.system;
                run.attached = perf.attached.clone();
                run.runs = perf.runs.filter(|runs| *runs > 1);
            }
        }
        Self { command: line, run, ..Self::default() }
    }

    /// `Performance counter stats for 'sleep 1' (10 runs):`
    fn heading(&mut self, rest: &str) {
        self.head = true;
        // Documents use other quotation marks.
        let rest = rest.replace(['‘', '’'], "'");
        let mut target = rest.trim().trim_end_matches(':').trim_end();
        if let Some((front, runs)) = target.rsplit_once(" (").filter(|(front, _)| front.ends_with('\'')) {
            self.run.runs = runs.strip_suffix(" runs)").and_then(numbers::parse_whole).or(self.run.runs);
            target = front;
        }
        let (kind, target) = target.split_once('\'').unwrap_or(("", target));
        let target = target.strip_suffix('\'').unwrap_or(target);
        match (kind.trim(), target) {
            ("process id", id) => self.run.attached = Some(format!("process {id}")),
            ("thread id", id) => self.run.attached = Some(format!("thread {id}")),
            ("system wide", _) | (_, "system wide") => self.run.system = true,
            (_, target) => match target.strip_prefix("CPU(s) ") {
                Some(cpus) => (self.run.system, self.run.cpus) = (true, Some(cpus.to_owned())),
                None => {
                    let named = Some(comparable_name(target)).filter(|name| !name.is_empty());
                    self.under = conditions(target);
                    self.run.workload = named.or(self.run.workload.take());
                }
            },
        }
    }

    /// Reads the line if it contains a time of the run: `0.1017551 +- 0.0000909 seconds time elapsed  ( +-  0.09% )`
    fn take_time(&mut self, line: Line) -> Option<()> {
        let (number, rest) = numbers::split_leading(line.text)?;
        let after = match rest.trim().strip_prefix("+-") {
            Some(rest) => numbers::split_leading(rest)?.1.trim(),
            None => rest.trim(),
        };
        let (at, tail) =
            TIMES.iter().enumerate().find_map(|(at, words)| Some((at, after.strip_prefix(words)?)))?;
        let seconds = numbers::parse_decimal(number)?;
        let share = tail.split_once("+-").and_then(|(_, share)| share.trim().strip_suffix("% )"));
        let spread = share.and_then(numbers::parse_decimal).map(|percent| percent / 100.0);
        self.times[at] = Some(PrintedTime { seconds, spread, line: line.into() });
        self.over = true;
        Some(())
    }

    fn counter(&self, text: &str) -> Option<Counter> {
        let separator = self.command.as_ref().and_then(|line| line.perf.as_ref()?.separator.as_deref());
        let separator = separator.map(|separator| if separator == "\\t" { "\t" } else { separator });
        let named = separator.and_then(|separator| fields::fields(text, Some(separator)));
        named
            .or_else(|| text::counter(text))
            .or_else(|| fields::json(text))
            .or_else(|| fields::fields(text, None))
    }

    /// Determines what the results describe. Counting the whole machine for a period (`-a sleep 10`) is not a
    /// workload. If a running process was counted, the command only set the duration.
    fn settle(&mut self) {
        // Output of -x, -j and -I does not contain the command.
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
            // With --summary, the totals follow the intervals as a separate output.
            if self.head || self.over || !self.counts.is_empty() {
                return Fit::Over;
            }
            self.heading(&text[at + HEAD.len()..]);
            return Fit::Taken;
        }
        if self.take_time(line).is_some() {
            return Fit::Taken;
        }
        if self.over {
            return Fit::Over;
        }
        if is_interval_head(text) || text.starts_with("# started on ") {
            return Fit::Taken;
        }
        if self.shares.take_table(line, sink) {
            return Fit::Taken;
        }
        let share = self.shares.take(line, sink);
        if let Some(counter) = self.counter(line.text) {
            if self.counts.is_of_another(&counter) {
                return Fit::Over;
            }
            return if self.counts.take(&counter, line, sink) { Fit::Taken } else { Fit::Between };
        }
        if share {
            self.counts.leave();
            return Fit::Taken;
        }
        // A metric without a counter: `TopdownL1 (cpu_core)   #   17.4 %  tma_backend_bound`.
        if ["%  tma_", "% tma_"].iter().any(|mark| text.contains(mark)) || text.starts_with("TopdownL") {
            self.counts.leave();
            sink.withhold(metrics::COUNTER_SHARE, "no category of level 1 or 2".to_owned(), line);
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
        // If a command only sets the duration, its run time does not show a speed.
        if self.run.attached.is_none()
            && let Some(workload) = self.run.workload.clone()
        {
            for (state, time) in [None, Some("user"), Some("system")].into_iter().zip(&self.times) {
                let Some(time) = time else { continue };
                let mut m = scan::run_time(Some(&workload), state, time.seconds);
                if state.is_none() {
                    m = m
                        .with_known_detail(detail::STANDARD_ERROR, time.spread)
                        .with_known_detail(detail::RUNS, self.run.runs);
                }
                sink.add_figure(m, time.line.line());
            }
        }
    }
}
