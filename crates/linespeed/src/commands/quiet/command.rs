//! `linespeed quiet -- COMMAND`: knobs turned for the time of a command.

use std::time::Duration;

use ::quiet::files::Tree;
use ::quiet::holds::{self, process};
use ::quiet::knob::Hold;
use ::quiet::knobs::nice_counts_only;
use ::quiet::turn::Purpose;
use machine::Root;
use measure::child::{Child, Exit, Guard, Process, SpawnError, Spec, Watcher, wait_all};
use record::CpuList;

use super::turned::{self, Outcome, Turned};
use super::{caches, json};
use crate::failure::Failure;
use crate::options::{Options, Quiet};
use crate::{files, output, signals};

/// Runs the command; its exit code. With `--json` what became of it is told once, however it ended.
pub fn run(options: &Options, quiet: &Quiet, names: &[&'static str]) -> Result<u8, Failure> {
    if !options.out.json {
        return attempt(options, quiet, names, &mut Vec::new());
    }
    let destination = crate::commands::output_file(options);
    if let Some(path) = &destination {
        files::check_writable(path)?;
    }
    let mut outcomes = Vec::new();
    let (code, error) = match attempt(options, quiet, names, &mut outcomes) {
        Ok(code) => (code, None),
        Err(usage @ Failure::Usage(_)) => return Err(usage),
        Err(failure) => (failure.code(), Some(failure.to_string())),
    };
    let told = json!({
        "turned": json::outcomes(&outcomes),
        "exit": code,
        "error": error,
        "all_is_back": !turned::is_something_not_back(),
    });
    let text = format!("{told:#}\n");
    match (&destination, &options.out.output) {
        (Some(path), _) => files::write(path, &text)?,
        // --output -: the user wants it beside what the command prints.
        (None, Some(_)) => output::print(&text)?,
        (None, None) => output::print_error(&text),
    }
    Ok(code)
}

fn attempt(
    options: &Options,
    quiet: &Quiet,
    names: &[&'static str],
    outcomes: &mut Vec<Outcome>,
) -> Result<u8, Failure> {
    let stop = signals::install();
    let mut turned = Turned::begin(options, names, Purpose::ForACommand)?;
    turned.outcomes().clone_into(outcomes);
    // After the guardian, which has to outlive what this one ends.
    let guard = Guard::new(None);
    if let Some(signal) = stop.signal() {
        turned.end();
        return Ok(128u8.wrapping_add(signal as u8));
    }
    if quiet.drop_caches {
        caches::drop_all()?;
    }
    if !quiet.warm.is_empty() {
        let bytes = caches::warm(&quiet.warm)?;
        if options.out.verbose {
            output::complain(&format!("{} of files were read", record::units::bytes(bytes)));
        }
    }
    let env = [guard.variable()];
    let spec = Spec { env: &env, gate: true, ..Spec::new(&quiet.command) };
    let mut child = spawn(&spec, &mut turned).map_err(Failure::Refused)?;
    dress(child.pid(), &mut turned);
    // Who takes all knobs as they come has not asked for this one.
    if (names.contains(&"nice") || options.out.verbose || options.out.json)
        && let Some(limits) = nice_counts_only(&Tree::new(&Root::live()))
    {
        turned.note("nice", limits);
    }
    turned.outcomes().clone_into(outcomes);
    refuse_named(&turned, names)?;
    stand_aside(options);
    super::tell(options, &turned);
    signals::pass_on_to(child.pid());
    child.release();
    child.started().map_err(Failure::Refused)?;
    let ended = wait_all(&mut [&mut child], stop, None, &mut Ending).pop();
    guard.dismiss();
    turned.end();
    Ok(match ended.map(|ended| ended.exit) {
        Some(Exit::Code(code)) => code as u8,
        Some(Exit::Signal(signal) | Exit::Stopped(signal)) => 128u8.wrapping_add(signal as u8),
        Some(Exit::TimedOut) | None => 3,
    })
}

/// Starts the command up to its gate, with fixed addresses where that was asked for.
fn spawn(spec: &Spec, turned: &mut Turned) -> Result<Child, SpawnError> {
    if !turned.holds.contains(&Hold::FixedAddresses) {
        return Child::spawn(spec);
    }
    let (child, fixed) = process::with_fixed_addresses(|| Child::spawn(spec));
    if let Err(why) = fixed {
        turned.refuse(&Hold::FixedAddresses, why);
    }
    child
}

/// Puts the child on its CPUs and gives it its priorities.
fn dress(pid: i32, turned: &mut Turned) {
    if let Some(shield) = turned.shield.clone()
        && let Err(why) = shield.enter(pid)
    {
        turned.refuse_shield(why);
    }
    for (hold, why) in holds::dress(pid, &turned.holds.clone()) {
        turned.refuse(&hold, why);
    }
}

/// What was named must be; otherwise the command does not run.
fn refuse_named(turned: &Turned, names: &[&'static str]) -> Result<(), Failure> {
    let missing: Vec<String> = turned
        .outcomes()
        .iter()
        .filter_map(|outcome| outcome.why_not.as_ref().map(|why| format!("{}: {why}", outcome.knob)))
        .collect();
    if names.is_empty() || missing.is_empty() {
        return Ok(());
    }
    Err(Failure::Cannot(format!(
        "{}; the command was not run, and everything is as it was",
        missing.join("; ")
    )))
}

/// Leaves the quiet CPUs, and looks after the command from the others.
fn stand_aside(options: &Options) {
    let Some(quiet) = &options.measuring.cpus else { return };
    let Some(online) = Root::live().cpu_list("/sys/devices/system/cpu/online") else { return };
    let rest: CpuList = online.difference(quiet);
    if !rest.is_empty() {
        // Where this is not allowed it looks after the command from where it is, ten times a second at most.
        let _ = process::set_affinity(0, &rest);
    }
}

/// Hears of the command's end: what comes then is for us.
struct Ending;

impl Watcher for Ending {
    fn tick(&mut self) -> Duration {
        Duration::from_secs(3600)
    }

    fn exited(&mut self, _pid: i32) {
        signals::keep();
    }

    fn left(&mut self, left: &[Process]) {
        let names: Vec<String> =
            left.iter().take(5).map(|process| format!("{} {}", process.name, process.pid)).collect();
        output::complain(&format!(
            "the command has ended and left {} running in the background: the knobs stay until that ends; Ctrl-C ends it",
            names.join(", ")
        ));
    }
}
