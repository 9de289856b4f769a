//! Names the row to which a result belongs, from its metric and the labels that machines share.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use record::metrics::{self, USUAL_EVENTS};
use record::{Handover, Key, Label, Labels, Measurement, Metric, Record, detail, units};

use super::nodes::Nodes;
use super::rows::{RowKey, RowKind};
use super::work::{OnlySizes, Program, Works};
use crate::block_sizes::BlockSizes;
use crate::tables::rows;

/// Labels that identify a place on one machine rather than the measured quantity.
const ON_MACHINE: &[&str] =
    &["cpu", "cpus", "core", "to_cpu", "node", "home", "from", "to", "clocksource", "priority"];
/// Metrics without a row here: curves and matrices have separate rows, and results of other metrics are only listed individually.
const WITHOUT_ROW: &[Metric] = &[
    metrics::LOAD_LATENCY,
    metrics::LOAD_LATENCY_CYCLES,
    metrics::NUMA_LATENCY,
    metrics::NUMA_BANDWIDTH,
    metrics::STREAM_NS_PER_ELEMENT,
    metrics::COUNTER_SHARE,
    metrics::WORKLOAD_CPU_TIME,
    metrics::MEMORY_LOADED_LATENCY,
    metrics::LOAD_PARALLELISM,
    metrics::PROBE_LATENCY,
];
/// Workloads with at most this many thread counts have one row per thread count.
const FEW_STEPS: usize = 4;
/// Bandwidth operations that have a row.
const REPORTED: &[&str] = &["read", "write", "copy", "triad"];

/// The parts of a record that determine which results have a row.
pub(super) struct RowNames<'a> {
    record: &'a Record,
    nodes: Nodes<'a>,
    /// The thread counts of each workload.
    workloads: HashMap<&'a str, BTreeSet<u64>>,
    sizes: BlockSizes<'a>,
    works: Works<'a>,
    only: &'a OnlySizes,
    most_bandwidth: u64,
    /// Whether the record contains bandwidth results whose bytes are counted as in STREAM.
    streamed: bool,
    package: Option<u64>,
}

impl<'a> RowNames<'a> {
    /// Creates the names for a record; `only` contains each block size that is the only size in another record.
    pub(super) fn new(record: &'a Record, commands: bool, only: &'a OnlySizes) -> Self {
        let mut workloads: HashMap<&str, BTreeSet<u64>> = HashMap::new();
        let (mut most_bandwidth, mut streamed) = (0, false);
        for m in &record.measurements {
            let threads = m.labels.count(Label::Threads).unwrap_or(1);
            match (m.metric, m.labels.word(Label::Workload)) {
                (metrics::WORKLOAD_THROUGHPUT | metrics::WORKLOAD_TIME, Some(workload))
                    if !crate::observed::is_tuned(m) =>
                {
                    workloads.entry(workload).or_default().insert(threads);
                }
                (metrics::MEMORY_BANDWIDTH, _) => {
                    most_bandwidth = most_bandwidth.max(threads);
                    streamed |= m.labels.word(Label::BytesCounted) != Some("bus");
                }
                _ => {}
            }
        }
        let counts = &record.machine.counts;
        let package = match (counts.packages, counts.cpus_online.or(counts.cpus_allowed)) {
            (Some(packages), Some(cpus)) if packages > 1 => Some(u64::from(cpus / packages)),
            _ => None,
        };
        let (nodes, sizes) = (Nodes::from_record(record), BlockSizes::from_record(record));
        let works = Works::of(record, commands).beside(only);
        Self { record, nodes, workloads, works, only, sizes, most_bandwidth, streamed, package }
    }

    /// The row of a result; `None` if the result has no row.
    pub(super) fn find_row(&self, m: &Measurement) -> Option<RowKey> {
        let key = self.name(m)?;
        let family = || self.works.find(m).map(|work| work.family().to_owned());
        // Counts of different events are different quantities.
        let loosely =
            (m.metric != metrics::COUNTER_COUNT).then(|| family().or_else(|| describe_loosely(m))).flatten();
        Some(RowKey { loosely, ..key })
    }

    fn name(&self, m: &Measurement) -> Option<RowKey> {
        let metric = m.metric;
        // Results corrected for missed periods differ from the uncorrected ones only in their tails, which are listed individually.
        if WITHOUT_ROW.contains(&metric) || m.labels.switch(Label::Corrected) == Some(true) {
            return None;
        }
        let active = m.labels.word(Label::Active);
        let row = |order, head: &str, labels: &[Label]| RowKey::new(metric, order, describe(m, head, labels));
        Some(match metric.name().split_once('.').unwrap_or((metric.name(), "")) {
            ("workload", _) => self.name_workload(m)?,
            ("memory", "bandwidth") => self.name_bandwidth(m)?,
            ("core", "ipc") | ("counter", _) if m.labels.count(Label::Threads).is_some_and(|n| n > 1) => {
                return None;
            }
            ("core", "clock") => {
                let plain = m.labels.word(Label::Vector).is_none_or(|vector| vector == "scalar");
                let of_one = plain && active == Some("one");
                let kind = if of_one { RowKind::ClockOfOne } else { RowKind::Other };
                let order = u32::from(active == Some("all"));
                row(order, "clock", &[Label::Active, Label::Vector]).of_kind(kind, "")
            }
            ("core", "ipc") => {
                let work = self.name_program(m).unwrap_or("any");
                row(10, &format!("instructions per cycle, {work}"), &[])
                    .of_kind(RowKind::InstructionsPerCycle, work)
            }
            ("counter", _) => {
                let (work, event) = (self.name_program(m)?, m.labels.word(Label::Event)?);
                let order = USUAL_EVENTS.iter().position(|usual| *usual == event);
                let head = format!("{event} of {work}");
                m.labels.get(Label::Thread).is_none().then_some(())?;
                row(order.unwrap_or(USUAL_EVENTS.len()) as u32, &head, &[]).of_kind(RowKind::Other, work)
            }
            ("smt", _) => {
                row(40, &format!("SMT yield of {}", m.labels.word(Label::Workload).unwrap_or("")), &[])
            }
            ("core_to_core", _) => {
                let class = m.detail.get(detail::CLASS)?;
                // Different kinds of cache-line handover are never compared.
                let how = Handover::of_measurement(m);
                let order = 2 * class_order(class) + u32::from(how == Some(Handover::Store));
                let class = format!("line transfer, {class}");
                let name = join([class].into_iter().chain(how.map(|how| how.says().to_string())));
                row(order, &name, &[])
            }
            ("wakeup", figure) => {
                let head = match (figure, m.labels.get(Label::Cpu)) {
                    // The headline is for one CPU; this row is for all CPUs.
                    ("latency", Some(_)) => "median over CPUs",
                    ("latency", None) => "median",
                    _ => figure,
                };
                row(0, &format!("wake-up, {head}"), &[Label::Policy, Label::Setting])
            }
            ("stolen", figure) => {
                let head = if figure == "share" { "share of stolen time" } else { "stolen time gap" };
                row(u32::from(m.labels.get(Label::Cause).is_some()), head, &[Label::Cause])
            }
            ("cost", what) => {
                let mut head = what.replace('_', " ");
                if let Some((own, other)) = m.labels.count(Label::Cpu).zip(m.labels.count(Label::ToCpu)) {
                    head.push_str(if own == other { ", one CPU" } else { ", two CPUs" });
                }
                row(0, &head, &[Label::Page])
            }
            _ => {
                let shared: Vec<Label> =
                    shared_labels(&m.labels).0.keys().filter_map(|name| Label::from_name(name)).collect();
                row(0, metric.definition().map_or(metric.name(), |metric| metric.title), &shared)
            }
        })
    }

    /// The program that ran, under the name used to compare its times. A loop of linespeed has a separate name because its instructions
    /// differ.
    fn name_program<'b>(&'b self, m: &'b Measurement) -> Option<&'b str> {
        let label = m.labels.word(Label::Workload)?;
        let work = self.works.named(label).filter(|work| matches!(work.program, Program::Other(_)));
        Some(work.map_or(label, |work| &work.name))
    }

    fn name_workload(&self, m: &Measurement) -> Option<RowKey> {
        let steps = self.workloads.get(m.labels.word(Label::Workload)?)?;
        let known = self.works.find(m)?;
        let timed = m.metric == metrics::WORKLOAD_TIME;
        let bytes = m.labels.count(Label::Bytes).or(known.bytes);
        let meets = || bytes.is_some_and(|bytes| self.only.has(known, bytes)) && !self.sizes.falls_out(m);
        if crate::observed::is_tuned(m) || !self.sizes.is_level(m) && !meets() {
            return None;
        }
        let mut subject = match bytes {
            Some(bytes) => format!("{} ({})", known.name, units::bytes(bytes)),
            None => known.name.clone(),
        };
        // A program's version affects its amount of work.
        if let Some((rest, version)) =
            subject.strip_prefix("sysbench ").zip(known.version.as_ref()).filter(|_| timed)
        {
            subject = format!("sysbench {version} {rest}");
        }
        let threads = count_threads(m).or_else(|| known.serial.then_some(1));
        let counts = &self.record.machine.counts;
        let all = counts.cpus_allowed.or(counts.cpus_online).or(counts.cores);
        let most = steps.last().copied().unwrap_or(0);
        let kind = match threads_kind(threads, most, all) {
            // A command's time is compared regardless of its number of threads.
            RowKind::ThreadsNotReported if timed => RowKind::Other,
            kind => kind,
        };
        let order = match (kind, threads) {
            (RowKind::OneThread, _) => 0,
            (RowKind::AllCpus, _) => 30,
            (_, None) if timed => 0,
            (_, None) => 20,
            // Only a few thread counts have rows; those of a scaling run are listed individually.
            _ if steps.len() > FEW_STEPS => return None,
            (_, Some(threads)) => 1 + u32::try_from(threads.min(9999)).unwrap_or(0),
        };
        let work = if timed { format!("time of {subject}") } else { subject.clone() };
        let said = (threads.is_some() || !timed).then(|| name_threads(kind, threads));
        let placement = m.labels.word(Label::Placement).filter(|placement| !placement.is_empty());
        let placement = placement.filter(|_| kind == RowKind::Other).map(str::to_owned);
        let name = join([Some(work), said, placement].into_iter().flatten());
        Some(RowKey::new(m.metric, order, name).of_kind(kind, &subject))
    }

    fn name_bandwidth(&self, m: &Measurement) -> Option<RowKey> {
        // Other operations, and bytes with write-allocates, are listed individually.
        let on_bus = m.labels.word(Label::BytesCounted) == Some("bus");
        let op = m.labels.word(Label::Op);
        let reported = op.is_none_or(|op| REPORTED.contains(&op));
        if self.nodes.is_own(m) == Some(false) || !reported || self.streamed && on_bus {
            return None;
        }
        // linespeed's own results are for threads on all CPUs or on one CPU per core, as the group's name shows. Other tools' results are
        // for the requested number of threads.
        let counts = &self.record.machine.counts;
        let cpus = match self.record.import {
            Some(_) => counts.cpus_allowed.or(counts.cpus_online).or(counts.cores),
            None => Some(0),
        };
        let threads = count_threads(m);
        let kind = threads_kind(threads, self.most_bandwidth, cpus);
        let one_socket = kind == RowKind::Other && threads == self.package;
        let order = match kind {
            RowKind::OneThread => 0,
            _ if one_socket => 1,
            RowKind::AllCpus => 2,
            _ => 3 + u32::from(threads.is_none()),
        };
        let said = if one_socket { "one socket".to_owned() } else { name_threads(kind, threads) };
        let head = format!("{}, {said}", op.unwrap_or("unknown operation"));
        let name = describe(m, &head, &[Label::Stores, Label::BytesCounted]);
        Some(RowKey::new(m.metric, order, name).of_kind(kind, ""))
    }
}

/// Whether a result is for one thread or for all CPUs, given the highest thread count. If the number of CPUs is unknown, no thread count
/// counts as "all".
fn threads_kind(threads: Option<u64>, most: u64, cpus: Option<u32>) -> RowKind {
    match threads {
        None => RowKind::ThreadsNotReported,
        Some(1) => RowKind::OneThread,
        Some(threads) if threads == most && cpus.is_some_and(|n| threads >= n.into()) => RowKind::AllCpus,
        Some(_) => RowKind::Other,
    }
}

fn name_threads(kind: RowKind, threads: Option<u64>) -> String {
    match (kind, threads) {
        (RowKind::OneThread, _) => "one thread".to_owned(),
        (RowKind::AllCpus, _) => "all CPUs".to_owned(),
        (_, Some(threads)) => format!("{threads} threads"),
        (_, None) => "unknown number of threads".to_owned(),
    }
}

/// Builds a row's name from its beginning and the words for these labels.
fn describe(m: &Measurement, head: &str, labels: &[Label]) -> String {
    let said = labels.iter().filter_map(|label| say(*label, &m.labels.get(*label)?.to_string()));
    join([head.to_owned()].into_iter().chain(said))
}

/// Words that a label's value adds to a row's name. Each row has the label, the value, and the words, in which `{}` stands for the value;
/// empty words add nothing.
static SAID: LazyLock<Vec<Vec<&str>>> = LazyLock::new(|| rows(include_str!("row_names.txt"), "labels"));

/// The words that a label's value adds to a row's name; `None` if there are none.
fn say(label: Label, value: &str) -> Option<String> {
    let is_it = |row: &&Vec<&str>| match row.as_slice() {
        [of, own, ..] => *of == label.name() && (*own == value || *own == "*"),
        _ => false,
    };
    match SAID.iter().find(is_it).map(Vec::as_slice) {
        None => Some(format!("{label} {value}")),
        Some([_, _, words]) => Some(words.replace("{}", value)),
        Some(_) => None,
    }
}

fn join(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// The number of threads of a result: the thread count in its labels or, without one, the number of CPUs in its labels. `None` if the
/// labels contain neither.
pub(super) fn count_threads(m: &Measurement) -> Option<u64> {
    let cpus = || match m.labels.get(Label::Cpus)? {
        record::Key::Word(list) => list.parse::<record::CpuList>().ok().map(|cpus| cpus.len() as u64),
        _ => Some(1),
    };
    m.labels.count(Label::Threads).or_else(|| m.labels.get(Label::Cpu).map(|_| 1)).or_else(cpus)
}

/// A result's labels except those that identify a place on one machine; all results of a row share them.
pub(super) fn shared_labels(place: &Labels) -> Labels {
    let kept = place.0.iter().filter(|(name, _)| !ON_MACHINE.contains(&name.as_str()));
    Labels(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// The properties that two results must share to measure the same quantity.
fn describe_loosely(m: &Measurement) -> Option<String> {
    if m.metric.family() == "wakeup" {
        return Some("wake-up".to_owned());
    }
    let main = [Label::Workload, Label::Op, Label::Cause, Label::Active];
    let words: Vec<String> = main.iter().filter_map(|key| m.labels.get(*key).map(Key::to_string)).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn class_order(class: &str) -> u32 {
    let kinds = ["siblings", "cluster", "cache", "die", "node", "package", "other package"];
    kinds.iter().position(|kind| class.starts_with(kind)).map_or(kinds.len() as u32, |at| at as u32)
}
