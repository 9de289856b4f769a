//! `linespeed quiet`: what makes measurements noisy here, turned off and put back.

mod audit;
mod command;
mod prove;
pub mod tuned_session;

use ::quiet::files::Tree;
use ::quiet::knobs::{KNOBS, find};
use ::quiet::root_session::RootSession;
use ::quiet::session::{self, Leftover};
use ::quiet::tuned_session::{TunedSession, read_boot_id, restore_leftover};
use ::quiet::tuning_plan::{Purpose, TuningPlan, prepare_context};
use ::quiet::{json, lock};
use machine::Root;
use report::terminal;
use serde_json::json;

use crate::failure::Failure;
use crate::options::{Options, Quiet};
use crate::{output, signals};

/// Exit code where the machine is not quiet, or not all was set or put back.
pub const NOT_QUIET: u8 = 1;

/// Does what was asked for.
pub fn run(options: &Options, quiet: &Quiet) -> Result<u8, Failure> {
    let names = names(&quiet.knobs)?;
    refuse_idle(options, quiet, &names)?;
    if quiet.restore {
        return restore(options);
    }
    if quiet.status {
        return status(options);
    }
    if quiet.prove {
        return prove::run(options, quiet, &names);
    }
    if !quiet.command.is_empty() && !quiet.dry_run {
        return command::run(options, quiet, &names);
    }
    let root = match &quiet.root {
        None => Root::live(),
        // The error names the folder.
        Some(path) => Root::captured(path).map_err(|error| Failure::Cannot(error.to_string()))?,
    };
    if quiet.dry_run {
        let purpose = if quiet.command.is_empty() { Purpose::Persistent } else { Purpose::Command };
        return dry_run(options, quiet, &root, &names, purpose);
    }
    if quiet.apply {
        return apply(options, &names);
    }
    audit::run(options, &root, &names)
}

/// Refuses what would do nothing: knobs that are set for CPUs, without any; a file for what goes to standard output.
fn refuse_idle(options: &Options, quiet: &Quiet, names: &[&'static str]) -> Result<(), Failure> {
    let runs = !quiet.command.is_empty() && !quiet.dry_run && !quiet.prove;
    if options.out.output.is_some() && !(runs && options.out.json) {
        let why = "linespeed quiet has no use for --output, except with --json -- COMMAND";
        return Err(Failure::Usage(format!("{why}; redirect standard output: linespeed quiet … >FILE")));
    }
    // A proof of a command takes a CPU by itself.
    let proves = quiet.prove && quiet.command.is_empty();
    let turns = quiet.apply || quiet.dry_run || proves || runs;
    let idle = |name: &&&'static str| find(name).is_some_and(|knob| knob.needs_cpus());
    let idle: Vec<&str> = names.iter().filter(idle).copied().collect();
    if !turns || idle.is_empty() || options.measuring.cpus.is_some() {
        return Ok(());
    }
    let (are, s) = if idle.len() == 1 { ("is", "s") } else { ("are", "") };
    Err(Failure::Usage(format!(
        "{} {are} set for CPUs that are to be quiet, and need{s} to know which: linespeed quiet --cpus LIST {} …",
        idle.join(", "),
        idle.join(" ")
    )))
}

/// The names as the knobs have them; one that is none is refused with the nearest.
fn names(given: &[String]) -> Result<Vec<&'static str>, Failure> {
    given.iter().map(|name| find(name).map(|knob| knob.name()).ok_or_else(|| unknown(name))).collect()
}

fn unknown(name: &str) -> Failure {
    let all = KNOBS.iter().map(|knob| knob.name());
    let hint = record::glossary::find_nearest(name, all.clone())
        .map_or(".".to_owned(), |near| format!("; did you mean {near}?"));
    let names = all.collect::<Vec<_>>().join(", ");
    Failure::Usage(format!("there is no knob {name:?}{hint} There are: {names}. A command stands after --"))
}

/// `--dry-run`: every value that would be written.
fn dry_run(
    options: &Options,
    quiet: &Quiet,
    root: &Root,
    names: &[&'static str],
    purpose: Purpose,
) -> Result<u8, Failure> {
    let tree = Tree::new(root);
    let mut context = prepare_context(root, &tree, options.measuring.cpus.as_ref(), purpose)?;
    context.stays = purpose == Purpose::Persistent;
    let rows = ::quiet::audit::audit(&context, names);
    let plan = TuningPlan::from_audit(&rows, !names.is_empty(), purpose, &tree);
    let text = if options.out.json {
        let mut reported = json::plan(&plan);
        reported["drop_caches"] = json!(quiet.drop_caches);
        reported["warm"] = quiet.warm.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        format!("{reported:#}\n")
    } else {
        terminal::knobs_planned(&plan, quiet.drop_caches, quiet.warm.len(), &output::style(&options.out))
    };
    output::print(&text).map(|()| 0)
}

/// `--apply`: sets them, and leaves them so.
fn apply(options: &Options, names: &[&'static str]) -> Result<u8, Failure> {
    let stop = signals::install();
    let tuned = tuned_session::begin(options, names, Purpose::Persistent)?;
    if let Some(signal) = stop.signal() {
        tuned.end();
        return Ok(128u8.wrapping_add(signal as u8));
    }
    let outcomes = tuned.outcomes().to_vec();
    let stands = tuned.leave();
    let code = if !outcomes.iter().any(|outcome| outcome.is_missing()) { 0 } else { NOT_QUIET };
    let text = if options.out.json {
        format!("{:#}\n", json!({"applied": json::outcomes(&outcomes), "stands": stands}))
    } else {
        terminal::knobs_applied(&outcomes, stands, &output::style(&options.out))
    };
    output::print(&text).inspect_err(|_| {
        if stands {
            output::complain("the values stand all the same; to put them back: linespeed quiet --restore");
        }
    })?;
    if !stands && code != 0 {
        return Err(Failure::Cannot("nothing was set; what stands in the way is said above".to_owned()));
    }
    Ok(code)
}

/// `--restore`: puts back what an earlier start left.
fn restore(options: &Options) -> Result<u8, Failure> {
    // A signal in the middle is heard after the end.
    let stop = signals::install();
    let restored = restore_leftover(&tuned_session::caller())?;
    let text = if options.out.json {
        let root = Root::live();
        let root_session = restored.root.as_ref().map(|session| session.to_json(&Tree::new(&root)));
        let reported = json!({
            "restored": json::restored(&restored.values),
            "gone_with_another_boot": restored.forgotten.as_ref().map(|contents| contents.header.changes.len()),
            "root": root_session,
        });
        format!("{reported:#}\n")
    } else {
        terminal::knobs_restored(&restored, &output::style(&options.out))
    };
    output::print(&text)?;
    if let Some(signal) = stop.signal() {
        return Ok(128u8.wrapping_add(signal as u8));
    }
    let back = restored.root.is_none() && restored.values.iter().all(|(_, outcome)| outcome.is_back());
    Ok(if back { 0 } else { NOT_QUIET })
}

/// `--status`: what stands, and by whom. 1 where anything does.
fn status(options: &Options) -> Result<u8, Failure> {
    let caller = tuned_session::caller();
    let folder = caller.state_directory()?;
    let root = Root::live();
    let tree = Tree::new(&root);
    let holder = lock::find_holder(&folder);
    let boot = read_boot_id();
    let leftover = session::find_leftover(&folder, &boot)?;
    caller.tell_where_foreign(&folder);
    let root_session = RootSession::find(&boot);
    let text = if options.out.json {
        let root_session = root_session.as_ref().map(|session| session.to_json(&tree));
        format!("{:#}\n", json::status(&leftover, holder.as_deref(), &tree, root_session))
    } else {
        terminal::knobs_standing(
            &leftover,
            holder.as_deref(),
            &tree,
            root_session.as_ref(),
            &output::style(&options.out),
        )
    };
    output::print(&text)?;
    let nothing = matches!(leftover, Leftover::Nothing) && holder.is_none() && root_session.is_none();
    Ok(if nothing { 0 } else { NOT_QUIET })
}

/// What is set, where that was asked for; what is not, unless nothing was to be said.
fn tell(options: &Options, tuned: &TunedSession) {
    if options.out.quiet_output || options.out.json {
        return;
    }
    let style = output::error_style(&options.out);
    if options.out.verbose {
        output::print_error(&terminal::knobs_set(tuned.outcomes(), &style));
        return;
    }
    let missing: Vec<&str> =
        tuned.outcomes().iter().filter(|outcome| outcome.is_missing()).map(|outcome| outcome.knob).collect();
    if !missing.is_empty() {
        output::complain(&format!("not set: {} (-v says why)", missing.join(", ")));
    }
    for (knob, note) in tuned.outcomes().iter().filter_map(|done| Some((done.knob, done.note.as_ref()?))) {
        output::complain(&format!("{knob}: {note}"));
    }
}
