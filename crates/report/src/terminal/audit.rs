//! What an audit of knobs says of each: how it stands, how it is set here, what it can be worth.

use ::quiet::audit::{AuditRow, Need};
use ::quiet::compound_change::CompoundChange;
use ::quiet::error::Error;
use ::quiet::knob::{Adjustment, State};
use experiment::noise_estimate::{NoiseEstimate, ProofBy};
use measure::busy::Load;

use super::Style;
use super::busy;
use super::quiet::{Audit, Audited, Stand, knobs, knobs_briefly};

/// What was seen of a machine's knobs.
pub struct Seen<'a> {
    /// The knobs.
    pub rows: &'a [AuditRow],
    /// How noisy the machine is.
    pub noise: &'a NoiseEstimate,
    /// Who is busy, and how many CPUs are online.
    pub busy: Option<(&'a Load, usize)>,
    /// Whether it is a captured machine.
    pub captured: bool,
    /// What an earlier session left, or why nothing can be set.
    pub left: Result<Option<String>, Error>,
    /// Whether each knob is described, and not those that add noise alone.
    pub whole: bool,
}

/// The audit: `linespeed quiet`.
pub fn audit(seen: Seen, style: &Style) -> String {
    let noise = seen.noise;
    let audit = Audit {
        knobs: seen.rows.iter().map(|row| audited(row, noise)).collect(),
        noise: noise.describe().map(|reported| format!("{}: {reported}", noise.source)).into_iter().collect(),
        busy: seen.busy.map(|(busy, online)| busy::describe(busy, online)),
        captured: seen.captured,
        remarks: if seen.captured { Vec::new() } else { remarks(seen.rows, seen.left) },
    };
    if seen.whole { knobs(&audit, style) } else { knobs_briefly(&audit, style) }
}

fn audited(row: &AuditRow, noise: &NoiseEstimate) -> Audited {
    let inspection = &row.inspection;
    let (stand, why) = match &inspection.state {
        State::Steady => (Stand::Steady, None),
        State::Noisy if row.disturbs() => (Stand::Noisy, None),
        State::Noisy => (Stand::OnRequest, None),
        State::Absent(why) => (Stand::Absent, Some(why.to_string())),
        State::Unseen(why) => (Stand::Absent, Some(why.to_string())),
    };
    let worth = noise.find_worth(row.knob.name());
    let reported = !noise.source.is_empty() && row.inspection.steadier.is_some();
    Audited {
        name: row.knob.name().to_owned(),
        now: inspection.now.to_string(),
        steadier: inspection.steadier.as_ref().map(ToString::to_string).unwrap_or_default(),
        set_by: set_by(row),
        stand,
        effect: row.knob.effect().to_string(),
        here: reported.then(|| worth.describe(row.knob.name(), ProofBy::for_knob(row))),
        worth: if reported { worth.brief() } else { String::new() },
        way: advice(row),
        why,
        notes: inspection.notes.iter().map(ToString::to_string).collect(),
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
        (Adjustment::Manual(adjustment), _) => Some(adjustment.to_string()),
        (Adjustment::Write(_) | Adjustment::ProcessSetting(_) | Adjustment::Compound(_), Some(needs))
            if *needs != Need::Root && !is_captured(row) =>
        {
            Some(format!("needs {needs}"))
        }
        _ => None,
    }
}

/// What to do next, and what should be known beside the table.
fn remarks(rows: &[AuditRow], left: Result<Option<String>, Error>) -> Vec<String> {
    let mut remarks: Vec<String> = match left {
        Ok(left) => left.into_iter().collect(),
        // Nothing can be set before that is out of the way.
        Err(why) => return vec![format!("No knob can be set now: {why}")],
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
    if rows.iter().any(|row| row.knob.only_when_named() && row.inspection.state == State::Noisy) {
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
