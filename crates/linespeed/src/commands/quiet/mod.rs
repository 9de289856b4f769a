//! `linespeed quiet`: what makes measurements noisy here, turned off and put back.

mod audit;
mod command;
mod existing_session;
mod json;
mod noise_estimate;
mod page_cache;
mod proof_cache;
mod prove;
mod root_session;
mod text;
pub mod tuned_session;

use std::path::PathBuf;

use ::quiet::audit::{AuditRow, refused};
use ::quiet::files::Tree;
use ::quiet::knob::{Knob, KnobContext};
use ::quiet::knobs::{KNOBS, find};
use ::quiet::session::Leftover;
use ::quiet::tuning_plan::{Purpose, TuningPlan};
use ::quiet::{journal, lock, session, state_directory};
use machine::Root;
use os::pin;
use record::CpuList;
use serde_json::json;

use root_session::RootSession;

use crate::failure::Failure;
use crate::options::{Options, Quiet};
use crate::{files, output, signals};
use tuned_session::TunedSession;

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
        let why = "--output means nothing to linespeed quiet, except for --json -- COMMAND";
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
    let hint = record::words::nearest_of(name, all.clone())
        .map_or(".".to_owned(), |near| format!("; did you mean {near}?"));
    let names = all.collect::<Vec<_>>().join(", ");
    Failure::Usage(format!("there is no knob {name:?}{hint} There are: {names}. A command stands after --"))
}

/// The machine as the knobs see it, with the CPUs of `--cpus`, which are refused where they cannot be quiet.
fn context<'a>(
    options: &Options,
    root: &Root,
    files: &'a Tree,
    purpose: Purpose,
) -> Result<KnobContext<'a>, Failure> {
    let mut wanted = options.measuring.cpus.clone();
    // Who measures all CPUs wants none of them cleared; and what cannot be measured the measuring tells.
    if purpose == Purpose::Measuring {
        let online = root.cpu_list("/sys/devices/system/cpu/online").unwrap_or_default();
        wanted = wanted.filter(|cpus| cpus.is_subset(&online) && !online.is_subset(cpus));
    }
    if wanted.as_ref().is_some_and(CpuList::is_empty) {
        return Err(Failure::Usage("--cpus: the list is empty; write for instance --cpus 2,3".to_owned()));
    }
    let quiet = wanted.unwrap_or_default();
    let context = KnobContext::new(root, files, quiet.clone());
    let allowed = if root.is_live() { pin::allowed() } else { None };
    match refused(&quiet, &context.online, &allowed.unwrap_or_else(|| context.online.clone())) {
        Some(why) => Err(Failure::Usage(format!("--cpus {quiet}: {why}"))),
        None => Ok(context),
    }
}

/// Where journal and lock are.
fn folder() -> Result<PathBuf, Failure> {
    let state = files::state_folder().ok();
    state_directory::locate(state.as_deref()).ok_or_else(|| {
        let why = "neither XDG_STATE_HOME nor HOME says where it is written down what knobs were";
        Failure::Cannot(format!("{why}; set one of them"))
    })
}

/// What tells this boot from others.
fn boot() -> String {
    Root::live().text("/proc/sys/kernel/random/boot_id").unwrap_or_else(|| "unknown".to_owned())
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
    let mut context = context(options, root, &tree, purpose)?;
    context.stays = purpose == Purpose::Persistent;
    let rows = ::quiet::audit::audit(&context, names);
    let plan = TuningPlan::from_audit(&rows, !names.is_empty(), purpose, &tree);
    let text = if options.out.json {
        let mut told = json::plan(&plan);
        told["drop_caches"] = json!(quiet.drop_caches);
        told["warm"] = quiet.warm.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        format!("{told:#}\n")
    } else {
        text::dry_run(&plan, quiet, &output::style(&options.out))
    };
    output::print(&text).map(|()| 0)
}

/// `--apply`: sets them, and leaves them so.
fn apply(options: &Options, names: &[&'static str]) -> Result<u8, Failure> {
    let stop = signals::install();
    let tuned = TunedSession::begin(options, names, Purpose::Persistent)?;
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
        text::applied(&outcomes, stands, &output::style(&options.out))
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
    let folder = folder()?;
    let tree_root = Root::live();
    let tree = Tree::new(&tree_root);
    if let Some(holder) = lock::find_living_holder(&folder) {
        let parent = lock::holder_pid(&holder).filter(|pid| lock::is_ancestor(*pid));
        let why =
            parent.map_or_else(|| session::held_by(&holder), |pid| existing_session::under(pid, "--restore"));
        return Err(Failure::Cannot(why));
    }
    let left = session::find_leftover(&folder, &boot()).map_err(Failure::Cannot)?;
    say_where_nothing_is(&folder);
    let root_session = RootSession::look();
    let (restored, forgotten) = match left {
        Leftover::Nothing => (Vec::new(), None),
        left => {
            let _lock = tuned_session::take_lock(&folder, "linespeed quiet --restore")?;
            match left {
                Leftover::OtherBoot(contents) => {
                    session::forget(&folder).map_err(Failure::Cannot)?;
                    (Vec::new(), Some(contents))
                }
                _ => (session::restore(&tree, &folder).map_err(Failure::Cannot)?, None),
            }
        }
    };
    let text = if options.out.json {
        let forgotten = forgotten.as_ref().map(|contents| contents.header.changes.len());
        let root = root_session.as_ref().map(|root| root.json(&tree));
        let told =
            json!({"restored": json::restored(&restored), "gone_with_another_boot": forgotten, "root": root});
        format!("{told:#}\n")
    } else {
        text::restored(&restored, forgotten.as_ref(), root_session.as_ref(), &output::style(&options.out))
    };
    output::print(&text)?;
    if let Some(signal) = stop.signal() {
        return Ok(128u8.wrapping_add(signal as u8));
    }
    let back =
        root_session.is_none() && restored.iter().all(|(_, restored)| tuned_session::is_back(restored));
    Ok(if back { 0 } else { NOT_QUIET })
}

/// Says that a folder is not this user's, so that nothing of this user's can stand there.
fn say_where_nothing_is(folder: &std::path::Path) {
    if state_directory::is_foreign(folder) {
        output::complain(&format!(
            "{} is not this user's, so nothing that this user set is written down there; HOME or XDG_STATE_HOME names it",
            crate::failure::shown(folder)
        ));
    }
}

/// `--status`: what stands, and by whom. 1 where anything does.
fn status(options: &Options) -> Result<u8, Failure> {
    let folder = folder()?;
    let root = Root::live();
    let tree = Tree::new(&root);
    let holder = lock::find_holder(&folder);
    let left = session::find_leftover(&folder, &boot()).map_err(Failure::Cannot)?;
    say_where_nothing_is(&folder);
    let root = RootSession::look();
    let text = if options.out.json {
        format!("{:#}\n", json::status(&left, holder.as_deref(), &tree, root.as_ref()))
    } else {
        text::status(&left, holder.as_deref(), &tree, root.as_ref(), &output::style(&options.out))
    };
    output::print(&text)?;
    Ok(if matches!(left, Leftover::Nothing) && holder.is_none() && root.is_none() { 0 } else { NOT_QUIET })
}

/// What an earlier start left behind, in one line; `None` where nothing is left. An error is what stands in the way of setting
/// anything, with the way out.
fn left_behind(folder: &std::path::Path) -> Result<Option<String>, String> {
    let root = || RootSession::look().map(|root| root.says());
    let contents: journal::JournalContents = match session::find_leftover(folder, &boot())? {
        Leftover::Standing(contents) | Leftover::Orphaned(contents) => contents,
        Leftover::Nothing | Leftover::OtherBoot(_) => return Ok(root()),
    };
    if let Some(holder) = lock::find_living_holder(folder) {
        return Ok(Some(format!("Knobs are set now by {holder}; they are put back when that ends.")));
    }
    Ok(Some(format!("{}; linespeed quiet --restore puts it back", text::who(&contents))))
}

/// What is set, where that was asked for; what is not, unless nothing was to be said.
fn tell(options: &Options, tuned: &TunedSession) {
    if options.out.quiet_output || options.out.json {
        return;
    }
    let style = output::error_style(&options.out);
    if options.out.verbose {
        let lines = text::outcome_lines(tuned.outcomes());
        output::print_error(&report::terminal::knob_lines(&lines, &style));
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

/// Whether a knob is one that the user must name.
fn is_disputed(row: &AuditRow) -> bool {
    let knob: &dyn Knob = row.knob;
    knob.only_when_named()
}
