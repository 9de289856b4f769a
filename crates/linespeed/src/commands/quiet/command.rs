//! `linespeed quiet -- COMMAND`: knobs turned for the time of a command.

use std::time::Duration;

use ::quiet::holds::{self, process};
use ::quiet::knob::Hold;
use ::quiet::turn::Purpose;
use machine::Root;
use measure::child::{Child, Exit, Guard, Process, SpawnError, Spec, Watcher, wait_all};
use record::CpuList;
use serde_json::json;

use super::caches;
use super::turned::{self, Turned};
use crate::failure::Failure;
use crate::options::{Options, Quiet};
use crate::{output, signals};

/// Runs the command; its exit code.
pub fn run(options: &Options, quiet: &Quiet, names: &[&'static str]) -> Result<u8, Failure> {
    let stop = signals::install();
    let mut turned = Turned::begin(options, names, Purpose::ForACommand)?;
    // After the guardian, which has to outlive what this one ends.
    let mut guard = Guard::new(None);
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
    refuse_named(&turned, names)?;
    stand_aside(options);
    super::tell(options, &turned);
    signals::pass_on_to(child.pid());
    child.release();
    child.started().map_err(Failure::Refused)?;
    let ended = wait_all(&mut [&mut child], stop, None, &mut Ending).pop();
    guard.dismiss();
    let outcomes = turned.outcomes().to_vec();
    turned.end();
    let code = match ended.map(|ended| ended.exit) {
        Some(Exit::Code(code)) => code as u8,
        Some(Exit::Signal(signal) | Exit::Stopped(signal)) => 128u8.wrapping_add(signal as u8),
        Some(Exit::TimedOut) | None => 3,
    };
    if options.out.json {
        let told = json!({"turned": turned::outcomes_json(&outcomes), "exit": code});
        output::print_error(&format!("{told:#}\n"));
    }
    Ok(code)
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
