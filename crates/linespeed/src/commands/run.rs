//! The main job, and `linespeed run`: inspect, measure, diagnose, report, and leave a record and a page.

use std::path::Path;
use std::time::Instant;

use machine::Root;
use measure::{Depth, MEASUREMENTS, Measure, list};
use record::{Coverage, CpuList, Ended, Machine, Record, Snapshot, State};
use report::terminal;

use super::quiet::tuned_session;
use super::{new_record, to_standard_output};
use crate::delivery::{as_json, destination};
use crate::failure::{FOUND, Failure};
use crate::options::{Measuring, Options, Run, WakeupForms};
use crate::progress::Shown;
use crate::{files, output, signals};

/// The main job: everything, with a page.
pub fn everything(options: &Options) -> Result<u8, Failure> {
    measure_and_report(options, MEASUREMENTS.to_vec(), options.measuring.depth(), None)
}

/// Some measurements.
pub fn some(options: &Options, run: &Run) -> Result<u8, Failure> {
    let mut chosen: Vec<&dyn Measure> = Vec::new();
    let depth = match options.measuring.depth() {
        Depth::Normal if !run.names.is_empty() => Depth::Named,
        depth => depth,
    };
    for name in &run.names {
        match list::find(name) {
            Some(measurement) => chosen.push(measurement),
            None => {
                let names = MEASUREMENTS.iter().map(|m| m.name());
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
    chosen: Vec<&dyn Measure>,
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
    let budget = |m: &&dyn Measure| {
        let depth = list::depth_of(*m, &chosen, &found.machine, &cpus, depth);
        m.budget(&found.machine, &cpus, depth).seconds
    };
    let seconds: f64 = chosen.iter().map(budget).sum();
    let mut progress = Shown::new(&options.out, seconds);
    let results = list::run(&chosen, &found.machine, &found.snapshot, depth, &cpus, stop, &mut progress);
    progress.finish();
    record.conditions.knobs = tuned_session::knobs(tuned.as_ref());
    if chosen.len() < MEASUREMENTS.len()
        && let Some(why) = all_impossible(&chosen, &results)
    {
        return Err(Failure::Cannot(why));
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
    record.coverage.extend(went_offline(&root, &cpus));
    if let Some(signal) = results.interrupted {
        record.ended = Ended::Interrupted { signal };
    }
    record.seconds = Some((began.elapsed().as_secs_f64() * 100.0).round() / 100.0);
    record.diagnosis = diagnose::diagnose(&record);
    crate::ceilings::keep(&record, options.out.output.is_none() && !options.out.json);
    deliver(options, &record, destination.as_deref(), forms)?;
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

/// Why nothing of what was named can be measured here; `None` where something could, or might have been.
fn all_impossible(chosen: &[&dyn Measure], results: &list::Results) -> Option<String> {
    if !results.measurements.is_empty() || results.interrupted.is_some() {
        return None;
    }
    let why = |m: &&dyn Measure| {
        let mut entries = results.coverage.iter();
        let reported = entries.find(|c| c.what == m.name() && c.state == State::Impossible)?;
        let remedy = reported.remedy.as_ref().map(|remedy| format!(" ({remedy})")).unwrap_or_default();
        let reason = reported
            .reason
            .as_ref()
            .map_or("the machine lacks what it needs".to_owned(), ToString::to_string);
        Some(format!("{} cannot be measured here: {reason}{remedy}", m.name()))
    };
    Some(chosen.iter().map(why).collect::<Option<Vec<_>>>()?.join("; "))
}

/// CPUs that were to be measured and are offline now. The kernel moves their threads to others without a word.
fn went_offline(root: &Root, cpus: &CpuList) -> Option<Coverage> {
    let online = root.cpu_list("/sys/devices/system/cpu/online")?;
    let gone = cpus.difference(&online);
    (!gone.is_empty()).then(|| {
        let reason =
            format!("CPU {gone} went offline during the run; what is told of it may be of another CPU");
        Coverage::degraded("cpus", reason).with_remedy(format!(
            "measure again, or leave it out: linespeed --cpus {}",
            cpus.intersection(&online)
        ))
    })
}

/// The exit code that `--fail-on` asks for.
pub fn found_code(measuring: &Measuring, record: &Record) -> u8 {
    let Some(level) = measuring.fail_on else { return 0 };
    if record.diagnosis.findings.iter().any(|finding| finding.severity >= level.into()) { FOUND } else { 0 }
}

/// Writes the record and its page, and prints the report.
fn deliver(
    options: &Options,
    record: &Record,
    destination: Option<&Path>,
    forms: Option<&WakeupForms>,
) -> Result<(), Failure> {
    let json = as_json(record.to_json())?;
    let mut text = String::new();
    if to_standard_output(options) {
        text.push_str(&json);
    } else if !options.out.quiet_output {
        let style = output::style(&options.out);
        match forms.and_then(|forms| wakeup_forms(record, forms)) {
            Some(forms) => text.push_str(&forms),
            None => text.push_str(&terminal::report(record, &style)),
        }
    }
    // What was measured is shown even when it could not be stored.
    let Some(destination) = destination else { return output::print(&text) };
    let shown = match files::write_or_rescue(destination, options.out.output.is_some(), &json) {
        Ok(shown) => shown,
        Err(failure) => {
            output::print(&text)?;
            return Err(failure);
        }
    };
    // A page beside a record that the user named would surprise; beside our own it is expected.
    let page =
        (options.command.is_none() && options.out.output.is_none()).then(|| shown.with_extension("html"));
    let page_written = page.as_deref().map(|path| files::write(path, &report::page::html(record)));
    if !text.is_empty() && !to_standard_output(options) && !forms.is_some_and(|f| f.cyclictest || f.histogram)
    {
        text.push_str(&format!("\nRecord: {}\n", crate::failure::shown(&shown)));
        if let (Some(page), Some(Ok(()))) = (&page, &page_written) {
            text.push_str(&format!("Page:   {}\n", crate::failure::shown(page)));
        }
    }
    output::print(&text)?;
    page_written.unwrap_or(Ok(()))
}

/// cyclictest's forms, as asked for.
pub fn wakeup_forms(record: &Record, forms: &WakeupForms) -> Option<String> {
    let mut text = String::new();
    if forms.cyclictest {
        text.push_str(&report::cyclictest::lines(record).unwrap_or_default());
    }
    if forms.histogram {
        text.push_str(&report::cyclictest::histogram(record).unwrap_or_default());
    }
    (!text.is_empty()).then_some(text)
}
