//! What is said of knobs in JSON.

use record::Text;
use serde_json::{Value, json};

use crate::apply::RestoreOutcome;
use crate::change::Change;
use crate::files::Files;
use crate::journal::JournalContents;
use crate::knob_outcome::KnobOutcome;
use crate::session::Leftover;
use crate::tuning_plan::TuningPlan;

/// Outcomes as JSON.
pub fn outcomes(all: &[KnobOutcome]) -> Value {
    let one = |outcome: &KnobOutcome| {
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
pub fn plan(plan: &TuningPlan) -> Value {
    let changes: Vec<Value> = plan.changes.iter().map(change_of).collect();
    json!({
        "values": changes,
        "held": plan.settings.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        "undertaken": plan.compound_changes.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        "left": plan.not_set.iter().map(why).collect::<Vec<_>>(),
        "advice": plan.advice.iter().map(why).collect::<Vec<_>>(),
    })
}

fn why((name, why): &(&'static str, Text)) -> Value {
    json!({"knob": name, "why": why})
}

fn change_of(change: &Change) -> Value {
    json!({"knob": change.knob, "path": change.path, "old": change.old, "new": change.new})
}

/// What came back as JSON.
pub fn restored(all: &[(Change, RestoreOutcome)]) -> Value {
    let one = |(change, restored): &(Change, RestoreOutcome)| {
        let (state, why) = match restored {
            RestoreOutcome::Back => ("back", None),
            RestoreOutcome::WasBack => ("was back", None),
            RestoreOutcome::Theirs(now) => ("left alone", Some(now.clone())),
            RestoreOutcome::Refused(why) => ("refused", Some(why.to_string())),
            RestoreOutcome::Gone => ("gone", None),
        };
        json!({"knob": change.knob, "path": change.path, "old": change.old, "state": state, "detail": why})
    };
    all.iter().map(one).collect()
}

/// What stands as JSON; what root has set beside it, where another user asks.
pub fn status(left: &Leftover, holder: Option<&str>, files: &dyn Files, root: Option<Value>) -> Value {
    let mut status = leftover(left, holder, files);
    if root.is_some() && matches!(left, Leftover::Nothing) {
        status["state"] = json!("set by root");
    }
    status["root"] = root.unwrap_or(Value::Null);
    status
}

/// What one user's journal tells.
pub fn leftover(left: &Leftover, holder: Option<&str>, files: &dyn Files) -> Value {
    let (state, contents) = match left {
        Leftover::Nothing => ("nothing", None),
        Leftover::OtherBoot(contents) => ("another boot", Some(contents)),
        Leftover::Standing(contents) => ("stands", Some(contents)),
        Leftover::Orphaned(contents) => {
            (if holder.is_some() { "in use" } else { "left behind" }, Some(contents))
        }
    };
    let values = |contents: &JournalContents| -> Vec<Value> {
        let value = |change: &Change| {
            let mut value = change_of(change);
            value["now"] =
                change.read_current(files).map_or_else(|refusal| json!(refusal.to_string()), Value::from);
            value
        };
        contents.header.changes.iter().map(value).collect()
    };
    json!({
        "state": state,
        "holder": holder,
        "process": contents.map(|contents| contents.header.pid),
        "command": contents.map(|contents| contents.header.command.clone()),
        "since": contents.map(|contents| contents.header.date.clone()),
        "values": contents.map(values),
    })
}
