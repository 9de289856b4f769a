//! Several outputs of one tool: of one machine, or of two.

use record::import::{Contradiction, Origin};

use crate::error::{Clash, Error};
use crate::facts::{Fact, Lscpu, Numactl, architecture, contradict};

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

/// Refuses what numactl tells of two machines, and what it tells of another than lscpu does.
pub(super) fn numactl(outputs: &[Numactl], lscpu: &Lscpu) -> Result<(), Error> {
    let mut known: Option<&Fact<record::CpuList>> = None;
    for output in outputs {
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
