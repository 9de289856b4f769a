//! A record into a plan: how to lay a program out on that machine, and what it should give. Pure functions.

mod advice;
mod costs;
mod gains;
mod ground;
mod layout;
mod numbering;
mod pastes;
mod siblings;
pub mod verified;

use record::plan::{CacheDomains, Plan, Policy, Process, Purpose, Siblings};
use record::units::{bytes, figure, significant};
use record::{CpuList, Handover, Record};

use crate::figures::{evidence, middle};
use crate::reading::Reading;
use costs::Costs;
use ground::Ground;
use numbering::Numbering;
pub use pastes::TOOLS;

/// What is asked of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wish {
    /// So many processes; without: one a node.
    pub processes: Option<u32>,
    /// So many threads in each; without: one for each of its CPUs or cores.
    pub threads: Option<u32>,
    /// What it is to be good for.
    pub purpose: Purpose,
    /// The CPUs to stay on; without: all that may be used.
    pub cpus: Option<CpuList>,
}

/// The plan; `Err` with a sentence when the record has too little of its machine, or what is wished for cannot be had.
pub fn plan(record: &Record, wish: &Wish) -> Result<Plan, String> {
    of_reading(&Reading::new(record), wish)
}

fn of_reading(reading: &Reading, wish: &Wish) -> Result<Plan, String> {
    let record = reading.record;
    let costs = Costs::of(reading);
    let mut ground = ground::survey(record, &costs, wish.cpus.as_ref())?;
    let kept =
        if wish.purpose == Purpose::Latency { advice::keep_cores(&mut ground) } else { CpuList::new() };
    ground.narrowed = wish.cpus.is_some() || !kept.is_empty();
    let siblings = siblings::choose(reading, &ground, wish.purpose);
    let use_them = siblings.as_ref().is_none_or(|siblings| siblings.used);
    let layout = layout::lay_out(&ground, &costs, wish, use_them)?;
    // Times of an emulator say nothing of what nodes cost.
    let emulated = record.machine.virtualization.emulated == Some(true);
    let gains = if emulated { Vec::new() } else { gains::gains(&ground, &costs, &layout.processes) };
    let mut plan = Plan {
        purpose: wish.purpose,
        nodes: u32::try_from(ground.seats.len()).unwrap_or(u32::MAX),
        caches: caches(reading, &ground, &layout.processes),
        advice: [
            advice::memory(&ground, &layout.processes),
            advice::huge_pages(reading),
            advice::interrupts(record, &ground, wish.purpose, &kept),
        ]
        .into_iter()
        .flatten()
        .collect(),
        pastes: pastes::pastes(&ground, &layout.processes, &kept),
        cautions: cautions(record, &ground, wish, !gains.is_empty()),
        unknown: unknown(reading, &ground, &costs, siblings.as_ref()),
        siblings,
        gains,
        ..Plan::default()
    };
    if layout.by_quota {
        let quota = significant(ground.quota.unwrap_or(0.0));
        plan.cautions.insert(
            0,
            format!("A cgroup allows {quota} CPUs' worth of time: more threads than that would only be stopped in turn."),
        );
    }
    plan.cautions.extend(siblings_not_told(&ground, &layout.processes));
    plan.cautions.extend(layout.cautions);
    plan.processes = layout.processes;
    plan.summary = summary(&plan, &ground, wish);
    Ok(plan)
}

/// The plan that nobody asked for in particular, of a machine of several nodes; on one node there is little to tell.
pub fn of_nodes(reading: &Reading) -> Option<Plan> {
    let machine = &reading.record.machine;
    let several = machine.nodes.len() > 1 || machine.counts.nodes.is_some_and(|nodes| nodes > 1);
    let made = if several { of_reading(reading, &Wish::default()).ok() } else { None };
    made.filter(|made| made.nodes > 1)
}

/// Small numbers in words, as sentences begin.
fn number(count: usize) -> String {
    const WORDS: [&str; 13] = [
        "No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven",
        "Twelve",
    ];
    WORDS.get(count).map_or_else(|| count.to_string(), |word| (*word).to_owned())
}

fn summary(plan: &Plan, ground: &Ground, wish: &Wish) -> String {
    let count = plan.processes.len();
    let threads = |process: &Process| match process.threads {
        Some(1) => "1 thread".to_owned(),
        Some(threads) => format!("{threads} threads"),
        None => "as many threads as its node has CPUs".to_owned(),
    };
    let first = plan.processes.first();
    let each = first.map(threads).unwrap_or_default();
    let even = plan.processes.iter().all(|process| process.threads == first.and_then(|first| first.threads));
    let each = if even { each } else { "a thread for each of its CPUs".to_owned() };
    if count == 1 {
        let process = match first {
            Some(process) if plan.nodes > 1 && process.nodes.len() == 1 => {
                format!("One process on node {} with {each} and that node's memory", process.nodes)
            }
            Some(process) if process.policy == Policy::Interleave => {
                format!("One process with {each} over {} nodes, its memory interleaved", plan.nodes)
            }
            _ => format!("One process with {each}"),
        };
        let why = match (plan.nodes, wish.processes) {
            (1, _) if plan.pastes.is_empty() => {
                ": there is one node, so binding gains nothing; the kernel places the threads."
            }
            (1, _) => ": there is one node, so nothing is gained by nodes.",
            _ => ".",
        };
        return format!("{process}{why}");
    }
    let place = if plan.nodes < 2 {
        format!("{} processes with {each} each, on CPUs of their own", number(count))
    } else if plan.processes.iter().all(|process| process.nodes.len() == 1) && count == plan.nodes as usize {
        format!("{} processes, one a node, each with {each} and its node's memory", number(count))
    } else if plan.processes.iter().all(|process| process.nodes.len() == 1) {
        format!(
            "{} processes with {each} each on {} nodes, each within one node and with its memory",
            number(count),
            ground.seats.len()
        )
    } else {
        format!("{} processes with {each} each, each on nodes that are near each other", number(count))
    };
    let most = plan.gains.iter().max_by(|a, b| a.factor.total_cmp(&b.factor));
    let gain = match most {
        Some(gain) => format!(
            ": a program that {} does up to {} times the work of one that ignores nodes; one that computes in its caches \
             gains nothing.",
            gain.program,
            significant(gain.factor)
        ),
        None if plan.nodes < 2 => ". There is one node, so nothing is gained by nodes.".to_owned(),
        None => ".".to_owned(),
    };
    format!("{place}{gain}")
}

/// Several last-level caches on a node, and what a line costs within and across them.
fn caches(reading: &Reading, ground: &Ground, processes: &[Process]) -> Option<CacheDomains> {
    let domains: Vec<CpuList> = ground.seats.iter().flat_map(|seat| seat.domains.iter().cloned()).collect();
    if domains.is_empty() {
        return None;
    }
    let of_cpu: std::collections::HashMap<u64, usize> = domains
        .iter()
        .enumerate()
        .flat_map(|(at, list)| list.iter().map(move |cpu| (u64::from(cpu), at)))
        .collect();
    let node_of: std::collections::HashMap<u64, u32> = ground
        .seats
        .iter()
        .flat_map(|seat| seat.cores.iter().flatten().map(move |cpu| (u64::from(*cpu), seat.node)))
        .collect();
    // Both of one way of handing over.
    let how = Handover::chief(reading.of("core_to_core.latency"));
    let pairs = |same: bool| {
        let of = |key: &'static str| move |m: &&record::Measurement| m.place.count(key);
        middle(reading.of("core_to_core.latency").filter(|m| {
            let (Some(a), Some(b)) = (of("from")(m), of("to")(m)) else { return false };
            let (Some(x), Some(y)) = (of_cpu.get(&a), of_cpu.get(&b)) else { return false };
            m.value() > 0.0
                && Handover::of(m) == how
                && (x == y) == same
                && node_of.get(&a) == node_of.get(&b)
        }))
    };
    let level = ground.last_level;
    let per_node = ground.seats.iter().map(|seat| seat.domains.len()).max().unwrap_or(0);
    let mut caches = CacheDomains { level, domains: domains.clone(), ..CacheDomains::default() };
    let aligned = processes.iter().all(|process| {
        !process.cpus.is_empty() && domains.iter().any(|domain| process.cpus.is_subset(domain))
    });
    caches.says = if aligned {
        format!("Each process lies within one L{level} cache.")
    } else {
        format!(
            "A node has up to {per_node} L{level} caches. Threads that share data are faster within one of them: \
             --processes {} gives each process one.",
            domains.len()
        )
    };
    if let (Some(within), Some(across)) = (pairs(true), pairs(false)) {
        caches.says.push_str(&format!(
            " A cache line goes from core to core in {} within one and in {} from one to another.",
            figure(within.value(), "ns"),
            figure(across.value(), "ns")
        ));
        caches.evidence.push(evidence(within, "within one cache:"));
        caches.evidence.push(evidence(across, "from one cache to another:"));
    }
    Some(caches)
}

fn cautions(record: &Record, ground: &Ground, wish: &Wish, gains: bool) -> Vec<String> {
    let mut all = Vec::new();
    if record.machine.virtualization.emulated == Some(true) {
        all.push("This machine is emulated: its times are no speeds, so no gain is told.".to_owned());
    }
    if ground.assumed {
        all.push(
            "The record tells no nodes: one a package is assumed. See numactl -H, since packages may have several or \
             firmware may hide them."
                .to_owned(),
        );
    }
    if !ground.forbidden.is_empty() {
        all.push(format!(
            "CPUs {} are left out: this process may not use them (cpuset or affinity).",
            ground.forbidden
        ));
    }
    if !ground.isolated.is_empty() {
        all.push(format!(
            "CPUs {} are isolated at boot and left out: threads bound to several of them are not spread by the kernel. Bind \
             single threads to single ones.",
            ground.isolated
        ));
    }
    if ground.all_isolated {
        all.push(
            "Isolated CPUs are among these: the kernel does not spread threads over them; bind each thread to one."
                .to_owned(),
        );
    }
    if !ground.offline.is_empty() {
        all.push(match ground.offline.len() {
            1 => format!("CPU {} is offline and left out.", ground.offline),
            _ => format!("CPUs {} are offline and left out.", ground.offline),
        });
    }
    for (node, size) in &ground.memory_only {
        let size = size.map_or(String::new(), |size| format!(" ({})", bytes(size)));
        all.push(format!(
            "Node {node} has memory{size} and no usable CPU: bound processes do not use it. Add it to --membind where \
             capacity counts more than latency."
        ));
    }
    for node in &ground.without_memory {
        let memory = ground.seats.iter().find(|seat| seat.node == *node).map_or(0, |seat| seat.memory);
        all.push(format!(
            "Node {node} has CPUs and no usable memory: its process takes the nearest, of node {memory}."
        ));
    }
    if let [(fast, fast_cpus), rest @ ..] = ground.kinds.as_slice()
        && !rest.is_empty()
    {
        let others: Vec<String> =
            rest.iter().map(|(kind, cpus)| format!("{kind} cores on CPUs {cpus}")).collect();
        all.push(format!(
            "Cores are not alike: {fast} cores on CPUs {fast_cpus}, {}. Hand work out in small pieces rather than in equal \
             parts; for even answers stay on the fast ones: --cpus {fast_cpus}.",
            others.join(", ")
        ));
    }
    if gains && record.conditions.before.numa_balancing.is_some_and(|setting| setting > 0) {
        all.push(
            "Automatic NUMA balancing is on: it moves pages to their users in time, so a program that ignores nodes may \
             lose less than the model says."
                .to_owned(),
        );
    }
    if wish.purpose == Purpose::Latency && ground.cpus_known && !ground.narrowed {
        all.push(format!(
            "There are too few cores to keep one of each node for interrupts ({} are needed).",
            advice::CORES_TO_SPARE_ONE
        ));
    }
    all
}

/// That siblings are assumed or unknown, where that matters.
fn siblings_not_told(ground: &Ground, processes: &[Process]) -> Option<String> {
    // Whole nodes have all of their cores' CPUs, whichever those are.
    let whole = !ground.narrowed && processes.iter().all(|process| process.whole_nodes);
    if whole && ground.numbering == Numbering::Unknown {
        return None;
    }
    ground.numbering.says(ground.cpus().first()?)
}

/// What is not known, and how to find it out.
fn unknown(reading: &Reading, ground: &Ground, costs: &Costs, siblings: Option<&Siblings>) -> Vec<String> {
    let mut all = Vec::new();
    let several = ground.seats.len() + ground.memory.len() > 2;
    if several && costs.latency.is_none() && costs.bandwidth.is_none() {
        all.push(
            "What other nodes' memory costs was not measured, so no gain can be told: linespeed run numa."
                .to_owned(),
        );
    }
    if !ground.cpus_known {
        all.push("Which CPUs each node has is not told: on the machine, numactl -H or lscpu.".to_owned());
    }
    if siblings.is_some_and(|siblings| !siblings.measured) {
        all.push("What siblings are worth was not measured: linespeed run smt-yield.".to_owned());
    }
    if reading.of("load.latency").next().is_none() && reading.record.import.is_none() {
        all.push("What huge pages are worth was not measured: linespeed run latency.".to_owned());
    }
    all
}

#[cfg(test)]
mod tests;
