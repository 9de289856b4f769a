//! What costs speed: a finding, how bad and how sure it is, and rules that could not look.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_with::skip_serializing_none;

use crate::difference::Verdict;
use crate::evidence::Evidence;
use crate::remedy::{KnobValue, Remedy};
use crate::text::{Template, Text};

/// How bad a finding is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::EnumString, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; costs nothing measurable, or only some programs.
    Note,
    /// Costs some speed.
    Warning,
    /// Costs much speed, or makes figures wrong.
    Serious,
}

/// How many programs feel a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The rule's name, stable: `timer-slack`.
    pub rule: String,
    /// How bad it is.
    pub severity: Severity,
    /// What, in one line.
    pub what: Text,
    /// Where: which CPUs, nodes, devices.
    #[serde(rename = "where")]
    pub place: Option<Text>,
    /// The figures behind it, each with its place in the record.
    pub evidence: Vec<Evidence>,
    /// What it costs.
    pub loss: Verdict,
    /// Who feels that; absent in records of 0.1.
    #[serde(default)]
    pub relevance: Relevance,
    /// Whether the loss was measured here or modelled.
    pub measured: bool,
    /// How sure it is that this is so.
    #[serde(default)]
    pub confidence: Confidence,
    /// The resource that it takes from, as in `diagnosis.resources[].name`, where it takes from one of them.
    pub resource: Option<String>,
    /// What to do: commands to paste, or what to buy or change.
    #[serde(flatten, serialize_with = "RemedyLists::write", deserialize_with = "RemedyLists::read")]
    #[schemars(with = "RemedyLists")]
    pub remedy: Vec<Remedy>,
    /// How to undo the remedy.
    #[serde(flatten, serialize_with = "UndoLists::write", deserialize_with = "UndoLists::read")]
    #[schemars(with = "UndoLists")]
    pub undo: Vec<Remedy>,
}

impl Finding {
    /// Where a finding is that has no narrower place.
    pub const WHOLE_MACHINE: Template = Template::new("whole-machine", "the whole machine");

    /// The knob that its first remedy that is one sets.
    pub fn knob(&self) -> Option<&KnobValue> {
        self.remedy.iter().find_map(|remedy| remedy.sets.as_ref())
    }
}

/// Remedies as they stand in JSON, among the keys of the finding: lists beside each other.
#[derive(Serialize, Deserialize, JsonSchema)]
struct RemedyLists {
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
}

/// What undoes the remedies, in the same form.
#[derive(Serialize, Deserialize, JsonSchema)]
struct UndoLists {
    /// How to undo the remedy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    undo: Vec<String>,
    /// For each entry of `undo` the command in it, `null` where it has none. Absent in records of 0.1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    undo_commands: Vec<Option<String>>,
}

impl RemedyLists {
    fn write<S: Serializer>(all: &[Remedy], to: S) -> Result<S::Ok, S::Error> {
        let (remedy, remedy_commands) = Remedy::write_all(all);
        let mut remedy_sets: Vec<_> = all.iter().map(|one| one.sets.clone()).collect();
        if remedy_sets.iter().all(Option::is_none) {
            remedy_sets.clear();
        }
        Self { remedy, remedy_commands, remedy_sets }.serialize(to)
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Remedy>, D::Error> {
        let Self { remedy, remedy_commands, remedy_sets } = Self::deserialize(from)?;
        let mut all = Remedy::read_all(remedy, remedy_commands);
        for (remedy, sets) in all.iter_mut().zip(remedy_sets) {
            remedy.sets = sets;
        }
        Ok(all)
    }
}

impl UndoLists {
    fn write<S: Serializer>(all: &[Remedy], to: S) -> Result<S::Ok, S::Error> {
        let (undo, undo_commands) = Remedy::write_all(all);
        Self { undo, undo_commands }.serialize(to)
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Remedy>, D::Error> {
        let Self { undo, undo_commands } = Self::deserialize(from)?;
        Ok(Remedy::read_all(undo, undo_commands))
    }
}

/// What remedies set; a knob of a later version is none.
fn known_knobs<'de, D: Deserializer<'de>>(written: D) -> Result<Vec<Option<KnobValue>>, D::Error> {
    let written: Vec<Option<serde_json::Value>> = Vec::deserialize(written)?;
    let known = |value: Option<serde_json::Value>| value.and_then(|value| serde_json::from_value(value).ok());
    Ok(written.into_iter().map(known).collect())
}

/// How sure a finding is.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    JsonSchema,
)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotLookedFor {
    /// The rule's name.
    pub rule: String,
    /// What it needs and the record does not hold.
    pub missing: Text,
}
