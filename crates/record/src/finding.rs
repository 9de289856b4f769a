//! Findings (causes of lost speed) with their severity and confidence, and rules that lack data.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_with::skip_serializing_none;

use crate::JsonSchema;
use crate::difference::Verdict;
use crate::evidence::Evidence;
use crate::remedy::{KnobValue, Remedy};
use crate::text::{Template, Text};

/// How severe a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[derive(strum::EnumString, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Severity {
    /// For information: the finding has no measurable cost, or affects only some programs.
    Note,
    /// Costs some speed.
    Warning,
    /// Costs much speed or makes results wrong.
    Serious,
}

/// How many programs a loss affects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Relevance {
    /// Any program.
    #[default]
    All,
    /// Programs of one kind, such as those with large data, short sleeps or vector instructions.
    Some,
    /// Hardly any program, or the cause is a deliberate safety setting.
    Few,
    /// No program: the loss is included in another result or finding, or the lost speed is reserved for other guests.
    None,
}

/// A cause of lost speed.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The rule's name, which never changes: `timer-slack`.
    pub rule: String,
    /// How severe the finding is.
    pub severity: Severity,
    /// The finding, in one line.
    pub what: Text,
    /// The affected CPUs, nodes or devices.
    #[serde(rename = "where")]
    pub place: Option<Text>,
    /// The results on which the finding is based, each with its place in the record.
    pub evidence: Vec<Evidence>,
    /// The loss of speed.
    pub loss: Verdict,
    /// Which programs are affected; absent in records written by version 0.1.
    #[serde(default)]
    pub relevance: Relevance,
    /// Whether the loss was measured here or modelled.
    pub measured: bool,
    /// The confidence in the finding.
    #[serde(default)]
    pub confidence: Confidence,
    /// The affected resource, as in `diagnosis.resources[].name`, if there is one.
    pub resource: Option<String>,
    /// The remedies: commands to paste, or parts to buy or change.
    #[serde(flatten, serialize_with = "RemedyLists::write", deserialize_with = "RemedyLists::read")]
    #[schemars(with = "RemedyLists")]
    pub remedy: Vec<Remedy>,
    /// How to undo the remedy.
    #[serde(flatten, serialize_with = "UndoLists::write", deserialize_with = "UndoLists::read")]
    #[schemars(with = "UndoLists")]
    pub undo: Vec<Remedy>,
}

impl Finding {
    /// The place of a finding that concerns the whole machine.
    pub const WHOLE_MACHINE: Template = Template::new("whole-machine", "the whole machine");

    /// The knob that the first remedy with a knob sets.
    pub fn knob(&self) -> Option<&KnobValue> {
        self.remedy.iter().find_map(|remedy| remedy.sets.as_ref())
    }
}

/// Remedies as written to JSON: several lists, each with one entry per remedy, which become keys of the finding.
#[derive(Serialize, Deserialize, JsonSchema)]
struct RemedyLists {
    /// What to do: commands to paste, or what to buy or change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    remedy: Vec<String>,
    /// The command of each entry of `remedy`; `null` if it has none. Absent in records written by version 0.1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    remedy_commands: Vec<Option<String>>,
    /// The knob that each entry of `remedy` sets; `linespeed fix` sets it and measures its gain. `null` for an entry
    /// without a knob; absent if no entry has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "known_knobs")]
    remedy_sets: Vec<Option<KnobValue>>,
}

/// How to undo the remedies, in the same form.
#[derive(Serialize, Deserialize, JsonSchema)]
struct UndoLists {
    /// How to undo the remedy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    undo: Vec<String>,
    /// The command of each entry of `undo`; `null` if it has none. Absent in records written by version 0.1.
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

/// The knobs that remedies set; knobs unknown to this version are ignored.
fn known_knobs<'de, D: Deserializer<'de>>(written: D) -> Result<Vec<Option<KnobValue>>, D::Error> {
    let written: Vec<Option<serde_json::Value>> = Vec::deserialize(written)?;
    let known = |value: Option<serde_json::Value>| value.and_then(|value| serde_json::from_value(value).ok());
    Ok(written.into_iter().map(known).collect())
}

/// How certain a finding is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Confidence {
    /// The finding is only one possible interpretation of the results, or the results are unreliable.
    Low,
    /// The fact was read; its cost is modelled.
    #[default]
    Medium,
    /// The fact was read and its cost was measured, both reliably.
    High,
}

impl Confidence {
    /// The word in text and JSON.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// A rule that could not be applied because data is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotLookedFor {
    /// The rule's name.
    pub rule: String,
    /// The missing data.
    pub missing: Text,
}
