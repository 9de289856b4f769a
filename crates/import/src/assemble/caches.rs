//! Caches, as far as their sizes, their number and their CPUs are told.

use std::collections::BTreeMap;

use record::machine::Cache;
use record::{Coverage, CpuList, Machine};

use crate::facts::{CacheFact, Facts, Lscpu, parse_cache_name};

/// Most caches of one kind.
const MOST: u32 = 8192;

/// Fills [`Machine::caches`].
pub(super) fn fill(lscpu: &Lscpu, facts: &Facts, machine: &mut Machine, coverage: &mut Vec<Coverage>) {
    let mut unknown = false;
    let mut known: Vec<(CacheFact, Option<u32>, Option<u32>)> = Vec::new();
    for row in &facts.cache_rows {
        let Some((level, kind)) = parse_cache_name(&row.name) else { continue };
        let (one, all) = row.bytes;
        let instances = one
            .zip(all)
            .filter(|(one, all)| all % one == 0)
            .and_then(|(one, all)| u32::try_from(all / one).ok());
        known.push((CacheFact { level, kind, bytes: one, instances }, row.line, row.ways));
    }
    for fact in &lscpu.caches {
        let fact = &fact.value;
        if !known.iter().any(|(known, ..)| (known.level, known.kind) == (fact.level, fact.kind)) {
            known.push((fact.clone(), None, None));
        }
    }
    let shared = shared(facts);
    let online: CpuList = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    for (fact, line, ways) in known {
        let lists = match shared.get(&(fact.level, fact.kind)) {
            Some(lists) => lists.clone(),
            None => by_count(&fact, &online, machine.counts.cores),
        };
        unknown |= lists.iter().any(CpuList::is_empty) || fact.bytes.is_none();
        // Of a sum over an unknown number of caches nothing is left.
        if fact.bytes.is_some() || !lists.iter().all(CpuList::is_empty) {
            let cache =
                |cpus| Cache { level: fact.level, kind: fact.kind, bytes: fact.bytes, line, ways, cpus };
            machine.caches.extend(lists.into_iter().map(cache));
        }
    }
    machine.caches.sort_by_key(|cache| (cache.level, cache.kind, cache.cpus.first()));
    if unknown {
        let reason = "the outputs do not tell how many caches there are, or which CPUs share them";
        let remedy = "import the outputs of lscpu -e and lscpu -C too";
        coverage.push(Coverage::degraded("caches", reason).with_remedy(remedy));
    }
}

/// Which CPUs share each cache, as the rows of `lscpu -e` and `-p` tell.
fn shared(facts: &Facts) -> BTreeMap<(u32, record::machine::CacheKind), Vec<CpuList>> {
    let mut by_number: BTreeMap<(u32, record::machine::CacheKind, u32), CpuList> = BTreeMap::new();
    for row in facts.rows.iter().filter(|row| row.online) {
        for (name, number) in &row.caches {
            if let Some((level, kind)) = parse_cache_name(name) {
                by_number.entry((level, kind, *number)).or_default().insert(row.cpu);
            }
        }
    }
    let mut lists: BTreeMap<_, Vec<CpuList>> = BTreeMap::new();
    for ((level, kind, _), cpus) in by_number {
        lists.entry((level, kind)).or_default().push(cpus);
    }
    lists
}

/// What follows from the number of caches alone: one belongs to all CPUs, as many as CPUs belong to one each. Otherwise
/// the list is empty: not told.
fn by_count(fact: &CacheFact, online: &CpuList, cores: Option<u32>) -> Vec<CpuList> {
    let single = |id: u32| [id].into_iter().collect::<CpuList>();
    match fact.instances {
        Some(1) => vec![online.clone()],
        Some(count) if count as usize == online.len() => online.iter().map(single).collect(),
        Some(count) if count <= MOST => vec![CpuList::new(); count as usize],
        // A machine of one core has one of each.
        _ if cores == Some(1) => vec![online.clone()],
        _ => vec![CpuList::new()],
    }
}
