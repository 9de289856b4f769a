//! Counters of one output, put together: totals over intervals and groups of CPUs, instructions per cycle, the clock.

use std::collections::{BTreeMap, HashMap};

use record::metrics::USUAL_EVENTS;
use record::{Label, Labels, Measurement, detail};

use super::Run;
use super::text::{Counter, Part};
use crate::line::{Line, PendingLine};
use crate::numbers;
use crate::scan;
use crate::sink::Sink;

/// Names that perf knows an event by beside the one that records use.
const SAME: &[(&str, &str)] = &[
    ("cpu-cycles", "cycles"),
    ("branch-instructions", "branches"),
    ("cs", "context-switches"),
    ("migrations", "cpu-migrations"),
    ("faults", "page-faults"),
    ("idle-cycles-frontend", "stalled-cycles-frontend"),
    ("idle-cycles-backend", "stalled-cycles-backend"),
];

/// Units that counts have: a factor, and what it makes of them. A task's clock is counted in nanoseconds.
const UNITS: &[(&str, (f64, &str))] = &[
    ("", (1.0, "")),
    ("ns", (1.0, "ns")),
    ("us", (1e3, "ns")),
    ("msec", (1e6, "ns")),
    ("sec", (1e9, "ns")),
    ("B", (1.0, "B")),
    ("Bytes", (1.0, "B")),
    ("KiB", (1024.0, "B")),
    ("MiB", (1_048_576.0, "B")),
    ("GiB", (1_073_741_824.0, "B")),
    ("Joules", (1.0, "J")),
];

/// Counts of one event in several groups that differ by more, as a share, are in doubt: each is scaled up from another time.
const MOST_APART: f64 = 0.1;

/// Events, CPUs and threads that are kept of one output: a record holds no more.
const MOST_SLOTS: usize = crate::limits::MOST_ENTRIES + 1;

/// What an event counts and in which mode.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Event {
    /// `cpu_core` of `cpu_core/cycles/`; empty where there is one kind of core.
    unit: String,
    /// The name that records use.
    name: String,
    /// `u` of `cycles:u`; only what selects a mode.
    mode: String,
}

/// One event of one part of the machine.
#[derive(Clone, Debug, Default)]
struct Slot {
    line: PendingLine,
    event: Event,
    part: Part,
    /// What was counted before the last figure.
    before: f64,
    /// Since the last interval's begin: with several groups of events the count of the one that counted for the longest.
    last: Estimate,
    /// How far the counts of the groups are apart, as a share.
    apart: f64,
    intervals: u64,
    /// The groups of CPUs that it is the sum of.
    sum_of: Vec<String>,
    /// The least share of time that it was counted for before the last figure.
    least: Option<f64>,
    impossible: bool,
    spread: Option<f64>,
    stated_ipc: Option<(f64, usize)>,
    /// `B` for what was printed in MiB.
    unit: &'static str,
}

/// One line's count of an event.
#[derive(Clone, Debug, Default)]
struct Estimate {
    value: f64,
    interval: Option<f64>,
    /// The share of time that it was counted for, where that was told.
    coverage: Option<f64>,
}

/// All counters of one output.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// In the order in which they were first told.
    slots: Vec<Slot>,
    /// Their places.
    places: HashMap<(Part, Event), usize>,
    /// The counter of the last line, for the line below it.
    last: Option<usize>,
    /// Of how many intervals each has a line, counted or not, and the last one's time.
    seen: HashMap<(Part, Event), (u64, f64)>,
}

impl Event {
    fn read(text: &str) -> Self {
        let (unit, rest) = match text.split_once('/') {
            Some((unit, rest)) if !unit.contains(':') => (unit, rest),
            _ => ("", text),
        };
        let (name, mode) = if unit.is_empty() {
            rest.split_once(':').unwrap_or((rest, ""))
        } else {
            rest.rsplit_once('/').unwrap_or((rest, ""))
        };
        let is_mode = mode.bytes().all(|b| b"ukhHGpPDSWIeb:".contains(&b));
        // `sched:sched_switch` is a tracepoint and no mode.
        let (name, mode) = if is_mode { (name, mode.trim_start_matches(':')) } else { (text, "") };
        let same = SAME.iter().find(|(other, _)| *other == name);
        let known =
            same.map(|(_, known)| *known).or_else(|| USUAL_EVENTS.into_iter().find(|usual| *usual == name));
        let name = known.unwrap_or(name).to_owned();
        let selects: String = mode.chars().filter(|c| "ukhHG".contains(*c)).collect();
        let one_kind = matches!(unit, "" | "cpu" | "armv8_pmuv3" | "armv8_pmuv3_0");
        let known = one_kind || matches!(unit, "cpu_core" | "cpu_atom");
        if !known {
            return Self { name: text.to_owned(), ..Self::default() };
        }
        let unit = if one_kind { String::new() } else { unit.to_owned() };
        Self { unit, name, mode: selects }
    }

    /// The name without its mode.
    fn plain(&self) -> String {
        if self.unit.is_empty() { self.name.clone() } else { format!("{}/{}/", self.unit, self.name) }
    }
}

impl Counts {
    /// Whether nothing was counted so far.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether counters of intervals follow some of a whole run, or the other way round: another output's.
    pub(super) fn is_of_another(&self, counter: &Counter) -> bool {
        let first = self.slots.first().map(|slot| slot.intervals > 0);
        first.is_some_and(|intervals| intervals != counter.interval.is_some())
    }

    /// Whether the whole machine was counted, as far as the events tell it: figures of single CPUs and sockets need that,
    /// and perf counts the CPUs' clock there where it counts a process's own.
    pub(super) fn system(&self) -> Option<bool> {
        let clock = |name: &str| self.slots.iter().any(|slot| slot.event.name == name);
        if self.of_cpus() || clock("cpu-clock") {
            return Some(true);
        }
        clock("task-clock").then_some(false)
    }

    /// Whether single CPUs or groups of them were counted, which is only done where all are.
    pub(super) fn of_cpus(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot.part, Part::Cpu(_) | Part::Group(_)))
    }

    /// Takes one counter; whether its unit is one that counts have.
    pub(super) fn take(&mut self, counter: Counter, line: Line, sink: &mut Sink) -> bool {
        let key = (counter.part.clone(), Event::read(&counter.event));
        let known = self.places.get(&key).copied();
        self.last = known;
        if let Some(interval) = counter.interval {
            let seen = self.seen.entry(key.clone()).or_insert((0, f64::NEG_INFINITY));
            if interval > seen.1 {
                *seen = (seen.0 + 1, interval);
            }
        }
        let Some(value) = counter.value else { return true };
        // Without a unit clocks are nanoseconds, and up to Linux 3 milliseconds with a fraction. Temperature is no count.
        let is_clock = matches!(key.1.name.as_str(), "task-clock" | "cpu-clock");
        let printed = match &*counter.unit {
            "" if is_clock && value.fract() != 0.0 => "msec",
            "" if is_clock => "ns",
            unit => unit,
        };
        let Some((factor, unit)) = scan::find(UNITS, printed) else { return false };
        let value = if printed == "msec" { (value * factor).round() } else { value * factor };
        let new = Estimate { value, interval: counter.interval, coverage: None };
        let at = known.unwrap_or(self.slots.len());
        if let Some(slot) = self.slots.get_mut(at) {
            slot.add(new, &counter, line, sink);
        } else {
            if at >= MOST_SLOTS {
                return true;
            }
            self.places.insert(key.clone(), at);
            let (part, event) = key;
            let mut slot = Slot {
                line: PendingLine::from(line),
                event,
                part,
                intervals: u64::from(new.interval.is_some()),
                last: new,
                spread: counter.spread,
                unit,
                ..Slot::default()
            };
            slot.tail(&counter, line, sink);
            self.slots.push(slot);
        }
        self.last = Some(at);
        true
    }

    /// The line was none of a counter's: what follows below is not of the counter above.
    pub(super) fn leave(&mut self) {
        self.last = None;
    }

    /// Takes the line below a counter's.
    pub(super) fn go_on(&mut self, further: &Counter, line: Line, sink: &mut Sink) {
        if let Some(slot) = self.last.and_then(|at| self.slots.get_mut(at)) {
            slot.tail(further, line, sink);
        }
    }

    /// Everything as measurements.
    pub(super) fn into_sink(self, run: &Run, sink: &mut Sink) {
        let (slots, missing) = whole(self.slots, &self.seen);
        for slot in missing {
            let what = format!("counter.count {}", slot.event.plain());
            let why = "its line of an interval is missing, where others have theirs".to_owned();
            sink.withhold(&what, why, slot.line.line());
        }
        let slots = with_sums(slots);
        // An event that was counted in several modes keeps its mode in its name.
        let mut modes: HashMap<(&Part, &str, &str), u32> = HashMap::new();
        let moded = slots.iter().any(|slot| !slot.event.mode.is_empty());
        for slot in slots.iter().filter(|_| moded) {
            *modes.entry(slot.of()).or_default() += 1;
        }
        for slot in &slots {
            let several = moded && modes.get(&slot.of()).is_some_and(|modes| *modes > 1);
            sink.add_figure(slot.count(several, run), slot.line.line());
        }
        let places: HashMap<(&Part, &Event), &Slot> =
            slots.iter().map(|slot| ((&slot.part, &slot.event), slot)).collect();
        for instructions in slots.iter().filter(|slot| slot.event.name == "instructions") {
            let event = Event { name: "cycles".to_owned(), ..instructions.event.clone() };
            if let Some(cycles) = places.get(&(&instructions.part, &event)) {
                ipc(instructions, cycles, run, sink);
            }
        }
        clocks(&slots, run, sink);
    }
}

/// The counters that have a line of each interval, and those that lack one.
fn whole(slots: Vec<Slot>, seen: &HashMap<(Part, Event), (u64, f64)>) -> (Vec<Slot>, Vec<Slot>) {
    let most = seen.values().map(|(intervals, _)| *intervals).max().unwrap_or(0);
    slots.into_iter().partition(|slot| {
        let of = seen.get(&(slot.part.clone(), slot.event.clone()));
        of.is_none_or(|(intervals, _)| *intervals == most)
    })
}

/// The counts of groups of CPUs, and before them what they are together.
fn with_sums(slots: Vec<Slot>) -> Vec<Slot> {
    let mut sums: BTreeMap<Event, Slot> = BTreeMap::new();
    for slot in &slots {
        let Part::Group(group) = &slot.part else { continue };
        let sum = sums.entry(slot.event.clone()).or_insert_with(|| {
            let last = Estimate { value: 0.0, coverage: None, ..slot.last };
            Slot { part: Part::All, before: 0.0, last, least: None, stated_ipc: None, ..slot.clone() }
        });
        sum.before += slot.total();
        sum.least = least(sum.least, slot.coverage());
        sum.apart = sum.apart.max(slot.apart);
        sum.impossible |= slot.impossible;
        sum.sum_of.push(group.clone());
    }
    let mut all: Vec<Slot> = sums.into_values().collect();
    all.extend(slots);
    all
}

/// The lesser of what is known.
fn least(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::min)
}

impl Slot {
    /// A further line of the same event.
    fn add(&mut self, new: Estimate, counter: &Counter, line: Line, sink: &mut Sink) {
        let former = std::mem::replace(&mut self.last, new);
        let again = former.interval == self.last.interval;
        if !again {
            self.before += former.value;
            self.least = least(self.least, former.coverage);
            self.intervals += 1;
        }
        self.tail(counter, line, sink);
        if again {
            // Another group's count of the same, and no further part of it.
            let apart = (self.last.value - former.value).abs() / former.value.max(self.last.value).max(1.0);
            self.apart = self.apart.max(apart);
            if self.last.coverage.unwrap_or(1.0) <= former.coverage.unwrap_or(1.0) {
                self.last = former;
            } else {
                self.line = PendingLine::from(line);
            }
        }
    }

    fn total(&self) -> f64 {
        self.before + self.last.value
    }

    /// The least share of time that it was counted for, where that was told.
    fn coverage(&self) -> Option<f64> {
        least(self.least, self.last.coverage)
    }

    fn tail(&mut self, counter: &Counter, line: Line, sink: &mut Sink) {
        if let Some(percent) = &counter.percent {
            match numbers::parse_decimal(percent) {
                // Rounding of the two times may print a little over.
                Some(share) if (0.0..=100.5).contains(&share) => {
                    self.last.coverage = Some((share / 100.0).min(1.0));
                }
                _ => {
                    let what = format!("counter.count {} coverage", self.event.plain());
                    let why = format!("counted for {percent} % of the time, which cannot be");
                    sink.withhold(&what, why, line);
                    self.impossible = true;
                }
            }
        }
        if !counter.comment.ends_with(['e', 'E', 'c', 'C', ')']) {
            return;
        }
        let comment = counter.comment.to_ascii_lowercase();
        if comment.contains("per cycle") && comment.contains("insn") || comment.ends_with(" ipc") {
            let stated = comment.split_whitespace().next().unwrap_or_default();
            let digits = stated.rsplit_once(['.', ',']).map_or(0, |(_, fraction)| fraction.len());
            if !comment.contains("stalled") {
                self.stated_ipc = numbers::parse_decimal(stated).map(|stated| (stated, digits));
            }
        }
    }

    /// What it counts, whatever the mode.
    fn of(&self) -> (&Part, &str, &str) {
        (&self.part, &self.event.unit, &self.event.name)
    }

    fn place(&self, run: &Run) -> Labels {
        let scope = match &self.part {
            Part::Group(group) => format!("system {group}"),
            _ if run.system => "system".to_owned(),
            _ => "process".to_owned(),
        };
        let place = Labels::new()
            .with_known(Label::Scope, (!run.unknown).then_some(scope))
            .with_known(Label::Workload, run.workload.as_deref());
        match &self.part {
            Part::Cpu(cpu) => place.with_label(Label::Cpu, *cpu),
            Part::Thread(thread) => place.with_label(Label::Thread, thread.as_str()),
            Part::All | Part::Group(_) => place,
        }
    }

    /// The count, with what is known of how it was made.
    fn count(&self, several: bool, run: &Run) -> Measurement {
        let name = self.event.plain();
        let with_mode = several && !self.event.mode.is_empty();
        let name = if with_mode { format!("{name}:{}", self.event.mode) } else { name };
        let mode = match self.event.mode.as_str() {
            "u" => Some("user"),
            "k" => Some("kernel"),
            _ => None,
        };
        let place = self.place(run).with_label(Label::Event, name);
        let mut m = Measurement::exact(record::metrics::COUNTER_COUNT, place, vec![self.total()])
            .with_known_detail(detail::COVERAGE, self.coverage())
            .with_known_detail(detail::MODE, mode)
            .with_known_detail(detail::UNIT, Some(self.unit).filter(|unit| !unit.is_empty()))
            .with_known_detail(detail::INTERVALS, Some(self.intervals).filter(|intervals| *intervals > 0))
            .with_known_detail(detail::SUM_OF, (!self.sum_of.is_empty()).then(|| self.sum_of.join(" ")))
            .with_known_detail(detail::STANDARD_ERROR, self.spread);
        if self.impossible {
            m.doubt = Some("the share of time that it was counted for cannot be true".into());
        } else if self.apart > MOST_APART {
            let percent = self.apart * 100.0;
            m.doubt = Some(format!("groups of events count it {percent:.0} % apart").into());
        }
        with_run(m, run)
    }
}

fn with_run(mut m: Measurement, run: &Run) -> Measurement {
    m = m.with_known_detail(detail::RUNS, run.runs).with_known_detail(detail::CPUS, run.cpus.as_deref());
    if run.unknown && m.doubt.is_none() {
        m.doubt = Some("whether one process was counted or the whole machine is not told".into());
    }
    if let Some(attached) = &run.attached {
        m = m.with_detail(detail::ATTACHED_TO, attached.as_str());
    }
    m
}

/// Instructions per cycle from both counts; what perf printed must agree.
fn ipc(instructions: &Slot, cycles: &Slot, run: &Run, sink: &mut Sink) {
    if cycles.total() <= 0.0 || (!instructions.event.unit.is_empty() && run.workload.is_none() && !run.system)
    {
        return;
    }
    if instructions.intervals != cycles.intervals {
        let (one, other) = (instructions.intervals, cycles.intervals);
        let why = format!("instructions are of {one} intervals, cycles of {other}");
        sink.withhold(record::metrics::CORE_IPC, why, instructions.line.line());
        return;
    }
    let value = instructions.total() / cycles.total();
    let mut place = instructions.place(run).with_label(Label::Source, "pmu");
    if matches!(instructions.part, Part::Thread(_)) {
        // A thread is no place of this metric; its counts stand.
        return;
    }
    if !instructions.event.unit.is_empty() {
        place = place.with_label(Label::Kind, instructions.event.unit.as_str());
    }
    let mut m = Measurement::exact(record::metrics::CORE_IPC, place, vec![value])
        .with_detail(detail::INSTRUCTIONS, instructions.total())
        .with_detail(detail::CYCLES, cycles.total());
    m = m.with_known_detail(detail::COVERAGE, least(instructions.coverage(), cycles.coverage()));
    if instructions.event.mode == "u" {
        m = m.with_detail(detail::MODE, "user");
    }
    if instructions.impossible || cycles.impossible {
        m.doubt = Some("the share of time that was counted cannot be true".into());
    }
    if let Some((stated, digits)) = instructions.stated_ipc.filter(|_| instructions.intervals == 0) {
        m = m.with_detail(detail::STATED, stated);
        // Half of the last digit that was printed, and a little for groups that were counted at different times.
        let apart = 0.01 + instructions.apart + cycles.apart;
        let slack = 0.5 * 10f64.powi(-(digits.min(9) as i32)) + apart * value.abs();
        if (stated - value).abs() > slack {
            let says = format!(
                "perf stat states {stated} instructions per cycle, its own counts give {value:.3}; the record follows the counts"
            );
            let origins = vec![sink.origin(instructions.line.line()), sink.origin(cycles.line.line())];
            sink.contradict(says, origins);
        }
    }
    sink.add_figure(with_run(m, run), instructions.line.line());
}

/// The clock while the command ran: its cycles over its time on a CPU. Of a whole machine, whose CPUs also rest, it is
/// none, and none where cycles were counted in one mode only.
fn clocks(slots: &[Slot], run: &Run, sink: &mut Sink) {
    if run.system || run.unknown {
        return;
    }
    let of = |name: &str| {
        let fits = |slot: &&Slot| {
            slot.event.name == name
                && slot.part == Part::All
                && slot.event.mode.is_empty()
                && slot.event.unit.is_empty()
        };
        slots.iter().find(fits)
    };
    let (Some(cycles), Some(clock)) = (of("cycles"), of("task-clock")) else { return };
    if clock.total() <= 0.0 || cycles.impossible {
        return;
    }
    let mut m = Measurement::exact(
        record::metrics::CORE_CLOCK,
        Labels::new(),
        vec![cycles.total() / clock.total() * 1e9],
    );
    m.method = Some("perf stat: cycles over CPU time".to_owned());
    if let Some(workload) = &run.workload {
        m = m.with_detail(detail::WORKLOAD, workload.as_str());
    }
    sink.add_figure(with_run(m, run), cycles.line.line());
}
