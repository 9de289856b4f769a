//! One interval in the output of `live --json`.

use schemars::JsonSchema;
use serde::Serialize;

use super::Interval;
use crate::Coverage;
use crate::bound::Bound;

/// An interval with its interpretation, as one line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Live")]
pub struct Said<'a> {
    /// When it ended, RFC 3339 in UTC.
    pub time: &'a str,
    /// The values.
    pub interval: &'a Interval,
    /// What limited the machine or the selected processes; null while unknown.
    pub bound: Option<&'a Bound>,
    /// What could not be observed.
    pub coverage: &'a [Coverage],
}
