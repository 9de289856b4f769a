//! How thorough a run should be, as requested.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// How thorough a run should be, as requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::Display, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum RunMode {
    /// Runs for a few seconds; the results are less precise.
    Quick,
    /// The default.
    Normal,
    /// Runs for minutes.
    Full,
}
