//! Caches, each with the CPUs that share it, from `/sys/devices/system/cpu/cpuN/cache/indexK`
//! (Documentation/ABI/testing/sysfs-devices-system-cpu of the kernel). Each cache is read and listed once, from the
//! first of the CPUs that share it.

use std::collections::{HashMap, HashSet};

use record::machine::{Cache, CacheKind, Cpu};
use record::{Coverage, CpuList, Machine, text};

use crate::cpus::{CPUS, online_of};
use crate::notes::Notes;
use crate::root::Root;

/// Maximum cache index: current CPUs have four caches, or five with a memory-side cache.
const MAX_INDEX: u32 = 15;
/// Maximum plausible level; the current maximum is 4.
const MAX_LEVEL: u32 = 8;
/// Maximum plausible number of ways; the current maximum is about a hundred.
const MAX_WAYS: u32 = 65_536;

/// Maximum plausible size (1 TiB); the current maximum is about 1 GiB.
const MAX_BYTES: u64 = 1 << 40;

/// Fills [`Machine::caches`], in order of level, kind and lowest CPU.
pub(crate) fn read(root: &Root, machine: &mut Machine, coverage: &mut Vec<Coverage>) {
    let online = online_of(machine);
    let mut reader = Reader {
        root,
        online: &online,
        cpus: &machine.cpus,
        notes: Notes::default(),
        taken: HashMap::new(),
        ways: HashMap::new(),
    };
    let mut last = online
        .iter()
        .find_map(|cpu| root.numbered(&format!("{CPUS}/cpu{cpu}/cache"), "index").iter().next_back())
        .map(|index| index.min(MAX_INDEX));
    let mut caches: Vec<Cache> = Vec::new();
    let mut known: HashSet<(u32, u32)> = HashSet::new();
    for cpu in &online {
        let mut index = 0;
        // Try one index more than on previous CPUs, because cores of another kind may have an additional cache.
        while let Some(end) = last
            && index <= (end + 1).min(MAX_INDEX)
        {
            if !known.contains(&(cpu, index))
                && let Some(cache) = reader.cache(cpu, index)
            {
                // A CPU that shares a cache uses the same index for it, so it need not be read again.
                known.extend(cache.cpus.iter().map(|sharer| (sharer, index)));
                last = Some(end.max(index));
                caches.push(cache);
            }
            index += 1;
        }
    }
    caches.sort_by_key(|cache| (cache.level, cache.kind, cache.cpus.first()));
    if caches.is_empty() && !online.is_empty() {
        machine.notes.push(text!("{path}: no cache information", path = format!("{CPUS}/cpu0/cache")));
        coverage
            .push(Coverage::impossible("caches", text!("the kernel provides no cache information")).with_remedy(text!(
            "configure the hypervisor to expose the cache topology; the latency measurement detects the levels anyway"
        )));
    }
    reader.notes.finish(&mut machine.notes);
    machine.caches = caches;
}

struct Reader<'a> {
    root: &'a Root,
    online: &'a CpuList,
    /// The CPUs with their siblings.
    cpus: &'a [Cpu],
    notes: Notes,
    /// The CPUs that already have a cache of this level and kind.
    taken: HashMap<(u32, CacheKind), HashSet<u32>>,
    /// The actual number of ways of each kind of cache, by its size, line size and reported number of ways.
    ways: HashMap<(u64, u32, u32), u32>,
}

impl Reader<'_> {
    /// The cache with this index in the directory of `cpu`, and all CPUs that share it and do not yet have a cache of
    /// this level and kind.
    fn cache(&mut self, cpu: u32, index: u32) -> Option<Cache> {
        let folder = format!("{CPUS}/cpu{cpu}/cache/index{index}");
        let level = self.file(&folder, "level", |text| {
            text.parse::<u32>().ok().filter(|level| (1..=MAX_LEVEL).contains(level))
        })?;
        let kind = self.file(&folder, "type", kind)?;
        let cpus = self.sharers(cpu, &folder, level, kind)?;
        let bytes = self.file(&folder, "size", bytes).filter(|bytes| *bytes > 0);
        let line = self.file(&folder, "coherency_line_size", count).filter(|line| *line > 0);
        // 0 ways means that the kernel does not know the number, or that the cache is fully associative.
        let ways = self.file(&folder, "ways_of_associativity", count).filter(|ways| *ways > 0);
        let ways = match (bytes, line, ways) {
            (Some(bytes), Some(line), Some(ways)) => Some(self.true_ways(&folder, (bytes, line, ways))),
            _ => ways,
        };
        Some(Cache { level, kind, bytes, line, ways, cpus })
    }

    /// The number of ways, computed from the size, the line size and the number of sets. The firmware's field may be
    /// too small for the actual number: the last level of Kunpeng 920 has 2,048 sets of 128 ways but reports 15.
    fn true_ways(&mut self, folder: &str, shape: (u64, u32, u32)) -> u32 {
        if let Some(known) = self.ways.get(&shape) {
            return *known;
        }
        let (bytes, line, reported) = shape;
        let sets = self.root.number::<u32>(&format!("{folder}/number_of_sets")).unwrap_or(0);
        let sectors =
            self.root.number::<u32>(&format!("{folder}/physical_line_partition")).unwrap_or(1).max(1);
        let one_way = u64::from(sets).saturating_mul(u64::from(line)).saturating_mul(u64::from(sectors));
        let ways = match bytes.checked_div(one_way).and_then(|ways| u32::try_from(ways).ok()) {
            Some(ways) if ways > reported && ways <= MAX_WAYS && bytes % one_way == 0 => ways,
            _ => reported,
        };
        self.ways.insert(shape, ways);
        ways
    }

    fn file<T>(&mut self, folder: &str, name: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.notes.read(self.root, &format!("{folder}/{name}"), parse)
    }

    fn sharers(&mut self, cpu: u32, folder: &str, level: u32, kind: CacheKind) -> Option<CpuList> {
        let path = format!("{folder}/shared_cpu_list");
        let listed = self.notes.list(self.root, &path);
        let mut cpus = match listed.filter(|list| !list.is_empty()) {
            Some(list) => list.intersection(self.online),
            None => {
                self.notes.add("lists no sharing CPUs; the cache is assumed private to the core", &path);
                let index = self.cpus.binary_search_by_key(&cpu, |cpu| cpu.id).ok();
                index
                    .and_then(|index| self.cpus.get(index))
                    .map(|cpu| cpu.siblings.clone())
                    .unwrap_or_default()
            }
        };
        if !cpus.contains(cpu) {
            if !cpus.is_empty() {
                self.notes.add("does not list its own CPU", &path);
            }
            cpus.insert(cpu);
        }
        let taken = self.taken.entry((level, kind)).or_default();
        let twice: CpuList = cpus.iter().filter(|cpu| taken.contains(cpu)).collect();
        if !twice.is_empty() {
            self.notes.add("lists CPUs that already have a cache of this level and type", &path);
            cpus = cpus.difference(&twice);
        }
        taken.extend(cpus.iter());
        if cpus.is_empty() { None } else { Some(cpus) }
    }
}

/// What a cache contains: data, instructions or both.
fn kind(text: &str) -> Option<CacheKind> {
    match text {
        "Data" => Some(CacheKind::Data),
        "Instruction" => Some(CacheKind::Instruction),
        "Unified" => Some(CacheKind::Unified),
        _ => None,
    }
}

/// Parses a size in the kernel's format, such as `48K`; `M` and `G` are also accepted.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale: u64 = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(scale).filter(|bytes| *bytes <= MAX_BYTES)
}

/// Parses a line size or a number of ways.
fn count(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number <= 65_536)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_read_as_the_kernel_writes_them_and_no_absurd_ones() {
        assert_eq!(bytes("48K"), Some(48 << 10));
        assert_eq!(bytes("1M"), Some(1 << 20));
        assert_eq!(bytes("0"), Some(0));
        for absurd in ["-32K", "99999999999999K", "99999999999999999999K", "K", "", "32KB", "0x20K", "3 2K"] {
            assert_eq!(bytes(absurd), None, "{absurd:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,20}|-?[0-9]{0,25}[KMGé]{0,2}") {
            prop_assert!(bytes(&text).is_none_or(|bytes| bytes <= MAX_BYTES));
            prop_assert!(count(&text).is_none_or(|count| count <= 65_536));
            let _ = kind(&text);
        }
    }
}
