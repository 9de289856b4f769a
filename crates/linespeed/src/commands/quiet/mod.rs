//! `linespeed quiet`: what makes measurements noisy here, turned off and put back.

mod audit;
mod by_root;
mod caches;
mod command;
mod json;
mod kept;
mod noise;
mod over;
mod prove;
mod text;
pub mod turned;

use std::path::PathBuf;

use ::quiet::audit::{Row, refused};
use ::quiet::files::Tree;
use ::quiet::knob::{Knob, Scene};
use ::quiet::knobs::{KNOBS, find};
use ::quiet::session::Left;
use ::quiet::turn::{Purpose, Turn};
use ::quiet::{journal, place, session};
use machine::Root;
use measure::pin;
use record::CpuList;
use serde_json::json;

use by_root::ByRoot;

use crate::failure::Failure;
use crate::options::{Options, Quiet};
use crate::{files, output, signals};
use turned::Turned;

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
        let purpose = if quiet.command.is_empty() { Purpose::ToStay } else { Purpose::ForACommand };
        return dry_run(options, quiet, &root, &names, purpose);
    }
    if quiet.apply {
        return apply(options, &names);
    }
    audit::run(options, &root, &names)
}

/// Refuses what would do nothing: knobs that are turned for CPUs, without any; a file for what goes to standard output.
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
fn scene<'a>(
    options: &Options,
    root: &Root,
    files: &'a Tree,
    purpose: Purpose,
) -> Result<Scene<'a>, Failure> {
    let mut wanted = options.measuring.cpus.clone();
    // Who measures all CPUs wants none of them cleared; and what cannot be measured the measuring tells.
    if purpose == Purpose::ForMeasuring {
        let online = root.cpu_list("/sys/devices/system/cpu/online").unwrap_or_default();
        wanted = wanted.filter(|cpus| cpus.is_subset(&online) && !online.is_subset(cpus));
    }
    if wanted.as_ref().is_some_and(CpuList::is_empty) {
        return Err(Failure::Usage("--cpus: the list is empty; write for instance --cpus 2,3".to_owned()));
    }
    let quiet = wanted.unwrap_or_default();
    let scene = Scene::of(root, files, quiet.clone());
    let allowed = if root.is_live() { pin::allowed() } else { None };
    match refused(&quiet, &scene.online, &allowed.unwrap_or_else(|| scene.online.clone())) {
        Some(why) => Err(Failure::Usage(format!("--cpus {quiet}: {why}"))),
        None => Ok(scene),
    }
}

/// Where journal and lock are.
fn folder() -> Result<PathBuf, Failure> {
    let state = files::state_folder().ok();
    place::folder(state.as_deref()).ok_or_else(|| {
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
    let mut scene = scene(options, root, &tree, purpose)?;
    scene.stays = purpose == Purpose::ToStay;
    let rows = ::quiet::audit::audit(&scene, names);
    let turn = Turn::of(&rows, !names.is_empty(), purpose, &tree);
    let text = if options.out.json {
        let mut told = json::turn(&turn);
        told["drop_caches"] = json!(quiet.drop_caches);
        told["warm"] = quiet.warm.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        format!("{told:#}\n")
    } else {
        text::dry_run(&turn, quiet, &output::style(&options.out))
    };
    output::print(&text).map(|()| 0)
}

/// `--apply`: sets them, and leaves them so.
fn apply(options: &Options, names: &[&'static str]) -> Result<u8, Failure> {
    let stop = signals::install();
    let turned = Turned::begin(options, names, Purpose::ToStay)?;
    if let Some(signal) = stop.signal() {
        turned.end();
        return Ok(128u8.wrapping_add(signal as u8));
    }
    let outcomes = turned.outcomes().to_vec();
    let stands = turned.leave();
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
    if let Some(holder) = place::living_holder(&folder) {
        let parent = place::number_of(&holder).filter(|pid| place::is_below(*pid));
        let why = parent.map_or_else(|| session::held_by(&holder), |pid| over::under(pid, "--restore"));
        return Err(Failure::Cannot(why));
    }
    let left = session::left(&folder, &boot()).map_err(Failure::Cannot)?;
    say_where_nothing_is(&folder);
    let by_root = ByRoot::look();
    let (came, forgotten) = match left {
        Left::Nothing => (Vec::new(), None),
        left => {
            let _lock = turned::lock(&folder, "linespeed quiet --restore")?;
            match left {
                Left::OtherBoot(kept) => {
                    session::forget(&folder).map_err(Failure::Cannot)?;
                    (Vec::new(), Some(kept))
                }
                _ => (session::restore(&tree, &folder).map_err(Failure::Cannot)?, None),
            }
        }
    };
    let text = if options.out.json {
        let forgotten = forgotten.as_ref().map(|kept| kept.plan.changes.len());
        let root = by_root.as_ref().map(|root| root.json(&tree));
        let told = json!({"restored": json::came(&came), "gone_with_another_boot": forgotten, "root": root});
        format!("{told:#}\n")
    } else {
        text::restored(&came, forgotten.as_ref(), by_root.as_ref(), &output::style(&options.out))
    };
    output::print(&text)?;
    if let Some(signal) = stop.signal() {
        return Ok(128u8.wrapping_add(signal as u8));
    }
    let back = by_root.is_none() && came.iter().all(|(_, came)| turned::is_back(came));
    Ok(if back { 0 } else { NOT_QUIET })
}

/// Says that a folder is not this user's, so that nothing of this user's can stand there.
fn say_where_nothing_is(folder: &std::path::Path) {
    if place::is_foreign(folder) {
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
    let holder = place::holder(&folder);
    let left = session::left(&folder, &boot()).map_err(Failure::Cannot)?;
    say_where_nothing_is(&folder);
    let root = ByRoot::look();
    let text = if options.out.json {
        format!("{:#}\n", json::status(&left, holder.as_deref(), &tree, root.as_ref()))
    } else {
        text::status(&left, holder.as_deref(), &tree, root.as_ref(), &output::style(&options.out))
    };
    output::print(&text)?;
    Ok(if matches!(left, Left::Nothing) && holder.is_none() && root.is_none() { 0 } else { NOT_QUIET })
}

/// What an earlier start left behind, in one line; `None` where nothing is left. An error is what stands in the way of setting
/// anything, with the way out.
fn left_behind(folder: &std::path::Path) -> Result<Option<String>, String> {
    let root = || ByRoot::look().map(|root| root.says());
    let kept: journal::Kept = match session::left(folder, &boot())? {
        Left::Standing(kept) | Left::Orphaned(kept) => kept,
        Left::Nothing | Left::OtherBoot(_) => return Ok(root()),
    };
    if let Some(holder) = place::living_holder(folder) {
        return Ok(Some(format!("Knobs are set now by {holder}; they are put back when that ends.")));
    }
    Ok(Some(format!("{}; linespeed quiet --restore puts it back", text::who(&kept))))
}

/// What is set, where that was asked for; what is not, unless nothing was to be said.
fn tell(options: &Options, turned: &Turned) {
    if options.out.quiet_output || options.out.json {
        return;
    }
    let style = output::error_style(&options.out);
    if options.out.verbose {
        let lines = text::outcome_lines(turned.outcomes());
        output::print_error(&report::terminal::knob_lines(&lines, &style));
        return;
    }
    let missing: Vec<&str> =
        turned.outcomes().iter().filter(|outcome| outcome.is_missing()).map(|outcome| outcome.knob).collect();
    if !missing.is_empty() {
        output::complain(&format!("not set: {} (-v says why)", missing.join(", ")));
    }
    for (knob, note) in turned.outcomes().iter().filter_map(|done| Some((done.knob, done.note.as_ref()?))) {
        output::complain(&format!("{knob}: {note}"));
    }
}

/// Whether a knob is one that the user must name.
fn is_disputed(row: &Row) -> bool {
    let knob: &dyn Knob = row.knob;
    knob.only_when_named()
}
