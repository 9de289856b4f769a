//! One run of a command on the CPUs of a step.

use measure::counters::{Counters, Set, Target};
use os::Stop;
use os::child::Usage;
use record::{CpuList, Mark, Text, text};

use super::Job;
use super::service::Running;
use crate::copies::{PlacedCopy, RunObserver, RunOptions, start_copies, wait_for_copies};
use crate::failure::{Failed, Trouble, shorten};
use crate::recipes::Recipe;
use crate::recipes::score::{self, Kind, Scored};
use crate::recipes::template::Values;

/// Number of output lines that are searched for a program's version.
const VERSION_LINES: usize = 500;

/// A run that counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Total work per second of all copies.
    pub throughput: f64,
    /// Unit of the work.
    pub unit: String,
    /// Wall time of each copy, seconds.
    pub seconds: Vec<f64>,
    /// Work per second of the fastest copy divided by that of the slowest; 1 for a single copy.
    pub imbalance: f64,
    /// Resource usage of all copies; memory is that of the largest process.
    pub usage: Usage,
    /// Instructions per cycle over all copies, from the counters, or the reason why there is no value.
    pub ipc: Result<f64, Text>,
    /// Events during the run.
    pub marks: Vec<Mark>,
    /// The number of placement checks before the run.
    pub look: u32,
    /// Names of processes that the command left behind; linespeed waited for these processes.
    pub left: Vec<String>,
    /// The failure of the run, if failures also count ([`Job::ignore_failure`]).
    pub failed: Option<Failed>,
    /// The program and the version that it printed.
    pub program: Option<String>,
}

/// Runs the command once on `cpus`: one copy pinned to each CPU, or one copy that may use all of them.
pub(super) fn run_step(
    job: &Job,
    cpus: &[u32],
    mut service: Option<&mut Running>,
    options: &RunOptions,
    stop: &Stop,
    observer: &mut dyn RunObserver,
) -> Result<Run, Trouble> {
    let recipe = &job.recipe;
    let set: CpuList = cpus.iter().copied().collect();
    if let Some(service) = &mut service {
        service.check(stop)?;
        service.pin_threads(&set);
    }
    let copies = place_copies(job, cpus, set);
    let read = !recipe.scores.is_empty() || recipe.expect.is_some();
    let mut started = start_copies(&recipe.command, &recipe.environment, &copies, read, options, stop)?;
    let count = |pid| Counters::open(Target::Process { pid, inherit: true, enable_on_exec: true }, Set::Core);
    let counters: Vec<Counters> = started.iter().map(|child| count(child.pid())).collect();
    let service_before = service.as_ref().map_or(0.0, |service| service.cpu_seconds());
    let run = wait_for_copies(&mut started, options, stop, observer)?;
    if let Some(service) = &mut service {
        service.check(stop)?;
        // A client also fails if its server dies, possibly before the server's exit is detected. In this case, the
        // server's exit is reported as the cause.
        if run.failed.is_some() {
            service.check_again(stop)?;
        }
    }
    if let Some(failed) = run.failed.as_ref().filter(|_| !job.ignore_failure) {
        let gone =
            job.recipe.settings.iter().find_map(|(name, setting)| setting.gone.get(job.values.get(name)?));
        return Err(gone.map_or_else(|| Trouble::Failed(failed.clone()), |says| Trouble::Gone(says.clone())));
    }
    let scores = run.outputs.iter().map(|(out, err)| read_score(recipe, &job.values, out, err));
    let scores = scores.collect::<Result<Vec<_>, _>>()?;
    let rated = run.seconds.iter().zip(&scores);
    let rates: Vec<f64> = rated.map(|(wall, score)| rate_copy(recipe, *wall, score.as_ref())).collect();
    let fastest = rates.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let service_used = service.as_ref().map_or(0.0, |service| service.cpu_seconds()) - service_before;
    let program = recipe.command.first().map(|program| program.fill(&job.values));
    let printed = run.outputs.first().and_then(|(out, _)| read_version(&program?.to_string_lossy(), out));
    let unit = scores.into_iter().flatten().next().map(|score| score.unit);
    Ok(Run {
        throughput: rates.iter().sum(),
        unit: unit.unwrap_or_else(|| recipe.unit.clone()),
        imbalance: fastest / slowest,
        ipc: read_ipc(&counters),
        marks: run.marks(cpus, service_used.max(0.0)),
        look: 0,
        usage: run.usage,
        left: run.left,
        seconds: run.seconds,
        failed: run.failed,
        program: printed,
    })
}

/// One copy per CPU, or a single one for all of them.
fn place_copies(job: &Job, cpus: &[u32], set: CpuList) -> Vec<PlacedCopy> {
    let place = |cpus: CpuList| {
        let mut values = job.values.clone();
        values.insert("threads".to_owned(), cpus.len().to_string());
        values.insert("cpus".to_owned(), cpus.to_string());
        PlacedCopy { cpus: Some(cpus), memory: None, values }
    };
    if !job.recipe.runs_copies() {
        return vec![place(set)];
    }
    cpus.iter().map(|cpu| place([*cpu].into_iter().collect())).collect()
}

/// Instructions divided by cycles over all copies; `Err` unless all copies were counted.
fn read_ipc(counters: &[Counters]) -> Result<f64, Text> {
    let (mut cycles, mut instructions) = (0.0, 0.0);
    for counters in counters {
        let reading = counters.read();
        let (Some(c), Some(i)) = (reading.get("cycles"), reading.get("instructions")) else {
            return Err(match counters.refused().first() {
                Some((event, why)) => text!("{event}: {why}", event = *event),
                None => text!("no counter was free for the command"),
            });
        };
        cycles += c.value;
        instructions += i.value;
    }
    if cycles > 0.0 { Ok(instructions / cycles) } else { Err(text!("the PMU counted no cycles")) }
}

/// Finds the program's version in its output, such as `sysbench 1.0.20`; openssl prints `version: 3.0.2`.
fn read_version(program: &str, out: &str) -> Option<String> {
    let program = program.rsplit('/').next()?;
    let words: Vec<&str> = out.lines().take(VERSION_LINES).flat_map(str::split_whitespace).collect();
    let follows = |pair: &&[&str]| {
        (pair[0] == program || pair[0] == "version:") && pair[1].starts_with(|c: char| c.is_ascii_digit())
    };
    let version = words.windows(2).find(follows)?[1].trim_end_matches(':');
    Some(format!("{program} {version}"))
}

/// The score in the output of a copy; `None` for a command without a score.
fn read_score(recipe: &Recipe, values: &Values, out: &str, err: &str) -> Result<Option<Scored>, Trouble> {
    let unreadable = |wanted: String| {
        let output = shorten(if out.trim().is_empty() { err } else { out });
        Err(Trouble::Unreadable(match output.as_str() {
            "" => format!("the command printed nothing, but {wanted} was expected"),
            output => format!("{wanted} not found in the command's output: {output}"),
        }))
    };
    if let Some(expect) = &recipe.expect {
        let found = score::compile(expect, values, false)
            .is_ok_and(|pattern| pattern.is_match(out) || pattern.is_match(err));
        if !found {
            return unreadable(format!("{expect:?}"));
        }
    }
    if recipe.scores.is_empty() {
        return Ok(None);
    }
    match score::find_first(&recipe.scores, out, err, values).map_err(Trouble::Unreadable)? {
        Some(score) => Ok(Some(score)),
        None => {
            let wanted: Vec<String> =
                recipe.scores.iter().map(|score| format!("{:?}", score.pattern)).collect();
            unreadable(format!("the score ({})", wanted.join(" or ")))
        }
    }
}

/// Work per second of one copy.
fn rate_copy(recipe: &Recipe, wall: f64, score: Option<&Scored>) -> f64 {
    match score {
        None => recipe.work / wall,
        Some(Scored { value, kind: Kind::Rate, .. }) => *value,
        Some(Scored { value, kind: Kind::Seconds, .. }) => recipe.work / value,
        Some(Scored { value, kind: Kind::Work, .. }) => value / wall,
    }
}

/// The runs of one step.
#[derive(Debug, Default)]
pub(super) struct StepRuns {
    /// The runs by round; `None` for a missing run.
    pub(super) runs: Vec<Option<Run>>,
    /// The reason why there are no further runs.
    pub(super) trouble: Option<Trouble>,
}

impl StepRuns {
    /// The runs that count.
    pub(super) fn good(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().flatten()
    }
}
