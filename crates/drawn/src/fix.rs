//! The planned fix of a finding, and its result.

use experiment::fix::{Fix, Gain, Outlook};
use experiment::prove::Proof;
use record::difference::Verdict;
use record::phrase::count_noun;
use record::units::{bound, percent, significant};
use record::{Text, text};
use serde_json::{Value, json};

use super::knob_changes::knobs_planned;
use super::proof;
use report::view::{Screen, Span, Tone, loss};

/// What happened to the knob after the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The new value was kept.
    Stands,
    /// The original value was restored.
    PutBack,
    /// The user wanted to keep the new value, but it could not be set permanently.
    NotSet,
}

/// A finding with its fix.
pub struct Fixed<'a> {
    /// The finding and its knob.
    pub fix: &'a Fix<'a>,
    /// The planned changes on this machine.
    pub outlook: &'a Outlook,
    /// The results of measuring before and after.
    pub proof: Option<&'a Proof>,
    /// The state in which the knob was left; `None` if nothing was changed.
    pub kept: Option<Kept>,
    /// The planned measurements.
    pub measures: Text,
}

/// The report of a fix.
pub fn fix(screen: &mut Screen, fixed: &Fixed) {
    if let Some(proof) = fixed.proof {
        screen.paragraph(&[Span::strong("Measured gain: ")], Tone::Strong, gave(&Gain::of(proof)));
    }
    head(screen, fixed);
    match fixed.proof {
        Some(measured) => proof::proof(screen, measured),
        None if !fixed.outlook.is_done() => {
            knobs_planned(screen, &fixed.outlook.plan, "set only during the measurement", false);
        }
        None => {}
    }
    screen.blank();
    foot(screen, fixed);
}

fn head(screen: &mut Screen, fixed: &Fixed) {
    let Fix { number, finding, value, .. } = fixed.fix;
    let Outlook { now, then, notes, .. } = fixed.outlook;
    screen.paragraph(&[Span::plain(format!("{number}. "))], Tone::Strong, &finding.what);
    let expected = format!("{}: {}", finding.severity, loss(finding));
    screen.paragraph(&[Span::plain("   ")], Tone::Plain, expected);
    let knob = value.knob.name();
    let change = match fixed.outlook.is_done() {
        true => {
            format!("Nothing to change: {knob} is now {now}, unlike in the record. Measure again: linespeed")
        }
        false => format!("{knob}: {now}, then {then}"),
    };
    screen.paragraph(&[Span::plain("   ")], Tone::Plain, change);
    for note in notes {
        screen.paragraph(&[Span::plain("   ")], Tone::Quiet, note);
    }
}

fn foot(screen: &mut Screen, fixed: &Fixed) {
    if fixed.proof.is_none() && !fixed.outlook.is_done() {
        let first = [Span::plain("Would measure: ")];
        screen.paragraph(&first, Tone::Plain, &fixed.measures);
    }
    let said = match fixed.kept {
        Some(Kept::Stands) => "Kept until the next boot. To revert: linespeed quiet --restore",
        Some(Kept::PutBack) => "Reverted. To keep the change: --keep",
        Some(Kept::NotSet) => "The new value could not be kept; reverted.",
        None => return,
    };
    screen.say(said);
}

/// The result of a fix, in words.
fn gave(gain: &Gain) -> Text {
    let (low, high) = gain.interval.unwrap_or_default();
    match &gain.verdict {
        Verdict::Costs { .. } => {
            let [by, low, high] = [gain.factor, low, high].map(significant);
            match gain.factor >= 1.0 {
                true => text!("{by} × as fast ({low} to {high})", by, low, high),
                false => text!("slower: {by} × as fast ({low} to {high})", by, low, high),
            }
        }
        Verdict::NotResolved { smaller_than } if *smaller_than > 0.0 => {
            text!("no significant difference (< {bound})", bound = percent(bound(*smaller_than)))
        }
        Verdict::NotResolved { .. } => text!("no significant difference"),
        Verdict::TooNoisy { rounds_needed: Some(rounds) } => {
            let rounds = count_noun(*rounds, "more round");
            text!("inconclusive (too noisy); {rounds} needed (--rounds)", rounds)
        }
        Verdict::TooNoisy { rounds_needed: None } => text!("inconclusive (too noisy)"),
        Verdict::NotMeasurable { reason } => {
            text!("not measured: {why}", why = reason.clone())
        }
    }
}

/// The report of a fix as JSON.
pub fn fix_json(fixed: &Fixed) -> Value {
    let Fix { number, finding, value, .. } = fixed.fix;
    let gain = fixed
        .proof
        .map(Gain::of)
        .map(|gain| json!({"factor": gain.factor, "interval": gain.interval, "verdict": gain.verdict}));
    json!({
        "finding": {"number": number, "rule": finding.rule, "what": finding.what, "loss": finding.loss},
        "knob": value.knob.name(),
        "now": fixed.outlook.now,
        "then": fixed.outlook.then,
        "already": fixed.outlook.is_done(),
        "would_set": ::quiet::json::plan(&fixed.outlook.plan),
        "measures": fixed.measures,
        "gain": gain,
        "proof": fixed.proof.map(Proof::to_json),
        "kept": fixed.kept.map(|kept| kept == Kept::Stands),
    })
}
