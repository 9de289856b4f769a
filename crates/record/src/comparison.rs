//! The outcome of a comparison of records: types only. The `diagnose` crate computes the outcome from the records
//! alone.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::JsonSchema;
use crate::diagnosis::Evidence;
use crate::difference::Verdict;
use crate::document::Tool;
use crate::doubt::Doubt;
use crate::gate::Gate;
use crate::measurement::Labels;
use crate::metrics::{Better, Metric};
use crate::text;
use crate::text::{Template, Text};

/// The version of the comparison format.
pub const COMPARISON_VERSION: u32 = 1;

/// Two or more records side by side. One of them is the baseline, with which all others are compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// [`COMPARISON_VERSION`] of the program that wrote the comparison.
    pub comparison: u32,
    /// The program that wrote the comparison.
    pub tool: Tool,
    /// The compared records, in the order given by the user.
    pub subjects: Vec<Subject>,
    /// The baseline's index in `subjects`.
    pub baseline: usize,
    /// How the subjects are related.
    pub relation: Relation,
    /// The answer, one paragraph per result: the faster subject, the size of the difference, its causes, the remedy and
    /// the expected gain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answer: Vec<Text>,
    /// Differences in the inventory and the conditions, hardware first.
    pub differences: Vec<Difference>,
    /// The main results: each resource and workload once, summarized over CPUs, pairs and working sets.
    pub rows: Vec<Row>,
    /// All results that at least two subjects have for the same place, listed individually.
    pub figures: Vec<Row>,
    /// Results that are not comparable, grouped by their reason.
    pub refused: Vec<Refusal>,
    /// The differences that explain the results, one entry per result and subject.
    pub explanations: Vec<Explanation>,
    /// The modelled effect on each subject of adopting another subject's best setting.
    pub what_if: Vec<WhatIf>,
    /// The subjects ordered by each result, best first; only for three or more subjects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orders: Vec<Order>,
    /// Notes on the comparison as a whole, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Text>,
    /// Conclusions from individual records about the cost of NUMA and the scaling of workloads, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<Text>,
    /// Whether the loss of speed stays below the bound, if a bound was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
}

/// One of the compared records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Subject {
    /// The subject's name in this comparison: short and unique.
    pub name: String,
    /// The record's source: a file, or `reference:NAME`.
    pub source: String,
    /// When the record was measured, RFC 3339 in UTC.
    pub started: String,
    /// A short description of the machine.
    pub machine: String,
    /// Number of results in the record.
    pub figures: u32,
    /// The metric of each result with a better direction that no other subject has.
    #[serde(skip)]
    pub alone: Vec<Metric>,
    /// Whether the results in the record are from other tools.
    pub imported: bool,
    /// Whether the record was selected as the newest one of this machine. If so, the name does not identify the file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub newest: bool,
    /// The index of an earlier subject that has the same record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<usize>,
    /// Notes on the record: emulated, ended early, imported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Text>,
}

/// How the subjects are related.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// All are the same record.
    SameRecord,
    /// All are records of one machine, taken at different times: same host name, system and processor.
    SameMachine,
    /// The records are from different machines, or it is unknown whether they are from the same machine.
    #[default]
    Machines,
}

/// One fact of the inventory or the conditions in which the subjects differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The kind of fact.
    pub kind: FactKind,
    /// The fact in words: `Highest clock`.
    pub what: Text,
    /// The stable code of `what`; empty in comparisons written by version 0.1.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// The fact's path in a record: `machine.processor.max_hz`.
    pub from: String,
    /// The value of each subject, in the order of the subjects; `null` for a subject without a value.
    pub values: Vec<Option<String>>,
}

/// The kind of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FactKind {
    /// The machine's components.
    Hardware,
    /// The installed software and the configuration.
    Setting,
    /// The machine's state at the time of the measurement.
    State,
}

/// One result, with the values of all subjects.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The group of results: `core`, `workloads`, `memory latency`…
    pub group: String,
    /// The result in words: `triad, all CPUs`.
    pub what: Text,
    /// The stable code of `what`; empty if the text of `what` is from the record.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// The metric.
    pub metric: Metric,
    /// Unit of the values.
    pub unit: String,
    /// Which direction is better; absent if neither is.
    pub better: Option<Better>,
    /// The labels that all subjects share; labels that differ between machines (CPU numbers) are omitted if the results are
    /// summaries over them.
    #[serde(rename = "where")]
    pub labels: Labels,
    /// What the result was divided by, if anything.
    pub per: Option<Per>,
    /// The result of each subject, in the order of the subjects.
    pub cells: Vec<Cell>,
}

/// The ratio of two speeds, and the ratio's 95 % CI, if any.
pub type Faster = (f64, Option<(f64, f64)>);

impl Row {
    /// The speed of a cell's subject relative to the baseline: above 1, the subject is faster, regardless of whether
    /// higher or lower values are better. `None` without a ratio.
    pub fn speed(&self, cell: &Cell) -> Option<Faster> {
        let faster = |ratio: f64| if self.better == Some(Better::Lower) { 1.0 / ratio } else { ratio };
        let interval = cell.interval.map(|(low, high)| (faster(low), faster(high)));
        Some((faster(cell.ratio?), interval.map(|(one, other)| (one.min(other), one.max(other)))))
    }
}

/// A kind of hardware unit; a throughput can be divided by the number of such units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// A physical core.
    Core,
    /// A CPU (hardware thread).
    Cpu,
    /// A package (socket).
    Package,
}

impl Per {
    /// The word in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Per::Core => "core",
            Per::Cpu => "CPU",
            Per::Package => "package",
        }
    }
}

/// One subject's result, compared with that of the baseline.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cell {
    /// The median; absent if the record has no comparable result.
    pub value: Option<f64>,
    /// 95 % CI of the median; absent if unknown.
    pub value_interval: Option<(f64, f64)>,
    /// This result divided by the baseline's; absent for the baseline itself.
    pub ratio: Option<f64>,
    /// Bootstrap 95 % CI of the ratio; absent if either side has only one value.
    pub interval: Option<(f64, f64)>,
    /// The difference from the baseline's mean; only for recordings.
    pub change: Option<Change>,
    /// The verdict on the difference; `costs` is the slower side's loss relative to the faster side.
    pub verdict: Option<Verdict>,
    /// Whether this subject is slower than the baseline; absent if no difference is resolved.
    pub slower: Option<bool>,
    /// The values that the result summarizes, if more than one: `median of 72 CPUs`.
    pub over: Option<Text>,
    /// The result's path in the record.
    pub from: Option<String>,
    /// Why the result is unreliable or not comparable.
    #[serde(flatten)]
    pub doubt: Option<Doubt>,
    /// Whether the result is withheld because its 95 % CI is wider than the value itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
}

/// The mean of a result over a recording, compared with the mean over another recording.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// This subject's mean minus the baseline's, in the result's own unit.
    pub by: f64,
    /// The interval of the difference, at 95 % confidence for all rows together; absent if a recording is too short.
    pub interval: Option<(f64, f64)>,
    /// Whether the difference exceeds chance and is large enough to matter; absent if a recording is too short.
    pub resolved: Option<bool>,
}

/// Results that are not comparable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// The reason, one sentence.
    pub why: Text,
    /// The stable code of `why`; empty in comparisons written by version 0.1.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// The metrics, without duplicates.
    pub metrics: Vec<Metric>,
    /// Number of results.
    pub figures: u32,
    /// The subjects that have these results, by index.
    pub subjects: Vec<usize>,
    /// One of these results, given by its path in the record.
    pub example: String,
    /// Whether the results are refused because they were counted system-wide.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub system_wide: bool,
}

/// An explanation of the difference between one subject's result and that of the baseline.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// The explained result, in words.
    pub result: Text,
    /// The subject, by index.
    pub subject: usize,
    /// The subject's speed relative to the baseline: 2 is twice as fast, 0.5 half as fast.
    pub speed: f64,
    /// Whether a result on which the explanation is based is in doubt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreliable: bool,
    /// The answer in a sentence or two.
    pub says: Text,
    /// Whether the speed ratio is the product of the factors of all causes and of the unexplained remainder; otherwise, the causes are
    /// independent of each other.
    pub adds_up: bool,
    /// The causes that slow down the slower subject, then the others. In each group, measured causes may precede modelled
    /// ones; otherwise, the cause with the largest effect comes first.
    pub causes: Vec<Cause>,
    /// The unexplained part of the speed ratio, as a factor; absent if the causes do not add up.
    pub unexplained: Option<f64>,
    /// If the work was measured with several block sizes: the spread of the speeds, and the omitted sizes.
    pub sizes: Option<Text>,
    /// Work in which the subject with more cores is not faster than the other; absent if there is none.
    pub held_back: Option<HeldBack>,
    /// Other possible explanations, and whether these results support them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
}

/// Work that does not benefit from more cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldBack {
    /// The work.
    pub work: String,
    /// One sentence that names the two subjects but not the causes.
    pub says: Text,
}

/// One cause and its effect on the result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// The cause in a few words: `memory latency`.
    pub name: Text,
    /// The stable code of `name`; empty in comparisons written by version 0.1.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// The cause with its numbers, in one sentence.
    pub says: Text,
    /// The cause's effect on the subject's speed relative to the baseline: 0.8 is 20 % slower, 1.2 is 20 %
    /// faster.
    pub factor: f64,
    /// Whether a result on which the cause is based is in doubt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreliable: bool,
    /// Whether the cause makes the slower subject faster.
    pub despite: bool,
    /// Whether the effect was measured; otherwise it is modelled.
    pub measured: bool,
    /// The results on which the cause is based, those of the baseline first.
    pub evidence: Vec<Evidence>,
    /// The parts of the cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Cause>,
}

/// A possible explanation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// The explanation: `bigger caches`.
    pub claim: Text,
    /// The stable code of `claim`; empty in comparisons written by version 0.1.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// Whether the results support the explanation.
    pub support: Support,
    /// The reason with its numbers, in one sentence.
    pub why: Text,
}

/// Whether results support a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Support {
    /// The results support the claim.
    Supported,
    /// The results contradict the claim.
    Contradicted,
    /// The results are inconclusive about the claim.
    NotSupported,
}

const SUPPORTED: Template =
    Template::new("comparison-claim-supported", "Supported by the results: {claim} ({why}).");
const CONTRADICTED: Template =
    Template::new("comparison-claim-contradicted", "Contradicted by the results: {claim} ({why}).");
const NOT_SUPPORTED: Template =
    Template::new("comparison-claim-not-supported", "Not supported by the results: {claim} ({why}).");

impl Support {
    /// A claim with its verdict and reason, in one sentence.
    pub fn judge(self, claim: &Text, why: &Text) -> Text {
        let template = match self {
            Support::Supported => SUPPORTED,
            Support::Contradicted => CONTRADICTED,
            Support::NotSupported => NOT_SUPPORTED,
        };
        text!(template, claim, why)
    }

    /// The verdict in one word.
    pub fn word(self) -> &'static str {
        match self {
            Support::Supported => "supported",
            Support::Contradicted => "contradicted",
            Support::NotSupported => "not supported",
        }
    }
}

/// The effect that another subject's best setting would have on this subject; this effect is always modelled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIf {
    /// The subject, by index.
    pub subject: usize,
    /// The setting: `memory devices`.
    pub setting: Text,
    /// The stable code of `setting`; empty in comparisons written by version 0.1.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// The current value.
    pub now: Text,
    /// The result of the subject with the setting, according to the model.
    pub then: Text,
    /// The result that the setting affects: `memory bandwidth`.
    pub acts_on: Text,
    /// The subject's speed with the setting divided by its current speed; an upper bound if `at_most`.
    pub gain: f64,
    /// Whether the gain is an upper bound.
    pub at_most: bool,
    /// Whether this entry combines several settings, each also listed separately.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub together: bool,
    /// The conclusion, one or two sentences.
    pub says: Text,
    /// The results on which this estimate is based.
    pub evidence: Vec<Evidence>,
}

/// The subjects ranked by one result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Order {
    /// The result in words.
    pub result: Text,
    /// The metric.
    pub metric: Metric,
    /// Unit of the values.
    pub unit: String,
    /// The subjects and their results, best first; subjects without this result are left out.
    pub ranks: Vec<Rank>,
    /// The conclusion, one sentence.
    pub says: Text,
}

/// One position in the order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rank {
    /// The subject, by index.
    pub subject: usize,
    /// The result at this position.
    pub value: f64,
    /// Whether the result is an outlier: worse than the median by more than 3.5 scaled median absolute deviations.
    pub outlier: bool,
}
