//! The ceilings that records of a machine tell of it: what a command is held against.

use std::collections::BTreeMap;

use record::command_run::Ceilings;
use record::{Label, Measurement, Record};

/// The ceilings that a record shows beyond doubt; of memory from beyond the caches only.
pub(crate) fn collect_ceilings(record: &Record) -> Ceilings {
    let sure = |metric: &'static str| record.measurements_of(metric).filter(|m| m.doubt.is_none());
    let most = |values: &mut dyn Iterator<Item = f64>| values.filter(|v| v.is_finite()).reduce(f64::max);
    let mut ipc: BTreeMap<String, f64> = BTreeMap::new();
    for m in sure("core.ipc") {
        let alone = m.labels.count(Label::Threads).is_none_or(|threads| threads == 1);
        if let Some(name) = m.labels.word(Label::Workload).filter(|name| *name != "command" && alone) {
            let known = ipc.entry(name.to_owned()).or_default();
            *known = known.max(m.value());
        }
    }
    let clocks = sure("core.clock").filter(|m| m.labels.word(Label::Vector) == Some("scalar"));
    // What a miss of the last cache moves is a line read.
    let reads =
        || record.measurements_of("memory.bandwidth").filter(|m| m.labels.word(Label::Op) == Some("read"));
    let usable = |m: &&Measurement| m.doubt.is_none() && crate::resources::beyond_caches(record, m);
    let one = reads().filter(|m| m.labels.count(Label::Threads) == Some(1)).filter(usable);
    // All are those of the machine, not those that a run was held to.
    let threads = reads().filter_map(|m| m.labels.count(Label::Threads)).max();
    let cores = record.machine.one_cpu_a_core(&record.machine.allowed_cpus()).len() as u64;
    let every = reads().filter(|m| m.labels.count(Label::Threads) == threads && threads >= Some(cores));
    let latency =
        record.diagnosis.resources.iter().find(|resource| resource.name == crate::resources::MEMORY_LATENCY);
    let latency = latency.filter(|resource| resource.doubt.is_none() && resource.delivered.is_finite());
    Ceilings {
        ipc,
        clock_hz: most(&mut clocks.map(Measurement::value)),
        bandwidth_one: most(&mut one.map(Measurement::value)),
        bandwidth_all: most(&mut every.filter(usable).map(Measurement::value)),
        latency_ns: latency.map(|resource| resource.delivered),
        days: BTreeMap::new(),
    }
}

/// What was known, with the new figures in place of the old, and the day of each. Of instructions a cycle the most that a
/// workload has reached is kept: others on the CPU only take from them.
pub(crate) fn update_ceilings(old: Ceilings, new: Ceilings, day: &str) -> Ceilings {
    let mut all = old;
    if !new.ipc.is_empty() {
        all.days.insert("ipc".to_owned(), day.to_owned());
    }
    for (workload, ipc) in new.ipc {
        let known = all.ipc.entry(workload).or_insert(ipc);
        *known = known.max(ipc);
    }
    for (name, known, figure) in [
        ("clock_hz", &mut all.clock_hz, new.clock_hz),
        ("bandwidth_one", &mut all.bandwidth_one, new.bandwidth_one),
        ("bandwidth_all", &mut all.bandwidth_all, new.bandwidth_all),
        ("latency_ns", &mut all.latency_ns, new.latency_ns),
    ] {
        if figure.is_some() {
            *known = figure;
            all.days.insert(name.to_owned(), day.to_owned());
        }
    }
    all
}
