//! NUMA nodes: their CPUs, memory and distances, from `/sys/devices/system/node`
//! (Documentation/ABI/stable/sysfs-devices-node of the kernel). A machine without NUMA is one node.

use std::collections::BTreeMap;

use record::machine::{Access, Node};
use record::{Coverage, CpuList, Machine, text};

use crate::cpus::{online_of, set_each};
use crate::notes::Notes;
use crate::root::Root;
use crate::text::bytes_field;

/// The directory of the nodes.
const NODES: &str = "/sys/devices/system/node";
/// The directory of the memory tiers (Documentation/ABI/testing/sysfs-kernel-mm-memory-tiers).
const TIERS: &str = "/sys/devices/virtual/memory_tiering";
/// The directory of the DAX devices (Documentation/ABI/testing/sysfs-bus-dax).
const DAX: &str = "/sys/bus/dax/devices";
/// Maximum number of DAX devices read.
const MOST_DAX: usize = 1024;
/// Maximum plausible memory (1 PiB).
const MAX_MEMORY: u64 = 1 << 50;
/// Maximum distance: the firmware's table consists of bytes, where 255 means "cannot be reached" (ACPI 6.5, 5.2.17).
const MAX_DISTANCE: u32 = 255;
/// Maximum plausible size of a memory-side cache (16 TiB).
const MAX_SIDE_CACHE: u64 = 1 << 44;
/// Maximum plausible latency (1 ms) and bandwidth (100 TB/s): the firmware's values for "unknown" are larger.
const MAX_LATENCY_NS: u64 = 1_000_000;
const MAX_BANDWIDTH_MB: u64 = 100_000_000;

/// Fills [`Machine::nodes`], the CPUs' nodes and [`Machine::memory_bytes`].
pub(crate) fn read(root: &Root, machine: &mut Machine, coverage: &mut Vec<Coverage>) {
    let mut notes = Notes::default();
    let online = online_of(machine);
    let meminfo = root.text("/proc/meminfo").unwrap_or_default();
    let ids = ids(root, &mut notes);
    let mut taken = CpuList::new();
    let (tiers, dax) = (tiers(root), dax(root));
    machine.nodes = ids
        .iter()
        .map(|id| {
            let cpus = cpus_of(root, id, &online, &mut taken, &mut notes);
            let (bytes, free_bytes) = memory_of(root, id, &mut notes);
            let (memory_side_cache_bytes, access) = (memory_side_cache(root, id), access(root, id));
            Node {
                id,
                cpus,
                bytes,
                free_bytes,
                memory_side_cache_bytes,
                memory_tier: tiers.iter().find(|(_, nodes)| nodes.contains(id)).map(|(tier, _)| *tier),
                dax_bytes: dax.get(&id).copied(),
                access,
                allowed: true,
                ..Node::default()
            }
        })
        .collect();
    for node in &mut machine.nodes {
        let path = format!("{NODES}/node{}/distance", node.id);
        let row = notes.read(root, &path, |text| distances(text).filter(|row| row.len() == ids.len()));
        node.distances = row.unwrap_or_default();
    }
    if machine.nodes.is_empty() && !online.is_empty() {
        machine.nodes.push(Node {
            id: 0,
            cpus: online.clone(),
            bytes: bytes_field(&meminfo, "MemTotal"),
            free_bytes: bytes_field(&meminfo, "MemFree"),
            allowed: true,
            ..Node::default()
        });
        coverage.push(
            Coverage::degraded(
                "numa",
                text!("{folder} is missing: the machine is assumed to be one NUMA node", folder = NODES),
            )
            .with_remedy(text!(
                "on a multi-node machine, boot a kernel with CONFIG_NUMA and without numa=off"
            )),
        );
    }
    let nodes_bytes = machine.nodes.iter().filter_map(|node| node.bytes).reduce(u64::saturating_add);
    let total = bytes_field(&meminfo, "MemTotal");
    if let (Some(total), Some(nodes)) = (total, nodes_bytes)
        && total.abs_diff(nodes) > total / 8
    {
        // This occurs in guests whose memory was added after boot: programs can use all the memory in /proc/meminfo,
        // but the node of the added memory is unknown.
        notes.add("the nodes' memory does not add up to the machine's memory", NODES);
        let only = (machine.nodes.len() == 1).then_some(total);
        for node in machine.nodes.iter_mut().filter(|node| node.bytes != Some(0)) {
            (node.bytes, node.free_bytes) = (only, None);
        }
    }
    machine.memory_bytes = total.or(nodes_bytes);
    for node in &machine.nodes {
        set_each(&mut machine.cpus, &node.cpus, |cpu| cpu.node = Some(node.id));
    }
    notes.finish(&mut machine.notes);
}

/// The online nodes; on old kernels without the list, the nodes with a directory.
fn ids(root: &Root, notes: &mut Notes) -> CpuList {
    let path = format!("{NODES}/online");
    let folders = root.numbered(NODES, "node");
    let Some(listed) = notes.list(root, &path).filter(|list| !list.is_empty()) else { return folders };
    if listed.difference(&folders).is_empty() {
        return listed;
    }
    notes.add("lists nodes that have no directory", &path);
    let both = listed.intersection(&folders);
    if both.is_empty() { folders } else { both }
}

/// The online CPUs of a node, except CPUs that a previous node also lists.
fn cpus_of(root: &Root, id: u32, online: &CpuList, taken: &mut CpuList, notes: &mut Notes) -> CpuList {
    let path = format!("{NODES}/node{id}/cpulist");
    // Older kernels have links to the CPUs in the node's directory.
    let linked = || root.numbered(&format!("{NODES}/node{id}"), "cpu");
    let cpus = notes.list(root, &path).unwrap_or_else(linked).intersection(online);
    let twice = cpus.intersection(taken);
    if !twice.is_empty() {
        notes.add("lists CPUs of another node", &path);
    }
    let cpus = cpus.difference(&twice);
    *taken = taken.union(&cpus);
    cpus
}

/// The total and free memory of a node, in bytes.
fn memory_of(root: &Root, id: u32, notes: &mut Notes) -> (Option<u64>, Option<u64>) {
    let path = format!("{NODES}/node{id}/meminfo");
    let Some(text) = root.text(&path) else {
        notes.add("cannot be read", &path);
        return (None, None);
    };
    // Each line begins with the node: "Node 0 MemTotal: 131732940 kB".
    let start = format!("Node {id} ");
    let lines: Vec<&str> = text.lines().filter_map(|line| line.trim_start().strip_prefix(&start)).collect();
    let lines = lines.join("\n");
    let total = bytes_field(&lines, "MemTotal");
    if total.is_none() {
        notes.add("has no MemTotal", &path);
    }
    let free = bytes_field(&lines, "MemFree");
    (total, free.filter(|free| total.is_none_or(|total| *free <= total)))
}

/// Size of the cache in front of a node's memory, bytes; of the outermost cache if there are several.
fn memory_side_cache(root: &Root, id: u32) -> Option<u64> {
    let folder = format!("{NODES}/node{id}/memory_side_cache");
    let last = root.numbered(&folder, "index").iter().next_back()?;
    root.number(&format!("{folder}/index{last}/size")).filter(|bytes| (1..=MAX_SIDE_CACHE).contains(bytes))
}

/// The memory tiers, each with its nodes.
fn tiers(root: &Root) -> Vec<(u32, CpuList)> {
    let tier = |tier: u32| Some((tier, root.cpu_list(&format!("{TIERS}/memory_tier{tier}/nodelist"))?));
    root.numbered(TIERS, "memory_tier").iter().filter_map(tier).collect()
}

/// Bytes of the DAX devices that the kernel uses as memory, by node. Other DAX devices are used by programs and do not
/// count as the machine's memory.
fn dax(root: &Root) -> BTreeMap<u32, u64> {
    let mut bytes = BTreeMap::<u32, u64>::new();
    for device in root.list(DAX).iter().take(MOST_DAX) {
        let folder = format!("{DAX}/{device}");
        let is_memory =
            root.real_path(&format!("{folder}/driver")).is_ok_and(|driver| driver.ends_with("kmem"));
        let size = root.number(&format!("{folder}/size")).filter(|size| (1..=MAX_MEMORY).contains(size));
        if let (true, Some(size), Some(node)) =
            (is_memory, size, root.number(&format!("{folder}/target_node")))
        {
            let sum = bytes.entry(node).or_default();
            *sum = sum.saturating_add(size);
        }
    }
    bytes
}

/// The firmware's data on a node's memory. Class 1 describes access from the nearest CPUs. Class 0, the only class in
/// older kernels, describes access from the nearest initiator of any kind.
fn access(root: &Root, id: u32) -> Option<Access> {
    let class = |class: u32| {
        let folder = format!("{NODES}/node{id}/access{class}/initiators");
        let number = |name: &str, most: u64| {
            root.number::<u64>(&format!("{folder}/{name}")).filter(|number| (1..=most).contains(number))
        };
        let access = Access {
            initiators: root.numbered(&folder, "node"),
            read_latency_ns: number("read_latency", MAX_LATENCY_NS),
            read_bytes_per_second: number("read_bandwidth", MAX_BANDWIDTH_MB).map(|mb| mb * 1_000_000),
        };
        (access != Access::default()).then_some(access)
    };
    class(1).or_else(|| class(0))
}

fn distances(text: &str) -> Option<Vec<u32>> {
    text.split_ascii_whitespace()
        .map(|number| number.parse::<u32>().ok().filter(|distance| *distance <= MAX_DISTANCE))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cpus_that_are_only_linked_into_a_node_are_its_own() {
        let tree = crate::made_up::Tree::new()
            .file("sys/devices/system/cpu/online", "0-1\n")
            .file("sys/devices/system/cpu/cpu0/online", "1\n")
            .file("sys/devices/system/cpu/cpu1/online", "1\n")
            .file("sys/devices/system/node/node0/cpu0/online", "1\n")
            .file("sys/devices/system/node/node1/cpu1/online", "1\n");
        let nodes = crate::inspect(&tree.root()).machine.nodes;
        let cpus: Vec<String> = nodes.iter().map(|node| node.cpus.to_string()).collect();
        assert_eq!(cpus, ["0", "1"]);
    }

    #[test]
    fn memory_reads_in_bytes_and_absurd_memory_not_at_all() {
        assert_eq!(
            bytes_field("MemTotal:       32489480 kB\nMemFree: 1 kB", "MemTotal"),
            Some(32_489_480 << 10)
        );
        for absurd in ["MemTotal: -1 kB", "MemTotal: 99999999999999999 kB", "MemTotal: 12", "MemTotal:", ""] {
            assert_eq!(bytes_field(absurd, "MemTotal"), None, "{absurd:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,60}|(MemTotal:? *-?[0-9]{0,22} ?k?B?\n?){0,3}|[0-9 -]{0,60}") {
            prop_assert!(bytes_field(&text, "MemTotal").is_none_or(|bytes| bytes <= 1 << 57));
            prop_assert!(distances(&text).is_none_or(|row| row.iter().all(|distance| *distance <= 255)));
        }
    }
}
