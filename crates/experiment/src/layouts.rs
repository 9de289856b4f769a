//! Runs the same copies of a command alternately in two layouts: pinned as planned, and unpinned.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use os::Stop;
use os::child::Usage;
use record::phrase::agree;
use record::plan::{Plan, Policy, Process};
use record::{CpuList, Mark, Text, text};

use crate::copies::{PlacedCopy, RunObserver, RunOptions, check_memory, start_copies, wait_for_copies};
use crate::failure::Trouble;
use crate::recipes::template::{Template, Values};
use crate::rounds::run_rounds;

/// Placeholders that linespeed replaces in a command, with different values for each copy.
pub const PLACEHOLDERS: [&str; 4] = ["threads", "process", "cpus", "node"];

/// One run of all copies.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutRun {
    /// Seconds until the last copy exited.
    pub seconds: f64,
    /// The resource usage of all copies.
    pub usage: Usage,
    /// Events on the CPUs during the run.
    pub marks: Vec<Mark>,
    /// Names of processes that copies left behind; linespeed waited for these processes.
    pub left: Vec<String>,
}

/// All completed rounds.
#[derive(Debug, Default)]
pub struct LayoutRounds {
    /// Runs with the planned layout, by round.
    pub planned: Vec<LayoutRun>,
    /// Unpinned runs, by round.
    pub unbound: Vec<LayoutRun>,
    /// The reason why the rounds ended early.
    pub ended: Option<Trouble>,
}

/// Is notified of progress.
pub trait LayoutObserver: RunObserver {
    /// The trial of all copies is over; all rounds may take this many more seconds.
    fn trial_done(&mut self, seconds: f64);
    /// A run is over: its layout, its result, and the number of completed runs (`done` of `all`).
    fn run_done(&mut self, planned: bool, took: &LayoutRun, done: usize, all: usize);
}

/// Runs both layouts in rounds, after two trials that do not count: one of a single copy, and one of all copies
/// unpinned. The first trial loads files into memory and shows the memory use of a copy.
pub fn run_layouts(
    command: &[Template],
    planned: &[PlacedCopy],
    unbound: &[PlacedCopy],
    options: &RunOptions,
    stop: &Stop,
    observer: &mut dyn LayoutObserver,
) -> LayoutRounds {
    let layouts = [planned, unbound];
    let all = options.rounds * layouts.len();
    let one = run_layout(command, &unbound[..unbound.len().min(1)], options, stop, observer);
    let trial = one.and_then(|one| {
        check_memory(unbound.len(), one.usage.max_rss_bytes, options.memory)?;
        run_layout(command, unbound, options, stop, observer)
    });
    match trial {
        Ok(trial) => observer.trial_done(trial.seconds * all as f64),
        Err(trouble) => return LayoutRounds { ended: Some(trouble), ..LayoutRounds::default() },
    }
    let mut done = 0;
    let results = run_rounds(layouts.len(), options.rounds, |turn| {
        match run_layout(command, layouts[turn.alternative], options, stop, observer) {
            Ok(run) => {
                done += 1;
                observer.run_done(turn.alternative == 0, &run, done, all);
                ControlFlow::Continue(run)
            }
            Err(trouble) => ControlFlow::Break(trouble),
        }
    });
    let mut rounds = LayoutRounds { ended: results.ended, ..LayoutRounds::default() };
    for mut round in results.whole {
        rounds.unbound.extend(round.pop());
        rounds.planned.extend(round.pop());
    }
    rounds
}

/// Runs all copies once.
fn run_layout(
    command: &[Template],
    copies: &[PlacedCopy],
    options: &RunOptions,
    stop: &Stop,
    observer: &mut dyn LayoutObserver,
) -> Result<LayoutRun, Trouble> {
    let mut started = start_copies(command, &BTreeMap::new(), copies, false, options, stop)?;
    let mut run = wait_for_copies(&mut started, options, stop, observer)?;
    if let Some(failed) = run.failed.take() {
        return Err(Trouble::Failed(failed));
    }
    let cpus: Vec<u32> = os::pin::allowed().unwrap_or_default().iter().collect();
    Ok(LayoutRun { seconds: run.wall(), marks: run.marks(&cpus, 0.0), usage: run.usage, left: run.left })
}

/// The marks that a run can have, in the order in which they are counted.
const MARKS: [Mark; 4] = [Mark::Switched, Mark::Stolen, Mark::Throttled, Mark::Quota];

/// The message for a plan that changes nothing. There is then nothing to compare.
const NOTHING_PLANNED: &str = "nothing to verify: the plan binds nothing. Omit {threads} to pin one copy to \
                               each CPU, or use --processes N for several processes";

/// The planned copies, and a sentence that describes how they run.
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
        text!("{processes} with memory interleaved over the nodes, compared with the default policy.")
    } else {
        let placed = all.iter().any(|copy| copy.memory.is_some());
        let what = if placed { "CPUs and nodes" } else { "CPUs" };
        text!("{processes} bound to {what}, compared with the same processes unbound.")
    };
    Ok((all, how))
}

/// Copies of a command without a thread count, one per planned thread. Such a command is assumed to be single-threaded.
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
        text!("{copies}, each pinned to its own CPU, compared with the same copies unpinned.")
    } else {
        text!("{copies}, bound like the plan's {processes} processes, compared with the same copies unbound.")
    };
    (all, how)
}

/// A copy with this many threads, placed on these CPUs of a process.
fn bind_copy(process: &Process, cpus: &CpuList, threads: u32) -> PlacedCopy {
    let interleave = process.policy == Policy::Interleave;
    let values = [
        ("threads", threads.to_string()),
        ("process", process.number.to_string()),
        ("cpus", cpus.to_string()),
        ("node", process.nodes.to_string()),
    ];
    PlacedCopy {
        // If the plan sets only memory or sets nothing, threads may run on all CPUs.
        cpus: (!cpus.is_empty() && !interleave).then(|| cpus.clone()),
        memory: (!process.memory.is_empty()).then(|| (process.memory.clone(), interleave)),
        values: values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Values>(),
    }
}

/// The same copies unpinned, on all CPUs or on those of `--cpus`, with the same number of threads and copies.
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

/// The number of runs with each mark.
pub fn count_marks<'a>(runs: impl Iterator<Item = &'a LayoutRun> + Clone) -> Vec<(Mark, u32)> {
    MARKS
        .into_iter()
        .map(|mark| (mark, runs.clone().filter(|took| took.marks.contains(&mark)).count() as u32))
        .filter(|(_, count)| *count > 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::CpuList;
    use std::ffi::OsStr;

    struct Quiet(Vec<bool>);

    impl RunObserver for Quiet {
        fn left(&mut self, _: &[String]) {}
    }

    impl LayoutObserver for Quiet {
        fn trial_done(&mut self, _: f64) {}
        fn run_done(&mut self, planned: bool, _: &LayoutRun, _: usize, _: usize) {
            self.0.push(planned);
        }
    }

    fn command(words: &[&str]) -> Vec<Template> {
        words.iter().map(|word| Template::typed_with(OsStr::new(word), &PLACEHOLDERS)).collect()
    }

    fn copies(count: usize, cpus: Option<&CpuList>) -> Vec<PlacedCopy> {
        let copy = |number: usize| PlacedCopy {
            cpus: cpus.cloned(),
            memory: None,
            values: [("process".to_owned(), number.to_string())].into(),
        };
        (0..count).map(copy).collect()
    }

    #[test]
    fn both_layouts_run_in_turn_and_each_copy_knows_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let line = format!("echo x >> {}/{{process}}", folder.path().display());
        let mut quiet = Quiet(Vec::new());
        let here = os::pin::allowed().unwrap();
        let options = RunOptions { rounds: 3, ..RunOptions::default() };
        let rounds = run_layouts(
            &command(&["sh", "-c", &line]),
            &copies(2, Some(&here)),
            &copies(2, None),
            &options,
            &Stop::new(),
            &mut quiet,
        );
        assert!(rounds.ended.is_none(), "{rounds:?}");
        assert_eq!((rounds.planned.len(), rounds.unbound.len()), (3, 3));
        assert_eq!(quiet.0, [true, false, false, true, true, false]);
        let lines = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap().lines().count();
        // Six runs, a trial of all copies, and a trial of one copy.
        assert_eq!((lines("0"), lines("1")), (8, 7));
    }

    #[test]
    fn a_copy_that_fails_ends_it_and_its_last_words_are_kept() {
        let rounds = run_layouts(
            &command(&["sh", "-c", "echo no such table >&2; exit 3"]),
            &copies(2, None),
            &copies(2, None),
            &RunOptions { rounds: 6, ..RunOptions::default() },
            &Stop::new(),
            &mut Quiet(Vec::new()),
        );
        let says = rounds.ended.unwrap().to_string();
        assert!(says.contains("code 3") && says.contains("no such table"), "{says}");
        assert!(rounds.planned.is_empty() && rounds.unbound.is_empty());
    }

    #[test]
    fn copies_that_memory_cannot_hold_are_not_started() {
        assert!(check_memory(4, 1 << 30, Some(3 << 30)).is_err());
        assert_eq!(check_memory(1, 1 << 30, Some(1 << 20)), Ok(()));
        assert_eq!(check_memory(4, 1 << 30, None), Ok(()));
    }

    #[test]
    fn memory_is_bound_before_the_program_begins() {
        // The kernel reports a process's memory policy for each of its mappings; kernels without NUMA support do not.
        let here = CpuList::from_iter([0]);
        if !std::path::Path::new("/proc/self/numa_maps").exists() {
            return;
        }
        let mut bound = copies(1, None);
        bound[0].memory = Some((here, false));
        let rounds = run_layouts(
            &command(&["sh", "-c", "grep -q bind:0 /proc/self/numa_maps"]),
            &bound,
            &bound,
            &RunOptions { rounds: 1, ..RunOptions::default() },
            &Stop::new(),
            &mut Quiet(Vec::new()),
        );
        match rounds.ended {
            None => assert_eq!(rounds.planned.len(), 1),
            // A sandbox may refuse to bind memory, which is reported.
            Some(trouble) => assert!(trouble.to_string().contains("SYS_NICE"), "{trouble}"),
        }
    }
}
