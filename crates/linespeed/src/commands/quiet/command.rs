//! `linespeed quiet -- COMMAND`: sets knobs for the duration of a command.

use ::quiet::knob_outcome::KnobOutcome;
use ::quiet::knobs::nice_scope_limit;
use ::quiet::tuned_session::TunedSession;
use ::quiet::tuning_plan::Purpose;
use ::quiet::{json, page_cache, process_settings};
use machine::Root;
use os::child::{Guard, Process, Spec, Watcher, wait_all};
use os::signals;
use serde_json::json;

use super::tuned_session;
use crate::delivery::checked_output_file;
use crate::failure::{Failure, signal_code};
use crate::options::{Options, Quiet};
use crate::progress::{name_processes, say_left};
use crate::{files, output};

/// Runs the command; returns its exit code. With `--json`, the outcome is printed once, regardless of how the command exited.
pub fn run(options: &Options, quiet: &Quiet, names: &[&'static str]) -> Result<u8, Failure> {
    if !options.out.json {
        return attempt(options, quiet, names, &mut Vec::new());
    }
    let destination = checked_output_file(options)?;
    let mut outcomes = Vec::new();
    let (code, error) = match attempt(options, quiet, names, &mut outcomes) {
        Ok(code) => (code, None),
        Err(usage @ Failure::Usage(_)) => return Err(usage),
        Err(failure) => (failure.code(), Some(failure.to_string())),
    };
    let reported = json!({
        "turned": json::outcomes(&outcomes),
        "exit": code,
        "error": error,
        "all_is_back": !tuned_session::is_something_not_back(),
    });
    let text = format!("{reported:#}\n");
    match (&destination, &options.out.output) {
        (Some(path), _) => files::write(path, &text)?,
        // `--output -` requests the result on standard output, even though the command also writes there.
        (None, Some(_)) => output::print(&text)?,
        (None, None) => output::print_error(&text),
    }
    Ok(code)
}

fn attempt(
    options: &Options,
    quiet: &Quiet,
    names: &[&'static str],
    outcomes: &mut Vec<KnobOutcome>,
) -> Result<u8, Failure> {
    let stop = signals::install();
    let mut tuned = tuned_session::begin(options, names, Purpose::Command)?;
    tuned.outcomes().clone_into(outcomes);
    // The guard is created after the guardian, which must outlive the processes that the guard terminates.
    let guard = Guard::new(None);
    if let Some(signal) = stop.signal() {
        tuned.end();
        return Ok(signal_code(signal));
    }
    if quiet.drop_caches {
        page_cache::drop_all().map_err(|error| Failure::Cannot(error.to_string()))?;
        output::complain("dropped the page cache of the whole machine; it cannot be restored");
    }
    let env = [guard.variable()];
    let spec = Spec { env: &env, gate: true, ..Spec::new(&quiet.command) };
    let mut child = tuned.spawn(&spec).map_err(Failure::Refused)?;
    // A limit on the nice value is mentioned only if the user requested that knob or detailed output.
    if (names.contains(&"nice") || options.out.verbose || options.out.json)
        && let Some(limits) = nice_scope_limit(&Root::live())
    {
        tuned.note("nice", limits);
    }
    tuned.outcomes().clone_into(outcomes);
    refuse_named(&tuned, names)?;
    if let Some(quiet) = &options.measuring.cpus {
        process_settings::leave_cpus(quiet);
    }
    tuned_session::tell(options, &tuned, names.is_empty());
    signals::pass_on_to(child.pid());
    child.release();
    child.started().map_err(Failure::Refused)?;
    let ended = wait_all(&mut [&mut child], stop, None, &mut Ending).pop();
    guard.dismiss();
    tuned.end();
    Ok(ended.map_or(3, |ended| ended.exit.code()))
}

/// Refuses to run the command if a knob specified by the user could not be set.
fn refuse_named(tuned: &TunedSession, names: &[&'static str]) -> Result<(), Failure> {
    let why = |outcome: &KnobOutcome| Some(format!("{}: {}", outcome.knob, outcome.why_not.as_ref()?));
    let missing: Vec<String> = tuned.outcomes().iter().filter_map(why).collect();
    if names.is_empty() || missing.is_empty() {
        return Ok(());
    }
    let missing = missing.join("; ");
    Err(Failure::Cannot(format!("{missing}; the command was not run, and all settings are unchanged")))
}

/// Observes the exit of the command, because signals that arrive after it are meant for linespeed.
struct Ending;

impl Watcher for Ending {
    fn exited(&mut self, _pid: i32) {
        signals::keep();
    }

    fn left(&mut self, left: &[Process]) {
        say_left(&name_processes(left), "The knobs stay set until then; Ctrl-C stops waiting");
    }
}
