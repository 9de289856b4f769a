//! The loss breakdown (waterfall) of one resource: from the hardware's maximum down to the delivered result, one step per cause.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::JsonSchema;
use crate::evidence::CeilingSource;
use crate::metrics::Better;
use crate::text::Text;

/// The losses from the ceiling down to the delivered result. They add up exactly. If more is better, ceiling − `takes`
/// of every step − `unexplained` = delivered. If less is better (latencies), the steps are added instead of subtracted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Ladder")]
pub struct LossBreakdown {
    /// The resource, as in `diagnosis.resources[].name`.
    pub resource: String,
    /// Unit of the ceiling, the steps and the delivered result.
    pub unit: String,
    /// Whether higher or lower values are better.
    pub better: Better,
    /// The hardware maximum.
    pub ceiling: f64,
    /// The source of the ceiling.
    pub source: CeilingSource,
    /// The ceiling, in a few words: `6 channels at 2933 MT/s`.
    pub ceiling_is: Text,
    /// The losses in order, from the ceiling down.
    #[serde(rename = "rungs")]
    pub steps: Vec<LossStep>,
    /// The part of the loss without a known cause; negative if the losses to known causes exceed the total loss.
    pub unexplained: f64,
    /// The delivered result.
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
    /// The rule of the finding for this cause, if there is one.
    pub rule: Option<String>,
    /// The loss, in the breakdown's unit.
    pub takes: f64,
    /// 95 % CI of the loss, if known.
    pub interval: Option<(f64, f64)>,
    /// The value that remains after this step.
    pub leaves: f64,
    /// Whether the loss was measured here; otherwise it is modelled.
    pub measured: bool,
}
