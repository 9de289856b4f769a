//! Runs several commands alternately, each measured as in `linespeed stat`, to determine which one is faster regardless
//! of drift.

mod figures;

use std::ffi::OsString;
use std::time::{Duration, Instant};

use measure::command::{self, Job, Run, SharedInput, Tell};
use os::Stop;
use os::child::{Child, Exit, Input, Output, Process, Spec, wait_all};

use crate::failure::{Failed, Trouble, check_stop};
use crate::rounds::{Turn, order_turns};
pub use figures::{Measured, figures};

/// Minimum number of rounds if no number is requested. Quick commands get more rounds, until each command has run for
/// about [`USUAL_SECONDS`].
pub const USUAL_ROUNDS: u32 = 10;
/// The time, in seconds, for which quick commands are repeated if no number of rounds is requested.
pub const USUAL_SECONDS: f64 = 3.0;
/// Maximum number of rounds if no number is requested; further rounds hardly change the medians.
pub const MOST_ROUNDS: u32 = 1000;
/// Maximum number of runs accepted by `-r`.
const MOST_TIMED: u32 = 100_000;
/// Maximum saved size of a command's standard error, bytes.
const KEPT: usize = 4 << 10;

/// The number of rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    /// This many rounds.
    Rounds(u32),
    /// As many rounds as fit into this time, but at least one round.
    Time(Duration),
    /// [`USUAL_ROUNDS`], or more for quick commands.
    Usual,
}

/// One of the commands.
#[derive(Clone, Copy, Debug)]
pub struct InTurn<'a> {
    /// The command to run.
    pub job: Job<'a>,
    /// A line for `sh -c` before each run of the command, including runs that do not count.
    pub prepare: Option<&'a str>,
}

/// The request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The commands.
    pub commands: &'a [InTurn<'a>],
    /// Number of warm-up rounds, which do not count.
    pub warmup: u32,
    /// The number of rounds that count.
    pub extent: Extent,
    /// The stop request that ends the rounds early.
    pub stop: &'a Stop,
}

/// Is notified of progress.
pub trait Observer {
    /// A run of a command is over. `turn` contains the index of the command and the round (both from 0); `counts` shows
    /// whether the run counts.
    fn ran(&mut self, turn: Turn, counts: bool, run: &Run);
    /// The first round is over; about this many seconds remain.
    fn left(&mut self, seconds: f64);
    /// A program has exited and left these processes running. linespeed waits for them.
    fn waits_for(&mut self, processes: &[Process]);
    /// Standard input is a pipe with content, which is not passed to any of the commands.
    fn leaves_pipe(&mut self);
}

/// The results.
#[derive(Debug, Default)]
pub struct InTurns {
    /// The runs of each command, one per round. After an incomplete round, the first commands have one more run.
    pub runs: Vec<Vec<Run>>,
    /// For each command, the failure of its first failed run that counts.
    pub failed: Vec<Option<Failed>>,
    /// The reason why the rounds ended early, and the index of the command that was running (from 0).
    pub ended: Option<(Trouble, usize)>,
}

/// Runs the commands alternately.
pub fn run_in_turn(request: Request, observer: &mut dyn Observer) -> InTurns {
    let count = request.commands.len();
    let mut done = InTurns { runs: vec![Vec::new(); count], failed: vec![None; count], ended: None };
    // Each run is treated as a later run, which gets no input from a pipe. Otherwise, the first command would read more
    // of standard input than the others.
    let mut input = SharedInput::of_runs(u32::MAX);
    if input.is_pipe_with_content() {
        observer.leaves_pipe();
    }
    let (began, mut left_is_known) = (Instant::now(), false);
    for (counts, rounds) in [(false, request.warmup), (true, request.extent.most_rounds())] {
        let from = Instant::now();
        for (number, turn) in order_turns(count, rounds as usize).enumerate() {
            let begins_round = number.is_multiple_of(count);
            if counts && begins_round && request.extent.is_over(count, turn.round as u32, from.elapsed()) {
                return done;
            }
            let (which, ran) = (turn.alternative, run_once(request, turn.alternative, &mut input, observer));
            let (run, stderr) = match ran {
                Ok(ran) => ran,
                Err(trouble) => {
                    done.ended = Some((trouble, which));
                    return done;
                }
            };
            if let Some(signal) = request.stop.signal() {
                // An interrupted run is reported only if there is no other run.
                if counts && done.runs.iter().all(Vec::is_empty) {
                    done.runs[which].push(run);
                }
                done.ended = Some((Trouble::Stopped(signal), which));
                return done;
            }
            observer.ran(turn, counts, &run);
            if counts {
                if run.ended.exit != Exit::Code(0) && done.failed[which].is_none() {
                    done.failed[which] = Some(Failed::alone(run.ended.exit, None, &stderr));
                }
                done.runs[which].push(run);
            }
            if number + 1 == count && !std::mem::replace(&mut left_is_known, true) {
                let round = began.elapsed().as_secs_f64();
                let all = f64::from(request.warmup) * round + request.extent.seconds(count, round);
                observer.left(all - round);
            }
        }
    }
    done
}

/// Prepares and runs a command, unless a signal interrupts it. Returns the run and its standard error.
fn run_once(
    request: Request,
    which: usize,
    input: &mut SharedInput,
    observer: &mut dyn Observer,
) -> Result<(Run, Vec<u8>), Trouble> {
    let InTurn { job, prepare } = request.commands[which];
    let mut tell = |left: &[Process]| observer.waits_for(left);
    if let Some(line) = prepare {
        prepare_run(line, &job, request.stop, &mut tell)?;
    }
    check_stop(request.stop)?;
    let ran = command::run_heard(&job, input, KEPT, request.stop, &mut tell);
    let (mut run, stderr) = ran.map_err(Trouble::CannotStart)?;
    run.note_signal(request.stop);
    Ok((run, stderr))
}

/// Runs a shell command line before a run of a command, and waits until all processes that it started have exited;
/// `tell` is called with the awaited processes.
///
/// # Errors
///
/// A signal was received, or the line failed.
pub fn prepare_run(line: &str, job: &Job, stop: &Stop, mut tell: Tell) -> Result<(), Trouble> {
    let argv: Vec<OsString> = ["sh", "-c", line].map(OsString::from).to_vec();
    let failed = |how: Failed| Trouble::Prepare { line: line.to_owned(), how };
    let stderr = Output::Capture { limit: KEPT };
    let spec = Spec { stdin: Input::Null, stdout: Output::Null, stderr, env: job.env, ..Spec::new(&argv) };
    let started = Child::spawn_beside(&spec, &mut |_| job.guard.iter().for_each(|guard| guard.post()));
    let mut child = started.map_err(|why| {
        failed(Failed::alone(Exit::Code(why.code().into()), None, why.to_string().as_bytes()))
    })?;
    let exit = wait_all(&mut [&mut child], stop, None, &mut tell).pop().map(|ended| ended.exit);
    match (stop.signal(), exit) {
        (Some(signal), _) => Err(Trouble::Stopped(signal)),
        (None, Some(Exit::Code(0)) | None) => Ok(()),
        (None, Some(exit)) => Err(failed(Failed::alone(exit, None, &child.captured().1))),
    }
}

impl Extent {
    /// Maximum number of rounds.
    fn most_rounds(self) -> u32 {
        match self {
            Extent::Rounds(rounds) => rounds,
            Extent::Time(_) => MOST_TIMED,
            Extent::Usual => MOST_ROUNDS,
        }
    }

    /// Whether this many rounds are enough, given the number of commands and the elapsed time.
    fn is_over(self, commands: usize, rounds: u32, took: Duration) -> bool {
        match self {
            Extent::Rounds(asked) => rounds >= asked,
            // Another round would exceed the time.
            Extent::Time(time) => rounds > 0 && took + took / rounds > time,
            // The number of rounds in forward order must equal the number in reverse order.
            Extent::Usual => {
                rounds >= USUAL_ROUNDS
                    && rounds.is_multiple_of(2)
                    && took.as_secs_f64() >= USUAL_SECONDS * commands as f64
            }
        }
    }

    /// The approximate duration of all rounds, computed from that of one round, seconds.
    fn seconds(self, commands: usize, round: f64) -> f64 {
        match self {
            Extent::Rounds(rounds) => f64::from(rounds) * round,
            Extent::Time(time) => time.as_secs_f64(),
            Extent::Usual => {
                let least = f64::from(USUAL_ROUNDS) * round;
                least.max((USUAL_SECONDS * commands as f64).min(f64::from(MOST_ROUNDS) * round))
            }
        }
    }
}

#[cfg(test)]
mod tests;
