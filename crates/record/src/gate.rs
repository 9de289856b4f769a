//! A gate is a pass/fail test of a change: it checks a comparison against a bound on the loss of speed.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::JsonSchema;
use crate::metrics::Metric;
use crate::text::Text;

/// The terms of a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Terms {
    /// The loss of speed at which the gate fails, as a share (0.05: 5 %). As in `compare`, the loss is 1 minus the
    /// ratio of speeds, so a time that is 1/0.95 times as long is a loss of 5 %.
    pub bound: f64,
    /// The metrics to check, or measurements with all their metrics. If empty, every result for which higher or lower is
    /// better is checked, except for the time used by other processes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    /// Whether a loss of at least the bound counts as a failure.
    pub slower: bool,
    /// Whether an inconclusive result counts as a failure.
    pub noisy: bool,
}

/// A comparison checked against the terms of the gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// The terms.
    pub terms: Terms,
    /// Whether the gate passed.
    pub passed: bool,
    /// The outcome, one or two sentences.
    pub says: Text,
    /// Each result of each record except the baseline, or the time of each command except the first: failures first, then undecided
    /// results, each group with the greatest loss first.
    pub held: Vec<Held>,
}

/// One checked result of one record.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// The record, by its index in the comparison's subjects; for alternating commands, the command's index.
    pub subject: usize,
    /// The result, by its index in the comparison's rows; 0 for the run time of alternating commands.
    pub row: usize,
    /// The metric.
    pub metric: Metric,
    /// The result in words.
    pub what: Text,
    /// The outcome for this result.
    pub outcome: Outcome,
    /// Whether an underlying result is unreliable, so that the interval is too narrow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreliable: bool,
    /// The share of speed lost relative to the baseline, negative for a gain; absent if there is no ratio.
    pub loss: Option<f64>,
    /// The 95 % CI of the loss; absent if either side has too few samples.
    pub interval: Option<(f64, f64)>,
}

/// The outcome of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The entire interval is at or above the bound.
    Slower,
    /// The interval contains the bound or is missing, or noise could hide a loss.
    Noisy,
    /// The entire interval is below the bound: a smaller loss, or a gain.
    Within,
}

impl Outcome {
    /// The displayed word.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Slower => "slower",
            Outcome::Noisy => "too noisy",
            Outcome::Within => "within",
        }
    }
}

impl Terms {
    /// The bound, with the precision with which it was specified: `5 %`.
    pub fn bound_in_percent(&self) -> String {
        format!("{} %", (self.bound * 1e6).round() / 1e4)
    }

    /// Whether a result with this outcome fails the gate.
    pub fn fails(&self, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Slower => self.slower,
            Outcome::Noisy => self.noisy,
            Outcome::Within => false,
        }
    }
}
