//! `linespeed scale`: a command, or a recipe, from one CPU to all of them.

mod list;

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use experiment::copies::{RunObserver, RunOptions, raise_file_limit};
use experiment::failure::Trouble;
use experiment::recipes::{self, COMMAND, ChoiceError, Recipe, needs};
use experiment::throughput::{Job, Observer, Plan, Run, Step, measure_job};
use machine::Root;
use measure::Depth;
use measure::fill_order::{FILL_ORDERS, FillOrder};
use record::{Coverage, Ended};
use report::terminal;

use super::new_record;
use super::quiet::tuned_session;
use crate::delivery::{deliver, destination};
use crate::failure::Failure;
use crate::options::{Options, Scale};
use crate::progress::RunProgress;
use crate::{output, signals};

/// Runs of each step by depth: one tells nothing of its spread, six give an interval of the median.
const REPEATS: (usize, usize, usize) = (1, 3, 6);

/// Rounds at most: nobody waits for more.
const MOST_REPEATS: usize = 10_000;

/// Does what the command line says.
pub fn run(options: &Options, scale: &Scale) -> Result<u8, Failure> {
    let own = recipes::own_folder();
    if scale.list {
        return list::list(options, own.as_deref());
    }
    let repeats = repeats(options, scale)?;
    let timeout = timeout(scale.timeout.as_deref())?;
    let placements = placements(scale)?;
    let began = Instant::now();
    let (recipe, instead) = chosen(scale, own.as_deref())?;
    let stop = signals::install();
    let tuned = tuned_session::for_measuring(options)?;
    let root = Root::live();
    let found = machine::inspect(&root);
    let cpus = super::run::chosen_cpus(options, &found.machine)?;
    let plan = Plan::new(&found.machine, &cpus, &placements, scale.steps.as_ref())
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let mut record = new_record();
    let destination = destination(options, &found.machine, &record)?;
    raise_file_limit(cpus.len());

    let mut job = match recipe {
        Some(recipe) => Job { values: settings(options, scale, &recipe)?, recipe, ignore_failure: false },
        None => Job::from_command(&scale.command),
    };
    job.ignore_failure = scale.ignore_failure;
    let cached = job.recipe.within_caches(&job.values, &found.machine);
    let memory = [os::memory_available(), found.machine.limits.memory_available_bytes];
    let how = RunOptions {
        rounds: repeats,
        timeout,
        memory: memory.into_iter().flatten().min(),
        environment: vec![("PATH".into(), path())],
    };
    let mut watching = Watching(RunProgress::new(&options.out, &job.recipe.name));
    let results = measure_job(&job, &plan, &found.machine, how, stop, &mut watching);
    watching.0.finish();

    record.conditions.after = Some(machine::snapshot_since(&root, &found.snapshot));
    record.conditions.knobs = tuned_session::knobs(tuned.as_ref());
    drop(tuned);
    record.conditions.before = found.snapshot;
    record.machine = found.machine;
    record.measurements = results.measurements;
    record.coverage = results.coverage;
    record.coverage.extend(instead);
    record.coverage.extend(cached);
    record.coverage.extend(found.coverage);
    record.ended = match (&results.interrupted, &results.failed) {
        (Some(signal), _) => Ended::Interrupted { signal: *signal },
        (None, Some(trouble)) => Ended::Failed { reason: trouble.to_string() },
        (None, None) => Ended::Complete,
    };
    record.seconds = Some((began.elapsed().as_secs_f64() * 100.0).round() / 100.0);
    record.diagnosis = diagnose::diagnose(&record);
    if let (Some(trouble), true) = (&results.failed, record.measurements.is_empty()) {
        return Err(complaint(&job, trouble));
    }
    deliver(options, &record, destination.as_deref(), terminal::scale)?;
    match (results.interrupted, results.failed) {
        (Some(signal), _) => Ok(128 + signal as u8),
        (None, Some(trouble)) => Err(complaint(&job, &trouble)),
        (None, None) if record.measurements.is_empty() => Err(Failure::Cannot(format!(
            "{}: nothing could be measured; what stood in the way is told above",
            job.recipe.name
        ))),
        (None, None) => Ok(super::run::found_code(&options.measuring, &record)),
    }
}

/// What went wrong, with what it was about and the way out.
fn complaint(job: &Job, trouble: &Trouble) -> Failure {
    let typed = job.recipe.name == COMMAND;
    match trouble {
        Trouble::CannotStart(refused) if typed => return Failure::Refused(refused.clone()),
        Trouble::CannotStart(_) | Trouble::Service(_) => return Failure::Cannot(trouble.to_string()),
        _ => {}
    }
    let about = if typed { String::new() } else { format!("recipe {}: ", job.recipe.name) };
    let way_out = trouble.way_out().map_or(String::new(), |way_out| format!(" ({way_out})"));
    Failure::Cannot(format!("{about}{trouble}{way_out}"))
}

/// Rounds, by --repeat or the depth.
fn repeats(options: &Options, scale: &Scale) -> Result<usize, Failure> {
    match scale.repeat {
        None => Ok(options.measuring.depth().pick(REPEATS.0, REPEATS.1, REPEATS.2)),
        Some(0) => Err(Failure::Usage("--repeat 0 measures nothing; write 1 or more".to_owned())),
        Some(repeats) if repeats > MOST_REPEATS => {
            Err(Failure::Usage(format!("--repeat {repeats} is too many; write 1 to {MOST_REPEATS}")))
        }
        Some(repeats) => Ok(repeats),
    }
}

/// The time that --timeout allows a run.
pub(super) fn timeout(text: Option<&str>) -> Result<Option<Duration>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let seconds = record::units::parse_seconds(text)
        .map_err(|why| Failure::Usage(format!("--timeout {text}: {why}")))?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if !duration.is_zero() => Ok(Some(duration)),
        _ => Err(Failure::Usage(format!("--timeout {text}: write a time above 0, for instance 30s or 5m"))),
    }
}

fn placements(scale: &Scale) -> Result<Vec<FillOrder>, Failure> {
    let mut chosen = Vec::new();
    for name in &scale.placement {
        let Some(order) = FillOrder::find(name) else {
            let names: Vec<&str> = FILL_ORDERS.iter().map(|order| order.name()).collect();
            return Err(Failure::Usage(format!(
                "--placement {name}: there is no such placement; there are: {}",
                names.join(", ")
            )));
        };
        if !chosen.contains(&order) {
            chosen.push(order);
        }
    }
    Ok(chosen)
}

/// The recipe that was named, with its programs found; the second is what to say when another one takes its place.
/// `None` for a command.
fn chosen(scale: &Scale, own: Option<&Path>) -> Result<(Option<Recipe>, Option<Coverage>), Failure> {
    let Some(name) = &scale.recipe else {
        if scale.command.is_empty() {
            return Err(Failure::Usage(
                "nothing to run; write linespeed scale -- COMMAND, or --recipe NAME (scale --list names them)"
                    .to_owned(),
            ));
        }
        if let Some(set) = scale.set.first() {
            return Err(Failure::Usage(format!(
                "--set {set}: only recipes have settings; name one with --recipe"
            )));
        }
        return Ok((None, None));
    };
    if !scale.command.is_empty() {
        return Err(Failure::Usage("a recipe brings its own command; leave out what follows --".to_owned()));
    }
    let (recipe, instead) = recipes::choose(name, own).map_err(|error| match error {
        ChoiceError::Unknown(..) => Failure::Usage(error.to_string()),
        _ => Failure::Cannot(error.to_string()),
    })?;
    if let Some(reason) = instead.as_ref().and_then(|instead| instead.reason.as_ref()) {
        output::complain(&reason.to_string());
    }
    Ok((Some(recipe), instead))
}

/// The recipe's settings: small in a quick run, and as --set says.
fn settings(options: &Options, scale: &Scale, recipe: &Recipe) -> Result<recipes::template::Values, Failure> {
    let pairs = scale.set.iter().map(|set| match set.split_once('=') {
        Some((name, value)) if !value.contains('\0') => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Failure::Usage(format!("--set {set}: write NAME=VALUE"))),
    });
    let pairs = pairs.collect::<Result<Vec<_>, _>>()?;
    let small = options.measuring.depth() == Depth::Quick;
    recipe.values(small, &pairs).map_err(|error| Failure::Usage(error.to_string()))
}

/// PATH with the folders of servers, which are not on everybody's.
fn path() -> OsString {
    std::env::join_paths(needs::search_path()).unwrap_or_default()
}

/// Shows how far it is.
struct Watching<'a>(RunProgress<'a>);

impl RunObserver for Watching<'_> {
    fn left(&mut self, names: &[String]) {
        self.0.left(names);
    }
}

impl Observer for Watching<'_> {
    fn preparing(&mut self) {
        self.0.verbose(&format!("{}: preparing the service", self.0.name));
    }

    fn trial_done(&mut self, seconds: f64, run: &Run) {
        let wall = run.seconds.iter().copied().fold(0.0, f64::max);
        self.0.verbose(&format!(
            "trial on one CPU: {}, {} of memory; all runs take about {}",
            record::units::figure(wall, "s"),
            record::units::bytes(run.usage.max_rss_bytes),
            record::units::figure(seconds, "s")
        ));
        self.0.begin(seconds);
    }

    fn run_done(&mut self, step: &Step, done: usize, all: usize, result: &Result<Run, Trouble>) {
        let says = match result {
            Ok(run) => format!("{} {}/s", record::units::significant(run.throughput), run.unit),
            Err(trouble) => trouble.to_string(),
        };
        self.0.done(done, all, &format!("CPUs {}: {says}", step.set()));
    }
}
