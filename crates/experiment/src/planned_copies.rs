//! The copies that a plan means: bound as it says, and the same unbound.

use record::phrase::agree;
use record::plan::{Plan, Policy, Process};
use record::{CpuList, Mark, Text, text};

use crate::copies::PlacedCopy;
use crate::layouts::LayoutRun;
use crate::recipes::template::{Template, Values};

/// Marks that a run can have, in the order in which they are counted.
const MARKS: [Mark; 4] = [Mark::Switched, Mark::Stolen, Mark::Throttled, Mark::Quota];

/// What is said of a plan that is what happens without it: there is nothing to compare.
const NOTHING_PLANNED: &str = "this layout equals the unbound one: nothing to verify; leave {threads} out for a copy pinned to \
                               each CPU, or ask for several processes with --processes N";

/// The copies as planned, and how they are run in a sentence.
pub fn place_planned(command: &[Template], plan: &Plan) -> Result<(Vec<PlacedCopy>, Text), &'static str> {
    let sets_threads = command.iter().flat_map(Template::places).next().is_some();
    if !sets_threads {
        return Ok(place_single_threads(plan));
    }
    if plan.snippets.is_empty() {
        return Err(NOTHING_PLANNED);
    }
    let place = |process: &Process| bind_copy(process, &process.cpus, process.threads.unwrap_or(1));
    let all: Vec<PlacedCopy> = plan.processes.iter().map(place).collect();
    let interleaved = plan.processes.iter().all(|process| process.policy == Policy::Interleave);
    let processes = format!("{} {}", all.len(), agree(all.len(), "process", "processes"));
    let how = if interleaved && all.len() == 1 {
        text!("{processes} with memory interleaved over the nodes, against the default policy.", processes)
    } else {
        let placed = all.iter().any(|copy| copy.memory.is_some());
        let what = if placed { "CPUs and nodes" } else { "CPUs" };
        text!("{processes} bound to {what}, against the same unbound.", processes, what)
    };
    Ok((all, how))
}

/// Copies of a command that cannot be told its threads: it is taken for one thread, and there is a copy for each.
fn place_single_threads(plan: &Plan) -> (Vec<PlacedCopy>, Text) {
    let processes = plan.processes.len();
    let alone = processes == 1 && plan.processes.iter().all(|process| process.policy == Policy::Default);
    let mut all = Vec::new();
    for process in &plan.processes {
        let mut cpus = process.cpus.iter();
        for _ in 0..process.threads.unwrap_or(1) {
            let bound = if alone { cpus.next().into_iter().collect() } else { process.cpus.clone() };
            all.push(bind_copy(process, &bound, 1));
        }
    }
    let copies = format!("{} {}", all.len(), agree(all.len(), "copy", "copies"));
    let how = if alone {
        text!("{copies}, each pinned to its own CPU, against the same unpinned.", copies)
    } else {
        text!(
            "{copies}, divided among the plan's {processes} processes and bound as these, against the same unbound.",
            copies,
            processes
        )
    };
    (all, how)
}

/// A copy of so many threads on these CPUs of a process.
fn bind_copy(process: &Process, cpus: &CpuList, threads: u32) -> PlacedCopy {
    let interleave = process.policy == Policy::Interleave;
    let values = [
        ("threads", threads.to_string()),
        ("process", process.number.to_string()),
        ("cpus", cpus.to_string()),
        ("node", process.nodes.to_string()),
    ];
    PlacedCopy {
        // Where only memory is set, or nothing is, threads may run everywhere.
        cpus: (!cpus.is_empty() && !interleave).then(|| cpus.clone()),
        memory: (!process.memory.is_empty()).then(|| (process.memory.clone(), interleave)),
        values: values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Values>(),
    }
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

/// In how many runs something happened.
pub fn count_marks<'a>(runs: impl Iterator<Item = &'a LayoutRun> + Clone) -> Vec<(Mark, u32)> {
    MARKS
        .into_iter()
        .map(|mark| (mark, runs.clone().filter(|took| took.marks.contains(&mark)).count() as u32))
        .filter(|(_, count)| *count > 0)
        .collect()
}
