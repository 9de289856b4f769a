//! The cost of accesses from each node to each node's memory, from any suitable results in a record.

use std::collections::{BTreeMap, BTreeSet};

use record::diagnosis::Evidence;
use record::{Better, Label, Machine, Measurement, Metric, Text, metrics, text};

use crate::distances;
use crate::figures::{cite_fact, spread};
use crate::record_index::RecordIndex;

/// Maximum number of pairs listed as evidence; the matrix itself is in the record.
const MOST_EVIDENCE: usize = 4;
/// Maximum number of nodes of a machine: Linux supports up to 1024 (`CONFIG_NODES_SHIFT`).
pub(crate) const MOST_NODES: u32 = 1024;
/// Results, each with its pair of nodes: the requesting node and the memory node.
type OfNodes<'a> = Vec<((u32, u32), &'a Measurement)>;
/// The distance that is assumed for a pair of nodes without a result and without a listed distance.
const FAR: f64 = 1e9;

/// The cost of one access, in arbitrary units; only ratios are meaningful.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    /// The median.
    pub value: f64,
    /// The interval of the cost; `None` for a single sample.
    pub between: Option<(f64, f64)>,
}

/// One kind of cost, for each pair of nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Matrix {
    /// The measured quantity: `load latency`.
    pub what: Text,
    cells: BTreeMap<(u32, u32), Cost>,
    /// The mean cost of each node's local memory.
    pub own: Cost,
    others: Option<Cost>,
    by_distance: BTreeMap<u32, Cost>,
    /// The results as evidence, those for local memory first.
    pub evidence: Vec<Evidence>,
    /// Whether any of the results is unreliable.
    pub doubtful: bool,
}

/// All costs of a record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Costs {
    /// The cost of waiting: load latency, or time per element.
    pub latency: Option<Matrix>,
    /// The cost of transfers: time per byte.
    pub bandwidth: Option<Matrix>,
    /// The firmware's distances.
    pub distances: distances::Table,
}

impl Costs {
    /// The costs for which a record has results.
    pub(crate) fn from_index(index: &RecordIndex) -> Self {
        let distances = distances::table(&index.record.machine);
        let matrix =
            |what, metric, better| Matrix::new(what, &nodes_figures(index, metric), better, &distances);
        let latency = matrix(text!("load latency"), metrics::NUMA_LATENCY, Better::Lower);
        Self {
            latency: latency.or_else(|| curve(index, &distances)),
            bandwidth: matrix(text!("bandwidth"), metrics::NUMA_BANDWIDTH, Better::Higher),
            distances,
        }
    }

    /// Nodes with results.
    pub(crate) fn nodes(&self) -> BTreeSet<u32> {
        let both = [&self.latency, &self.bandwidth].into_iter().flatten();
        both.flat_map(|matrix| matrix.cells.keys().flat_map(|(from, to)| [*from, *to])).collect()
    }

    /// The distance between two nodes: from the firmware's table or, if there is none, the measured latency.
    pub(crate) fn distance(&self, from: u32, to: u32) -> f64 {
        if from == to {
            return 0.0;
        }
        let cell = |at| self.latency.as_ref().and_then(|matrix| matrix.cells.get(&at)).map(|cost| cost.value);
        let reported = |at| self.distances.get(&at).map(|distance| f64::from(*distance));
        // Pairs can be compared only if the distances of all pairs have the same source. The firmware's table is either complete or absent,
        // so it takes precedence.
        reported((from, to)).or_else(|| cell((from, to))).or_else(|| cell((to, from))).unwrap_or(FAR)
    }

    /// The nearest of some nodes.
    pub(crate) fn nearest(&self, from: u32, nodes: &[u32]) -> Option<u32> {
        nodes
            .iter()
            .copied()
            .min_by(|a, b| self.distance(from, *a).total_cmp(&self.distance(from, *b)).then_with(|| a.cmp(b)))
    }
}

impl Matrix {
    /// Builds the matrix from single results: the cost of local memory and, if known, the mean cost of other nodes' memory.
    pub(crate) fn of_single(
        what: Text,
        (own, others): (f64, Option<f64>),
        evidence: Vec<Evidence>,
        doubtful: bool,
    ) -> Self {
        let cost = |value: f64| Cost { value, between: None };
        Self { own: cost(own), others: others.map(cost), what, evidence, doubtful, ..Self::default() }
    }

    fn new(what: Text, figures: &OfNodes, better: Better, distances: &distances::Table) -> Option<Self> {
        let cells: BTreeMap<_, Cost> = figures.iter().map(|(at, m)| (*at, cost_of(m, better))).collect();
        let of = |own: bool| mean(cells.iter().filter(|(at, _)| (at.0 == at.1) == own).map(|(_, c)| *c));
        let (own, others) = (of(true)?, of(false)?);
        let mut by_distance: BTreeMap<u32, Vec<Cost>> = BTreeMap::new();
        for (at, cost) in cells.iter().filter(|(at, _)| at.0 != at.1) {
            if let Some(distance) = distances.get(at) {
                by_distance.entry(*distance).or_default().push(*cost);
            }
        }
        let alike = |(distance, costs): (u32, Vec<Cost>)| Some((distance, mean(costs.into_iter())?));
        let evidence = figures.iter().take(MOST_EVIDENCE).map(|((from, to), m)| {
            let says = text!("{what} from node {from} to node {to}: {value}", what = &what, value = *m);
            cite_fact(says, *m)
        });
        Some(Self {
            evidence: evidence.collect(),
            doubtful: figures.iter().any(|(_, m)| m.doubt.is_some()),
            by_distance: by_distance.into_iter().filter_map(alike).collect(),
            others: Some(others),
            what,
            cells,
            own,
        })
    }

    /// The cost of one pair. If the pair was not measured, the mean cost of pairs at the same distance or, if there are none, of all pairs
    /// of different nodes.
    fn cost_between(&self, from: u32, to: u32, costs: &Costs) -> Option<Cost> {
        if let Some(cost) = self.cells.get(&(from, to)) {
            return Some(*cost);
        }
        if from == to {
            return Some(self.own);
        }
        let alike = costs.distances.get(&(from, to)).and_then(|distance| self.by_distance.get(distance));
        alike.copied().or(self.others)
    }

    /// The mean cost over all pairs of a node in `from` and a node in `to`.
    pub(crate) fn mean(&self, from: &[u32], to: &[u32], costs: &Costs) -> Option<Cost> {
        mean(from.iter().flat_map(|from| to.iter().filter_map(|to| self.cost_between(*from, *to, costs))))
    }
}

/// The mean of several costs. The interval of the mean is the mean of their intervals; it is absent if any cost has no interval.
pub(crate) fn mean(costs: impl Iterator<Item = Cost>) -> Option<Cost> {
    let (mut sum, mut low, mut high, mut count, mut reported) = (0.0, 0.0, 0.0, 0usize, true);
    for cost in costs {
        sum += cost.value;
        match cost.between {
            Some(between) => (low, high) = (low + between.0, high + between.1),
            None => reported = false,
        }
        count += 1;
    }
    let n = count as f64;
    (count > 0).then(|| Cost { value: sum / n, between: reported.then_some((low / n, high / n)) })
}

fn cost_of(m: &Measurement, better: Better) -> Cost {
    let cost = |value: f64| match better {
        Better::Lower => value,
        Better::Higher => 1.0 / value,
    };
    let (a, b) = spread(&m.summary);
    let known = m.summary.n > 1 && is_sound(a) && is_sound(b);
    let between = known.then(|| (cost(a).min(cost(b)), cost(a).max(cost(b))));
    Cost { value: cost(m.value()), between }
}

/// Whether a result for a pair of nodes is plausible.
fn is_sound(value: f64) -> bool {
    value > 1e-30 && value < 1e30
}

/// The results of a matrix, measured by linespeed or another tool: one per pair, local ones first. If there are several operations, reads
/// are used, because every record has them. If there are several thread counts, the highest is used, because one thread does not saturate a
/// node's channels.
pub(crate) fn nodes_figures<'a>(index: &RecordIndex<'a>, metric: Metric) -> OfNodes<'a> {
    let mut all: Vec<&Measurement> = index.figures_of(metric).collect();
    let of_reads = |m: &&Measurement| m.labels.word(Label::Op) == Some("read");
    if all.iter().any(of_reads) {
        all.retain(of_reads);
    }
    all.sort_by_cached_key(|m| std::cmp::Reverse(m.labels.count(Label::Threads)));
    one_a_pair(all.into_iter().filter_map(|m| Some(((node(m, Label::From)?, node(m, Label::To)?), m))))
}

/// The node of each CPU, from the entry of the CPU or from the CPU lists of the nodes.
pub(crate) fn nodes_of_cpus(machine: &Machine) -> BTreeMap<u32, u32> {
    let lists = machine.nodes.iter().flat_map(|node| node.cpus.iter().map(move |cpu| (cpu, node.id)));
    let own = machine.cpus.iter().filter_map(|cpu| Some((cpu.id, cpu.node?)));
    lists.chain(own).filter(|(_, node)| *node < MOST_NODES).collect()
}

/// The matrix from the results for the largest working set whose latency was measured on several nodes (`lat_mem_rd` under `numactl`).
fn curve(index: &RecordIndex, distances: &distances::Table) -> Option<Matrix> {
    let of_cpu = nodes_of_cpus(&index.record.machine);
    let mut sizes: BTreeMap<(u64, &str), OfNodes> = BTreeMap::new();
    for m in index.figures_of(metrics::LOAD_LATENCY) {
        let (Some(bytes), Some(to)) = (m.labels.count(Label::Bytes), node(m, Label::Node)) else { continue };
        let cpu = m.labels.count(Label::Cpu).and_then(|cpu| u32::try_from(cpu).ok());
        if let Some(from) = cpu.and_then(|cpu| of_cpu.get(&cpu)) {
            let page = m.labels.word(Label::Page).unwrap_or_default();
            sizes.entry((bytes, page)).or_default().push(((*from, to), m));
        }
    }
    let matrix = |figures: OfNodes| {
        Matrix::new(text!("load latency"), &one_a_pair(figures.into_iter()), Better::Lower, distances)
    };
    sizes.into_values().rev().find_map(matrix)
}

fn node(m: &Measurement, key: Label) -> Option<u32> {
    m.labels.count(key).and_then(|id| u32::try_from(id).ok()).filter(|id| *id < MOST_NODES)
}

/// The first plausible result for each pair of nodes, local pairs first.
fn one_a_pair<'a>(figures: impl Iterator<Item = ((u32, u32), &'a Measurement)>) -> OfNodes<'a> {
    let mut pairs: OfNodes = figures.filter(|(_, m)| is_sound(m.value())).collect();
    pairs.sort_by_key(|((from, to), _)| (from != to, *from, *to));
    pairs.dedup_by_key(|(at, _)| *at);
    pairs
}
