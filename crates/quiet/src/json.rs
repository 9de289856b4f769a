//! Formats knobs as JSON.

use record::Text;
use serde_json::{Value, json};

use crate::apply::RestoreOutcome;
use crate::change::Change;
use crate::knob_outcome::KnobOutcome;
use crate::tuning_plan::TuningPlan;

/// Outcomes as JSON.
pub fn outcomes(all: &[KnobOutcome]) -> Value {
    let one = |outcome: &KnobOutcome| {
        let mut value = json!(outcome);
        value["set"] = outcome.is_done().into();
        value
    };
    all.iter().map(one).collect()
}

/// The planned changes as JSON.
pub fn plan(plan: &TuningPlan) -> Value {
    let changes: Vec<Value> = plan.changes.iter().map(change).collect();
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

/// A value as JSON.
pub(crate) fn change(change: &Change) -> Value {
    json!({"knob": change.knob, "path": change.path, "old": change.old, "new": change.new})
}

/// The restored values as JSON.
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
