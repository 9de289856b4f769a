//! The plan of a machine's matrices: rows, columns, sizes, the bandwidth cells, and the duration. It is derived only
//! from the inventory, so that it is known before anything runs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use record::{CpuList, Machine, Unavailable, text};

use crate::budget::{Depth, is_emulated};

/// Minimum amount of memory wanted for a column.
const LEAST_WANTED: u64 = 64 << 20;

/// The memory of a column on an emulated machine: enough pages to verify their placement.
const EMULATED_WANTED: u64 = 8 << 20;

/// Maximum times on an emulated machine, s: for creating a column, for all samples of a latency cell, and for a
/// bandwidth cell. With 32 CPUs emulated on two busy host CPUs, these steps took 1 to 10 % of the maximum.
const EMULATED_SECONDS: (f64, f64, f64) = (10.0, 0.5, 2.0);
/// Maximum time for a time-per-element cell on an emulated machine, s.
const EMULATED_ELEMENTS: f64 = 2.0;

/// Maximum size of a random cycle. Its huge pages fit in the second-level TLB of current cores. A larger cycle would
/// not improve the result, because every line is flushed from the caches before it is loaded.
pub(crate) const MOST_CYCLE: u64 = 512 << 20;

/// Additional duration of a row's turn, s: the time for starting a thread and raising the core's clock.
const TURN_SECONDS: f64 = 1.6e-3;

/// Time per hop assumed in the budget, s: the latency of remote memory on large machines.
const HOP_SECONDS: f64 = 300e-9;

/// Seconds for starting and ending a group of threads, and additional seconds for each of its threads.
const GROUP_SECONDS: (f64, f64) = (4e-3, 90e-6);

/// Duration of a run of one loop over a cell's arrays, s; a run processes tens of megabytes.
pub(crate) const ELEMENT_WINDOW: f64 = 8e-3;

/// Loops per time-per-element cell.
const ELEMENT_OPS: f64 = super::elements::OPS.len() as f64;

/// Time for filling the arrays of all columns, s: two gigabytes per column, each filled by one thread.
const FILL_SECONDS: f64 = 0.5;

/// A node whose CPUs issue loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The number of the node.
    pub node: u32,
    /// The usable CPUs of the node.
    pub cpus: Vec<u32>,
    /// The chasing CPU: the first sibling of the last core of the fastest kind, because interrupts prefer low-numbered
    /// CPUs.
    pub lead: u32,
}

/// Nodes with CPUs among `cpus`, ascending.
pub(crate) fn rows(machine: &Machine, cpus: &CpuList) -> Vec<Row> {
    let mut by_node: BTreeMap<u32, CpuList> = BTreeMap::new();
    for id in cpus {
        if let Some(node) = machine.cpu(id).and_then(|cpu| cpu.node) {
            by_node.entry(node).or_default().insert(id);
        }
    }
    let fast =
        |id: &u32| machine.cpu(*id).map_or((0, 0), |c| (c.capacity.unwrap_or(0), c.max_hz.unwrap_or(0)));
    by_node
        .into_iter()
        .filter_map(|(node, cpus)| {
            let firsts: Vec<u32> = machine.one_cpu_a_core(&cpus).iter().collect();
            let lead = firsts.into_iter().max_by_key(|id| (fast(id), *id))?;
            Some(Row { node, lead, cpus: cpus.iter().collect() })
        })
        .collect()
}

/// The reason why there is nothing to compare, if any.
pub(crate) fn impossible(machine: &Machine, cpus: &CpuList) -> Option<Unavailable> {
    if machine.nodes.len() < 2 {
        return Some(text!("one node: all memory is local").into());
    }
    let (rows, columns) = (rows(machine, cpus), memory_nodes(machine));
    if rows.is_empty() {
        return Some(text!("no usable CPU reports its node").into());
    }
    if columns.is_empty() {
        return Some(
            text!("no memory node is allowed")
                .with_remedy(text!("allow memory nodes in cpuset.mems of the cgroup")),
        );
    }
    // A single cell is useful only if it is remote.
    if rows.len() == 1 && columns.iter().eq([rows[0].node]) {
        return Some(
            text!(
                "numa-one-node-allowed",
                "only node {node} of {nodes} is allowed for CPUs and memory",
                nodes = machine.nodes.len(),
                node = rows[0].node
            )
            .with_remedy(text!(
                "allow more nodes (--cpus, taskset, cpuset.cpus and cpuset.mems of the cgroup)"
            )),
        );
    }
    None
}

/// Total size of the last two cache levels of a node's CPUs, bytes.
pub(crate) fn caches_of(machine: &Machine, cpus: &[u32]) -> u64 {
    let last = machine.last_level();
    let has = |cache: &&record::machine::Cache| cpus.iter().any(|cpu| cache.cpus.contains(*cpu));
    (last.saturating_sub(1).max(2).min(last)..=last)
        .flat_map(|level| machine.data_caches(level).filter(has))
        .filter_map(|cache| cache.bytes)
        .fold(0, u64::saturating_add)
}

/// The amount of work per cell. On an emulated machine, results do not show hardware speed, and more work would not improve them. There,
/// each cell gets little work at any depth, but every cell is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effort {
    /// The depth of the run.
    pub depth: Depth,
    /// Whether the machine is emulated.
    pub emulated: bool,
}

impl Effort {
    /// The effort for this machine.
    pub(crate) fn new(machine: &Machine, depth: Depth) -> Self {
        Self { depth, emulated: is_emulated(machine) }
    }

    /// The amount of memory wanted for a column, bytes: four times the size of the largest caches of a node, within limits.
    pub(crate) fn wanted_bytes(self, machine: &Machine, rows: &[Row]) -> u64 {
        if self.emulated {
            return EMULATED_WANTED;
        }
        let caches = rows.iter().map(|row| caches_of(machine, &row.cpus)).max().unwrap_or(0);
        let most = self.depth.pick_named(128 << 20, 512 << 20, 2 << 30, 8 << 30);
        caches.saturating_mul(4).clamp(LEAST_WANTED, most)
    }

    /// Loads per latency sample: 0.05 or 0.2 ms from local memory.
    pub(crate) fn hops(self) -> u64 {
        if self.emulated { 128 } else { self.depth.pick(512, 2_048, 4_096) }
    }

    /// Minimum and maximum number of rounds over all latency cells.
    pub(crate) fn rounds(self) -> (usize, usize) {
        if self.emulated {
            return (2, 2);
        }
        self.depth.pick_named((6, 9), (9, 25), (15, 60), (41, 200))
    }

    /// Number of runs for each bandwidth cell, and of samples per run: on hardware, at least six samples in total.
    pub(crate) fn passes(self) -> (usize, usize) {
        if self.emulated { (1, 2) } else { self.depth.pick((1, 6), (2, 4), (4, 4)) }
    }

    /// Time for which a run over a bandwidth cell waits for a thread that gets no CPU time: a multiple of the run's `window`, but not less
    /// than a minimum.
    pub(crate) fn patience(self, window: f64) -> Duration {
        Duration::from_secs_f64(if self.emulated { 60.0 } else { (window * 20.0).max(1.0) })
    }
}

/// The planned time of each part, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Phases {
    /// Creating the memory of all columns at the same time.
    pub build: f64,
    /// Measuring all latency cells.
    pub latency: f64,
    /// Measuring the bandwidth cells.
    pub bandwidth: f64,
    /// Number of bandwidth cells that fit.
    pub cells: usize,
    /// Time for which all threads read in one run over a cell, s.
    pub window: f64,
    /// Time for the time-per-element cells and for creating their arrays, s; 0 in a quick and in a default run.
    pub elements: f64,
    /// Number of time-per-element cells that fit.
    pub element_cells: usize,
}

impl Phases {
    /// The times for this many rows and columns, and this many threads on the largest row.
    pub(crate) fn new(rows: usize, columns: usize, threads: usize, effort: Effort) -> Self {
        let (depth, all) = (effort.depth, (rows * columns).max(1));
        if effort.emulated {
            let (column, latency, bandwidth) = EMULATED_SECONDS;
            let elements = depth.pick_named(0.0, 0.0, EMULATED_ELEMENTS, EMULATED_ELEMENTS) * all as f64;
            return Self {
                build: columns as f64 * column,
                latency: all as f64 * latency,
                bandwidth: all as f64 * bandwidth,
                cells: all,
                window: 1e-3,
                elements,
                element_cells: if elements > 0.0 { all } else { 0 },
            };
        }
        let build = depth.pick_named(0.12, 1.5, 4.0, 15.0);
        let (least, most) = effort.rounds();
        let round = rows as f64 * (TURN_SECONDS + columns as f64 * effort.hops() as f64 * HOP_SECONDS);
        // With few nodes, there is time for more than the minimum number of rounds.
        let roomy = depth.pick_named(0.05, 0.5, 2.0, 20.0);
        let latency = (round * most as f64)
            .min(roomy)
            .max(round * least as f64)
            .min(depth.pick_named(0.3, 3.0, 8.0, 60.0));
        let (shortest, longest) = depth.pick((6e-3, 6e-3), (12e-3, 60e-3), (50e-3, 200e-3));
        let group = GROUP_SECONDS.0 + threads as f64 * GROUP_SECONDS.1;
        let passes = effort.passes().0 as f64;
        // In a quick run, bandwidth gets the time that remains after latency.
        let quick = (0.47 - build - latency).max(0.06);
        let bandwidth =
            (all as f64 * passes * (group + longest)).min(depth.pick_named(quick, 4.5, 16.0, 120.0));
        let cells = ((bandwidth / passes / (group + shortest)) as usize).clamp(1, all);
        let window = (bandwidth / passes / cells as f64 - group).clamp(shortest, longest);
        let cell = ELEMENT_OPS * (GROUP_SECONDS.0 + GROUP_SECONDS.1 + ELEMENT_WINDOW);
        let most = depth.pick_named(0.0, 0.0, 4.0, 30.0);
        let element_cells = ((most / cell) as usize).min(all);
        let fill = if element_cells > 0 { FILL_SECONDS } else { 0.0 };
        let elements = fill + element_cells as f64 * cell;
        Self { build, latency, bandwidth, cells, window, elements, element_cells }
    }

    /// The total time.
    pub(crate) fn seconds(&self) -> f64 {
        self.build + self.latency + self.bandwidth + self.elements
    }
}

/// All bandwidth cells, most informative first: one local cell, one remote cell of each distance, the other local
/// cells, the farthest cell of each row, then the rest. A run measures as many as fit.
pub(crate) fn in_order_of_telling(machine: &Machine, rows: &[Row], columns: &[u32]) -> Vec<(usize, usize)> {
    let table = distances(machine);
    let distance =
        |row: usize, column: usize| table.get(&(rows[row].node, columns[column])).copied().unwrap_or(20);
    let every = || (0..rows.len()).flat_map(|row| (0..columns.len()).map(move |column| (row, column)));
    let local = |(row, column): &(usize, usize)| rows[*row].node == columns[*column];
    let mut order: Vec<(usize, usize)> = Vec::with_capacity(rows.len() * columns.len());
    let mut seen = BTreeSet::new();
    // The first cells are one local cell and one of each distance, because a short run may not have time for more.
    order.extend(every().find(local));
    order.extend(every().filter(|cell| !local(cell) && seen.insert(distance(cell.0, cell.1))));
    order.extend(every().filter(local));
    for row in 0..rows.len() {
        let remote = (0..columns.len()).filter(|column| !local(&(row, *column)));
        order.extend(remote.max_by_key(|column| distance(row, *column)).map(|column| (row, column)));
    }
    order.extend(every());
    let mut had = BTreeSet::new();
    order.retain(|cell| had.insert(*cell));
    order
}

/// The nodes whose memory this process may use: the columns. A node of unknown size is included, because it may have memory.
pub(crate) fn memory_nodes(machine: &Machine) -> CpuList {
    let limit = &machine.limits.memory_nodes;
    machine
        .nodes
        .iter()
        .filter(|node| node.bytes != Some(0) && (limit.is_empty() || limit.contains(node.id)))
        .map(|node| node.id)
        .collect()
}

/// The firmware's distances by (from, to).
pub(crate) fn distances(machine: &Machine) -> BTreeMap<(u32, u32), u32> {
    let ids = machine.nodes.iter().map(|node| node.id);
    let each = |node: &record::machine::Node| {
        let from = node.id;
        ids.clone().zip(node.distances.clone()).map(move |(to, distance)| ((from, to), distance))
    };
    machine.nodes.iter().flat_map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurements::core_to_core::topology_class::tests::made;
    use crate::measurements::numa::NUMA;
    use record::Snapshot;

    fn real(depth: Depth) -> Effort {
        Effort { depth, emulated: false }
    }

    fn shape(machine: &Machine, cpus: &CpuList) -> (Vec<u32>, Vec<u32>) {
        let rows = rows(machine, cpus).iter().map(|row| row.node).collect();
        (rows, memory_nodes(machine).iter().collect())
    }

    #[test]
    fn a_node_of_memory_alone_is_a_column_and_one_without_memory_a_row() {
        let mut machine = made(4, 1, 2, 1, 2);
        machine.nodes[1].bytes = Some(0);
        machine.nodes[3].cpus = CpuList::new();
        machine.cpus.retain(|cpu| cpu.node != Some(3));
        let cpus = machine.allowed_cpus();
        assert_eq!(shape(&machine, &cpus), (vec![0, 1, 2], vec![0, 2, 3]));
        assert_eq!(impossible(&machine, &cpus), None);
    }

    #[test]
    fn the_cpuset_and_the_users_choice_limit_columns_and_rows() {
        let mut machine = made(4, 1, 2, 1, 2);
        machine.limits.memory_nodes = "1-2".parse().unwrap();
        assert_eq!(shape(&machine, &"0,6".parse().unwrap()), (vec![0, 3], vec![1, 2]));
        // A single cell is worth measuring if it is remote, but not if it is local.
        machine.limits.memory_nodes = "1".parse().unwrap();
        assert_eq!(impossible(&machine, &"0".parse().unwrap()), None);
        let why = impossible(&machine, &"2-3".parse().unwrap()).unwrap();
        assert_eq!(
            (why.reason.code(), why.reason.value("node")),
            (Some("numa-one-node-allowed"), Some(&1u32.into()))
        );
        assert!(why.remedy.is_some());
    }

    #[test]
    fn limits_that_are_not_reported_limit_nothing() {
        let mut machine = made(2, 1, 2, 1, 2);
        machine.limits.memory_nodes = CpuList::new();
        machine.nodes[1].bytes = None;
        assert_eq!(memory_nodes(&machine).len(), 2);
    }

    #[test]
    fn one_node_is_impossible_with_words_and_costs_nothing() {
        let machine = made(1, 1, 4, 1, 4);
        let outlook = NUMA.outlook(&machine, &Snapshot::default(), &machine.allowed_cpus());
        assert_eq!(outlook.state, record::State::Impossible);
        assert!(outlook.why().starts_with("one node"));
        let budget = NUMA.budget(&machine, &machine.allowed_cpus(), Depth::Named);
        assert_eq!((budget.seconds, budget.bytes), (0.0, 0));
    }

    #[test]
    fn the_lead_of_a_row_is_a_fast_first_sibling() {
        let mut machine = made(2, 1, 4, 2, 4);
        for cpu in &mut machine.cpus {
            cpu.max_hz = Some(if matches!(cpu.core, Some(1 | 2)) { 4_000_000_000 } else { 3_000_000_000 });
        }
        let rows = rows(&machine, &machine.allowed_cpus());
        assert_eq!((rows[0].lead, rows[0].cpus.len()), (2, 8));
        assert_eq!(rows[1].lead, 7);
    }

    #[test]
    fn sixteen_nodes_fit_their_budgets() {
        // 16 nodes of 64 CPUs, twice the largest machine sold.
        let machine = made(4, 4, 32, 2, 8);
        let cpus = machine.allowed_cpus();
        assert_eq!(cpus.len(), 1024);
        for (depth, most) in [(Depth::Quick, 0.5), (Depth::Normal, 10.0), (Depth::Named, 30.0)] {
            let seconds = NUMA.budget(&machine, &cpus, depth).seconds;
            assert!(seconds <= most, "{depth:?}: {seconds} s");
        }
        let phases = Phases::new(16, 16, 64, real(Depth::Named));
        assert_eq!(phases.cells, 256, "a measurement requested by name gets every cell");
        assert!(Phases::new(16, 16, 64, real(Depth::Quick)).cells >= 2, "at least a local and a remote cell");
    }

    #[test]
    fn an_emulated_machine_gets_every_cell_at_any_depth_for_little_work() {
        let mut machine = made(2, 8, 2, 1, 16);
        machine.virtualization.emulated = Some(true);
        for depth in [Depth::Quick, Depth::Normal, Depth::Named, Depth::Full] {
            let effort = Effort::new(&machine, depth);
            assert_eq!(Phases::new(16, 16, 2, effort).cells, 256, "{depth:?}");
            assert_eq!(effort.wanted_bytes(&machine, &[]), EMULATED_WANTED);
            assert!(effort.rounds().0 >= 1 && effort.passes().0 >= 1 && effort.hops() >= 1);
        }
        machine.virtualization.emulated = None;
        assert_eq!(Effort::new(&machine, Depth::Quick), real(Depth::Quick));
    }

    #[test]
    fn two_nodes_get_every_cell_in_a_normal_run() {
        let phases = Phases::new(2, 2, 64, real(Depth::Normal));
        assert_eq!(phases.cells, 4);
        assert!(phases.seconds() < 3.5, "{phases:?}");
    }

    #[test]
    fn four_nodes_of_few_cpus_get_every_cell_in_a_quick_run() {
        let phases = Phases::new(4, 4, 4, real(Depth::Quick));
        assert!(phases.cells == 16 && phases.seconds() <= 0.5, "{phases:?}");
    }

    #[test]
    fn few_cells_of_bandwidth_are_the_telling_ones() {
        let machine = made(2, 2, 4, 1, 4);
        let rows = rows(&machine, &machine.allowed_cpus());
        let order = in_order_of_telling(&machine, &rows, &[0, 1, 2, 3]);
        assert_eq!(order.len(), 16);
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 16);
        // Local, then one of each distance: 12, 20, 22.
        assert_eq!(order[..4], [(0, 0), (0, 1), (0, 2), (0, 3)]);
        assert_eq!(order[4..7], [(1, 1), (2, 2), (3, 3)]);
        let without_local = in_order_of_telling(&machine, &rows[..1], &[2, 3]);
        assert_eq!(without_local, [(0, 0), (0, 1)]);
    }

    #[test]
    fn a_column_is_beyond_the_caches_of_the_largest_node() {
        let machine = made(2, 1, 32, 1, 32);
        let rows = rows(&machine, &machine.allowed_cpus());
        // 32 MiB of third-level and 32 MiB of second-level cache.
        assert_eq!(caches_of(&machine, &rows[0].cpus), 64 << 20);
        assert_eq!(real(Depth::Named).wanted_bytes(&machine, &rows), 256 << 20);
        assert_eq!(real(Depth::Normal).wanted_bytes(&Machine::default(), &[]), LEAST_WANTED);
    }
}
