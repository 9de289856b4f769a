//! The outcome for each knob that should have been set.

use crate::apply::WriteOutcome;
use crate::audit::AuditRow;
use crate::change::Change;
use crate::files::Files;
use crate::tuning_plan::TuningPlan;
use record::{Text, text};
use serde::Serialize;

/// The outcome for one knob.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KnobOutcome {
    /// The knob's name.
    pub knob: &'static str,
    /// The previous value.
    pub old: String,
    /// The current value.
    pub new: String,
    /// Number of values set; 0 for a process-lifetime setting.
    pub values: usize,
    /// The reason why the knob is not set; `None` if it is set.
    pub why_not: Option<Text>,
    /// Whether the user must set the knob, at boot or manually.
    pub advice: bool,
    /// A remark about a successfully set knob.
    pub note: Option<Text>,
}

impl KnobOutcome {
    /// Whether the knob has the requested value.
    pub fn is_done(&self) -> bool {
        self.why_not.is_none()
    }

    /// Whether the knob should have been set but is not.
    pub fn is_missing(&self) -> bool {
        self.why_not.is_some() && !self.advice
    }
}

/// A knob with its previous and intended values and, if it is not set, the reason.
pub(crate) fn describe_knob(rows: &[AuditRow], name: &'static str, why_not: Option<Text>) -> KnobOutcome {
    let inspection = rows.iter().find(|row| row.knob.name == name).map(|row| &row.inspection);
    KnobOutcome {
        knob: name,
        old: inspection.map(|inspection| inspection.now.to_string()).unwrap_or_default(),
        new: inspection
            .and_then(|inspection| inspection.steadier.as_ref().map(Text::to_string))
            .unwrap_or_default(),
        why_not,
        ..KnobOutcome::default()
    }
}

/// Knobs that should have been set but are not, and those that linespeed cannot set.
pub(crate) fn describe_unset<'a>(
    rows: &'a [AuditRow],
    plan: &'a TuningPlan,
) -> impl Iterator<Item = KnobOutcome> + 'a {
    let one = |advice| {
        move |(name, why): &(&'static str, Text)| KnobOutcome {
            advice,
            ..describe_knob(rows, name, Some(why.clone()))
        }
    };
    plan.not_set.iter().map(one(false)).chain(plan.advice.iter().map(one(true)))
}

/// Values that an earlier session wrote and that are still in effect.
pub(crate) fn find_standing(changes: &[Change], files: &dyn Files) -> Vec<KnobOutcome> {
    let stands = |change: &&Change| {
        change.read_current(files).is_ok_and(|now| change.syntax.are_equal(&now, &change.new))
    };
    let changes: Vec<Change> =
        changes.iter().filter(|change| !change.is_watched()).filter(stands).cloned().collect();
    group_values(&changes, &vec![WriteOutcome::Set; changes.len()])
}

/// Groups values by knob and by old and new value; values that were not accepted are grouped by reason.
pub(crate) fn group_values(changes: &[Change], written: &[WriteOutcome]) -> Vec<KnobOutcome> {
    let mut all: Vec<(KnobOutcome, &str)> = Vec::new();
    for (change, written) in changes.iter().zip(written) {
        let why_not = match written {
            WriteOutcome::Set => None,
            WriteOutcome::NotKept(now) => Some(text!("the kernel accepts the value but keeps {now}")),
            WriteOutcome::Refused(why) => Some(why.clone().into()),
            WriteOutcome::Gone => Some(text!("the file was removed with its CPU or device")),
            WriteOutcome::Changed(now) => Some(text!("another process has set it to {now}")),
        };
        let Some(knob) = crate::knobs::find(&change.knob).map(|knob| knob.name) else { continue };
        let same = |(outcome, _): &&mut (KnobOutcome, &str)| {
            outcome.knob == knob
                && outcome.why_not == why_not
                && (outcome.old == change.old && outcome.new == change.new || why_not.is_some())
        };
        if let Some((outcome, _)) = all.iter_mut().find(same) {
            outcome.values += 1;
        } else {
            let outcome = KnobOutcome {
                knob,
                old: change.old.clone(),
                new: change.new.clone(),
                values: 1,
                why_not,
                ..KnobOutcome::default()
            };
            all.push((outcome, &change.path));
        }
    }
    let with_path = |(mut outcome, first): (KnobOutcome, &str)| {
        outcome.why_not = outcome.why_not.map(|why| match outcome.values {
            1 => text!("{first}: {why}", first = first.to_owned()),
            many => text!("{many} values, {first} first: {why}", first = first.to_owned()),
        });
        outcome
    };
    all.into_iter().map(with_path).collect()
}
