//! The evidence for the conclusions of a diagnosis.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::text::Text;

/// The source of a ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CeilingSource {
    /// Computed from this machine's hardware: channels × MT/s × 8 B, or the advertised clock.
    Parts,
    /// Published results for the processor's family: the maximum over all models.
    Family,
    /// The best result ever measured on this machine.
    Measured,
}

/// One result behind a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The result as text, with its unit.
    pub says: Text,
    /// The result's place in the record: `conditions.before.thp`, `wakeup.latency cpu=0 setting=as-is`.
    pub from: String,
}
