//! Several outputs of one tool: of one machine, or of two.

use std::collections::BTreeMap;

use record::CpuList;
use record::import::{Contradiction, Origin, Withheld};

use crate::error::{Clash, Error};
use crate::facts::{Fact, Facts, Lscpu, Numactl, architecture, contradict, parse_cache_name};

/// The outputs of lscpu as one: the later ones add to the first, or say how the machine was then. Two that cannot be of
/// the same machine are refused.
pub(super) fn lscpu(outputs: &[Lscpu], contradictions: &mut Vec<Contradiction>) -> Result<Lscpu, Error> {
    let mut outputs = outputs.iter();
    let mut merged = outputs.next().cloned().unwrap_or_default();
    for next in outputs {
        one_family(&merged.architecture, &next.architecture)?;
        same(&merged.cpus, &next.cpus)?;
        same(&merged.vendor, &next.vendor)?;
        for (one, other) in merged.kinds.iter().zip(&next.kinds) {
            same(&one.model_name, &other.model_name)?;
            same(&one.family, &other.family)?;
            same(&one.model, &other.model)?;
            same(&one.sockets, &other.sockets)?;
            same(&one.cores_per_socket, &other.cores_per_socket)?;
        }
        for (one, other) in merged.caches.iter().zip(&next.caches) {
            let is_one = (one.value.level, one.value.kind) == (other.value.level, other.value.kind);
            if is_one && one.value != other.value {
                return Err(several(&one.origin, &other.origin));
            }
        }
        let nodes = merged.nodes.as_ref().zip(next.nodes.as_ref());
        if let Some((one, other)) = nodes.filter(|(one, other)| one.value != other.value) {
            let says = format!(
                "lscpu tells {} NUMA nodes and later {}; the record follows the later output",
                one.value, other.value
            );
            contradictions.push(contradict(says, &one.origin, &other.origin));
        }
        for (what, one, other) in
            [("CPUs online", &merged.online, &next.online), ("CPUs offline", &merged.offline, &next.offline)]
        {
            if let (Some(one), Some(other)) = (one, other)
                && one.value != other.value
            {
                let says = format!(
                    "lscpu tells {what} in two ways: {} and later {}; the record follows the later output",
                    one.value, other.value
                );
                contradictions.push(contradict(says, &one.origin, &other.origin));
            }
        }
        add(&mut merged, next);
    }
    Ok(merged)
}

fn add(merged: &mut Lscpu, next: &Lscpu) {
    fn later<T: Clone>(mine: &mut Option<T>, other: &Option<T>) {
        if other.is_some() {
            mine.clone_from(other);
        }
    }
    // What a package manager is for tells less than the list that counts the CPUs.
    if merged.architecture.is_none() || next.cpus.is_some() {
        later(&mut merged.architecture, &next.architecture);
    }
    later(&mut merged.cpus, &next.cpus);
    if next.online.is_some() {
        // Who tells all CPUs online tells none offline.
        merged.offline = None;
    }
    later(&mut merged.online, &next.online);
    later(&mut merged.offline, &next.offline);
    later(&mut merged.nodes, &next.nodes);
    later(&mut merged.vendor, &next.vendor);
    if next.flags.is_some() {
        merged.glued_flags.clone_from(&next.glued_flags);
        merged.cut_flags = next.cut_flags;
    }
    later(&mut merged.flags, &next.flags);
    later(&mut merged.address_bits, &next.address_bits);
    later(&mut merged.hypervisor, &next.hypervisor);
    later(&mut merged.boost, &next.boost);
    later(&mut merged.current_hz, &next.current_hz);
    if !next.kinds.is_empty() {
        merged.kinds.clone_from(&next.kinds);
    }
    if !next.caches.is_empty() {
        merged.caches.clone_from(&next.caches);
    }
    if !next.node_cpus.is_empty() {
        merged.node_cpus.clone_from(&next.node_cpus);
    }
    merged.vulnerabilities.extend(next.vulnerabilities.clone());
}

/// As [`same`]; one processor runs kernels and programs of several architectures.
fn one_family(one: &Option<Fact<String>>, other: &Option<Fact<String>>) -> Result<(), Error> {
    let family = |fact: &Option<Fact<String>>| {
        let word = architecture(&fact.as_ref()?.value).to_owned();
        let is_arm = word.starts_with("armv") || word == "armhf";
        let is_x86 = word.starts_with('i') && word.ends_with("86");
        Some(if is_arm {
            "aarch64".to_owned()
        } else if is_x86 {
            "x86_64".to_owned()
        } else {
            word
        })
    };
    match (one, other) {
        (Some(one_fact), Some(other_fact)) if family(one) != family(other) => {
            Err(several(&one_fact.origin, &other_fact.origin))
        }
        _ => Ok(()),
    }
}

/// Two statements of what one machine can have only one of.
fn same<T: PartialEq>(one: &Option<Fact<T>>, other: &Option<Fact<T>>) -> Result<(), Error> {
    match (one, other) {
        (Some(one), Some(other)) if one.value != other.value => Err(several(&one.origin, &other.origin)),
        _ => Ok(()),
    }
}

fn several(one: &Origin, other: &Origin) -> Error {
    Error::SeveralMachines(Clash::Lines(Box::new([one.clone(), other.clone()])))
}

/// Refuses caches of `lscpu -C` that are others than the list's.
pub(super) fn caches(facts: &Facts, lscpu: &Lscpu) -> Result<(), Error> {
    for row in &facts.cache_rows {
        let (Some((level, kind)), Some(all)) = (parse_cache_name(&row.name), row.bytes.1) else { continue };
        let of_list = lscpu.caches.iter().find(|fact| (fact.value.level, fact.value.kind) == (level, kind));
        let Some((fact, bytes)) = of_list.and_then(|fact| Some((fact, fact.value.bytes?))) else { continue };
        if fact.value.instances.is_some_and(|count| !all.counts(bytes).contains(&count)) {
            return Err(several(&fact.origin, &row.origin));
        }
    }
    Ok(())
}

/// Refuses the memory slots of two boards.
pub(super) fn slots(facts: &Facts) -> Result<(), Error> {
    let other = facts.slots.windows(2).find(|two| two[0].value != two[1].value);
    other.map_or(Ok(()), |two| Err(several(&two[0].origin, &two[1].origin)))
}

/// Why the rows of `lscpu -e` are not followed: some are missing. Refuses rows of other CPUs than the list has.
pub(super) fn rows(facts: &Facts, lscpu: &Lscpu) -> Result<Option<Withheld>, Error> {
    let Some(first) = facts.rows.first() else { return Ok(None) };
    let all: CpuList = facts.rows.iter().map(|row| row.cpu).collect();
    let why = |why: &str, origin: &Origin| {
        Ok(Some(Withheld { what: "machine.cpus".to_owned(), why: why.to_owned(), origin: origin.clone() }))
    };
    if let Some(list) = &lscpu.online {
        let offline = lscpu.offline.as_ref().map(|list| list.value.clone()).unwrap_or_default();
        let online: CpuList = facts.rows.iter().filter(|row| row.online).map(|row| row.cpu).collect();
        if !all.is_subset(&list.value.union(&offline)) {
            return Err(several(&list.origin, &first.origin));
        }
        if !list.value.is_subset(&online) {
            return why("rows are missing: not all CPUs online have one", &first.origin);
        }
    }
    if let Some(broken) = &facts.broken_row {
        return why("a row is cut off, so others may be missing", broken);
    }
    let gap = all.iter().last().is_some_and(|last| last as usize >= all.len());
    if gap && (facts.rows.iter().all(|row| row.of_all) || !all.contains(0)) {
        return why("rows are missing: the CPUs' numbers have gaps", &first.origin);
    }
    Ok(None)
}

/// Refuses what numactl tells of two machines, and what it tells of another than lscpu does.
pub(super) fn numactl(outputs: &[Numactl], lscpu: &Lscpu) -> Result<(), Error> {
    let mut known: Option<&Fact<record::CpuList>> = None;
    let mut sizes: BTreeMap<u32, &Fact<u64>> = BTreeMap::new();
    for output in outputs {
        let printed = output.nodes.iter().filter_map(|(id, node)| Some((*id, node.bytes.as_ref()?)));
        for (id, bytes) in printed {
            let first = *sizes.entry(id).or_insert(bytes);
            // One tool prints whole MB, the other hundredths.
            if first.value.abs_diff(bytes.value) > 1 << 20 {
                return Err(several(&first.origin, &bytes.origin));
            }
        }
        let mut count = 0;
        for node in output.nodes.values() {
            count += node.cpus.as_ref().map_or(0, |cpus| cpus.value.len());
        }
        let Some(first) = output.nodes.values().find_map(|node| node.cpus.as_ref()) else { continue };
        if let Some(known) = known
            && known.value != first.value
        {
            return Err(several(&known.origin, &first.origin));
        }
        known = Some(first);
        let all_reported = output.nodes.values().all(|node| node.cpus.is_some());
        if let Some(cpus) = &lscpu.cpus
            && all_reported
            && count > cpus.value as usize
        {
            return Err(several(&cpus.origin, &first.origin));
        }
    }
    Ok(())
}
