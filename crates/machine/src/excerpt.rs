//! A machine described by a text that quotes some of its files. The contents of these files are used, but nothing is
//! concluded from missing files.

use std::collections::BTreeMap;

use record::machine::Counts;
use record::{CpuList, Machine};

use crate::cpus::CPUS;
use crate::text::{field, fields};
use crate::{Inspection, Root, inspect};

const NODES: &str = "/sys/devices/system/node";

/// Like [`inspect`], for a [`Root::excerpt`]. CPUs or nodes are listed only if a file with the complete list is quoted,
/// because the text may quote only some of their directories.
pub fn inspect_excerpt(root: &Root) -> Inspection {
    let mut found = inspect(root);
    let Inspection { machine, coverage, .. } = &mut found;
    // These entries and notes are about files that the text does not quote.
    coverage.clear();
    machine.notes.clear();
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    let listed = ["online", "present"].iter().any(|file| root.cpu_list(&format!("{CPUS}/{file}")).is_some());
    if !listed && !is_whole(&cpuinfo) {
        forget_cpus(root, machine);
    }
    nodes(root, machine);
    offline_siblings(root, machine);
    // In a truncated list of flags, the flag that indicates 64 bits may be missing.
    machine.architecture = std::mem::take(&mut machine.architecture).replace("i686", "");
    // x86 kernels list flags in a fixed order, in which `lahf_lm` follows the flags that are required here.
    let flags = field(&cpuinfo, "flags").unwrap_or_default();
    if machine.architecture == "x86_64" && !flags.split_ascii_whitespace().any(|flag| flag == "lahf_lm") {
        let processor = &mut machine.processor;
        processor.counter_invariant = processor.counter_invariant.filter(|invariant| *invariant);
        processor.vector_bits = None;
        let kind = &mut machine.virtualization.hypervisor;
        *kind = kind.take().filter(|name| name != "none");
    }
    found
}

/// Assigns a core to siblings that were taken offline after the list of that core's CPUs was quoted.
fn offline_siblings(root: &Root, machine: &mut Machine) {
    let list = |cpu: u32, name: &str| root.cpu_list(&format!("{CPUS}/cpu{cpu}/topology/{name}"));
    let lists = |cpu: u32| list(cpu, "thread_siblings_list").or_else(|| list(cpu, "core_cpus_list"));
    let placed = machine.cpus.iter().filter_map(|cpu| Some((cpu.core?, lists(cpu.id)?)));
    let placed: Vec<(u32, CpuList)> = placed.collect();
    for cpu in machine.cpus.iter_mut().filter(|cpu| !cpu.online) {
        cpu.core = placed.iter().find(|(_, list)| list.contains(cpu.id)).map(|(core, _)| *core);
    }
}

/// Whether `/proc/cpuinfo` is quoted completely: each package has as many CPUs as it reports or, if no package reports a
/// number, there are several CPUs with consecutive numbers.
fn is_whole(cpuinfo: &str) -> bool {
    let numbers: Vec<u32> = fields(cpuinfo, "processor").map_while(|number| number.parse().ok()).collect();
    let mut packages: BTreeMap<&str, (usize, Option<usize>)> = BTreeMap::new();
    let (ids, siblings) = (fields(cpuinfo, "physical id"), fields(cpuinfo, "siblings"));
    for (id, siblings) in ids.zip(siblings) {
        let (cpus, all) = packages.entry(id).or_default();
        (*cpus, *all) = (*cpus + 1, siblings.parse().ok());
    }
    let counted: usize = packages.values().map(|(cpus, _)| cpus).sum();
    let alone = packages.is_empty() || counted == numbers.len();
    numbers.len() > 1
        && numbers.len() == fields(cpuinfo, "processor").count()
        && numbers.iter().zip(0..).all(|(number, at)| *number == at)
        && alone
        && packages.values().all(|(cpus, all)| *all == Some(*cpus))
}

/// Removes data that requires the complete list of CPUs. The CPU lists of nodes are kept if they are quoted.
fn forget_cpus(root: &Root, machine: &mut Machine) {
    machine.cpus.clear();
    machine.counts = Counts::default();
    machine.processor.vector_bits = None;
    for cache in &mut machine.caches {
        cache.cpus = CpuList::new();
    }
    machine.caches.dedup_by_key(|cache| (cache.level, cache.kind));
    for node in &mut machine.nodes {
        node.cpus = root.cpu_list(&format!("{NODES}/node{}/cpulist", node.id)).unwrap_or_default();
    }
}

/// Keeps the nodes in the complete list. Without such a list, keeps the nodes whose CPUs or memory a file contains; the
/// number of nodes is then unknown.
fn nodes(root: &Root, machine: &mut Machine) {
    let listed = root.cpu_list(&format!("{NODES}/online"));
    let is_quoted = |id: u32| root.exists(&format!("{NODES}/node{id}"));
    machine.nodes.retain(|node| is_quoted(node.id));
    for cpu in &mut machine.cpus {
        cpu.node = cpu.node.filter(|node| is_quoted(*node));
    }
    machine.counts.nodes = listed.map(|list| list.len() as u32).filter(|count| *count > 0);
    if machine.counts.nodes.is_none() && !root.exists("/proc/meminfo") {
        machine.memory_bytes = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Inspection {
        inspect_excerpt(&Root::excerpt(files.iter().copied()))
    }

    #[test]
    fn files_of_one_cpu_count_no_cpus() {
        let found = found(&[
            ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "1500000\n"),
            ("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "2800000\n"),
            ("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,4\n"),
            ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
        ]);
        assert!(found.machine.cpus.is_empty());
        assert_eq!(found.machine.counts, Counts::default());
        assert_eq!(found.machine.processor.max_hz, Some(2_800_000_000));
        assert_eq!(found.snapshot.clocks[0].max_hz, Some(1_500_000_000));
        assert_eq!(found.snapshot.clocksource.as_deref(), Some("hpet"));
        assert!(found.machine.nodes.is_empty());
    }

    #[test]
    fn cpus_are_counted_where_all_of_them_are_listed() {
        let of = |id: u32, siblings: u32| {
            format!(
                "processor\t: {id}\nvendor_id\t: GenuineIntel\nphysical id\t: 0\nsiblings\t: {siblings}\ncore id\t: {id}\n\n"
            )
        };
        let whole = found(&[("/proc/cpuinfo", &(of(0, 2) + &of(1, 2)))]);
        assert_eq!(whole.machine.counts.cpus_online, Some(2));
        assert_eq!(whole.machine.counts.cores, Some(2));
        let cut = found(&[("/proc/cpuinfo", &(of(0, 16) + &of(1, 16)))]);
        assert_eq!(cut.machine.counts.cpus_online, None);
        let listed = found(&[("/sys/devices/system/cpu/online", "0-7")]);
        assert_eq!((listed.machine.counts.cpus_online, listed.machine.counts.cores), (Some(8), None));
    }

    #[test]
    fn the_group_that_a_text_quotes_is_the_one_it_is_about() {
        let stat = ("/sys/fs/cgroup/a/b/cpu.stat", "nr_periods 100\nnr_throttled 60\n");
        let found = found(&[("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n"), stat]);
        assert_eq!(found.machine.limits.cpu_quota, Some(0.5));
        assert_eq!((found.snapshot.quota_throttled, found.snapshot.quota_periods), (Some(60), Some(100)));
        assert_eq!(found.machine.virtualization.container, None);
        let beside = super::tests::found(&[
            ("/sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
            ("/sys/fs/cgroup/b/cpu.max", "10000 100000\n"),
        ]);
        assert_eq!(beside.machine.limits.cpu_quota, None, "it is unknown which group is meant");
    }
}
