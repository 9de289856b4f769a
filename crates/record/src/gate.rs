//! A gate: a comparison held against what may be lost, as a test of a change asks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metrics::Metric;
use crate::text::Text;

/// What a gate asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Terms {
    /// The share of speed that may not be lost (0.05: 5 %). A loss is what `compare` prints: 1 less the ratio of speeds, so that
    /// a time 1/0.95 as long has lost 5 %.
    pub bound: f64,
    /// The metrics that are held, or the measurements whose metrics all are; empty: every figure that has a better direction, but
    /// not the time that others took.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    /// Whether a loss of the bound fails.
    pub slower: bool,
    /// Whether a figure fails that is too noisy to tell.
    pub noisy: bool,
}

/// A comparison held against its terms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// What was asked for.
    pub terms: Terms,
    /// Whether nothing failed.
    pub passed: bool,
    /// What came of it, one or two sentences.
    pub says: Text,
    /// Each figure of each record but the baseline, or the time of each command but the first: what failed first, then what is undecided, each with the greatest loss first.
    pub held: Vec<Held>,
}

/// One figure of one record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// The record, by its index in the comparison's subjects; of commands in turn the command's.
    pub subject: usize,
    /// The figure, by its index in the comparison's rows; of commands in turn 0, their time.
    pub row: usize,
    /// The metric.
    pub metric: Metric,
    /// The figure in words.
    pub what: Text,
    /// What came of it.
    pub outcome: Outcome,
    /// Whether a figure behind it is in doubt, so that its interval is too narrow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreliable: bool,
    /// The share of speed lost against the baseline, below 0 where it is faster; absent where there is no ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// The 95 % interval of the loss; absent where a side has too few samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

/// What came of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The whole interval is a loss of the bound or more.
    Slower,
    /// The interval holds the bound, or there is none, or noise hides what it would show.
    Noisy,
    /// The whole interval is a lesser loss, or a gain.
    Within,
}

impl Outcome {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Slower => "slower",
            Outcome::Noisy => "too noisy",
            Outcome::Within => "within",
        }
    }
}

impl Terms {
    /// The bound, as exact as it was given: `5 %`.
    pub fn bound_in_percent(&self) -> String {
        format!("{} %", (self.bound * 1e6).round() / 1e4)
    }

    /// Whether a figure that came out so fails the gate.
    pub fn fails(&self, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Slower => self.slower,
            Outcome::Noisy => self.noisy,
            Outcome::Within => false,
        }
    }
}
