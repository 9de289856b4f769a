//! `linespeed plan --verify -- COMMAND`: runs the same work alternately as planned and unpinned.

use diagnose::judge_verification;
use experiment::copies::{RunOptions, raise_file_limit};
use experiment::failure::Trouble;
use experiment::layouts::{
    LayoutObserver, LayoutRun, PLACEHOLDERS, count_marks, place_planned, place_unbound, run_layouts,
};
use experiment::recipes::template::Template;
use experiment::rounds::is_forward;
use os::child::Guard;
use record::phrase::count_noun;
use record::plan::{Plan as Layout, Verification};
use record::units;

use crate::commands::quiet::tuned_session;
use crate::failure::{Failure, signal_code};
use crate::options::{Options, Plan};
use crate::progress::Shown;
use os::signals;

/// Runs the command both ways and adds the result to the plan; returns the exit code.
pub fn run(options: &Options, plan: &Plan, made: &mut Layout) -> Result<u8, Failure> {
    let command = plan.command.iter().map(|one| Template::typed_with(one, &PLACEHOLDERS)).collect::<Vec<_>>();
    let (planned, mut how) = place_planned(&command, made).map_err(|why| Failure::Cannot(why.to_string()))?;
    let unbound = place_unbound(made, &planned, options.measuring.cpus.as_ref());
    let stop = signals::install();
    raise_file_limit(planned.len());
    let tuned = tuned_session::for_measuring(options)?;
    let knobs = tuned_session::knobs(tuned.as_ref());
    if let Some(quiet) = report::terminal::quiet_machine(&record::Conditions { knobs, ..Default::default() })
    {
        how.push(quiet);
    }
    // The guard is created before any process is started, and dropped after all of them.
    let guard = Guard::new(None);
    let how_to_run = RunOptions {
        rounds: plan.repeat as usize,
        timeout: plan.timeout,
        memory: os::memory_available(),
        environment: vec![guard.variable()],
    };
    let mut progress = Shown::new(&options.out, "verify", 0.0);
    let rounds = run_layouts(&command, &planned, &unbound, &how_to_run, stop, &mut progress);
    progress.finish();
    drop(guard);
    let interrupted = match rounds.ended {
        None => None,
        Some(Trouble::Stopped(signal)) => Some(signal),
        Some(Trouble::CannotStart(refused)) => return Err(Failure::Refused(refused)),
        Some(trouble) => return Err(Failure::Cannot(trouble.to_string())),
    };
    let seconds = |runs: &[LayoutRun]| runs.iter().map(|took| took.seconds).collect::<Vec<f64>>();
    let mut verified = Verification {
        command: plan.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        how,
        planned: seconds(&rounds.planned),
        unbound: seconds(&rounds.unbound),
        marks: count_marks(rounds.planned.iter().chain(&rounds.unbound)),
        ..Verification::default()
    };
    judge_verification(&mut verified, made, is_forward);
    let code = match interrupted {
        None => 0,
        Some(signal) => {
            let rounds = count_noun(verified.planned.len(), "round");
            let says = format!("Interrupted by signal {signal} after {rounds}. {}", verified.says);
            verified.says = says.into();
            signal_code(signal)
        }
    };
    made.verification = Some(verified);
    Ok(code)
}

impl LayoutObserver for Shown<'_> {
    fn trial_done(&mut self, seconds: f64) {
        self.verbose(&format!("trial done; all rounds will take about {}", units::figure(seconds, "s")));
        self.begin_runs(seconds);
    }

    fn run_done(&mut self, planned: bool, took: &LayoutRun, done: usize, all: usize) {
        let which = if planned { "as planned" } else { "unpinned" };
        self.done(done, all, &format!("{which}: {}", units::figure(took.seconds, "s")));
    }
}
