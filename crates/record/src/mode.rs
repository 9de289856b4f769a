//! The requested thoroughness of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The requested thoroughness of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunMode {
    /// Seconds: rougher results.
    Quick,
    /// The default.
    Normal,
    /// Minutes.
    Full,
}
