//! What the results of a diagnosis are based on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::Text;

/// The source of a ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CeilingSource {
    /// From this machine's hardware: channels × MT/s × 8 B, the advertised clock.
    Parts,
    /// From published results of the processor's family: the highest of its models.
    Family,
    /// The best ever measured on this machine.
    Measured,
}

/// One result behind a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The result with its unit, in words.
    pub says: Text,
    /// Its place in the record: `conditions.before.thp`, `wakeup.latency cpu=0 setting=as-is`.
    pub from: String,
}
