//! Caches with the CPUs that share them, from `/sys/devices/system/cpu/cpuN/cache/indexK`
//! (Documentation/ABI/testing/sysfs-devices-system-cpu of the kernel). Each cache is read once, at the first CPU
//! that shares it, and stands once in the machine.

use std::collections::{HashMap, HashSet};

use record::machine::{Cache, CacheKind, Cpu};
use record::{Coverage, CpuList, Machine, text};

use crate::cache_fields::{bytes, count, kind};
use crate::cpus::{CPUS, online_of};
use crate::notes::{Notes, shown};
use crate::platform_caches;
use crate::root::Root;

/// More caches than any CPU has: today four, or five with a cache on the memory side.
const MAX_INDEX: u32 = 15;
/// Deepest level believed; today's deepest is 4.
const MAX_LEVEL: u32 = 8;
/// Most ways believed; the most today are some hundred.
const MAX_WAYS: u32 = 65_536;

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
        // One further than any CPU before: cores of another kind may have one cache more.
        while let Some(end) = last
            && index <= (end + 1).min(MAX_INDEX)
        {
            if !known.contains(&(cpu, index))
                && let Some(cache) = reader.cache(cpu, index)
            {
                // A sharer numbers the same cache the same way, so it need not be read there again.
                known.extend(cache.cpus.iter().map(|sharer| (sharer, index)));
                last = Some(end.max(index));
                caches.push(cache);
            }
            index += 1;
        }
    }
    caches.extend(platform_caches::read(root, machine, &caches));
    caches.sort_by_key(|cache| (cache.level, cache.kind, cache.cpus.first()));
    if caches.is_empty() && !online.is_empty() {
        machine.notes.push(text!("{path}: no cache is described", path = format!("{CPUS}/cpu0/cache")));
        coverage
            .push(Coverage::impossible("caches", text!("the kernel describes no caches")).with_remedy(text!(
            "let the hypervisor expose the cache topology; the measured latency shows the levels in any case"
        )));
    }
    reader.notes.finish(&mut machine.notes);
    machine.caches = caches;
}

struct Reader<'a> {
    root: &'a Root,
    online: &'a CpuList,
    /// With their siblings.
    cpus: &'a [Cpu],
    notes: Notes,
    /// The CPUs that already have a cache of this level and kind.
    taken: HashMap<(u32, CacheKind), HashSet<u32>>,
    /// Ways by size, line and the ways told.
    ways: HashMap<(u64, u32, u32), u32>,
}

impl Reader<'_> {
    /// The cache `index` of `cpu`, with those sharers that have none of its level and kind yet.
    fn cache(&mut self, cpu: u32, index: u32) -> Option<Cache> {
        let folder = format!("{CPUS}/cpu{cpu}/cache/index{index}");
        let level = self.file(&folder, "level", |text| {
            text.parse::<u32>().ok().filter(|level| (1..=MAX_LEVEL).contains(level))
        })?;
        let kind = self.file(&folder, "type", kind)?;
        let cpus = self.sharers(cpu, &folder, level, kind)?;
        let bytes = self.file(&folder, "size", bytes).filter(|bytes| *bytes > 0);
        let line = self.file(&folder, "coherency_line_size", count).filter(|line| *line > 0);
        // 0 ways: the kernel does not know, or any line may lie anywhere.
        let ways = self.file(&folder, "ways_of_associativity", count).filter(|ways| *ways > 0);
        let ways = match (bytes, line, ways) {
            (Some(bytes), Some(line), Some(ways)) => Some(self.true_ways(&folder, (bytes, line, ways))),
            _ => ways,
        };
        Some(Cache { level, kind, bytes, line, ways, cpus })
    }

    /// The ways that size, line size and number of sets leave. Firmware may put a number into a field that is too
    /// narrow for it: Kunpeng 920's last level has 2,048 sets of 128 ways and tells 15.
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

    fn file<T>(&mut self, folder: &str, name: &'static str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let path = format!("{folder}/{name}");
        match self.root.try_text(&path) {
            Ok(text) => {
                let value = parse(&text);
                if value.is_none() {
                    self.notes.add(
                        name,
                        &path,
                        text!("{value} is not valid for a cache", value = shown(&text)),
                    );
                }
                value
            }
            Err(error) => {
                if !error.is_missing() {
                    self.notes.add(name, &path, error.why.to_string());
                }
                None
            }
        }
    }

    fn sharers(&mut self, cpu: u32, folder: &str, level: u32, kind: CacheKind) -> Option<CpuList> {
        let listed = self.file(folder, "shared_cpu_list", |text| text.parse::<CpuList>().ok());
        // A kernel writes both from one mask; in a captured tree they may contradict each other, and the list is the
        // younger file.
        let map = if listed.is_none() || !self.root.is_live() {
            self.file(folder, "shared_cpu_map", |text| CpuList::from_mask(text).ok())
        } else {
            None
        };
        let map = map.filter(|map| !map.is_empty());
        let path = format!("{folder}/shared_cpu_list");
        if let (Some(listed), Some(map)) = (&listed, &map)
            && listed != map
        {
            let what = text!("shared_cpu_map says CPUs {map}", map = map.to_string());
            self.notes.add("list and map", &path, what);
        }
        let mut cpus = match map.or(listed.filter(|list| !list.is_empty())) {
            Some(list) => list.intersection(self.online),
            None => {
                self.notes.add(
                    "sharers unknown",
                    &path,
                    text!("no sharing CPUs listed; assumed private to the core"),
                );
                let index = self.cpus.binary_search_by_key(&cpu, |cpu| cpu.id).ok();
                index
                    .and_then(|index| self.cpus.get(index))
                    .map(|cpu| cpu.siblings.clone())
                    .unwrap_or_default()
            }
        };
        if !cpus.contains(cpu) {
            if !cpus.is_empty() {
                self.notes.add(
                    "own CPU missing",
                    &path,
                    text!("CPU {cpu} is missing from its own list", cpu),
                );
            }
            cpus.insert(cpu);
        }
        let taken = self.taken.entry((level, kind)).or_default();
        let twice: CpuList = cpus.iter().filter(|cpu| taken.contains(cpu)).collect();
        if let Some(first) = twice.first() {
            let what = text!("CPU {cpu} would have two level {level} caches of one kind", cpu = first, level);
            self.notes.add("second cache", &path, what);
            cpus = cpus.difference(&twice);
        }
        taken.extend(cpus.iter());
        if cpus.is_empty() { None } else { Some(cpus) }
    }
}
