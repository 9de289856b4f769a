//! What a node's accesses to each node's memory cost, from whatever figure a record has of it.

use record::Label;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use record::diagnosis::Evidence;
use record::{Better, Measurement, Record, Text, metrics, text};

use crate::distances;
use crate::figures::{cite_fact, labels_without, spread};
use crate::record_index::RecordIndex;

/// Pairs that stand as evidence; the matrix itself stands in the record.
const MOST_EVIDENCE: usize = 4;
/// Figures with the pair of nodes that each is of: the one that asks, and the memory's.
type RatedCell<'a> = Vec<((u32, u32), &'a Measurement)>;
/// Distance of a pair of nodes without a figure or a distance.
const FAR: f64 = 1e9;

/// The cost of one access, relative to nothing: only ratios of these mean something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    /// The median.
    pub value: f64,
    /// Least and most by the intervals; `None` for a single figure.
    pub between: Option<(f64, f64)>,
}

/// One kind of cost, pair by pair.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Matrix {
    /// What was measured: `load latency`.
    pub what: Text,
    cells: BTreeMap<(u32, u32), Cost>,
    own: Option<Cost>,
    others: Option<Cost>,
    by_distance: BTreeMap<u32, Cost>,
    /// The figures, the own node's first.
    pub evidence: Vec<Evidence>,
    /// Whether a figure in it is in doubt.
    pub doubtful: bool,
}

/// All costs of a record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Costs {
    /// Waiting: a load's latency, or time per element.
    pub latency: Option<Matrix>,
    /// Moving: the time that a byte takes.
    pub bandwidth: Option<Matrix>,
    /// The firmware's distances.
    pub distances: distances::Table,
}

impl Costs {
    /// The costs that a record has figures of.
    pub(crate) fn from_index(index: &RecordIndex) -> Self {
        let mut costs = Self::of_matrices(index);
        let distances = &costs.distances;
        costs.latency = costs.latency.or_else(|| curve(index, distances));
        costs
    }

    /// Those of pairs of nodes alone.
    pub(crate) fn of_matrices(index: &RecordIndex) -> Self {
        let distances = distances::table(&index.record.machine);
        let latency = nodes_figures(index, metrics::NUMA_LATENCY);
        let bandwidth = nodes_figures(index, metrics::NUMA_BANDWIDTH);
        let moved = text!("bandwidth");
        Self {
            latency: Matrix::new(text!("load latency"), of_nodes(latency), Better::Lower, &distances),
            bandwidth: Matrix::new(moved, of_nodes(bandwidth), Better::Higher, &distances),
            distances,
        }
    }

    /// Nodes that figures are of.
    pub(crate) fn nodes(&self) -> BTreeSet<u32> {
        let both = [&self.latency, &self.bandwidth].into_iter().flatten();
        both.flat_map(|matrix| matrix.cells.keys().flat_map(|(from, to)| [*from, *to])).collect()
    }

    /// How far apart two nodes are: by what was measured, else by the firmware's distances.
    pub(crate) fn distance(&self, from: u32, to: u32) -> f64 {
        if from == to {
            return 0.0;
        }
        let cell = |at| self.latency.as_ref().and_then(|matrix| matrix.cells.get(&at)).map(|cost| cost.value);
        let reported = |at| self.distances.get(&at).map(|distance| f64::from(*distance));
        // Only one kind of figure for all pairs can be compared; the firmware's table is whole or not there.
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
    /// Of single figures: the cost of own memory, and the mean of other nodes' memory where it is known.
    pub(crate) fn of_single(
        what: Text,
        (own, others): (f64, Option<f64>),
        evidence: Vec<Evidence>,
        doubtful: bool,
    ) -> Self {
        let cost = |value: f64| Some(Cost { value, between: None });
        Self { own: cost(own), others: others.and_then(cost), what, evidence, doubtful, ..Self::default() }
    }

    fn new(
        what: Text,
        mut reported: RatedCell,
        better: Better,
        distances: &distances::Table,
    ) -> Option<Self> {
        let mut matrix = Self { what, ..Self::default() };
        reported.sort_by_key(|((from, to), _)| (from != to, *from, *to));
        for (at, m) in &reported {
            let Some(cost) = cost_of(m, better) else { continue };
            if matrix.cells.contains_key(at) {
                continue;
            }
            matrix.cells.insert(*at, cost);
            matrix.doubtful |= m.doubt.is_some();
            if matrix.evidence.len() < MOST_EVIDENCE {
                let says = text!(
                    "{what} from node {from} to node {to}: {value}",
                    what = &matrix.what,
                    from = at.0,
                    to = at.1,
                    value = *m
                );
                matrix.evidence.push(cite_fact(says, *m));
            }
        }
        let of = |own: bool| {
            mean(matrix.cells.iter().filter(|(at, _)| (at.0 == at.1) == own).map(|(_, cost)| *cost))
        };
        (matrix.own, matrix.others) = (of(true), of(false));
        matrix.own?;
        matrix.others?;
        let mut by_distance: BTreeMap<u32, Vec<Cost>> = BTreeMap::new();
        for (at, cost) in matrix.cells.iter().filter(|(at, _)| at.0 != at.1) {
            if let Some(distance) = distances.get(at) {
                by_distance.entry(*distance).or_default().push(*cost);
            }
        }
        matrix.by_distance = by_distance
            .into_iter()
            .filter_map(|(distance, costs)| Some((distance, mean(costs.into_iter())?)))
            .collect();
        Some(matrix)
    }

    /// The cost of one pair; one that was not measured costs what pairs of its distance do, or what others do.
    fn cost_between(&self, from: u32, to: u32, costs: &Costs) -> Option<Cost> {
        if let Some(cost) = self.cells.get(&(from, to)) {
            return Some(*cost);
        }
        if from == to {
            return self.own;
        }
        let alike = costs.distances.get(&(from, to)).and_then(|distance| self.by_distance.get(distance));
        alike.copied().or(self.others)
    }

    /// The mean cost of each node's own memory.
    pub(crate) fn own(&self) -> Option<Cost> {
        self.own
    }

    /// The mean cost over all pairs of nodes that ask and nodes of memory.
    pub(crate) fn mean(&self, from: &[u32], to: &[u32], costs: &Costs) -> Option<Cost> {
        mean(from.iter().flat_map(|from| to.iter().filter_map(|to| self.cost_between(*from, *to, costs))))
    }
}

/// The mean of costs; its interval holds all theirs, and is none where one of them has none.
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

fn cost_of(m: &Measurement, better: Better) -> Option<Cost> {
    let sound = |value: f64| (value.is_finite() && value > 1e-30 && value < 1e30).then_some(value);
    if m.summary.n == 0 {
        return None;
    }
    let cost = |value: f64| match better {
        Better::Lower => value,
        Better::Higher => 1.0 / value,
    };
    let value = cost(sound(m.value())?);
    let (a, b) = spread(&m.summary);
    let between = match (sound(a), sound(b)) {
        (Some(a), Some(b)) if m.summary.n > 1 => Some((cost(a).min(cost(b)), cost(a).max(cost(b)))),
        _ => None,
    };
    Some(Cost { value, between })
}

fn node(m: &Measurement, key: Label) -> Option<u32> {
    m.labels.count(key).and_then(|id| u32::try_from(id).ok()).filter(|id| *id < 1024)
}

/// The figures of a matrix, linespeed's own or another tool's: of several operations reading, which every record has, and of
/// several thread counts the most first, since one thread does not fill a node's channels.
pub(crate) fn nodes_figures<'a>(index: &RecordIndex<'a>, metric: &'static str) -> Vec<&'a Measurement> {
    let mut all: Vec<&Measurement> = index.figures_of(metric).collect();
    let of_reads = |m: &&Measurement| m.labels.word(Label::Op) == Some("read");
    if all.iter().any(of_reads) {
        all.retain(of_reads);
    }
    all.sort_by_cached_key(|m| std::cmp::Reverse(m.labels.count(Label::Threads)));
    all
}

/// Figures with the pair of nodes that each names.
fn of_nodes(figures: Vec<&Measurement>) -> RatedCell<'_> {
    let pair = |m: &&Measurement| Some((node(m, Label::From)?, node(m, Label::To)?));
    figures.into_iter().filter_map(|m| pair(&m).map(|at| (at, m))).collect()
}

/// Which node the CPU of a figure is on.
struct Homes {
    by_cpu: HashMap<u64, u32>,
    /// The node of the least figure of each kind and CPU, for records without the nodes of CPUs.
    nearest: HashMap<String, (f64, u32)>,
}

impl Homes {
    fn from_record<'a>(record: &Record, measurements: impl Iterator<Item = &'a Measurement>) -> Self {
        let lists =
            record.machine.nodes.iter().flat_map(|n| n.cpus.iter().map(move |cpu| (u64::from(cpu), n.id)));
        let own = record.machine.cpus.iter().filter_map(|cpu| Some((u64::from(cpu.id), cpu.node?)));
        let by_cpu: HashMap<u64, u32> = lists.chain(own).collect();
        let mut nearest: HashMap<String, (f64, u32)> = HashMap::new();
        let reported =
            |m: &&Measurement| m.labels.count(Label::Cpu).is_some_and(|cpu| by_cpu.contains_key(&cpu));
        for m in measurements.filter(|m| !reported(m)) {
            let (Some(node), value) = (node(m, Label::Node), m.value()) else { continue };
            let least = nearest.entry(labels_without(m, Label::Node)).or_insert((value, node));
            if value < least.0 {
                *least = (value, node);
            }
        }
        Self { by_cpu, nearest }
    }

    fn node(&self, m: &Measurement) -> Option<u32> {
        let reported = m.labels.count(Label::Cpu).and_then(|cpu| self.by_cpu.get(&cpu)).copied();
        reported.or_else(|| self.nearest.get(&labels_without(m, Label::Node)).map(|(_, node)| *node))
    }
}

/// A latency curve's largest working set on several nodes (`lat_mem_rd` under `numactl`).
fn curve(index: &RecordIndex, distances: &distances::Table) -> Option<Matrix> {
    let homes = Homes::from_record(index.record, index.figures_of(metrics::LOAD_LATENCY));
    let mut sizes: BTreeMap<(u64, String), RatedCell> = BTreeMap::new();
    for m in index.figures_of(metrics::LOAD_LATENCY) {
        let (Some(bytes), Some(to)) = (m.labels.count(Label::Bytes), node(m, Label::Node)) else { continue };
        let page = m.labels.word(Label::Page).unwrap_or_default().to_owned();
        if let Some(from) = homes.node(m) {
            sizes.entry((bytes, page)).or_default().push(((from, to), m));
        }
    }
    let several = |reported: &RatedCell| {
        reported.iter().any(|(at, _)| at.0 == at.1) && reported.iter().any(|(at, _)| at.0 != at.1)
    };
    let (_, reported) = sizes.into_iter().rev().find(|(_, reported)| several(reported))?;
    Matrix::new(text!("load latency"), reported, Better::Lower, distances)
}
