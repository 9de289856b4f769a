//! Runs measurements from the list.

use machine::Inspection;
use machine::Root;
use os::Stop;
use record::shape::Looks;
use record::text::Value;
use record::{Coverage, CpuList, Doubt, Label, Machine, Metric, Record, State, metrics, text};

use crate::budget::Depth;
use crate::context::{Context, Halt, IMPLAUSIBLE, Progress};
use crate::measure::Measure;
use crate::measurements::latency::CLOCK_RANGE;
use crate::shape::Looker;
use crate::thread_group;
use crate::wakeups::Wakeups;

pub use crate::measurements::MEASUREMENTS;

/// The measurement with this name.
pub fn find(name: &str) -> Option<&'static Measure> {
    MEASUREMENTS.iter().copied().find(|measurement| measurement.name == name)
}

/// The linespeed measurements that produced a record's results.
pub fn measured_by(record: &Record) -> Vec<&'static str> {
    let has = |metric: &Metric| record.measurements_of(*metric).next().is_some();
    let made = MEASUREMENTS.iter().filter(|measurement| measurement.metrics.iter().any(has));
    made.map(|measurement| measurement.name).collect()
}

/// Whether this measurement is possible on a record's machine: `numa` needs several nodes.
pub fn can_measure(record: &Record, name: &str) -> bool {
    let machine = &record.machine;
    find(name).is_none_or(|measurement| {
        let outlook = measurement.outlook(machine, &record.conditions.before, &machine.allowed_cpus());
        outlook.state != State::Impossible
    })
}

/// The depth of `measurement` in a run of `chosen`. A quick run of all measurements omits some of them. If one of those
/// is requested by name in a quick run, it is measured as in a normal run.
pub fn depth_of(
    measurement: &Measure,
    chosen: &[&Measure],
    machine: &Machine,
    cpus: &CpuList,
    depth: Depth,
) -> Depth {
    let named = chosen.len() < MEASUREMENTS.len();
    let left_out = || measurement.budget(machine, cpus, depth).seconds == 0.0;
    if depth == Depth::Quick && named && left_out() { Depth::Normal } else { depth }
}

/// The results of a run.
#[derive(Debug, Default)]
pub struct Results {
    /// The measurements.
    pub measurements: Vec<record::Measurement>,
    /// The coverage: complete, partial and missing measurements.
    pub coverage: Vec<Coverage>,
    /// The placement checks made between the measurements.
    pub looks: Option<Looks>,
    /// The longest gaps and latest wake-ups.
    pub long_gaps: Vec<record::long_gap::LongGap>,
    /// The signal that ended the run early.
    pub interrupted: Option<i32>,
}

/// Runs `chosen` in list order and reports the other measurements as skipped in the coverage.
pub fn run(
    chosen: &[&Measure],
    found: &Inspection,
    (depth, wakeups): (Depth, Wakeups),
    cpus: &CpuList,
    stop: &Stop,
    progress: &mut (dyn Progress + Send + Sync),
) -> Results {
    let machine = &found.machine;
    let mut context = Context::new(machine, &found.snapshot, depth, cpus.clone(), stop, progress);
    context.wakeups = wakeups;
    let seconds = chosen
        .iter()
        .map(|m| m.budget(machine, cpus, depth_of(m, chosen, machine, cpus, depth)).seconds)
        .sum();
    context.looker = Looker::new(machine, cpus);
    context.looker.iter_mut().for_each(|looker| looker.plan(seconds, chosen.len() == 1));
    if context.looker.is_none() {
        context.coverage.push(Coverage::impossible("placement", text!("placement checks need two CPUs")));
    }
    let mut interrupted = None;
    if cpus.iter().next().and_then(|cpu| thread_group::run_on(cpu, |member| member.pinned)) == Some(false) {
        context.degrade_with_remedy(
            "pinning",
            text!("threads cannot be pinned: results may be from a different CPU than listed"),
            text!("allow sched_setaffinity, which a seccomp filter blocks"),
        );
    }
    for measurement in MEASUREMENTS {
        let name = measurement.name;
        if !chosen.iter().any(|c| c.name == name) {
            context.coverage.push(Coverage::skipped(name, Coverage::NOT_ASKED_FOR));
            continue;
        }
        if let Some(signal) = stop.signal() {
            interrupted = Some(signal);
            let why = text!("the run was interrupted before this measurement");
            context.coverage.push(Coverage::skipped(name, why));
            continue;
        }
        let outlook = measurement.outlook(machine, &found.snapshot, cpus);
        if outlook.state == State::Impossible {
            context.coverage.push(outlook);
            continue;
        }
        context.depth = depth_of(measurement, chosen, machine, cpus, depth);
        let seconds = measurement.budget(machine, cpus, context.depth).seconds;
        if seconds == 0.0 {
            context.coverage.push(Coverage::skipped(name, text!("omitted from a quick run")));
            continue;
        }
        if !measurement.uses_arrays {
            context.kept_arrays = None;
        }
        context.look(false);
        let had = context.coverage.len();
        context.begin(name, seconds);
        let ended = (measurement.run)(&mut context);
        context.end();
        match ended {
            Ok(()) => {
                let own = own_line(name, outlook, &context.coverage[had..]);
                own.into_iter().for_each(|line| context.coverage.insert(had, line));
            }
            Err(Halt::Impossible(why)) => context.coverage.push(Coverage::impossible(name, why)),
            Err(Halt::Interrupted) => {
                interrupted = stop.signal();
                context.degrade(name, text!("the run was interrupted during this measurement"));
            }
        }
    }
    context.look(false);
    doubt_unsteady_clock(&mut context);
    context.coverage.extend(context.looker.as_ref().and_then(Looker::report));
    let looks = context.looker.take().and_then(Looker::into_looks);
    let long_gaps = context.long_gaps;
    Results { looks, long_gaps, measurements: context.measurements, coverage: context.coverage, interrupted }
}

/// The coverage line for a finished measurement, placed above the lines that the measurement added; `None` if one of these already
/// describes the entire measurement. A limitation that was expected before the run is still reported.
fn own_line(name: &str, outlook: Coverage, left: &[Coverage]) -> Option<Coverage> {
    let reported = left.iter().any(|line| line.what.split(' ').next() == Some(name));
    let withheld = left.iter().any(|line| line.is_for(&IMPLAUSIBLE));
    match (outlook.state == State::Degraded, reported, withheld) {
        (false, true, _) => None,
        (false, false, true) => Some(Coverage::degraded(name, text!("some of its results were discarded"))),
        _ => Some(outlook),
    }
}

/// Marks the clock result as doubtful if the clock has changed since. The clock measurement samples the clock for
/// only one second; longer measurements observe it for many seconds.
fn doubt_unsteady_clock(context: &mut Context) {
    let Some((_, low, high)) = crate::repeat::clock_range(&context.clocks_seen) else { return };
    let lead = context.lead().ok();
    for m in &mut context.measurements {
        let is = |key: Label, word: &str| m.labels.word(key) == Some(word);
        let own = m.metric == metrics::CORE_CLOCK && is(Label::Active, "one") && is(Label::Vector, "scalar");
        if !own || m.doubt.is_some() || m.labels.count(Label::Cpu) != lead.map(u64::from) {
            continue;
        }
        if high > m.value() * (1.0 + CLOCK_RANGE) || low < m.value() * (1.0 - CLOCK_RANGE) {
            m.doubt = Some(Doubt::too_noisy(text!(
                "the same CPU later ran at {low} to {high}",
                low = Value::Figure(low, "Hz"),
                high = Value::Figure(high, "Hz")
            )));
        }
    }
}

/// The error if none of the requested measurements is possible here. Contains the coverage entry of each measurement.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.iter().map(explain).collect::<Vec<_>>().join("; "))]
pub struct AllImpossible(Vec<Coverage>);

fn explain(entry: &Coverage) -> String {
    let reason = entry.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let remedy = entry.remedy.as_ref().map(|remedy| format!(" ({remedy})")).unwrap_or_default();
    format!("{} cannot be measured here{reason}{remedy}", entry.what)
}

impl Results {
    /// Returns an error if none of the `chosen` measurements is possible here. A run that has results or was interrupted is not an error.
    ///
    /// # Errors
    ///
    /// All measurements are impossible.
    pub fn refuse_impossible(&self, chosen: &[&Measure]) -> Result<(), AllImpossible> {
        if !self.measurements.is_empty() || self.interrupted.is_some() {
            return Ok(());
        }
        let entry = |m: &&Measure| {
            self.coverage.iter().find(|c| c.what == m.name && c.state == State::Impossible).cloned()
        };
        chosen.iter().map(entry).collect::<Option<_>>().map_or(Ok(()), |all| Err(AllImpossible(all)))
    }
}

/// Requested CPUs that are offline now. The kernel silently moves their threads to other CPUs.
pub fn find_offline(root: &Root, cpus: &CpuList) -> Option<Coverage> {
    let online = root.cpu_list("/sys/devices/system/cpu/online")?;
    let gone = cpus.difference(&online);
    (!gone.is_empty()).then(|| {
        let reason = text!(
            "CPU {gone} went offline during the run; its results may be from another CPU",
            gone = &gone
        );
        let left = cpus.intersection(&online);
        let again = text!("measure again, or exclude it: linespeed --cpus {left}");
        Coverage::degraded("cpus", reason).with_remedy(again)
    })
}

#[cfg(test)]
mod tests {
    use record::metrics::Definition;

    use super::*;

    /// Metrics that are not written by any measurement in the list, but by a command (`linespeed stat`,
    /// `linespeed scale`, `linespeed overhead`).
    const COMMAND_METRICS: &[Metric] = &[
        metrics::WORKLOAD_CPU_TIME,
        metrics::WORKLOAD_TIME,
        metrics::COUNTER_COUNT,
        metrics::COUNTER_SHARE,
        metrics::LAYER_TIME,
    ];

    /// Metrics that only occur in records imported from other tools: cyclictest's extremes and average.
    const IMPORTED_METRICS: &[Metric] = &[
        metrics::WAKEUP_MINIMUM,
        metrics::WAKEUP_AVERAGE,
        metrics::WAKEUP_MAXIMUM,
        metrics::CPU_STATE,
        metrics::EVENT_RATE,
    ];

    #[test]
    fn names_are_unique_and_metrics_known() {
        let mut metrics = Vec::new();
        for (i, measurement) in MEASUREMENTS.iter().enumerate() {
            assert!(MEASUREMENTS[..i].iter().all(|other| other.name != measurement.name));
            for metric in measurement.metrics {
                assert!(metric.definition().is_some(), "{metric} of {}", measurement.name);
                metrics.push(*metric);
            }
        }
        for metric in record::metrics::all().map(Definition::metric) {
            let reported = metrics.contains(&metric)
                || COMMAND_METRICS.contains(&metric)
                || IMPORTED_METRICS.contains(&metric);
            assert!(reported, "no measurement reports {metric}");
        }
    }

    #[test]
    fn figures_are_withheld_only_where_one_was() {
        let model = Coverage::degraded("bus bytes", "not resolved");
        let implausible = Coverage::skipped("memory.bandwidth", IMPLAUSIBLE);
        let part = Coverage::skipped("bandwidth copy", "no time");
        let own = |left: &[Coverage]| own_line("bandwidth", Coverage::measured("bandwidth"), left);
        assert_eq!(own(&[]).unwrap().state, State::Measured);
        assert_eq!(own(std::slice::from_ref(&model)).unwrap().state, State::Measured);
        assert_eq!(own(&[model, implausible.clone()]).unwrap().state, State::Degraded);
        assert_eq!(own(&[part, implausible]), None);
    }

    /// A synthetic machine with two packages, SMT and 1.5 GB of last-level cache.
    fn large() -> Machine {
        let mut machine = Machine::default();
        for id in 0..512u32 {
            machine.cpus.push(record::machine::Cpu {
                id,
                online: true,
                allowed: true,
                core: Some(id % 256),
                package: Some(id % 256 / 128),
                node: Some(id % 256 / 128),
                ..Default::default()
            });
        }
        for package in 0..2u32 {
            machine.caches.push(record::machine::Cache {
                level: 3,
                kind: record::machine::CacheKind::Unified,
                bytes: Some(768 << 20),
                line: Some(64),
                ways: None,
                cpus: (0..512).filter(|id| id % 256 / 128 == package).collect(),
            });
        }
        machine
    }

    #[test]
    fn what_is_named_is_measured_even_quickly() {
        let (machine, cpus) = (large(), large().allowed_cpus());
        let scaling = find("scaling").unwrap();
        assert_eq!(depth_of(scaling, MEASUREMENTS, &machine, &cpus, Depth::Quick), Depth::Quick);
        assert_eq!(depth_of(scaling, &[scaling], &machine, &cpus, Depth::Quick), Depth::Normal);
        let clock = find("clock").unwrap();
        assert_eq!(depth_of(clock, &[clock], &machine, &cpus, Depth::Quick), Depth::Quick);
    }

    #[test]
    fn the_budgets_of_512_cpus_stay_within_what_is_promised() {
        let machine = large();
        let cpus = machine.allowed_cpus();
        let total =
            |depth| MEASUREMENTS.iter().map(|m| m.budget(&machine, &cpus, depth).seconds).sum::<f64>();
        assert!(total(Depth::Quick) <= 10.0, "quick: {} s", total(Depth::Quick));
        assert!(total(Depth::Normal) <= 88.0, "normal: {} s", total(Depth::Normal));
        let small: CpuList = (0..2).collect();
        let total =
            |depth| MEASUREMENTS.iter().map(|m| m.budget(&machine, &small, depth).seconds).sum::<f64>();
        assert!(total(Depth::Normal) <= 58.5, "normal on 2: {} s", total(Depth::Normal));
        assert!(total(Depth::Quick) <= 9.3, "quick on 2: {} s", total(Depth::Quick));
    }
}
