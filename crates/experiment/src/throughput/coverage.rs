//! What a run of all steps says of what it could not measure: lines of the coverage.

use record::{Coverage, Measurement, Text, Unavailable, text};

use super::rounds::StepRuns;
use super::run::{Failed, Run};
use super::{Job, Plan, Step};
use measure::counters;

/// What to say of a figure outside its metric's physical bounds, which is withheld: a program may print anything.
pub(crate) fn implausible(measurement: &Measurement) -> Option<Coverage> {
    let (least, most) = record::metrics::find(&measurement.metric)?.plausible;
    let value = measurement.value();
    (!(least..=most).contains(&value)).then(|| {
        let reason = text!(
            "scale-figure-implausible",
            "withheld: {metric} of {figure} is physically implausible",
            metric = measurement.metric.clone(),
            figure = record::units::figure(value, &measurement.unit)
        );
        Coverage::skipped("scale", reason)
    })
}

/// Why there is no IPC, in one line.
pub(crate) fn without_ipc(trial: &Run) -> Option<Coverage> {
    let why = trial.ipc.as_ref().err()?;
    let refusal = counters::availability().refusal.clone().unwrap_or_else(|| Unavailable::new(why.clone()));
    let reason = text!("scale-no-ipc", "no IPC: {why}", why = refusal.reason);
    Some(Unavailable { reason, ..refusal }.into_impossible(Coverage::COUNTERS))
}

/// What to say of a command that forks away.
pub(crate) fn left_behind(job: &Job, trial: &Run) -> Option<Coverage> {
    (!trial.left.is_empty()).then(|| {
        let names = trial.left.join(", ");
        let reason = text!(
            "scale-left-behind",
            "the command ended while {names} was still running: its time is until the last process ended",
            names
        );
        Coverage::degraded(job.name.clone(), reason)
            .with_remedy(text!("scale-foreground", "start it in the foreground"))
    })
}

/// `4 CPUs, cores-first`.
pub(crate) fn called(step: &Step) -> String {
    let placements: Vec<&str> = step.placements.iter().map(|order| order.name()).collect();
    let cpus = record::units::cpus(step.cpus.len() as u32);
    format!("{cpus}, {}", placements.join(" and "))
}

/// What to say of a step that has fewer runs than it should.
pub(crate) fn lost(step: &Step, taken: &StepRuns) -> Option<Coverage> {
    let trouble = taken.trouble.as_ref()?;
    let runs = taken.good().count();
    let what = format!("scale: {}", called(step));
    let lost = match runs {
        0 => Coverage::skipped(what, text!("scale-step-not-run", "{trouble}", trouble = trouble.to_string())),
        1 => Coverage::degraded(
            what,
            text!("scale-after-one-run", "after 1 run: {trouble}", trouble = trouble.to_string()),
        ),
        _ => Coverage::degraded(
            what,
            text!("scale-after-runs", "after {runs} runs: {trouble}", runs, trouble = trouble.to_string()),
        ),
    };
    Some(match trouble.way_out() {
        Some(way_out) => lost.with_remedy(way_out),
        None => lost,
    })
}

/// When a signal ended a run that has no figure yet.
pub(crate) fn before_first_run(signal: i32) -> Text {
    text!(
        "scale-signal-before",
        "by signal {signal} before the first run was over",
        signal = signal.unsigned_abs()
    )
}

/// What to say of a signal that ended it: how far it had come. `runs` of `all` were over.
pub(crate) fn interrupted(
    signal: i32,
    plan: &Plan,
    taken: &[StepRuns],
    runs: usize,
    all: usize,
    repeats: usize,
) -> Coverage {
    let of = |count: usize, all: usize, what: &str| {
        format!("{count} of {all} {what}{}", if all == 1 { "" } else { "s" })
    };
    let whole = taken.iter().filter(|taken| taken.good().count() >= repeats).count();
    let reason = match runs {
        0 => before_first_run(signal),
        _ => text!(
            "scale-signal-after",
            "by signal {signal} after {runs}: {steps} with all runs",
            signal = signal.unsigned_abs(),
            runs = of(runs, all, "run"),
            steps = of(whole, plan.steps.len(), "step")
        ),
    };
    let reason = text!(Coverage::INTERRUPTED, when = reason);
    let of_state = if taken.iter().any(|taken| taken.good().next().is_some()) {
        Coverage::degraded
    } else {
        Coverage::skipped
    };
    of_state("scale".to_owned(), reason)
}

/// What to say of runs that failed and count all the same.
pub(crate) fn failures_that_count(job: &Job, taken: &[StepRuns]) -> Option<Coverage> {
    let runs = || taken.iter().flat_map(StepRuns::good);
    let failed: Vec<&Failed> = runs().filter_map(|run| run.failed.as_ref()).collect();
    let first = failed.first()?;
    let all = runs().count();
    Some(Coverage::degraded(
        job.name.clone(),
        text!(
            "scale-failures-count",
            "{failed} of {all} runs failed and are counted: the first {first}",
            failed = failed.len(),
            all,
            first = first.to_string()
        ),
    ))
}
