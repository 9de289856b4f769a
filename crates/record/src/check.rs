//! Types for the comparison of a machine with its baseline; `diagnose` finds the deviations.

use serde::Serialize;

use crate::comparison::FactKind;
use crate::{Doubt, JsonSchema, Metric, Text};

/// The version of the check format.
pub const CHECK_VERSION: u32 = 1;

/// The result of checking one machine against a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Checked<'a> {
    /// [`CHECK_VERSION`] of the program that ran the check.
    pub check: u32,
    /// The host name; empty if the host has none.
    pub machine: &'a str,
    /// When the check was run, RFC 3339 in UTC.
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
    /// The facts match, but no result could be judged; or nothing could be compared.
    Undecided,
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
    /// Facts that differ, most important first. If the baseline is for another class, only facts that define the class
    /// are listed.
    pub facts: Vec<FactOff>,
    /// Facts in the baseline that could not be read here.
    pub not_seen: Vec<FactOff>,
    /// Number of facts that match the baseline.
    pub alike: usize,
    /// The facts that match.
    pub agree: Vec<FactOff>,
    /// Facts that cannot be compared because the baseline lacks them, and perhaps this machine too.
    pub neither: Vec<FactOff>,
    /// Results, slowest relative to the baseline first.
    pub figures: Vec<Figure>,
    /// CPUs used by other processes during the measurements; present only if these processes make it impossible to
    /// judge any result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<Busy>,
}

/// CPUs used by other processes during the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Busy {
    /// Average number of CPUs that other processes used.
    pub by_others: f64,
    /// Total number of CPUs.
    pub cpus: u32,
}

/// A fact with its value on this machine and in the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FactOff {
    /// The kind of fact.
    pub kind: FactKind,
    /// The fact's stable code.
    pub code: String,
    /// The fact in words.
    pub what: Text,
    /// The machine's value now; `None` if it is unknown, `none` if the machine has no such limit.
    pub here: Option<String>,
    /// The baseline's value; `None` if it is unknown, `none` if the machine had no such limit.
    pub baseline: Option<String>,
    /// Whether this difference is a consequence of another fact that also differs.
    pub follows: bool,
}

/// A result, compared with that of the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// The result in words.
    pub what: Text,
    /// The metric.
    pub metric: Metric,
    /// The unit of the values.
    pub unit: String,
    /// The value measured now.
    pub here: f64,
    /// The baseline's value.
    pub baseline: f64,
    /// This machine's speed relative to the baseline: 0.8 is 20 % slower.
    pub speed: f64,
    /// The 95 % CI of `speed`, from the intervals of both values.
    pub interval: Option<(f64, f64)>,
    /// The loss of speed, as a share, beyond which the result counts as slower.
    pub bound: f64,
    /// Whether the result is slower, that is, the entire interval is beyond the bound.
    pub slow: bool,
    /// Why the result is unreliable.
    #[serde(flatten)]
    pub doubt: Option<Doubt>,
}

impl Figure {
    /// Whether the result is certainly slower, or certainly not slower. A result is undecided if it is in doubt, if it has no interval,
    /// or if its interval contains the bound.
    pub fn is_decided(&self) -> bool {
        let as_before = self.interval.is_some_and(|(low, _)| low >= 1.0 - self.bound);
        self.slow || self.doubt.is_none() && as_before
    }
}
