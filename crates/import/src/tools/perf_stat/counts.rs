//! Combines the counters of one output into totals over intervals and groups of CPUs, instructions per cycle, and the clock.

use std::collections::{BTreeMap, HashMap};

use super::Run;
use super::text::{Counter, Part, scale};
use crate::reading::*;

/// Alternative names for an event in perf, and the name used in records.
const SAME: &str = "cpu-cycles=cycles|branch-instructions=branches|cs=context-switches|migrations=cpu-migrations|\
    faults=page-faults|idle-cycles-frontend=stalled-cycles-frontend|idle-cycles-backend=stalled-cycles-backend";

/// If an event was counted in several groups, its counts are doubtful if they differ by more than this share, because each count is
/// extrapolated from a different part of the run.
const MOST_APART: f64 = 0.1;

/// An event and its counting mode.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Event {
    /// `cpu_core` of `cpu_core/cycles/`; empty if there is one kind of core.
    unit: String,
    /// The name in records.
    name: String,
    /// `u` of `cycles:u`; contains only letters that select a mode.
    mode: String,
}

/// One event in one part of the machine.
#[derive(Clone, Debug, Default)]
struct Slot {
    line: PendingLine,
    event: Event,
    part: Part,
    /// Whether any line of the event has a count.
    counted: bool,
    /// The total over the intervals before the last one.
    before: f64,
    /// Count since the start of the last interval; with several groups of events, the count with the longest counting
    /// time.
    last: Estimate,
    /// Relative difference between the counts of the groups.
    apart: f64,
    /// Number of intervals that have a line for this event, counted or not, and the time of the last such interval.
    seen: (u64, Option<f64>),
    /// Number of intervals in which the event was counted.
    intervals: u64,
    /// The groups of CPUs whose counts are summed.
    sum_of: Vec<String>,
    /// The smallest counting share in the intervals before the last one.
    least: Option<f64>,
    impossible: bool,
    spread: Option<f64>,
    stated_ipc: Option<f64>,
    /// `B` for values printed in MiB.
    unit: &'static str,
}

/// The count of an event from one line.
#[derive(Clone, Debug, Default)]
struct Estimate {
    value: f64,
    interval: Option<f64>,
    /// The counting share, if printed.
    coverage: Option<f64>,
}

/// All counters of one output.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// The events in the order of their first lines.
    slots: Vec<Slot>,
    places: HashMap<(Part, Event), usize>,
    /// The counter on the previous line, to which the next line may refer.
    last: Option<usize>,
}

impl Event {
    fn read(text: &str) -> Self {
        let (unit, rest) = text.split_once('/').filter(|(unit, _)| !unit.contains(':')).unwrap_or(("", text));
        let parts = if unit.is_empty() { rest.split_once(':') } else { rest.rsplit_once('/') };
        let (name, mode) = parts.unwrap_or((rest, ""));
        let one_kind = matches!(unit, "" | "cpu" | "armv8_pmuv3" | "armv8_pmuv3_0");
        if !one_kind && !matches!(unit, "cpu_core" | "cpu_atom") {
            return Self { name: text.to_owned(), ..Self::default() };
        }
        // `sched:sched_switch` is a tracepoint, not a mode.
        let is_mode = mode.bytes().all(|b| b"ukhHGpPDSWIeb:".contains(&b));
        let (name, mode) = if is_mode { (name, mode) } else { (text, "") };
        Self {
            unit: if one_kind { String::new() } else { unit.to_owned() },
            name: scan::renamed(SAME, name).unwrap_or(name).to_owned(),
            mode: mode.chars().filter(|c| "ukhHG".contains(*c)).collect(),
        }
    }

    /// The name without its mode.
    fn plain(&self) -> String {
        if self.unit.is_empty() { self.name.clone() } else { format!("{}/{}/", self.unit, self.name) }
    }
}

impl Counts {
    fn counted(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|slot| slot.counted)
    }

    /// Whether nothing has been counted so far.
    pub(super) fn is_empty(&self) -> bool {
        self.counted().next().is_none()
    }

    /// Whether this counter belongs to another output: a counter for an interval after counters for a whole run, or vice versa.
    pub(super) fn is_of_another(&self, counter: &Counter) -> bool {
        self.counted().next().is_some_and(|slot| (slot.intervals > 0) != counter.interval.is_some())
    }

    /// Whether the whole machine was counted; `None` if the events do not show this. Results for single CPUs and sockets require
    /// system-wide counting, in which case perf counts the clock of the CPUs instead of the clock of a process.
    pub(super) fn system(&self) -> Option<bool> {
        let clock = |name: &str| self.counted().any(|slot| slot.event.name == name);
        (self.of_cpus() || clock("cpu-clock")).then_some(true).or(clock("task-clock").then_some(false))
    }

    /// Whether single CPUs or groups of CPUs were counted, which requires system-wide counting.
    pub(super) fn of_cpus(&self) -> bool {
        self.counted().any(|slot| matches!(slot.part, Part::Cpu(_) | Part::Group(_)))
    }

    /// Adds a counter; returns whether its unit is a unit of counts.
    pub(super) fn take(&mut self, counter: &Counter, line: Line, sink: &mut Sink) -> bool {
        let event = Event::read(&counter.event);
        // Without a unit, clocks are in nanoseconds or, up to Linux 3, in milliseconds with a fraction. A temperature is not a count.
        let is_clock = matches!(event.name.as_str(), "task-clock" | "cpu-clock");
        let printed = match counter.unit.as_str() {
            "" if is_clock && counter.value.is_some_and(|value| value.fract() != 0.0) => "msec",
            "" if is_clock => "ns",
            unit => unit,
        };
        let Some((factor, unit)) = scale(printed) else { return counter.value.is_none() };
        let next = self.slots.len();
        let at = *self.places.entry((counter.part.clone(), event.clone())).or_insert(next);
        if at == next {
            self.slots.push(Slot { event, part: counter.part.clone(), unit, ..Slot::default() });
        }
        self.last = Some(at);
        let slot = &mut self.slots[at];
        if counter.interval > slot.seen.1 {
            slot.seen = (slot.seen.0 + 1, counter.interval);
        }
        if let Some(value) = counter.value.map(|value| value * factor) {
            let value = if printed == "msec" { value.round() } else { value };
            slot.add(Estimate { value, interval: counter.interval, coverage: None }, counter, line, sink);
        }
        true
    }

    /// Called after a line that is not a counter line: the lines that follow do not belong to the counter above it.
    pub(super) fn leave(&mut self) {
        self.last = None;
    }

    /// Reads the line below a counter's line.
    pub(super) fn go_on(&mut self, further: &Counter, line: Line, sink: &mut Sink) {
        if let Some(slot) = self.last.and_then(|at| self.slots.get_mut(at)).filter(|slot| slot.counted) {
            slot.tail(further, line, sink);
        }
    }

    /// Passes all counters to the sink as measurements.
    pub(super) fn into_sink(self, run: &Run, sink: &mut Sink) {
        let most = self.slots.iter().map(|slot| slot.seen.0).max();
        let counted = self.slots.into_iter().filter(|slot| slot.counted);
        let (slots, missing): (Vec<Slot>, Vec<Slot>) = counted.partition(|slot| Some(slot.seen.0) == most);
        for slot in missing {
            let what = format!("counter.count {}", slot.event.plain());
            sink.withhold(what, "the line is missing in some intervals", slot.line.line());
        }
        let slots = with_sums(slots);
        // If an event was counted in several modes, each result's name includes the mode.
        let mut modes: HashMap<(&Part, &str, &str), u32> = HashMap::new();
        for slot in &slots {
            *modes.entry(slot.of()).or_default() += 1;
        }
        for slot in &slots {
            let line = slot.line.line();
            if slot.is_unseen() {
                let what = format!("counter.count {}", slot.event.plain());
                sink.withhold(what, "perf prints 0 if it cannot count this event", line);
                continue;
            }
            sink.add_figure(slot.count(modes[&slot.of()] > 1, run), line);
        }
        let places: HashMap<(&Part, &Event), &Slot> =
            slots.iter().map(|slot| ((&slot.part, &slot.event), slot)).collect();
        for instructions in slots.iter().filter(|slot| slot.event.name == "instructions") {
            let event = Event { name: "cycles".to_owned(), ..instructions.event.clone() };
            if let Some(cycles) = places.get(&(&instructions.part, &event)) {
                ipc(instructions, cycles, run, sink);
            }
        }
        let of_all = |name: &str| {
            let event = Event { name: name.to_owned(), ..Event::default() };
            places.get(&(&Part::All, &event)).copied()
        };
        if let Some((cycles, clock)) = of_all("cycles").zip(of_all("task-clock")) {
            clocks(cycles, clock, run, sink);
        }
    }
}

/// The sums over groups of CPUs, followed by all counts.
fn with_sums(slots: Vec<Slot>) -> Vec<Slot> {
    let mut sums: BTreeMap<Event, Slot> = BTreeMap::new();
    for slot in &slots {
        let Part::Group(group) = &slot.part else { continue };
        let sum = sums.entry(slot.event.clone()).or_insert_with(|| {
            let (part, last) = (Part::All, Estimate::default());
            Slot { part, before: 0.0, last, least: None, stated_ipc: None, ..slot.clone() }
        });
        sum.before += slot.total();
        sum.least = least(sum.least, slot.coverage());
        sum.apart = sum.apart.max(slot.apart);
        sum.impossible |= slot.impossible;
        sum.sum_of.push(group.clone());
    }
    sums.into_values().chain(slots).collect()
}

/// The smaller of two values, either of which may be unknown.
fn least(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::min)
}

impl Slot {
    fn add(&mut self, new: Estimate, counter: &Counter, line: Line, sink: &mut Sink) {
        let again = self.counted && self.last.interval == new.interval;
        let former = std::mem::replace(&mut self.last, new);
        if !self.counted {
            (self.counted, self.line, self.spread) = (true, line.into(), counter.spread);
        }
        if !again {
            self.before += former.value;
            self.least = least(self.least, former.coverage);
            self.intervals += u64::from(self.last.interval.is_some());
        }
        self.tail(counter, line, sink);
        if again {
            // This is another group's count of the same event in the same interval, not an additional count.
            let apart = (self.last.value - former.value).abs() / former.value.max(self.last.value).max(1.0);
            self.apart = self.apart.max(apart);
            if self.last.coverage.unwrap_or(1.0) <= former.coverage.unwrap_or(1.0) {
                self.last = former;
            } else {
                self.line = line.into();
            }
        }
    }

    fn total(&self) -> f64 {
        self.before + self.last.value
    }

    /// The smallest counting share, if printed.
    fn coverage(&self) -> Option<f64> {
        least(self.least, self.last.coverage)
    }

    /// Reads the text after a count: the counting share and, for instructions, their number per cycle.
    fn tail(&mut self, counter: &Counter, line: Line, sink: &mut Sink) {
        match counter.percent {
            // Because the two times are rounded, their ratio may be slightly more than 100 %.
            Some(share) if (0.0..=100.5).contains(&share) => {
                self.last.coverage = Some((share / 100.0).min(1.0))
            }
            Some(percent) => {
                let what = format!("counter.count {} coverage", self.event.plain());
                let why = format!("counted for {percent} % of the time, which is impossible");
                sink.withhold(what, why, line);
                self.impossible = true;
            }
            None => {}
        }
        if let Some((stated, of)) = counter.comment.split_once(char::is_whitespace)
            && matches!(of.trim(), "insn per cycle" | "insns per cycle")
        {
            self.stated_ipc = numbers::parse_decimal(stated);
        }
    }

    /// Whether this is a zero count of an event that always occurs, or that cannot occur in user mode.
    fn is_unseen(&self) -> bool {
        let never =
            self.event.mode == "u" && scan::is_one_of(&self.event.name, "context-switches|cpu-migrations");
        self.total() == 0.0 && (never || scan::is_one_of(&self.event.name, "cycles|instructions"))
    }

    /// The counted event, regardless of its mode.
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

    /// The count, with the details of its measurement.
    fn count(&self, in_modes: bool, run: &Run) -> Measurement {
        let (name, mode) = (self.event.plain(), self.event.mode.as_str());
        let name = if in_modes && !mode.is_empty() { format!("{name}:{mode}") } else { name };
        let place = self.place(run).with_label(Label::Event, name);
        let mut m = Measurement::exact(metrics::COUNTER_COUNT, place, vec![self.total()])
            .with_known_detail(detail::COVERAGE, self.coverage())
            .with_known_detail(detail::MODE, scan::find(&[("u", "user"), ("k", "kernel")], mode))
            .with_known_detail(detail::UNIT, Some(self.unit).filter(|unit| !unit.is_empty()))
            .with_known_detail(detail::INTERVALS, Some(self.intervals).filter(|intervals| *intervals > 0))
            .with_known_detail(detail::SUM_OF, (!self.sum_of.is_empty()).then(|| self.sum_of.join(" ")))
            .with_known_detail(detail::STANDARD_ERROR, self.spread);
        if self.impossible {
            m.doubt = Some("it was counted for an impossible share of the time".into());
        } else if self.apart > MOST_APART {
            let percent = self.apart * 100.0;
            m.doubt = Some(format!("event groups disagree by {percent:.0} %").into());
        }
        with_run(m, run)
    }
}

fn with_run(mut m: Measurement, run: &Run) -> Measurement {
    if run.unknown && m.doubt.is_none() {
        m.doubt = Some("unknown whether perf counted one process or the whole machine".into());
    }
    m.with_known_detail(detail::RUNS, run.runs)
        .with_known_detail(detail::CPUS, run.cpus.as_deref())
        .with_known_detail(detail::ATTACHED_TO, run.attached.as_deref())
}

/// Instructions per cycle from the two counts. The value that perf prints must agree. This metric has no thread label.
fn ipc(instructions: &Slot, cycles: &Slot, run: &Run, sink: &mut Sink) {
    let kind = instructions.event.unit.as_str();
    let nobodys = !kind.is_empty() && run.workload.is_none() && !run.system;
    let line = instructions.line.line();
    if cycles.total() <= 0.0 || nobodys || matches!(instructions.part, Part::Thread(_)) {
        return;
    }
    if instructions.intervals != cycles.intervals {
        let (one, other) = (instructions.intervals, cycles.intervals);
        let why = format!("instructions were counted in {one} intervals, cycles in {other}");
        return sink.withhold(metrics::CORE_IPC, why, line);
    }
    let value = instructions.total() / cycles.total();
    // If perf printed intervals, the printed value covers only the last interval.
    let stated = instructions.stated_ipc.filter(|_| instructions.intervals <= 1);
    let place = instructions
        .place(run)
        .with_label(Label::Source, "pmu")
        .with_known(Label::Kind, Some(kind).filter(|kind| !kind.is_empty()));
    let mut m = Measurement::exact(metrics::CORE_IPC, place, vec![value])
        .with_detail(detail::INSTRUCTIONS, instructions.total())
        .with_detail(detail::CYCLES, cycles.total())
        .with_known_detail(detail::COVERAGE, least(instructions.coverage(), cycles.coverage()))
        .with_known_detail(detail::MODE, (instructions.event.mode == "u").then_some("user"))
        .with_known_detail(detail::STATED, stated);
    if instructions.impossible || cycles.impossible {
        m.doubt = Some("it was counted for an impossible share of the time".into());
    }
    // Half of the last printed digit, plus a margin for groups that were counted at different times.
    let slack = 0.005 + (0.01 + instructions.apart + cycles.apart) * value.abs();
    if let Some(stated) = stated.filter(|stated| (stated - value).abs() > slack) {
        let shares = instructions.coverage().zip(cycles.coverage()).filter(|(one, other)| one != other);
        if let Some((one, other)) = shares.filter(|_| m.doubt.is_none()) {
            m.doubt = Some(
                record::text!(
                    "perf prints {stated}: instructions were counted for {one} of the time, cycles for {other}",
                    stated = format!("{stated:.2}"),
                    one = format!("{:.0} %", one * 100.0),
                    other = format!("{:.0} %", other * 100.0)
                )
                .into(),
            );
        }
        let says = format!(
            "perf stat states {stated} instructions per cycle, but its counts give {value:.3}; the record uses the counts"
        );
        sink.contradict(says, vec![sink.origin(line), sink.origin(cycles.line.line())]);
    }
    sink.add_figure(with_run(m, run), line);
}

/// The clock while the command ran: its cycles divided by its CPU time. It is undefined if the whole machine was counted, because
/// CPUs may have been idle.
fn clocks(cycles: &Slot, clock: &Slot, run: &Run, sink: &mut Sink) {
    if run.system || run.unknown || clock.total() <= 0.0 || cycles.impossible {
        return;
    }
    let hz = cycles.total() / clock.total() * 1e9;
    let mut m = Measurement::exact(metrics::CORE_CLOCK, Labels::new(), vec![hz])
        .with_known_detail(detail::WORKLOAD, run.workload.as_deref());
    m.method = Some("perf stat: cycles over CPU time".to_owned());
    sink.add_figure(with_run(m, run), cycles.line.line());
}
