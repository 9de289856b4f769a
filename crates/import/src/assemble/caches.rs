//! Caches whose sizes, number and CPUs are known.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use record::machine::Cache;
use record::{Coverage, CpuList, Machine};

use crate::facts::{CacheFact, CacheName, CacheRow, Facts, Lscpu, key};

/// Maximum number of caches of one kind.
const MOST: u32 = 8192;

/// Models with two last-level caches of different sizes.
const UNEVEN_MODELS: &[&str] = &["X3D", "Ryzen AI 9"];

/// A kind of cache, with its line size in bytes and its number of ways.
type Known = (CacheFact, Option<u32>, Option<u32>);

/// Fills [`Machine::caches`].
pub(super) fn fill(lscpu: &Lscpu, facts: &Facts, machine: &mut Machine, coverage: &mut Vec<Coverage>) {
    let shared = shared(facts);
    let (mut known, even) = table(lscpu, facts, &shared);
    for fact in &lscpu.caches {
        let fact = &fact.value;
        if !known.iter().any(|(known, ..)| known.cache == fact.cache) {
            known.push((fact.clone(), None, None));
        }
    }
    let name = machine.processor.model_name.as_deref().unwrap_or_default();
    let odd_model = UNEVEN_MODELS.iter().any(|model| name.contains(model));
    let several_kinds = !even
        || lscpu.kinds.len() > 1
        || some_cores_have_siblings(lscpu, machine)
        || !is_even(&known, machine);
    let mut unknown = false;
    let mut uneven = false;
    for (fact, _, ways) in &mut known {
        let of_kinds = several_kinds || fact.cache.0 > 2 && odd_model;
        if of_kinds && fact.instances.is_some_and(|count| count > 1) {
            (fact.bytes, *ways) = (None, None);
            uneven = true;
        }
    }
    let online: CpuList = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    for (fact, line, ways) in known {
        let lists = match shared.get(&fact.cache) {
            Some(lists) => lists.clone(),
            None => by_count(&fact, &online, machine.counts.cores),
        };
        unknown |= lists.iter().any(CpuList::is_empty) || fact.bytes.is_none();
        // A sum over an unknown number of caches is useless.
        if fact.bytes.is_some() || !lists.iter().all(CpuList::is_empty) {
            let (level, kind) = fact.cache;
            let cache = |cpus| Cache { level, kind, bytes: fact.bytes, line, ways, cpus };
            machine.caches.extend(lists.into_iter().map(cache));
        }
    }
    machine.caches.sort_by_key(|cache| (cache.level, cache.kind, cache.cpus.first()));
    if uneven {
        let reason = "there are several types of core or cache, and the text contains only total cache sizes";
        let remedy = "run linespeed on the machine: it reads the size of each cache";
        coverage.push(Coverage::degraded("caches", reason).with_remedy(remedy));
    } else if unknown {
        let reason = "the text contains neither the number of caches nor the CPUs that share them";
        let remedy = "also import the output of lscpu -e and lscpu -C";
        coverage.push(Coverage::degraded("caches", reason).with_remedy(remedy));
    }
}

/// Evaluates the rows of `lscpu -C`, which contain the size of the first cache and the total size. Returns the number of caches, assuming
/// that all have the size of the first one, and whether this assumption can be true.
fn table(lscpu: &Lscpu, facts: &Facts, shared: &Shared) -> (Vec<Known>, bool) {
    let mut known = Vec::new();
    let first = |row: &CacheRow| row.bytes.0?.one(row.cache.0, 1);
    let counts = |row: &CacheRow| Some(row.bytes.1?.counts(first(row)?));
    let single = |counts: &RangeInclusive<u32>| counts.start() == counts.end();
    let certain: Vec<u32> =
        facts.cache_rows.iter().filter_map(counts).filter(single).map(|counts| *counts.start()).collect();
    let (mut even, mut most) = (true, u32::MAX);
    for row in &facts.cache_rows {
        let cache = row.cache;
        let of_list = lscpu.caches.iter().map(|fact| &fact.value).find(|fact| fact.cache == cache);
        let listed = shared.get(&cache).and_then(|lists| u32::try_from(lists.len()).ok());
        let mut instances = listed.or(of_list.and_then(|fact| fact.instances));
        if let Some(counts) = counts(row) {
            // If several numbers of caches match a rounded sum, use one that is also the number of another kind of cache.
            let count = certain.iter().find(|count| counts.contains(count) && **count > 1);
            instances = instances.or(count.copied()).or(Some(*counts.start()).filter(|_| single(&counts)));
            // Caches of higher levels are shared by more cores, so there cannot be more of them than of lower levels.
            even &= instances.is_none_or(|count| counts.contains(&count))
                && *counts.start() <= most
                && !counts.is_empty();
            most = most.min(*counts.end());
        }
        let bytes = first(row).filter(|_| instances.is_some() || row.bytes.1.is_none());
        known.push((CacheFact { cache, bytes, instances }, row.line, row.ways));
    }
    (known, even)
}

/// Whether the number of CPUs shows that cores have different numbers of threads, and therefore that there are two kinds of core.
fn some_cores_have_siblings(lscpu: &Lscpu, machine: &Machine) -> bool {
    let [kind] = lscpu.kinds.as_slice() else { return false };
    let threads = kind.count(key::THREADS_PER_CORE).zip(machine.counts.cores);
    let all = threads.map(|(threads, cores)| threads.saturating_mul(cores));
    lscpu.machine.get(key::OFFLINE).is_none() && all.is_some() && all != machine.counts.cpus_present
}

/// Whether numbers and sizes are consistent with one kind of core: all caches of a kind belong to the same number of cores, and the size of
/// each is known unless there is only one.
fn is_even(known: &[Known], machine: &Machine) -> bool {
    let near = || known.iter().map(|(fact, ..)| fact).filter(|fact| fact.cache.0 <= 2);
    let sized = near().all(|fact| fact.bytes.is_some() || fact.instances.is_none_or(|count| count == 1));
    let counts = || near().filter_map(|fact| fact.instances).filter(|count| *count > 0);
    let most = machine.counts.cores.or_else(|| counts().max());
    sized && counts().all(|count| most.is_none_or(|most| count <= most && most % count == 0))
}

/// The CPUs of each cache, by level and kind.
type Shared = BTreeMap<CacheName, Vec<CpuList>>;

/// The CPUs that share each cache, from the rows of `lscpu -e` and `-p`.
fn shared(facts: &Facts) -> Shared {
    let mut by_number: BTreeMap<(CacheName, u32), CpuList> = BTreeMap::new();
    for row in facts.rows.iter().filter(|row| row.online) {
        for cache in &row.caches {
            by_number.entry(*cache).or_default().insert(row.cpu);
        }
    }
    let mut lists: BTreeMap<_, Vec<CpuList>> = BTreeMap::new();
    for ((cache, _), cpus) in by_number {
        lists.entry(cache).or_default().push(cpus);
    }
    lists
}

/// The CPUs of each cache, derived from the number of caches alone. A single cache belongs to all CPUs. If there are as many caches as
/// CPUs, each cache belongs to one CPU. Otherwise, the CPUs are unknown, and each cache has an empty list.
fn by_count(fact: &CacheFact, online: &CpuList, cores: Option<u32>) -> Vec<CpuList> {
    let single = |id: u32| [id].into_iter().collect::<CpuList>();
    match fact.instances {
        Some(1) => vec![online.clone()],
        Some(count) if count as usize == online.len() => online.iter().map(single).collect(),
        Some(count) if count <= MOST => vec![CpuList::new(); count as usize],
        // A machine with a single core has one cache of each kind.
        _ if cores == Some(1) => vec![online.clone()],
        _ => vec![CpuList::new()],
    }
}
