//! One interval in the output of `live --json`.

use serde::Serialize;

use super::Interval;
use crate::Coverage;
use crate::JsonSchema;
use crate::bound::Bound;

/// An interval with its interpretation, as one line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Live")]
pub struct Said<'a> {
    /// The end of the interval, RFC 3339 in UTC.
    pub time: &'a str,
    /// The values.
    pub interval: &'a Interval,
    /// The limiting factor of the machine or the selected processes; null while unknown.
    pub bound: Option<&'a Bound>,
    /// Missing observations, with their reasons.
    pub coverage: &'a [Coverage],
}
