//! The proximity of two CPUs: the classes of pairs in a core-to-core matrix.

use std::collections::BTreeMap;

use record::{CpuList, Machine};

use crate::measurements::numa::plan::distances;

/// The topology level that two CPUs share, nearest first. The number is the firmware's distance between the nodes of the two
/// CPUs, if these are different nodes and the firmware reports their distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TopologyClass {
    /// A core.
    Siblings,
    /// A cluster, or a cache below the last level.
    Cluster,
    /// A last-level cache that does not serve the whole package.
    Cache,
    /// A die or node that is smaller than the package.
    Die,
    /// A package.
    Package(Option<u32>),
    /// Only the machine is shared.
    OtherPackage(Option<u32>),
    /// The machine provides no information.
    Unknown,
}

impl TopologyClass {
    /// The class in words: `siblings`, `package at distance 12`.
    pub(crate) fn describe(self) -> String {
        let (name, distance) = match self {
            TopologyClass::Siblings => ("siblings", None),
            TopologyClass::Cluster => ("cluster", None),
            TopologyClass::Cache => ("cache", None),
            TopologyClass::Die => ("die", None),
            TopologyClass::Package(distance) => ("package", distance),
            TopologyClass::OtherPackage(distance) => ("other package", distance),
            TopologyClass::Unknown => ("unknown", None),
        };
        distance.map_or_else(|| name.to_owned(), |distance| format!("{name} at distance {distance}"))
    }
}

/// The topology of one CPU, as one number per component: two CPUs have the same number if, and only if, they share the
/// component. Components shared by the whole package are omitted, because they are equivalent to the package.
#[derive(Clone, Debug, Default)]
struct Home {
    core: Option<u32>,
    cluster: Option<u32>,
    /// Index of the CPU's cache on each level below the last.
    inner: Vec<usize>,
    /// Index of the CPU's last-level cache.
    last: Option<usize>,
    die: Option<u32>,
    /// The node, if it is smaller than the package.
    part: Option<u32>,
    node: Option<u32>,
    package: Option<u32>,
}

/// The topology of all CPUs, looked up once because a matrix needs it hundreds of thousands of times.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    homes: BTreeMap<u32, Home>,
    distances: BTreeMap<(u32, u32), u32>,
}

impl Topology {
    /// The topology of `cpus`.
    pub(crate) fn new(machine: &Machine, cpus: &CpuList) -> Self {
        let home = |id: u32| {
            machine.cpu(id).map_or_else(Home::default, |cpu| Home {
                core: cpu.core,
                cluster: cpu.cluster,
                die: cpu.die,
                part: cpu.node,
                node: cpu.node,
                package: cpu.package,
                ..Home::default()
            })
        };
        let mut homes: BTreeMap<u32, Home> = cpus.iter().map(|id| (id, home(id))).collect();
        let last = machine.last_level();
        for (index, cache) in machine.caches.iter().enumerate() {
            if cache.kind == record::machine::CacheKind::Instruction {
                continue;
            }
            for cpu in &cache.cpus {
                let Some(home) = homes.get_mut(&cpu) else { continue };
                if cache.level == last { home.last = Some(index) } else { home.inner.push(index) }
            }
        }
        leave_out(&mut homes, |home| &mut home.cluster);
        leave_out(&mut homes, |home| &mut home.last);
        leave_out(&mut homes, |home| &mut home.die);
        leave_out(&mut homes, |home| &mut home.part);
        Self { homes, distances: distances(machine) }
    }

    /// The class of a pair. The order of the CPUs does not matter: if the distances in the two directions differ, the
    /// greater one is used.
    pub(crate) fn class(&self, a: u32, b: u32) -> TopologyClass {
        let (Some(a), Some(b)) = (self.homes.get(&a), self.homes.get(&b)) else {
            return TopologyClass::Unknown;
        };
        if same(a.core, b.core) {
            return TopologyClass::Siblings;
        }
        if same(a.cluster, b.cluster) || a.inner.iter().any(|cache| b.inner.contains(cache)) {
            return TopologyClass::Cluster;
        }
        if same(a.last, b.last) {
            return TopologyClass::Cache;
        }
        let distance = match (a.node, b.node) {
            (Some(x), Some(y)) if x != y => {
                self.distances.get(&(x, y)).max(self.distances.get(&(y, x))).copied()
            }
            _ => None,
        };
        match (a.package, b.package) {
            _ if same(a.die, b.die) || same(a.part, b.part) => TopologyClass::Die,
            (Some(x), Some(y)) if x == y => TopologyClass::Package(distance),
            (Some(_), Some(_)) => TopologyClass::OtherPackage(distance),
            _ => TopologyClass::Unknown,
        }
    }
}

fn same<T: PartialEq>(x: Option<T>, y: Option<T>) -> bool {
    x.is_some() && x == y
}

/// Clears numbers that all CPUs of a package have in common.
fn leave_out<T: Copy + PartialEq>(
    homes: &mut BTreeMap<u32, Home>,
    of: impl for<'a> Fn(&'a mut Home) -> &'a mut Option<T>,
) {
    // For each package: the value of its first CPU, and whether its other CPUs all have the same value.
    let mut seen: BTreeMap<u32, (Option<T>, bool)> = BTreeMap::new();
    for home in homes.values_mut() {
        let (Some(package), has) = (home.package, *of(home)) else { continue };
        seen.entry(package).and_modify(|(first, all)| *all &= *first == has).or_insert((has, true));
    }
    for home in homes.values_mut() {
        if home.package.and_then(|package| seen.get(&package)).is_some_and(|(_, all)| *all) {
            *of(home) = None;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use record::machine::{Cache, CacheKind, Cpu, Node};

    /// CPUs of `packages` × `nodes` per package × `cores` per node × `threads`; the siblings of the first core are
    /// CPU 0 and the CPU whose number equals the total number of cores.
    /// `sharing` is the number of cores of a node that share a last-level cache.
    pub(crate) fn made(packages: u32, nodes: u32, cores: u32, threads: u32, sharing: u32) -> Machine {
        let mut machine = Machine::default();
        let all = packages * nodes * cores;
        for id in 0..all * threads {
            let core = id % all;
            machine.cpus.push(Cpu {
                id,
                online: true,
                allowed: true,
                core: Some(core),
                die: Some(core / cores),
                package: Some(core / cores / nodes),
                node: Some(core / cores),
                ..Cpu::default()
            });
        }
        let cache = |level: u32, bytes: u64, cpus: CpuList| Cache {
            level,
            kind: CacheKind::Unified,
            bytes: Some(bytes),
            line: Some(64),
            ways: None,
            cpus,
        };
        for core in 0..all {
            machine.caches.push(cache(2, 1 << 20, (0..threads).map(|t| core + t * all).collect()));
        }
        for first in (0..all).step_by(sharing as usize) {
            let cpus =
                (first..first + sharing).flat_map(|core| (0..threads).map(move |t| core + t * all)).collect();
            machine.caches.push(cache(3, 32 << 20, cpus));
        }
        let last = packages * nodes;
        for id in 0..last {
            let distance = |to: u32| match (id == to, id / nodes == to / nodes) {
                (true, _) => 10,
                (false, true) => 12,
                (false, false) => 20 + 2 * (id % nodes).abs_diff(to % nodes),
            };
            machine.nodes.push(Node {
                id,
                cpus: (0..all * threads).filter(|cpu| cpu % all / cores == id).collect(),
                bytes: Some(16 << 30),
                free_bytes: Some(8 << 30),
                distances: (0..last).map(distance).collect(),
                allowed: true,
                ..Node::default()
            });
        }
        machine.limits.memory_nodes = (0..last).collect();
        machine
    }

    fn class(machine: &Machine, a: u32, b: u32) -> String {
        let topology = Topology::new(machine, &machine.allowed_cpus());
        assert_eq!(topology.class(a, b), topology.class(b, a));
        topology.class(a, b).describe()
    }

    #[test]
    fn a_machine_of_many_dies_has_a_class_for_each_way() {
        // Like a Hygon 5280: two packages of two dies of eight cores, four cores per cache, two threads per core.
        let machine = made(2, 2, 8, 2, 4);
        assert_eq!(class(&machine, 0, 32), "siblings");
        assert_eq!(class(&machine, 0, 3), "cache");
        assert_eq!(class(&machine, 0, 4), "die");
        assert_eq!(class(&machine, 0, 8), "package at distance 12");
        assert_eq!(class(&machine, 0, 16), "other package at distance 20");
        assert_eq!(class(&machine, 0, 24), "other package at distance 22");
    }

    #[test]
    fn what_the_whole_package_shares_is_the_package() {
        let machine = made(2, 1, 8, 1, 8);
        assert_eq!(class(&machine, 0, 7), "package");
        assert_eq!(class(&machine, 0, 8), "other package at distance 20");
    }

    #[test]
    fn clusters_come_before_caches_and_second_level_caches_are_clusters() {
        let mut machine = made(1, 1, 8, 1, 8);
        for cpu in &mut machine.cpus {
            cpu.cluster = Some(cpu.id / 4);
        }
        assert_eq!(class(&machine, 4, 7), "cluster");
        assert_eq!(class(&machine, 3, 4), "package");
        // Without cluster numbers, but with two cores per second-level cache.
        let mut machine = made(1, 1, 8, 1, 8);
        machine.caches.retain(|cache| cache.level == 3);
        machine.caches.insert(0, Cache { level: 2, cpus: (2..4).collect(), ..machine.caches[0].clone() });
        assert_eq!(class(&machine, 2, 3), "cluster");
    }

    #[test]
    fn a_machine_that_tells_nothing_has_one_class() {
        let mut machine = Machine::default();
        for id in 0..2 {
            machine.cpus.push(Cpu { id, online: true, allowed: true, ..Cpu::default() });
        }
        assert_eq!(class(&machine, 0, 1), "unknown");
        assert_eq!(class(&machine, 0, 9), "unknown");
    }
}
