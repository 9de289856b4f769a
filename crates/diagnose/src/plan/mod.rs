//! Turns a record into a plan: a layout of a program on that machine, and the expected gain. Pure functions.

mod advice;
mod available_resources;
mod error;
mod gains;
mod layout;
mod numbering;
mod places;
mod siblings;
mod snippets;
mod sources;
mod verified;

use record::difference::Verdict;
use record::plan::{CacheDomains, Plan, Policy, Process, Siblings};
use record::shape::Topology;
use record::text::Value;
use record::{CpuList, Handover, Label, Measurement, Record, Template, Text, metrics, text};

use crate::comparison::nodes::find_reaches;
use crate::figures::{cite_fact, middle, name_cpus};
use crate::node_costs::{Costs, Matrix};
use crate::record_index::RecordIndex;
use crate::tables::sentences;
use available_resources::AvailableResources;
pub use error::PlanError;
use numbering::Numbering;
use places::Places;
pub use snippets::TOOLS;
pub use sources::{describe_source, merge_records, plan_needs};
pub use verified::judge_verification;

/// Sentences of a plan.
const WORDS: &str = include_str!("words.txt");

/// The request for a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanRequest {
    /// Number of processes; by default one per node.
    pub processes: Option<u32>,
    /// Number of threads per process; by default one per CPU or core of the process.
    pub threads: Option<u32>,
    /// The CPUs to use; by default all usable ones.
    pub cpus: Option<CpuList>,
}

/// Makes a plan. Returns an error if the record lacks data about its machine, or if the request is impossible.
pub fn plan(record: &Record, request: &PlanRequest) -> Result<Plan, PlanError> {
    plan_of(&RecordIndex::new(record), request)
}

fn plan_of(index: &RecordIndex, request: &PlanRequest) -> Result<Plan, PlanError> {
    let record = index.record;
    let mut costs = Costs::from_index(index);
    costs.latency = costs.latency.or_else(|| single_figures(index.record));
    let places = Places::find(index.shape().or(record.diagnosis.shape.as_ref()));
    let mut available = available_resources::survey(record, &costs, request.cpus.as_ref(), places)?;
    available.narrowed = request.cpus.is_some();
    let siblings = siblings::choose(index, &available);
    let use_them = siblings.as_ref().is_none_or(|siblings| siblings.used);
    let layout = layout::lay_out(&available, &costs, request, use_them)?;
    // An emulator's timings do not show the cost of remote nodes.
    let emulated = record.machine.virtualization.emulated == Some(true);
    let gains =
        if emulated { Vec::new() } else { gains::gains(record, &available, &costs, &layout.processes) };
    let mut plan = Plan {
        nodes: u32::try_from(available.seats.len()).unwrap_or(u32::MAX),
        caches: caches(index, &available, &layout.processes),
        advice: [
            advice::memory(&available, &layout.processes),
            advice::huge_pages(index),
            advice::interrupts(&available),
        ]
        .into_iter()
        .flatten()
        .collect(),
        snippets: snippets::write_snippets(&available, &layout.processes),
        cautions: cautions(record, &available, !gains.is_empty()),
        unknown: unknown(index, &available, &costs, siblings.as_ref()),
        siblings,
        gains,
        ..Plan::default()
    };
    if layout.by_quota {
        let quota = Value::Figure(available.quota.unwrap_or(0.0), "CPUs");
        let throttled =
            text!("plan-cpu-quota", "A cgroup limits CPU time to {quota}; more threads would be throttled.");
        plan.cautions.insert(0, throttled);
    }
    plan.cautions.extend(siblings_not_reported(&available, &layout.processes));
    plan.cautions.extend(layout.cautions.into_iter().chain(available.places.cautions()));
    plan.sources.extend(available.places.source(record));
    plan.processes = layout.processes;
    sources::tell_doubts(&mut plan, record);
    plan.summary = summary(&plan, available.splits());
    if available.seats.len() == 1 {
        plan.cautions.extend(numa_off(index));
    }
    Ok(plan)
}

/// The note that Linux reports several packages as one node, if separate nodes would allow binding.
fn numa_off(index: &RecordIndex) -> Option<Text> {
    let finding = crate::findings::numa_off(index)?;
    let Verdict::Costs { share, .. } = finding.loss else { return None };
    let (what, share) = (&finding.what, Value::Share(share));
    Some(text!(
        "plan-numa-off",
        "{what}. If the nodes were visible, one process per node would gain about {share} (modelled)."
    ))
}

/// The plan for a report on a machine with several nodes or hidden domains; on other machines, placement makes little
/// difference.
pub fn plan_nodes(index: &RecordIndex) -> Option<Plan> {
    let machine = &index.record.machine;
    let hides = index.shape().is_some_and(|shape| shape.topology == Topology::Finer);
    let several = hides || machine.nodes.len() > 1 || machine.counts.nodes.is_some_and(|nodes| nodes > 1);
    let made = if several { plan_of(index, &PlanRequest::default()).ok() } else { None };
    made.filter(|made| made.nodes > 1 || hides && made.processes.len() > 1)
}

/// The note that placement makes no difference.
const ONE_NODE: Template = Template::new("plan-one-node", "With one NUMA node, placement gains nothing.");

/// Describes a number of threads.
fn threads(count: u32) -> Text {
    match count {
        1 => text!("1 thread"),
        count => text!("{count} threads"),
    }
}

/// Describes the number of threads per process.
fn threads_each(processes: &[Process]) -> Text {
    let first = processes.first().and_then(|process| process.threads);
    match first {
        _ if processes.iter().any(|process| process.threads != first) => {
            text!("one thread per CPU")
        }
        Some(count) => threads(count),
        None => text!("as many threads as its node has CPUs"),
    }
}

fn summary(plan: &Plan, splits: bool) -> Text {
    let threads = threads_each(&plan.processes);
    let nodes = plan.nodes;
    if let [process] = plan.processes.as_slice() {
        let mut says = match process {
            process if nodes > 1 && process.nodes.len() == 1 => text!(
                "1 process on node {node}, with {threads} and the node's memory.",
                node = &process.nodes
            ),
            process if process.policy == Policy::Interleave => {
                text!("1 process with {threads} on {nodes} nodes, memory interleaved.")
            }
            _ => text!("1 process with {threads}."),
        };
        if nodes == 1 && plan.snippets.is_empty() {
            says.push(text!(
                "plan-no-binding",
                "With one NUMA node, binding gains nothing; the kernel places the threads."
            ));
        } else if nodes == 1 {
            says.push(text!(ONE_NODE));
        }
        return says;
    }
    let processes = plan.processes.len();
    let within_nodes = plan.processes.iter().all(|process| process.nodes.len() == 1);
    let mut says = if nodes < 2 && splits {
        text!("{processes} processes with {threads} each, one per CPU domain (package or die).")
    } else if nodes < 2 {
        text!("{processes} processes with {threads} each, on separate CPUs.")
    } else if within_nodes && processes == nodes as usize {
        text!(
            "plan-process-per-node",
            "{processes} processes, one per node, each with {threads} and its node's memory."
        )
    } else if within_nodes {
        text!(
            "{processes} processes with {threads} each on {nodes} nodes; each process uses the CPUs and memory of one node."
        )
    } else {
        text!("{processes} processes with {threads} each; each process spans neighboring nodes.")
    };
    match plan.gains.iter().max_by(|a, b| a.factor.total_cmp(&b.factor)) {
        Some(gain) => says.push(text!(
            "A {program} program runs up to {factor} as fast as without the plan; a program that fits in the caches gains nothing.",
            program = &gain.program,
            factor = Value::Factor(gain.factor)
        )),
        None if nodes < 2 && !splits => says.push(text!(ONE_NODE)),
        None => {}
    }
    says
}

/// Describes several last-level caches on a node, and the cost of a cache-line transfer within and between them.
fn caches(index: &RecordIndex, available: &AvailableResources, placed: &[Process]) -> Option<CacheDomains> {
    let domains: Vec<CpuList> = available.seats.iter().flat_map(|s| s.domains.iter().cloned()).collect();
    (!domains.is_empty()).then_some(())?;
    if available.splits() {
        let says = available.places.domains_say();
        return Some(CacheDomains { domains, says, ..CacheDomains::default() });
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
    // Only results with the same method of handing over a cache line are comparable.
    let how = Handover::chief(index.figures_of(metrics::CORE_TO_CORE_LATENCY));
    let pairs = |same: bool| {
        let of = |key: Label| move |m: &&Measurement| m.labels.count(key);
        middle(index.figures_of(metrics::CORE_TO_CORE_LATENCY).filter(|m| {
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
    let aligned = placed.iter().all(|process| {
        !process.cpus.is_empty() && domains.iter().any(|domain| process.cpus.is_subset(domain))
    });
    caches.says = if aligned {
        text!("plan-within-cache", "Each process stays within one L{level} cache.")
    } else {
        text!(
            "plan-several-caches",
            "Up to {per_node} L{level} caches per node: threads that share data are faster within one cache. --processes {caches} \
             gives each process its own.",
            caches = domains.len()
        )
    };
    if let (Some(within), Some(across)) = (pairs(true), pairs(false)) {
        caches.says.push(text!(
            "plan-core-to-core",
            "Core-to-core latency: {within} within one cache, {across} between caches."
        ));
        let inside = text!("within one cache: {ns}", ns = within);
        let between = text!("between caches: {ns}", ns = across);
        caches.evidence = vec![cite_fact(inside, within), cite_fact(between, across)];
    }
    Some(caches)
}

/// The sentence in a row of `words.txt`.
fn words(section: &str, key: &str) -> Template {
    sentences(WORDS, section, key).pop().unwrap_or(Template::new("", ""))
}

fn cautions(record: &Record, available: &AvailableResources, gains: bool) -> Vec<Text> {
    let says = |key| words("cautions", key);
    let when = |holds: bool, key| holds.then(|| says(key).into());
    let excluded = |cpus: &CpuList, key| {
        let template = says(key);
        name_cpus(cpus).map(|cpus| text!(template, cpus))
    };
    let balancing = record.conditions.before.numa_balancing.is_some_and(|setting| setting > 0);
    let of_cpus = [
        when(record.machine.virtualization.emulated == Some(true), "emulated"),
        when(available.assumed, "nodes-assumed"),
        excluded(&available.forbidden, "cpus-not-allowed"),
        excluded(&available.isolated, "cpus-isolated"),
        when(available.all_isolated, "on-isolated-cpus"),
        excluded(&available.offline, "cpus-offline"),
    ];
    let mut all: Vec<Text> = of_cpus.into_iter().flatten().collect();
    let [only, without, hybrid] = ["memory-only-node", "node-without-memory", "hybrid-cores"].map(says);
    for (node, size) in &available.memory_only {
        let size = size.map_or(Value::from("size unknown"), Value::Bytes);
        all.push(text!(only, node = *node, size));
    }
    for node in &available.without_memory {
        let memory = available.seats.iter().find(|seat| seat.node == *node).map_or(0, |seat| seat.memory);
        all.push(text!(without, node = *node, memory));
    }
    if let [(_, fast), _, ..] = available.kinds.as_slice() {
        let kinds = available.kinds.iter();
        let cores: Vec<Text> = kinds.map(|(kind, cpus)| text!("{kind} cores on CPUs {cpus}")).collect();
        all.push(text!(hybrid, cores, fast));
    }
    all.extend(when(gains && balancing, "numa-balancing"));
    all
}

/// The note that siblings are assumed or unknown, if this affects the plan.
fn siblings_not_reported(available: &AvailableResources, processes: &[Process]) -> Option<Text> {
    // A process on entire nodes uses all CPUs of each core, regardless of how the CPUs are numbered.
    let whole = !available.narrowed && processes.iter().all(|process| process.whole_nodes);
    (!whole || available.numbering != Numbering::Unknown).then_some(())?;
    available.numbering.caution(available.cpus().first()?)
}

/// Lists missing data, and how to obtain it.
fn unknown(
    index: &RecordIndex,
    available: &AvailableResources,
    costs: &Costs,
    siblings: Option<&Siblings>,
) -> Vec<Text> {
    let several = available.seats.len() + available.memory.len() > 2;
    let no_loads = index.figures_of(metrics::LOAD_LATENCY).next().is_none();
    let unknown = [
        (several && costs.latency.is_none() && costs.bandwidth.is_none(), "remote-memory"),
        (!available.cpus_known, "cpus-of-nodes"),
        (siblings.is_some_and(|siblings| !siblings.measured), "smt-yield"),
        (no_loads && index.record.import.is_none(), "huge-pages"),
    ];
    let unknown = unknown.into_iter().filter(|(holds, _)| *holds);
    let unknown = unknown.map(|(_, key)| words("unknown", key).into());
    available.places.unknown(index.record).into_iter().chain(unknown).collect()
}

/// The cost from single results for local and remote memory, which are also used for comparisons.
fn single_figures(record: &Record) -> Option<Matrix> {
    let reach = find_reaches(record).into_iter().find(|reach| reach.other.is_some())?;
    let mut figures = [Some(&reach.own), reach.other.as_ref()].into_iter().flatten();
    let doubtful = figures.any(|datum| datum.doubt.is_some());
    let costs = (reach.own.value, reach.mean_other);
    Some(Matrix::of_single(reach.what.clone(), costs, reach.evidence(), doubtful))
}

#[cfg(test)]
mod tests;
