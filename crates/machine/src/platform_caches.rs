//! Caches that a kernel tells elsewhere than in `cpuN/cache`: s390's in `/proc/cpuinfo`, which alone has the shared ones
//! (`arch/s390/kernel/cache.c`), SPARC's in files of each CPU (`arch/sparc/kernel/sysfs.c`).

use record::machine::{Cache, CacheKind};
use record::{CpuList, Machine};

use crate::cache_fields::{bytes, count, kind};
use crate::cpus::{CPUS, online_of};
use crate::root::Root;

/// What SPARC's files begin with, and which cache that is.
const SPARC: [(&str, u32, CacheKind); 3] = [
    ("l1_dcache", 1, CacheKind::Data),
    ("l1_icache", 1, CacheKind::Instruction),
    ("l2_cache", 2, CacheKind::Unified),
];

/// The caches of levels and kinds of which `known` has none. Which CPUs share an s390's outer caches nobody tells: each such
/// level is one cache without CPUs.
pub(crate) fn read(root: &Root, machine: &Machine, known: &[Cache]) -> Vec<Cache> {
    let is_new = |cache: &Cache| !known.iter().any(|k| (k.level, k.kind) == (cache.level, cache.kind));
    let mut found = s390(root, machine);
    if found.is_empty() && known.is_empty() {
        found = sparc(root, machine);
    }
    found.retain(is_new);
    found
}

/// The cores, each as the list of its CPUs.
fn cores(machine: &Machine) -> Vec<CpuList> {
    let mut cores: Vec<CpuList> = machine.cpus.iter().map(|cpu| cpu.siblings.clone()).collect();
    cores.retain(|core| !core.is_empty());
    cores.sort_by_key(CpuList::first);
    cores.dedup();
    cores
}

fn s390(root: &Root, machine: &Machine) -> Vec<Cache> {
    // Elsewhere the kernel takes its time for a text that tells nothing of this.
    if root.is_live() && !cfg!(target_arch = "s390x") {
        return Vec::new();
    }
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    let cache = |line: &str| -> Option<Vec<Cache>> {
        let (key, fields) = line.strip_prefix("cache")?.split_once(':')?;
        key.trim().parse::<u32>().ok()?;
        let field = |name: &str| {
            let is_it = |field: &str| field.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
            fields.split_ascii_whitespace().find_map(is_it)
        };
        let cache = Cache {
            level: field("level")?.parse().ok().filter(|level| (1..=8).contains(level))?,
            kind: kind(&field("type")?)?,
            bytes: field("size").and_then(|size| bytes(&size)).filter(|bytes| *bytes > 0),
            line: field("line_size").and_then(|line| count(&line)).filter(|line| *line > 0),
            ways: field("associativity").and_then(|ways| count(&ways)).filter(|ways| *ways > 0),
            cpus: CpuList::new(),
        };
        Some(match field("scope")?.as_str() {
            "Private" => cores(machine).into_iter().map(|cpus| Cache { cpus, ..cache.clone() }).collect(),
            _ => vec![cache],
        })
    };
    cpuinfo.lines().filter_map(cache).take(8).flatten().collect()
}

fn sparc(root: &Root, machine: &Machine) -> Vec<Cache> {
    let mut found = Vec::new();
    // Where the first CPU has no such file, none has.
    let Some(first) = online_of(machine).first() else { return found };
    for (name, level, kind) in SPARC {
        if !root.exists(&format!("{CPUS}/cpu{first}/{name}_size")) {
            continue;
        }
        for cpus in cores(machine) {
            let cpu = cpus.first().unwrap_or_default();
            let file = |what: &str| root.text(&format!("{CPUS}/cpu{cpu}/{name}_{what}"));
            let bytes = file("size").and_then(|size| bytes(&size)).filter(|bytes| *bytes > 0);
            let line = file("line_size").and_then(|line| count(&line)).filter(|line| *line > 0);
            if bytes.is_some() {
                found.push(Cache { level, kind, bytes, line, ways: None, cpus });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;

    /// Level, kind, bytes, line, CPUs.
    type Read = (u32, CacheKind, Option<u64>, Option<u32>, String);

    fn caches(tree: Tree) -> Vec<Read> {
        let caches = crate::inspect(&tree.root()).machine.caches;
        caches.into_iter().map(|c| (c.level, c.kind, c.bytes, c.line, c.cpus.to_string())).collect()
    }

    #[test]
    fn an_s390_tells_its_caches_in_cpuinfo() {
        let tree = Tree::new()
            .file("sys/devices/system/cpu/online", "0-1\n")
            .file("sys/devices/system/cpu/cpu0/topology/thread_siblings", "00000001\n")
            .file("sys/devices/system/cpu/cpu1/topology/thread_siblings", "00000002\n")
            .file(
                "proc/cpuinfo",
                "vendor_id       : IBM/S390\n# processors    : 2\n\
                 cache0          : level=1 type=Data scope=Private size=128K line_size=256 associativity=8\n\
                 cache3          : level=3 type=Unified scope=Shared size=49152K line_size=256 associativity=12\n",
            );
        assert_eq!(
            caches(tree),
            [
                (1, CacheKind::Data, Some(128 << 10), Some(256), "0".to_owned()),
                (1, CacheKind::Data, Some(128 << 10), Some(256), "1".to_owned()),
                (3, CacheKind::Unified, Some(48 << 20), Some(256), String::new()),
            ]
        );
    }

    #[test]
    fn a_sparc_tells_its_caches_in_files_of_each_cpu() {
        let cpu = "sys/devices/system/cpu/cpu6";
        let tree = Tree::new()
            .file("sys/devices/system/cpu/online", "6\n")
            .file(&format!("{cpu}/topology/thread_siblings_list"), "6\n")
            .files(cpu, &[("l1_dcache_size", "16384\n"), ("l1_dcache_line_size", "32\n")])
            .files(cpu, &[("l2_cache_size", "4194304\n"), ("l2_cache_line_size", "64\n")]);
        assert_eq!(
            caches(tree),
            [
                (1, CacheKind::Data, Some(16 << 10), Some(32), "6".to_owned()),
                (2, CacheKind::Unified, Some(4 << 20), Some(64), "6".to_owned()),
            ]
        );
    }
}
