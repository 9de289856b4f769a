//! `linespeed quiet` alone: every knob as it stands. Changes nothing.

use ::quiet::audit::{Row, audit, is_quiet};
use ::quiet::files::Tree;
use ::quiet::knob::{Hold, State, Way};
use ::quiet::turn::Purpose;
use ::quiet::undertaking::Undertaking;
use machine::Root;
use report::terminal::{Audit, Audited, Stand};
use serde_json::{Value, json};

use super::noise::Noise;
use crate::failure::Failure;
use crate::options::Options;
use crate::output;

/// Looks at all knobs, or at those named: 0 when quiet, 1 when not.
pub fn run(options: &Options, root: &Root, names: &[&'static str]) -> Result<u8, Failure> {
    let tree = Tree::new(root);
    let scene = super::scene(options, root, &tree, Purpose::ForACommand)?;
    let rows = audit(&scene, names);
    let noise = if root.is_live() { Noise::known_here() } else { Noise::default() };
    let quiet = is_quiet(&rows);
    let left = match super::folder() {
        Ok(folder) if root.is_live() => super::left_behind(&folder),
        _ => Ok(None),
    };
    let text = if options.out.json {
        format!("{:#}\n", to_json(&rows, &noise, quiet, left.as_ref()))
    } else if options.out.quiet_output {
        String::new()
    } else {
        let audit = Audit {
            knobs: rows.iter().map(|row| audited(row, &noise)).collect(),
            noise: noise.lines().to_vec(),
            captured: !root.is_live(),
            remarks: remarks(root, &rows, &noise, left),
        };
        report::terminal::knobs(&audit, &output::style(&options.out))
    };
    output::print(&text)?;
    Ok(if quiet { 0 } else { super::NOT_QUIET })
}

fn audited(row: &Row, noise: &Noise) -> Audited {
    let look = &row.look;
    let (stand, why) = match &look.state {
        State::Steady => (Stand::Steady, None),
        State::Noisy if row.disturbs() => (Stand::Noisy, None),
        State::Noisy => (Stand::OnRequest, None),
        State::Absent(why) => (Stand::Absent, Some(why.clone())),
        State::Unseen(why) => (Stand::Absent, Some(why.clone())),
    };
    Audited {
        name: row.knob.name().to_owned(),
        now: look.now.clone(),
        steadier: look.steadier.clone().unwrap_or_default(),
        set_by: set_by(row),
        stand,
        effect: row.knob.effect().to_owned(),
        here: noise.of(row.knob.name()),
        way: advice(row),
        why,
        notes: look.notes.clone(),
    }
}

/// How it can be set here, in a word or two.
fn set_by(row: &Row) -> String {
    let root = row.needs.as_deref().is_some_and(|needs| needs.starts_with("root"));
    let how = match &row.look.way {
        Way::None => return String::new(),
        Way::Boot(_) => return "boot".to_owned(),
        Way::ByHand(_) => return "hand".to_owned(),
        // Of a captured machine it is said who could, whoever that is there.
        Way::Write(_) | Way::Undertake(_) if is_captured(row) => return "root".to_owned(),
        Way::Hold(_) if is_captured(row) => return "a process".to_owned(),
        Way::Write(_) | Way::Undertake(Undertaking::Swap(_)) => "--apply",
        Way::Hold(_) | Way::Undertake(Undertaking::Shield(_)) => "-- COMMAND",
    };
    match &row.needs {
        None => how.to_owned(),
        Some(_) if root => format!("{how}, root"),
        Some(_) => format!("{how}, not here"),
    }
}

/// Whether it was looked at in a captured tree.
fn is_captured(row: &Row) -> bool {
    row.needs.as_deref().is_some_and(|needs| needs.starts_with("this machine"))
}

/// What else is to be said of how it is set: the line for boot, what to do by hand, what is lacking.
fn advice(row: &Row) -> Option<String> {
    match (&row.look.way, &row.needs) {
        (Way::Boot(parameters), _) => Some(format!("on the kernel's command line: {parameters}")),
        (Way::ByHand(way), _) => Some(way.clone()),
        (Way::Write(_) | Way::Hold(_) | Way::Undertake(_), Some(needs))
            if needs != "root" && !is_captured(row) =>
        {
            Some(format!("needs {needs}"))
        }
        _ => None,
    }
}

/// What to do next, and what should be known beside the table.
fn remarks(root: &Root, rows: &[Row], noise: &Noise, left: Result<Option<String>, String>) -> Vec<String> {
    if !root.is_live() {
        return Vec::new();
    }
    let mut remarks: Vec<String> = match left {
        Ok(left) => left.into_iter().collect(),
        // Nothing can be set before that is out of the way.
        Err(why) => return vec![format!("Nothing can be set now: {why}")],
    };
    let settable = |row: &&Row| row.disturbs() && matches!(row.look.way, Way::Write(_) | Way::Hold(_));
    let all: Vec<&Row> = rows.iter().filter(settable).collect();
    let open = all.iter().filter(|row| row.needs.is_none()).count();
    if !all.is_empty() {
        let sudo = if open == 0 { "sudo " } else { "" };
        remarks.push(format!("For a command: {sudo}linespeed quiet -- COMMAND"));
        remarks.push(format!("Until they are put back: {sudo}linespeed quiet --apply; then --restore"));
    }
    if rows.iter().any(|row| super::is_disputed(row) && row.look.state == State::Noisy) {
        remarks.push(
            "Those that are set only when asked for are named: linespeed quiet smt -- COMMAND".to_owned(),
        );
    }
    if noise.lines().is_empty() {
        remarks.push(
            "This machine's own noise was not measured yet: linespeed run clock wakeup stolen".to_owned(),
        );
    }
    remarks
}

fn to_json(rows: &[Row], noise: &Noise, quiet: bool, left: Result<&Option<String>, &String>) -> Value {
    let one = |row: &Row| {
        let look = &row.look;
        let (state, why) = match &look.state {
            State::Steady => ("steady", None),
            State::Noisy => ("noisy", None),
            State::Absent(why) => ("absent", Some(why)),
            State::Unseen(why) => ("unseen", Some(why)),
        };
        let (way, detail) = match &look.way {
            Way::None => ("none", Value::Null),
            Way::Write(changes) => {
                let change = |change: &::quiet::change::Change| json!({"path": change.path, "old": change.old, "new": change.new});
                ("write", changes.iter().map(change).collect())
            }
            Way::Hold(hold) => {
                ("hold", json!(if matches!(hold, Hold::DmaLatency(_)) { "machine" } else { "command" }))
            }
            Way::Undertake(_) => ("undertake", Value::Null),
            Way::Boot(parameters) => ("boot", json!(parameters)),
            Way::ByHand(way) => ("by hand", json!(way)),
        };
        json!({
            "knob": row.knob.name(),
            "state": state,
            "why": why,
            "disturbs": row.disturbs(),
            "only_when_named": row.knob.only_when_named(),
            "now": look.now,
            "steadier": look.steadier,
            "effect": row.knob.effect(),
            "here": noise.of(row.knob.name()),
            "way": way,
            "detail": detail,
            "needs": row.needs,
            "notes": look.notes,
        })
    };
    json!({
        "quiet": quiet,
        "noise": noise.lines(),
        "left_behind": left.ok(),
        "in_the_way": left.err(),
        "knobs": rows.iter().map(one).collect::<Vec<_>>(),
    })
}
