//! `linespeed quiet` alone: every knob as it stands. Changes nothing.

use std::time::Duration;

use ::quiet::audit::{AuditRow, Need, audit, is_quiet};
use ::quiet::compound_change::CompoundChange;
use ::quiet::error::Error;
use ::quiet::existing_session::describe_leftover;
use ::quiet::files::Tree;
use ::quiet::knob::{Adjustment, ProcessSetting, State};
use ::quiet::knobs::nice_scope_limit;
use ::quiet::tuned_session::read_boot_id;
use ::quiet::tuning_plan::{Purpose, prepare_context};
use machine::Root;
use measure::busy::{self, Load, Task};
use record::units;
use report::terminal::{Audit, Audited, Stand};
use serde_json::{Value, json};

use super::noise_estimate::{Noise, Proof};
use super::tuned_session;
use crate::failure::Failure;
use crate::options::Options;
use crate::{output, signals};

/// How long it is looked who is busy.
const LOOK: Duration = Duration::from_millis(300);

/// Looks at all knobs, or at those named: 0 when quiet, 1 when not.
pub fn run(options: &Options, root: &Root, names: &[&'static str]) -> Result<u8, Failure> {
    let tree = Tree::new(root);
    let context = prepare_context(root, &tree, options.measuring.cpus.as_ref(), Purpose::Command)?;
    let mut rows = audit(&context, names);
    // Nothing of a captured machine can be measured, and who wants no report wants the exit code alone.
    let seen = root.is_live() && !options.out.quiet_output;
    let stop = signals::install();
    let load = (seen && rows.iter().any(|row| row.knob.name() == "others")).then(|| busy::sample_load(LOOK));
    let noise = if seen { Noise::here(&super::prove::cpus(options), stop) } else { Noise::default() };
    let noise = noise
        .beside(load.as_ref().and_then(|load| load.cpus))
        .where_nice_counts_for(nice_scope_limit(&tree).is_some());
    if let Some(signal) = stop.signal() {
        return Ok(128u8.wrapping_add(signal as u8));
    }
    // Who runs beside comes first among equals: the other knobs only keep him away.
    let weight = |row: &AuditRow| {
        let name = row.knob.name();
        noise.of(name).weight() + if name == "others" { 1e-3 } else { 0.0 }
    };
    rows.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let quiet = is_quiet(&rows);
    let left = match tuned_session::caller().state_directory() {
        Ok(folder) if root.is_live() => describe_leftover(&folder, &read_boot_id()),
        _ => Ok(None),
    };
    let text = if options.out.json {
        format!("{:#}\n", to_json(&rows, &noise, load.as_ref(), quiet, left.as_ref()))
    } else if options.out.quiet_output {
        String::new()
    } else {
        let audit = Audit {
            knobs: rows.iter().map(|row| audited(row, &noise)).collect(),
            noise: noise.told().map(|told| format!("{}: {told}", noise.source)).into_iter().collect(),
            busy: load.as_ref().map(|load| busy_words(load, context.online.len())),
            captured: !root.is_live(),
            remarks: remarks(root, &rows, left),
        };
        let style = output::style(&options.out);
        // Who names knobs wants to know of them.
        if options.out.verbose || !names.is_empty() {
            report::terminal::knobs(&audit, &style)
        } else {
            report::terminal::knobs_briefly(&audit, &style)
        }
    };
    output::print(&text)?;
    Ok(if quiet { 0 } else { super::NOT_QUIET })
}

fn audited(row: &AuditRow, noise: &Noise) -> Audited {
    let inspection = &row.inspection;
    let (stand, why) = match &inspection.state {
        State::Steady => (Stand::Steady, None),
        State::Noisy if row.disturbs() => (Stand::Noisy, None),
        State::Noisy => (Stand::OnRequest, None),
        State::Absent(why) => (Stand::Absent, Some(why.clone())),
        State::Unseen(why) => (Stand::Absent, Some(why.clone())),
    };
    let worth = noise.of(row.knob.name());
    let told = !noise.source.is_empty() && row.inspection.steadier.is_some();
    Audited {
        name: row.knob.name().to_owned(),
        now: inspection.now.clone(),
        steadier: inspection.steadier.clone().unwrap_or_default(),
        set_by: set_by(row),
        stand,
        effect: row.knob.effect().to_owned(),
        here: told.then(|| worth.told(row.knob.name(), proof(row))),
        worth: if told { worth.brief() } else { String::new() },
        way: advice(row),
        why,
        notes: inspection.notes.clone(),
    }
}

/// Whether `--prove KNOB -- COMMAND` could tell what it gains.
fn proof(row: &AuditRow) -> Proof {
    let tuned = match &row.inspection.adjustment {
        Adjustment::Write(_)
        | Adjustment::ProcessSetting(_)
        | Adjustment::Compound(CompoundChange::Swap(_)) => true,
        Adjustment::None
        | Adjustment::Compound(CompoundChange::Shield(_))
        | Adjustment::BootParameters(_)
        | Adjustment::Manual(_) => false,
    };
    match &row.needs {
        None if tuned => Proof::Anybodys,
        Some(Need::Root) if tuned => Proof::Roots,
        _ => Proof::None,
    }
}

/// How it can be set here, in a word or two.
fn set_by(row: &AuditRow) -> String {
    let root = row.needs.as_ref().is_some_and(Need::is_root);
    let how = match &row.inspection.adjustment {
        Adjustment::None => return String::new(),
        Adjustment::BootParameters(_) => return "boot".to_owned(),
        Adjustment::Manual(_) => return "hand".to_owned(),
        // Of a captured machine it is said who could, whoever that is there.
        Adjustment::Write(_) | Adjustment::Compound(_) if is_captured(row) => return "root".to_owned(),
        Adjustment::ProcessSetting(_) if is_captured(row) => return "a process".to_owned(),
        Adjustment::Write(_) | Adjustment::Compound(CompoundChange::Swap(_)) => "--apply",
        Adjustment::ProcessSetting(_) | Adjustment::Compound(CompoundChange::Shield(_)) => "-- COMMAND",
    };
    match &row.needs {
        None => how.to_owned(),
        Some(_) if root => format!("{how}, root"),
        Some(_) => format!("{how}, not here"),
    }
}

/// Whether it was looked at in a captured tree.
fn is_captured(row: &AuditRow) -> bool {
    row.needs == Some(Need::ThisMachine)
}

/// What else is to be said of how it is set: the line for boot, what to do by hand, what is lacking.
fn advice(row: &AuditRow) -> Option<String> {
    match (&row.inspection.adjustment, &row.needs) {
        (Adjustment::BootParameters(parameters), _) => {
            Some(format!("on the kernel's command line: {parameters}"))
        }
        (Adjustment::Manual(adjustment), _) => Some(adjustment.clone()),
        (Adjustment::Write(_) | Adjustment::ProcessSetting(_) | Adjustment::Compound(_), Some(needs))
            if *needs != Need::Root && !is_captured(row) =>
        {
            Some(format!("needs {needs}"))
        }
        _ => None,
    }
}

/// What to do next, and what should be known beside the table.
fn remarks(root: &Root, rows: &[AuditRow], left: Result<Option<String>, Error>) -> Vec<String> {
    if !root.is_live() {
        return Vec::new();
    }
    let mut remarks: Vec<String> = match left {
        Ok(left) => left.into_iter().collect(),
        // Nothing can be set before that is out of the way.
        Err(why) => return vec![format!("Nothing can be set now: {why}")],
    };
    let settable = |row: &&AuditRow| {
        row.disturbs()
            && matches!(row.inspection.adjustment, Adjustment::Write(_) | Adjustment::ProcessSetting(_))
    };
    let all: Vec<&AuditRow> = rows.iter().filter(settable).collect();
    let open = all.iter().filter(|row| row.needs.is_none()).count();
    if !all.is_empty() {
        let sudo = if open == 0 { "sudo " } else { "" };
        remarks.push(format!("For a command: {sudo}linespeed quiet -- COMMAND"));
        remarks.push(format!("Until they are put back: {sudo}linespeed quiet --apply; then --restore"));
    }
    if rows.iter().any(|row| super::is_disputed(row) && row.inspection.state == State::Noisy) {
        remarks.push(
            "Those that are set only when asked for are named: linespeed quiet smt -- COMMAND".to_owned(),
        );
    }
    remarks.push(
        "What each gains here: linespeed quiet --prove; on a command's own time: --prove -- COMMAND"
            .to_owned(),
    );
    remarks
}

/// Processes that are named, and the least that they take of a CPU.
const NAMED: usize = 5;
const WORTH_NAMING: f64 = 0.05;

/// Who runs now, in one sentence.
fn busy_words(load: &Load, online: usize) -> String {
    let percent = |cpus: f64| format!("{:.0} %", cpus * 100.0);
    let cpus = |cpus: f64| {
        if cpus < 1.0 { format!("{} of a CPU", percent(cpus)) } else { format!("{cpus:.1} CPUs") }
    };
    let busy = load.cpus.unwrap_or_else(|| load.tasks.iter().map(|task| task.cpus).sum());
    if busy < WORTH_NAMING {
        return format!("nobody, looked at for {}.", units::figure(load.seconds, "s"));
    }
    let mut told = format!("{} of {online}, looked at for {}.", cpus(busy), units::figure(load.seconds, "s"));
    let named: Vec<String> = load
        .tasks
        .iter()
        .filter(|task| task.cpus >= WORTH_NAMING)
        .take(NAMED)
        .map(|task| format!("{} {} ({}) {}", task.name, task.pid, task.user, percent(task.cpus)))
        .collect();
    if !named.is_empty() {
        told.push_str(&format!(" {}.", named.join(", ")));
    }
    let users: Vec<String> =
        load.users().iter().take(NAMED).map(|(user, by)| format!("{user} {}", cpus(*by))).collect();
    if !users.is_empty() {
        told.push_str(&format!(" By user: {}.", users.join(", ")));
    }
    if load.unseen() >= WORTH_NAMING {
        told.push_str(&format!(
            " Too short to be seen, or not to be seen from here: {}.",
            cpus(load.unseen())
        ));
    }
    told
}

fn busy_json(load: &Load) -> Value {
    let task =
        |task: &Task| json!({"pid": task.pid, "name": task.name, "user": task.user, "cpus": task.cpus});
    json!({
        "seconds": load.seconds,
        "cpus": load.cpus,
        "processes": load.tasks.iter().take(20).map(task).collect::<Vec<_>>(),
        "users": load.users().iter().map(|(user, cpus)| json!({"user": user, "cpus": cpus})).collect::<Vec<_>>(),
        "not_seen": load.unseen(),
    })
}

fn to_json(
    rows: &[AuditRow],
    noise: &Noise,
    load: Option<&Load>,
    quiet: bool,
    left: Result<&Option<String>, &Error>,
) -> Value {
    let one = |row: &AuditRow| {
        let inspection = &row.inspection;
        let (state, why) = match &inspection.state {
            State::Steady => ("steady", None),
            State::Noisy => ("noisy", None),
            State::Absent(why) => ("absent", Some(why)),
            State::Unseen(why) => ("unseen", Some(why)),
        };
        let (adjustment, detail) = match &inspection.adjustment {
            Adjustment::None => ("none", Value::Null),
            Adjustment::Write(changes) => {
                let change = |change: &::quiet::change::Change| json!({"path": change.path, "old": change.old, "new": change.new});
                ("write", changes.iter().map(change).collect())
            }
            Adjustment::ProcessSetting(setting) => (
                "hold",
                json!(if matches!(setting, ProcessSetting::DmaLatency(_)) { "machine" } else { "command" }),
            ),
            Adjustment::Compound(_) => ("undertake", Value::Null),
            Adjustment::BootParameters(parameters) => ("boot", json!(parameters)),
            Adjustment::Manual(adjustment) => ("by hand", json!(adjustment)),
        };
        let worth = noise.of(row.knob.name());
        let (word, most) = worth.word();
        let told = !noise.source.is_empty() && inspection.steadier.is_some();
        json!({
            "knob": row.knob.name(),
            "state": state,
            "why": why,
            "disturbs": row.disturbs(),
            "only_when_named": row.knob.only_when_named(),
            "now": inspection.now,
            "steadier": inspection.steadier,
            "effect": row.knob.effect(),
            "here": told.then(|| worth.told(row.knob.name(), proof(row))),
            "worth": told.then(|| json!({"is": word, "at_most": most})),
            "way": adjustment,
            "detail": detail,
            "needs": row.needs.as_ref().map(Need::to_string),
            "notes": inspection.notes,
        })
    };
    json!({
        "quiet": quiet,
        "noise": noise.told(),
        "measured": (!noise.source.is_empty()).then(|| json!({"when": noise.source, "figures": noise.measured})),
        "busy": load.map(busy_json),
        "left_behind": left.ok(),
        "in_the_way": left.err().map(Error::to_string),
        "knobs": rows.iter().map(one).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str, user: &str, cpus: f64) -> Task {
        Task { pid: 4711, name: name.to_owned(), user: user.to_owned(), cpus }
    }

    #[test]
    fn who_is_busy_is_named_with_user_and_share() {
        let tasks = vec![task("rustc", "ann", 0.96), task("sh", "bob", 0.5), task("cron", "root", 0.01)];
        let load = Load { seconds: 0.3, cpus: Some(1.75), tasks };
        let told = busy_words(&load, 2);
        for part in
            ["1.8 CPUs of 2", "rustc 4711 (ann) 96 %", "sh 4711 (bob) 50 %", "By user: ann 96 % of a CPU"]
        {
            assert!(told.contains(part), "no {part:?} in {told}");
        }
        assert!(!told.contains("cron"), "{told}");
        assert!(told.contains("not to be seen from here: 28 % of a CPU"), "{told}");
        let nobody = Load { seconds: 0.3, cpus: Some(0.0), tasks: Vec::new() };
        assert_eq!(busy_words(&nobody, 2), "nobody, looked at for 300 ms.");
        assert_eq!(busy_json(&load)["processes"][0]["user"], "ann");
    }
}
