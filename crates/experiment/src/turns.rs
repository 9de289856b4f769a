//! Several commands in turn, each measured as `linespeed stat` measures one: which is faster, whatever drifts meanwhile.

mod figures;

use std::ffi::OsString;
use std::fmt;
use std::ops::ControlFlow::{Break, Continue};
use std::time::{Duration, Instant};

use measure::command::{self, Job, Run, SharedInput, Tell};
use os::Stop;
use os::child::{Child, Exit, Input, Output, Process, SpawnError, Spec, wait_all};

use crate::failure::Failed;
use crate::rounds::{Turn, run_rounds};
pub use figures::{Measured, figures};

/// Rounds where no number is asked for: so many at least, and more of quick commands, until they took so long, a command.
pub const USUAL_ROUNDS: u32 = 10;
/// Seconds, a command.
pub const USUAL_SECONDS: f64 = 3.0;
/// No more rounds than that where no number is asked for: the medians of more do not differ.
pub const MOST_ROUNDS: u32 = 1000;
/// As many runs as `-r` may ask for.
const MOST_TIMED: u32 = 100_000;
/// What is kept of what a command writes to standard error.
const KEPT: usize = 4 << 10;

/// How many rounds there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    /// So many.
    Rounds(u32),
    /// As many as fit into this time, one at least.
    Time(Duration),
    /// [`USUAL_ROUNDS`], more of quick commands.
    Usual,
}

/// One of the commands.
#[derive(Clone, Copy, Debug)]
pub struct InTurn<'a> {
    /// What is run.
    pub job: Job<'a>,
    /// A line for `sh -c` before each of its runs, also those that do not count.
    pub prepare: Option<&'a str>,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The commands.
    pub commands: &'a [InTurn<'a>],
    /// Rounds before, which do not count.
    pub warmup: u32,
    /// Rounds.
    pub extent: Extent,
    /// Ends it early.
    pub stop: &'a Stop,
}

/// Hears how far it is.
pub trait Observer {
    /// A command has ended: which (from 0), in which round (from 0), and whether that counts.
    fn ran(&mut self, turn: Turn, counts: bool, run: &Run);
    /// The first round is over: about so many seconds are left.
    fn left(&mut self, seconds: f64);
    /// Something that was started has ended and left these behind, which are waited for.
    fn waits_for(&mut self, processes: &[Process]);
    /// Standard input is a pipe, which none of the commands reads.
    fn leaves_pipe(&mut self);
}

/// What came of it.
#[derive(Debug, Default)]
pub struct InTurns {
    /// By command, its runs, a round each. Of a round that was begun and not ended the commands that had their turn have one more.
    pub runs: Vec<Vec<Run>>,
    /// By command, how its first run failed that did, of all that count.
    pub failed: Vec<Option<Failed>>,
    /// What ended it early.
    pub ended: Option<EarlyEnd>,
}

/// What ends it early.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum EarlyEnd {
    /// We were asked to stop by this signal.
    #[error("stopped by signal {0}")]
    Stopped(i32),
    /// A command cannot be started: which (from 0), and why.
    #[error("{1}")]
    CannotStart(usize, SpawnError),
    /// The line before a run failed.
    #[error("{0}")]
    Prepare(PrepareFailed),
}

/// How the line before a run failed.
#[derive(Debug, PartialEq)]
pub struct PrepareFailed {
    /// The line.
    pub line: String,
    /// How.
    pub how: Failed,
}

impl fmt::Display for PrepareFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, how } = self;
        write!(f, "--prepare {line:?} {how}. Where that may fail: --prepare {:?}", format!("{line} || true"))
    }
}

/// Runs the commands in turn.
pub fn run_in_turn(request: Request, observer: &mut dyn Observer) -> InTurns {
    let count = request.commands.len();
    // Each run is a later one: whoever comes first reads no more of standard input than the others.
    let mut input = SharedInput::of_runs(u32::MAX);
    if input.is_pipe_with_content() {
        observer.leaves_pipe();
    }
    let mut done = InTurns { runs: vec![Vec::new(); count], failed: vec![None; count], ended: None };
    let began = Instant::now();
    let mut warmed = 0;
    let warm_up = run_rounds(count, request.warmup as usize, |turn| {
        match run_once(request, turn.alternative, &mut input, observer) {
            Ok((run, _)) => {
                observer.ran(turn, false, &run);
                warmed += 1;
                if warmed == count {
                    let round = began.elapsed().as_secs_f64();
                    let others = f64::from(request.warmup - 1) * round;
                    observer.left(others + request.extent.seconds(count, round));
                }
                Continue(())
            }
            Err(End::Early(early)) => Break(early),
            Err(End::Cut(cut)) => Break(EarlyEnd::Stopped(cut.1)),
        }
    });
    done.ended = warm_up.ended;
    if done.ended.is_some() {
        return done;
    }
    let began = Instant::now();
    let mut so_far = 0;
    let rounds = run_rounds(count, request.extent.most_rounds() as usize, |turn| {
        if so_far == count && warmed == 0 {
            let round = began.elapsed().as_secs_f64();
            observer.left(request.extent.seconds(count, round) - round);
        }
        if so_far % count.max(1) == 0 && request.extent.is_over(count, turn.round as u32, began.elapsed()) {
            return Break(None);
        }
        so_far += 1;
        match run_once(request, turn.alternative, &mut input, observer) {
            Ok((run, stderr)) => {
                observer.ran(turn, true, &run);
                if run.ended.exit != Exit::Code(0) && done.failed[turn.alternative].is_none() {
                    done.failed[turn.alternative] = Some(Failed::alone(run.ended.exit, None, &stderr));
                }
                done.runs[turn.alternative].push(run);
                Continue(())
            }
            Err(End::Early(early)) => Break(Some(early)),
            Err(End::Cut(cut)) => {
                let (run, signal) = *cut;
                // What a signal cut short is told when it is all that there is, and else left out.
                if done.runs.iter().all(Vec::is_empty) {
                    done.runs[turn.alternative].push(run);
                }
                Break(Some(EarlyEnd::Stopped(signal)))
            }
        }
    });
    done.ended = rounds.ended.flatten();
    done
}

/// Why a run does not count: what ends all of it, or the run that a signal cut short, and the signal.
enum End {
    Early(EarlyEnd),
    Cut(Box<(Run, i32)>),
}

/// Prepares a command's run and runs it: the run, and what it wrote to standard error.
fn run_once(
    request: Request,
    which: usize,
    input: &mut SharedInput,
    observer: &mut dyn Observer,
) -> Result<(Run, Vec<u8>), End> {
    let InTurn { job, prepare } = request.commands[which];
    if let Some(line) = prepare {
        prepare_run(line, &job, request.stop, &mut |left| observer.waits_for(left)).map_err(End::Early)?;
    }
    if let Some(signal) = request.stop.signal() {
        return Err(End::Early(EarlyEnd::Stopped(signal)));
    }
    let ran = command::run_heard(&job, input, KEPT, request.stop, &mut |left| observer.waits_for(left));
    let (mut run, stderr) = ran.map_err(|why| End::Early(EarlyEnd::CannotStart(which, why)))?;
    match request.stop.signal() {
        None => Ok((run, stderr)),
        Some(signal) => {
            // A terminal's Ctrl-C reaches the command itself, too.
            if [Exit::Signal(signal), Exit::Code(128 + signal)].contains(&run.ended.exit) {
                run.ended.exit = Exit::Stopped(signal);
            }
            Err(End::Cut(Box::new((run, signal))))
        }
    }
}

/// Runs a line of shell before a run of a command, to its end and that of all that it starts; `tell` hears what that waits for.
///
/// # Errors
///
/// A signal came, or the line did not succeed.
pub fn prepare_run(line: &str, job: &Job, stop: &Stop, mut tell: Tell) -> Result<(), EarlyEnd> {
    let argv: Vec<OsString> = ["sh", "-c", line].map(OsString::from).to_vec();
    let failed = |how: Failed| EarlyEnd::Prepare(PrepareFailed { line: line.to_owned(), how });
    let stderr = Output::Capture { limit: KEPT };
    let spec = Spec { stdin: Input::Null, stdout: Output::Null, stderr, env: job.env, ..Spec::new(&argv) };
    let started = Child::spawn_beside(&spec, &mut |_| job.guard.iter().for_each(|guard| guard.post()));
    let mut child = started.map_err(|why| {
        failed(Failed::alone(Exit::Code(why.code().into()), None, why.to_string().as_bytes()))
    })?;
    let exit = wait_all(&mut [&mut child], stop, None, &mut tell).pop().map(|ended| ended.exit);
    match (stop.signal(), exit) {
        (Some(signal), _) => Err(EarlyEnd::Stopped(signal)),
        (None, Some(Exit::Code(0)) | None) => Ok(()),
        (None, Some(exit)) => Err(failed(Failed::alone(exit, None, &child.captured().1))),
    }
}

impl Extent {
    /// Rounds that are never exceeded.
    fn most_rounds(self) -> u32 {
        match self {
            Extent::Rounds(rounds) => rounds,
            Extent::Time(_) => MOST_TIMED,
            Extent::Usual => MOST_ROUNDS,
        }
    }

    /// Whether `rounds` of so many commands, which took so long, are enough.
    fn is_over(self, commands: usize, rounds: u32, took: Duration) -> bool {
        match self {
            Extent::Rounds(asked) => rounds >= asked,
            // With another round it would be longer.
            Extent::Time(time) => rounds > 0 && took + took / rounds > time,
            // As many forwards as backwards.
            Extent::Usual => {
                rounds >= USUAL_ROUNDS
                    && rounds.is_multiple_of(2)
                    && took.as_secs_f64() >= USUAL_SECONDS * commands as f64
            }
        }
    }

    /// About how long all rounds take, by one of them, seconds.
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
