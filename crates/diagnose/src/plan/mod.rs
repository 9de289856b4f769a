//! A record into a plan: how to lay a program out on that machine, and what it should give. Pure functions.

mod advice;
mod available_resources;
mod costs;
mod error;
mod gains;
mod layout;
mod numbering;
mod siblings;
mod snippets;
mod verified;

use record::Label;
use record::plan::{CacheDomains, Plan, Policy, Process, Purpose, Siblings};
use record::units::{bytes, figure, significant};
use record::{CpuList, Handover, Record};

use crate::figures::{evidence, middle};
use crate::record_index::RecordIndex;
use available_resources::AvailableResources;
use costs::Costs;
pub use error::PlanError;
use numbering::Numbering;
pub use snippets::TOOLS;
pub use verified::judge_verification;

/// What is asked of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanRequest {
    /// So many processes; without: one a node.
    pub processes: Option<u32>,
    /// So many threads in each; without: one for each of its CPUs or cores.
    pub threads: Option<u32>,
    /// What it is to be good for.
    pub purpose: Purpose,
    /// The CPUs to stay on; without: all that may be used.
    pub cpus: Option<CpuList>,
}

/// The plan; `Err` when the record has too little of its machine, or what is wished for cannot be had.
pub fn plan(record: &Record, request: &PlanRequest) -> Result<Plan, PlanError> {
    plan_of(&RecordIndex::new(record), request)
}

fn plan_of(index: &RecordIndex, request: &PlanRequest) -> Result<Plan, PlanError> {
    let record = index.record;
    let costs = Costs::from_index(index);
    let mut available = available_resources::survey(record, &costs, request.cpus.as_ref())?;
    let reserved = if request.purpose == Purpose::Latency {
        advice::reserve_cores(&mut available)
    } else {
        CpuList::new()
    };
    available.narrowed = request.cpus.is_some() || !reserved.is_empty();
    let siblings = siblings::choose(index, &available, request.purpose);
    let use_them = siblings.as_ref().is_none_or(|siblings| siblings.used);
    let layout = layout::lay_out(&available, &costs, request, use_them)?;
    // Times of an emulator say nothing of what nodes cost.
    let emulated = record.machine.virtualization.emulated == Some(true);
    let gains = if emulated { Vec::new() } else { gains::gains(&available, &costs, &layout.processes) };
    let mut plan = Plan {
        purpose: request.purpose,
        nodes: u32::try_from(available.seats.len()).unwrap_or(u32::MAX),
        caches: caches(index, &available, &layout.processes),
        advice: [
            advice::memory(&available, &layout.processes),
            advice::huge_pages(index),
            advice::interrupts(record, &available, request.purpose, &reserved),
        ]
        .into_iter()
        .flatten()
        .collect(),
        snippets: snippets::write_snippets(&available, &layout.processes, &reserved),
        cautions: cautions(record, &available, request, !gains.is_empty())
            .into_iter()
            .map(Into::into)
            .collect(),
        unknown: unknown(index, &available, &costs, siblings.as_ref()).into_iter().map(Into::into).collect(),
        siblings,
        gains,
        ..Plan::default()
    };
    if layout.by_quota {
        let quota = significant(available.quota.unwrap_or(0.0));
        plan.cautions.insert(
            0,
            format!("A cgroup allows {quota} CPUs' worth of time: more threads than that would only be stopped in turn.").into(),
        );
    }
    plan.cautions.extend(siblings_not_reported(&available, &layout.processes).map(Into::into));
    plan.cautions.extend(layout.cautions.into_iter().map(Into::into));
    plan.processes = layout.processes;
    plan.summary = summary(&plan, &available, request).into();
    Ok(plan)
}

/// The plan that nobody asked for in particular, of a machine of several nodes; on one node there is little to tell.
pub fn plan_nodes(index: &RecordIndex) -> Option<Plan> {
    let machine = &index.record.machine;
    let several = machine.nodes.len() > 1 || machine.counts.nodes.is_some_and(|nodes| nodes > 1);
    let made = if several { plan_of(index, &PlanRequest::default()).ok() } else { None };
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

fn summary(plan: &Plan, available: &AvailableResources, request: &PlanRequest) -> String {
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
        let why = match (plan.nodes, request.processes) {
            (1, _) if plan.snippets.is_empty() => {
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
            available.seats.len()
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
fn caches(
    index: &RecordIndex,
    available: &AvailableResources,
    processes: &[Process],
) -> Option<CacheDomains> {
    let domains: Vec<CpuList> =
        available.seats.iter().flat_map(|seat| seat.domains.iter().cloned()).collect();
    if domains.is_empty() {
        return None;
    }
    let of_cpu: std::collections::HashMap<u64, usize> = domains
        .iter()
        .enumerate()
        .flat_map(|(at, list)| list.iter().map(move |cpu| (u64::from(cpu), at)))
        .collect();
    let node_of: std::collections::HashMap<u64, u32> = available
        .seats
        .iter()
        .flat_map(|seat| seat.cores.iter().flatten().map(move |cpu| (u64::from(*cpu), seat.node)))
        .collect();
    // Both of one way of handing over.
    let how = Handover::chief(index.figures_of("core_to_core.latency"));
    let pairs = |same: bool| {
        let of = |key: Label| move |m: &&record::Measurement| m.labels.count(key);
        middle(index.figures_of("core_to_core.latency").filter(|m| {
            let (Some(a), Some(b)) = (of(Label::From)(m), of(Label::To)(m)) else { return false };
            let (Some(x), Some(y)) = (of_cpu.get(&a), of_cpu.get(&b)) else { return false };
            m.value() > 0.0
                && Handover::of_measurement(m) == how
                && (x == y) == same
                && node_of.get(&a) == node_of.get(&b)
        }))
    };
    let level = available.last_level;
    let per_node = available.seats.iter().map(|seat| seat.domains.len()).max().unwrap_or(0);
    let mut caches = CacheDomains { level, domains: domains.clone(), ..CacheDomains::default() };
    let aligned = processes.iter().all(|process| {
        !process.cpus.is_empty() && domains.iter().any(|domain| process.cpus.is_subset(domain))
    });
    caches.says = if aligned {
        format!("Each process lies within one L{level} cache.").into()
    } else {
        format!(
            "A node has up to {per_node} L{level} caches. Threads that share data are faster within one of them: \
             --processes {} gives each process one.",
            domains.len()
        ).into()
    };
    if let (Some(within), Some(across)) = (pairs(true), pairs(false)) {
        caches.says.push(format!(
            "A cache line goes from core to core in {} within one and in {} from one to another.",
            figure(within.value(), "ns"),
            figure(across.value(), "ns")
        ));
        caches.evidence.push(evidence(within, "within one cache:"));
        caches.evidence.push(evidence(across, "from one cache to another:"));
    }
    Some(caches)
}

fn cautions(
    record: &Record,
    available: &AvailableResources,
    request: &PlanRequest,
    gains: bool,
) -> Vec<String> {
    let mut all = Vec::new();
    if record.machine.virtualization.emulated == Some(true) {
        all.push("This machine is emulated: its times are no speeds, so no gain is told.".to_owned());
    }
    if available.assumed {
        all.push(
            "The record tells no nodes: one a package is assumed. See numactl -H, since packages may have several or \
             firmware may hide them."
                .to_owned(),
        );
    }
    if !available.forbidden.is_empty() {
        all.push(format!(
            "CPUs {} are left out: this process may not use them (cpuset or affinity).",
            available.forbidden
        ));
    }
    if !available.isolated.is_empty() {
        all.push(format!(
            "CPUs {} are isolated at boot and left out: threads bound to several of them are not spread by the kernel. Bind \
             single threads to single ones.",
            available.isolated
        ));
    }
    if available.all_isolated {
        all.push(
            "Isolated CPUs are among these: the kernel does not spread threads over them; bind each thread to one."
                .to_owned(),
        );
    }
    if !available.offline.is_empty() {
        all.push(match available.offline.len() {
            1 => format!("CPU {} is offline and left out.", available.offline),
            _ => format!("CPUs {} are offline and left out.", available.offline),
        });
    }
    for (node, size) in &available.memory_only {
        let size = size.map_or(String::new(), |size| format!(" ({})", bytes(size)));
        all.push(format!(
            "Node {node} has memory{size} and no usable CPU: bound processes do not use it. Add it to --membind where \
             capacity counts more than latency."
        ));
    }
    for node in &available.without_memory {
        let memory = available.seats.iter().find(|seat| seat.node == *node).map_or(0, |seat| seat.memory);
        all.push(format!(
            "Node {node} has CPUs and no usable memory: its process takes the nearest, of node {memory}."
        ));
    }
    if let [(fast, fast_cpus), rest @ ..] = available.kinds.as_slice()
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
    if request.purpose == Purpose::Latency && available.cpus_known && !available.narrowed {
        all.push(format!(
            "There are too few cores to keep one of each node for interrupts ({} are needed).",
            advice::CORES_TO_SPARE_ONE
        ));
    }
    all
}

/// That siblings are assumed or unknown, where that matters.
fn siblings_not_reported(available: &AvailableResources, processes: &[Process]) -> Option<String> {
    // Whole nodes have all of their cores' CPUs, whichever those are.
    let whole = !available.narrowed && processes.iter().all(|process| process.whole_nodes);
    if whole && available.numbering == Numbering::Unknown {
        return None;
    }
    available.numbering.says(available.cpus().first()?)
}

/// What is not known, and how to find it out.
fn unknown(
    index: &RecordIndex,
    available: &AvailableResources,
    costs: &Costs,
    siblings: Option<&Siblings>,
) -> Vec<String> {
    let mut all = Vec::new();
    let several = available.seats.len() + available.memory.len() > 2;
    if several && costs.latency.is_none() && costs.bandwidth.is_none() {
        all.push(
            "What other nodes' memory costs was not measured, so no gain can be told: linespeed run numa."
                .to_owned(),
        );
    }
    if !available.cpus_known {
        all.push("Which CPUs each node has is not told: on the machine, numactl -H or lscpu.".to_owned());
    }
    if siblings.is_some_and(|siblings| !siblings.measured) {
        all.push("What siblings are worth was not measured: linespeed run smt-yield.".to_owned());
    }
    if index.figures_of("load.latency").next().is_none() && index.record.import.is_none() {
        all.push("What huge pages are worth was not measured: linespeed run latency.".to_owned());
    }
    all
}

#[cfg(test)]
mod tests;
