//! What a run of all steps says of what it could not measure: lines of the coverage.

use record::{Coverage, Measurement, Text, Unavailable, text};

use super::run::Run;
use super::step_runs::StepRuns;
use super::{Job, Plan, Step};
use crate::failure::Failed;
use measure::counters;
use record::phrase::count_noun;

/// What to say of a figure outside its metric's physical bounds, which is withheld: a program may print anything.
pub(super) fn withhold_implausible(measurement: &Measurement) -> Option<Coverage> {
    let (least, most) = measurement.metric.definition()?.plausible;
    let value = measurement.value();
    (!(least..=most).contains(&value)).then(|| {
        let reason = text!(
            "withheld: {metric} of {figure} is physically implausible",
            metric = measurement.metric.name(),
            figure = record::units::figure(value, &measurement.unit)
        );
        Coverage::skipped("scale", reason)
    })
}

/// Why there is no IPC, in one line.
pub(super) fn report_missing_ipc(trial: &Run) -> Option<Coverage> {
    let why = trial.ipc.as_ref().err()?;
    let refusal = counters::availability().refusal.clone().unwrap_or_else(|| Unavailable::new(why.clone()));
    let reason = text!("no IPC: {why}", why = refusal.reason);
    Some(Unavailable { reason, ..refusal }.into_impossible(Coverage::COUNTERS))
}

/// What to say of a command that forks away.
pub(super) fn report_left_behind(job: &Job, trial: &Run) -> Option<Coverage> {
    (!trial.left.is_empty()).then(|| {
        let names = trial.left.join(", ");
        let reason = text!(
            "the command ended while {names} was still running: its time is until the last process ended",
            names
        );
        Coverage::degraded(job.recipe.name.clone(), reason).with_remedy(text!("start it in the foreground"))
    })
}

/// What to say of a step that has fewer runs than it should.
pub(super) fn report_lost_runs(step: &Step, taken: &StepRuns) -> Option<Coverage> {
    let trouble = taken.trouble.as_ref()?;
    let placements: Vec<&str> = step.placements.iter().map(|order| order.name()).collect();
    let cpus = record::units::cpus(step.cpus.len() as u32);
    let what = format!("scale: {cpus}, {}", placements.join(" and "));
    let why = trouble.to_string();
    let mut lost = match taken.good().count() {
        0 => Coverage::skipped(what, text!("{trouble}", trouble = why)),
        1 => Coverage::degraded(what, text!("after 1 run: {trouble}", trouble = why)),
        runs => Coverage::degraded(what, text!("after {runs} runs: {trouble}", runs, trouble = why)),
    };
    lost.remedy = trouble.way_out();
    Some(lost)
}

/// When a signal ended a run that has no figure yet.
pub(super) fn describe_early_signal(signal: i32) -> Text {
    text!("by signal {signal} before the first run was over", signal = signal.unsigned_abs())
}

/// What to say of a signal that ended it: how far it had come. `done` runs were over.
pub(super) fn report_interruption(
    signal: i32,
    plan: &Plan,
    taken: &[StepRuns],
    done: usize,
    rounds: usize,
) -> Coverage {
    let steps = plan.steps.len();
    let whole = taken.iter().filter(|taken| taken.good().count() >= rounds).count();
    let reason = match done {
        0 => describe_early_signal(signal),
        _ => text!(
            "by signal {signal} after {runs}: {steps} with all runs",
            signal = signal.unsigned_abs(),
            runs = format!("{done} of {}", count_noun(steps * rounds, "run")),
            steps = format!("{whole} of {}", count_noun(steps, "step"))
        ),
    };
    let reason = text!(Coverage::INTERRUPTED, when = reason);
    match taken.iter().any(|taken| taken.good().next().is_some()) {
        true => Coverage::degraded("scale", reason),
        false => Coverage::skipped("scale", reason),
    }
}

/// What to say of runs that failed and count all the same.
pub(super) fn report_counted_failures(job: &Job, taken: &[StepRuns]) -> Option<Coverage> {
    let runs = || taken.iter().flat_map(StepRuns::good);
    let failed: Vec<&Failed> = runs().filter_map(|run| run.failed.as_ref()).collect();
    let first = failed.first()?;
    let all = runs().count();
    Some(Coverage::degraded(
        job.recipe.name.clone(),
        text!(
            "{failed} of {all} runs failed and are counted: the first {first}",
            failed = failed.len(),
            all,
            first = first.to_string()
        ),
    ))
}
