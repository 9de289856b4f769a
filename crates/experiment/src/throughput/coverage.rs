//! Coverage entries for items that could not be measured in a run of all steps.

use record::{Coverage, Text, Unavailable, text};

use super::run::{Run, StepRuns};
use super::{Job, Plan, Step};
use crate::failure::Failed;
use measure::counters;
use record::phrase::count_noun;

/// The reason why there is no IPC, on one line.
pub(super) fn report_missing_ipc(trial: &Run) -> Option<Coverage> {
    let why = trial.ipc.as_ref().err()?;
    let refusal = counters::availability().refusal.clone().unwrap_or_else(|| Unavailable::new(why.clone()));
    let reason = text!("no IPC: {why}", why = refusal.reason);
    Some(Unavailable { reason, ..refusal }.into_impossible(Coverage::COUNTERS))
}

/// The remark about a command that forks into the background.
pub(super) fn report_left_behind(job: &Job, trial: &Run) -> Option<Coverage> {
    (!trial.left.is_empty()).then(|| {
        let names = trial.left.join(", ");
        let reason = text!("the command exited before {names}: the measured time covers all processes");
        Coverage::degraded(job.recipe.name.clone(), reason).with_remedy(text!("start it in the foreground"))
    })
}

/// The remark about a step with fewer runs than planned.
pub(super) fn report_lost_runs(step: &Step, taken: &StepRuns) -> Option<Coverage> {
    let trouble = taken.trouble.as_ref()?;
    let placements: Vec<&str> = step.orders.iter().map(|order| order.name()).collect();
    let cpus = record::units::cpus(step.cpus.len() as u32);
    let what = format!("scale: {cpus}, {}", placements.join(" and "));
    let why = trouble.to_string();
    let mut lost = match taken.good().count() {
        0 => Coverage::skipped(what, text!("{trouble}", trouble = why)),
        1 => Coverage::degraded(what, text!("after 1 run: {trouble}", trouble = why)),
        runs => Coverage::degraded(what, text!("after {runs} runs: {trouble}", trouble = why)),
    };
    lost.remedy = trouble.way_out();
    Some(lost)
}

/// The remark if a signal ended a run without a result.
pub(super) fn describe_early_signal(signal: i32) -> Text {
    text!("by signal {signal} before the first run finished", signal = signal.unsigned_abs())
}

/// The remark about a signal that ended the measurement after `done` runs.
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
            "by signal {signal} after {runs} ({steps} complete)",
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

/// The remark about failed runs that are counted.
pub(super) fn report_counted_failures(job: &Job, taken: &[StepRuns]) -> Option<Coverage> {
    let runs = || taken.iter().flat_map(StepRuns::good);
    let failed: Vec<&Failed> = runs().filter_map(|run| run.failed.as_ref()).collect();
    let first = failed.first()?;
    let all = runs().count();
    Some(Coverage::degraded(
        job.recipe.name.clone(),
        text!(
            "{failed} of {all} runs failed but are counted; the first failed run {first}",
            failed = failed.len(),
            first = first.to_string()
        ),
    ))
}
