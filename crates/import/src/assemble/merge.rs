//! Several outputs of one tool: of one machine, or of two.

use record::import::{Contradiction, Origin};

use crate::error::{Clash, Error};
use crate::facts::{Fact, Lscpu, Numactl, contradict};

/// The outputs of lscpu as one: the later ones add to the first, or say how the machine was then. Two that cannot be of
/// the same machine are refused.
pub(super) fn lscpu(outputs: &[Lscpu], contradictions: &mut Vec<Contradiction>) -> Result<Lscpu, Error> {
    let mut outputs = outputs.iter();
    let mut merged = outputs.next().cloned().unwrap_or_default();
    for next in outputs {
        same(&merged.architecture, &next.architecture)?;
        same(&merged.cpus, &next.cpus)?;
        same(&merged.vendor, &next.vendor)?;
        for (one, other) in merged.kinds.iter().zip(&next.kinds) {
            same(&one.model_name, &other.model_name)?;
            same(&one.family, &other.family)?;
            same(&one.model, &other.model)?;
            same(&one.sockets, &other.sockets)?;
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
    later(&mut merged.architecture, &next.architecture);
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
