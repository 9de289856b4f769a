//! The rows of one record in a comparison: which results are displayed, and how the rows of two records correspond.

use std::collections::BTreeMap;

use record::comparison::Per;
use record::fleet::Family;
use record::{Better, Label, Labels, Metric, metrics};

use super::datum::Datum;

/// Groups of rows in display order: the families or names of their metrics, the group's name in text and JSON, and the family with which
/// results share their causes.
const GROUPS: [(&[&str], &str, Family); 11] = [
    (&["core"], "core", Family::Core),
    (&["workload", "smt"], "workloads", Family::AllCpus),
    (&["load", metrics::MEMORY_LOADED_LATENCY.name()], "memory latency", Family::MemoryLatency),
    (&["numa", "stream"], "nodes", Family::Nodes),
    (&[metrics::MEMORY_BANDWIDTH.name()], "memory bandwidth", Family::MemoryBandwidth),
    (&["core_to_core"], "core to core", Family::CoreToCore),
    (&["wakeup"], "wake-up", Family::WakeUp),
    (&["stolen"], "taken time", Family::Others),
    (&["cost"], "small costs", Family::KernelCosts),
    (&["counter"], "counters", Family::AllCpus),
    (&[], "others", Family::Others),
];

/// The kind of a row. Only rows on which decisions depend have a kind of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RowKind {
    /// Any row on which no decision depends.
    #[default]
    Other,
    /// The clock of one core running scalar code.
    ClockOfOne,
    /// Instructions per cycle of a workload.
    InstructionsPerCycle,
    /// The speed of one thread.
    OneThread,
    /// The speed of all CPUs together.
    AllCpus,
    /// The speed of an unrecorded number of threads.
    ThreadsNotReported,
    /// The speed of all CPUs together divided by that of one thread.
    Efficiency,
    /// The miss rate of a program's accesses or branches.
    MissShare,
    /// A load from memory.
    Memory,
    /// A load from memory on 4 KiB pages.
    MemoryOnBasePages,
    /// Memory of other nodes.
    OtherNodes,
    /// Memory of other packages.
    OtherPackages,
    /// Memory latency for a NUMA-unaware program.
    IgnoringNodes,
}

/// The row to which a result belongs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RowKey {
    /// The index in [`GROUPS`].
    pub(super) group: usize,
    /// The metric.
    pub metric: Metric,
    /// Order within the metric.
    pub order: u32,
    /// The displayed name of the row, which is unique within the metric; rows that are otherwise equal are sorted by name.
    pub name: String,
    /// What similar rows have in common. If two records contain different rows with the same value of this field, the rows are not
    /// compared, and the reason is reported.
    pub loosely: Option<String>,
    /// The kind of the row.
    pub kind: RowKind,
    /// The subject without thread count or nodes: a workload with its size, a loop.
    pub subject: String,
}

impl RowKey {
    /// A row on which no decision depends.
    pub(super) fn new(metric: Metric, order: u32, name: impl Into<String>) -> Self {
        Self {
            group: GROUPS
                .iter()
                .position(|(names, ..)| names.iter().any(|name| metric.is_called(name)))
                .unwrap_or(GROUPS.len() - 1),
            metric,
            order,
            name: name.into(),
            loosely: None,
            kind: RowKind::Other,
            subject: String::new(),
        }
    }

    /// Sets a kind and a subject.
    pub(super) fn of_kind(self, kind: RowKind, subject: &str) -> Self {
        Self { kind, subject: subject.to_owned(), ..self }
    }

    /// The group in which the row is listed.
    pub(super) fn group(&self) -> &'static str {
        GROUPS[self.group].1
    }

    /// The family with which the row shares its causes.
    pub(super) fn family(&self) -> Family {
        let of_core = match self.kind {
            RowKind::OneThread => self.metric.family() == "workload",
            // The private caches of a core run at the core's clock.
            RowKind::Other => self.metric == metrics::LOAD_LATENCY && matches!(self.order, 2..=5),
            _ => false,
        };
        if of_core { Family::Core } else { GROUPS[self.group].2 }
    }

    /// Which direction is better, for the metric or the derived row.
    pub(super) fn better(&self) -> Option<Better> {
        match self.kind {
            RowKind::Efficiency => Some(Better::Higher),
            RowKind::MissShare => Some(Better::Lower),
            _ => self.metric.definition()?.better,
        }
    }
}

/// A row of one record.
#[derive(Clone, Debug)]
pub(crate) struct RowEntry {
    /// The result.
    pub datum: Datum,
    /// The labels without those that identify a place on one machine.
    pub place: Labels,
    /// The numbers of cores, CPUs and packages that together produced the result, if dividing by these numbers makes sense.
    pub parts: Option<Divisors>,
}

/// Divisors of a throughput; 0 if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Divisors {
    /// Physical cores.
    pub cores: u32,
    /// CPUs.
    pub cpus: u32,
    /// Packages.
    pub packages: u32,
}

impl Divisors {
    /// The number of parts of the specified kind.
    pub(super) fn count(self, per: Per) -> u32 {
        match per {
            Per::Core => self.cores,
            Per::Cpu => self.cpus,
            Per::Package => self.packages,
        }
    }
}

/// The rows of one record.
pub(super) type Rows = BTreeMap<RowKey, RowEntry>;

/// Adds a derived row if there is a result.
pub(super) fn add_row(rows: &mut Rows, key: RowKey, datum: Datum) {
    if datum.is_some() {
        rows.insert(key, RowEntry { datum, place: Labels::new(), parts: None });
    }
}

fn find_datum(rows: &Rows, is: impl Fn(&RowKey, &RowEntry) -> bool) -> Option<&Datum> {
    rows.iter().find(|(key, entry)| is(key, entry)).map(|(_, entry)| &entry.datum)
}

/// The first row of this metric and kind.
pub(super) fn find_row(rows: &Rows, metric: Metric, kind: RowKind) -> Option<&Datum> {
    find_datum(rows, |key, _| key.metric == metric && key.kind == kind)
}

/// The clock of one core.
pub(super) fn find_clock(rows: &Rows) -> Option<&Datum> {
    find_row(rows, metrics::CORE_CLOCK, RowKind::ClockOfOne)
}

/// Instructions per cycle of the workload with this label.
pub(super) fn find_instructions_per_cycle<'a>(rows: &'a Rows, workload: &str) -> Option<&'a Datum> {
    find_datum(rows, |key, entry| {
        key.kind == RowKind::InstructionsPerCycle && entry.place.word(Label::Workload) == Some(workload)
    })
}

/// The wake-up row of a metric with this policy and setting.
pub(super) fn find_wakeups<'a>(rows: &'a Rows, of: Metric, policy: &str, setting: &str) -> Option<&'a Datum> {
    find_datum(rows, |key, entry| key.metric == of && entry.policy() == policy && entry.setting() == setting)
}

impl RowEntry {
    /// For wake-ups: the scheduling policy, `other` by default.
    pub(crate) fn policy(&self) -> &str {
        self.place.word(Label::Policy).unwrap_or("other")
    }

    /// For wake-ups: the setting, by default the unchanged machine.
    pub(crate) fn setting(&self) -> &str {
        self.place.word(Label::Setting).unwrap_or("as-is")
    }
}
