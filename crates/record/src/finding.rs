//! What costs speed: a finding, how bad and how sure it is, and rules that could not look.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::difference::Verdict;
use crate::evidence::Evidence;
use crate::remedy::{KnobValue, Remedy};
use crate::text::{Template, Text};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; costs nothing measurable, or only some programs.
    Note,
    /// Costs some speed.
    Warning,
    /// Costs much speed, or makes figures wrong.
    Serious,
}

/// How many programs feel a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Relevance {
    /// Any.
    #[default]
    All,
    /// Those of one kind: large data, short sleeps, vectors.
    Some,
    /// Hardly one, or it was chosen for safety.
    Few,
    /// None: another figure or finding counts it, or somebody keeps it for others.
    None,
}

/// Something that costs speed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(from = "Written", into = "Written")]
pub struct Finding {
    /// The rule's name, stable: `timer-slack`.
    pub rule: String,
    /// How bad it is.
    pub severity: Severity,
    /// What, in one line.
    pub what: Text,
    /// Where: which CPUs, nodes, devices.
    pub place: Option<Text>,
    /// The figures behind it, each with its place in the record.
    pub evidence: Vec<Evidence>,
    /// What it costs.
    pub loss: Verdict,
    /// Who feels that.
    pub relevance: Relevance,
    /// Whether the loss was measured here or modelled.
    pub measured: bool,
    /// How sure it is that this is so.
    pub confidence: Confidence,
    /// The resource that it takes from, as in `diagnosis.resources[].name`, where it takes from one of them.
    pub resource: Option<String>,
    /// What to do: commands to paste, or what to buy or change.
    pub remedy: Vec<Remedy>,
    /// How to undo the remedy.
    pub undo: Vec<Remedy>,
}

impl Finding {
    /// Where a finding is that has no narrower place.
    pub const WHOLE_MACHINE: Template = Template { code: "whole-machine", words: "the whole machine" };

    /// The knob that its first remedy that is one sets.
    pub fn knob(&self) -> Option<&KnobValue> {
        self.remedy.iter().find_map(|remedy| remedy.sets.as_ref())
    }
}

/// As it stands in JSON.
#[skip_serializing_none]
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Written {
    /// The rule's name, stable: `timer-slack`.
    rule: String,
    /// How bad it is.
    severity: Severity,
    /// What, in one line.
    what: Text,
    /// Where: which CPUs, nodes, devices.
    #[serde(rename = "where")]
    place: Option<Text>,
    /// The figures behind it, each with its place in the record.
    evidence: Vec<Evidence>,
    /// What it costs.
    loss: Verdict,
    /// Who feels that; absent in records of 0.1.
    #[serde(default)]
    relevance: Relevance,
    /// Whether the loss was measured here or modelled.
    measured: bool,
    /// How sure it is that this is so.
    #[serde(default)]
    confidence: Confidence,
    /// The resource that it takes from, as in `diagnosis.resources[].name`, where it takes from one of them.
    resource: Option<String>,
    /// What to do: commands to paste, or what to buy or change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    remedy: Vec<String>,
    /// For each entry of `remedy` the command in it, `null` where it has none. Absent in records of 0.1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    remedy_commands: Vec<Option<String>>,
    /// For each entry of `remedy` the knob that it sets, which `linespeed fix` sets and measures; `null` where it sets none.
    /// Absent where none does.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "known_knobs")]
    remedy_sets: Vec<Option<KnobValue>>,
    /// How to undo the remedy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    undo: Vec<String>,
    /// For each entry of `undo` the command in it, `null` where it has none. Absent in records of 0.1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    undo_commands: Vec<Option<String>>,
}

/// What remedies set; a knob of a later version is none.
fn known_knobs<'de, D: serde::Deserializer<'de>>(written: D) -> Result<Vec<Option<KnobValue>>, D::Error> {
    let written: Vec<Option<serde_json::Value>> = Vec::deserialize(written)?;
    let known = |value: Option<serde_json::Value>| value.and_then(|value| serde_json::from_value(value).ok());
    Ok(written.into_iter().map(known).collect())
}

impl From<Written> for Finding {
    fn from(written: Written) -> Self {
        let Written { rule, severity, what, place, evidence, loss, relevance, .. } = written;
        let (measured, confidence, resource) = (written.measured, written.confidence, written.resource);
        let mut remedy = Remedy::read_all(written.remedy, written.remedy_commands);
        for (remedy, sets) in remedy.iter_mut().zip(written.remedy_sets) {
            remedy.sets = sets;
        }
        let undo = Remedy::read_all(written.undo, written.undo_commands);
        Self {
            rule,
            severity,
            what,
            place,
            evidence,
            loss,
            relevance,
            measured,
            confidence,
            resource,
            remedy,
            undo,
        }
    }
}

impl From<Finding> for Written {
    fn from(finding: Finding) -> Self {
        let words = |all: &[Remedy]| all.iter().map(Remedy::to_string).collect();
        let sets = |all: &[Remedy]| match all.iter().any(|one| one.sets.is_some()) {
            true => all.iter().map(|one| one.sets.clone()).collect(),
            false => Vec::new(),
        };
        let commands = |all: Vec<Remedy>| all.into_iter().map(|one| one.command).collect();
        Self {
            rule: finding.rule,
            severity: finding.severity,
            what: finding.what,
            place: finding.place,
            evidence: finding.evidence,
            loss: finding.loss,
            relevance: finding.relevance,
            measured: finding.measured,
            confidence: finding.confidence,
            resource: finding.resource,
            remedy: words(&finding.remedy),
            remedy_sets: sets(&finding.remedy),
            remedy_commands: commands(finding.remedy),
            undo: words(&finding.undo),
            undo_commands: commands(finding.undo),
        }
    }
}

/// How sure a finding is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Confidence {
    /// One reading of the figures; others are possible, or the figures are in doubt.
    Low,
    /// The fact is read, its cost is modelled.
    #[default]
    Medium,
    /// The fact is read and its cost measured, without doubt on either.
    High,
}

impl Confidence {
    /// The word for people and JSON.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// A rule that could not look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotLookedFor {
    /// The rule's name.
    pub rule: String,
    /// What it needs and the record does not hold.
    pub missing: Text,
}
