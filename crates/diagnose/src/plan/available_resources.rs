//! The resources available to a program: the nodes with usable CPUs, their cores and memory.

use std::collections::BTreeMap;

use record::machine::Machine;
use record::{CpuList, Record};

use super::error::PlanError;
use super::numbering::{self, Numbering};
use super::places::Places;
use crate::node_costs::{Costs, MOST_NODES, nodes_of_cpus};

/// A node with usable CPUs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seat {
    /// The kernel's node number.
    pub node: u32,
    /// The node's cores with their usable CPUs, grouped by last-level cache; empty if CPUs are unknown.
    pub cores: Vec<Vec<u32>>,
    /// The number of CPUs of the node, if nothing else is known about its CPUs.
    pub count: Option<u32>,
    /// The node that provides the memory: this node, or the nearest node with memory.
    pub memory: u32,
    /// The size of that memory, bytes.
    pub bytes: Option<u64>,
    /// Whether all online CPUs of the node are usable.
    pub whole: bool,
    /// The usable CPUs of each domain: a last-level cache that cores share, or a domain found by timing. Empty if the
    /// node does not have several domains.
    pub domains: Vec<CpuList>,
}

impl Seat {
    /// The CPUs in the order in which threads use them: one CPU of each core, then the siblings.
    pub(super) fn cpus(&self, siblings: bool) -> Vec<u32> {
        in_order(&self.cores, siblings)
    }

    /// Maximum number of threads.
    pub(super) fn room(&self, siblings: bool, per_core: u32) -> Option<u32> {
        if self.cores.is_empty() {
            return self.count.map(|count| if siblings { count } else { (count / per_core.max(1)).max(1) });
        }
        u32::try_from(self.cpus(siblings).len()).ok()
    }
}

/// The CPUs of these cores, in the order in which threads use them.
pub(super) fn in_order(cores: &[Vec<u32>], siblings: bool) -> Vec<u32> {
    let most = if siblings { cores.iter().map(Vec::len).max().unwrap_or(0) } else { 1 };
    (0..most).flat_map(|sibling| cores.iter().filter_map(move |core| core.get(sibling).copied())).collect()
}

/// Everything a plan is based on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AvailableResources {
    /// Nodes with usable CPUs, sorted by node number.
    pub seats: Vec<Seat>,
    /// Whether the CPUs of each node are known by number.
    pub cpus_known: bool,
    /// Whether one node per package was assumed, because the record has no nodes.
    pub assumed: bool,
    /// Nodes with usable memory.
    pub memory: Vec<u32>,
    /// Nodes with memory but without a usable CPU.
    pub memory_only: Vec<(u32, Option<u64>)>,
    /// Nodes with usable CPUs but without usable memory.
    pub without_memory: Vec<u32>,
    /// Maximum number of hardware threads on any core.
    pub per_core: u32,
    /// The source of the mapping of CPUs to cores.
    pub numbering: Numbering,
    /// CPUs excluded because they were isolated at boot.
    pub isolated: CpuList,
    /// Whether all usable CPUs are isolated.
    pub all_isolated: bool,
    /// Offline CPUs.
    pub offline: CpuList,
    /// Online CPUs that the process is not allowed to use.
    pub forbidden: CpuList,
    /// Core types, fastest first, if there are several.
    pub kinds: Vec<(String, CpuList)>,
    /// CPU time allowed by a cgroup, in CPUs.
    pub quota: Option<f64>,
    /// The memory limit of a cgroup, and the part that is still available, bytes.
    pub memory_limit: Option<(u64, u64)>,
    /// The level of the last-level cache.
    pub last_level: u32,
    /// Whether the request or the plan excludes some of the usable CPUs.
    pub narrowed: bool,
    /// CPU placement found by timing.
    pub places: Places,
}

impl AvailableResources {
    /// All usable CPUs.
    pub(super) fn cpus(&self) -> CpuList {
        self.seats.iter().flat_map(|seat| seat.cores.iter().flatten().copied()).collect()
    }

    /// Whether the CPUs of a node belong to domains that Linux does not report.
    pub(super) fn splits(&self) -> bool {
        self.cpus_known && self.places.domain_of(&self.cpus()).is_some_and(|of| of.values().any(|at| *at > 0))
    }

    /// Maximum number of threads on each seat.
    pub(super) fn rooms(&self, siblings: bool) -> impl Iterator<Item = Option<u32>> {
        self.seats.iter().map(move |seat| seat.room(siblings, self.per_core))
    }
}

/// Examines a record's machine; `wanted` are the requested CPUs. Returns an error if there is nothing to plan.
pub(super) fn survey(
    record: &Record,
    costs: &Costs,
    wanted: Option<&CpuList>,
    places: Places,
) -> Result<AvailableResources, PlanError> {
    let machine = &record.machine;
    let mut available = AvailableResources { quota: quota(machine), places, ..AvailableResources::default() };
    available.memory_limit = machine.limits.memory_bytes.zip(machine.limits.memory_available_bytes);
    if machine.cpus.is_empty() && machine.nodes.iter().all(|node| node.cpus.is_empty()) {
        return by_counts(record, costs, wanted, available);
    }
    let on_node = nodes_of_cpus(machine);
    let usable = usable(machine, &on_node, wanted, &mut available)?;
    available.cpus_known = true;
    available.last_level = machine.last_level();
    memory(machine, &mut available);
    let mut by_node: BTreeMap<u32, CpuList> = BTreeMap::new();
    for cpu in &usable {
        by_node.entry(on_node.get(&cpu).copied().unwrap_or(0)).or_default().insert(cpu);
    }
    let mut online: BTreeMap<u32, usize> = BTreeMap::new();
    for cpu in machine.cpus.iter().filter(|cpu| cpu.online) {
        *online.entry(on_node.get(&cpu.id).copied().unwrap_or(0)).or_default() += 1;
    }
    // All CPUs are considered, even unusable ones, because they show how CPUs are numbered.
    let (mut core_of, numbering) = numbering::cores(machine, &on_node);
    available.places.correct(&mut core_of);
    available.numbering = numbering;
    let found = available.places.domain_of(&usable);
    let domain_of = found.unwrap_or_else(|| domains(machine, &usable, &core_of));
    for (node, cpus) in by_node {
        let mut own: BTreeMap<usize, CpuList> = BTreeMap::new();
        for cpu in &cpus {
            if let Some(domain) = domain_of.get(&cpu) {
                own.entry(*domain).or_default().insert(cpu);
            }
        }
        available.seats.push(Seat {
            node,
            cores: cores(&cpus, &core_of, &domain_of),
            count: None,
            memory: node,
            bytes: None,
            whole: online.get(&node).copied().unwrap_or(0) <= cpus.len(),
            domains: if own.len() > 1 { own.into_values().collect() } else { Vec::new() },
        });
    }
    available.per_core = available
        .seats
        .iter()
        .flat_map(|seat| seat.cores.iter().map(Vec::len))
        .max()
        .and_then(|most| u32::try_from(most).ok())
        .unwrap_or(1);
    settle_memory(record, costs, &mut available);
    available.kinds = kinds(machine, &usable);
    Ok(available)
}

fn quota(machine: &Machine) -> Option<f64> {
    machine.limits.cpu_quota.filter(|quota| quota.is_finite() && *quota > 0.0)
}

/// The CPUs that a program may use: online, allowed, requested, and not isolated (unless all are isolated).
fn usable(
    machine: &Machine,
    on_node: &BTreeMap<u32, u32>,
    wanted: Option<&CpuList>,
    available: &mut AvailableResources,
) -> Result<CpuList, PlanError> {
    let listed: CpuList = on_node.keys().copied().collect();
    let online: CpuList = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    available.offline = machine.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.id).collect();
    let online = if online.is_empty() { listed } else { online };
    // Records imported from other tools lack the allowed CPUs.
    let allowed = machine.allowed_cpus();
    let mut usable = if allowed.is_empty() { online.clone() } else { allowed.intersection(&online) };
    available.forbidden = online.difference(&usable);
    if let Some(wanted) = wanted {
        let missing = wanted.difference(&usable);
        if wanted.is_empty() {
            return Err(PlanError::NoCpusAsked);
        }
        if !missing.is_empty() {
            return Err(PlanError::CpusNotUsable { asked: wanted.clone(), missing, usable });
        }
        usable = wanted.clone();
    }
    if usable.is_empty() {
        return Err(PlanError::NoUsableCpu);
    }
    let isolated = machine.kernel.isolated.intersection(&usable);
    let rest = usable.difference(&isolated);
    // Isolated CPUs that were requested explicitly are used.
    if rest.is_empty() || wanted.is_some() {
        available.all_isolated = !isolated.is_empty();
        return Ok(usable);
    }
    available.isolated = isolated;
    Ok(rest)
}

/// The number of each CPU's last-level cache; empty if no two cores share a cache.
fn domains(machine: &Machine, usable: &CpuList, core_of: &BTreeMap<u32, u32>) -> BTreeMap<u32, usize> {
    let mut domains = BTreeMap::new();
    let mut shared = false;
    for (number, cache) in machine.data_caches(machine.last_level()).enumerate() {
        let mut first = None;
        for cpu in &cache.cpus.intersection(usable) {
            domains.entry(cpu).or_insert(number);
            let core = core_of.get(&cpu).copied();
            shared |= *first.get_or_insert(core) != core;
        }
    }
    if shared { domains } else { BTreeMap::new() }
}

/// The cores among `cpus`, grouped by cache, then by number.
fn cores(cpus: &CpuList, core_of: &BTreeMap<u32, u32>, domain_of: &BTreeMap<u32, usize>) -> Vec<Vec<u32>> {
    let mut cores: BTreeMap<(usize, bool, u32), Vec<u32>> = BTreeMap::new();
    for cpu in cpus {
        let domain = domain_of.get(&cpu).copied().unwrap_or(usize::MAX);
        // A CPU without a known core counts as a separate core.
        let core = core_of.get(&cpu).copied();
        cores.entry((domain, core.is_none(), core.unwrap_or(cpu))).or_default().push(cpu);
    }
    cores.into_values().collect()
}

/// Finds the nodes with usable memory. If no node is marked as allowed, the record lacks this information.
fn memory(machine: &Machine, available: &mut AvailableResources) {
    let any = machine.nodes.iter().any(|node| node.allowed);
    let usable = machine.nodes.iter().filter(|node| (node.allowed || !any) && node.bytes != Some(0));
    available.memory = usable.map(|node| node.id).filter(|id| *id < MOST_NODES).collect();
    available.memory.sort_unstable();
    available.memory.dedup();
}

/// Assigns memory to each seat: the node's own, otherwise the nearest.
fn settle_memory(record: &Record, costs: &Costs, available: &mut AvailableResources) {
    let bytes: BTreeMap<_, _> = record.machine.nodes.iter().map(|node| (node.id, node.bytes)).collect();
    for seat in &mut available.seats {
        if !available.memory.contains(&seat.node)
            && let Some(nearest) = costs.nearest(seat.node, &available.memory)
        {
            available.without_memory.push(seat.node);
            seat.memory = nearest;
        }
        seat.bytes = bytes.get(&seat.memory).copied().flatten();
    }
    let own: Vec<u32> = available.seats.iter().map(|seat| seat.node).collect();
    available.memory_only = available
        .memory
        .iter()
        .filter(|node| !own.contains(node))
        .map(|node| (*node, bytes.get(node).copied().flatten()))
        .collect();
}

/// Core types among the usable CPUs, fastest first; empty if all are alike.
fn kinds(machine: &Machine, usable: &CpuList) -> Vec<(String, CpuList)> {
    let mut kinds: BTreeMap<String, (u64, CpuList)> = BTreeMap::new();
    for cpu in machine.cpus.iter().filter(|cpu| usable.contains(cpu.id)) {
        let Some(kind) = &cpu.kind else { continue };
        let entry = kinds.entry(kind.clone()).or_default();
        entry.0 = entry.0.max(cpu.capacity.map_or(cpu.max_hz.unwrap_or(0), u64::from));
        entry.1.insert(cpu.id);
    }
    if kinds.len() < 2 {
        return Vec::new();
    }
    let mut kinds: Vec<(u64, String, CpuList)> =
        kinds.into_iter().map(|(kind, (speed, cpus))| (speed, kind, cpus)).collect();
    // If no speed is known, performance cores are identified by name.
    kinds.sort_by_key(|(speed, kind, _)| (std::cmp::Reverse(*speed), kind != "performance"));
    kinds.into_iter().map(|(_, kind, cpus)| (kind, cpus)).collect()
}

/// Derives seats from the numbers of nodes (or packages) and CPUs, because articles and other tools' output contain no
/// more than that.
fn by_counts(
    record: &Record,
    costs: &Costs,
    wanted: Option<&CpuList>,
    mut available: AvailableResources,
) -> Result<AvailableResources, PlanError> {
    let machine = &record.machine;
    if wanted.is_some() {
        return Err(PlanError::CpusNotReported);
    }
    let counts = &machine.counts;
    let reported: Vec<u32> = machine.nodes.iter().map(|node| node.id).filter(|id| *id < MOST_NODES).collect();
    let nodes: Vec<u32> = if reported.len() > 1 {
        reported
    } else if let Some(nodes) = counts.nodes.filter(|nodes| *nodes > 1) {
        (0..nodes.min(MOST_NODES)).collect()
    } else if counts.nodes.is_none() && counts.packages.is_some_and(|packages| packages > 1) {
        available.assumed = true;
        (0..counts.packages.unwrap_or(1).min(MOST_NODES)).collect()
    } else if costs.nodes().len() > 1 && counts.nodes.is_none() {
        costs.nodes().into_iter().collect()
    } else {
        vec![reported.first().copied().unwrap_or(0)]
    };
    // If only the number of cores is known, it is used as the number of CPUs.
    let cpus = counts.cpus_online.or(counts.cpus_present).or(counts.cores);
    if cpus.is_none() && nodes.len() < 2 {
        return Err(PlanError::NothingReported);
    }
    let count = u32::try_from(nodes.len()).unwrap_or(1);
    available.per_core = match (cpus, counts.cores) {
        (Some(cpus), Some(cores)) if cores > 0 && cpus % cores == 0 => cpus / cores,
        _ => 1,
    };
    let each = cpus.filter(|cpus| cpus % count == 0).map(|cpus| cpus / count);
    available.memory = nodes.clone();
    available.seats = nodes
        .into_iter()
        .map(|node| Seat { node, count: each, memory: node, whole: true, ..Seat::default() })
        .collect();
    Ok(available)
}
