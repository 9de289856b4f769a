//! `linespeed scale`: measures a command or recipe on one to all CPUs.

use std::path::Path;

use experiment::copies::{RunOptions, raise_file_limit};
use experiment::failure::Trouble;
use experiment::recipes::{self, COMMAND, ChoiceError, Recipe, needs};
use experiment::throughput::{Job, Observer, Plan, Run, Step, measure_job};
use os::signals;
use record::{Coverage, Ended};
use report::terminal;
use report::view::View;

use super::measuring::{Measuring, Outcome, chosen_cpus, ended};
use crate::delivery::{Kept, hand_out};
use crate::failure::{Failure, signal_code};
use crate::options::{Options, Scale};
use crate::progress::Shown;
use crate::{files, output};
use ::drawn::recipes::{ListedRecipe, recipes as drawn_recipes};

/// Number of runs per step, by depth. A single run does not show the spread; six runs yield a confidence interval of the median.
const REPEATS: (usize, usize, usize) = (1, 3, 6);

/// Runs the command.
pub fn run(options: &Options, scale: &Scale) -> Result<u8, Failure> {
    let own = files::recipes();
    if scale.list {
        return list(options, own.as_deref());
    }
    let (one, usual, many) = REPEATS;
    let repeats = scale.repeat.map_or(options.measuring.depth().pick(one, usual, many), |runs| runs as usize);
    let (recipe, instead) = choose_recipe(scale, own.as_deref())?;
    let stop = signals::install();
    let mut measuring = Measuring::begin(options, options.measuring.quick)?;
    let cpus = chosen_cpus(options, Some(measuring.found.machine.allowed_cpus()))?;
    let machine = &measuring.found.machine;
    let plan = Plan::new(machine, &cpus, &scale.placement, scale.steps.as_ref()).map_err(Failure::Usage)?;
    raise_file_limit(cpus.len());

    let mut job = match recipe {
        Some(recipe) => {
            // A quick run uses the recipe's values for quick runs, and shows them as if they had been set with `--set`.
            let values = recipe.values(options.measuring.quick, &scale.set).map_err(Failure::Usage)?;
            Job { values, recipe, ignore_failure: false }
        }
        None => Job::from_command(&scale.command),
    };
    job.ignore_failure = scale.ignore_failure;
    let cached = job.recipe.within_caches(&job.values, machine);
    let memory = [os::memory_available(), machine.limits.memory_available_bytes];
    let how = RunOptions {
        rounds: repeats,
        timeout: scale.timeout,
        memory: memory.into_iter().flatten().min(),
        // PATH plus the directories of server programs, which many users do not have in their PATH.
        environment: vec![("PATH".into(), std::env::join_paths(needs::search_path()).unwrap_or_default())],
    };
    let mut progress = Shown::new(&options.out, &job.recipe.name, 0.0);
    let results = measure_job(&job, &plan, machine, how, stop, &mut progress);
    progress.finish();

    measuring.found.coverage.splice(..0, instead.into_iter().chain(cached));
    let outcome = Outcome {
        measurements: results.measurements,
        coverage: results.coverage,
        looks: results.looks,
        ended: match (results.interrupted, &results.failed) {
            (None, Some(trouble)) => Ended::Failed { reason: trouble.to_string() },
            (interrupted, _) => ended(interrupted),
        },
        ..Outcome::default()
    };
    let (record, destination) = measuring.finish(outcome, |_| {})?;
    if let (Some(trouble), true) = (&results.failed, record.measurements.is_empty()) {
        return Err(complaint(&job, trouble));
    }
    let kept = Kept::keep(options, &record, destination.as_deref());
    let all = options.out.all;
    let view = kept.view(options, &record, |screen, by| terminal::scale_answer(screen, &record, all, by));
    kept.deliver(options, &view, (false, true))?;
    match (results.interrupted, results.failed) {
        (Some(signal), _) => Ok(signal_code(signal)),
        (None, Some(trouble)) => Err(complaint(&job, &trouble)),
        (None, None) if record.measurements.is_empty() => Err(Failure::Cannot(format!(
            "{}: nothing could be measured, for the reasons above",
            job.recipe.name
        ))),
        (None, None) => Ok(super::run::found_code(&options.measuring, &record)),
    }
}

/// `scale --list`: prints every recipe with its description. With `--all`, also prints its settings and the programs
/// that are missing on this machine.
fn list(options: &Options, own: Option<&Path>) -> Result<u8, Failure> {
    let os_release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let folders = needs::search_path();
    let listed: Vec<ListedRecipe> = recipes::list_all(own)
        .into_iter()
        .map(|(name, found)| ListedRecipe::new(name, found, &folders, &os_release))
        .collect();
    let forms = View::new(|screen| drawn_recipes(screen, &listed, options.out.all));
    hand_out(options, &forms.with_value(listed.iter().map(ListedRecipe::to_json).collect())).map(|()| 0)
}

/// The error message: the subject, the problem and the remedy.
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

/// The specified recipe, with its programs located, and a coverage line if another recipe is substituted. Both are `None` for a
/// command.
fn choose_recipe(scale: &Scale, own: Option<&Path>) -> Result<(Option<Recipe>, Option<Coverage>), Failure> {
    let Some(name) = &scale.recipe else {
        let nothing =
            "nothing to run; use linespeed scale -- COMMAND or --recipe NAME (listed by scale --list)";
        return if scale.command.is_empty() { Err(Failure::usage(nothing)) } else { Ok((None, None)) };
    };
    let (recipe, instead) = recipes::choose_recipe(name, own).map_err(|error| match error {
        ChoiceError::Unknown(..) => Failure::Usage(error.to_string()),
        _ => Failure::Cannot(error.to_string()),
    })?;
    if let Some(reason) = instead.as_ref().and_then(|instead| instead.reason.as_ref()) {
        output::complain(&reason.to_string());
    }
    Ok((Some(recipe), instead))
}

impl Observer for Shown<'_> {
    fn preparing(&mut self) {
        self.verbose(&format!("{}: preparing the service", self.name));
    }

    fn trial_done(&mut self, seconds: f64, run: &Run) {
        let wall = run.seconds.iter().copied().fold(0.0, f64::max);
        self.verbose(&format!(
            "a trial on one CPU took {} and {} of memory; all runs will take about {}",
            record::units::figure(wall, "s"),
            record::units::bytes(run.usage.max_rss_bytes),
            record::units::figure(seconds, "s")
        ));
        self.begin_runs(seconds);
    }

    fn run_done(&mut self, step: &Step, done: usize, all: usize, result: &Result<Run, Trouble>) {
        let says = match result {
            Ok(run) => format!("{} {}/s", record::units::significant(run.throughput), run.unit),
            Err(trouble) => trouble.to_string(),
        };
        self.done(done, all, &format!("CPUs {}: {says}", step.set()));
    }
}
