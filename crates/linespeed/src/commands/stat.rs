//! `linespeed stat`: what a command is bound by.
//!
//! The command has standard output and standard error as it would without us; the report follows on standard error.

mod runs;
mod turns;

use std::path::Path;
use std::time::Instant;

use experiment::probe::{self, Probed};
use live::Beside;
use machine::Root;
use measure::accesses::Hierarchy;
use measure::command::{self, Attached, Job, SharedInput};
use os::Stop;
use os::child::Guard;
use os::{pin, signals};
use record::gate::Gate;
use record::live::Process;
use record::{Coverage, Ended, Machine, Record, detail, metrics};
use report::{perf_format, terminal};

use super::measuring::{chosen_cpus, complete};
use super::quiet::tuned_session;
use super::{new_record, output_file, to_standard_output};
use crate::delivery::{self, Kept, is_named, printed, write_form};
use crate::failure::Failure;
use crate::options::{Options, Stat};
use crate::redaction::{self, redact};
use crate::{ceilings, files, output};
use runs::{Repeat, Runs, repeat};

/// Runs the command, or watches processes, and reports; returns its exit code.
pub fn run(options: &Options, stat: &Stat) -> Result<u8, Failure> {
    let commands = stat.commands(!options.measuring.fail_on.is_empty())?;
    if commands.len() > 1 {
        return turns::run(options, stat, &commands);
    }
    let (stop, began) = (signals::install(), Instant::now());
    let cpus = options.measuring.cpus.as_ref();
    let usable = chosen_cpus(options, pin::allowed())?.len();
    let found = stat.pid.iter().map(|pid| Attached::find(*pid)).collect::<Result<Vec<Attached>, _>>();
    let attached = found.map_err(|error| Failure::Cannot(error.to_string()))?;
    let mut record = new_record();
    if let (true, Some(path)) = (stat.perf(), output_file(options)) {
        files::check_writable(&path)?;
    }
    let root = Root::live();
    let tuned = tuned_session::for_measuring(options)?;
    // perf's text tells nothing of the machine, and looking at it takes longer than many commands.
    let found = (!stat.perf()).then(|| machine::inspect(&root));
    let destination = match &found {
        Some(found) => delivery::destination(options, &found.machine, &record, true)?,
        None => output_file(options),
    };
    // After the guardian, which has to outlive what this one ends.
    let guard = Guard::prepared(None);
    let env = [guard.variable()];
    let words = attached.iter().flat_map(|process| process.argv.clone()).collect::<Vec<_>>();
    let argv = if attached.is_empty() { &stat.command } else { &words };
    let ceilings = ceilings::of_this_machine();
    let curve = ceilings.as_ref().map(|known| known.curve.clone()).unwrap_or_default();
    let samples = found.as_ref().map(|found| Hierarchy { machine: &found.machine, curve: &curve });
    let job = Job { argv, cpus, env: &env, events: stat.perf(), samples, guard: Some(&guard) };
    let mut probed = Probed::default();
    let mut beside = found.is_some().then(|| Beside::begin(Root::live()));
    let mut input = SharedInput::of_runs(if stat.probe { 2 } else { 1 });
    if stat.probe {
        let runs = 1 + probe_rounds(stat) * probe::MOST_WAYS;
        let words = format!(
            "--probe runs the command up to {runs} times, and takes that many times as long or more; only the first run prints"
        );
        output::notice(&options.out, &words);
    }
    let (runs, usable) = if attached.is_empty() {
        let repeat_as = Repeat {
            runs: if stat.probe { 1 } else { stat.runs() },
            warmup: stat.warmup,
            prepare: stat.prepare_of(0),
        };
        let mut runs = repeat(&job, repeat_as, options, stop)?;
        if let (true, Some(found)) = (stat.probe && runs.went_well(), &found) {
            let seconds = runs.done.iter().map(|run| run.ended.wall.as_secs_f64()).sum();
            probed = probe_command(&job, options, stat, (&found.machine, seconds), &mut input, stop);
            runs.done.append(&mut probed.plain);
            runs.refused = probed.refused.take();
            runs.interrupted = probed.interrupted;
        }
        (runs, usable)
    } else {
        // Ctrl-C is how a watch ends.
        let watched = command::watch(&attached, samples, stat.limit, stop);
        let runs = Runs { done: vec![watched], refused: None, interrupted: None };
        (runs, attached.iter().map(|process| process.cpus.len()).max().unwrap_or(1))
    };
    // It ends beside our own work on what was seen.
    guard.dismiss();
    record.conditions.beside = beside.as_mut().map(|beside| others(beside, &runs)).unwrap_or_default();
    record.conditions.knobs = tuned_session::knobs(tuned.as_ref());
    fill(&mut record, &runs, &job, stat.runs(), usable.max(1));
    record.coverage.append(&mut probed.coverage);
    if let Some(time) = record.measurements.first_mut().filter(|_| stat.probe) {
        time.detail.set_parts(detail::PROBES, &probed.probes);
    }
    if let Some(found) = found {
        let after = machine::snapshot_since(&Root::live(), &found.snapshot);
        complete(&mut record, found, after, began);
    }
    drop(tuned);
    redact(options, &mut record)?;
    let delivered = if runs.done.is_empty() {
        Ok(())
    } else {
        deliver(options, stat, (&record, None), destination.as_deref())
    };
    if let Some(refused) = &runs.refused {
        output::complain(&redaction::refused(options, refused));
        delivered?;
        return Ok(refused.code());
    }
    delivered?;
    Ok(runs.code())
}

/// Who else worked meanwhile, and what samples say of it.
fn others(beside: &mut Beside, runs: &Runs) -> Vec<Process> {
    let own: Vec<i32> = runs.done.iter().flat_map(|run| run.attached.iter().copied()).collect();
    let mut all = beside.until_now(&own);
    let sampled = runs.done.last().map(|run| run.others_sampled.as_slice()).unwrap_or_default();
    for one in &mut all {
        let of_one = sampled.iter().find(|(pid, _)| *pid == one.pid);
        one.sampled = of_one.map(|(_, sampled)| Box::new(sampled.clone()));
    }
    all
}

fn probe_rounds(stat: &Stat) -> usize {
    if stat.runs() > 1 { stat.runs() as usize } else { probe::fewest_rounds() }
}

/// Runs it in all ways, silently: its own run with its outputs is over, and took `seconds`.
fn probe_command(
    job: &Job,
    options: &Options,
    stat: &Stat,
    (machine, seconds): (&Machine, f64),
    input: &mut SharedInput,
    stop: &Stop,
) -> Probed {
    let rounds = probe_rounds(stat);
    let left = record::units::figure(seconds * (rounds * probe::MOST_WAYS) as f64, "s");
    let of = record::phrase::count_noun(rounds, "round");
    output::notice(&options.out, &format!("probing in {of}, {left} or more; Ctrl-C ends it"));
    let mut tell_left = |seconds: f64| {
        if seconds >= turns::WORTH_TELLING {
            let left = record::units::figure_to(seconds, "s", 2);
            output::notice(&options.out, &format!("about {left} left"));
        }
    };
    probe::probe(job, machine, rounds, input, stop, &mut tell_left)
}

/// Figures, coverage and ceilings of the runs.
fn fill(record: &mut Record, runs: &Runs, job: &Job, asked: u32, cpus: usize) {
    let figures = command::figures(&runs.done, job, cpus);
    record.measurements = figures.measurements;
    record.coverage = figures.coverage;
    if let Some(signal) = runs.interrupted {
        record.ended = Ended::Interrupted { signal };
    } else if let Some(refused) = &runs.refused {
        record.ended = Ended::Failed { reason: refused.to_string() };
    }
    let Some(time) = record.measurements.first_mut() else { return };
    time.detail.set(detail::RUNS_ASKED, asked);
    add_ceilings(record);
}

/// What commands are held against, beside their times.
fn add_ceilings(record: &mut Record) {
    match ceilings::of_this_machine() {
        Ok(known) => {
            for time in record.measurements.iter_mut().filter(|m| m.metric == metrics::WORKLOAD_TIME) {
                time.detail.set_parts(detail::CEILINGS, &known);
            }
        }
        Err(why) => {
            record.coverage.push(Coverage::skipped("ceilings", why).with_remedy("run linespeed once"));
        }
    }
}

/// The report on standard error, what a gate held before it, and the record or perf's text where it goes.
fn deliver(
    options: &Options,
    stat: &Stat,
    (record, gate): (&Record, Option<&Gate>),
    destination: Option<&Path>,
) -> Result<(), Failure> {
    let perf = match (&stat.separator, stat.perf_format) {
        (Some(separator), _) => perf_format::fields(record, separator),
        (None, true) => perf_format::text(record),
        (None, false) => None,
    };
    let to_output = destination.is_none() && to_standard_output(options);
    if let Some(perf) = perf {
        return match destination.map(|path| files::write(path, &perf)) {
            Some(Ok(())) => Ok(()),
            None if to_output => output::print(&perf),
            failed => {
                // What was measured is shown even when it could not be stored.
                output::print_error(&perf);
                failed.unwrap_or(Ok(()))
            }
        };
    }
    let kept = Kept::keep(options, record, destination);
    let forms = kept.view(options, record, |screen, shown_by| {
        gate.into_iter().for_each(|gate| terminal::gate(screen, gate, None));
        terminal::stat_answer(screen, record, options.out.all, shown_by);
    });
    let Kept { path, written: kept, .. } = kept;
    let named = is_named(options);
    let asked = options.out.form().is_some() || to_output;
    let printed = if asked { output::print(&printed(&forms, options)?) } else { Ok(()) };
    if kept.is_err() || (!asked && !options.out.quiet_output) {
        let mut text = format!("\n{}", forms.report(&output::error_style(&options.out)));
        if let (Some(path), false) = (path, named) {
            text.push_str(&delivery::name_files(options, &path, None));
        }
        // What was measured is shown even when it could not be stored.
        output::print_error(&text);
    }
    let written = if named { Ok(()) } else { write_form(options, &forms) };
    kept.and(printed).and(written).and(delivery::write_prometheus(options, &forms))
}

impl Stat {
    /// Whether perf's layout was asked for.
    fn perf(&self) -> bool {
        self.perf_format || self.separator.is_some()
    }
}
