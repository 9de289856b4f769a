//! Which row a figure of a record belongs to, and what that row is called.

use std::collections::HashMap;

use record::label::name_workload;
use record::text::Value;
use record::{Handover, Label, Labels, Measurement, Record, Text, detail, metrics, text, units};

use super::datum::key_text;
use super::nodes::Nodes;
use super::rows::{Group, NamedRow, RowKind};
use super::work::{OnlySizes, Works};
use crate::block_sizes::BlockSizes;

/// Keys that name a place on one machine and not what was measured there.
const ON_MACHINE: &[&str] =
    &["cpu", "cpus", "core", "to_cpu", "node", "home", "from", "to", "clocksource", "priority"];
/// Curves and matrices, which have rows of their own, and what is told by the figures one by one.
const WITHOUT_ROW: &[&str] = &[
    "load.latency",
    "load.latency_cycles",
    "numa.latency",
    "numa.bandwidth",
    "stream.ns_per_element",
    "counter.share",
    "workload.cpu_time",
    "memory.loaded_latency",
    "load.parallelism",
    "probe.latency",
];
const CORE_TO_CORE: &str = "core_to_core.latency";
/// Events that have a row: what pinning and priority change.
const SCHEDULED: &[&str] = &["context-switches", "cpu-migrations"];
/// Workloads of no more than so many thread counts have a row for each.
const FEW_STEPS: usize = 4;
/// Operations of bandwidth that have a row.
const REPORTED: &[&str] = &["read", "write", "copy", "triad"];

/// What of a record decides which of its figures have a row.
pub(super) struct RowNames<'a> {
    record: &'a Record,
    nodes: Nodes<'a>,
    workloads: HashMap<&'a str, Steps>,
    sizes: BlockSizes<'a>,
    works: Works<'a>,
    only: &'a OnlySizes,
    most_bandwidth: u64,
    /// Whether bandwidth is there as STREAM counts bytes.
    streamed: bool,
    package: Option<u64>,
}

/// The steps of a workload.
#[derive(Default)]
struct Steps {
    /// Threads of the largest one.
    most: u64,
    /// Thread counts, up to one more than [`FEW_STEPS`].
    threads: Vec<u64>,
}

impl<'a> RowNames<'a> {
    /// Of a record; `only`: the sizes of blocks that another one has alone.
    pub(super) fn new(record: &'a Record, commands: bool, only: &'a OnlySizes) -> Self {
        let mut workloads: HashMap<&str, Steps> = HashMap::new();
        let (mut most_bandwidth, mut streamed) = (0, false);
        for m in &record.measurements {
            let threads = m.labels.count(Label::Threads).unwrap_or(1);
            match (m.metric.as_str(), m.labels.word(Label::Workload)) {
                ("workload.throughput" | "workload.time", Some(workload))
                    if !crate::observed::is_tuned(m) =>
                {
                    let steps = workloads.entry(workload).or_default();
                    if steps.threads.len() <= FEW_STEPS && !steps.threads.contains(&threads) {
                        steps.threads.push(threads);
                    }
                    steps.most = steps.most.max(threads);
                }
                ("memory.bandwidth", _) => {
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
        let works = Works::of(record, commands);
        Self { record, nodes, workloads, works, only, sizes, most_bandwidth, streamed, package }
    }

    /// The row of a figure; `None` where it has none.
    pub(super) fn name(&self, m: &Measurement) -> Option<NamedRow> {
        let mut row = self.find_row(m)?;
        let family = self.works.find(m).map(|work| work.family.clone());
        row.key.loosely = family.or_else(|| describe_loosely(m));
        Some(row)
    }

    /// The place that all figures of a row have.
    pub(super) fn place(m: &Measurement) -> Labels {
        let place = shared_labels(&m.labels);
        match Handover::of_measurement(m).filter(|_| m.metric == CORE_TO_CORE) {
            Some(how) => place.with_label(Label::Handover, how.word()),
            None => place,
        }
    }

    fn find_row(&self, m: &Measurement) -> Option<NamedRow> {
        let metric = m.metric.as_str();
        let row = |group, order, name| NamedRow::new(group, metric, order, name);
        Some(match metric {
            _ if WITHOUT_ROW.contains(&metric) => return None,
            "core.clock" => name_clock(m),
            "core.ipc" => name_instructions(m)?,
            "counter.count" => name_count(m)?,
            "workload.throughput" | "workload.time" => self.name_workload(m)?,
            "smt.yield" => {
                let work = m.labels.word(Label::Workload).unwrap_or("").to_owned();
                row(Group::Workloads, 40, text!("comparison-row-smt-yield", "SMT yield of {work}", work))
            }
            "memory.bandwidth" => self.name_bandwidth(m)?,
            CORE_TO_CORE => {
                let class = m.detail.get(detail::CLASS)?;
                // Never one way of handing over against the other; a record of before there were two has one of them.
                let how = Handover::of_measurement(m);
                let order = 2 * class_order(class) + u32::from(how == Some(Handover::Store));
                let names = join_names([Some(class.to_owned().into()), how.map(|how| how.says().into())]);
                row(Group::CoreToCore, order, text!("comparison-row-core-to-core", "{names}", names))
            }
            // Corrected for missed periods they differ in their tails, which the figures one by one have.
            _ if metric.starts_with("wakeup.") && m.labels.switch(Label::Corrected) == Some(true) => {
                return None;
            }
            _ if metric.starts_with("wakeup.") => row(Group::Wakeup, 0, name_wakeup(m)),
            "stolen.share" | "stolen.gap" => {
                let order = u32::from(m.labels.get(Label::Cause).is_some());
                row(Group::Stolen, order, name_stolen(m))
            }
            _ if metric.starts_with("cost.") => row(Group::Costs, 0, name_cost(m)),
            _ => {
                let place = shared_labels(&m.labels);
                let keys = place.0.iter().map(|(name, value)| format!("{name} {}", key_text(value)));
                let keys = keys.collect::<Vec<_>>().join(", ");
                let keys = (!keys.is_empty()).then(|| keys.into());
                let title = metrics::find(metric).map_or(metric, |metric| metric.title);
                let names = join_names([Some(title.to_owned().into()), keys]);
                row(Group::Others, 0, text!("comparison-row-metric", "{names}", names))
            }
        })
    }

    fn name_workload(&self, m: &Measurement) -> Option<NamedRow> {
        let workload = m.labels.word(Label::Workload)?;
        let steps = self.workloads.get(workload)?;
        let known = self.works.find(m)?;
        let timed = m.metric == "workload.time";
        let bytes = m.labels.count(Label::Bytes).or(known.bytes);
        let meets = || bytes.is_some_and(|bytes| self.only.has(known, bytes)) && !self.sizes.falls_out(m);
        if crate::observed::is_tuned(m) || !self.sizes.is_level(m) && !meets() {
            return None;
        }
        let mut subject = match bytes {
            Some(bytes) => format!("{} ({})", known.name, units::bytes(bytes)),
            None => known.name.clone(),
        };
        // A version of a program decides how much it does before it ends.
        if let Some((rest, version)) =
            subject.strip_prefix("sysbench ").zip(known.version.as_ref()).filter(|_| timed)
        {
            subject = format!("sysbench {version} {rest}");
        }
        let threads = count_threads(m).or_else(|| known.serial.then_some(1));
        let counts = &self.record.machine.counts;
        let kind = match threads_kind(
            threads,
            steps.most,
            counts.cpus_allowed.or(counts.cpus_online).or(counts.cores),
        ) {
            // How long a command takes is the command's own doing, whatever its threads.
            RowKind::ThreadsNotReported if timed => RowKind::Other,
            kind => kind,
        };
        let work = if timed {
            text!("comparison-time-of-work", "time of {work}", work = &subject)
        } else {
            text!("comparison-work", "{work}", work = &subject)
        };
        let (order, name) = match (kind, threads) {
            (RowKind::OneThread, _) => {
                (0, text!("comparison-row-work-one-thread", "{work}, one thread", work))
            }
            (RowKind::AllCpus, _) => (30, text!("comparison-row-work-all-cpus", "{work}, all CPUs", work)),
            (_, None) if timed => (0, work),
            (_, None) => {
                (20, text!("comparison-row-work-unknown-threads", "{work}, unknown number of threads", work))
            }
            // Of steps only the few that someone chose; the many of a scaling run are in the figures one by one.
            _ if steps.threads.len() > FEW_STEPS => return None,
            (_, Some(threads)) => {
                let order = 1 + u32::try_from(threads.min(9999)).unwrap_or(0);
                let name = match m.labels.word(Label::Placement).filter(|placement| !placement.is_empty()) {
                    Some(placement) => text!(
                        "comparison-row-work-threads-placed",
                        "{work}, {threads} threads, {placement}",
                        work,
                        threads,
                        placement = placement.to_owned()
                    ),
                    None => text!("comparison-row-work-threads", "{work}, {threads} threads", work, threads),
                };
                (order, name)
            }
        };
        Some(NamedRow::new(Group::Workloads, &m.metric, order, name).of_kind(kind, &subject))
    }

    fn name_bandwidth(&self, m: &Measurement) -> Option<NamedRow> {
        // The others, and bytes with write-allocates, are among the figures one by one.
        let on_bus = m.labels.word(Label::BytesCounted) == Some("bus");
        let reported = m.labels.word(Label::Op).is_none_or(|op| REPORTED.contains(&op));
        if self.nodes.is_own(m) == Some(false) || !reported || self.streamed && on_bus {
            return None;
        }
        let op = m.labels.word(Label::Op).unwrap_or("unknown operation").to_owned();
        // Linespeed's own run on all CPUs, or one a core, as the group's name says; another tool's on as many as it was given.
        let counts = &self.record.machine.counts;
        let cpus = match self.record.import {
            Some(_) => counts.cpus_allowed.or(counts.cpus_online).or(counts.cores),
            None => Some(0),
        };
        let kind = threads_kind(count_threads(m), self.most_bandwidth, cpus);
        let (order, mut name) = match (kind, count_threads(m)) {
            (RowKind::AllCpus, _) => (2, text!("comparison-row-bandwidth-all-cpus", "{op}, all CPUs", op)),
            (RowKind::OneThread, _) => {
                (0, text!("comparison-row-bandwidth-one-thread", "{op}, one thread", op))
            }
            (_, Some(threads)) if Some(threads) == self.package => {
                (1, text!("comparison-row-bandwidth-one-socket", "{op}, one socket", op))
            }
            (_, Some(threads)) => {
                (3, text!("comparison-row-bandwidth-threads", "{op}, {threads} threads", op, threads))
            }
            (_, None) => {
                (4, text!("comparison-row-bandwidth-unknown-threads", "{op}, unknown number of threads", op))
            }
        };
        if m.labels.word(Label::Stores) == Some("streaming") {
            name = text!("comparison-row-streaming-stores", "{row}, streaming stores", row = name);
        }
        if on_bus {
            name = text!("comparison-row-bus-bytes", "{row}, with write-allocates", row = name);
        }
        Some(NamedRow::new(Group::Bandwidth, &m.metric, order, name).of_kind(kind, ""))
    }
}

/// Whether a figure is of one thread or of all CPUs, where the most threads are so many; of what number of CPUs nobody tells,
/// no number of threads is all.
fn threads_kind(threads: Option<u64>, most: u64, cpus: Option<u32>) -> RowKind {
    match threads {
        None => RowKind::ThreadsNotReported,
        Some(1) => RowKind::OneThread,
        Some(threads) if threads == most && cpus.is_some_and(|cpus| threads >= cpus.into()) => {
            RowKind::AllCpus
        }
        Some(_) => RowKind::Other,
    }
}

fn name_clock(m: &Measurement) -> NamedRow {
    let (order, mut name) = match m.labels.word(Label::Active) {
        Some("one") => (0, text!("comparison-row-clock-one-core", "clock, one core")),
        Some("all") => (1, text!("comparison-row-clock-all-cores", "clock, all cores")),
        _ => (0, text!("comparison-row-clock", "clock")),
    };
    let vector = m.labels.word(Label::Vector).filter(|vector| *vector != "scalar");
    if let Some(bits) = vector {
        let bits = bits.to_owned();
        name = text!("comparison-row-clock-vectors", "{row}, {bits}-bit vectors", row = name, bits);
    }
    let of_one = vector.is_none() && m.labels.word(Label::Active) == Some("one");
    let kind = if of_one { RowKind::ClockOfOne } else { RowKind::Other };
    NamedRow::new(Group::Core, &m.metric, order, name).of_kind(kind, "")
}

/// Instructions per cycle: of one thread. Declared ones, which need no counter, before counted ones.
fn name_instructions(m: &Measurement) -> Option<NamedRow> {
    let work = m.labels.word(Label::Workload).unwrap_or("any");
    if m.labels.count(Label::Threads).is_some_and(|threads| threads > 1) {
        return None;
    }
    let name = text!("comparison-row-ipc", "instructions per cycle, {work}", work = work.to_owned());
    Some(NamedRow::new(Group::Core, &m.metric, 10, name).of_kind(RowKind::InstructionsPerCycle, work))
}

/// How often the scheduler took a program from its CPU; other events are among the figures one by one.
fn name_count(m: &Measurement) -> Option<NamedRow> {
    let (work, event) = (m.labels.word(Label::Workload)?, m.labels.word(Label::Event)?);
    let order = SCHEDULED.iter().position(|name| *name == event)?;
    if m.labels.get(Label::Thread).is_some() {
        return None;
    }
    let name = text!(
        "comparison-row-count",
        "{event} of {work}",
        event = event.to_owned(),
        work = name_workload(work).to_owned()
    );
    Some(NamedRow::new(Group::Workloads, &m.metric, 50 + order as u32, name))
}

fn name_stolen(m: &Measurement) -> Text {
    match (m.metric == "stolen.share", m.labels.word(Label::Cause)) {
        (true, Some("os")) => {
            text!("comparison-row-share-os", "time taken by other tasks and interrupts")
        }
        (true, Some("below")) => {
            text!("comparison-row-share-below", "time taken by the hypervisor")
        }
        (true, Some(cause)) => {
            text!("comparison-row-share-of", "share of time taken, {cause}", cause = cause.to_owned())
        }
        (true, None) => text!("comparison-row-share", "share of time taken"),
        (false, Some("os")) => {
            text!("comparison-row-gap-os", "stolen time gap, by the kernel and other programs")
        }
        (false, Some("below")) => text!("comparison-row-gap-below", "stolen time gap, from below the kernel"),
        (false, Some(cause)) => {
            text!("comparison-row-gap-of", "stolen time gap, {cause}", cause = cause.to_owned())
        }
        (false, None) => text!("comparison-row-gap", "stolen time gap, all causes"),
    }
}

fn name_cost(m: &Measurement) -> Text {
    let name = m.metric.as_str().trim_start_matches("cost.").replace('_', " ");
    let cpus = match (m.labels.count(Label::Cpu), m.labels.count(Label::ToCpu)) {
        (Some(own), Some(other)) if own == other => Some(text!("comparison-on-one-cpu", "one CPU").into()),
        (Some(_), Some(_)) => Some(text!("comparison-on-two-cpus", "two CPUs").into()),
        _ => None,
    };
    let page = m.labels.word(Label::Page);
    let page = page.map(|page| text!("comparison-on-pages", "{page} page", page = page.to_owned()).into());
    text!("comparison-row-cost", "{names}", names = join_names([Some(name.into()), cpus, page]))
}

fn name_wakeup(m: &Measurement) -> Text {
    let figure = match m.metric.as_str().trim_start_matches("wakeup.") {
        "latency" => "median",
        other => other,
    };
    let policy = m.labels.word(Label::Policy).filter(|policy| *policy != "other");
    let setting = m.labels.word(Label::Setting).filter(|setting| *setting != "as-is");
    let setting = setting.map(|setting| match setting {
        "awake" => text!("comparison-awake", "idle states disabled").into(),
        other => other.to_owned().into(),
    });
    let policy = policy.map(|policy| policy.to_owned().into());
    let names = join_names([Some(figure.to_owned().into()), policy, setting]);
    text!("comparison-row-wakeup", "{names}", names)
}

/// Names one after the other.
fn join_names<const N: usize>(names: [Option<Value>; N]) -> Value {
    let joined = names
        .into_iter()
        .flatten()
        .reduce(|name, more| text!("comparison-names", "{name}, {more}", name, more).into());
    joined.unwrap_or_else(|| Text::default().into())
}

/// Threads that made a figure: as many as it says, or one for each CPU that it names; `None` where the record does not tell.
pub(super) fn count_threads(m: &Measurement) -> Option<u64> {
    let cpus = || match m.labels.get(Label::Cpus)? {
        record::Key::Word(list) => list.parse::<record::CpuList>().ok().map(|cpus| cpus.len() as u64),
        _ => Some(1),
    };
    m.labels.count(Label::Threads).or_else(|| m.labels.get(Label::Cpu).map(|_| 1)).or_else(cpus)
}

/// A place without what names a place on one machine.
fn shared_labels(place: &Labels) -> Labels {
    let kept = place.0.iter().filter(|(name, _)| !ON_MACHINE.contains(&name.as_str()));
    Labels(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// What two figures must have in common to be taken for the same thing measured in two ways.
fn describe_loosely(m: &Measurement) -> Option<String> {
    if m.metric.starts_with("wakeup.") {
        return Some("wake-up".to_owned());
    }
    let main = [Label::Workload, Label::Op, Label::Cause, Label::Active];
    let words: Vec<String> = main.iter().filter_map(|key| m.labels.get(*key).map(key_text)).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn class_order(class: &str) -> u32 {
    let kinds = ["siblings", "cluster", "cache", "die", "node", "package", "other package"];
    kinds.iter().position(|kind| class.starts_with(kind)).map_or(kinds.len() as u32, |at| at as u32)
}
