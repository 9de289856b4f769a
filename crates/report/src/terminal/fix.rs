//! What fixing a finding would do, and what it gave.

use experiment::fix::{Fix, Gain, Outlook};
use experiment::prove::Proof;
use record::diagnosis::Finding;
use record::difference::Verdict;
use record::phrase::count_noun;
use record::units::{bound, percent, significant};
use record::{Text, text};
use serde_json::{Value, json};

use super::knob_changes::planned;
use super::screen::Screen;
use super::{Style, proof};
use crate::contents::finding;
use crate::paint::{Span, Tone};

/// What became of the knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It stands.
    Stands,
    /// It is as it was.
    PutBack,
    /// It was to stand, and could not be set.
    NotSet,
}

/// A finding that was fixed, or was to be.
pub struct Fixed<'a> {
    /// The finding and its knob.
    pub fix: &'a Fix<'a>,
    /// What it does here.
    pub outlook: &'a Outlook,
    /// What was measured.
    pub proof: Option<&'a Proof>,
    /// What became of the knob; `None` where nothing was touched.
    pub kept: Option<Kept>,
    /// What would be measured.
    pub measures: Text,
}

/// The report of a fix.
pub fn fix(fixed: &Fixed, style: &Style) -> String {
    let mut text = head(fixed, style);
    match fixed.proof {
        Some(measured) => text.push_str(&proof(measured, style)),
        None if !fixed.outlook.is_done() => {
            text.push_str(&planned(&fixed.outlook.plan, "held while it is measured", false, 0, style));
        }
        None => {}
    }
    text + &foot(fixed, style)
}

fn head(fixed: &Fixed, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let Fix { number, finding, value, .. } = fixed.fix;
    let Outlook { now, then, notes, .. } = fixed.outlook;
    screen.paragraph(&[Span::plain(format!("{number}. "))], Tone::Strong, finding.what.to_string());
    screen.paragraph(&[Span::plain("   ")], Tone::Plain, expected(finding));
    let knob = value.knob.name();
    let change = match fixed.outlook.is_done() {
        true => text!(
            "{knob} is {now} already: nothing to set. Measure again: linespeed",
            knob,
            now = now.clone()
        ),
        false => {
            text!("{knob}: {now}, then {then}", knob, now = now.clone(), then = then.clone())
        }
    };
    screen.paragraph(&[Span::plain("   ")], Tone::Plain, change.to_string());
    for note in notes {
        screen.paragraph(&[Span::plain("   ")], Tone::Quiet, note.to_string());
    }
    screen.finish()
}

fn expected(finding: &Finding) -> String {
    format!("{}: {}", finding::severity(finding.severity), finding::loss(finding))
}

fn foot(fixed: &Fixed, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.blank();
    match fixed.proof {
        Some(proof) => {
            let gain = gave(&Gain::of(proof));
            screen.paragraph(&[Span::strong("Gave: ")], Tone::Strong, gain.to_string());
            let loss = expected(fixed.fix.finding);
            screen.paragraph(&[Span::plain("Expected: ")], Tone::Plain, loss);
        }
        None if !fixed.outlook.is_done() => {
            screen.paragraph(
                &[Span::plain("Would be measured, before and after in turn: ")],
                Tone::Plain,
                fixed.measures.to_string(),
            );
        }
        None => {}
    }
    let said = match fixed.kept {
        Some(Kept::Stands) => Some("Kept, until the next boot. Put it back: linespeed quiet --restore"),
        Some(Kept::PutBack) => Some("Put back: everything is as it was. To keep it: --keep"),
        Some(Kept::NotSet) => Some("Not kept: everything is as it was."),
        None => None,
    };
    if let Some(said) = said {
        screen.paragraph(&[], Tone::Plain, said);
    }
    screen.finish()
}

/// What a fix gave, in words.
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
            text!("no difference resolved (< {bound})", bound = percent(bound(*smaller_than)))
        }
        Verdict::NotResolved { .. } => text!("no difference resolved"),
        Verdict::TooNoisy { rounds_needed: Some(rounds) } => {
            let rounds = count_noun(*rounds, "more round");
            text!("too noisy to tell: {rounds} needed, with --rounds", rounds)
        }
        Verdict::TooNoisy { rounds_needed: None } => text!("too noisy to tell"),
        Verdict::NotMeasurable { reason } => {
            text!("not measured: {why}", why = reason.clone())
        }
    }
}

/// The same as JSON.
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
