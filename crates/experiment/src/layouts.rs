//! The same copies of a command in two layouts, in turn: bound as somebody planned, and unbound.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use os::Stop;
use os::child::Usage;
use record::Mark;

use crate::copies::{PlacedCopy, RunObserver, RunOptions, check_memory, start_copies, wait_for_copies};
use crate::failure::Trouble;
use crate::recipes::template::Template;
use crate::rounds::run_rounds;

/// Names that have a value in a command: they differ from copy to copy.
pub const PLACEHOLDERS: [&str; 4] = ["threads", "process", "cpus", "node"];

/// One run of all copies.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutRun {
    /// Seconds until the last copy had ended.
    pub seconds: f64,
    /// What they used.
    pub usage: Usage,
    /// What happened meanwhile on the CPUs.
    pub marks: Vec<Mark>,
    /// Processes that copies left behind, by name; they were waited for.
    pub left: Vec<String>,
}

/// All rounds that were completed.
#[derive(Debug, Default)]
pub struct LayoutRounds {
    /// As planned, by round.
    pub planned: Vec<LayoutRun>,
    /// Unbound, by round.
    pub unbound: Vec<LayoutRun>,
    /// What ended it early.
    pub ended: Option<Trouble>,
}

/// Hears how far it is.
pub trait LayoutObserver: RunObserver {
    /// The trial of all copies is over; all rounds may take so many seconds more.
    fn trial_done(&mut self, seconds: f64);
    /// A run is over: which of the layouts, how long it took, `done` of `all`.
    fn run_done(&mut self, planned: bool, took: &LayoutRun, done: usize, all: usize);
}

/// Runs both layouts in rounds, after a trial of one copy and one of all unbound, which do not count: the first loads
/// files into memory and tells what a copy takes.
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
        // Six runs, a trial of all, and the trial of one.
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
        // The kernel tells a process's policy for each of its mappings; on kernels without NUMA there is none.
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
            // A sandbox may refuse it, and says so.
            Some(trouble) => assert!(trouble.to_string().contains("SYS_NICE"), "{trouble}"),
        }
    }
}
