//! Determines by experiment which resources a command needs. Plain runs alternate with runs on huge pages, on fewer CPUs, and on these
//! fewer CPUs next to a program that uses memory bandwidth or the last-level cache. A slowdown shows that the command needs the affected
//! resource; a speedup on huge pages shows page-walk overhead.

use std::ffi::{OsStr, OsString};
use std::time::Instant;

use machine::Root;
use measure::command::{self, Job, Run, SharedInput};
use measure::competitor::{Competitor, Resource};
use measure::fill_order::FillOrder;
use os::Stop;
use os::child::{Exit, Process, SpawnError};
use record::command_run::{Probe, ProbeKind};
use record::difference::{Scale, compare_pairs, least_rounds};
use record::{Coverage, CpuList, Machine, Text, text};

use crate::failure::{Failed, Trouble, check_stop};
use crate::rounds::run_rounds;

/// The tunable that makes the C library request huge pages (glibc 2.35).
const HUGE_PAGES: &str = "glibc.malloc.hugetlb=1";
const TUNABLES: &str = "GLIBC_TUNABLES";
/// The tunable had no effect if at least this share of the page faults remains.
const SAME_FAULTS: f64 = 0.8;
/// The number of simultaneous comparisons.
const COMPARISONS: usize = 4;
/// One in this many CPUs, but at least one CPU, is used by competitors.
const TAKEN: usize = 8;

/// A way in which the command is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Plain,
    HugePages,
    Fewer,
    Beside(Resource),
}

/// The result of a probe.
#[derive(Debug, Default)]
pub struct Probed {
    /// Runs of the unchanged command.
    pub plain: Vec<Run>,
    /// The effect of each change.
    pub probes: Vec<Probe>,
    /// Changes that could not be tried, with the reasons.
    pub coverage: Vec<Coverage>,
    /// The reason why the command could not be started.
    pub refused: Option<SpawnError>,
    /// The signal that ended the probe early.
    pub interrupted: Option<i32>,
}

/// Maximum number of different ways in which the command is run.
pub const MOST_WAYS: usize = 5;

/// Minimum number of rounds for an interval.
pub fn fewest_rounds() -> usize {
    least_rounds(COMPARISONS)
}

/// Runs the command in every `Way`, for this many rounds. An earlier run must already have used `input`. The expected time of the remaining
/// rounds, in seconds, is passed to `left` after the first round. It cannot be estimated earlier, because the command is slower with
/// competitors.
pub fn probe(
    job: &Job,
    machine: &Machine,
    rounds: usize,
    input: &mut SharedInput,
    stop: &Stop,
    left: &mut dyn FnMut(f64),
) -> Probed {
    let mut probed = Probed::default();
    if input.before(1) {
        let why = text!(
            "probe-input-read",
            "the command consumed its standard input (a pipe), so later runs have no input"
        );
        let remedy = text!("use a file instead: < FILE");
        probed.coverage.push(Coverage::skipped("probes", why).with_remedy(remedy));
        return probed;
    }
    let (ways, fewer, taken) = plan(job, machine, &mut probed.coverage);
    let mut plain_runs = Vec::new();
    let began = Instant::now();
    let mut heard = false;
    let done = run_rounds(ways.len(), rounds, |turn| {
        use std::ops::ControlFlow::{Break, Continue};
        if turn.round == 1 && !std::mem::replace(&mut heard, true) {
            left(began.elapsed().as_secs_f64() * (rounds - 1) as f64);
        }
        match run_once(job, ways[turn.alternative], machine, fewer.as_ref(), &taken, input, stop) {
            Ok(run) => {
                let (figures, exit) = (Figures::of(&run), run.ended.exit);
                // A failed run is saved only if it is the first run of the unchanged command.
                let has_failed = exit != Exit::Code(0);
                if ways[turn.alternative] == Way::Plain && (!has_failed || plain_runs.is_empty()) {
                    plain_runs.push(run);
                }
                if has_failed {
                    Break(Trouble::Failed(Failed::alone(exit, None, &[])))
                } else {
                    Continue(figures)
                }
            }
            Err(trouble) => Break(trouble),
        }
    });
    match done.ended {
        Some(Trouble::CannotStart(why)) => probed.refused = Some(why),
        Some(Trouble::Stopped(signal)) => probed.interrupted = Some(signal),
        Some(Trouble::NoRoom(why)) => probed.coverage.push(Coverage::skipped("probes", why)),
        Some(_) => {
            let why = text!("a run of the command failed, so the probes ended early");
            probed.coverage.push(Coverage::degraded("probes", why));
        }
        None => {}
    }
    probed.plain = plain_runs;
    let at = |way: Way| ways.iter().position(|other| *other == way);
    let compare = |kind: ProbeKind, way: Way, base: Way, of: fn(&Figures) -> f64| {
        let (way, base) = (at(way)?, at(base)?);
        let pairs: Vec<(f64, f64)> =
            done.whole.iter().map(|round| (of(&round[way]), of(&round[base]))).collect();
        let compared = compare_pairs(&pairs, Scale::Ratio, COMPARISONS, None);
        // Converts the relative difference (the decrease in time from the changed run to the unchanged one) into the ratio of their times.
        let ratio = |less: f64| 1.0 / (1.0 - less).max(1e-9);
        (compared.rounds > 0).then(|| Probe {
            kind,
            ratio: ratio(compared.less_by),
            interval: compared.interval.map(|(low, high)| (ratio(low), ratio(high))),
            rounds: compared.rounds as u64,
            cpus: fewer.as_ref().filter(|_| kind != ProbeKind::HugePages).map(ToString::to_string),
        })
    };
    probed.probes = [
        compare(ProbeKind::HugePages, Way::HugePages, Way::Plain, |f| f.cpu),
        compare(ProbeKind::Bandwidth, Way::Beside(Resource::Bandwidth), Way::Fewer, |f| f.cpu),
        compare(ProbeKind::Cache, Way::Beside(Resource::Cache), Way::Fewer, |f| f.cpu),
        compare(ProbeKind::FewerCpus, Way::Fewer, Way::Plain, |f| f.wall),
        compare(ProbeKind::FewerCpusTime, Way::Fewer, Way::Plain, |f| f.cpu),
    ]
    .into_iter()
    .flatten()
    .collect();
    if let (Some(huge), Some(plain)) = (at(Way::HugePages), at(Way::Plain)) {
        let faults = |way: usize| done.whole.iter().map(|round| round[way].faults).sum::<f64>();
        if faults(huge) > SAME_FAULTS * faults(plain) {
            let why = text!(
                "glibc's huge-page tunable had no effect: the command uses little memory or another allocator"
            );
            probed.coverage.push(Coverage::skipped("probe huge pages", why));
            probed.probes.retain(|probe| probe.kind != ProbeKind::HugePages);
        }
    }
    probed
}

/// The compared result of a run.
#[derive(Clone, Copy, Debug)]
struct Figures {
    wall: f64,
    /// The CPU time, which includes waits for memory but excludes the time used by other processes.
    cpu: f64,
    faults: f64,
}

impl Figures {
    fn of(run: &Run) -> Self {
        let usage = &run.ended.usage;
        Self {
            wall: run.ended.wall.as_secs_f64(),
            cpu: (usage.user + usage.system).max(1e-6),
            faults: usage.minor_faults as f64,
        }
    }
}

/// The ways that can be tried here, the CPUs left to the command, and the CPUs of the competitors.
fn plan(job: &Job, machine: &Machine, coverage: &mut Vec<Coverage>) -> (Vec<Way>, Option<CpuList>, CpuList) {
    let mut ways = vec![Way::Plain];
    match why_no_huge_pages() {
        None => ways.push(Way::HugePages),
        Some(why) => coverage.push(Coverage::skipped("probe huge pages", why)),
    }
    let cpus = job.cpus.cloned().or_else(os::pin::allowed).unwrap_or_default();
    // Whole cores, starting with those that the command would use last.
    let order = FillOrder::SiblingsFirst.cpus(machine, &cpus);
    let keep = order.len() - (order.len() / TAKEN).max(1).min(order.len());
    let (left, taken) = order.split_at(keep);
    if left.is_empty() {
        let why = text!("the competing programs need a second CPU");
        coverage.push(Coverage::skipped("probe beside others", why));
        return (ways, None, CpuList::default());
    }
    ways.extend([Way::Fewer, Way::Beside(Resource::Bandwidth), Way::Beside(Resource::Cache)]);
    (ways, Some(left.iter().copied().collect()), taken.iter().copied().collect())
}

fn why_no_huge_pages() -> Option<Text> {
    let setting = Root::live().text("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    match setting.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
        Some(("madvise", _)) => None,
        Some(("always", _)) => Some(text!("huge pages are already in use: THP is set to always")),
        _ => Some(text!("transparent huge pages are off, or not supported by this kernel")),
    }
}

fn run_once(
    job: &Job,
    way: Way,
    machine: &Machine,
    fewer: Option<&CpuList>,
    taken: &CpuList,
    input: &mut SharedInput,
    stop: &Stop,
) -> Result<Run, Trouble> {
    check_stop(stop)?;
    let _competitor = match way {
        Way::Beside(resource) => {
            let no_room =
                |error: std::io::Error| Trouble::NoRoom(text!("not enough memory for a competitor: {error}"));
            Some(Competitor::start(resource, machine, taken).map_err(no_room)?)
        }
        _ => None,
    };
    let mut env = job.env.to_vec();
    if way == Way::HugePages {
        env.push((TUNABLES.into(), with_huge_pages(std::env::var_os(TUNABLES).as_deref())));
    }
    let cpus = if matches!(way, Way::Plain | Way::HugePages) { job.cpus } else { fewer };
    let job = Job { cpus, env: &env, events: false, samples: None, ..*job };
    let run =
        command::run_silent(&job, input, stop, &mut |_: &[Process]| {}).map_err(Trouble::CannotStart)?;
    check_stop(stop).map(|()| run)
}

/// The tunables that are already set, plus the one for huge pages.
fn with_huge_pages(own: Option<&OsStr>) -> OsString {
    let mut all = own.map(OsStr::to_owned).unwrap_or_default();
    if !all.is_empty() {
        all.push(":");
    }
    all.push(HUGE_PAGES);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        ["sh", "-c", line].map(OsString::from).to_vec()
    }

    #[test]
    fn each_change_is_tried_and_has_its_ratio() {
        let (argv, machine) = (words("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"), Machine::default());
        let job = Job { argv: &argv, cpus: None, env: &[], events: false, samples: None, guard: None };
        let mut left = Vec::new();
        let mut hear = |seconds| left.push(seconds);
        let probed = probe(&job, &machine, 2, &mut SharedInput::Other, &Stop::new(), &mut hear);
        assert!(left.len() == 1 && left[0] > 0.0, "the first round must report the remaining time: {left:?}");
        assert_eq!(probed.plain.len(), 2);
        assert!(probed.probes.iter().all(|probe| probe.ratio > 0.0 && probe.rounds == 2), "{probed:?}");
        let kinds: Vec<ProbeKind> = probed.probes.iter().map(|probe| probe.kind).collect();
        if os::pin::allowed().is_some_and(|cpus| cpus.len() > 1) {
            assert!(kinds.contains(&ProbeKind::Bandwidth) && kinds.contains(&ProbeKind::Cache), "{kinds:?}");
        }
        assert!(!kinds.contains(&ProbeKind::HugePages), "a shell with a few pages does not use huge pages");
        assert!(probed.coverage.iter().any(|one| one.what == "probe huge pages"));
    }

    #[test]
    fn a_command_that_fails_is_run_once_and_one_that_is_stopped_not_at_all() {
        let (argv, machine) = (words("exit 3"), Machine::default());
        let job = Job { argv: &argv, cpus: None, env: &[], events: false, samples: None, guard: None };
        let probed = probe(&job, &machine, 5, &mut SharedInput::Other, &Stop::new(), &mut |_| {});
        assert_eq!(probed.plain.iter().map(|run| run.ended.exit).collect::<Vec<_>>(), [Exit::Code(3)]);
        assert!(probed.probes.is_empty());
        let stop = Stop::new();
        stop.ask(libc::SIGINT);
        let probed = probe(&job, &machine, 5, &mut SharedInput::Other, &stop, &mut |_| {});
        assert_eq!((probed.plain.len(), probed.interrupted), (0, Some(libc::SIGINT)));
    }

    #[test]
    fn tunables_that_there_are_stay() {
        assert_eq!(with_huge_pages(None), HUGE_PAGES);
        assert_eq!(with_huge_pages(Some(OsStr::new("a=1"))), "a=1:glibc.malloc.hugetlb=1");
    }
}
