//! Merges several outputs of one tool, which may be from one machine or from two.

use machine::smbios::Populated;
use record::CpuList;
use record::import::{Contradiction, Origin, Withheld};

use crate::error::{Clash, Error};
use crate::facts::{CpuRow, Fact, Facts, Lscpu, Numactl, architecture, contradict, key};

/// Merges the outputs of lscpu: later outputs add to the first, or describe a later state. Two outputs that cannot be from the same machine
/// are refused.
pub(super) fn lscpu(outputs: &[Lscpu], contradictions: &mut Vec<Contradiction>) -> Result<Lscpu, Error> {
    let mut outputs = outputs.iter();
    let mut merged = outputs.next().cloned().unwrap_or_default();
    for next in outputs {
        let both = |key| (merged.machine.get(key), next.machine.get(key));
        same(both(key::ARCHITECTURE), |one, other| family(one) == family(other))?;
        for key in [key::CPUS, key::VENDOR, "hypervisor"] {
            same(both(key), String::eq)?;
        }
        for (one, other) in merged.kinds.iter().zip(&next.kinds) {
            let of_machine = [key::MODEL_NAME, "family", "model", "stepping", "min_mhz", "max_mhz"];
            for key in of_machine.into_iter().chain([key::SOCKETS, key::CORES_PER_SOCKET]) {
                same((one.get(key), other.get(key)), String::eq)?;
            }
        }
        for (one, other) in merged.caches.iter().zip(&next.caches) {
            same((Some(one), Some(other)), |one, other| one.cache != other.cache || one == other)?;
        }
        for (what, key) in
            [("NUMA nodes", key::NODES), ("CPUs online", key::ONLINE), ("CPUs offline", key::OFFLINE)]
        {
            let (one, other) = both(key);
            if let Some((one, other)) = one.zip(other).filter(|(one, other)| one.value != other.value) {
                let says = format!(
                    "lscpu shows {} and later {} for {what}; the record uses the later value",
                    one.value, other.value
                );
                contradictions.push(contradict(says, &one.origin, &other.origin));
            }
        }
        add(&mut merged, next.clone());
    }
    Ok(merged)
}

fn add(merged: &mut Lscpu, mut next: Lscpu) {
    // An architecture without a number of CPUs may have been printed by a package manager, and is less reliable.
    if merged.machine.get(key::ARCHITECTURE).is_some() && next.machine.get(key::CPUS).is_none() {
        next.machine.0.remove(key::ARCHITECTURE);
    }
    if next.machine.get(key::ONLINE).is_some() {
        // An output that lists online CPUs but no offline ones shows that no CPU is offline.
        merged.machine.0.remove(key::OFFLINE);
    }
    if next.machine.get(key::FLAGS).is_some() {
        merged.cut_flags = next.cut_flags;
    }
    merged.machine.0.extend(next.machine.0);
    if !next.kinds.is_empty() {
        merged.kinds = next.kinds;
    }
    if !next.caches.is_empty() {
        merged.caches = next.caches;
    }
    if !next.node_cpus.is_empty() {
        merged.node_cpus = next.node_cpus;
    }
    merged.vulnerabilities.extend(next.vulnerabilities);
}

/// The processor family of an architecture; processors of one family can run kernels and programs of several
/// architectures.
fn family(word: &str) -> &str {
    match architecture(word) {
        word if word.starts_with("armv") || word == "armhf" => "aarch64",
        word if word.starts_with('i') && word.ends_with("86") => "x86_64",
        word => word,
    }
}

/// Refuses two different values of something that occurs only once per machine.
fn same<T>(
    (one, other): (Option<&Fact<T>>, Option<&Fact<T>>),
    alike: impl Fn(&T, &T) -> bool,
) -> Result<(), Error> {
    match one.zip(other).filter(|(one, other)| !alike(&one.value, &other.value)) {
        Some((one, other)) => Err(several(&one.origin, &other.origin)),
        None => Ok(()),
    }
}

pub(super) fn several(one: &Origin, other: &Origin) -> Error {
    Error::SeveralMachines(Clash::Lines(Box::new([one.clone(), other.clone()])))
}

/// Refuses caches from `lscpu -C` that differ from those in lscpu's list.
pub(super) fn caches(facts: &Facts, lscpu: &Lscpu) -> Result<(), Error> {
    for row in &facts.cache_rows {
        let Some(all) = row.bytes.1 else { continue };
        let of_list = lscpu.caches.iter().find(|fact| fact.value.cache == row.cache);
        let Some((fact, bytes)) = of_list.and_then(|fact| Some((fact, fact.value.bytes?))) else { continue };
        if fact.value.instances.is_some_and(|count| !all.counts(bytes).contains(&count)) {
            return Err(several(&fact.origin, &row.origin));
        }
    }
    Ok(())
}

/// Refuses memory slots from two boards.
pub(super) fn slots(facts: &Facts) -> Result<(), Error> {
    for two in facts.slots.windows(2) {
        same((Some(&two[0]), Some(&two[1])), u32::eq)?;
    }
    for two in facts.populated.windows(2) {
        same((Some(&two[0]), Some(&two[1])), Populated::eq)?;
    }
    Ok(())
}

/// Why the rows of `lscpu -e` are ignored; `None` if no row is missing. `known` is the number of CPUs according to other outputs. Refuses
/// contradictory rows, and rows for CPUs that are not in lscpu's list.
pub(super) fn rows(facts: &Facts, lscpu: &Lscpu, known: usize) -> Result<Option<Withheld>, Error> {
    let Some(first) = facts.rows.first() else { return Ok(None) };
    let all: CpuList = facts.rows.iter().map(|row| row.cpu).collect();
    let mut found: std::collections::BTreeMap<u32, &CpuRow> = std::collections::BTreeMap::new();
    for row in &facts.rows {
        let before = *found.entry(row.cpu).or_insert(row);
        let places = [(before.socket, row.socket), (before.node, row.node), (before.core, row.core)];
        if places.iter().any(|(one, other)| one.is_some() && other.is_some() && one != other) {
            return Err(several(&before.origin, &row.origin));
        }
    }
    let online = lscpu.machine.cpus(key::ONLINE).zip(lscpu.machine.get(key::ONLINE));
    let offline = lscpu.machine.cpus(key::OFFLINE).unwrap_or_default();
    if let Some((_, fact)) = online.as_ref().filter(|(list, _)| !all.is_subset(&list.union(&offline))) {
        return Err(several(&fact.origin, &first.origin));
    }
    let shown: CpuList = facts.rows.iter().filter(|row| row.online).map(|row| row.cpu).collect();
    let is_whole = online.as_ref().is_some_and(|(list, _)| list.is_subset(&shown));
    let gap = all.iter().last().is_some_and(|last| last as usize >= all.len());
    let gap = gap && (facts.rows.iter().all(|row| row.of_all) || !all.contains(0));
    let reasons = [
        (online.is_some(), "rows are missing for some online CPUs"),
        (known > all.len(), "rows are missing: other outputs show more CPUs"),
        (facts.broken_row.is_some(), "a row is truncated; others may be missing"),
        (facts.rows.iter().all(|row| row.selected), "the command line may leave out rows"),
        (gap, "rows are missing: the CPU numbers have gaps"),
    ];
    let origin = facts.broken_row.as_ref().unwrap_or(&first.origin).clone();
    let why = reasons.into_iter().find(|(is_so, _)| *is_so && !is_whole);
    Ok(why.map(|(_, why)| Withheld { what: "machine.cpus".to_owned(), why: why.to_owned(), origin }))
}

/// Merges the outputs of numactl and numastat. Refuses contradictions between them and with lscpu.
pub(super) fn numactl(outputs: Vec<Numactl>, lscpu: &Lscpu) -> Result<Numactl, Error> {
    let mut merged = Numactl::default();
    for output in outputs {
        merged.available = output.available.or(merged.available);
        for (id, node) in output.nodes {
            let known = merged.nodes.entry(id).or_default();
            // numactl prints whole MB, and numastat prints hundredths of a MB.
            let sizes = (known.bytes.as_ref(), node.bytes.as_ref());
            same(sizes, |one, other| one.abs_diff(*other) <= 1 << 20)?;
            same((known.cpus.as_ref(), node.cpus.as_ref()), CpuList::eq)?;
            known.cpus = node.cpus.or(known.cpus.take());
            known.bytes = node.bytes.or(known.bytes.take());
            known.free = node.free.or(known.free.take());
        }
        if !output.distances.is_empty() {
            (merged.columns, merged.distances) = (output.columns, output.distances);
        }
    }
    let cpus: Option<Vec<&Fact<CpuList>>> = merged.nodes.values().map(|node| node.cpus.as_ref()).collect();
    let cpus = cpus.unwrap_or_default();
    let count: usize = cpus.iter().map(|cpus| cpus.value.len()).sum();
    let counted = lscpu.machine.count(key::CPUS).zip(lscpu.machine.get(key::CPUS));
    match (counted, cpus.first()) {
        (Some((counted, fact)), Some(first)) if count > counted as usize => {
            Err(several(&fact.origin, &first.origin))
        }
        _ => Ok(merged),
    }
}
