//! What a comparison of records says: the types only; the figures come from the `diagnose` crate, which computes them
//! from the records alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::diagnosis::Evidence;
use crate::difference::Verdict;
use crate::document::Tool;
use crate::doubt::Doubt;
use crate::gate::Gate;
use crate::measurement::Labels;
use crate::metrics::{Better, Metric};
use crate::text;
use crate::text::{Template, Text};

/// The version of a comparison's form.
pub const COMPARISON_VERSION: u32 = 1;

/// Two or more records side by side. One of them is the baseline, which all others are held against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// [`COMPARISON_VERSION`] of the program that made it.
    pub comparison: u32,
    /// The program that made it.
    pub tool: Tool,
    /// What is compared, in the order in which it was named.
    pub subjects: Vec<Subject>,
    /// The baseline's index in `subjects`.
    pub baseline: usize,
    /// How the subjects belong together.
    pub relation: Relation,
    /// The answer, one paragraph a result: who is how much faster, what explains it, what to do and what to expect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answer: Vec<Text>,
    /// What differs in the inventory and the conditions, hardware first.
    pub differences: Vec<Difference>,
    /// The figures that people read first: each resource and workload once, summed up over CPUs, pairs and working sets.
    pub rows: Vec<Row>,
    /// Every figure that at least two subjects have at the same place, one by one.
    pub figures: Vec<Row>,
    /// Figures that are not comparable, grouped by their reason.
    pub refused: Vec<Refusal>,
    /// Which differences explain the results, an entry a result and subject.
    pub explanations: Vec<Explanation>,
    /// What each would do with another's best setting.
    pub what_if: Vec<WhatIf>,
    /// The subjects by each result, the best first; only with three and more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orders: Vec<Order>,
    /// What is to be known of the whole, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Text>,
    /// What each record says of itself alone: what its nodes cost and how its work scales, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<Text>,
    /// Whether what was lost is less than a bound, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
}

/// One of the records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Subject {
    /// What it is called here: short, and no two alike.
    pub name: String,
    /// Where it came from: a file, `reference:NAME`.
    pub source: String,
    /// When it was measured, RFC 3339 in UTC.
    pub started: String,
    /// What the machine is, in a few words.
    pub machine: String,
    /// Figures in it.
    pub figures: u32,
    /// Whether other tools measured it.
    pub imported: bool,
    /// Whether it was asked for as this machine's newest record, so that its name does not say which file that is.
    #[serde(skip_serializing_if = "is_false")]
    pub newest: bool,
    /// Index of an earlier subject that is the very same record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<usize>,
    /// What is to be known of it: emulated, ended early, imported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Text>,
}

/// How the subjects belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// All are the very same record.
    SameRecord,
    /// All are of one machine, at different times: same host name, system and processor.
    SameMachine,
    /// They are of different machines, or nothing says that they are of one.
    Machines,
}

/// One fact of the inventory or the conditions in which the subjects differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// What kind of fact.
    pub kind: FactKind,
    /// The fact in words: `Highest clock`.
    pub what: Text,
    /// The stable code of `what`; empty in a comparison of 0.1.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// Its place in a record: `machine.processor.max_hz`.
    pub from: String,
    /// What each subject says of it, in their order; `null` where the record does not tell.
    pub values: Vec<Option<String>>,
}

/// What kind of fact differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FactKind {
    /// What the machine is built of.
    Hardware,
    /// What is installed and how the machine is set up.
    Setting,
    /// The state that it happened to be in.
    State,
}

/// One figure of each subject.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// What belongs together: `core`, `workloads`, `memory latency`…
    pub group: String,
    /// What the figure is, in words: `triad, all CPUs`.
    pub what: Text,
    /// The stable code of `what`; empty where the figure is one of the record's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// The metric.
    pub metric: Metric,
    /// Unit of the values.
    pub unit: String,
    /// Which direction is better; absent where neither is.
    pub better: Option<Better>,
    /// The place that all share; what differs between machines (CPU numbers) is left out where it was summed over.
    #[serde(rename = "where")]
    pub labels: Labels,
    /// What the figure was divided by, where it was.
    pub per: Option<Per>,
    /// Each subject's figure, in their order.
    pub cells: Vec<Cell>,
}

/// How many times as fast one is as another, and the 95 % interval of that, where there is one.
pub type Faster = (f64, Option<(f64, f64)>);

impl Row {
    /// How fast a cell's subject is against the baseline: above 1 it is faster, whichever direction of the figure is better.
    /// `None` without a ratio.
    pub fn speed(&self, cell: &Cell) -> Option<Faster> {
        let faster = |ratio: f64| if self.better == Some(Better::Lower) { 1.0 / ratio } else { ratio };
        let interval = cell.interval.map(|(low, high)| (faster(low), faster(high)));
        Some((faster(cell.ratio?), interval.map(|(one, other)| (one.min(other), one.max(other)))))
    }
}

/// What a throughput is divided by.
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
    /// The word for people and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Per::Core => "core",
            Per::Cpu => "CPU",
            Per::Package => "package",
        }
    }
}

/// One subject's figure, held against the baseline's.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cell {
    /// The median; absent where the record has none, or none that is comparable.
    pub value: Option<f64>,
    /// 95 % interval of the median; absent where nothing tells how well it is known.
    pub value_interval: Option<(f64, f64)>,
    /// This figure over the baseline's; absent for the baseline itself.
    pub ratio: Option<f64>,
    /// 95 % interval of the ratio by the bootstrap; absent where a side is one figure only.
    pub interval: Option<(f64, f64)>,
    /// How far it lies from the baseline's; of watches alone.
    pub change: Option<Change>,
    /// What can be said of the difference; `costs` is what the slower side loses against the faster.
    pub verdict: Option<Verdict>,
    /// Whether this subject is the slower of the two; absent where no difference is resolved.
    pub slower: Option<bool>,
    /// What the figure was taken from, where that is more than one: `median of 72 CPUs`.
    pub over: Option<Text>,
    /// Its place in the record.
    pub from: Option<String>,
    /// Why it should not be leaned on, or cannot be compared.
    #[serde(flatten)]
    pub doubt: Option<Doubt>,
    /// Whether its 95 % interval reaches further than its own size, so that it is not printed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
}

/// A mean over a watch, held against another's.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// This less the baseline's, in the figure's own unit.
    pub by: f64,
    /// The interval of that, which holds for all rows together at 95 %; absent where a watch is too short.
    pub interval: Option<(f64, f64)>,
    /// Whether they differ by more than chance and by enough to matter; absent where a watch is too short to tell.
    pub resolved: Option<bool>,
}

/// Figures that are not comparable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// Why, one sentence.
    pub why: Text,
    /// The stable code of `why`; empty in a comparison of 0.1.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// The metrics, each once.
    pub metrics: Vec<Metric>,
    /// How many figures.
    pub figures: u32,
    /// The subjects of which they are, by index.
    pub subjects: Vec<usize>,
    /// One of them, by its place.
    pub example: String,
    /// Whether they are refused because they were counted over the whole system.
    #[serde(default, skip_serializing_if = "is_false")]
    pub system_wide: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// What explains that one subject's result differs from the baseline's.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// The result in words.
    pub result: Text,
    /// The subject, by index.
    pub subject: usize,
    /// How much faster the subject is than the baseline: 2 is twice as fast, 0.5 half as fast.
    pub speed: f64,
    /// Whether a figure behind that is in doubt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreliable: bool,
    /// The answer in a sentence or two.
    pub says: Text,
    /// Whether the causes multiply up to the speed (with what is unexplained); otherwise they stand beside each other.
    pub adds_up: bool,
    /// The causes: those that make the slower one slower first, each kind in the order of its effect.
    pub causes: Vec<Cause>,
    /// What the causes leave, as a factor on the speed like theirs; absent where they do not add up.
    pub unexplained: Option<f64>,
    /// Where the work was measured with blocks of several sizes: how far their speeds are apart, and which sizes are left out.
    pub sizes: Option<Text>,
    /// Where the one with more cores does no more than the other: of which work that is told.
    pub held_back: Option<HeldBack>,
    /// What else one might think of, and whether these figures carry it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
}

/// Work of which more cores do no more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldBack {
    /// The work.
    pub work: String,
    /// Who does no more than whom, in a sentence, without its causes.
    pub says: Text,
}

/// One cause and its effect on the result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// The cause in a few words: `memory latency`.
    pub name: Text,
    /// The stable code of `name`; empty in a comparison of 0.1.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// With figures, one sentence.
    pub says: Text,
    /// Its effect on the subject's speed against the baseline's: 0.8 makes it a fifth slower, 1.2 a fifth faster.
    pub factor: f64,
    /// Whether a figure behind that is in doubt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreliable: bool,
    /// Whether it speaks for the slower one: it would make it the faster.
    pub despite: bool,
    /// Whether the effect was measured; otherwise it is modelled.
    pub measured: bool,
    /// The figures behind it, the baseline's first.
    pub evidence: Vec<Evidence>,
    /// What it consists of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Cause>,
}

/// Something that one might hold to be the reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// What it would be: `bigger caches`.
    pub claim: Text,
    /// The stable code of `claim`; empty in a comparison of 0.1.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// Whether the figures carry it.
    pub support: Support,
    /// Why, with figures, one sentence.
    pub why: Text,
}

/// Whether figures carry a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Support {
    /// They do.
    Supported,
    /// They point the other way.
    Contradicted,
    /// They say nothing of it, or too little.
    NotSupported,
}

const SUPPORTED: Template =
    Template::new("comparison-claim-supported", "Supported by the figures: {claim} ({why}).");
const CONTRADICTED: Template =
    Template::new("comparison-claim-contradicted", "Contradicted by the figures: {claim} ({why}).");
const NOT_SUPPORTED: Template =
    Template::new("comparison-claim-not-supported", "Not supported by the figures: {claim} ({why}).");

impl Support {
    /// A claim with its reason, in a sentence.
    pub fn judge(self, claim: &Text, why: &Text) -> Text {
        let template = match self {
            Support::Supported => SUPPORTED,
            Support::Contradicted => CONTRADICTED,
            Support::NotSupported => NOT_SUPPORTED,
        };
        text!(template, claim, why)
    }

    /// The judgement alone.
    pub fn word(self) -> &'static str {
        match self {
            Support::Supported => "supported",
            Support::Contradicted => "contradicted",
            Support::NotSupported => "not supported",
        }
    }
}

/// What a subject would do with another's best setting; always modelled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIf {
    /// The subject, by index.
    pub subject: usize,
    /// The setting: `memory devices`.
    pub setting: Text,
    /// The stable code of `setting`; empty in a comparison of 0.1.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// What it is now.
    pub now: Text,
    /// What it would be.
    pub then: Text,
    /// What it acts on: `memory bandwidth`.
    pub acts_on: Text,
    /// Its speed then over its speed now, at most where `at_most`.
    pub gain: f64,
    /// Whether the gain is an upper bound.
    pub at_most: bool,
    /// Whether this is several settings together, each of which is told by itself, too.
    #[serde(default, skip_serializing_if = "is_false")]
    pub together: bool,
    /// What follows, one or two sentences.
    pub says: Text,
    /// The figures behind it.
    pub evidence: Vec<Evidence>,
}

/// The subjects by one result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Order {
    /// The result in words.
    pub result: Text,
    /// The metric.
    pub metric: Metric,
    /// Unit of the values.
    pub unit: String,
    /// Subjects and their figures, the best first; those without one are left out.
    pub ranks: Vec<Rank>,
    /// What follows, one sentence.
    pub says: Text,
}

/// One place in an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rank {
    /// The subject, by index.
    pub subject: usize,
    /// Its figure.
    pub value: f64,
    /// Whether it lies far from the others: beyond 3.5 scaled median absolute deviations, and in the worse direction.
    pub outlier: bool,
}

impl Comparison {
    /// As JSON, indented, with a newline at the end, and nothing in it that a terminal would act on.
    ///
    /// # Errors
    ///
    /// A value has no form in JSON.
    pub fn to_json(&self) -> std::io::Result<String> {
        crate::json::write_text(self)
    }

    /// The JSON Schema of a comparison.
    pub fn json_schema() -> serde_json::Value {
        crate::schema::read(crate::schema::COMPARISON)
    }
}
