//! Synthetic machines with unusual and large topologies.

use std::collections::BTreeSet;

use crate::support::sound::inspect_below;
use crate::support::tree::{Files, Shape};
use record::machine::Access;
use record::{CpuList, Machine};

const SMALL: Shape = Shape { cpus: 8, nodes: 2, packages: 2, threads: 2 };
const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

fn inspect(files: &Files) -> Machine {
    let folder = crate::support::temporary();
    files.write(folder.path()).unwrap();
    inspect_below(folder.path()).machine
}

fn read(files: &Files) -> Machine {
    let machine = inspect(files);
    assert!(machine.notes.is_empty(), "{:?}", machine.notes);
    machine
}

/// The small machine with node 1 replaced by these nodes: id, CPUs, KiB.
fn with_nodes(nodes: &[(u32, &str, u64)]) -> Machine {
    let mut files = SMALL.files();
    files.texts.retain(|path, _| !path.starts_with(NODE));
    files.links.retain(|path, _| !path.starts_with(NODE));
    let ids: CpuList = nodes.iter().map(|(id, ..)| *id).collect();
    files.put(format!("{NODE}/online"), &ids);
    for (index, (id, cpus, kib)) in nodes.iter().enumerate() {
        let row: Vec<String> =
            (0..nodes.len()).map(|to| (10 + 10 * to.abs_diff(index)).to_string()).collect();
        files.put(format!("{NODE}/node{id}/cpulist"), cpus);
        files.put(format!("{NODE}/node{id}/distance"), row.join(" "));
        files.put(
            format!("{NODE}/node{id}/meminfo"),
            format!("Node {id} MemTotal: {kib} kB\nNode {id} MemFree: 0 kB"),
        );
    }
    files.put(
        "proc/meminfo".to_owned(),
        format!("MemTotal: {} kB", nodes.iter().map(|node| node.2).sum::<u64>()),
    );
    read(&files)
}

#[test]
fn a_node_of_memory_alone_has_no_cpus() {
    let machine = with_nodes(&[(0, "0-7", 1000), (1, "", 500)]);
    assert!(machine.nodes[1].cpus.is_empty());
    assert_eq!((machine.nodes[1].bytes, machine.counts.nodes), (Some(500 << 10), Some(2)));
    assert!(machine.cpus.iter().all(|cpu| cpu.node == Some(0)));
}

#[test]
fn a_node_without_memory_has_none_rather_than_unknown() {
    let machine = with_nodes(&[(0, "0-3", 1000), (1, "4-7", 0)]);
    assert_eq!(machine.nodes[1].bytes, Some(0));
    assert_eq!(machine.cpu(4).unwrap().node, Some(1));
}

#[test]
fn sparse_node_numbers_stay_the_kernels_and_rows_follow_the_list() {
    let machine = with_nodes(&[(0, "0-3", 1000), (8, "4-7", 1000), (252, "", 1000)]);
    assert_eq!(machine.nodes.iter().map(|node| node.id).collect::<Vec<_>>(), [0, 8, 252]);
    assert_eq!(machine.nodes[2].distances, [30, 20, 10]);
    assert_eq!(machine.cpu(7).unwrap().node, Some(8));
}

#[test]
fn a_node_has_its_memory_side_cache_and_what_the_firmware_tells_of_its_memory() {
    let mut files = SMALL.files();
    files.put(format!("{NODE}/node0/memory_side_cache/index1/size"), 96u64 << 30);
    for (class, latency, bandwidth) in [(0, 50, 200_000), (1, 110, 90_000)] {
        let folder = format!("{NODE}/node1/access{class}/initiators");
        files.put(format!("{folder}/read_latency"), latency);
        files.put(format!("{folder}/read_bandwidth"), bandwidth);
        files.links.insert(format!("{folder}/node{}", 1 - class), "../../../node0".to_owned());
    }
    let nodes = read(&files).nodes;
    assert_eq!((nodes[0].memory_side_cache_bytes, &nodes[0].access), (Some(96 << 30), &None));
    // Class 1: from CPUs.
    let access = Access {
        initiators: "0".parse().unwrap(),
        read_latency_ns: Some(110),
        read_bytes_per_second: Some(90_000_000_000),
    };
    assert_eq!((nodes[1].memory_side_cache_bytes, &nodes[1].access), (None, &Some(access)));
    files.texts.retain(|path, _| !path.contains("/access1/"));
    files.links.retain(|path, _| !path.contains("/access1/"));
    assert_eq!(read(&files).nodes[1].access.as_ref().unwrap().read_latency_ns, Some(50));
}

#[test]
fn a_node_has_its_tier_and_what_of_it_is_a_dax_device_that_is_memory() {
    let mut files = SMALL.files();
    let tiers = "sys/devices/virtual/memory_tiering";
    files.put(format!("{tiers}/memory_tier4/nodelist"), "0");
    files.put(format!("{tiers}/memory_tier22/nodelist"), "1");
    for (name, driver, node) in [("dax0.0", "kmem", 1), ("dax0.1", "kmem", 1), ("dax1.0", "device_dax", 0)] {
        let device = format!("sys/bus/dax/devices/{name}");
        files.put(format!("{device}/size"), 8u64 << 30);
        files.put(format!("{device}/target_node"), node);
        files.put(format!("sys/bus/dax/drivers/{driver}/new_id"), "");
        files.links.insert(format!("{device}/driver"), format!("../../drivers/{driver}"));
    }
    let facts = |files: &Files| {
        read(files).nodes.iter().map(|node| (node.memory_tier, node.dax_bytes)).collect::<Vec<_>>()
    };
    assert_eq!(facts(&files), [(Some(4), None), (Some(22), Some(16 << 30))]);
    assert_eq!(facts(&SMALL.files()), [(None, None); 2]);
}

#[test]
fn masks_alone_tell_the_same_as_lists() {
    let sound = read(&SMALL.files());
    let mut files = SMALL.files();
    files.texts.retain(|path, _| !path.ends_with("_list") && !path.ends_with("/cpulist"));
    let masked = read(&files);
    assert_eq!((masked.cpus, masked.caches, masked.nodes), (sound.cpus, sound.caches, sound.nodes));
}

#[test]
fn offline_cpus_have_no_place_and_the_numbers_close_up() {
    let mut files = SMALL.files();
    files.put(format!("{CPU}/online"), "0,2-4,6-7");
    // The kernel removes the topology of an offline CPU.
    let gone = [format!("{CPU}/cpu1/topology"), format!("{CPU}/cpu5/topology"), format!("{CPU}/cpu1/cache")];
    files.texts.retain(|path, _| !gone.iter().any(|gone| path.starts_with(gone)));
    let machine = read(&files);
    assert_eq!((machine.counts.cores, machine.counts.cpus_present), (Some(3), Some(8)));
    assert_eq!(
        machine.cpus.iter().map(|cpu| cpu.core).collect::<Vec<_>>(),
        [Some(0), None, Some(1), Some(2), Some(0), None, Some(1), Some(2)]
    );
    assert!(machine.caches.iter().all(|cache| !cache.cpus.contains(1) && !cache.cpus.contains(5)));
}

#[test]
fn cpus_that_may_be_plugged_in_later_are_not_counted() {
    let mut files = SMALL.files();
    files.put(format!("{CPU}/present"), "0-63");
    files.put(format!("{CPU}/enabled"), "0-7");
    assert_eq!(read(&files).counts.cpus_present, Some(8));
}

#[test]
fn a_kernel_that_knows_no_packages_has_one() {
    let mut files = SMALL.files();
    for cpu in 0..8 {
        files.put(format!("{CPU}/cpu{cpu}/topology/physical_package_id"), -1);
        for name in ["package_cpus", "core_siblings"] {
            files.put(format!("{CPU}/cpu{cpu}/topology/{name}_list"), cpu);
        }
        files.put(format!("{CPU}/cpu{cpu}/topology/die_id"), -1);
        files.put(format!("{CPU}/cpu{cpu}/topology/cluster_id"), 65_535);
    }
    let counts = read(&files).counts;
    assert_eq!((counts.packages, counts.dies, counts.clusters, counts.cores), (Some(1), None, None, Some(4)));
}

#[test]
fn packages_without_an_id_are_told_by_their_siblings() {
    let mut files = SMALL.files();
    for cpu in 0..8 {
        files.put(format!("{CPU}/cpu{cpu}/topology/physical_package_id"), -1);
    }
    assert_eq!(read(&files).counts.packages, Some(2));
    // Each core is a separate package, as in older POWER kernels.
    for cpu in 0..8 {
        let core = files.texts[&format!("{CPU}/cpu{cpu}/topology/core_cpus_list")].clone();
        for name in ["package_cpus", "core_siblings"] {
            files.texts.insert(format!("{CPU}/cpu{cpu}/topology/{name}_list"), core.clone());
        }
    }
    let machine = read(&files);
    assert_eq!((machine.counts.packages, machine.cpu(4).unwrap().package), (Some(4), Some(0)));
    // No file contains packages.
    files.texts.retain(|path, _| {
        !["physical_package_id", "package_cpus", "core_siblings"].iter().any(|name| path.contains(name))
    });
    assert_eq!(read(&files).counts.packages, None);
}

#[test]
fn a_cpu_alone_is_a_package_on_s390_and_not_yet_placed_on_arm() {
    let single = Shape { cpus: 4, nodes: 1, packages: 1, threads: 1 };
    let mut files = single.files();
    for cpu in 0..4 {
        files.put(format!("{CPU}/cpu{cpu}/topology/physical_package_id"), -1);
        for name in ["package_cpus", "core_siblings"] {
            files.put(format!("{CPU}/cpu{cpu}/topology/{name}_list"), cpu);
        }
    }
    files.put("proc/cpuinfo".to_owned(), "vendor_id       : IBM/S390\n# processors    : 4");
    assert_eq!(read(&files).counts.packages, Some(4));
    files.put("proc/cpuinfo".to_owned(), "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8");
    assert_eq!(read(&files).counts.packages, Some(1));
}

#[test]
fn packages_are_told_where_cores_are_not() {
    let mut files = SMALL.files();
    files.texts.retain(|path, _| !path.contains("core_cpus") && !path.contains("thread_siblings"));
    files.put("proc/cpuinfo".to_owned(), "processor\t: 0");
    let machine = read(&files);
    assert_eq!((machine.counts.packages, machine.counts.cores), (Some(2), None));
}

#[test]
fn a_cache_without_sharers_is_its_core_s() {
    let mut files = SMALL.files();
    files.texts.retain(|path, _| !path.contains("/index3/shared_cpu_"));
    let machine = inspect(&files);
    let sharers: Vec<String> = machine.data_caches(3).map(|cache| cache.cpus.to_string()).collect();
    assert_eq!(sharers, ["0,4", "1,5", "2,6", "3,7"]);
    assert_eq!(machine.notes.len(), 1, "{:?}", machine.notes);
}

#[test]
fn clusters_that_are_the_cores_again_are_none() {
    let mut files = SMALL.files();
    for cpu in 0..8 {
        let core = files.texts[&format!("{CPU}/cpu{cpu}/topology/core_cpus_list")].clone();
        files.texts.insert(format!("{CPU}/cpu{cpu}/topology/cluster_cpus_list"), core);
    }
    assert_eq!(read(&files).counts.clusters, None);
}

#[test]
fn intel_kernels_list_the_kinds_and_a_guest_with_one_is_not_hybrid() {
    let mut files = SMALL.files();
    files.put("sys/devices/cpu_core/cpus".to_owned(), "0-1,4-5");
    assert!(read(&files).cpus.iter().all(|cpu| cpu.kind.is_none()));
    files.put("sys/devices/cpu_atom/cpus".to_owned(), "2-3,6");
    files.put("sys/devices/cpu_lowpower/cpus".to_owned(), "7");
    let kinds: Vec<String> = read(&files).cpus.into_iter().map(|cpu| cpu.kind.unwrap_or_default()).collect();
    assert_eq!(
        (&kinds[0], &kinds[2], &kinds[7]),
        (&"performance".to_owned(), &"efficiency".to_owned(), &"low-power".to_owned())
    );
}

#[test]
fn arm_kernels_tell_the_kinds_by_register_or_by_cpuinfo() {
    let mut files = SMALL.files();
    files.put("proc/cpuinfo".to_owned(), "processor\t: 0\nFeatures\t: fp asimd");
    for cpu in 0..8 {
        let midr = if cpu < 4 { "0x00000000410fd0b0" } else { "0x00000000410fd050" };
        files.put(format!("{CPU}/cpu{cpu}/regs/identification/midr_el1"), midr);
    }
    let kind = |machine: &Machine, cpu: u32| machine.cpu(cpu).unwrap().kind.clone().unwrap_or_default();
    let machine = read(&files);
    assert_eq!((kind(&machine, 0), kind(&machine, 7)), ("Cortex-A76".to_owned(), "Cortex-A55".to_owned()));
    let cpuinfo = |cpu: u32| {
        let part = if cpu < 4 { "0xd0b" } else { "0xfff" };
        format!("processor\t: {cpu}\nCPU implementer\t: 0x41\nCPU part\t: {part}\n\n")
    };
    files.put("proc/cpuinfo".to_owned(), (0..8).map(cpuinfo).collect::<String>());
    let machine = read(&files);
    assert_eq!((kind(&machine, 0), kind(&machine, 7)), ("Cortex-A76".to_owned(), "0x41:0xfff".to_owned()));
}

#[test]
fn a_thousand_cpus_on_sixteen_nodes() {
    // Under emulation, an eighth of them suffices: creating the files already takes a minute.
    let cpus = if cfg!(target_arch = "x86_64") { 1024 } else { 128 };
    let shape = Shape { cpus, nodes: 16, packages: 4, threads: 2 };
    let mut files = shape.files();
    // Half of the files are masks that duplicate lists.
    files
        .texts
        .retain(|path, _| path.ends_with("_list") || !path.contains("_cpu") && !path.contains("_siblings"));
    files.texts.retain(|path, _| !path.contains("/cpufreq/"));
    let machine = read(&files);
    let counts = &machine.counts;
    assert_eq!((counts.packages, counts.nodes, counts.cores), (Some(4), Some(16), Some(cpus / 2)));
    assert_eq!((counts.clusters, counts.cpus_online), (Some(cpus / 8), Some(cpus)));
    let expected: BTreeSet<CpuList> = shape.groups(|cpu| shape.last_level_of(cpu)).into_values().collect();
    assert_eq!(machine.data_caches(3).map(|cache| cache.cpus.clone()).collect::<BTreeSet<_>>(), expected);
    assert_eq!(machine.data_caches(1).count(), cpus as usize / 2);
    assert!(
        machine.nodes.iter().all(|node| node.distances.len() == 16 && node.cpus.len() == cpus as usize / 16)
    );
    let last = format!("{},{}", cpus / 2 - 1, cpus - 1);
    assert_eq!(machine.cpu(cpus - 1).unwrap().siblings.to_string(), last);
}
