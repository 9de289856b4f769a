//! Inventories of four machines captured by others must agree with those of hwloc.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use crate::support::console::Console;
use crate::support::{MACHINES, hwloc_says, unpack};
use machine::{Inspection, Root, inspect};
use record::machine::{CacheKind, Cpu};
use record::{CpuList, Machine};

/// Checks each captured machine with both inventories. The machines are unpacked and read once for all tests.
fn each(check: impl Fn(&str, &Machine, &Console)) {
    static READ: OnceLock<Vec<(&str, Machine, Console)>> = OnceLock::new();
    let read = |name| {
        let folder = unpack(name);
        // The tree is in the archive's subdirectory, which is found.
        let Inspection { machine, .. } = inspect(&Root::captured(folder.path()).unwrap());
        (name, machine, hwloc_says(name))
    };
    for (name, machine, hwloc) in READ.get_or_init(|| MACHINES.into_iter().map(read).collect()) {
        check(name, machine, hwloc);
    }
}

/// The sets of CPUs with the same number.
fn sets(machine: &Machine, number: impl Fn(&Cpu) -> Option<u32>) -> BTreeSet<CpuList> {
    let mut sets: BTreeMap<u32, CpuList> = BTreeMap::new();
    for cpu in &machine.cpus {
        if let Some(number) = number(cpu) {
            sets.entry(number).or_default().insert(cpu.id);
        }
    }
    sets.into_values().collect()
}

#[test]
fn cpus_online_and_offline() {
    each(|name, machine, hwloc| {
        let of = |online: bool| -> CpuList {
            machine.cpus.iter().filter(|cpu| cpu.online == online).map(|cpu| cpu.id).collect()
        };
        let processors: CpuList = hwloc.of("PU").iter().filter_map(|pu| pu.number).collect();
        assert_eq!(of(true), processors, "{name}");
        assert_eq!(of(false), hwloc.offline, "{name}");
        let count = |number: Option<u32>| number.unwrap_or(0) as usize;
        assert_eq!(count(machine.counts.cpus_online), hwloc.counts["PU"], "{name}");
        assert_eq!(count(machine.counts.cpus_present), hwloc.counts["PU"] + hwloc.offline.len(), "{name}");
        for cpu in machine.cpus.iter().filter(|cpu| !cpu.online) {
            assert_eq!(
                (cpu.core, cpu.package, cpu.siblings.len()),
                (None, None, 0),
                "{name}: offline CPU {}",
                cpu.id
            );
        }
    });
}

#[test]
fn packages_and_cores() {
    each(|name, machine, hwloc| {
        assert_eq!(sets(machine, |cpu| cpu.package), hwloc.cpusets("Package"), "{name}");
        assert_eq!(sets(machine, |cpu| cpu.core), hwloc.cpusets("Core"), "{name}");
        assert_eq!(machine.counts.packages.unwrap() as usize, hwloc.counts["Package"], "{name}");
        assert_eq!(machine.counts.cores.unwrap() as usize, hwloc.counts["Core"], "{name}");
        for core in hwloc.of("Core") {
            for cpu in &core.cpus {
                assert_eq!(machine.cpu(cpu).unwrap().siblings, core.cpus, "{name}: siblings of CPU {cpu}");
            }
        }
    });
}

#[test]
fn numbers_are_dense_and_follow_the_lowest_cpu() {
    each(|name, machine, _| {
        for number in [|cpu: &Cpu| cpu.package, |cpu: &Cpu| cpu.core, |cpu: &Cpu| cpu.cluster] {
            let mut next = 0;
            for number in machine.cpus.iter().filter_map(number) {
                assert!(number <= next, "{name}: {number} comes before {next}");
                next = next.max(number + 1);
            }
        }
    });
}

#[test]
fn clusters() {
    each(|name, machine, hwloc| {
        let clusters = sets(machine, |cpu| cpu.cluster);
        let groups = hwloc.cpusets("Group(Cluster)");
        if groups.is_empty() {
            // hwloc omits a cluster if another object has the same CPUs.
            let objects: BTreeSet<&CpuList> = hwloc.objects.iter().map(|object| &object.cpus).collect();
            assert!(clusters.iter().all(|cluster| objects.contains(cluster)), "{name}: {clusters:?}");
        } else {
            assert_eq!(clusters, groups, "{name}");
            assert_eq!(machine.counts.clusters.unwrap() as usize, hwloc.counts["Group"], "{name}");
        }
    });
}

#[test]
fn caches_with_size_line_ways_and_sharers() {
    each(|name, machine, hwloc| {
        let kinds = [
            ("L1dCache", 1, CacheKind::Data),
            ("L1iCache", 1, CacheKind::Instruction),
            ("L2Cache", 2, CacheKind::Unified),
            ("L3Cache", 3, CacheKind::Unified),
        ];
        let mut said = 0;
        for (kind, level, cache_kind) in kinds {
            let objects = hwloc.of(kind);
            assert_eq!(
                objects.len(),
                hwloc.counts.get(kind).copied().unwrap_or(0),
                "{name}: {kind} in the text"
            );
            said += objects.len();
            for object in objects {
                let cache = machine.caches.iter().find(|cache| {
                    (cache.level, cache.kind, &cache.cpus) == (level, cache_kind, &object.cpus)
                });
                let cache = cache.unwrap_or_else(|| panic!("{name}: no {kind} of CPUs {}", object.cpus));
                let size = object.bytes("size");
                assert!(size.contains(&cache.bytes.unwrap()), "{name}: {cache:?}, hwloc {size:?}");
                assert_eq!(cache.line, Some(object.number_of("linesize")), "{name}: {cache:?}");
                assert_eq!(cache.ways, Some(object.number_of("ways")), "{name}: {cache:?}");
            }
        }
        assert_eq!(machine.caches.len(), said, "{name}: caches that hwloc does not see");
    });
}

#[test]
fn nodes_with_memory_and_distances() {
    each(|name, machine, hwloc| {
        let nodes = hwloc.of("NUMANode");
        assert_eq!(machine.nodes.len(), nodes.len(), "{name}");
        assert_eq!(machine.counts.nodes.unwrap() as usize, hwloc.counts["NUMANode"], "{name}");
        for (node, object) in machine.nodes.iter().zip(&nodes) {
            assert_eq!(Some(node.id), object.number, "{name}");
            assert_eq!(node.cpus, object.cpus, "{name}: node {}", node.id);
            let local = object.bytes("local");
            assert!(local.contains(&node.bytes.unwrap()), "{name}: node {} has {:?}", node.id, node.bytes);
            assert!(node.free_bytes.unwrap() <= node.bytes.unwrap(), "{name}");
            for cpu in &node.cpus {
                assert_eq!(machine.cpu(cpu).unwrap().node, Some(node.id), "{name}: CPU {cpu}");
            }
        }
        let total = hwloc.of("Machine")[0].bytes("total");
        let bytes: u64 = machine.nodes.iter().filter_map(|node| node.bytes).sum();
        assert!(total.contains(&bytes), "{name}: {bytes} in all, hwloc {total:?}");
        // hwloc prints no matrix for one node.
        if nodes.len() > 1 {
            let rows: Vec<Vec<u32>> = machine.nodes.iter().map(|node| node.distances.clone()).collect();
            assert_eq!(rows, hwloc.distances, "{name}");
        }
    });
}

#[test]
fn kinds_of_cores_on_hybrid_machines_only() {
    each(|name, machine, hwloc| {
        if hwloc.kinds.len() < 2 {
            assert!(machine.cpus.iter().all(|cpu| cpu.kind.is_none()), "{name} is not hybrid");
        } else {
            for (kind, word) in hwloc.kinds.iter().zip(["efficiency", "performance"]) {
                let cpus = machine.cpus.iter().filter(|cpu| cpu.kind.as_deref() == Some(word));
                assert_eq!(cpus.map(|cpu| cpu.id).collect::<CpuList>(), kind.cpus, "{name}: {word}");
            }
        }
        for kind in &hwloc.kinds {
            let cpus: Vec<&Cpu> = kind.cpus.iter().filter_map(|cpu| machine.cpu(cpu)).collect();
            let mhz = |hz: Option<u64>| hz.map(|hz| hz / 1_000_000);
            for (key, value) in &kind.attributes {
                let value = Some(*value);
                match key.as_str() {
                    "LinuxCapacity" => {
                        assert!(cpus.iter().all(|cpu| cpu.capacity.map(u64::from) == value), "{name}: {key}");
                    }
                    "FrequencyBaseMHz" => {
                        assert!(cpus.iter().all(|cpu| mhz(cpu.base_hz) == value), "{name}: {key}");
                    }
                    // Favored cores have a higher clock; hwloc reports the clock that all cores reach.
                    "FrequencyMaxMHz" => {
                        assert_eq!(
                            cpus.iter().map(|cpu| mhz(cpu.max_hz)).min().flatten(),
                            value,
                            "{name}: {key}"
                        );
                    }
                    other => panic!("{name}: {other} is not compared"),
                }
            }
        }
    });
}

#[test]
fn sound_trees_need_no_notes() {
    each(|name, machine, _| assert!(machine.notes.is_empty(), "{name}: {:?}", machine.notes));
}

#[test]
fn what_another_machine_allows_is_not_what_this_process_may() {
    each(|name, machine, _| {
        assert_eq!(machine.counts.cpus_allowed, None, "{name}");
        assert_eq!(machine.limits.root, None, "{name}");
        assert!(machine.cpus.iter().all(|cpu| cpu.allowed == cpu.online), "{name}");
    });
}
