//! The main job, and `linespeed run`: inspect, measure, diagnose, report, and leave a record and a page.

use std::time::Instant;

use machine::Root;
use measure::{Depth, MEASUREMENTS, Measure, list};
use record::{CpuList, Ended, Machine, Record, Snapshot};
use report::terminal::{self, Style};

use super::new_record;
use super::quiet::tuned_session;
use crate::delivery::{deliver_with_page, destination};
use crate::failure::{FOUND, Failure};
use crate::options::{Measuring, Options, Run, WakeupForms};
use crate::progress::Shown;
use crate::signals;

/// The main job: everything, with a page.
pub fn everything(options: &Options) -> Result<u8, Failure> {
    measure_and_report(options, MEASUREMENTS.to_vec(), options.measuring.depth(), None)
}

/// Some measurements.
pub fn some(options: &Options, run: &Run) -> Result<u8, Failure> {
    let mut chosen: Vec<&Measure> = Vec::new();
    let depth = match options.measuring.depth() {
        Depth::Normal if !run.names.is_empty() => Depth::Named,
        depth => depth,
    };
    for name in &run.names {
        match list::find(name) {
            Some(measurement) => chosen.push(measurement),
            None => {
                let names = MEASUREMENTS.iter().map(|m| m.name);
                let nearest = record::glossary::find_nearest(name, names.clone());
                let hint = nearest.map(|near| format!("; did you mean {near}?")).unwrap_or(".".to_owned());
                return Err(Failure::Usage(format!(
                    "there is no measurement {name:?}{hint} There are: {}",
                    names.collect::<Vec<_>>().join(", ")
                )));
            }
        }
    }
    if chosen.is_empty() {
        let forms = run.forms.cyclictest || run.forms.histogram;
        chosen = if forms { list::find("wakeup").into_iter().collect() } else { MEASUREMENTS.to_vec() };
    }
    measure_and_report(options, chosen, depth, Some(&run.forms))
}

/// The CPUs that `--cpus` names, all that are allowed without it.
pub fn chosen_cpus(options: &Options, machine: &Machine) -> Result<CpuList, Failure> {
    let allowed = machine.allowed_cpus();
    let Some(wanted) = &options.measuring.cpus else { return Ok(allowed) };
    check_cpus(wanted, &allowed).map(|()| wanted.clone())
}

/// Refuses CPUs that this process may not use.
pub fn check_cpus(wanted: &CpuList, allowed: &CpuList) -> Result<(), Failure> {
    let missing = wanted.difference(allowed);
    if wanted.is_empty() {
        return Err(Failure::Usage("--cpus: the list is empty; write for instance --cpus 0-3,8".to_owned()));
    }
    if !missing.is_empty() {
        return Err(Failure::Usage(format!(
            "--cpus {wanted}: this process may not use CPU {missing}; it may use {allowed}"
        )));
    }
    Ok(())
}

fn measure_and_report(
    options: &Options,
    chosen: Vec<&Measure>,
    depth: Depth,
    forms: Option<&WakeupForms>,
) -> Result<u8, Failure> {
    let stop = signals::install();
    let began = Instant::now();
    let tuned = tuned_session::for_measuring(options)?;
    let root = Root::live();
    let found = machine::inspect(&root);
    let cpus = chosen_cpus(options, &found.machine)?;
    let mut record = new_record();
    let destination = destination(options, &found.machine, &record)?;
    let budget = |m: &&Measure| {
        let depth = list::depth_of(*m, &chosen, &found.machine, &cpus, depth);
        m.budget(&found.machine, &cpus, depth).seconds
    };
    let seconds: f64 = chosen.iter().map(budget).sum();
    let mut progress = Shown::new(&options.out, seconds);
    let results = list::run(&chosen, &found.machine, &found.snapshot, depth, &cpus, stop, &mut progress);
    progress.finish();
    record.conditions.knobs = tuned_session::knobs(tuned.as_ref());
    if chosen.len() < MEASUREMENTS.len() {
        results.refuse_impossible(&chosen).map_err(|error| Failure::Cannot(error.to_string()))?;
    }

    let after = machine::snapshot_since(&root, &found.snapshot);
    record.conditions.after =
        Some(Snapshot { own_ready_seconds: measure::run_queue_delay::total_seconds(), ..after });
    drop(tuned);
    record.conditions.before = found.snapshot;
    record.machine = found.machine;
    record.measurements = results.measurements;
    record.coverage = results.coverage;
    record.coverage.extend(found.coverage);
    record.coverage.extend(measure::find_offline(&root, &cpus));
    if let Some(signal) = results.interrupted {
        record.ended = Ended::Interrupted { signal };
    }
    record.seconds = Some((began.elapsed().as_secs_f64() * 100.0).round() / 100.0);
    record.diagnosis = diagnose::diagnose(&record);
    crate::ceilings::keep(&record, options.out.output.is_none() && !options.out.json);
    let page = options.command.is_none().then_some(report::page::html as fn(&Record) -> String);
    let (lines, histogram) = forms.map_or((false, false), |forms| (forms.cyclictest, forms.histogram));
    let report = |record: &Record, style: &Style| {
        report::cyclictest::forms(record, lines, histogram).unwrap_or_else(|| terminal::report(record, style))
    };
    deliver_with_page(options, &record, destination.as_deref(), report, page, !lines && !histogram)?;
    if record.measurements.is_empty() && record.ended == Ended::Complete {
        return Err(Failure::Cannot(
            "nothing could be measured here; linespeed list says what stands in the way".to_owned(),
        ));
    }
    Ok(match &record.ended {
        Ended::Interrupted { signal } => 128 + *signal as u8,
        _ => found_code(&options.measuring, &record),
    })
}

/// The exit code that `--fail-on` asks for.
pub fn found_code(measuring: &Measuring, record: &Record) -> u8 {
    let Some(level) = measuring.fail_on else { return 0 };
    if record.diagnosis.findings.iter().any(|finding| finding.severity >= level.into()) { FOUND } else { 0 }
}
