//! The pairs of CPUs in a core-to-core matrix: all pairs, or some of each class.

use std::collections::BTreeMap;

use record::{CpuList, Machine};

use crate::cycle::Random;
use crate::measurements::core_to_core::topology_class::{Topology, TopologyClass};

/// Fixed seed: each run uses the same pairs, so that two runs on one machine are comparable.
const SEED: u64 = 0xC0FE_2C0E;

/// If there are more CPUs than this, only this many, drawn at random, are used as the first CPU of a pair: searching 1024 × 8192 pairs
/// takes one second, whereas searching all pairs of 8192 CPUs would take too long.
const MOST_FIRSTS: usize = 1024;

/// A pair and its class, the lower CPU first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// The lower CPU.
    pub from: u32,
    /// The higher CPU.
    pub to: u32,
    /// The topology level that the two CPUs share.
    pub class: TopologyClass,
}

/// The pairs to measure, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// The pairs in measuring order: one pair of each class first, so that a run that ends early covers all classes.
    pub pairs: Vec<Pair>,
    /// The total number of pairs.
    pub all: usize,
}

/// The number of pairs of `cpus` CPUs.
pub(crate) fn count(cpus: usize) -> usize {
    cpus.saturating_mul(cpus.saturating_sub(1)) / 2
}

/// At most `most` pairs of `cpus`: all pairs, or the same number from each class that has enough.
pub(crate) fn plan(machine: &Machine, cpus: &CpuList, most: usize) -> Plan {
    let ids: Vec<u32> = cpus.iter().collect();
    let all = count(ids.len());
    let topology = Topology::new(machine, cpus);
    let mut random = Random::new(SEED);
    if all <= most {
        return Plan { pairs: leaders_first(every_pair(&topology, &ids)), all };
    }
    let mut pools: BTreeMap<TopologyClass, Reservoir> = BTreeMap::new();
    let mut firsts: Vec<usize> = (0..ids.len()).collect();
    if ids.len() > MOST_FIRSTS {
        shuffle(&mut firsts, &mut random);
        firsts.truncate(MOST_FIRSTS);
    }
    for &first in &firsts {
        // If only some CPUs are drawn as first CPUs, the other CPU of a pair may have the lower number.
        let others = if ids.len() > MOST_FIRSTS { 0 } else { first + 1 };
        for other in others..ids.len() {
            if other != first {
                let (from, to) = (ids[first].min(ids[other]), ids[first].max(ids[other]));
                let pair = Pair { from, to, class: topology.class(from, to) };
                pools.entry(pair.class).or_default().offer(pair, most, &mut random);
            }
        }
    }
    let mut pools: Vec<Vec<Pair>> = pools
        .into_values()
        .map(|mut pool| {
            shuffle(&mut pool.kept, &mut random);
            pool.kept
        })
        .collect();
    // Each pass over the classes takes one pair of each, so small classes contribute all of their pairs, and the other
    // classes share the rest.
    let mut pairs: Vec<Pair> = Vec::with_capacity(most);
    let mut seen = std::collections::BTreeSet::new();
    while pairs.len() < most && pools.iter().any(|pool| !pool.is_empty()) {
        for pool in &mut pools {
            if pairs.len() < most
                && let Some(pair) = pool.pop()
                && seen.insert((pair.from, pair.to))
            {
                pairs.push(pair);
            }
        }
    }
    Plan { pairs, all }
}

fn every_pair(topology: &Topology, ids: &[u32]) -> Vec<Pair> {
    let mut pairs = Vec::with_capacity(count(ids.len()));
    for (index, &from) in ids.iter().enumerate() {
        for &to in &ids[index + 1..] {
            pairs.push(Pair { from, to, class: topology.class(from, to) });
        }
    }
    pairs
}

/// Moves the first pair of each class to the front. The others remain in row order, in which one of the two CPUs stays
/// the same and keeps its clock high.
fn leaders_first(pairs: Vec<Pair>) -> Vec<Pair> {
    let mut seen = std::collections::BTreeSet::new();
    let (mut leaders, rest): (Vec<Pair>, Vec<Pair>) =
        pairs.into_iter().partition(|pair| seen.insert(pair.class));
    leaders.extend(rest);
    leaders
}

/// A fixed-size sample of a stream of pairs, each equally likely (Vitter's algorithm R).
#[derive(Default)]
struct Reservoir {
    kept: Vec<Pair>,
    offered: usize,
}

impl Reservoir {
    fn offer(&mut self, pair: Pair, most: usize, random: &mut Random) {
        self.offered += 1;
        if self.kept.len() < most {
            self.kept.push(pair);
        } else {
            if let Some(old) = self.kept.get_mut(random.below(self.offered)) {
                *old = pair;
            }
        }
    }
}

fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurements::core_to_core::topology_class::tests::made;
    use std::collections::BTreeSet;

    fn classes(plan: &Plan) -> BTreeMap<TopologyClass, usize> {
        let mut counts = BTreeMap::new();
        for pair in &plan.pairs {
            *counts.entry(pair.class).or_default() += 1;
        }
        counts
    }

    #[test]
    fn a_small_machine_has_every_pair_once_and_each_class_early() {
        let machine = made(2, 2, 4, 2, 2);
        let plan = plan(&machine, &machine.allowed_cpus(), 100_000);
        assert_eq!((plan.pairs.len(), plan.all), (32 * 31 / 2, 32 * 31 / 2));
        let unique: BTreeSet<(u32, u32)> = plan.pairs.iter().map(|pair| (pair.from, pair.to)).collect();
        assert_eq!(unique.len(), plan.pairs.len());
        assert!(unique.iter().all(|(from, to)| from < to));
        let kinds = classes(&plan).len();
        let early: BTreeSet<TopologyClass> = plan.pairs[..kinds].iter().map(|pair| pair.class).collect();
        assert_eq!(early.len(), kinds, "a run that ends early would lack a class");
    }

    #[test]
    fn a_large_machine_is_sampled_by_class_and_alike_each_time() {
        // 512 CPUs in 8 nodes: 130,816 pairs, of which 256 are siblings.
        let machine = made(2, 4, 32, 2, 8);
        let cpus = machine.allowed_cpus();
        let sampled = plan(&machine, &cpus, 3_000);
        assert_eq!((sampled.pairs.len(), sampled.all), (3_000, 130_816));
        let counts = classes(&sampled);
        assert_eq!(counts[&TopologyClass::Siblings], 256, "{counts:?}");
        let others: Vec<usize> =
            counts.iter().filter(|(c, _)| **c != TopologyClass::Siblings).map(|(_, n)| *n).collect();
        assert!(others.iter().max().unwrap() - others.iter().min().unwrap() <= 1, "{counts:?}");
        assert_eq!(sampled.pairs, plan(&machine, &cpus, 3_000).pairs);
        // The sample is not limited to the machine's first CPUs.
        let last = sampled.pairs.iter().filter(|p| p.class == TopologyClass::Cache).map(|p| p.to).max();
        assert!(last.unwrap() > 400, "{last:?}");
    }

    #[test]
    fn thousands_of_cpus_are_sampled_too() {
        let machine = made(4, 4, 128, 2, 16);
        let plan = plan(&machine, &machine.allowed_cpus(), 500);
        assert_eq!((plan.pairs.len(), plan.all), (500, 4096 * 4095 / 2));
        let unique: BTreeSet<(u32, u32)> = plan.pairs.iter().map(|pair| (pair.from, pair.to)).collect();
        assert_eq!(unique.len(), 500);
    }

    #[test]
    fn one_cpu_has_no_pair() {
        assert_eq!(count(0), 0);
        assert!(plan(&Machine::default(), &[3].into_iter().collect(), 10).pairs.is_empty());
    }
}
