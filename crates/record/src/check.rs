//! A machine held against its baseline: the types only; what is off, `diagnose` finds.

use schemars::JsonSchema;
use serde::Serialize;

use crate::comparison::FactKind;
use crate::{Doubt, Metric, Text};

/// The version of the form of a check.
pub const CHECK_VERSION: u32 = 1;

/// A check with what it is of.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Checked<'a> {
    /// [`CHECK_VERSION`] of the program that made it.
    pub check: u32,
    /// The host's name; empty where it has none.
    pub machine: &'a str,
    /// When it was made, RFC 3339 in UTC.
    pub time: &'a str,
    /// What it was held against, in a few words.
    pub baseline: &'a str,
    /// What it came to, in a line.
    pub line: &'a str,
    /// What it came to.
    pub result: &'a Check,
}

impl Checked<'_> {
    /// As JSON text.
    ///
    /// # Errors
    ///
    /// A value has no form in JSON.
    pub fn to_json(&self) -> std::io::Result<String> {
        crate::json::write_text(self)
    }

    /// Its JSON Schema.
    pub fn json_schema() -> serde_json::Value {
        crate::schema::read(crate::schema::CHECK)
    }
}

/// What a check came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Nothing is off.
    Good,
    /// A setting, or what is installed, differs.
    Setting,
    /// The hardware differs, or a figure is slower.
    Defect,
    /// The baseline is of machines of another class.
    OtherClass,
}

/// A machine held against a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Check {
    /// What it came to.
    pub outcome: Outcome,
    /// Facts that differ, the weightiest first: of a class, where the baseline is of another.
    pub facts: Vec<FactOff>,
    /// Facts that the baseline tells and that could not be seen here.
    pub not_seen: Vec<FactOff>,
    /// How many facts are as in the baseline.
    pub alike: usize,
    /// These facts.
    pub agree: Vec<FactOff>,
    /// Facts that neither tells: nothing was held against anything.
    pub neither: Vec<FactOff>,
    /// Figures, the slowest against the baseline first.
    pub figures: Vec<Figure>,
    /// Who else used the CPUs meanwhile, where that was too much to judge any figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<Busy>,
}

/// CPUs that other programs used while figures were measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Busy {
    /// So many on average.
    pub by_others: f64,
    /// Of so many.
    pub cpus: u32,
}

/// A fact with what each of the two says of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FactOff {
    /// What kind of fact.
    pub kind: FactKind,
    /// Which fact: stable.
    pub code: String,
    /// The fact in words.
    pub what: Text,
    /// What the machine says now; `None`: nothing.
    pub here: Option<String>,
    /// What the baseline says; `None`: there was none (a quota, a limit).
    pub baseline: Option<String>,
    /// Whether it follows from another that differs, too.
    pub follows: bool,
}

/// A figure held against the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// What it is, in words.
    pub what: Text,
    /// The metric.
    pub metric: Metric,
    /// The unit of the values.
    pub unit: String,
    /// The value measured now.
    pub here: f64,
    /// The baseline's.
    pub baseline: f64,
    /// How fast this machine is against the baseline: 0.8 is a fifth slower.
    pub speed: f64,
    /// The 95 % interval of that, from both intervals.
    pub interval: Option<(f64, f64)>,
    /// The share that it must be slower to be called so.
    pub bound: f64,
    /// Whether it is slower: the whole interval lies beyond the bound.
    pub slow: bool,
    /// Why it should not be leaned on.
    #[serde(flatten)]
    pub doubt: Option<Doubt>,
}

impl Figure {
    /// Whether it is surely slower, or surely not: a figure in doubt, without an interval, or whose interval reaches over the bound
    /// is neither.
    pub fn is_decided(&self) -> bool {
        let as_before = self.interval.is_some_and(|(low, _)| low >= 1.0 - self.bound);
        self.slow || self.doubt.is_none() && as_before
    }
}
