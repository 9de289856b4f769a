//! `linespeed stat`: what a command is bound by.
//!
//! The command has standard output and standard error as it would without us; the report follows on standard error.

mod runs;

use std::path::Path;
use std::time::Instant;

use diagnose::KeptCeilings;
use machine::Root;
use measure::command::{self, Job};
use os::child::Guard;
use os::pin;
use os::signals;
use record::{Coverage, Ended, Record, detail};
use report::{perf_format, terminal};

use super::quiet::tuned_session;
use super::{new_record, output_file, to_standard_output};
use crate::ceilings;
use crate::delivery::as_json;
use crate::failure::Failure;
use crate::options::{Options, PerfFormat, Stat};
use crate::{files, output};
use runs::{Runs, repeat};

/// Runs the command and reports; returns its exit code.
pub fn run(options: &Options, stat: &Stat) -> Result<u8, Failure> {
    let stop = signals::install();
    let began = Instant::now();
    let allowed = pin::allowed();
    let cpus = options.measuring.cpus.as_ref();
    if let (Some(cpus), Some(allowed)) = (cpus, &allowed) {
        super::measuring::check_cpus(cpus, allowed)?;
    }
    let destination = output_file(options);
    if let Some(path) = &destination {
        files::check_writable(path)?;
    }
    // The whole machine goes into a record that is kept, and only there: looking at it takes longer than many commands.
    let whole = options.out.json || options.out.output.is_some();
    let root = Root::live();
    let tuned = tuned_session::for_measuring(options)?;
    let found = (whole && !stat.perf()).then(|| machine::inspect(&root));
    // After the guardian, which has to outlive what this one ends.
    let guard = Guard::prepared(None);
    let env = [guard.variable()];
    let job = Job { argv: &stat.command, cpus, env: &env, events: stat.perf(), guard: Some(&guard) };
    let runs = repeat(&job, stat, options, stop);
    // It ends beside our own work on what was seen.
    guard.dismiss();
    let mut record = new_record();
    record.conditions.knobs = tuned_session::knobs(tuned.as_ref());
    let usable = cpus.map(record::CpuList::len).or(allowed.map(|list| list.len())).unwrap_or(1);
    fill(&mut record, &runs, &job, stat.repeat, usable);
    record.seconds = Some((began.elapsed().as_secs_f64() * 1000.0).round() / 1000.0);
    record.diagnosis.bound = diagnose::bound(&diagnose::RecordIndex::new(&record));
    if let Some(found) = found {
        record.conditions.after = Some(machine::snapshot_since(&root, &found.snapshot));
        record.conditions.before = found.snapshot;
        record.machine = found.machine;
        record.coverage.extend(found.coverage);
        record.diagnosis = diagnose::diagnose(&record);
    }
    drop(tuned);
    let delivered =
        if runs.done.is_empty() { Ok(()) } else { deliver(options, stat, &record, destination.as_deref()) };
    if let Some(refused) = &runs.refused {
        output::complain(&refused.to_string());
        delivered?;
        return Ok(refused.code());
    }
    delivered?;
    Ok(runs.code())
}

/// Figures, coverage and ceilings of the runs.
fn fill(record: &mut Record, runs: &Runs, job: &Job, asked: u32, cpus: usize) {
    let figures = command::figures(&runs.done, job, cpus);
    record.measurements = figures.measurements;
    record.coverage = figures.coverage;
    if let Some(time) = record.measurements.first_mut() {
        time.detail.set(detail::RUNS_ASKED, asked);
    }
    if let Some(signal) = runs.interrupted {
        record.ended = Ended::Interrupted { signal };
    } else if let Some(refused) = &runs.refused {
        record.ended = Ended::Failed { reason: refused.to_string() };
    }
    let why = match ceilings::read() {
        KeptCeilings::Here(known) => {
            if let Some(time) = record.measurements.first_mut() {
                time.detail.set_parts(detail::CEILINGS, &known);
            }
            return;
        }
        KeptCeilings::Nothing => "none were measured here yet",
        KeptCeilings::Elsewhere => "those that are kept here are of another machine or kernel",
    };
    record.coverage.push(Coverage::skipped("ceilings", why).with_remedy("run linespeed once"));
}

/// The report on standard error, and the record or perf's text where it was asked for.
fn deliver(
    options: &Options,
    stat: &Stat,
    record: &Record,
    destination: Option<&Path>,
) -> Result<(), Failure> {
    let perf = match (&stat.separator, stat.perf_format) {
        (Some(separator), _) => perf_format::fields(record, separator),
        (None, Some(PerfFormat::Csv)) => perf_format::fields(record, ","),
        (None, Some(PerfFormat::Text)) => perf_format::text(record),
        (None, None) => None,
    };
    let kept = || perf.clone().map_or_else(|| as_json(record.to_json()), Ok);
    let written = match (destination, &perf) {
        (Some(path), Some(perf)) => match files::write(path, perf) {
            Ok(()) => return Ok(()),
            failed => failed,
        },
        (Some(path), None) => files::write_or_rescue(path, true, &kept()?).map(drop),
        (None, _) => Ok(()),
    };
    if destination.is_none() && to_standard_output(options) && !options.out.json {
        // --output -: the user wants it beside what the command prints.
        return output::print(&kept()?);
    }
    let text = if let Some(perf) = perf {
        perf
    } else if options.out.json {
        if destination.is_some() && written.is_ok() { String::new() } else { as_json(record.to_json())? }
    } else if options.out.quiet_output {
        String::new()
    } else {
        format!("\n{}", terminal::stat(record, &output::error_style(&options.out)))
    };
    // What was measured is shown even when it could not be stored.
    output::print_error(&text);
    written
}

impl Stat {
    /// Whether perf's layout was asked for.
    fn perf(&self) -> bool {
        self.perf_format.is_some() || self.separator.is_some()
    }
}
