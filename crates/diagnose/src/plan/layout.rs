//! Distributes processes over nodes: how many run on each, and on which CPUs and memory.

use record::plan::{Policy, Process};
use record::{CpuList, Text, text};

use super::PlanRequest;
use super::available_resources::{AvailableResources, Seat, in_order};
use super::error::PlanError;
use crate::node_costs::Costs;

/// Maximum number of processes in a plan: the largest machines have a few thousand CPUs.
pub(super) const MOST_PROCESSES: u32 = 4096;

/// The processes, with cautions about them.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub processes: Vec<Process>,
    pub cautions: Vec<Text>,
    /// Whether a cgroup's quota determined the number of threads.
    pub by_quota: bool,
}

/// Lays out processes. Returns an error if the request is impossible.
pub(super) fn lay_out(
    available: &AvailableResources,
    costs: &Costs,
    request: &PlanRequest,
    siblings: bool,
) -> Result<Layout, PlanError> {
    let mut layout = Layout::default();
    let seats = available.seats.len() as u32;
    let room: Option<u32> = available.rooms(siblings).sum();
    let all: Option<u32> = available.rooms(true).sum();
    check(request, all.or(room))?;
    let threads = request.threads.or_else(|| {
        let quota = (available.quota?).floor().max(1.0);
        let room = room?;
        (quota < f64::from(room)).then(|| {
            layout.by_quota = true;
            let most = available.rooms(siblings).flatten().max().unwrap_or(1);
            let processes = request.processes.unwrap_or_else(|| (quota as u32).div_ceil(most.max(1)));
            (quota as u32 / processes.max(1)).max(1)
        })
    });
    let processes = match (request.processes, threads) {
        (Some(processes), _) => processes,
        (None, Some(threads)) => fitting(available, siblings, threads, layout.by_quota),
        (None, None) if available.splits() => {
            available.seats.iter().map(|seat| seat.domains.len().max(1) as u32).sum()
        }
        (None, None) => seats,
    };
    let groups = if processes >= seats {
        shared(available, siblings, processes)
    } else {
        spanning(available, costs, processes, threads, siblings)
    };
    for group in groups {
        let number = layout.processes.len() as u32;
        layout.processes.push(process(number, available, &group, threads, siblings));
    }
    if !available.cpus_known && threads.is_none() {
        share_threads(&mut layout.processes);
    }
    layout.cautions.extend(several_a_node(available, &layout, request));
    layout.cautions.extend(uneven(available, &layout, request));
    layout.cautions.extend(oversubscribed(&layout, request));
    Ok(layout)
}

fn check(request: &PlanRequest, room: Option<u32>) -> Result<(), PlanError> {
    let Some(processes) = request.processes else { return Ok(()) };
    let most = room.unwrap_or(MOST_PROCESSES).min(MOST_PROCESSES);
    if processes == 0 || processes > most {
        return Err(PlanError::Processes { asked: processes, room, most });
    }
    Ok(())
}

/// The number of processes with this many threads that fit on the machine or, if there is a quota, within the quota.
fn fitting(available: &AvailableResources, siblings: bool, threads: u32, by_quota: bool) -> u32 {
    if by_quota {
        let quota = available.quota.unwrap_or(1.0).floor().max(1.0) as u32;
        return (quota / threads.max(1)).max(1);
    }
    let rooms: Vec<u32> = available.rooms(siblings).flatten().collect();
    if rooms.is_empty() {
        return available.seats.len() as u32;
    }
    let within: u32 = rooms.iter().map(|room| room / threads.max(1)).sum();
    let all: u32 = rooms.iter().sum();
    // A process that is larger than a node spans several nodes.
    let count = if within > 0 { within } else { all / threads.max(1) };
    count.clamp(1, MOST_PROCESSES)
}

/// A process's part of the machine: seats, each with the process's cores.
type Group<'a> = Vec<(&'a Seat, Vec<Vec<u32>>)>;

/// Used if there are at least as many processes as nodes: assigns each process to one node.
fn shared(available: &AvailableResources, siblings: bool, processes: u32) -> Vec<Group<'_>> {
    let mut counts = vec![0u32; available.seats.len()];
    let weight = |seat: &Seat| f64::from(seat.room(siblings, available.per_core).unwrap_or(1).max(1));
    let most = |at: usize| available.seats[at].room(true, available.per_core).unwrap_or(u32::MAX);
    for _ in 0..processes {
        // Choose the seat with the most room per process. A seat never gets more processes than it has CPUs.
        let best = (0..counts.len()).rev().filter(|at| counts[*at] < most(*at)).max_by(|a, b| {
            let left = |at: usize| weight(&available.seats[at]) / f64::from(counts[at] + 1);
            left(*a).total_cmp(&left(*b))
        });
        if let Some(best) = best {
            counts[best] += 1;
        }
    }
    let mut groups = Vec::new();
    for (seat, count) in available.seats.iter().zip(counts) {
        for part in split(seat, count as usize) {
            groups.push(vec![(seat, part)]);
        }
    }
    groups
}

/// Splits a seat's cores by domain if the number of domains matches, otherwise into `parts` equal parts of neighboring cores. With more
/// parts than cores, siblings are in different parts.
fn split(seat: &Seat, parts: usize) -> Vec<Vec<Vec<u32>>> {
    let cores = &seat.cores;
    if parts == seat.domains.len() {
        let is_in = |core: &&Vec<u32>, of: &CpuList| core.first().is_some_and(|cpu| of.contains(*cpu));
        return seat
            .domains
            .iter()
            .map(|of| cores.iter().filter(|core| is_in(core, of)).cloned().collect())
            .collect();
    }
    if parts == 0 {
        return Vec::new();
    }
    if cores.is_empty() {
        return vec![Vec::new(); parts];
    }
    let single: Vec<Vec<u32>>;
    let from = if parts > cores.len() {
        single = in_order(cores, true).into_iter().map(|cpu| vec![cpu]).collect();
        &single[..]
    } else {
        cores
    };
    (0..parts).map(|part| from[part * from.len() / parts..(part + 1) * from.len() / parts].to_vec()).collect()
}

/// Used if there are fewer processes than nodes: assigns each process to several adjacent nodes, or to one if its threads fit.
fn spanning<'a>(
    available: &'a AvailableResources,
    costs: &Costs,
    processes: u32,
    threads: Option<u32>,
    siblings: bool,
) -> Vec<Group<'a>> {
    let fits = |seat: &&Seat| {
        threads.is_some_and(|threads| seat.room(siblings, available.per_core).is_some_and(|r| threads <= r))
    };
    if available.seats.iter().filter(fits).count() >= processes as usize {
        let mut fitting: Vec<&Seat> = available.seats.iter().filter(fits).collect();
        fitting.truncate(processes as usize);
        return fitting.into_iter().map(|seat| vec![(seat, seat.cores.clone())]).collect();
    }
    let mut rest: Vec<&Seat> = available.seats.iter().collect();
    let mut groups = Vec::new();
    for left in (1..=processes as usize).rev() {
        let size = rest.len().div_ceil(left);
        let mut group: Vec<&Seat> = Vec::new();
        while group.len() < size && !rest.is_empty() {
            // The node nearest to those already chosen.
            let far = |seat: &Seat| group.iter().map(|o| costs.distance(o.node, seat.node)).sum::<f64>();
            let next = (0..rest.len()).min_by(|a, b| far(rest[*a]).total_cmp(&far(rest[*b])).then(a.cmp(b)));
            group.push(rest.remove(next.unwrap_or(0)));
        }
        group.sort_by_key(|seat| seat.node);
        groups.push(group.into_iter().map(|seat| (seat, seat.cores.clone())).collect());
    }
    groups
}

fn process(
    number: u32,
    available: &AvailableResources,
    group: &Group,
    threads: Option<u32>,
    siblings: bool,
) -> Process {
    let cores: Vec<Vec<u32>> = group.iter().flat_map(|(_, cores)| cores.iter().cloned()).collect();
    let nodes: CpuList = group.iter().map(|(seat, _)| seat.node).collect();
    // A core's other sibling may belong to another process; the remaining CPU then counts as a core.
    let mut taken = in_order(&cores, siblings);
    let room = if available.cpus_known {
        u32::try_from(taken.len()).ok()
    } else {
        group.iter().map(|(seat, _)| seat.room(siblings, available.per_core)).sum()
    };
    if let Some(threads) = threads {
        if threads as usize > taken.len() {
            taken = in_order(&cores, true);
        }
        taken.truncate(threads as usize);
    }
    let whole = group.iter().all(|(seat, cores)| seat.whole && *cores == seat.cores)
        && (!available.cpus_known || taken.len() == cores.iter().map(Vec::len).sum::<usize>());
    let all_nodes = group.len() == available.seats.len() && group.len() > 1;
    let bound = available.memory.len() > 1;
    Process {
        number,
        threads: threads.or(room),
        nodes,
        cpus: taken.into_iter().collect(),
        whole_nodes: whole,
        memory: if bound { group.iter().map(|(seat, _)| seat.memory).collect() } else { CpuList::new() },
        policy: match (bound, all_nodes) {
            (false, _) => Policy::Default,
            (true, true) => Policy::Interleave,
            (true, false) => Policy::Bind,
        },
    }
}

/// If the CPUs of each node are not known, divides the threads evenly among the processes on the same nodes.
fn share_threads(processes: &mut [Process]) {
    let mut sharing: std::collections::BTreeMap<CpuList, u32> = std::collections::BTreeMap::new();
    for process in processes.iter() {
        *sharing.entry(process.nodes.clone()).or_default() += 1;
    }
    for process in processes {
        let count = sharing.get(&process.nodes).copied().unwrap_or(1);
        process.threads = process.threads.map(|threads| (threads / count).max(1));
    }
}

/// The note for a request that specifies only a number of threads: the processes fill the machine, because one process per node would leave
/// CPUs idle.
fn several_a_node(available: &AvailableResources, layout: &Layout, request: &PlanRequest) -> Option<Text> {
    let (processes, nodes) = (layout.processes.len(), available.seats.len());
    let count = request.threads.filter(|_| request.processes.is_none() && processes > nodes)?;
    let threads = super::threads(count);
    Some(if nodes == 1 {
        text!("{processes} processes with {threads} each fill the node. For one process: --processes 1.")
    } else {
        text!(
            "plan-nodes-filled",
            "{processes} processes with {threads} each fill the nodes. For one per node: --processes {nodes}."
        )
    })
}

/// The note that processes differ in size, with the numbers of processes that avoid this.
fn uneven(available: &AvailableResources, layout: &Layout, request: &PlanRequest) -> Option<Text> {
    let threads: Vec<u32> = layout.processes.iter().filter_map(|process| process.threads).collect();
    let (least, most) = (*threads.iter().min()?, *threads.iter().max()?);
    (least != most).then_some(())?;
    let mut says = text!(
        "plan-processes-uneven",
        "The processes differ in size: {least} to {most} threads each. Divide the work in proportion."
    );
    let seats = available.seats.len() as u32;
    let odd = |processes: &u32| !processes.is_multiple_of(seats) && !seats.is_multiple_of(*processes);
    if let Some(processes) = request.processes.filter(odd) {
        let (below, above) = ((processes / seats) * seats, processes.div_ceil(seats) * seats);
        says.push(match below {
            0 => text!("With {above} processes, all would be equal."),
            below => {
                text!("plan-processes-even-two", "With {below} or {above} processes, all would be equal.")
            }
        });
    }
    Some(says)
}

/// The note that a process has more threads than CPUs.
fn oversubscribed(layout: &Layout, request: &PlanRequest) -> Option<Text> {
    let threads = request.threads?;
    let cpus = layout.processes.iter().map(|process| process.cpus.len()).filter(|len| *len > 0).min()?;
    (threads as usize > cpus).then(|| {
        text!("plan-oversubscribed", "Oversubscribed: the {threads} threads of a process share {cpus} CPUs.")
    })
}
