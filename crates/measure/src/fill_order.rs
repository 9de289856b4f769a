//! The orders in which the scaling measurement uses CPUs as work grows from one CPU to all CPUs.

use std::collections::{BTreeMap, BTreeSet};

use record::{CpuList, Machine};

/// An order of CPUs. All orders are pure functions of the inventory, so that a record can be interpreted later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FillOrder {
    /// One CPU of each core, ordered by node and package; then the next sibling of each core.
    CoresFirst,
    /// All siblings of a core before the next core.
    SiblingsFirst,
    /// Nodes are filled one after the other; within a node, cores come before siblings.
    NodeCompact,
    /// Alternates between nodes and packages, using cores before siblings.
    NodeSpread,
}

/// All orders, in display order.
pub const FILL_ORDERS: [FillOrder; 4] =
    [FillOrder::CoresFirst, FillOrder::SiblingsFirst, FillOrder::NodeCompact, FillOrder::NodeSpread];

const NAMES: [&str; 4] = ["cores-first", "siblings-first", "node-compact", "node-spread"];

/// The position of a CPU.
#[derive(Clone, Copy, Debug)]
struct Position {
    cpu: u32,
    /// Number of the core, unique within the machine.
    core: u64,
    /// Rank of the kind of the CPU's core, 0 for the fastest kind.
    kind: usize,
    /// Index among the core's siblings that are in use, from 0.
    sibling: usize,
    /// Rank of the CPU's node, if nodes are filled one after the other.
    node: usize,
    /// Rank of the CPU's node, if nodes alternate.
    node_round: usize,
    /// The number of preceding CPUs of the same kind and sibling rank on its node.
    round: usize,
    package: u32,
}

impl FillOrder {
    /// The order's name in a record and on the command line.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// The order with this name.
    pub fn find(name: &str) -> Option<Self> {
        FILL_ORDERS.into_iter().find(|order| order.name() == name)
    }

    /// `cpus` in the order of use: step N uses the first N CPUs. Fast kinds of core precede slow kinds. CPUs missing
    /// from the inventory count as separate cores on node 0.
    pub fn cpus(self, machine: &Machine, cpus: &CpuList) -> Vec<u32> {
        self.positions(machine, cpus).into_iter().map(|position| position.cpu).collect()
    }

    fn positions(self, machine: &Machine, cpus: &CpuList) -> Vec<Position> {
        let mut positions = positions(machine, cpus);
        match self {
            FillOrder::CoresFirst => positions.sort_by_key(|p| (p.sibling, p.kind, p.node, p.core, p.cpu)),
            FillOrder::SiblingsFirst => positions.sort_by_key(|p| (p.kind, p.node, p.core, p.sibling, p.cpu)),
            FillOrder::NodeCompact => positions.sort_by_key(|p| (p.node, p.sibling, p.kind, p.core, p.cpu)),
            FillOrder::NodeSpread => {
                // A CPU's round is the number of earlier CPUs of its node that have the same kind and sibling rank.
                positions.sort_by_key(|p| (p.sibling, p.kind, p.core, p.cpu));
                let mut given: BTreeMap<_, usize> = BTreeMap::new();
                for p in &mut positions {
                    let round = given.entry((p.sibling, p.kind, p.node_round)).or_default();
                    p.round = *round;
                    *round += 1;
                }
                positions.sort_by_key(|p| (p.sibling, p.kind, p.round, p.node_round));
            }
        }
        positions
    }
}

/// The orders that differ from each other on this machine; at least one unless there are no CPUs. On one node without SMT, all orders are
/// the same, and [`FillOrder::CoresFirst`] represents them.
pub fn distinct_orders(machine: &Machine, cpus: &CpuList) -> Vec<FillOrder> {
    let mut seen: Vec<Vec<u32>> = Vec::new();
    FILL_ORDERS
        .into_iter()
        .filter(|order| {
            let sequence = order.cpus(machine, cpus);
            let new = !sequence.is_empty() && !seen.contains(&sequence);
            seen.push(sequence);
            new
        })
        .collect()
}

/// A set of CPUs, and the orders that begin with these CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The CPUs in the order of use.
    pub cpus: Vec<u32>,
    /// The orders that begin with these CPUs.
    pub orders: Vec<FillOrder>,
}

impl Step {
    /// The CPUs of the step as a set.
    pub fn set(&self) -> CpuList {
        self.cpus.iter().copied().collect()
    }
}

/// The steps of these orders for the given `numbers` of CPUs. Each set of CPUs occurs once, and smaller sets come first.
pub fn shared_steps(
    machine: &Machine,
    cpus: &CpuList,
    orders: &[FillOrder],
    numbers: impl Fn(FillOrder) -> Vec<usize>,
) -> Vec<Step> {
    let mut steps: Vec<(CpuList, Step)> = Vec::new();
    for order in orders {
        let sequence = order.cpus(machine, cpus);
        for number in numbers(*order) {
            let step = Step { cpus: sequence.iter().take(number).copied().collect(), orders: vec![*order] };
            match steps.iter_mut().find(|(known, _)| *known == step.set()) {
                Some((_, step)) if step.orders.contains(order) => {}
                Some((_, step)) => step.orders.push(*order),
                None => steps.push((step.set(), step)),
            }
        }
    }
    let mut steps: Vec<Step> = steps.into_iter().map(|(_, step)| step).collect();
    steps.sort_by_key(|step| step.cpus.len());
    steps
}

/// Numbers of CPUs at which to measure, ascending: 1, 2, 4, 8 …, all CPUs, and the boundaries. A boundary is the largest number N for
/// which the first N CPUs are all on different cores, on one node, in one package, of the fastest kind, or on one core.
/// The number of nodes is another boundary if that many CPUs cover every node. If `most` (at least 2) is given, at most that many numbers
/// are returned: the first and the last, then the boundaries, then the numbers that fill the widest gaps.
pub fn steps(order: FillOrder, machine: &Machine, cpus: &CpuList, most: Option<usize>) -> Vec<usize> {
    let positions = order.positions(machine, cpus);
    let all = positions.len();
    let Some(first) = positions.first() else { return Vec::new() };
    // The longest prefix that meets this condition.
    let while_all = |holds: &dyn Fn(&Position) -> bool| positions.iter().take_while(|p| holds(p)).count();
    let mut news = vec![
        while_all(&|position| position.sibling == 0),
        while_all(&|position| position.node == first.node),
        while_all(&|position| position.package == first.package),
        while_all(&|position| position.kind == first.kind),
        while_all(&|position| position.core == first.core),
        // One CPU of each core of the first node, in orders in which the second siblings of these cores come next.
        while_all(&|position| position.node == first.node && position.sibling == 0),
    ];
    let nodes: BTreeSet<usize> = positions.iter().map(|position| position.node).collect();
    let spread: BTreeSet<usize> = positions[..nodes.len()].iter().map(|p| p.node).collect();
    if spread.len() == nodes.len() {
        news.push(nodes.len());
    }
    let mut chosen = BTreeSet::from([1, all]);
    let room = |chosen: &BTreeSet<usize>| most.is_none_or(|most| chosen.len() < most.max(2));
    for step in news {
        if room(&chosen) {
            chosen.insert(step.max(1));
        }
    }
    let mut powers: Vec<usize> =
        std::iter::successors(Some(2usize), |n| n.checked_mul(2)).take_while(|n| *n < all).collect();
    while room(&chosen) && !powers.is_empty() {
        let gain = |step: usize| {
            let below = chosen.range(..=step).next_back().copied().unwrap_or(1);
            let above = chosen.range(step..).next().copied().unwrap_or(all);
            (step as f64 / below as f64).min(above as f64 / step as f64)
        };
        // If several numbers fill equally wide gaps, the lowest is chosen: the first steps cost least and show most.
        let best = (0..powers.len()).rev().max_by(|a, b| gain(powers[*a]).total_cmp(&gain(powers[*b])));
        let Some(best) = best else { break };
        chosen.insert(powers.remove(best));
    }
    chosen.into_iter().collect()
}

/// All CPUs with their ranks.
fn positions(machine: &Machine, cpus: &CpuList) -> Vec<Position> {
    // The fastest CPU of each kind determines the kind's rank: cores of one kind may differ a little in their highest
    // clock.
    let mut kinds: BTreeMap<Option<&str>, (u32, u64)> = BTreeMap::new();
    for cpu in &machine.cpus {
        let speed = (cpu.capacity.unwrap_or(0), cpu.max_hz.unwrap_or(0));
        let best = kinds.entry(cpu.kind.as_deref()).or_default();
        *best = (*best).max(speed);
    }
    let mut ranked: Vec<(Option<&str>, (u32, u64))> = kinds.into_iter().collect();
    ranked.sort_by_key(|(_, speed)| std::cmp::Reverse(*speed));
    let kind_of =
        |kind: Option<&str>| ranked.iter().position(|(name, _)| *name == kind).unwrap_or(ranked.len());

    let known: BTreeMap<u32, &record::machine::Cpu> = machine.cpus.iter().map(|cpu| (cpu.id, cpu)).collect();
    let home = |id: u32| {
        let cpu = known.get(&id);
        (cpu.and_then(|cpu| cpu.package).unwrap_or(0), cpu.and_then(|cpu| cpu.node).unwrap_or(0))
    };
    // Two orders of nodes: package by package, and alternating (the first node of each package, then the second of each…).
    let homes: BTreeSet<(u32, u32)> = cpus.iter().map(home).collect();
    let mut within: BTreeMap<u32, usize> = BTreeMap::new();
    let mut turns: Vec<(usize, (u32, u32))> = Vec::new();
    for home in &homes {
        let place = within.entry(home.0).or_default();
        *place += 1;
        turns.push((*place, *home));
    }
    turns.sort_unstable();
    let node_rank = |home| homes.iter().position(|one| *one == home).unwrap_or(0);
    let turn_rank = |home| turns.iter().position(|(_, one)| *one == home).unwrap_or(0);

    let mut siblings: BTreeMap<u64, usize> = BTreeMap::new();
    cpus.iter()
        .map(|id| {
            let cpu = known.get(&id);
            // A CPU with an unknown core counts as a separate core, with a number that no core has.
            let core = cpu.and_then(|cpu| cpu.core).map_or(1 << 32 | u64::from(id), u64::from);
            let next = siblings.entry(core).or_insert(0);
            let sibling = *next;
            *next += 1;
            let home = home(id);
            Position {
                cpu: id,
                core,
                kind: kind_of(cpu.and_then(|cpu| cpu.kind.as_deref())),
                sibling,
                node: node_rank(home),
                node_round: turn_rank(home),
                round: 0,
                package: home.0,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::machine::{Cpu, Node};

    /// A machine built from the (cpu, core, package, node) of each CPU.
    fn made(cpus: impl IntoIterator<Item = (u32, u32, u32, u32)>) -> Machine {
        let mut machine = Machine::default();
        for (id, core, package, node) in cpus {
            machine.cpus.push(Cpu {
                id,
                online: true,
                allowed: true,
                core: Some(core),
                package: Some(package),
                node: Some(node),
                ..Cpu::default()
            });
        }
        machine.cpus.sort_by_key(|cpu| cpu.id);
        machine
    }

    /// A Xeon with 104 CPUs: two packages of 26 cores, siblings numbered N and N + 52, one node per package.
    fn xeon() -> Machine {
        made((0..104).map(|id| (id, id % 52, id % 52 / 26, id % 52 / 26)))
    }

    fn sequence(order: FillOrder, machine: &Machine) -> Vec<u32> {
        order.cpus(machine, &machine.allowed_cpus())
    }

    fn measured(order: FillOrder, machine: &Machine, most: Option<usize>) -> Vec<usize> {
        steps(order, machine, &machine.allowed_cpus(), most)
    }

    #[test]
    fn siblings_numbered_far_apart_are_found() {
        let machine = xeon();
        assert_eq!(sequence(FillOrder::CoresFirst, &machine), (0..104).collect::<Vec<_>>());
        assert_eq!(sequence(FillOrder::SiblingsFirst, &machine)[..4], [0, 52, 1, 53]);
        let compact = sequence(FillOrder::NodeCompact, &machine);
        assert_eq!(compact[..26], (0..26).collect::<Vec<_>>());
        assert_eq!(compact[26..52], (52..78).collect::<Vec<_>>());
        let spread = sequence(FillOrder::NodeSpread, &machine);
        assert_eq!(spread[..4], [0, 26, 1, 27]);
        assert_eq!(spread[52..56], [52, 78, 53, 79]);
        assert_eq!(distinct_orders(&machine, &machine.allowed_cpus()), FILL_ORDERS);
    }

    #[test]
    fn adjacent_siblings_are_not_taken_for_cores() {
        // Two cores with siblings (0,1) and (2,3): treating 0,1 as two cores would measure SMT instead of scaling.
        let machine = made((0..4).map(|id| (id, id / 2, 0, 0)));
        assert_eq!(sequence(FillOrder::CoresFirst, &machine), [0, 2, 1, 3]);
        assert_eq!(sequence(FillOrder::SiblingsFirst, &machine), [0, 1, 2, 3]);
        let orders = distinct_orders(&machine, &machine.allowed_cpus());
        assert_eq!(orders, [FillOrder::CoresFirst, FillOrder::SiblingsFirst]);
    }

    #[test]
    fn four_siblings_a_core() {
        let machine = made((0..16).map(|id| (id, id / 4, 0, 0)));
        assert_eq!(sequence(FillOrder::CoresFirst, &machine)[..6], [0, 4, 8, 12, 1, 5]);
        assert_eq!(measured(FillOrder::SiblingsFirst, &machine, None), [1, 2, 4, 8, 16]);
        assert_eq!(measured(FillOrder::CoresFirst, &machine, None), [1, 2, 4, 8, 16]);
    }

    #[test]
    fn spreading_over_nodes_alternates_packages() {
        // Two packages of two nodes of four cores: a small Kunpeng 920.
        let machine = made((0..16).map(|id| (id, id, id / 8, id / 4)));
        assert_eq!(sequence(FillOrder::NodeSpread, &machine)[..5], [0, 8, 4, 12, 1]);
        assert_eq!(sequence(FillOrder::NodeCompact, &machine), (0..16).collect::<Vec<_>>());
        // Without SMT, cores-first, siblings-first and node-compact are the same.
        let orders = distinct_orders(&machine, &machine.allowed_cpus());
        assert_eq!(orders, [FillOrder::CoresFirst, FillOrder::NodeSpread]);
    }

    #[test]
    fn nodes_of_memory_alone_give_no_cpu_and_no_order() {
        let mut machine = made((0..4).map(|id| (id, id, 0, 1)));
        for id in [0, 1, 7] {
            machine.nodes.push(Node { id, ..Node::default() });
        }
        assert_eq!(sequence(FillOrder::NodeSpread, &machine), [0, 1, 2, 3]);
        assert_eq!(distinct_orders(&machine, &machine.allowed_cpus()), [FillOrder::CoresFirst]);
        assert_eq!(measured(FillOrder::NodeSpread, &machine, None), [1, 2, 4]);
    }

    #[test]
    fn fast_cores_come_first_and_their_siblings_after_the_slow_cores() {
        // Two fast cores of two siblings (0,1) (2,3) and four slow cores; the second fast core clocks a little higher.
        let mut machine = made((0..8).map(|id| (id, if id < 4 { id / 2 } else { id - 2 }, 0, 0)));
        for cpu in &mut machine.cpus {
            let fast = cpu.id < 4;
            cpu.kind = Some(if fast { "performance" } else { "efficiency" }.to_owned());
            cpu.max_hz = Some(if fast { 5_000_000_000 + u64::from(cpu.id) } else { 3_900_000_000 });
        }
        assert_eq!(sequence(FillOrder::CoresFirst, &machine), [0, 2, 4, 5, 6, 7, 1, 3]);
        assert_eq!(sequence(FillOrder::SiblingsFirst, &machine), [0, 1, 2, 3, 4, 5, 6, 7]);
        // All fast cores; all cores; everything.
        assert_eq!(measured(FillOrder::CoresFirst, &machine, None), [1, 2, 4, 6, 8]);
    }

    #[test]
    fn slow_cores_with_low_numbers_come_last() {
        let mut machine = made((0..4).map(|id| (id, id, 0, 0)));
        for cpu in &mut machine.cpus {
            cpu.kind = Some(if cpu.id < 2 { "Cortex-A55" } else { "Cortex-A76" }.to_owned());
            cpu.capacity = Some(if cpu.id < 2 { 400 } else { 1024 });
        }
        assert_eq!(sequence(FillOrder::NodeCompact, &machine), [2, 3, 0, 1]);
    }

    #[test]
    fn steps_stand_where_something_begins() {
        let machine = xeon();
        let cores = measured(FillOrder::CoresFirst, &machine, None);
        assert_eq!(cores, [1, 2, 4, 8, 16, 26, 32, 52, 64, 104]);
        let compact = measured(FillOrder::NodeCompact, &machine, None);
        assert_eq!(compact, [1, 2, 4, 8, 16, 26, 32, 52, 64, 104]);
        assert_eq!(measured(FillOrder::SiblingsFirst, &machine, None), [1, 2, 4, 8, 16, 32, 52, 64, 104]);
        assert!(measured(FillOrder::NodeSpread, &machine, None).contains(&2));
    }

    #[test]
    fn few_steps_keep_the_ends_and_the_news() {
        let machine = xeon();
        assert_eq!(measured(FillOrder::CoresFirst, &machine, Some(4)), [1, 26, 52, 104]);
        assert_eq!(measured(FillOrder::CoresFirst, &machine, Some(1)), [1, 104]);
        for most in 2..12 {
            let steps = measured(FillOrder::NodeSpread, &machine, Some(most));
            assert!(
                steps.len() <= most && steps.first() == Some(&1) && steps.last() == Some(&104),
                "{steps:?}"
            );
        }
    }

    #[test]
    fn a_part_of_the_machine_is_ordered_by_what_is_in_it() {
        let machine = xeon();
        let cpus: CpuList = "1,53,54,70-71".parse().unwrap();
        // 54 is a separate core here, because its sibling 2 is not in use.
        assert_eq!(FillOrder::CoresFirst.cpus(&machine, &cpus), [1, 54, 70, 71, 53]);
        assert_eq!(steps(FillOrder::CoresFirst, &machine, &cpus, None), [1, 2, 4, 5]);
    }

    #[test]
    fn nothing_and_the_unknown_have_orders_too() {
        let machine = Machine::default();
        assert!(distinct_orders(&machine, &CpuList::new()).is_empty());
        assert!(steps(FillOrder::CoresFirst, &machine, &CpuList::new(), None).is_empty());
        let unknown: CpuList = "3,5".parse().unwrap();
        for order in FILL_ORDERS {
            assert_eq!(order.cpus(&machine, &unknown), [3, 5]);
            assert_eq!(FillOrder::find(order.name()), Some(order));
        }
        assert_eq!(steps(FillOrder::SiblingsFirst, &machine, &unknown, Some(9)), [1, 2]);
    }
}
