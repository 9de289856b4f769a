//! `linespeed stat`: determines the bottleneck of a command.
//!
//! The command uses standard output and standard error; the report follows on standard error.

mod runs;
mod turns;

use std::path::Path;

use experiment::probe::{self, Probed};
use measure::accesses::Hierarchy;
use measure::command::{self, Attached, Figures, Job, SharedInput};
use measure::shape::Looker;
use os::child::Guard;
use os::{Stop, pin, signals};
use record::gate::Gate;
use record::{Coverage, Ended, Machine, Record, detail, metrics};
use report::{perf_format, terminal};

use super::measuring::{Measuring, Outcome, chosen_cpus, ended};
use super::to_standard_output;
use crate::delivery::{self, Kept, is_named, printed, write_form};
use crate::failure::Failure;
use crate::options::{Options, Stat};
use crate::{ceilings, files, output, redaction};
use runs::{Repeat, Runs, repeat};

/// Runs the command, or observes processes, and reports; returns its exit code.
pub fn run(options: &Options, stat: &Stat) -> Result<u8, Failure> {
    let commands = stat.commands(!options.measuring.fail_on.is_empty())?;
    if commands.len() > 1 {
        return turns::run(options, stat, &commands);
    }
    let (stop, cpus) = (signals::install(), options.measuring.cpus.as_ref());
    let chosen = chosen_cpus(options, pin::allowed())?;
    let usable = chosen.len();
    let found = stat.pid.iter().map(|pid| Attached::find(*pid)).collect::<Result<Vec<Attached>, _>>();
    let attached = found.map_err(|error| Failure::Cannot(error.to_string()))?;
    // perf's format has no information about the machine, so the machine is not inspected.
    let mut measuring = Measuring::of_command(options, true, !stat.perf())?;
    let found = (!stat.perf()).then_some(&measuring.found);
    // The guard is created after the guardian, which must outlive the processes that the guard terminates.
    let guard = Guard::prepared(None);
    let env = [guard.variable()];
    let words = attached.iter().flat_map(|process| process.argv.clone()).collect::<Vec<_>>();
    let argv = if attached.is_empty() { &stat.command } else { &words };
    let ceilings = ceilings::of_this_machine();
    let curve = ceilings.as_ref().map(|known| known.curve.clone()).unwrap_or_default();
    let samples = found.map(|found| Hierarchy { machine: &found.machine, curve: &curve });
    let job = Job { argv, cpus, env: &env, events: stat.perf(), samples, guard: Some(&guard) };
    let mut probed = Probed::default();
    let mut input = SharedInput::of_runs(if stat.probe { 2 } else { 1 });
    if stat.probe {
        let runs = 1 + probe_rounds(stat) * probe::MOST_WAYS;
        let words = format!(
            "--probe runs the command up to {runs} times and takes correspondingly long; only the output of \
             the first run is printed"
        );
        output::notice(&options.out, &words);
    }
    let (runs, usable) = if attached.is_empty() {
        let repeat_as = Repeat {
            runs: if stat.probe { 1 } else { stat.runs() },
            warmup: stat.warmup,
            prepare: stat.prepare_of(0),
            looker: found.and_then(|found| Looker::new(&found.machine, &chosen)),
        };
        let mut runs = repeat(&job, repeat_as, options, stop)?;
        if let (true, Some(found)) = (stat.probe && runs.code() == 0, found) {
            let seconds = runs.done.iter().map(|run| run.ended.wall.as_secs_f64()).sum();
            probed = probe_command(&job, options, stat, (&found.machine, seconds), &mut input, stop);
            runs.done.append(&mut probed.plain);
            runs.refused = probed.refused.take();
            runs.interrupted = probed.interrupted;
        }
        (runs, usable)
    } else {
        // Ctrl-C is the normal end of a recording.
        let watched = command::watch(&attached, samples, stat.limit, stop);
        let runs = Runs { done: vec![watched], refused: None, interrupted: None, looks: None };
        (runs, attached.iter().map(|process| process.cpus.len()).max().unwrap_or(1))
    };
    // The guard can exit while linespeed evaluates the results.
    guard.dismiss();
    let mut outcome = describe(&runs, &job, stat.runs(), usable.max(1));
    outcome.coverage.append(&mut probed.coverage);
    if let Some(time) = outcome.measurements.first_mut().filter(|_| stat.probe) {
        time.detail.set_parts(detail::PROBES, &probed.probes);
    }
    measuring.own = runs.done.iter().flat_map(|run| run.attached.iter().copied()).collect();
    let (record, destination) = measuring.finish(outcome, |conditions| {
        let sampled = runs.done.last().map(|run| run.others_sampled.as_slice()).unwrap_or_default();
        for one in &mut conditions.beside {
            let of_one = sampled.iter().find(|(pid, _)| *pid == one.pid);
            one.sampled = of_one.map(|(_, sampled)| Box::new(sampled.clone()));
        }
    })?;
    let delivered = if runs.done.is_empty() {
        Ok(())
    } else {
        deliver(options, stat, (&record, None), destination.as_deref())
    };
    if let Some(refused) = &runs.refused {
        output::complain(&redaction::refused(options, refused));
    }
    delivered.map(|()| runs.code())
}

fn probe_rounds(stat: &Stat) -> usize {
    if stat.runs() > 1 { stat.runs() as usize } else { probe::fewest_rounds() }
}

/// Runs the command again under each changed condition and discards its output. `seconds` is the duration of the normal run.
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
    output::notice(&options.out, &format!("probing in {of} for at least {left}; Ctrl-C stops probing"));
    let mut tell_left = |seconds: f64| {
        if seconds >= turns::SHORT_WAIT {
            let left = record::units::figure_to(seconds, "s", 2);
            output::notice(&options.out, &format!("about {left} left"));
        }
    };
    probe::probe(job, machine, rounds, input, stop, &mut tell_left)
}

/// Results, coverage, ceilings and exit states of the runs.
fn describe(runs: &Runs, job: &Job, asked: u32, cpus: usize) -> Outcome {
    let Figures { measurements, coverage } = command::figures(&runs.done, job, cpus);
    let ended = match (runs.interrupted, &runs.refused) {
        (None, Some(refused)) => Ended::Failed { reason: refused.to_string() },
        (interrupted, _) => ended(interrupted),
    };
    let mut outcome =
        Outcome { measurements, coverage, looks: runs.looks.clone(), ended, ..Outcome::default() };
    if let Some(time) = outcome.measurements.first_mut() {
        time.detail.set(detail::RUNS_ASKED, asked);
        add_ceilings(&mut outcome);
    }
    outcome
}

/// Adds the ceilings with which commands are compared.
fn add_ceilings(outcome: &mut Outcome) {
    match ceilings::of_this_machine() {
        Ok(known) => {
            for time in outcome.measurements.iter_mut().filter(|m| m.metric == metrics::WORKLOAD_TIME) {
                time.detail.set_parts(detail::CEILINGS, &known);
            }
        }
        Err(why) => {
            outcome.coverage.push(Coverage::skipped("ceilings", why).with_remedy("run linespeed once"));
        }
    }
}

/// Prints the report on standard error, preceded by the result of a gate, and writes the record or perf's text to its destination.
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
                // The results are shown even if they could not be saved.
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
        // The results are shown even if they could not be saved.
        output::print_error(&text);
    }
    let written = if named { Ok(()) } else { write_form(options, &forms) };
    kept.and(printed).and(written).and(delivery::write_prometheus(options, &forms))
}

impl Stat {
    /// Whether perf's output format was requested.
    fn perf(&self) -> bool {
        self.perf_format || self.separator.is_some()
    }
}
