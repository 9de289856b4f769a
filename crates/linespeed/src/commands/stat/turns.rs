//! Several commands under `linespeed stat`, run alternately.

use experiment::failure::Trouble;
use experiment::rounds::Turn;
use experiment::turns::{self, Extent, InTurn, InTurns, Observer, Request};
use measure::command::{Job, Run};
use measure::shape::Looker;
use os::child::{Exit, Guard, Hint, Process, SpawnError};
use os::{pin, signals};
use record::phrase::count_noun;
use record::turns::Turns;
use record::{Ended, units};

use super::{add_ceilings, deliver};
use crate::commands::gate;
use crate::commands::measuring::{Measuring, Outcome, chosen_cpus};
use crate::failure::{Failure, signal_code};
use crate::options::{Options, Stat};
use crate::progress::{name_processes, say_left};
use crate::{output, redaction};

/// Minimum remaining time that is reported, seconds.
pub(super) const SHORT_WAIT: f64 = 2.0;

/// Runs the commands alternately and reports; returns the exit code of the first command that failed, otherwise 0.
pub(super) fn run(options: &Options, stat: &Stat, argvs: &[&[std::ffi::OsString]]) -> Result<u8, Failure> {
    let terms = options.measuring.gate_terms()?;
    gate::check_junit(stat.junit.as_ref())?;
    let (stop, cpus) = (signals::install(), options.measuring.cpus.as_ref());
    let chosen = chosen_cpus(options, pin::allowed())?;
    let usable = chosen.len().max(1);
    let mut measuring = Measuring::of_command(options, true, true)?;
    measuring.beside = None;
    // The guard is created after the guardian, which must outlive the processes that the guard terminates.
    let guard = Guard::prepared(None);
    let env = [guard.variable()];
    let in_turn = |(at, argv)| InTurn {
        job: Job { argv, cpus, env: &env, events: false, samples: None, guard: Some(&guard) },
        prepare: stat.prepare_of(at),
    };
    let commands: Vec<InTurn> = argvs.iter().copied().enumerate().map(in_turn).collect();
    let extent = match (stat.repeat, stat.limit) {
        (Some(rounds), _) => Extent::Rounds(rounds),
        (None, Some(time)) => Extent::Time(time),
        (None, None) => Extent::Usual,
    };
    let request = Request { commands: &commands, warmup: stat.warmup, extent, stop };
    let looker = Looker::new(&measuring.found.machine, &chosen);
    let mut heard = Heard { options, commands: argvs.len(), looker };
    let done = turns::run_in_turn(request, &mut heard);
    // The guard can exit while linespeed evaluates the results.
    guard.dismiss();
    let ended = match &done.ended {
        // If --prepare fails, the runs are incomplete and their conditions may differ, so they are not comparable.
        Some((failed @ Trouble::Prepare { .. }, _)) => return Err(Failure::Cannot(failed.to_string())),
        Some((Trouble::Stopped(signal), _)) => Ended::Interrupted { signal: *signal },
        Some((why, _)) => Ended::Failed { reason: why.to_string() },
        None => Ended::Complete,
    };
    let measured = turns::figures(&done, &request, usable);
    let mut outcome = Outcome {
        measurements: measured.measurements,
        coverage: measured.coverage,
        looks: heard.looker.and_then(Looker::into_looks),
        ended,
        ..Outcome::default()
    };
    if !outcome.measurements.is_empty() {
        add_ceilings(&mut outcome);
    }
    let (record, destination) = measuring.finish(outcome, |_| {})?;
    tell_failures(&done, &measured.names, options.out.redact);
    let turns = record.diagnosis.turns.as_ref();
    // A command that failed did not do its work, so its time is meaningless. An incomplete set of rounds proves
    // nothing.
    let gate = terms.map(|terms| match (&record.ended, turns) {
        (Ended::Complete, _) if code(&done) != 0 => Err("a command failed".to_owned()),
        (Ended::Complete, Some(turns)) => gate::held(diagnose::gate_turns(turns, terms)),
        _ => Err("the run ended early".to_owned()),
    });
    let held = gate.as_ref().and_then(|gate| gate.as_ref().ok());
    let delivered = match record.measurements.is_empty() {
        true => Ok(()),
        false => deliver(options, stat, (&record, held), destination.as_deref()),
    };
    let delivered =
        delivered.and(gate::write_junit(stat.junit.as_ref(), gate.as_ref(), |at| name_suite(turns, at)));
    if let Some((Trouble::CannotStart(why), which)) = &done.ended {
        output::complain(&refusal(options, *which, why));
        return delivered.map(|()| why.code());
    }
    delivered?;
    match code(&done) {
        0 => gate::code(gate),
        failed => Ok(failed),
    }
}

/// The name of a command in a test report.
fn name_suite(turns: Option<&Turns>, at: usize) -> String {
    let name = |at: usize| turns.and_then(|turns| turns.commands.get(at)).map_or("", |one| &one.workload);
    format!("{} compared with {}", name(at), name(0))
}

/// Why a command cannot be started. Text after a separator may have been meant for the previous command.
fn refusal(options: &Options, which: usize, why: &SpawnError) -> String {
    let said = redaction::refused(options, why);
    match why {
        SpawnError::NotFound { hint: Hint::NotOnPath, .. } if which > 0 => {
            format!("{said} (::: separates commands; put a command that contains ::: into sh -c '...')")
        }
        _ => said,
    }
}

/// The exit code of the first command that failed, in the order of the commands; 128+n for a signal.
fn code(done: &InTurns) -> u8 {
    if let Some((Trouble::Stopped(signal), _)) = done.ended {
        return signal_code(signal);
    }
    let codes = done.runs.iter().flatten().map(|run| run.ended.exit.code());
    codes.into_iter().find(|code| *code != 0).unwrap_or(0)
}

/// Reports that a command failed, and prints its error output, which is otherwise discarded.
fn tell_failures(done: &InTurns, names: &[String], redact: bool) {
    for (at, ((failed, runs), name)) in done.failed.iter().zip(&done.runs).zip(names).enumerate() {
        let Some(how) = failed else { continue };
        let times = runs.iter().filter(|run| run.ended.exit != Exit::Code(0)).count();
        let of = count_noun(runs.len(), "run");
        output::complain(&match redact {
            true => format!("command {} failed in {times} of {of}: the command {}", at + 1, how.exit),
            false => format!("{name} failed in {times} of {of}: the command {how}"),
        });
    }
}

/// Reports the progress.
struct Heard<'a> {
    options: &'a Options,
    commands: usize,
    looker: Option<Looker>,
}

impl Observer for Heard<'_> {
    fn ran(&mut self, turn: Turn, counts: bool, run: &Run) {
        let kind = if counts { "round" } else { "warm-up round" };
        let took = units::figure(run.ended.wall.as_secs_f64(), "s");
        let words = format!("{kind} {}, command {}: {took}", turn.round + 1, turn.alternative + 1);
        output::verbose(&self.options.out, &words);
        self.looker.iter_mut().for_each(|looker| looker.look_when_due(true));
    }

    fn left(&mut self, seconds: f64) {
        if !self.options.out.quiet_output && seconds >= SHORT_WAIT {
            let of = count_noun(self.commands, "command");
            let left = units::figure_to(seconds, "s", 2);
            output::complain(&format!(
                "{of}, alternating, about {left} left; Ctrl-C stops and shows the results"
            ));
        }
    }

    fn waits_for(&mut self, processes: &[Process]) {
        say_left(&name_processes(processes), "Ctrl-C stops waiting");
    }

    fn leaves_pipe(&mut self) {
        output::complain("standard input is a pipe, and no command receives it. Use a file instead: < FILE");
    }
}
