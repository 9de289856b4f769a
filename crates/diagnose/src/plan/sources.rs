//! Which figures of a machine's records a plan takes, and what it says of where they are from.

use record::{Measurement, Record, Text, detail, text};

/// Figures that a plan needs: of each group the newest record counts whose figures are beyond doubt, and where none are, the
/// newest that has any.
const NEEDED: [&[&str]; 5] = [
    &["numa.latency", "numa.bandwidth"],
    &["smt.yield"],
    LATENCY,
    &["core_to_core.latency"],
    &["workload.throughput"],
];

/// The latency curve.
const LATENCY: &[&str] = &["load.latency"];

/// What a record's figures must be for a plan to take them: beyond doubt for the most part, and of latency as far as memory.
/// What huge pages are worth needs a curve that reached memory, and what was measured beside others' work is known less well:
/// first the newest record without such a lack, then one with either, then any.
const DEMANDS: [Demand; 4] = [
    Demand { sound: true, whole: true },
    Demand { sound: true, whole: false },
    Demand { sound: false, whole: true },
    Demand { sound: false, whole: false },
];

#[derive(Clone, Copy)]
struct Demand {
    sound: bool,
    whole: bool,
}

/// Adds to `record` the figures of its machine's records, each with its name, the newest first; returns where they are from.
pub fn merge_records(record: &mut Record, others: &[(String, Record)]) -> Vec<Text> {
    let mut sources = Vec::new();
    let mut missing: Vec<&[&'static str]> = NEEDED.to_vec();
    for demand in DEMANDS {
        for (name, other) in others {
            let reached = other.diagnosis.resources.iter().any(|r| r.name == crate::MEMORY_LATENCY);
            let mut taken: Vec<&str> = Vec::new();
            let mut doubted = false;
            missing.retain(|group| {
                // What a command does, or a recipe's, is not what the machine is like.
                let wanted =
                    |m: &&Measurement| group.contains(&m.metric.as_str()) && !m.detail.has(detail::COMMAND);
                let figures: Vec<&Measurement> = other.measurements.iter().filter(wanted).collect();
                let sound = figures.iter().filter(|m| m.doubt.is_none()).count() * 2 > figures.len();
                let whole = *group != LATENCY || reached;
                if figures.is_empty() || demand.sound && !sound || demand.whole && !whole {
                    return true;
                }
                let metrics = group.iter().filter(|metric| figures.iter().any(|m| m.metric == **metric));
                taken.extend(metrics);
                doubted |= !sound;
                record.measurements.extend(figures.into_iter().cloned());
                false
            });
            if taken.is_empty() {
                continue;
            }
            let (metrics, day) = (taken.join(", "), day(other));
            sources.push(if doubted {
                text!(
                    "plan-source-doubtful",
                    "{metrics} of {day}: {name} (mostly doubtful; see linespeed show)",
                    metrics,
                    day,
                    name
                )
            } else {
                text!("plan-source", "{metrics} of {day}: {name}", metrics, day, name)
            });
        }
    }
    sources
}

/// Where a plan of one record has its figures.
pub fn describe_source(name: &str, record: &Record) -> Text {
    let name = name.to_owned();
    if record.import.is_some() {
        text!("plan-source-imported", "{name}, imported from other tools", name)
    } else {
        text!("plan-source-record", "{name}, of {day}", name, day = day(record))
    }
}

/// The day of a record.
fn day(record: &Record) -> String {
    record.started.get(..10).unwrap_or("an unknown day").to_owned()
}
