//! The copies that a plan means: bound as it says, and the same unbound.

use std::fmt;

use record::plan::{Plan, Policy, Process};
use record::{CpuList, Mark};

use crate::layouts::{LayoutRun, PlacedCopy};
use crate::recipes::template::{Template, Values};

/// Marks that a run can have, in the order in which they are told.
const MARKS: [Mark; 4] = [Mark::Switched, Mark::Stolen, Mark::Throttled, Mark::Quota];

/// A plan that is what happens without it: there is nothing to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NothingPlanned;

impl fmt::Display for NothingPlanned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "this layout is what happens without it, so there is nothing to verify; leave {threads} out for a copy pinned to \
             each CPU, or ask for several processes with --processes N",
        )
    }
}

impl std::error::Error for NothingPlanned {}

/// The copies as planned, and how they are run in a sentence.
pub fn place_planned(command: &[Template], plan: &Plan) -> Result<(Vec<PlacedCopy>, String), NothingPlanned> {
    let reported = command.iter().flat_map(Template::places).next().is_some();
    let bound = |process: &Process, cpus: &CpuList, threads: u32| PlacedCopy {
        // Where only memory is set, or nothing is, threads may run everywhere.
        cpus: (!cpus.is_empty() && process.policy != Policy::Interleave).then(|| cpus.clone()),
        memory: (!process.memory.is_empty())
            .then(|| (process.memory.clone(), process.policy == Policy::Interleave)),
        values: values(process, threads, cpus, &process.nodes),
    };
    if reported {
        if plan.snippets.is_empty() {
            return Err(NothingPlanned);
        }
        let all: Vec<PlacedCopy> = plan
            .processes
            .iter()
            .map(|process| bound(process, &process.cpus, process.threads.unwrap_or(1)))
            .collect();
        let bound =
            if all.iter().any(|one| one.memory.is_some()) { "its CPUs and nodes" } else { "its CPUs" };
        let how = match all.len() {
            1 if all_have(plan, Policy::Interleave) => {
                "One process, its memory interleaved over the nodes, against the same without.".to_owned()
            }
            1 => format!("One process bound to {bound}, against the same unbound."),
            count => format!("{count} processes, each bound to {bound}, against the same unbound."),
        };
        return Ok((all, how));
    }
    // A command that is told nothing is taken for one thread: a copy for each.
    let alone = plan.processes.len() == 1 && plan.processes.iter().all(|one| one.policy == Policy::Default);
    let mut all = Vec::new();
    for process in &plan.processes {
        let threads = process.threads.unwrap_or(1);
        let mut cpus = process.cpus.iter();
        for _ in 0..threads {
            let one: CpuList = if alone { cpus.next().into_iter().collect() } else { process.cpus.clone() };
            all.push(bound(process, &one, 1));
        }
    }
    let copies = if all.len() == 1 { "1 copy".to_owned() } else { format!("{} copies", all.len()) };
    let how = if alone {
        format!("{copies}, each pinned to a CPU of its own, against the same unpinned.")
    } else {
        let processes = plan.processes.len();
        format!(
            "{copies}, divided among the plan's {processes} processes and bound as those, against the same unbound."
        )
    };
    Ok((all, how))
}

/// Whether all processes take their memory so.
fn all_have(plan: &Plan, policy: Policy) -> bool {
    plan.processes.iter().all(|process| process.policy == policy)
}

/// The same copies unbound, on all CPUs or all that --cpus names: the same threads and numbers.
pub fn place_unbound(plan: &Plan, planned: &[PlacedCopy], within: Option<&CpuList>) -> Vec<PlacedCopy> {
    let cpus = plan.cpus();
    let nodes = plan.processes.iter().fold(CpuList::new(), |all, process| all.union(&process.nodes));
    planned
        .iter()
        .map(|one| {
            let mut values = one.values.clone();
            values.insert("cpus".to_owned(), cpus.to_string());
            values.insert("node".to_owned(), nodes.to_string());
            PlacedCopy { cpus: within.cloned(), memory: None, values }
        })
        .collect()
}

fn values(process: &Process, threads: u32, cpus: &CpuList, nodes: &CpuList) -> Values {
    [
        ("threads", threads.to_string()),
        ("process", process.number.to_string()),
        ("cpus", cpus.to_string()),
        ("node", nodes.to_string()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

/// In how many runs something happened.
pub fn count_marks<'a>(runs: impl Iterator<Item = &'a LayoutRun> + Clone) -> Vec<(Mark, u32)> {
    MARKS
        .into_iter()
        .map(|mark| (mark, runs.clone().filter(|took| took.marks.contains(&mark)).count() as u32))
        .filter(|(_, count)| *count > 0)
        .collect()
}
