//! The loss breakdown (waterfall) of one resource: from the hardware's maximum down to what is delivered, one step per cause.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::evidence::CeilingSource;
use crate::metrics::Better;
use crate::text::Text;

/// From the ceiling down to what is delivered. It adds up: if more is better, ceiling − every step's `takes` −
/// `unexplained` = delivered; if less is better (latencies) they are added instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Ladder")]
pub struct LossBreakdown {
    /// The resource, as in `diagnosis.resources[].name`.
    pub resource: String,
    /// Unit of the ceiling, the steps and what is delivered.
    pub unit: String,
    /// Whether more or less of it is better.
    pub better: Better,
    /// The fastest that the hardware could go.
    pub ceiling: f64,
    /// Where the ceiling comes from.
    pub source: CeilingSource,
    /// The ceiling, in a few words: `6 channels at 2933 MT/s`.
    pub ceiling_is: Text,
    /// The losses in order, from the ceiling down.
    #[serde(rename = "rungs")]
    pub steps: Vec<LossStep>,
    /// The unexplained rest; negative if the causes add up to more than the whole loss.
    pub unexplained: f64,
    /// What is delivered.
    pub delivered: f64,
    /// The delivered result, in a few words: `triad on 64 threads`.
    pub delivered_is: Text,
}

/// One cause and its loss.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Rung")]
pub struct LossStep {
    /// The cause in a few words.
    pub cause: Text,
    /// The rule of its finding, if there is one.
    pub rule: Option<String>,
    /// The loss, in the breakdown's unit.
    pub takes: f64,
    /// 95 % interval of the loss, if known.
    pub interval: Option<(f64, f64)>,
    /// The remainder below it.
    pub leaves: f64,
    /// Measured here; otherwise modelled.
    pub measured: bool,
}
