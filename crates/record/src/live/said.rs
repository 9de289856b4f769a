//! The output of `live --json` for an interval.

use schemars::JsonSchema;
use serde::Serialize;

use super::Interval;
use crate::Coverage;
use crate::bound::Bound;

/// An interval with its interpretation: a line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Live")]
pub struct Said<'a> {
    /// When it ended, RFC 3339 in UTC.
    pub time: &'a str,
    /// The values.
    pub interval: &'a Interval,
    /// What the machine, or the selected processes, was bound by; null while unknown.
    pub bound: Option<&'a Bound>,
    /// What could not be observed.
    pub coverage: &'a [Coverage],
}

impl Said<'_> {
    /// As a line of JSON.
    ///
    /// # Errors
    ///
    /// A value has no form in JSON.
    pub fn to_line(&self) -> std::io::Result<String> {
        crate::json::write_line(self)
    }

    /// Its JSON Schema.
    pub fn json_schema() -> serde_json::Value {
        crate::schema::read(crate::schema::LIVE)
    }
}
