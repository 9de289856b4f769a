//! The cost of NUMA nodes, from matrices or single results with a CPU and a node: local memory, remote memory, and the average for a
//! NUMA-unaware program.

use std::collections::BTreeMap;

use record::diagnosis::Evidence;
use record::text::Value;
use record::units::figure;
use record::{CpuList, Label, Machine, Measurement, Metric, Record, Template, Text, metrics, text};

use super::Known;
use super::datum::{Datum, Size};
use super::rows::{RowKey, RowKind, Rows, add_row};
use crate::figures::cite_fact;
use crate::node_costs::nodes_of_cpus;

/// Remote memory is mentioned if it is slower than local memory by this factor.
const APART: f64 = 1.1;

/// Operations of lmbench's stream, the most widely used first.
const OPS: &[&str] = &["copy", "triad", "scale", "add"];

/// The node of each CPU, if the record shows it.
pub(crate) struct Nodes<'a> {
    record: &'a Record,
    of_cpu: BTreeMap<u32, u32>,
}

impl<'a> Nodes<'a> {
    /// Reads a record's nodes.
    pub(crate) fn from_record(record: &'a Record) -> Self {
        let of_cpu = nodes_of_cpus(&record.machine);
        Self { record, of_cpu }
    }

    /// Whether a result is for the CPU's local memory; `None` if the record does not show this.
    pub(crate) fn is_own(&self, m: &Measurement) -> Option<bool> {
        match m.labels.word(Label::Node) {
            Some("local" | "own") => Some(true),
            Some("remote" | "other") => Some(false),
            Some(_) => None,
            None => {
                let node = u32::try_from(m.labels.count(Label::Node)?).ok()?;
                Some(self.find_own(m)? == node)
            }
        }
    }

    /// The node of the requesting CPU, or of all CPUs if they are on one node.
    fn find_own(&self, m: &Measurement) -> Option<u32> {
        if let Some(cpu) = m.labels.count(Label::Cpu).or_else(|| m.labels.count(Label::Cpus)) {
            return self.of_cpu.get(&u32::try_from(cpu).ok()?).copied();
        }
        let cpus: CpuList = m.labels.word(Label::Cpus)?.parse().ok()?;
        let mut nodes = cpus.iter().map(|cpu| self.of_cpu.get(&cpu).copied());
        let first = nodes.next()??;
        nodes.all(|node| node == Some(first)).then_some(first)
    }

    /// Whether a result is for another package's memory; `None` if the record does not show this.
    pub(crate) fn is_other_package(&self, m: &Measurement) -> Option<bool> {
        let machine = &self.record.machine;
        let own =
            m.labels.count(Label::From).and_then(|at| at.try_into().ok()).or_else(|| self.find_own(m))?;
        let to = u32::try_from(m.labels.count(Label::To).or(m.labels.count(Label::Node))?).ok()?;
        let packages = machine.counts.packages.filter(|packages| *packages > 0)?;
        let package = |node: u32| {
            let reported = machine.cpus.iter().find(|cpu| cpu.node == Some(node)).and_then(|cpu| cpu.package);
            // Firmware numbers nodes package by package; this is used for CPUs without a known package.
            let nodes = self.count();
            reported.or_else(|| {
                (nodes.is_multiple_of(packages) && node < nodes).then(|| node / (nodes / packages))
            })
        };
        Some(package(own)? != package(to)?)
    }

    /// Number of nodes with memory; 1 if the record lists none.
    pub(crate) fn count(&self) -> u32 {
        let machine = &self.record.machine;
        let with_memory = machine.nodes.iter().filter(|node| node.bytes != Some(0)).count() as u32;
        let reported = machine.counts.nodes.unwrap_or(0);
        let packages = if with_memory.max(reported) == 0 { machine.counts.packages.unwrap_or(1) } else { 1 };
        with_memory.max(reported).max(packages).max(1)
    }

    /// Share of remote accesses in a NUMA-unaware program.
    pub(crate) fn remote_share(&self) -> f64 {
        let nodes = f64::from(self.count());
        (nodes - 1.0) / nodes
    }
}

/// The last cache level, and the size of its largest cache in bytes. Sizes are not added up: a virtual machine may list one cache per CPU.
pub(crate) fn last_level_cache(machine: &Machine) -> (u32, u64) {
    let level = machine.last_level();
    (level, machine.data_caches(level).filter_map(|cache| cache.bytes).max().unwrap_or(0))
}

/// The cost of other packages' memory.
const OTHER_SOCKETS: Template = Template::new(
    "comparison-other-sockets",
    "{who}, {what}: memory on other sockets takes {factor} as long to access as local memory ({far} instead of {own}).",
);
/// The cost of other nodes' memory, if packages cannot be distinguished.
const OTHER_NODES: Template = Template::new(
    "comparison-other-nodes",
    "{who}, {what}: memory on other NUMA nodes takes {factor} as long to access as local memory ({far} instead of {own}).",
);

/// Describes the nodes in a record: the additional latency of other packages' memory.
pub(crate) fn describe_nodes(known: &Known) -> Vec<Text> {
    let said = |reach: &Reach| {
        let far = reach.far.as_ref().or(reach.other.as_ref())?;
        let ratio = far.value / reach.own.value;
        if ratio < APART || reach.own.unfit.is_some() {
            return None;
        }
        let (what, factor) = (&reach.what, Value::Factor(ratio));
        let shown = |datum: &Datum| record::units::figure(datum.value, &reach.own.unit);
        let template = if reach.far.is_some() { OTHER_SOCKETS } else { OTHER_NODES };
        let (who, own, far) = (&known.name, shown(&reach.own), shown(far));
        Some(text!(template, who, what, factor, far, own))
    };
    // The first result is sufficient, because the most widely used measurement comes first.
    find_reaches(known.record).iter().find_map(said).into_iter().collect()
}

/// The timed quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timed {
    /// Load latencies in a node matrix.
    Matrix,
    /// Load latencies of a large working set.
    Loads,
    /// An element of an lmbench loop: the index of the operation in [`OPS`], or the length of that list if unknown.
    Stream(usize),
}

/// Latency of a record's memory by its location.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// The timed quantity.
    pub timed: Timed,
    /// The name of the measured quantity: `load latency`, `lmbench copy`.
    pub what: Text,
    /// The local node's memory.
    pub own: Datum,
    /// Other nodes' memory; `None` if there is only one node, or if other nodes' memory was not measured.
    pub other: Option<Datum>,
    /// Other packages' memory, if the record distinguishes it; also included in `other`.
    pub far: Option<Datum>,
    /// Mean latency of other nodes' memory (the mean rather than the median, because latencies add up over accesses).
    pub mean_other: Option<f64>,
    /// Share of accesses to other nodes in a NUMA-unaware program.
    pub remote_share: f64,
    /// Number of nodes.
    pub nodes: u32,
    /// Whether the fastest node is assumed to be the local one because the record does not show the nodes of CPUs.
    pub guessed: bool,
}

impl Reach {
    /// Mean latency of other nodes' memory divided by that of the local node.
    pub(crate) fn factor(&self) -> f64 {
        self.mean_other.map_or(1.0, |other| other / self.own.value)
    }

    /// Latency for a NUMA-unaware program, divided by that of local memory.
    pub(crate) fn ignoring(&self) -> f64 {
        1.0 + self.remote_share * (self.factor() - 1.0)
    }

    /// The underlying results.
    pub(crate) fn evidence(&self) -> Vec<Evidence> {
        let figures = [Some(&self.own), self.other.as_ref()].into_iter().flatten();
        figures.map(|datum| cite_fact(figure(datum.value, &datum.unit), datum.from.clone())).collect()
    }

    /// Latency for a NUMA-unaware program.
    pub(crate) fn average(&self) -> f64 {
        self.own.value * self.ignoring()
    }
}

/// A record's memory latency: from the node matrix, from single load latencies of large working sets, and from lmbench's loops, the most
/// widely used first.
pub(crate) fn find_reaches(record: &Record) -> Vec<Reach> {
    let nodes = Nodes::from_record(record);
    let mut all = Vec::new();
    let (own, other): (Vec<&Measurement>, Vec<&Measurement>) =
        list_usable(record, metrics::NUMA_LATENCY).partition(|m| is_within_node(m));
    let what = text!("load latency");
    if let Some(mut reach) = build_reach(&nodes, Timed::Matrix, what, &own, &other) {
        if let Some(numa) = crate::numa::numa(&crate::RecordIndex::new(record)) {
            let share = numa.remote_share;
            let other = numa.ignoring_factor.zip(numa.local_ns).filter(|_| share > 0.0);
            let other = other.map(|(factor, own)| own * (1.0 + (factor - 1.0) / share));
            reach = Reach {
                remote_share: share,
                nodes: numa.nodes,
                mean_other: other.or(reach.mean_other),
                ..reach
            };
        }
        all.push(reach);
    }
    let (_, cache) = last_level_cache(&record.machine);
    let large = list_usable(record, metrics::LOAD_LATENCY).filter_map(|m| m.labels.count(Label::Bytes)).max();
    let points: Vec<&Measurement> = list_usable(record, metrics::LOAD_LATENCY)
        .filter(|m| m.labels.count(Label::Bytes) == large && m.labels.get(Label::Node).is_some())
        .collect();
    if let Some(bytes) = large.filter(|bytes| *bytes > cache) {
        let what = text!("load latency, {size}", size = Value::Bytes(bytes));
        if let Some(mut reach) = find_reach(&nodes, &points, Timed::Loads, what) {
            reach.own.size = Size::classify(bytes, cache);
            all.push(reach);
        }
    }
    for (number, op) in OPS.iter().copied().map(Some).chain([None]).enumerate() {
        let of_op = list_usable(record, metrics::STREAM_NS_PER_ELEMENT).filter(|m| match op {
            Some(_) => m.labels.word(Label::Op) == op,
            None => m.labels.get(Label::Op).is_none(),
        });
        let what = match op {
            Some(op) => text!("lmbench {op}, per element"),
            None => text!("lmbench stream, per element"),
        };
        let of_op: Vec<&Measurement> = of_op.collect();
        all.extend(find_reach(&nodes, &of_op, Timed::Stream(number), what));
    }
    all
}

/// The results for other packages' nodes.
fn find_far(nodes: &Nodes, other: &[&Measurement]) -> Option<Datum> {
    let far: Vec<&Measurement> =
        other.iter().filter(|m| nodes.is_other_package(m) == Some(true)).copied().collect();
    Datum::from_several(&far, "places")
}

/// The mean over all other nodes, even if some were not measured: the nodes of the same package and those of other packages are weighted by
/// their numbers.
fn mean_other(nodes: &Nodes, other: &[&Measurement]) -> Option<f64> {
    let mean = |all: &[f64]| (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64);
    let of = |far: bool| -> Vec<f64> {
        other.iter().filter(|m| nodes.is_other_package(m) == Some(far)).map(|m| m.value()).collect()
    };
    let (near, far) = (of(false), of(true));
    let packages = nodes.record.machine.counts.packages.filter(|packages| *packages > 0);
    if let (Some(near), Some(far), Some(packages)) = (mean(&near), mean(&far), packages) {
        let each = f64::from(nodes.count()) / f64::from(packages);
        let (near_count, far_count) = (each - 1.0, f64::from(nodes.count()) - each);
        if near_count > 0.0 && far_count > 0.0 {
            return Some((near * near_count + far * far_count) / (near_count + far_count));
        }
    }
    mean(&other.iter().map(|m| m.value()).collect::<Vec<_>>())
}

fn list_usable(record: &Record, metric: Metric) -> impl Iterator<Item = &Measurement> {
    record.measurements_of(metric).filter(|m| m.summary.n > 0 && m.value().is_finite() && m.value() > 0.0)
}

fn find_reach(nodes: &Nodes, all: &[&Measurement], timed: Timed, what: Text) -> Option<Reach> {
    let is_own = |own: bool| -> Vec<&Measurement> {
        all.iter().filter(|m| nodes.is_own(m) == Some(own)).copied().collect()
    };
    let reported = all.iter().any(|m| nodes.is_own(m).is_some());
    let guessed = !reported && nodes.count() > 1 && all.len() > 1;
    let (mut own, other) = match (reported, guessed) {
        (true, _) => (is_own(true), is_own(false)),
        (false, true) => guess_own(all),
        (false, false) => (all.to_vec(), Vec::new()),
    };
    // The cost of other nodes is computed from CPUs with results for both local and other memory.
    let both = |m: &&Measurement| other.iter().any(|f| f.labels.get(Label::Cpu) == m.labels.get(Label::Cpu));
    if own.iter().any(both) {
        own.retain(both);
    }
    build_reach(nodes, timed, what, &own, &other).map(|reach| Reach { guessed, ..reach })
}

/// Guesses local and remote results if the CPU's node is unknown: each CPU's smallest result counts as local.
fn guess_own<'a>(all: &[&'a Measurement]) -> (Vec<&'a Measurement>, Vec<&'a Measurement>) {
    let mut by_cpu: BTreeMap<Option<u64>, Vec<&Measurement>> = BTreeMap::new();
    for m in all {
        by_cpu.entry(m.labels.count(Label::Cpu)).or_default().push(m);
    }
    by_cpu.values_mut().for_each(|of_cpu| of_cpu.sort_by(|a, b| a.value().total_cmp(&b.value())));
    let own = by_cpu.values().filter_map(|of_cpu| of_cpu.first());
    let other = by_cpu.values().flat_map(|of_cpu| &of_cpu[1..]);
    (own.copied().collect(), other.copied().collect())
}

/// Memory latency from results of local and remote memory.
fn build_reach(
    nodes: &Nodes,
    timed: Timed,
    what: Text,
    own: &[&Measurement],
    other: &[&Measurement],
) -> Option<Reach> {
    let matrix = timed == Timed::Matrix;
    let own = Datum::from_several(own, if matrix { "NUMA nodes" } else { "places" })?;
    Some(Reach {
        timed,
        what,
        own,
        far: find_far(nodes, other),
        mean_other: mean_other(nodes, other),
        other: Datum::from_several(other, if matrix { "pairs of NUMA nodes" } else { "places" }),
        remote_share: nodes.remote_share(),
        nodes: nodes.count(),
        guessed: false,
    })
}

/// Adds the rows about nodes.
pub(crate) fn add_node_rows(record: &Record, rows: &mut Rows) {
    for reach in find_reaches(record) {
        // A row has the same position in every record, regardless of the record's other rows.
        let (metric, order) = match reach.timed {
            Timed::Matrix => (metrics::NUMA_LATENCY, 0),
            // The row of the level derived from the curve already contains this result.
            Timed::Loads => continue,
            Timed::Stream(op) => (metrics::STREAM_NS_PER_ELEMENT, (op as u32 + 1) * 10),
        };
        let ignoring = reach.other.as_ref().map(|other| {
            let mut datum = Datum::derived(reach.average(), None, &reach.own.unit, reach.own.from.clone());
            let share = Value::Share(reach.remote_share);
            datum.over = Some(text!("{share} of accesses remote"));
            datum.method = reach.own.method.clone().or_else(|| other.method.clone());
            datum
        });
        let subject = reach.what.to_string();
        let mut add = |order, kind, name: &str, datum: Option<Datum>| {
            if let Some(datum) = datum {
                let key = RowKey::new(metric, order, format!("{subject}, {name}"));
                add_row(rows, key.of_kind(kind, &subject), datum);
            }
        };
        add(order, RowKind::Other, "own node", Some(reach.own));
        add(order + 1, RowKind::OtherNodes, "other nodes", reach.other);
        add(order + 2, RowKind::OtherPackages, "other sockets", reach.far);
        add(order + 3, RowKind::IgnoringNodes, "all nodes equal", ignoring);
    }
    for (order, is_own, whose) in [(100, true, "own node"), (101, false, "other nodes")] {
        let of_read = record
            .measurements_of(metrics::NUMA_BANDWIDTH)
            .filter(|m| m.summary.n > 0 && is_within_node(m) == is_own)
            .filter(|m| m.labels.word(Label::Op).is_none_or(|op| op == "read"));
        let of_read: Vec<&Measurement> = of_read.collect();
        if let Some(datum) = Datum::from_several(&of_read, "pairs of NUMA nodes") {
            add_row(
                rows,
                RowKey::new(metrics::NUMA_BANDWIDTH, order, format!("read bandwidth, {whose}")),
                datum,
            );
        }
    }
}

/// Whether a result of a node matrix is for a node's local memory.
fn is_within_node(m: &Measurement) -> bool {
    m.labels.get(Label::From) == m.labels.get(Label::To)
}
