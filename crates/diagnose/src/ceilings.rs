//! The ceilings that records of a machine tell of it: what a command is held against.

use record::Label;
use record::{Measurement, Record};
use serde_json::{Map, Value, json};

/// The ceilings that a record shows beyond doubt; of memory from beyond the caches only.
pub(crate) fn collect_ceilings(record: &Record) -> Map<String, Value> {
    let mut all = Map::new();
    let sure = |metric: &'static str| record.measurements_of(metric).filter(|m| m.doubt.is_none());
    let most = |values: &mut dyn Iterator<Item = f64>| values.filter(|v| v.is_finite()).reduce(f64::max);
    let mut ipc = Map::new();
    for m in sure("core.ipc") {
        let alone = m.labels.count(Label::Threads).is_none_or(|threads| threads == 1);
        if let Some(name) = m.labels.word(Label::Workload).filter(|name| *name != "command" && alone) {
            let known = ipc.get(name).and_then(Value::as_f64).unwrap_or(0.0);
            ipc.insert(name.to_owned(), json!(known.max(m.value())));
        }
    }
    if !ipc.is_empty() {
        all.insert("ipc".to_owned(), Value::Object(ipc));
    }
    let clocks = sure("core.clock").filter(|m| m.labels.word(Label::Vector) == Some("scalar"));
    let clock = most(&mut clocks.map(|m| m.value()));
    // What a miss of the last cache moves is a line read.
    let reads =
        || record.measurements_of("memory.bandwidth").filter(|m| m.labels.word(Label::Op) == Some("read"));
    let usable = |m: &&Measurement| m.doubt.is_none() && crate::resources::beyond_caches(record, m);
    let one = reads().filter(|m| m.labels.count(Label::Threads) == Some(1)).filter(usable).map(|m| m.value());
    // All are those of the machine, not those that a run was held to.
    let threads = reads().filter_map(|m| m.labels.count(Label::Threads)).max();
    let cores = record.machine.one_cpu_a_core(&record.machine.allowed_cpus()).len() as u64;
    let every = reads().filter(|m| m.labels.count(Label::Threads) == threads && threads >= Some(cores));
    let every = every.filter(usable).map(|m| m.value());
    let latency =
        record.diagnosis.resources.iter().find(|resource| resource.name == crate::resources::MEMORY_LATENCY);
    let latency = latency.filter(|resource| resource.doubt.is_none() && resource.delivered.is_finite());
    let figures = [
        ("clock_hz", clock),
        ("bandwidth_one", most(&mut { one })),
        ("bandwidth_all", most(&mut { every })),
        ("latency_ns", latency.map(|resource| resource.delivered)),
    ];
    all.extend(figures.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))));
    all
}

/// What was known, with the new figures in place of the old, and the day of each. Of instructions a cycle the most that a
/// workload has reached is kept: others on the CPU only take from them.
pub(crate) fn update_ceilings(
    old: Map<String, Value>,
    new: Map<String, Value>,
    day: &str,
) -> Map<String, Value> {
    let mut all = old;
    let mut days = match all.remove("days") {
        Some(Value::Object(days)) => days,
        _ => Map::new(),
    };
    for (name, value) in new {
        days.insert(name.clone(), json!(day));
        let kept = match (all.remove(&name), value) {
            (Some(Value::Object(mut old)), Value::Object(new)) => {
                for (of, new) in new {
                    let reached =
                        old.get(&of).and_then(Value::as_f64).filter(|old| Some(*old) > new.as_f64());
                    old.insert(of, reached.map_or(new, |old| json!(old)));
                }
                Value::Object(old)
            }
            (_, new) => new,
        };
        all.insert(name, kept);
    }
    all.insert("days".to_owned(), Value::Object(days));
    all
}
