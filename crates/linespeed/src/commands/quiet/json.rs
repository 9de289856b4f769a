//! What is said of knobs in JSON.

use ::quiet::apply::Came;
use ::quiet::change::Change;
use ::quiet::files::Tree;
use ::quiet::journal::Kept;
use ::quiet::session::Left;
use ::quiet::turn::Turn;
use serde_json::{Value, json};

use super::by_root::ByRoot;
use super::turned::Outcome;

/// Outcomes as JSON.
pub fn outcomes(all: &[Outcome]) -> Value {
    let one = |outcome: &Outcome| {
        json!({
            "knob": outcome.knob,
            "old": outcome.old,
            "new": outcome.new,
            "values": outcome.values,
            "set": outcome.is_done(),
            "why_not": outcome.why_not,
            "advice": outcome.advice,
            "note": outcome.note,
        })
    };
    all.iter().map(one).collect()
}

/// What would be done as JSON.
pub fn turn(turn: &Turn) -> Value {
    let changes: Vec<Value> = turn.changes.iter().map(change_of).collect();
    json!({
        "values": changes,
        "held": turn.holds.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        "undertaken": turn.undertakings.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        "left": turn.left.iter().map(why).collect::<Vec<_>>(),
        "advice": turn.advice.iter().map(why).collect::<Vec<_>>(),
    })
}

fn why((name, why): &(&'static str, String)) -> Value {
    json!({"knob": name, "why": why})
}

fn change_of(change: &Change) -> Value {
    json!({"knob": change.knob, "path": change.path, "old": change.old, "new": change.new})
}

/// What came back as JSON.
pub fn came(all: &[(Change, Came)]) -> Value {
    let one = |(change, came): &(Change, Came)| {
        let (state, why) = match came {
            Came::Back => ("back", None),
            Came::WasBack => ("was back", None),
            Came::Theirs(now) => ("left alone", Some(now.clone())),
            Came::Refused(why) => ("refused", Some(why.clone())),
            Came::Gone => ("gone", None),
        };
        json!({"knob": change.knob, "path": change.path, "old": change.old, "state": state, "detail": why})
    };
    all.iter().map(one).collect()
}

/// What stands as JSON; what root has set beside it, where another user asks.
pub fn status(left: &Left, holder: Option<&str>, tree: &Tree, root: Option<&ByRoot>) -> Value {
    let mut told = of_one(left, holder, tree);
    if let Some(root) = root
        && matches!(left, Left::Nothing)
    {
        told["state"] = json!("set by root");
        told["root"] = root.json(tree);
    } else {
        told["root"] = root.map_or(Value::Null, |root| root.json(tree));
    }
    told
}

/// What one user's journal tells.
pub fn of_one(left: &Left, holder: Option<&str>, tree: &Tree) -> Value {
    let (state, kept) = match left {
        Left::Nothing => ("nothing", None),
        Left::OtherBoot(kept) => ("another boot", Some(kept)),
        Left::Standing(kept) => ("stands", Some(kept)),
        Left::Orphaned(kept) => (if holder.is_some() { "in use" } else { "left behind" }, Some(kept)),
    };
    let values = |kept: &Kept| -> Vec<Value> {
        let value = |change: &Change| {
            let mut value = change_of(change);
            value["now"] = change.now(tree).map_or_else(|refusal| json!(refusal.to_string()), Value::from);
            value
        };
        kept.plan.changes.iter().map(value).collect()
    };
    json!({
        "state": state,
        "holder": holder,
        "process": kept.map(|kept| kept.plan.pid),
        "command": kept.map(|kept| kept.plan.command.clone()),
        "since": kept.map(|kept| kept.plan.date.clone()),
        "values": kept.map(values),
    })
}
