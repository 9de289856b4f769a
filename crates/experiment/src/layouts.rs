//! The same copies of a command in two layouts, in turn: bound as somebody planned, and unbound.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::time::Duration;

use machine::Root;
use record::text::Value;
use record::{CpuList, Mark, text};

use crate::incidents::Incidents;
use crate::recipes::template::{Template, Values, fill_all};
use crate::rounds::run_rounds;
use crate::throughput::run::{ForwardToObserver, LAST_WORDS, RunObserver, Trouble, failure, names};
use os::Stop;
use os::child::{Child, Exit, Input, Memory, Output, Spec, Usage, wait_all};

/// Names that have a value in a command: they differ from copy to copy.
pub const PLACEHOLDERS: [&str; 4] = ["threads", "process", "cpus", "node"];

/// Share of the free memory that copies may take together.
const MEMORY_SHARE: f64 = 0.9;

/// One copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacedCopy {
    /// The CPUs that it is bound to; `None` for ours.
    pub cpus: Option<CpuList>,
    /// The nodes of its memory, and whether in turn; `None` for the kernel's own way.
    pub memory: Option<(CpuList, bool)>,
    /// What the places in its command are filled with.
    pub values: Values,
}

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Rounds, of a run in each layout.
    pub rounds: usize,
    /// The longest that a run may take.
    pub timeout: Option<Duration>,
    /// Memory that is free, bytes; `None` where that is not known.
    pub memory: Option<u64>,
    /// What each process has in its environment beside ours.
    pub environment: Vec<(OsString, OsString)>,
}

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
pub struct Rounds {
    /// As planned, by round.
    pub planned: Vec<LayoutRun>,
    /// Unbound, by round.
    pub unbound: Vec<LayoutRun>,
    /// The signal that ended it early.
    pub interrupted: Option<i32>,
    /// What ended it early otherwise.
    pub failed: Option<Trouble>,
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
    options: &Options,
    stop: &Stop,
    observer: &mut dyn LayoutObserver,
) -> Rounds {
    let mut rounds = Rounds::default();
    let ended = measure_layouts(command, planned, unbound, options, stop, observer, &mut rounds);
    match ended {
        None => {}
        Some(Trouble::Stopped(signal)) => rounds.interrupted = Some(signal),
        Some(trouble) => rounds.failed = Some(trouble),
    }
    rounds
}

/// What ended it early.
fn measure_layouts(
    command: &[Template],
    planned: &[PlacedCopy],
    unbound: &[PlacedCopy],
    options: &Options,
    stop: &Stop,
    observer: &mut dyn LayoutObserver,
    rounds: &mut Rounds,
) -> Option<Trouble> {
    let run = |copies: &[PlacedCopy], observer: &mut dyn LayoutObserver| {
        run_copies(command, copies, options, stop, &mut Through(observer))
    };
    let one = match run(&unbound[..unbound.len().min(1)], observer) {
        Ok(one) => one,
        Err(trouble) => return Some(trouble),
    };
    if let Some(trouble) = too_much_memory(&one, unbound.len(), options.memory) {
        return Some(trouble);
    }
    let trial = match run(unbound, observer) {
        Ok(trial) => trial,
        Err(trouble) => return Some(trouble),
    };
    let layouts = [planned, unbound];
    let all = options.rounds * layouts.len();
    observer.trial_done(trial.seconds * all as f64);
    let mut done = 0;
    let results =
        run_rounds(layouts.len(), options.rounds, |turn| match run(layouts[turn.alternative], observer) {
            Ok(one) => {
                done += 1;
                observer.run_done(turn.alternative == 0, &one, done, all);
                ControlFlow::Continue(one)
            }
            Err(trouble) => ControlFlow::Break(trouble),
        });
    for mut round in results.whole {
        rounds.unbound.extend(round.pop());
        rounds.planned.extend(round.pop());
    }
    results.ended
}

/// Hears of one run only.
struct Through<'a>(&'a mut dyn LayoutObserver);

impl RunObserver for Through<'_> {
    fn left(&mut self, names: &[String]) {
        self.0.left(names);
    }
}

/// Whether all copies would need more memory than there is, by what one took.
fn too_much_memory(one: &LayoutRun, copies: usize, free: Option<u64>) -> Option<Trouble> {
    let needed = one.usage.max_rss_bytes.saturating_mul(copies as u64);
    let free = free.filter(|free| copies > 1 && needed as f64 > *free as f64 * MEMORY_SHARE)?;

    Some(Trouble::NoRoom(text!(
        "copies-memory-short",
        "{copies} copies require {needed} ({each} each), {free} are free",
        copies = copies as u64,
        needed = Value::Bytes(needed),
        each = Value::Bytes(one.usage.max_rss_bytes),
        free = Value::Bytes(free)
    )))
}

/// Runs all copies once, started together.
fn run_copies(
    command: &[Template],
    copies: &[PlacedCopy],
    options: &Options,
    stop: &Stop,
    observer: &mut dyn RunObserver,
) -> Result<LayoutRun, Trouble> {
    let mut started = Vec::with_capacity(copies.len());
    for copy in copies {
        if let Some(signal) = stop.signal() {
            return Err(Trouble::Stopped(signal));
        }
        let argv = fill_all(command, &copy.values);
        let memory =
            copy.memory.as_ref().map(|(nodes, interleave)| Memory { nodes, interleave: *interleave });
        let spec = Spec {
            cpus: copy.cpus.as_ref(),
            memory,
            stdin: Input::Null,
            stdout: Output::Null,
            stderr: Output::Capture { limit: LAST_WORDS },
            env: &options.environment,
            own_group: true,
            gate: true,
            ..Spec::new(&argv)
        };
        started.push(Child::spawn(&spec).map_err(Trouble::CannotStart)?);
    }
    let root = Root::live();
    let before = Incidents::read(&root);
    started.iter_mut().for_each(Child::release);
    let mut waited: Vec<&mut Child> = started.iter_mut().collect();
    let ended = wait_all(&mut waited, stop, options.timeout, &mut ForwardToObserver(observer));
    let after = Incidents::read(&root);
    if let Some(signal) = stop.signal() {
        return Err(Trouble::Stopped(signal));
    }
    for child in &mut started {
        child.started().map_err(Trouble::CannotStart)?;
    }
    if ended.iter().any(|ended| ended.exit == Exit::TimedOut) {
        return Err(Trouble::TimedOut(options.timeout.unwrap_or_default().as_secs_f64()));
    }
    let words = |child: &mut Child| {
        let (out, err) = child.captured();
        (String::from_utf8_lossy(&out).into_owned(), String::from_utf8_lossy(&err).into_owned())
    };
    let outputs: Vec<(String, String)> = started.iter_mut().map(words).collect();
    if let Some(failed) = failure(&ended, &outputs) {
        return Err(Trouble::Failed(failed));
    }
    let mut usage = Usage::default();
    ended.iter().for_each(|ended| usage.add(&ended.usage));
    let seconds = ended.iter().map(|ended| ended.wall.as_secs_f64()).fold(1e-9, f64::max);
    let cpus = os::pin::allowed().unwrap_or_default();
    let cpus: Vec<u32> = cpus.iter().collect();
    Ok(LayoutRun {
        seconds,
        usage,
        marks: before.marks_until(&after, &cpus, usage.user + usage.system, seconds),
        left: names(&ended.iter().flat_map(|ended| ended.left.clone()).collect::<Vec<_>>()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let options = Options { rounds: 3, ..Options::default() };
        let rounds = run_layouts(
            &command(&["sh", "-c", &line]),
            &copies(2, Some(&here)),
            &copies(2, None),
            &options,
            &Stop::new(),
            &mut quiet,
        );
        assert!(rounds.failed.is_none() && rounds.interrupted.is_none(), "{rounds:?}");
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
            &Options { rounds: 6, ..Options::default() },
            &Stop::new(),
            &mut Quiet(Vec::new()),
        );
        let says = rounds.failed.unwrap().to_string();
        assert!(says.contains("code 3") && says.contains("no such table"), "{says}");
        assert!(rounds.planned.is_empty() && rounds.unbound.is_empty());
    }

    #[test]
    fn copies_that_memory_cannot_hold_are_not_started() {
        let usage = Usage { max_rss_bytes: 1 << 30, ..Usage::default() };
        let one = LayoutRun { seconds: 1.0, usage, marks: Vec::new(), left: Vec::new() };
        assert!(too_much_memory(&one, 4, Some(3 << 30)).is_some());
        assert_eq!(too_much_memory(&one, 1, Some(1 << 20)), None);
        assert_eq!(too_much_memory(&one, 4, None), None);
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
            &Options { rounds: 1, ..Options::default() },
            &Stop::new(),
            &mut Quiet(Vec::new()),
        );
        match rounds.failed {
            None => assert_eq!(rounds.planned.len(), 1),
            // A sandbox may refuse it, and says so.
            Some(trouble) => assert!(trouble.to_string().contains("SYS_NICE"), "{trouble}"),
        }
    }
}
