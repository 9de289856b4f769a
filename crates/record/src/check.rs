//! A machine compared with its baseline: the types only; `diagnose` finds the deviations.

use schemars::JsonSchema;
use serde::Serialize;

use crate::comparison::FactKind;
use crate::{Doubt, Metric, Text};

/// The version of the check format.
pub const CHECK_VERSION: u32 = 1;

/// A check and its subject.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Checked<'a> {
    /// [`CHECK_VERSION`] of the program that made it.
    pub check: u32,
    /// The host's name; empty if it has none.
    pub machine: &'a str,
    /// When it was made, RFC 3339 in UTC.
    pub time: &'a str,
    /// The baseline, in a few words.
    pub baseline: &'a str,
    /// The outcome, in one line.
    pub line: &'a str,
    /// The outcome.
    pub result: &'a Check,
}

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// No deviation.
    Good,
    /// A setting or installed software differs.
    Setting,
    /// The hardware differs, or a result is slower.
    Defect,
    /// The baseline is from another class of machines.
    OtherClass,
}

/// A machine compared with a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Check {
    /// The outcome.
    pub outcome: Outcome,
    /// Facts that differ, most important first; if the baseline is of another class, the facts of the class.
    pub facts: Vec<FactOff>,
    /// Facts in the baseline that could not be read here.
    pub not_seen: Vec<FactOff>,
    /// How many facts are the same as in the baseline.
    pub alike: usize,
    /// These facts.
    pub agree: Vec<FactOff>,
    /// Facts missing on both sides, which are therefore not compared.
    pub neither: Vec<FactOff>,
    /// Results, the slowest relative to the baseline first.
    pub figures: Vec<Figure>,
    /// CPUs used by other processes meanwhile, if too many to judge any result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<Busy>,
}

/// CPUs used by other processes during the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Busy {
    /// How many on average.
    pub by_others: f64,
    /// Of how many.
    pub cpus: u32,
}

/// A fact with its value on this machine and in the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FactOff {
    /// What kind of fact.
    pub kind: FactKind,
    /// The fact's stable code.
    pub code: String,
    /// The fact in words.
    pub what: Text,
    /// The machine's value now; `None`: none.
    pub here: Option<String>,
    /// The baseline's value; `None`: none (a quota, a limit).
    pub baseline: Option<String>,
    /// Whether it follows from another fact that also differs.
    pub follows: bool,
}

/// A result compared with the baseline's.
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
    /// This machine's speed relative to the baseline: 0.8 is a fifth slower.
    pub speed: f64,
    /// The 95 % interval of that, from both intervals.
    pub interval: Option<(f64, f64)>,
    /// The share beyond which it counts as slower.
    pub bound: f64,
    /// Whether it is slower: the whole interval lies beyond the bound.
    pub slow: bool,
    /// Why it is unreliable.
    #[serde(flatten)]
    pub doubt: Option<Doubt>,
}

impl Figure {
    /// Whether it is certainly slower, or certainly not. Undecided are results that are in doubt, have no interval, or whose interval contains
    /// the bound.
    pub fn is_decided(&self) -> bool {
        let as_before = self.interval.is_some_and(|(low, _)| low >= 1.0 - self.bound);
        self.slow || self.doubt.is_none() && as_before
    }
}
