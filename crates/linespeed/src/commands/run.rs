//! The default run, and `linespeed run`: inspect, measure, diagnose, report, and save a record and a page.

use machine::Root;
use measure::{Depth, MEASUREMENTS, Measure, Wakeups, list};
use record::{Ended, Record};
use report::terminal;

use super::measuring::{Measuring, Outcome, chosen_cpus, ended};
use crate::delivery::Kept;
use crate::failure::{FOUND, Failure, signal_code, unknown_name};
use crate::options::{self, Options, Run, WakeupForms};
use crate::progress::Shown;
use os::signals;

/// The default run: makes all measurements and writes a page.
pub fn everything(options: &Options) -> Result<u8, Failure> {
    measure_and_report(options, MEASUREMENTS.to_vec(), options.measuring.depth(), None)
}

/// Runs selected measurements.
pub fn some(options: &Options, run: &Run) -> Result<u8, Failure> {
    let mut chosen: Vec<&Measure> = Vec::new();
    let depth = match options.measuring.depth() {
        Depth::Normal if !run.names.is_empty() => Depth::Named,
        depth => depth,
    };
    for name in &run.names {
        let unknown = || unknown_name("measurement", name, MEASUREMENTS.iter().map(|m| m.name));
        chosen.push(list::find(name).ok_or_else(unknown)?);
    }
    if chosen.is_empty() {
        chosen = if run.about_wakeups().is_some() {
            list::find("wakeup").into_iter().collect()
        } else {
            MEASUREMENTS.to_vec()
        };
    }
    measure_and_report(options, chosen, depth, Some(run))
}

fn measure_and_report(
    options: &Options,
    chosen: Vec<&Measure>,
    depth: Depth,
    run: Option<&Run>,
) -> Result<u8, Failure> {
    let stop = signals::install();
    let mut measuring = Measuring::begin(options, depth != Depth::Normal && depth != Depth::Full)?;
    let cpus = chosen_cpus(options, Some(measuring.found.machine.allowed_cpus()))?;
    let machine = &measuring.found.machine;
    let wakeups = run.map_or(Wakeups::USUAL, Run::wakeups);
    let budget = |m: &&Measure| {
        let depth = list::depth_of(m, &chosen, machine, &cpus, depth);
        let seconds = m.budget(machine, &cpus, depth).seconds;
        if m.name == "wakeup" { wakeups.seconds.unwrap_or(seconds) } else { seconds }
    };
    let mut progress = Shown::new(&options.out, "", chosen.iter().map(budget).sum());
    let results = list::run(&chosen, &measuring.found, (depth, wakeups), &cpus, stop, &mut progress);
    progress.finish();
    if chosen.len() < MEASUREMENTS.len() {
        results.refuse_impossible(&chosen).map_err(|error| Failure::Cannot(error.to_string()))?;
    }
    measuring.found.coverage.extend(measure::find_offline(&Root::live(), &cpus));
    let outcome = Outcome {
        measurements: results.measurements,
        coverage: results.coverage,
        looks: results.looks,
        long_gaps: results.long_gaps,
        ended: ended(results.interrupted),
    };
    let own_ready_seconds = measure::run_queue_delay::total_seconds();
    let (record, destination) = measuring.finish(outcome, |conditions| {
        if let Some(after) = &mut conditions.after {
            after.own_ready_seconds = own_ready_seconds;
        }
    })?;
    let kept = Kept::keep(options, &record, destination.as_deref());
    let ours = options.out.output.is_none() && !options.out.json;
    if !options.out.redact {
        crate::ceilings::keep(&record, kept.path.as_deref(), ours);
    }
    let asked = run.map_or_else(WakeupForms::default, |run| run.forms);
    let view = kept.view(options, &record, |screen, shown_by| {
        match report::cyclictest::forms(&record, asked.cyclictest, asked.histogram) {
            Some(text) => screen.verbatim(&text),
            None => terminal::answer(screen, &record, options.out.all, shown_by),
        }
    });
    let page = (options.command.is_none(), !asked.any());
    kept.deliver(options, &view.with_report_asked_for(asked.any()), page)?;
    if record.measurements.is_empty() && record.ended == Ended::Complete {
        return Err(Failure::cannot("nothing could be measured here; linespeed list shows why"));
    }
    Ok(match &record.ended {
        Ended::Interrupted { signal } => signal_code(*signal),
        _ => found_code(&options.measuring, &record),
    })
}

/// The exit code that `--fail-on` requires.
pub fn found_code(measuring: &options::Measuring, record: &Record) -> u8 {
    let Some(level) = measuring.failing_level() else { return 0 };
    if record.diagnosis.findings.iter().any(|finding| finding.severity >= level) { FOUND } else { 0 }
}
