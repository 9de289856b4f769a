//! Which row a figure of a record belongs to, and what that row is called.

use std::collections::HashMap;

use record::{Handover, Label, Labels, Measurement, Record, Text, detail, text, units};

use super::datum::key_text;
use super::nodes::Nodes;
use super::rows::{Group, RowKey, RowKind};

/// Keys that name a place on one machine and not what was measured there.
const ON_MACHINE: &[&str] =
    &["cpu", "cpus", "core", "to_cpu", "node", "home", "from", "to", "clocksource", "priority"];
/// Workloads of no more than so many thread counts have a row for each.
const FEW_STEPS: usize = 4;
/// Operations of bandwidth that have a row.
const REPORTED: &[&str] = &["read", "write", "copy", "triad"];

/// What of a record decides which of its figures have a row.
pub(super) struct RowNames<'a> {
    record: &'a Record,
    nodes: Nodes<'a>,
    /// CPUs of the largest step of each workload.
    most_threads: HashMap<&'a str, u64>,
    /// Thread counts of each workload.
    steps: HashMap<&'a str, Vec<u64>>,
    /// Largest size of each workload that has sizes.
    largest: HashMap<&'a str, u64>,
    most_bandwidth: u64,
    /// Whether bandwidth is there as STREAM counts bytes.
    streamed: bool,
    package: Option<u64>,
}

/// A row of one figure.
struct Named {
    group: Group,
    order: u32,
    kind: RowKind,
    subject: String,
    what: Text,
}

impl Named {
    fn plain(group: Group, order: u32, what: Text) -> Self {
        Self { group, order, kind: RowKind::Other, subject: String::new(), what }
    }
}

impl<'a> RowNames<'a> {
    /// Of a record.
    pub(super) fn new(record: &'a Record) -> Self {
        let mut new = Self {
            record,
            nodes: Nodes::from_record(record),
            most_threads: HashMap::new(),
            steps: HashMap::new(),
            largest: HashMap::new(),
            most_bandwidth: 0,
            streamed: false,
            package: None,
        };
        for m in &record.measurements {
            let threads = m.labels.count(Label::Threads);
            match (m.metric.as_str(), m.labels.word(Label::Workload)) {
                ("workload.throughput" | "workload.time", Some(workload)) => {
                    let steps = new.steps.entry(workload).or_default();
                    let threads = threads.unwrap_or(1);
                    if steps.len() <= FEW_STEPS && !steps.contains(&threads) {
                        steps.push(threads);
                    }
                    let most = new.most_threads.entry(workload).or_default();
                    *most = threads.max(*most);
                    if let Some(bytes) = m.labels.count(Label::Bytes) {
                        let largest = new.largest.entry(workload).or_default();
                        *largest = bytes.max(*largest);
                    }
                }
                ("memory.bandwidth", _) => {
                    new.most_bandwidth = new.most_bandwidth.max(threads.unwrap_or(1));
                    new.streamed |= m.labels.word(Label::BytesCounted) != Some("bus");
                }
                _ => {}
            }
        }
        let counts = &record.machine.counts;
        new.package = match (counts.packages, counts.cpus_online.or(counts.cpus_allowed)) {
            (Some(packages), Some(cpus)) if packages > 1 => Some(u64::from(cpus / packages)),
            _ => None,
        };
        new
    }

    /// The row of a figure, its name and its place; `None` where it has none.
    pub(super) fn name(&self, m: &Measurement) -> Option<(RowKey, Text, Labels)> {
        let mut place = shared(&m.labels);
        let Named { group, order, kind, subject, what } = self.named(m, &place)?;
        if let (Group::CoreToCore, Some(how)) = (group, Handover::of_measurement(m)) {
            place = place.with_label(Label::Handover, how.word());
        }
        let metric = m.metric.to_string();
        let key = RowKey { group, metric, order, what: what.to_string(), loosely: loosely(m), kind, subject };
        Some((key, what, place))
    }

    fn named(&self, m: &Measurement, place: &Labels) -> Option<Named> {
        let metric = m.metric.as_str();
        Some(match metric {
            // Curves and matrices have rows of their own.
            "load.latency"
            | "load.latency_cycles"
            | "numa.latency"
            | "numa.bandwidth"
            | "stream.ns_per_element"
            | "counter.count"
            | "counter.share"
            | "workload.cpu_time"
            | "memory.loaded_latency"
            | "load.parallelism" => return None,
            "core.clock" => clock(m),
            "core.ipc" => instructions_per_cycle(m)?,
            "workload.throughput" | "workload.time" => self.workload(m)?,
            "smt.yield" => {
                let work = m.labels.word(Label::Workload).unwrap_or("").to_owned();
                let what = text!("comparison-row-smt-yield", "SMT yield of {work}", work);
                Named::plain(Group::Workloads, 40, what)
            }
            "memory.bandwidth" => self.bandwidth(m)?,
            "core_to_core.latency" => {
                let class = m.detail.get(detail::CLASS)?;
                // Never one way of handing over against the other; a record of before there were two has one of them.
                let how = Handover::of_measurement(m);
                let order = 2 * class_order(class) + u32::from(how == Some(Handover::Store));
                let says = how.map_or_else(String::new, |how| how.says().to_string());
                let what = text!("comparison-row-core-to-core", "{names}", names = listed(&[class, &says]));
                Named::plain(Group::CoreToCore, order, what)
            }
            // Corrected for missed periods they differ in their tails, which the figures one by one have.
            _ if metric.starts_with("wakeup.") && m.labels.switch(Label::Corrected) == Some(true) => {
                return None;
            }
            _ if metric.starts_with("wakeup.") => Named::plain(Group::Wakeup, 0, wakeup(m)),
            "stolen.share" | "stolen.gap" => stolen(m),
            _ if metric.starts_with("cost.") => Named::plain(Group::Costs, 0, cost(m)),
            _ => {
                let keys: Vec<String> =
                    place.0.iter().map(|(name, value)| format!("{name} {}", key_text(value))).collect();
                let what =
                    text!("comparison-row-metric", "{names}", names = listed(&[metric, &keys.join(", ")]));
                Named::plain(Group::Others, 0, what)
            }
        })
    }

    fn workload(&self, m: &Measurement) -> Option<Named> {
        let workload = m.labels.word(Label::Workload)?;
        if let (Some(bytes), Some(largest)) = (m.labels.count(Label::Bytes), self.largest.get(workload))
            && bytes != *largest
        {
            return None;
        }
        let (kind, subject) = (self.threads_kind(m), work_name(m));
        let timed = m.metric == "workload.time";
        let work = if timed {
            text!("comparison-time-of-work", "time of {work}", work = &subject)
        } else {
            text!("comparison-work", "{work}", work = &subject)
        };
        let (order, what) = match (kind, threads(m)) {
            (RowKind::OneThread, _) => {
                (0, text!("comparison-row-work-one-thread", "{work}, one thread", work))
            }
            (RowKind::AllCpus, _) => (30, text!("comparison-row-work-all-cpus", "{work}, all CPUs", work)),
            // How long a command takes is the command's own doing, whatever its threads.
            (_, None) if timed => (0, work),
            (_, None) => {
                (20, text!("comparison-row-work-unknown-threads", "{work}, unknown number of threads", work))
            }
            (_, Some(threads)) => {
                // Of steps only the few that someone chose; the many of a scaling run are in the figures one by one.
                self.steps.get(workload).filter(|steps| steps.len() <= FEW_STEPS)?;
                let order = 1 + u32::try_from(threads.min(9999)).unwrap_or(0);
                let what = match m.labels.word(Label::Placement) {
                    Some(placement) if !placement.is_empty() => text!(
                        "comparison-row-work-threads-placed",
                        "{work}, {threads} threads, {placement}",
                        work,
                        threads,
                        placement = placement.to_owned()
                    ),
                    _ => text!("comparison-row-work-threads", "{work}, {threads} threads", work, threads),
                };
                (order, what)
            }
        };
        Some(Named { group: Group::Workloads, order, kind, subject, what })
    }

    /// Whether a figure of a workload is of one thread or of all CPUs.
    fn threads_kind(&self, m: &Measurement) -> RowKind {
        let most =
            m.labels.word(Label::Workload).and_then(|name| self.most_threads.get(name)).copied().unwrap_or(1);
        let counts = &self.record.machine.counts;
        let all = counts.cpus_allowed.or(counts.cpus_online).map(u64::from);
        match threads(m) {
            None if m.metric == "workload.time" => RowKind::Other,
            None => RowKind::ThreadsNotReported,
            Some(1) => RowKind::OneThread,
            Some(threads) if threads == most && all.is_none_or(|all| threads >= all) => RowKind::AllCpus,
            Some(_) => RowKind::Other,
        }
    }

    /// The same of a bandwidth.
    fn bandwidth_kind(&self, m: &Measurement) -> RowKind {
        match threads(m) {
            None => RowKind::ThreadsNotReported,
            Some(threads) if threads == self.most_bandwidth && threads > 1 => RowKind::AllCpus,
            Some(1) => RowKind::OneThread,
            Some(_) => RowKind::Other,
        }
    }

    fn bandwidth(&self, m: &Measurement) -> Option<Named> {
        // The others, and bytes with write-allocates, are among the figures one by one.
        let on_bus = m.labels.word(Label::BytesCounted) == Some("bus");
        let reported = m.labels.word(Label::Op).is_none_or(|op| REPORTED.contains(&op));
        if self.nodes.is_own(m) == Some(false) || !reported || self.streamed && on_bus {
            return None;
        }
        let op = m.labels.word(Label::Op).unwrap_or("unknown operation").to_owned();
        let kind = self.bandwidth_kind(m);
        let (order, what) = match (kind, threads(m)) {
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
        let what = match m.labels.word(Label::Stores) {
            Some("streaming") => {
                text!("comparison-row-streaming-stores", "{row}, streaming stores", row = what)
            }
            _ => what,
        };
        let what = if on_bus {
            text!("comparison-row-bus-bytes", "{row}, with write-allocates", row = what)
        } else {
            what
        };
        Some(Named { group: Group::Bandwidth, order, kind, subject: String::new(), what })
    }
}

fn clock(m: &Measurement) -> Named {
    let (active, order) = match m.labels.word(Label::Active) {
        Some("one") => (Some(false), 0),
        Some("all") => (Some(true), 1),
        _ => (None, 0),
    };
    let what = match active {
        Some(false) => text!("comparison-row-clock-one-core", "clock, one core"),
        Some(true) => text!("comparison-row-clock-all-cores", "clock, all cores"),
        None => text!("comparison-row-clock", "clock"),
    };
    let vector = m.labels.word(Label::Vector).unwrap_or("scalar");
    let scalar = vector == "scalar";
    let kind = if active == Some(false) && scalar { RowKind::ClockOfOne } else { RowKind::Other };
    let what = if scalar {
        what
    } else {
        text!(
            "comparison-row-clock-vectors",
            "{row}, {bits}-bit vectors",
            row = what,
            bits = vector.to_owned()
        )
    };
    Named { kind, ..Named::plain(Group::Core, order, what) }
}

/// Instructions per cycle: of one thread. Declared ones, which need no counter, before counted ones.
fn instructions_per_cycle(m: &Measurement) -> Option<Named> {
    let work = m.labels.word(Label::Workload).unwrap_or("any").to_owned();
    if m.labels.count(Label::Threads).is_some_and(|threads| threads > 1) {
        return None;
    }
    let what = text!("comparison-row-ipc", "instructions per cycle, {work}", work = &work);
    Some(Named { group: Group::Core, order: 10, kind: RowKind::InstructionsPerCycle, subject: work, what })
}

fn stolen(m: &Measurement) -> Named {
    let cause = m.labels.word(Label::Cause);
    // Twice as much of a little is no half of the speed: the ratio of shares is that of the time left.
    let what = match (m.metric == "stolen.share", cause) {
        (true, Some("os")) => {
            text!(
                "comparison-row-share-os",
                "share of time taken by the kernel and other programs (ratio: of the time left)"
            )
        }
        (true, Some("below")) => {
            text!(
                "comparison-row-share-below",
                "share of time taken from below the kernel (ratio: of the time left)"
            )
        }
        (true, Some(cause)) => text!(
            "comparison-row-share-of",
            "share of time taken, {cause} (ratio: of the time left)",
            cause = cause.to_owned()
        ),
        (true, None) => text!("comparison-row-share", "share of time taken (ratio: of the time left)"),
        (false, Some("os")) => text!("comparison-row-gap-os", "gap, by the kernel and other programs"),
        (false, Some("below")) => text!("comparison-row-gap-below", "gap, from below the kernel"),
        (false, Some(cause)) => text!("comparison-row-gap-of", "gap, {cause}", cause = cause.to_owned()),
        (false, None) => text!("comparison-row-gap", "gap, all causes"),
    };
    Named::plain(Group::Stolen, u32::from(m.labels.get(Label::Cause).is_some()), what)
}

fn cost(m: &Measurement) -> Text {
    let name = m.metric.as_str().trim_start_matches("cost.").replace('_', " ");
    let cpus = match (m.labels.count(Label::Cpu), m.labels.count(Label::ToCpu)) {
        (Some(own), Some(other)) if own == other => "one CPU",
        (Some(_), Some(_)) => "two CPUs",
        _ => "",
    };
    let page = m.labels.word(Label::Page).map(|page| format!("{page} page")).unwrap_or_default();
    text!("comparison-row-cost", "{names}", names = listed(&[&name, cpus, &page]))
}

fn wakeup(m: &Measurement) -> Text {
    let figure = match m.metric.as_str() {
        "wakeup.latency" => "median",
        "wakeup.minimum" => "minimum",
        "wakeup.average" => "average",
        "wakeup.maximum" => "maximum",
        other => other,
    };
    let setting = match m.labels.word(Label::Setting) {
        Some("as-is") | None => "",
        Some("awake") => "idle states disabled",
        Some(other) => other,
    };
    let policy = match m.labels.word(Label::Policy) {
        Some("other") | None => "",
        Some(other) => other,
    };
    text!("comparison-row-wakeup", "{names}", names = listed(&[figure, policy, setting]))
}

/// Names one after the other.
fn listed(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(", ")
}

/// A workload with its size: `memory-bound (64 MiB)`.
fn work_name(m: &Measurement) -> String {
    let workload = m.labels.word(Label::Workload).unwrap_or("");
    match m.labels.count(Label::Bytes) {
        Some(bytes) => format!("{workload} ({})", units::bytes(bytes)),
        None => workload.to_owned(),
    }
}

/// Threads that made a figure: as many as it says, or one for each CPU that it names; `None` where the record does not tell.
pub(super) fn threads(m: &Measurement) -> Option<u64> {
    let cpus = || match m.labels.get(Label::Cpus)? {
        record::Key::Word(list) => list.parse::<record::CpuList>().ok().map(|cpus| cpus.len() as u64),
        _ => Some(1),
    };
    m.labels.count(Label::Threads).or_else(|| m.labels.get(Label::Cpu).map(|_| 1)).or_else(cpus)
}

/// A place without what names a place on one machine.
fn shared(place: &Labels) -> Labels {
    let kept = place.0.iter().filter(|(name, _)| !ON_MACHINE.contains(&name.as_str()));
    Labels(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// What two figures must have in common to be taken for the same thing measured in two ways.
fn loosely(m: &Measurement) -> String {
    if m.metric.starts_with("wakeup.") {
        return "wake-up".to_owned();
    }
    let main = [Label::Workload, Label::Op, Label::Cause, Label::Active];
    let words: Vec<String> = main.iter().filter_map(|key| m.labels.get(*key).map(key_text)).collect();
    words.join(" ")
}

fn class_order(class: &str) -> u32 {
    let kinds = ["siblings", "cluster", "cache", "die", "node", "package", "other package"];
    kinds.iter().position(|kind| class.starts_with(kind)).map_or(kinds.len() as u32, |at| at as u32)
}
