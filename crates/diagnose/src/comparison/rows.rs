//! The rows of one record in a comparison: a figure that people read, and which rows of two records are the same.

use std::collections::BTreeMap;

use record::Where;

use super::datum::Datum;

/// What belongs together, in the order in which it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Clock and instructions a cycle.
    Core,
    /// Work with a known amount.
    Workloads,
    /// Load latency by level.
    Latency,
    /// Own and other nodes' memory.
    Numa,
    /// Bandwidth.
    Bandwidth,
    /// From CPU to CPU.
    CoreToCore,
    /// Wake-up latency.
    Wakeup,
    /// Time taken by others.
    Stolen,
    /// Small costs.
    Costs,
    /// Anything else.
    Others,
}

impl Group {
    /// The words for people and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Group::Core => "core",
            Group::Workloads => "workloads",
            Group::Latency => "memory latency",
            Group::Numa => "nodes",
            Group::Bandwidth => "memory bandwidth",
            Group::CoreToCore => "from CPU to CPU",
            Group::Wakeup => "wake-up",
            Group::Stolen => "taken time",
            Group::Costs => "small costs",
            Group::Others => "others",
        }
    }
}

/// Which row a figure belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey {
    /// Group.
    pub group: Group,
    /// The metric.
    pub metric: String,
    /// Order within the metric.
    pub order: u32,
    /// What it is, in words; with the metric it is unique.
    pub what: String,
    /// What would have to be alike for two rows to be the same one; rows alike in this alone are refused with a reason.
    pub loosely: String,
}

/// A row of one record.
#[derive(Clone, Debug)]
pub struct RowEntry {
    /// The figure.
    pub datum: Datum,
    /// The place without what names a place on one machine.
    pub place: Where,
    /// Cores, CPUs and packages that made it together, where it may be divided by them.
    pub parts: Option<Divisors>,
}

/// What a throughput may be divided by; 0 where it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Divisors {
    /// Physical cores.
    pub cores: u32,
    /// CPUs.
    pub cpus: u32,
    /// Packages.
    pub packages: u32,
}

/// The rows of one record.
pub type Rows = BTreeMap<RowKey, RowEntry>;

/// Adds a row that follows from others.
pub fn add_row(rows: &mut Rows, group: Group, metric: &str, order: u32, what: &str, datum: Datum) {
    if datum.is_some() {
        let key = RowKey {
            group,
            metric: metric.to_owned(),
            order,
            what: what.to_owned(),
            loosely: what.to_owned(),
        };
        rows.insert(key, RowEntry { datum, place: Where::new(), parts: None });
    }
}
