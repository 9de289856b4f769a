//! The true shape of a machine: CPU placement according to repeated checks, compared with Linux's view.

mod classes;
mod domains;
pub(crate) mod facts;
pub(crate) mod noise;
#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use record::Summary;
use record::live::Share;
use record::shape::{Distance, Look, Looks, Motion, Shape, ShapeState, SharedCore, Topology, TwoDistances};
use record::{CpuList, Handover, Label, Machine, Measurement, Record, metrics, text};

use classes::{LINES_APART, LOADS_APART, bounds, class_of};
use domains::{Domains, partition};

/// Two simultaneous loops share an execution unit if each takes at least this many times as long as it does alone. Between this limit and
/// the next one, the result is inconclusive.
pub(crate) const ONE_CORE: f64 = 1.5;
/// Up to this factor, the loops do not share an execution unit.
const OWN_CORES: f64 = 1.3;
/// Minimum number of placement checks for a verdict on whether CPUs move.
const LEAST_LOOKS: usize = 4;
/// CPUs are considered to be floating if at least this many placement checks differ from the usual state: a single check may be disturbed.
const LEAST_OTHER: usize = 2;

/// The results of a record's placement checks; `None` if there are none.
pub(crate) fn of_record(record: &Record) -> Option<Shape> {
    let looks = record.looks.as_ref()?;
    let mut shape = shape(looks, &record.machine)?;
    let took: f64 = looks.looks.iter().map(|look| look.took_ms / 1e3).sum();
    shape.cost = record.seconds.filter(|seconds| *seconds > 0.0).map(|seconds| took / seconds);
    let by_placement = |m: &Measurement| {
        let by = noise::explain(m, moved(&shape))?;
        let (from, to) = (m.labels.count(Label::From)?, m.labels.count(Label::To)?);
        Some(text!("pair-by-placement", "core-to-core latency of CPUs {from} and {to}: {by}", from, to, by))
    };
    let pairs = record.measurements_of(metrics::CORE_TO_CORE_LATENCY);
    let pairs = pairs.filter(|m| Handover::of_measurement(m) != Some(Handover::Store));
    shape.core_to_core = pairs.filter_map(by_placement).collect();
    Some(shape)
}

/// The states between which CPUs moved; empty if they did not move.
pub(crate) fn moved(shape: &Shape) -> &[Option<ShapeState>] {
    if shape.motion == Motion::Floating { &shape.states } else { &[] }
}

/// The results of placement checks of this machine; `None` if no check is conclusive.
pub fn shape(looks: &Looks, machine: &Machine) -> Option<Shape> {
    let positions = looks.positions();
    let is_whole = |look: &&Look| !look.interrupted && looks.is_answered(look);
    let is_ascending = looks.cpus.is_sorted_by(|a, b| a < b);
    if !is_ascending || !looks.looks.iter().any(|look| is_whole(&look)) {
        return None;
    }
    let series = Series {
        looks,
        positions: &positions,
        all: looks.looks.iter().map(|look| is_whole(&look).then_some(look)).collect(),
    };
    let of = |is: bool| {
        let pairs = series.known().flat_map(|look| series.pairs(look));
        pairs.filter(move |(_, _, on_one)| *on_one == is).map(|(_, ns, _)| ns).collect::<Vec<f64>>()
    };
    let (on_one, lines) = (of(true), of(false));
    let pairs = on_one.len() + lines.len();
    let line_bounds = bounds(&lines, LINES_APART);
    let loads: Vec<f64> = series.known().flat_map(|look| look.memory_ns.iter().flatten().copied()).collect();
    let load_bound = bounds(&loads, LOADS_APART).last().copied();
    let levels =
        |look: &Option<&Look>| line_bounds.iter().map(|bound| partition(&series, (*look)?, *bound)).collect();
    let split: Vec<Vec<Domains>> = series.all.iter().map(levels).collect();
    // A bound that never separates CPUs into domains is noise.
    let shown = ShownDomains::new(machine, &looks.cpus);
    let divides: Vec<usize> = (0..line_bounds.len())
        .filter(|at| split.iter().any(|levels| levels[*at].as_ref().is_some_and(|domains| domains.len() > 1)))
        .collect();
    let is_far = |ns: &Option<f64>| ns.zip(load_bound).is_some_and(|(ns, bound)| ns > bound);
    let state = |look: &Look, levels: &[Domains]| {
        let domains = divides.iter().filter_map(|level| levels[*level].clone()).collect();
        let far = looks.cpus.iter().zip(&look.memory_ns).filter(|(_, ns)| is_far(ns));
        ShapeState { cores: series.cores(look), domains, far_from_memory: far.map(|(cpu, _)| *cpu).collect() }
    };
    let states: Vec<Option<ShapeState>> =
        series.all.iter().zip(&split).map(|(look, levels)| Some(state((*look)?, levels))).collect();
    let known: Vec<&ShapeState> = states.iter().flatten().collect();
    let shares = |state: &ShapeState| state.cores.iter().any(|core| !shown.is_core(core));
    let share_of = |busy: bool| {
        let chosen = states.iter().zip(&looks.looks).filter(|(_, look)| look.busy == busy);
        let chosen: Vec<&ShapeState> = chosen.filter_map(|(state, _)| state.as_ref()).collect();
        let count = chosen.iter().filter(|state| shares(state)).count();
        (!chosen.is_empty()).then(|| Share::of(count as u64, chosen.len() as u64, 0))
    };
    let has_hidden =
        |state: &&&ShapeState| state.domains.iter().any(|domains| domains.len() > 1 && !shown.has(domains));
    let hidden = known.iter().filter(has_hidden).count();
    Some(Shape {
        looked_at: None,
        looks: known.len() as u32,
        cost: None,
        one_core: (!on_one.is_empty()).then(|| distance(&on_one, pairs)),
        distances: distances(&lines, &line_bounds, pairs),
        core_to_core: Vec::new(),
        motion: motion(&known, machine.is_virtual()),
        changes: known.windows(2).filter(|pair| pair[0] != pair[1]).count() as u32,
        shared_cores: shared_cores(&known, &shown),
        sharing: share_of(false),
        sharing_busy: share_of(true),
        siblings_not_confirmed: series.siblings_without_effect(&shown),
        split: Some(Share::of(hidden as u64, known.len() as u64, 0)),
        memory: load_bound.and_then(|bound| two_distances(&loads, bound)),
        topology: shown.judge(&known),
        states,
    })
}

/// The placement checks and their CPU pairs.
struct Series<'a> {
    looks: &'a Looks,
    positions: &'a [(usize, usize)],
    /// Each placement check; `None` for an inconclusive one.
    all: Vec<Option<&'a Look>>,
}

impl Series<'_> {
    fn known(&self) -> impl Iterator<Item = &Look> {
        self.all.iter().flatten().copied()
    }

    /// The CPU pairs of a placement check that have a handover time, with this time and whether the two CPUs were on one core.
    fn pairs<'b>(&'b self, look: &'b Look) -> impl Iterator<Item = ((usize, usize), f64, bool)> + 'b {
        let cpus = &self.looks.cpus;
        let on_one = |(a, b): (usize, usize)| {
            look.contended.iter().any(|one| one.pair == (cpus[a], cpus[b]) && one.slowdown >= ONE_CORE)
        };
        let pairs = self.positions.iter().enumerate();
        pairs.filter_map(move |(at, pair)| Some((*pair, look.transfer(at)?, on_one(*pair))))
    }

    /// The CPU pairs of a placement check that are on separate cores.
    fn apart<'b>(&'b self, look: &'b Look) -> impl Iterator<Item = ((usize, usize), f64)> + 'b {
        self.pairs(look).filter(|(_, _, on_one)| !on_one).map(|(pair, ns, _)| (pair, ns))
    }

    /// The cores shared by several CPUs, ascending.
    fn cores(&self, look: &Look) -> Vec<CpuList> {
        joined(look.contended.iter().filter(|one| one.slowdown >= ONE_CORE).map(|one| one.pair))
    }

    /// Siblings reported by Linux that did not slow each other down in any test.
    fn siblings_without_effect(&self, shown: &ShownDomains) -> Vec<(u32, u32)> {
        let mut slowest: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        for one in self.known().flat_map(|look| &look.contended) {
            let least = slowest.entry(one.pair).or_insert(0.0);
            *least = least.max(one.slowdown);
        }
        let is_shown = |pair: &(u32, u32)| shown.is_core(&[pair.0, pair.1].into_iter().collect());
        slowest
            .into_iter()
            .filter(|(pair, most)| *most <= OWN_CORES && is_shown(pair))
            .map(|(pair, _)| pair)
            .collect()
    }
}

/// The groups of CPUs that these pairs connect, ascending.
pub(crate) fn joined(pairs: impl Iterator<Item = (u32, u32)>) -> Vec<CpuList> {
    let mut groups: Vec<CpuList> = Vec::new();
    for pair in pairs.map(|(a, b)| [a, b].into_iter().collect::<CpuList>()) {
        let (met, rest) = groups.into_iter().partition(|of: &CpuList| !of.intersection(&pair).is_empty());
        groups = rest;
        groups.push(met.into_iter().fold(pair, |all, of: CpuList| all.union(&of)));
    }
    sorted(groups)
}

fn distances(lines: &[f64], bounds: &[f64], pairs: usize) -> Vec<Distance> {
    let mut classes: Vec<Vec<f64>> = vec![Vec::new(); bounds.len() + 1];
    lines.iter().for_each(|ns| classes[class_of(bounds, *ns)].push(*ns));
    classes.iter().filter(|of| !of.is_empty()).map(|of| distance(of, pairs)).collect()
}

/// A class of this many pairs.
fn distance(of: &[f64], pairs: usize) -> Distance {
    Distance {
        median_ns: Summary::from_samples(of).median,
        low_ns: of.iter().copied().fold(f64::INFINITY, f64::min),
        high_ns: of.iter().copied().fold(0.0, f64::max),
        share: of.len() as f64 / pairs as f64,
    }
}

fn two_distances(loads: &[f64], bound: f64) -> Option<TwoDistances> {
    let (far, near): (Vec<f64>, Vec<f64>) = loads.iter().partition(|ns| **ns > bound);
    let of = Share::of(far.len() as u64, loads.len() as u64, 0);
    (!far.is_empty() && !near.is_empty()).then(|| TwoDistances {
        near_ns: Summary::from_samples(&near).median,
        far_ns: Summary::from_samples(&far).median,
        far: of,
    })
}

/// Only a hypervisor can move vCPUs. Without one, different states are caused by a varying clock of the interconnect.
fn motion(states: &[&ShapeState], is_virtual: bool) -> Motion {
    let mut counts: BTreeMap<&ShapeState, usize> = BTreeMap::new();
    states.iter().for_each(|state| *counts.entry(state).or_default() += 1);
    let usual = counts.values().copied().max().unwrap_or(0);
    // A single disturbed check may show different distances, but it does not show a shared core.
    let stay = states.windows(2).all(|pair| pair[0].cores == pair[1].cores);
    match states.len() {
        n if n - usual >= LEAST_OTHER && is_virtual => Motion::Floating,
        n if n < LEAST_LOOKS || n - usual >= LEAST_OTHER || !stay => Motion::Unknown,
        _ => Motion::Pinned,
    }
}

fn shared_cores(states: &[&ShapeState], shown: &ShownDomains) -> Vec<SharedCore> {
    let mut counts: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for core in states.iter().flat_map(|state| &state.cores) {
        let cpus: Vec<u32> = core.iter().collect();
        for (at, a) in cpus.iter().enumerate() {
            cpus[at + 1..].iter().for_each(|b| *counts.entry((*a, *b)).or_default() += 1);
        }
    }
    let is_shown = |pair: (u32, u32)| shown.is_core(&[pair.0, pair.1].into_iter().collect());
    let mut shared: Vec<SharedCore> =
        counts.into_iter().map(|(pair, looks)| SharedCore { pair, looks, shown: is_shown(pair) }).collect();
    shared.sort_by_key(|one| (std::cmp::Reverse(one.looks), one.pair));
    shared
}

/// The domains that Linux reports for the checked CPUs.
struct ShownDomains {
    cores: BTreeMap<u32, u32>,
    /// The domains at each level (clusters, caches, dies, nodes, packages) that has at least two domains.
    each: Vec<Vec<CpuList>>,
    /// The nodes and the packages, if there are several. If Linux reports them correctly, timings must show the same domains.
    far: Vec<Vec<CpuList>>,
}

impl ShownDomains {
    fn new(machine: &Machine, cpus: &[u32]) -> Self {
        let by = |of: &dyn Fn(&record::machine::Cpu) -> Option<u32>| {
            let mut domains: BTreeMap<u32, CpuList> = BTreeMap::new();
            for cpu in machine.cpus.iter().filter(|cpu| cpus.contains(&cpu.id)) {
                if let Some(domain) = of(cpu) {
                    domains.entry(domain).or_default().insert(cpu.id);
                }
            }
            sorted(domains.into_values().collect())
        };
        let own = by(&|cpu| cpu.core);
        let mut each = vec![by(&|cpu| cpu.cluster), by(&|cpu| cpu.die)];
        let far: Vec<_> =
            [by(&|cpu| cpu.package), by(&|cpu| cpu.node)].into_iter().filter(|of| of.len() > 1).collect();
        for level in machine.caches.iter().map(|cache| cache.level).collect::<BTreeSet<_>>() {
            let of_level = machine.caches.iter().filter(|cache| cache.level == level);
            let inside = |list: &CpuList| list.iter().filter(|cpu| cpus.contains(cpu)).collect::<CpuList>();
            let lists: BTreeSet<CpuList> =
                of_level.map(|cache| inside(&cache.cpus)).filter(|list| !list.is_empty()).collect();
            each.push(lists.into_iter().collect());
        }
        // A level in which each domain is a single core shows nothing about distances between cores.
        each.retain(|domains| domains.len() > 1 && *domains != own);
        each.extend(far.iter().cloned());
        Self { cores: machine.cpus.iter().filter_map(|cpu| Some((cpu.id, cpu.core?))).collect(), each, far }
    }

    /// Whether Linux reports these CPUs as siblings.
    fn is_core(&self, cpus: &CpuList) -> bool {
        let cores: BTreeSet<Option<&u32>> = cpus.iter().map(|cpu| self.cores.get(&cpu)).collect();
        cores.len() == 1 && !cores.contains(&None)
    }

    fn has(&self, domains: &[CpuList]) -> bool {
        self.each.iter().any(|shown| shown == domains)
    }

    /// Compares the domains found by placement checks with those that Linux reports.
    fn judge(&self, states: &[&ShapeState]) -> Topology {
        if states.len() < LEAST_OTHER {
            return Topology::Unknown;
        }
        let domains =
            |state: &&ShapeState| state.domains.iter().filter(|of| of.len() > 1).cloned().collect::<Vec<_>>();
        let all: Vec<Vec<Vec<CpuList>>> = states.iter().map(domains).collect();
        let is_strange = |of: &&Vec<CpuList>| !self.has(of);
        let strange: Vec<&Vec<CpuList>> = all.iter().flatten().filter(is_strange).collect();
        let hides_core = |state: &ShapeState| state.cores.iter().any(|core| !self.is_core(core));
        let is_other = |at: &usize| all[*at].iter().any(|of| !self.has(of)) || hides_core(states[*at]);
        let looks = (0..states.len()).filter(is_other).count();
        let unseen = self.far.iter().any(|shown| !all.iter().flatten().any(|seen| seen == shown));
        let is_within = |domain: &CpuList| {
            self.far.iter().all(|shown| shown.iter().any(|one| domain.iter().all(|cpu| one.contains(cpu))))
        };
        // Whether every check found the same domains.
        let stays = looks == states.len() && all.windows(2).all(|pair| pair[0] == pair[1]);
        match (looks >= LEAST_OTHER, unseen) {
            (true, _) if !stays || strange.is_empty() => Topology::Crossing,
            (true, _) if !strange.iter().all(|of| of.iter().all(is_within)) => Topology::Crossing,
            (true, _) => Topology::Finer,
            (false, true) => Topology::Coarser,
            (false, false) => Topology::AsShown,
        }
    }
}

fn sorted(mut domains: Vec<CpuList>) -> Vec<CpuList> {
    domains.sort();
    domains
}
