//! The audit of `linespeed quiet` in JSON.

use ::quiet::audit::{AuditRow, Need};
use ::quiet::change::Change;
use ::quiet::error::Error;
use ::quiet::knob::{Adjustment, ProcessSetting, State};
use experiment::noise_estimate::{NoiseEstimate, ProofBy};
use measure::busy::Load;
use serde_json::{Value, json};

/// The state of every knob, the noise of the machine, and busy processes.
pub fn audit(
    rows: &[AuditRow],
    noise: &NoiseEstimate,
    busy: Option<&Load>,
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
                let change = |one: &Change| json!({"path": one.path, "old": one.old, "new": one.new});
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
        let worth = noise.find_worth(row.knob.name);
        let (word, most, _) = worth.rank();
        let reported = !noise.source.is_empty() && inspection.steadier.is_some();
        json!({
            "knob": row.knob.name,
            "state": state,
            "why": why,
            "disturbs": row.disturbs(),
            "only_when_named": row.knob.only_when_named(),
            "now": inspection.now,
            "steadier": inspection.steadier,
            "effect": row.knob.effect,
            "here": reported.then(|| worth.describe(row.knob.name, ProofBy::for_knob(row))),
            "worth": reported.then(|| json!({"is": word, "at_most": most})),
            "way": adjustment,
            "detail": detail,
            "needs": row.needs.as_ref().map(Need::to_string),
            "notes": inspection.notes,
        })
    };
    json!({
        "quiet": quiet,
        "noise": noise.describe(),
        "measured": (!noise.source.is_empty()).then(|| json!({"when": noise.source, "figures": noise.measured})),
        "busy": busy.map(busy_to_json),
        "left_behind": left.ok(),
        "in_the_way": left.err().map(Error::to_string),
        "knobs": rows.iter().map(one).collect::<Vec<_>>(),
    })
}

/// The busy processes.
fn busy_to_json(load: &Load) -> Value {
    json!({
        "seconds": load.seconds,
        "cpus": load.cpus,
        "processes": load.tasks.iter().take(20).collect::<Vec<_>>(),
        "users": load.users().iter().map(|(user, cpus)| json!({"user": user, "cpus": cpus})).collect::<Vec<_>>(),
        "not_seen": load.unseen(),
    })
}
