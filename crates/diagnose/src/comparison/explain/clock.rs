//! The core clock, from the best source in a record: measured, derived from a program's own cycles, or advertised.

use std::collections::BTreeMap;

use record::comparison::Cause;
use record::text::Value;
use record::{Label, Measurement, Record, Text, metrics, text};

use super::{CORE_CLOCK, Pair, against, are_comparable, cause};
use crate::comparison::Known;
use crate::comparison::datum::Datum;
use crate::comparison::method::is_system_wide;
use crate::comparison::ratio::differs_from_1;
use crate::comparison::rows::find_clock;

/// Cycles per second within this range (as shares of the advertised clock) count as a clock. Below the range, the program waited; near
/// twice the clock, the program may have had several threads.
const PLAUSIBLE: (f64, f64) = (0.5, 1.9);

/// A clock and its source.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// Hz.
    pub datum: Datum,
    /// Whether the clock was measured.
    pub measured: bool,
    /// A note on the source: `advertised`, `while 7^999999 ran`.
    pub note: Option<Text>,
}

impl Clock {
    /// A clock measured while the explained workload ran.
    pub(crate) fn measured(datum: Datum) -> Self {
        Self { datum, measured: true, note: None }
    }

    fn hertz(&self) -> Value {
        Value::Figure(self.datum.value, "Hz")
    }

    /// The value with its note.
    fn describe(&self) -> Value {
        match &self.note {
            Some(note) => text!("{hz} {note}", hz = self.hertz()).into(),
            None => self.hertz(),
        }
    }
}

/// The best clock in a record: measured on one core, otherwise from a single-threaded program, otherwise advertised.
pub(crate) fn find_best_clock(known: &Known) -> Option<Clock> {
    if let Some(clock) = find_clock(&known.rows) {
        return Some(Clock::measured(clock.clone()));
    }
    let advertised = find_advertised(known.record);
    let beside = advertised.as_ref().and_then(|advertised| while_another_ran(known.record, advertised.value));
    beside.or_else(|| {
        let note = Some(text!("advertised"));
        advertised.map(|datum| Clock { datum, measured: false, note })
    })
}

/// The highest rate of cycles per second of any program; programs with lower rates waited.
fn while_another_ran(record: &Record, advertised: f64) -> Option<Clock> {
    let mut times: BTreeMap<&str, f64> = BTreeMap::new();
    let alone = |m: &&Measurement| m.labels.count(Label::Threads).unwrap_or(1) == 1;
    for m in record.measurements_of(metrics::WORKLOAD_TIME).filter(alone) {
        if let Some(workload) = m.labels.word(Label::Workload).filter(|_| m.value() > 0.0) {
            times.entry(workload).or_insert(m.value());
        }
    }
    let clocks = times.into_iter().filter_map(|(workload, seconds)| {
        let datum = cycles_over(record, workload, seconds)?;
        (PLAUSIBLE.0..PLAUSIBLE.1).contains(&(datum.value / advertised)).then_some((datum, workload))
    });
    let (datum, workload) = clocks.max_by(|a, b| a.0.value.total_cmp(&b.0.value))?;
    Some(Clock { datum, measured: true, note: Some(text!("while {workload} ran")) })
}

/// A program's own count of an event, not a system-wide count.
pub(super) fn find_count(record: &Record, workload: &str, events: &[&str]) -> Option<Datum> {
    record
        .measurements_of(metrics::COUNTER_COUNT)
        .filter(|m: &&Measurement| m.labels.word(Label::Workload) == Some(workload))
        .filter(|m| m.labels.word(Label::Event).is_some_and(|event| events.contains(&event)))
        .find(|m| !is_system_wide(m))
        .map(Datum::from_measurement)
        .filter(|datum| datum.value > 0.0)
}

/// A program's own cycles divided by its CPU time if counted, otherwise by its elapsed time. For a single thread that never waits,
/// this equals the clock.
pub(super) fn cycles_over(record: &Record, workload: &str, seconds: f64) -> Option<Datum> {
    let cycles = find_count(record, workload, &["cycles", "cpu-cycles"]).filter(|_| seconds > 0.0)?;
    let (seconds, over) = match task_clock(record, workload) {
        Some(busy) => (busy, text!("cycles per task-clock")),
        None => (seconds, text!("cycles per elapsed time")),
    };
    let mut clock = Datum::derived(cycles.value / seconds, None, "Hz", cycles.from);
    clock.over = Some(over);
    Some(clock)
}

/// A program's CPU time from the kernel's task clock, in seconds. The times labeled by `state` (from rusage) are based on a different clock
/// than the cycles.
fn task_clock(record: &Record, workload: &str) -> Option<f64> {
    let counted = find_count(record, workload, &["task-clock"]).map(|datum| datum.value / 1e9);
    let written = || {
        let all = record.measurements_of(metrics::WORKLOAD_CPU_TIME);
        let whole =
            |m: &&Measurement| [Label::State, Label::Thread].iter().all(|key| m.labels.get(*key).is_none());
        let of_it = |m: &&Measurement| m.labels.word(Label::Workload) == Some(workload);
        all.filter(whole).find(of_it).map(Measurement::value)
    };
    counted.or_else(written).filter(|seconds| *seconds > 0.0)
}

/// The highest clock of any CPU in a record, Hz, as read before the measurement or shown by lscpu as `CPU MHz`.
pub(crate) fn clock_at_import(record: &Record) -> Option<u64> {
    let noted = record.conditions.before.clocks.iter().filter_map(|setting| setting.current_hz);
    noted.map(|(_, most)| most).max().filter(|hz| *hz > 0)
}

/// The advertised clock: the maximum clock if known, otherwise the base clock, otherwise the host's nominal clock as
/// shown to a guest.
pub(super) fn find_advertised(record: &Record) -> Option<Datum> {
    let p = &record.machine.processor;
    let guests = || record.machine.is_virtual().then(|| clock_at_import(record)).flatten();
    let (hz, from) = match (p.max_hz, p.base_hz) {
        (Some(hz), _) => (hz, "machine.processor.max_hz"),
        (None, Some(hz)) => (hz, "machine.processor.base_hz"),
        (None, None) => (guests()?, "conditions.before.clocks[].current_hz"),
    };
    (hz > 0).then(|| Datum::derived(hz as f64, None, "Hz", from))
}

/// The clock as a cause.
pub(super) fn clock_cause(pair: &Pair, this: &Clock, base: &Clock) -> Option<Cause> {
    let measured = this.measured && base.measured && are_comparable(&this.datum, &base.datum);
    if measured && !differs_from_1(&this.datum, &base.datum) {
        return None;
    }
    // Clocks from the same kind of source need no note.
    let says = match &this.note {
        Some(note) if this.note == base.note => {
            let against = against(this.hertz(), base.hertz());
            text!("{against}, {note}")
        }
        _ => against(this.describe(), base.describe()),
    };
    let (factor, evidence) = (this.datum.value / base.datum.value, pair.evidence(&this.datum, &base.datum));
    Some(Cause { measured, ..cause(CORE_CLOCK, says, factor, evidence)? })
}
