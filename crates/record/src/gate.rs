//! A gate: a comparison checked against a bound on the loss, to test a change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::metrics::Metric;
use crate::text::Text;

/// The terms of a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Terms {
    /// The share of speed that may not be lost (0.05: 5 %). The loss is the one that `compare` prints: 1 minus the ratio of
    /// speeds, so that a time 1/0.95 as long has lost 5 %.
    pub bound: f64,
    /// The metrics to check, or measurements with all their metrics. Empty: every result with a better direction, except for the time used by
    /// other processes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    /// Whether a loss of at least the bound counts as a failure.
    pub slower: bool,
    /// Whether an inconclusive result fails.
    pub noisy: bool,
}

/// A comparison checked against its terms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// The terms.
    pub terms: Terms,
    /// Whether nothing failed.
    pub passed: bool,
    /// The outcome, one or two sentences.
    pub says: Text,
    /// Each result of each record except for the baseline, or the time of each command except for the first: failures first, then undecided
    /// ones, each with the greatest loss first.
    pub held: Vec<Held>,
}

/// One result of one record.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// The record, by its index in the comparison's subjects; of alternating commands the command's.
    pub subject: usize,
    /// The result, by its index in the comparison's rows; of alternating commands 0, their time.
    pub row: usize,
    /// The metric.
    pub metric: Metric,
    /// The result in words.
    pub what: Text,
    /// Its outcome.
    pub outcome: Outcome,
    /// Whether a result on which it is based is in doubt, so that its interval is too narrow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreliable: bool,
    /// The share of speed lost relative to the baseline, below 0 if it is faster; absent without a ratio.
    pub loss: Option<f64>,
    /// The 95 % interval of the loss; absent if a side has too few samples.
    pub interval: Option<(f64, f64)>,
}

/// The outcome of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The whole interval is a loss of the bound or more.
    Slower,
    /// The interval contains the bound, or there is none, or noise would hide a loss.
    Noisy,
    /// The whole interval is a lesser loss, or a gain.
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
    /// The bound, as precise as it was given: `5 %`.
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
