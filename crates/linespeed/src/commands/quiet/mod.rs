//! `linespeed quiet`: disables sources of measurement noise on this machine, and restores them.

mod audit;
mod command;
mod prove;
mod standing;
pub mod tuned_session;

use ::quiet::json;
use ::quiet::knobs::{KNOBS, find};
use ::quiet::tuning_plan::{Purpose, Wanted};
use machine::Root;
use os::signals;
use report::view::{Form, View};
use serde_json::json;

use crate::delivery::hand_out;
use crate::failure::{Failure, signal_code, unknown_name};
use crate::options::{Options, Quiet};
use crate::output;
use ::drawn::knob_changes;

/// Exit code if the machine is not quiet, or if not all knobs were set or restored.
pub const NOT_QUIET: u8 = 1;

/// Executes the request.
pub fn run(options: &Options, quiet: &Quiet) -> Result<u8, Failure> {
    let names = names(&quiet.knobs)?;
    refuse_idle(options, quiet, &names)?;
    if quiet.restore {
        return standing::restore(options);
    }
    if quiet.status {
        return standing::status(options);
    }
    if quiet.prove {
        return prove::run(options, quiet, &names);
    }
    if !quiet.command.is_empty() && !quiet.dry_run {
        return command::run(options, quiet, &names);
    }
    let root = super::root(quiet.root.as_deref())?;
    if quiet.dry_run {
        let purpose = if quiet.command.is_empty() { Purpose::Persistent } else { Purpose::Command };
        return dry_run(options, quiet, &root, &names, purpose);
    }
    if quiet.apply {
        return apply(options, &names);
    }
    audit::run(options, &root, &names)
}

/// Rejects requests that would have no effect, such as knobs for selected CPUs without a CPU list, or an output file
/// for text that is written to standard output.
fn refuse_idle(options: &Options, quiet: &Quiet, names: &[&'static str]) -> Result<(), Failure> {
    let runs = !quiet.command.is_empty() && !quiet.dry_run && !quiet.prove;
    if options.out.output.is_some() && !(runs && options.out.json) {
        let why = "linespeed quiet does not support --output, except with --json -- COMMAND";
        return Err(Failure::Usage(format!("{why}; redirect standard output with linespeed quiet … >FILE")));
    }
    if let (true, Some(Form::Markdown)) = (runs, options.out.form()) {
        return Err(Failure::usage("standard output belongs to the command: omit --markdown, or use --json"));
    }
    // If there is a command, `--prove` selects the CPU itself.
    let proves = quiet.prove && quiet.command.is_empty();
    let turns = quiet.apply || quiet.dry_run || proves || runs;
    let idle = |name: &&&'static str| find(name).is_some_and(|k| k.set == ::quiet::knob::SetWhen::CpusNamed);
    let idle: Vec<&str> = names.iter().filter(idle).copied().collect();
    if !turns || idle.is_empty() || options.measuring.cpus.is_some() {
        return Ok(());
    }
    let (are, s) = if idle.len() == 1 { ("is", "s") } else { ("are", "") };
    Err(Failure::Usage(format!(
        "{} {are} set only for selected CPUs, and require{s} a CPU list: linespeed quiet --cpus LIST {} …",
        idle.join(", "),
        idle.join(" ")
    )))
}

/// The canonical names of the specified knobs. An unknown name is rejected with the nearest known name as a
/// suggestion.
fn names(given: &[String]) -> Result<Vec<&'static str>, Failure> {
    let all = KNOBS.iter().map(|knob| knob.name);
    // A command without a preceding -- is parsed as a knob.
    let unknown = |name: &String| {
        let words = unknown_name("knob", name, all.clone());
        Failure::Usage(format!("{words}; to run a command, use linespeed quiet -- {name}"))
    };
    given.iter().map(|name| find(name).map(|knob| knob.name).ok_or_else(|| unknown(name))).collect()
}

/// `--dry-run`: prints every value that would be written.
fn dry_run(
    options: &Options,
    quiet: &Quiet,
    root: &Root,
    names: &[&'static str],
    purpose: Purpose,
) -> Result<u8, Failure> {
    let wanted = Wanted { names, purpose, cpus: options.measuring.cpus.as_ref(), value: None };
    let plan = wanted.plan(root)?.plan;
    let mut reported = json::plan(&plan);
    reported["drop_caches"] = json!(quiet.drop_caches);
    let held = "set while the command runs";
    let forms = View::new(|screen| knob_changes::knobs_planned(screen, &plan, held, quiet.drop_caches));
    hand_out(options, &forms.with_value(reported)).map(|()| 0)
}

/// `--apply`: sets the knobs permanently.
fn apply(options: &Options, names: &[&'static str]) -> Result<u8, Failure> {
    let stop = signals::install();
    let tuned = tuned_session::begin(options, names, Purpose::Persistent)?;
    if let Some(signal) = stop.signal() {
        tuned.end();
        return Ok(signal_code(signal));
    }
    let outcomes = tuned.outcomes().to_vec();
    let stands = tuned.leave();
    let code = if !outcomes.iter().any(|outcome| outcome.is_missing()) { 0 } else { NOT_QUIET };
    let forms = View::new(|screen| knob_changes::knobs_applied(screen, &outcomes, stands))
        .with_value(json!({"applied": json::outcomes(&outcomes), "stands": stands}));
    hand_out(options, &forms).inspect_err(|_| {
        if stands {
            output::complain("the values are set; restore the old values with linespeed quiet --restore");
        }
    })?;
    if !stands && code != 0 {
        return Err(Failure::cannot("nothing was set, for the reasons above"));
    }
    Ok(code)
}
