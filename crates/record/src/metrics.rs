//! The list of metrics. A metric's name means one definition for ever; its words stand in `docs/words.md`.

use serde::{Deserialize, Serialize};

use crate::label::Label;

/// Which direction of a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is faster.
    Higher,
    /// Less is faster.
    Lower,
}

/// A metric's definition.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its unit: `Hz`, `ns`, `cycles`, `B/s`, `ratio`.
    pub unit: &'static str,
    /// Which direction is better.
    pub better: Option<Better>,
    /// The keys that its place may carry, in the order in which people read them.
    pub keys: &'static [Label],
    /// Values outside are physically implausible and are withheld.
    pub plausible: (f64, f64),
}

const HIGHER: Option<Better> = Some(Better::Higher);
const LOWER: Option<Better> = Some(Better::Lower);

/// 1 TB/s a channel group is beyond any node today (HBM parts reach about 1 TB/s a package; 16 packages).
const MOST_BANDWIDTH: f64 = 1.6e13;
/// Ten seconds in nanoseconds: nothing timed as one event lasts longer.
const TEN_SECONDS: f64 = 1e10;

/// The events that `perf stat` counts by default, in its order: the `event` of most counts.
pub const USUAL_EVENTS: [&str; 8] = [
    "task-clock",
    "context-switches",
    "cpu-migrations",
    "page-faults",
    "cycles",
    "instructions",
    "branches",
    "branch-misses",
];

/// Every metric that this version writes.
pub const METRICS: &[Metric] = &[
    // 6.5 GHz: above the highest stock boost clock sold (6.2 GHz); overclocked records are not a server's.
    Metric {
        name: "core.clock",
        unit: "Hz",
        better: HIGHER,
        keys: &[Label::Cpu, Label::Active, Label::Vector],
        plausible: (2e7, 6.5e9),
    },
    // Below 0.15 ns no load-to-use latency exists: one cycle at 6.5 GHz.
    Metric {
        name: "load.latency",
        unit: "ns",
        better: LOWER,
        keys: &[Label::Cpu, Label::Node, Label::Bytes, Label::Page],
        plausible: (0.15, 1e5),
    },
    Metric {
        name: "load.latency_cycles",
        unit: "cycles",
        better: LOWER,
        keys: &[Label::Cpu, Label::Node, Label::Bytes, Label::Page],
        plausible: (0.9, 3e5),
    },
    Metric {
        name: "load.parallelism",
        unit: "ratio",
        better: HIGHER,
        keys: &[Label::Cpu, Label::Bytes, Label::Chains],
        plausible: (0.2, 64.0),
    },
    Metric {
        name: "memory.bandwidth",
        unit: "B/s",
        better: HIGHER,
        keys: &[Label::Op, Label::Stores, Label::BytesCounted, Label::Threads, Label::Cpus, Label::Node],
        plausible: (1e6, MOST_BANDWIDTH),
    },
    Metric {
        name: "memory.loaded_latency",
        unit: "ns",
        better: LOWER,
        keys: &[Label::Cpu, Label::Bandwidth, Label::ShareOfPeak],
        plausible: (0.15, 1e6),
    },
    Metric {
        name: "stream.ns_per_element",
        unit: "ns",
        better: LOWER,
        keys: &[Label::Op, Label::Cpu, Label::Node],
        plausible: (1e-4, 1e5),
    },
    Metric {
        name: "wakeup.latency",
        unit: "ns",
        better: LOWER,
        keys: &[Label::Cpu, Label::Policy, Label::Priority, Label::Setting, Label::Corrected],
        plausible: (0.0, TEN_SECONDS),
    },
    // cyclictest's summary line holds no median: these are its Min, Avg and Max.
    Metric {
        name: "wakeup.minimum",
        unit: "ns",
        better: LOWER,
        keys: &[Label::Cpu, Label::Policy, Label::Priority, Label::Setting],
        plausible: (0.0, TEN_SECONDS),
    },
    Metric {
        name: "wakeup.average",
        unit: "ns",
        better: LOWER,
        keys: &[Label::Cpu, Label::Policy, Label::Priority, Label::Setting],
        plausible: (0.0, TEN_SECONDS),
    },
    Metric {
        name: "wakeup.maximum",
        unit: "ns",
        better: LOWER,
        keys: &[Label::Cpu, Label::Policy, Label::Priority, Label::Setting],
        plausible: (0.0, TEN_SECONDS),
    },
    Metric {
        name: "stolen.share",
        unit: "ratio",
        better: LOWER,
        keys: &[Label::Cpu, Label::Cause],
        plausible: (0.0, 1.0),
    },
    Metric {
        name: "stolen.gap",
        unit: "ns",
        better: LOWER,
        keys: &[Label::Cpu, Label::Cause],
        plausible: (0.0, TEN_SECONDS),
    },
    Metric { name: "cost.syscall", unit: "ns", better: LOWER, keys: &[Label::Cpu], plausible: (1.0, 1e7) },
    Metric {
        name: "cost.clock_read",
        unit: "ns",
        better: LOWER,
        keys: &[Label::Cpu, Label::Clocksource],
        plausible: (0.5, 1e7),
    },
    Metric {
        name: "cost.context_switch",
        unit: "ns",
        better: LOWER,
        keys: &[Label::Cpu, Label::ToCpu],
        plausible: (10.0, 1e8),
    },
    Metric {
        name: "cost.page_fault",
        unit: "ns",
        better: LOWER,
        keys: &[Label::Cpu, Label::Page],
        plausible: (10.0, TEN_SECONDS),
    },
    Metric {
        name: "cost.mutex_handover",
        unit: "ns",
        better: LOWER,
        keys: &[Label::Cpu, Label::ToCpu],
        plausible: (10.0, 1e8),
    },
    Metric {
        name: "cost.branch_mispredict",
        unit: "ns",
        better: LOWER,
        keys: &[Label::Cpu],
        plausible: (0.1, 1e4),
    },
    Metric { name: "cost.spin_hint", unit: "ns", better: LOWER, keys: &[Label::Cpu], plausible: (0.05, 1e5) },
    Metric {
        name: "numa.latency",
        unit: "ns",
        better: LOWER,
        keys: &[Label::From, Label::To],
        plausible: (0.15, 1e6),
    },
    Metric {
        name: "numa.bandwidth",
        unit: "B/s",
        better: HIGHER,
        keys: &[Label::From, Label::To, Label::Op, Label::Threads],
        plausible: (1e5, MOST_BANDWIDTH),
    },
    // 0.5 ns: two siblings that share an L1 need a store and a load, some cycles.
    Metric {
        name: "core_to_core.latency",
        unit: "ns",
        better: LOWER,
        keys: &[
            Label::From,
            Label::To,
            Label::Home,
            Label::Handover,
            Label::State,
            Label::WriterNode,
            Label::ReaderNode,
        ],
        plausible: (0.5, 1e8),
    },
    // What one unit of work is depends on the workload (`detail.work`), so only absurd rates are withheld.
    Metric {
        name: "workload.throughput",
        unit: "work/s",
        better: HIGHER,
        keys: &[Label::Workload, Label::Bytes, Label::Threads, Label::Placement],
        plausible: (1e-9, 1e18),
    },
    Metric {
        name: "workload.time",
        unit: "s",
        better: LOWER,
        keys: &[Label::Workload, Label::Cpu, Label::Threads, Label::Placement],
        plausible: (0.0, 1e9),
    },
    Metric {
        name: "workload.cpu_time",
        unit: "s",
        better: LOWER,
        keys: &[Label::Workload, Label::State, Label::Thread],
        plausible: (0.0, 1e9),
    },
    // 12: beyond the width of any core sold (Lion Cove and Cortex-X925 take in 8 to 10 instructions a cycle).
    Metric {
        name: "core.ipc",
        unit: "instructions/cycle",
        better: HIGHER,
        keys: &[
            Label::Workload,
            Label::Cpu,
            Label::Kind,
            Label::Threads,
            Label::Placement,
            Label::Source,
            Label::Scope,
        ],
        plausible: (1e-4, 12.0),
    },
    // Eight siblings a core is the most that runs Linux (POWER); each can at best be worth a core of its own.
    Metric {
        name: "smt.yield",
        unit: "ratio",
        better: HIGHER,
        keys: &[Label::Workload, Label::Core],
        plausible: (0.05, 8.5),
    },
    Metric {
        name: "counter.count",
        unit: "count",
        better: None,
        keys: &[
            Label::Event,
            Label::Workload,
            Label::Cpu,
            Label::Threads,
            Label::Placement,
            Label::Thread,
            Label::Scope,
        ],
        plausible: (0.0, 1e19),
    },
    // A pass of one leaf routine in each layer; the unit of published figures is the clock counter's tick.
    Metric {
        name: "layer.time",
        unit: "cycles",
        better: LOWER,
        keys: &[Label::Layer, Label::Bound, Label::Interrupts],
        plausible: (1.0, 1e18),
    },
    Metric {
        name: "counter.share",
        unit: "ratio",
        better: None,
        keys: &[Label::Category, Label::Workload, Label::Threads, Label::Placement],
        plausible: (0.0, 1.0),
    },
];

/// The metric with this name.
pub fn find(name: &str) -> Option<&'static Metric> {
    let mut slot = slot_of(name.as_bytes());
    loop {
        let metric = METRICS.get(usize::from(PLACES[slot]))?;
        if metric.name == name {
            return Some(metric);
        }
        slot = (slot + 1) % SLOTS;
    }
}

/// A power of two, well above the number of metrics: most are found where they are looked for first.
const SLOTS: usize = 1024;

/// No metric's place.
const NONE: u8 = u8::MAX;

/// Places in the list of metrics, each in the slot of its name or the next free one behind it.
static PLACES: [u8; SLOTS] = places();

const fn places() -> [u8; SLOTS] {
    assert!(METRICS.len() < NONE as usize, "a byte is too small for the places of all metrics");
    let mut places = [NONE; SLOTS];
    let mut at = 0;
    while at < METRICS.len() {
        let mut slot = slot_of(METRICS[at].name.as_bytes());
        while places[slot] != NONE {
            slot = (slot + 1) % SLOTS;
        }
        places[slot] = at as u8;
        at += 1;
    }
    places
}

/// Where a name is looked for: by its last eight bytes, since many begin alike, and its length.
const fn slot_of(name: &[u8]) -> usize {
    let mut key = name.len() as u64;
    let mut at = name.len().saturating_sub(8);
    while at < name.len() {
        key = key.rotate_left(8) ^ name[at] as u64;
        at += 1;
    }
    // The golden ratio's fraction: its products' upper bits depend on every byte.
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_metric_is_found_by_its_name_and_no_other() {
        for metric in METRICS {
            assert_eq!(find(metric.name).map(|found| found.name), Some(metric.name));
            assert!(find(&format!("{}.", metric.name)).is_none());
            assert!(find(&metric.name[1..]).is_none());
        }
        assert!(find("").is_none());
    }

    #[test]
    fn names_are_unique_and_bounds_ordered() {
        for (i, metric) in METRICS.iter().enumerate() {
            assert!(METRICS[..i].iter().all(|other| other.name != metric.name), "{} twice", metric.name);
            assert!(metric.plausible.0 < metric.plausible.1, "{}", metric.name);
        }
    }
}
