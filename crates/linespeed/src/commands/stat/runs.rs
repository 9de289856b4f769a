//! The runs of a command under `linespeed stat`.

use experiment::failure::Trouble;
use experiment::turns::prepare_run;
use measure::command::{self, Job, Run, SharedInput};
use measure::shape::Looker;
use os::Stop;
use os::child::{Process, SpawnError};
use record::shape::Looks;

use crate::failure::{Failure, signal_code};
use crate::options::Options;
use crate::output;
use crate::progress::{name_processes, say_left};

/// The result of the runs.
pub(super) struct Runs {
    /// The runs that count, without warm-up runs.
    pub done: Vec<Run>,
    /// Why the command could not be started.
    pub refused: Option<SpawnError>,
    /// The signal that ended the runs early.
    pub interrupted: Option<i32>,
    /// The CPU placement found after each run.
    pub looks: Option<Looks>,
}

impl Runs {
    /// The command's own exit code, 128+n for a signal, or that of a command that cannot be started, as in shells. For
    /// several runs, this is the first code that is not 0.
    pub(super) fn code(&self) -> u8 {
        let mut codes = self.done.iter().map(|run| run.ended.exit.code());
        let ended_early = self.refused.as_ref().map(SpawnError::code).or(self.interrupted.map(signal_code));
        ended_early.or_else(|| codes.find(|code| *code != 0)).unwrap_or(0)
    }
}

/// How a command is repeated.
pub(super) struct Repeat<'a> {
    /// Number of runs that count.
    pub runs: u32,
    /// Number of preceding warm-up runs.
    pub warmup: u32,
    /// A shell command to run before each run.
    pub prepare: Option<&'a str>,
    /// Checks the CPU placement after each run.
    pub looker: Option<Looker>,
}

/// Runs the command as often as requested, or until something stops it.
pub(super) fn repeat(job: &Job, repeat: Repeat, options: &Options, stop: &Stop) -> Result<Runs, Failure> {
    let Repeat { runs: repeat, warmup, prepare, mut looker } = repeat;
    let mut runs = Runs { done: Vec::new(), refused: None, interrupted: None, looks: None };
    let mut tell = |left: &[Process]| say_left(&name_processes(left), "Ctrl-C stops waiting");
    let all = warmup + repeat;
    let mut input = SharedInput::of_runs(all);
    for number in 0..all {
        if input.before(number) {
            output::complain(
                "the first run read all of standard input (a pipe), so later runs read nothing. Use a file \
                 instead: < FILE",
            );
        }
        match prepare.map(|line| prepare_run(line, job, stop, &mut tell)).transpose() {
            Ok(_) => {}
            Err(Trouble::Stopped(signal)) => {
                runs.interrupted = Some(signal);
                break;
            }
            Err(failed) => return Err(Failure::Cannot(failed.to_string())),
        }
        let mut run = match command::run(job, stop, &mut tell) {
            Ok(run) => run,
            Err(refused) => {
                runs.refused = Some(refused);
                return Ok(runs);
            }
        };
        let kind = if number < warmup { "warm-up" } else { "run" };
        let took = record::units::figure(run.ended.wall.as_secs_f64(), "s");
        output::verbose(&options.out, &format!("{kind} {}: {took}", number + 1));
        runs.interrupted = run.note_signal(stop);
        looker.iter_mut().for_each(|looker| looker.look_when_due(true));
        // A run that was interrupted is omitted, unless it is the only run.
        if number >= warmup && (runs.interrupted.is_none() || runs.done.is_empty()) {
            runs.done.push(run);
        }
        if runs.interrupted.is_some() {
            break;
        }
    }
    runs.looks = looker.and_then(Looker::into_looks);
    Ok(runs)
}
