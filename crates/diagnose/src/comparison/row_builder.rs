//! The figures of one record that people read first: each resource and workload once, summed up over CPUs, pairs of
//! CPUs and working sets, so that machines of other shapes have the same rows.

use record::Label;
use record::detail;
use std::collections::{BTreeMap, HashMap};

use record::units::percent;
use record::{Handover, Labels, Level, Measurement, Record, metrics};

use super::datum::{Datum, Size, key_text};
use super::method::{self, Unfit};
use super::nodes::Nodes;
use super::rows::{Derived, Divisors, Group, RowEntry, RowKey, RowKind, Rows, add_derived, add_row};
use crate::scaling::POOR;

/// Keys that name a place on one machine and not what was measured there.
const ON_MACHINE: &[&str] =
    &["cpu", "cpus", "core", "to_cpu", "node", "home", "from", "to", "clocksource", "priority"];
/// Workloads of no more than so many thread counts have a row for each.
const FEW_STEPS: usize = 4;
/// Figures of one place further apart than this are not of one thing.
const ONE_THING: f64 = 1.5;
/// What stands for the number of threads where a record does not tell it.
const NOT_REPORTED: &str = "number of threads not told";
/// Operations of bandwidth that have a row.
const REPORTED: &[&str] = &["read", "write", "copy", "triad"];
/// Operations of bandwidth that also stand per core, CPU and package.
const DIVIDED: &[&str] = &["read", "triad"];

/// The rows of a record. `levels` are those of its latency curve.
pub(super) fn build_rows(record: &Record, levels: &[Level]) -> Rows {
    let mut builder = Builder::new(record);
    for m in record.measurements.iter().filter(|m| m.summary.n > 0 && m.value().is_finite()) {
        builder.take(m);
    }
    let mut rows = builder.finish();
    super::level_rows::add_level_rows(record, levels, &mut rows);
    super::nodes::add_node_rows(record, &mut rows);
    if record.machine.virtualization.emulated == Some(true) {
        for entry in rows.values_mut() {
            entry.datum.unfit = Some(Unfit::Emulated);
        }
    }
    rows
}

struct Builder<'a> {
    record: &'a Record,
    nodes: Nodes<'a>,
    /// CPUs of the largest step of each workload.
    most_threads: HashMap<&'a str, u64>,
    /// Thread counts of each workload.
    steps: HashMap<&'a str, Vec<u64>>,
    /// Settings of each workload that is a recipe's.
    settings: HashMap<&'a str, String>,
    /// Largest size of each workload that has sizes.
    largest: HashMap<&'a str, u64>,
    most_bandwidth: u64,
    /// Whether bandwidth is there as STREAM counts bytes.
    streamed: bool,
    package: Option<u64>,
    rows: BTreeMap<RowKey, (Labels, Vec<&'a Measurement>)>,
}

/// The settings of the recipe that this is a run of: `exponent=999999`.
fn settings(m: &Measurement) -> Option<String> {
    let all = m.detail.get(detail::SETTINGS)?.as_array()?;
    let words: Vec<&str> = all.iter().filter_map(|setting| setting.as_str()).collect();
    Some(words.join(" "))
}

impl<'a> Builder<'a> {
    fn new(record: &'a Record) -> Self {
        let mut new = Self {
            record,
            nodes: Nodes::from_record(record),
            most_threads: HashMap::new(),
            steps: HashMap::new(),
            settings: HashMap::new(),
            largest: HashMap::new(),
            most_bandwidth: 0,
            streamed: false,
            package: None,
            rows: BTreeMap::new(),
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
                    if let Some(settings) = settings(m) {
                        new.settings.entry(workload).or_insert(settings);
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

    fn take(&mut self, m: &'a Measurement) {
        let metric = m.metric.as_str();
        match metric {
            // Curves and matrices have rows of their own.
            "load.latency"
            | "load.latency_cycles"
            | "numa.latency"
            | "numa.bandwidth"
            | "stream.ns_per_element"
            | "counter.count"
            | "counter.share"
            | "workload.cpu_time" => return,
            "memory.loaded_latency" | "load.parallelism" => return,
            _ => {}
        }
        let mut kind = RowKind::Other;
        let mut subject = String::new();
        let (group, order, mut what) = match metric {
            "core.clock" => {
                let active = match m.labels.word(Label::Active) {
                    Some("one") => "one core",
                    Some("all") => "all cores",
                    _ => "",
                };
                let vector = m.labels.word(Label::Vector).unwrap_or("scalar");
                if active == "one core" && vector == "scalar" {
                    kind = RowKind::ClockOfOne;
                }
                let vector = if vector == "scalar" { String::new() } else { format!("{vector}-bit vectors") };
                (Group::Core, u32::from(active == "all cores"), listed(&["clock", active, &vector]))
            }
            "core.ipc" => {
                let Some(row) = self.ipc(m) else { return };
                row
            }
            "workload.throughput" | "workload.time" => {
                let Some(row) = self.workload(m) else { return };
                (kind, subject) = (self.threads_kind(m), work_name(m));
                row
            }
            "smt.yield" => {
                let workload = m.labels.word(Label::Workload).unwrap_or("");
                (Group::Workloads, 40, format!("siblings of {workload}: together over one alone"))
            }
            "memory.bandwidth" => {
                // The others, and bytes with write-allocates, are among the figures one by one.
                if self.nodes.is_own(m) == Some(false) {
                    return;
                }
                let reported = m.labels.word(Label::Op).is_none_or(|op| REPORTED.contains(&op));
                if !reported || self.streamed && m.labels.word(Label::BytesCounted) == Some("bus") {
                    return;
                }
                kind = self.bandwidth_kind(m);
                self.bandwidth(m)
            }
            "core_to_core.latency" => {
                let class = m.detail.get(detail::CLASS);
                let Some(class) = class else { return };
                // Never one way of handing over against the other; a record of before there were two has one of them.
                let how = Handover::of_measurement(m);
                let order = 2 * class_order(class) + u32::from(how == Some(Handover::Store));
                (Group::CoreToCore, order, listed(&[class, how.map_or("", Handover::says)]))
            }
            // Corrected for missed periods they differ in their tails, which the figures one by one have.
            _ if metric.starts_with("wakeup.") && m.labels.switch(Label::Corrected) == Some(true) => return,
            _ if metric.starts_with("wakeup.") => (Group::Wakeup, 0, wakeup(m)),
            "stolen.share" | "stolen.gap" => {
                let by = match m.labels.word(Label::Cause) {
                    Some("os") => "by the kernel and others",
                    Some("below") => "from below the kernel",
                    Some(other) => other,
                    None => "in all",
                };
                let what = match metric {
                    // Twice as much of a little is no half of the speed.
                    "stolen.share" => format!("share of time taken, {by} (ratio: of the time left)"),
                    _ => listed(&["a gap", by]),
                };
                (Group::Stolen, u32::from(m.labels.get(Label::Cause).is_some()), what)
            }
            _ if metric.starts_with("cost.") => {
                let mut what = metric["cost.".len()..].replace('_', " ");
                let (own, other) = (m.labels.count(Label::Cpu), m.labels.count(Label::ToCpu));
                if let (Some(own), Some(other)) = (own, other) {
                    what.push_str(if own == other { ", one CPU" } else { ", two CPUs" });
                }
                if let Some(page) = m.labels.word(Label::Page) {
                    what.push_str(&format!(", {page} page"));
                }
                (Group::Costs, 0, what)
            }
            _ => (Group::Others, 0, metric.to_owned()),
        };
        let mut place = shared(&m.labels);
        if let (Group::CoreToCore, Some(how)) = (group, Handover::of_measurement(m)) {
            place = place.with_label(Label::Handover, how.word());
        }
        if group == Group::Others {
            let keys: Vec<String> =
                place.0.iter().map(|(name, value)| format!("{name} {}", key_text(value))).collect();
            what = listed(&[&what, &keys.join(", ")]);
        }
        let loosely = loosely(m);
        let key = RowKey { group, metric: m.metric.to_string(), order, what, loosely, kind, subject };
        self.rows.entry(key).or_insert_with(|| (place, Vec::new())).1.push(m);
    }

    /// Instructions a cycle: of one thread. Declared ones, which need no counter, before counted ones.
    fn ipc(&self, m: &Measurement) -> Option<(Group, u32, String)> {
        let workload = m.labels.word(Label::Workload).unwrap_or("any");
        if m.labels.count(Label::Threads).is_some_and(|threads| threads > 1) {
            return None;
        }
        Some((Group::Core, 10, format!("instructions a cycle, {workload}")))
    }

    fn workload(&self, m: &Measurement) -> Option<(Group, u32, String)> {
        let workload = m.labels.word(Label::Workload)?;
        if let (Some(bytes), Some(largest)) = (m.labels.count(Label::Bytes), self.largest.get(workload))
            && bytes != *largest
        {
            return None;
        }
        let time = if m.metric == "workload.time" { "time of " } else { "" };
        let name = format!("{time}{}", work_name(m));
        Some(match (self.threads_kind(m), threads(m)) {
            (RowKind::OneThread, _) => (Group::Workloads, 0, format!("{name}, one thread")),
            (RowKind::AllCpus, _) => (Group::Workloads, 30, format!("{name}, all CPUs")),
            // How long a command takes is the command's own doing, whatever its threads.
            (_, None) if m.metric == "workload.time" => (Group::Workloads, 0, name),
            (_, None) => (Group::Workloads, 20, format!("{name}, {NOT_REPORTED}")),
            (_, Some(threads)) => {
                // Of steps only the few that someone chose; the many of a scaling run are in the figures one by one.
                self.steps.get(workload).filter(|steps| steps.len() <= FEW_STEPS)?;
                let placement = m.labels.word(Label::Placement).unwrap_or("");
                let name = format!("{name}, {threads} threads");
                let order = 1 + u32::try_from(threads.min(9999)).unwrap_or(0);
                (Group::Workloads, order, listed(&[&name, placement]))
            }
        })
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

    fn bandwidth(&self, m: &Measurement) -> (Group, u32, String) {
        let op = m.labels.word(Label::Op).unwrap_or("operation not told");
        let (order, by) = match (self.bandwidth_kind(m), threads(m)) {
            (RowKind::AllCpus, _) => (2, "all CPUs".to_owned()),
            (RowKind::OneThread, _) => (0, "one thread".to_owned()),
            (_, Some(threads)) if Some(threads) == self.package => (1, "one package".to_owned()),
            (_, Some(threads)) => (3, format!("{threads} threads")),
            (_, None) => (4, NOT_REPORTED.to_owned()),
        };
        let stores = match m.labels.word(Label::Stores) {
            Some("streaming") => "streaming stores",
            _ => "",
        };
        let counted = match m.labels.word(Label::BytesCounted) {
            Some("bus") => "with write-allocates",
            _ => "",
        };
        (Group::Bandwidth, order, listed(&[op, &by, stores, counted]))
    }

    fn finish(mut self) -> Rows {
        let caches = self.record.machine.last_level_bytes();
        let mut rows = Rows::new();
        for (key, (place, mut all)) in std::mem::take(&mut self.rows) {
            let what = match key.metric.as_str() {
                "core.ipc" => {
                    // The program's own counts before those of the whole system, declared ones before counted ones.
                    let rank = |m: &&Measurement| {
                        let scope = method::is_system_wide(m);
                        (scope, m.labels.word(Label::Source) == Some("pmu"))
                    };
                    let best = all.iter().map(rank).min();
                    all.retain(|m| Some(rank(m)) == best);
                    "CPUs"
                }
                "core_to_core.latency" => "pairs of CPUs",
                "smt.yield" => "cores",
                // Figures over all CPUs stand for those of each.
                metric if metric.starts_with("wakeup.") => {
                    if all.iter().any(|m| m.labels.get(Label::Cpu).is_none()) {
                        all.retain(|m| m.labels.get(Label::Cpu).is_none());
                    }
                    "CPUs"
                }
                _ => "CPUs",
            };
            let first = all[0];
            let alike = all.iter().all(|m| m.labels == first.labels);
            let Some(mut datum) = Datum::from_several(&all, if alike { "runs" } else { what }) else {
                continue;
            };
            if alike && let Some(why) = apart(&all, &datum.unit) {
                datum.unfit.get_or_insert(Unfit::Because(why));
            }
            if key.kind == RowKind::ThreadsNotReported && !method::takes_all(first) {
                datum.unfit.get_or_insert(Unfit::ThreadsNotReported);
            }
            if let Some(bytes) = first.detail.get(detail::ARRAY_BYTES) {
                let arrays = first.detail.get(detail::ARRAYS).unwrap_or(1);
                datum.size = Size::classify(bytes.saturating_mul(arrays), caches);
            }
            datum.settings =
                first.labels.word(Label::Workload).and_then(|name| self.settings.get(name).cloned());
            let parts = parts(&key, first, self.record);
            rows.insert(key, RowEntry { datum, place, parts });
        }
        efficiency(&mut rows);
        self.loaded(&mut rows);
        rows
    }

    /// Memory-level parallelism at its best, and latency under load.
    fn loaded(&self, rows: &mut Rows) {
        let best = self.record.measurements_of("load.parallelism").filter(|m| m.value().is_finite());
        if let Some(best) = best.max_by(|a, b| a.value().total_cmp(&b.value())) {
            let chains = best.labels.count(Label::Chains).unwrap_or(0);
            let mut datum = Datum::from_measurement(best);
            datum.over = Some(format!("{chains} chains"));
            add_row(rows, Group::Latency, "load.parallelism", 50, "loads in flight at most", datum);
        }
        let Some(curve) = self.record.measurements_of("memory.loaded_latency").next() else { return };
        for (order, key, what) in [
            (60, detail::NS_AT_HALF_OF_PEAK, "latency at half of peak bandwidth"),
            (61, detail::NS_AT_80_PERCENT_OF_PEAK, "latency at 80 % of peak bandwidth"),
        ] {
            if let Some(ns) = curve.detail.get(key) {
                let mut datum =
                    Datum::derived(ns, None, "ns", format!("memory.loaded_latency detail.{}", key.name()));
                datum.over = Some("from a curve".to_owned());
                add_row(rows, Group::Latency, "memory.loaded_latency", order, what, datum);
            }
        }
    }
}

/// Throughput of all CPUs over that of as many single threads.
fn efficiency(rows: &mut Rows) {
    let mut found = Vec::new();
    for (key, entry) in rows.iter().filter(|(key, _)| is_of_all(key)) {
        let name = key.subject.as_str();
        let of_one = |other: &RowKey| {
            other.kind == RowKind::OneThread && other.metric == key.metric && other.subject == name
        };
        let one = rows.iter().find(|(other, _)| of_one(other)).map(|(_, entry)| entry);
        let (Some(one), Some(threads)) =
            (one, entry.parts.map(|parts| f64::from(parts.cpus)).filter(|n| *n > 1.0))
        else {
            continue;
        };
        let value = entry.datum.value / (one.datum.value * threads);
        let deviation =
            one.datum.log_deviation().zip(entry.datum.log_deviation()).map(|(one, all)| one.hypot(all));
        let mut datum = Datum::derived(value, deviation, "ratio", entry.datum.from.clone());
        datum.over = Some(format!("{threads} threads against one"));
        datum.doubt = entry.datum.doubt.clone().or_else(|| one.datum.doubt.clone());
        datum.method = entry.datum.method.clone();
        if value > 1.0 + POOR {
            let why =
                format!("{} of what so many threads can do: one of the two was disturbed", percent(value));
            datum.unfit.get_or_insert(Unfit::Because(why));
        }
        found.push((name.to_owned(), datum));
    }
    for (name, datum) in found {
        let (group, metric, kind) = (Group::Workloads, "workload.throughput", RowKind::Efficiency);
        let row = Derived { group, metric, order: 35, kind, subject: &name };
        add_derived(rows, &row, &format!("{name}, efficiency on all CPUs"), datum);
    }
}

/// Whether a row is the throughput of all CPUs.
fn is_of_all(key: &RowKey) -> bool {
    key.metric == "workload.throughput" && key.kind == RowKind::AllCpus
}

/// A workload with its size: `memory-bound (64 MiB)`.
fn work_name(m: &Measurement) -> String {
    let workload = m.labels.word(Label::Workload).unwrap_or("");
    match m.labels.count(Label::Bytes) {
        Some(bytes) => format!("{workload} ({})", record::units::bytes(bytes)),
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

/// Why figures of one place are no repetitions of each other: something that nothing tells differs.
fn apart(all: &[&Measurement], unit: &str) -> Option<String> {
    let values = || all.iter().map(|m| m.value()).filter(|value| value.is_finite());
    let (least, most) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    (least > 0.0 && most / least > ONE_THING).then(|| {
        format!(
            "one record has {} figures of it, from {} to {}, and nothing tells what differs between them",
            all.len(),
            record::units::figure(least, unit),
            record::units::figure(most, unit)
        )
    })
}

/// What a throughput of many threads may be divided by.
fn parts(key: &RowKey, m: &Measurement, record: &Record) -> Option<Divisors> {
    let divided = match key.metric.as_str() {
        "workload.throughput" => key.kind == RowKind::AllCpus,
        "memory.bandwidth" => {
            key.kind == RowKind::AllCpus
                && m.labels.word(Label::Op).is_some_and(|op| DIVIDED.contains(&op))
                && m.labels.word(Label::BytesCounted) != Some("bus")
        }
        _ => false,
    };
    let threads = u32::try_from(m.labels.count(Label::Threads)?).ok().filter(|_| divided)?;
    let counts = &record.machine.counts;
    let whole = counts.cpus_online.is_none_or(|cpus| cpus == threads);
    Some(Divisors {
        cpus: threads,
        cores: counts.cores.map_or(0, |cores| cores.min(threads)),
        packages: if whole { counts.packages.unwrap_or(0) } else { 0 },
    })
}

/// A place without what names a place on one machine.
fn shared(place: &Labels) -> Labels {
    Labels(
        place
            .0
            .iter()
            .filter(|(name, _)| !ON_MACHINE.contains(&name.as_str()))
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect(),
    )
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

fn wakeup(m: &Measurement) -> String {
    let figure = match m.metric.as_str() {
        "wakeup.latency" => "median",
        "wakeup.minimum" => "minimum",
        "wakeup.average" => "average",
        "wakeup.maximum" => "maximum",
        other => other,
    };
    let setting = match m.labels.word(Label::Setting) {
        Some("as-is") | None => "",
        Some("awake") => "idle states held off",
        Some(other) => other,
    };
    let policy = match m.labels.word(Label::Policy) {
        Some("other") | None => "",
        Some(other) => other,
    };
    listed(&[figure, policy, setting])
}

fn class_order(class: &str) -> u32 {
    let kinds = ["siblings", "cluster", "cache", "die", "node", "package", "other package"];
    kinds.iter().position(|kind| class.starts_with(kind)).map_or(kinds.len() as u32, |at| at as u32)
}

fn listed(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(", ")
}

/// The direction of a row: a metric's own, but of an efficiency more is better.
pub(super) fn better(key: &RowKey) -> Option<record::Better> {
    metrics::find(&key.metric).and_then(|metric| metric.better)
}
