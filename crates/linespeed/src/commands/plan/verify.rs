//! `linespeed plan --verify -- COMMAND`: the same work as planned and unbound, in turn.

use diagnose::judge_verification;
use experiment::layouts::{self, LayoutRun, PLACEHOLDERS, PlacedCopy};
use experiment::recipes::template::{Template, Values};
use experiment::rounds::is_forward;
use experiment::throughput::{RunObserver, Trouble};
use os::child::Guard;
use record::phrase::count_noun;
use record::plan::{Plan as Layout, Policy, Process, Verification};
use record::{CpuList, Mark, units};

use crate::commands::quiet::tuned_session;
use crate::commands::scale::{FILES_A_COPY, raise_file_limit, timeout};
use crate::failure::Failure;
use crate::options::{Options, Plan};
use crate::progress::Shown;
use crate::{output, signals};

/// Marks that a run can have, in the order in which they are told.
const MARKS: [Mark; 4] = [Mark::Switched, Mark::Stolen, Mark::Throttled, Mark::Quota];

/// Runs the command both ways and puts what it gave into the plan; returns the exit code.
pub fn run(options: &Options, plan: &Plan, made: &mut Layout) -> Result<u8, Failure> {
    let timeout = timeout(plan.timeout.as_deref())?;
    let command: Vec<Template> =
        plan.command.iter().map(|word| Template::typed_with(word, &PLACEHOLDERS)).collect();
    let (planned, mut how) = planned(&command, made)?;
    let unbound = unbound(made, &planned, options.measuring.cpus.as_ref());
    let stop = signals::install();
    raise_file_limit(planned.len() as u64 * FILES_A_COPY);
    let tuned = tuned_session::for_measuring(options)?;
    let knobs = tuned_session::knobs(tuned.as_ref());
    if let Some(quiet) = report::terminal::quiet_machine(&record::Conditions { knobs, ..Default::default() })
    {
        how = format!("{how} {quiet}");
    }
    // Before any process is started, and the last to go.
    let guard = Guard::new(None);
    let how_to_run = layouts::Options {
        rounds: plan.repeat as usize,
        timeout,
        memory: os::memory_available(),
        environment: vec![guard.variable()],
    };
    let mut watching = Watching { options, bar: None, told: false };
    let rounds = layouts::run_layouts(&command, &planned, &unbound, &how_to_run, stop, &mut watching);
    if let Some(bar) = &watching.bar {
        bar.finish();
    }
    drop(guard);
    match &rounds.failed {
        None => {}
        Some(Trouble::CannotStart(refused)) => return Err(Failure::Refused(refused.clone())),
        Some(trouble) => return Err(Failure::Cannot(trouble.to_string())),
    }
    let seconds = |runs: &[LayoutRun]| runs.iter().map(|took| took.seconds).collect::<Vec<f64>>();
    let mut verified = Verification {
        command: plan.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        how,
        planned: seconds(&rounds.planned),
        unbound: seconds(&rounds.unbound),
        marks: marks(rounds.planned.iter().chain(&rounds.unbound)),
        ..Verification::default()
    };
    judge_verification(&mut verified, made, is_forward);
    let code = match rounds.interrupted {
        None => 0,
        Some(signal) => {
            verified.says = format!(
                "Interrupted by signal {signal} after {}. {}",
                count_noun(verified.planned.len(), "round"),
                verified.says
            );
            128u8.wrapping_add(signal as u8)
        }
    };
    made.verification = Some(verified);
    Ok(code)
}

/// The copies as planned, and how they are run in a sentence.
fn planned(command: &[Template], plan: &Layout) -> Result<(Vec<PlacedCopy>, String), Failure> {
    let told = command.iter().flat_map(Template::places).next().is_some();
    let bound = |process: &Process, cpus: &CpuList, threads: u32| PlacedCopy {
        // Where only memory is set, or nothing is, threads may run everywhere.
        cpus: (!cpus.is_empty() && process.policy != Policy::Interleave).then(|| cpus.clone()),
        memory: (!process.memory.is_empty())
            .then(|| (process.memory.clone(), process.policy == Policy::Interleave)),
        values: values(process, threads, cpus, &process.nodes),
    };
    if told {
        if plan.pastes.is_empty() {
            return Err(Failure::Cannot(
                "this layout is what happens without it, so there is nothing to verify; leave {threads} out for a copy \
                 pinned to each CPU, or ask for several processes with --processes N"
                    .to_owned(),
            ));
        }
        let all: Vec<PlacedCopy> = plan
            .processes
            .iter()
            .map(|process| bound(process, &process.cpus, process.threads.unwrap_or(1)))
            .collect();
        let bound =
            if all.iter().any(|one| one.memory.is_some()) { "its CPUs and nodes" } else { "its CPUs" };
        let how = match all.len() {
            1 if made_of(plan, Policy::Interleave) => {
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
fn made_of(plan: &Layout, policy: Policy) -> bool {
    plan.processes.iter().all(|process| process.policy == policy)
}

/// The same copies unbound, on all CPUs or all that --cpus names: the same threads and numbers.
fn unbound(plan: &Layout, planned: &[PlacedCopy], within: Option<&CpuList>) -> Vec<PlacedCopy> {
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
fn marks<'a>(runs: impl Iterator<Item = &'a LayoutRun> + Clone) -> Vec<(Mark, u32)> {
    MARKS
        .into_iter()
        .map(|mark| (mark, runs.clone().filter(|took| took.marks.contains(&mark)).count() as u32))
        .filter(|(_, count)| *count > 0)
        .collect()
}

/// Shows how far it is.
struct Watching<'a> {
    options: &'a Options,
    bar: Option<Shown>,
    told: bool,
}

impl Watching<'_> {
    fn verbose(&self, words: &str) {
        if self.options.out.verbose {
            output::complain(words);
        }
    }
}

impl RunObserver for Watching<'_> {
    fn left(&mut self, names: &[String]) {
        if !self.options.out.quiet_output && !self.told {
            self.told = true;
            output::complain(&format!(
                "the command has ended, but {} that it started has not: waiting for it (Ctrl-C ends it; --timeout limits it)",
                names.join(", ")
            ));
        }
    }
}

impl layouts::LayoutObserver for Watching<'_> {
    fn trial_done(&mut self, seconds: f64) {
        self.verbose(&format!("trial done; all rounds take about {}", units::figure(seconds, "s")));
        let mut bar = Shown::new(&self.options.out, seconds);
        measure::Progress::begin(&mut bar, "verify", seconds);
        self.bar = Some(bar);
    }

    fn run_done(&mut self, planned: bool, took: &LayoutRun, done: usize, all: usize) {
        let which = if planned { "as planned" } else { "unbound" };
        self.verbose(&format!("{done} of {all}: {which}: {}", units::figure(took.seconds, "s")));
        if let Some(bar) = &mut self.bar {
            measure::Progress::advance(bar, done as f64 / all.max(1) as f64);
        }
    }
}
