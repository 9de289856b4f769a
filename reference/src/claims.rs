//! The documents' claims about the machines, and whether the machines' results support them.
//!
//! The verdicts ship as data (`claims/verdicts.json`). The tests apply the rules, which are also stored in `claims/`, and compare the
//! outcome with `verdicts.json`.

use serde::{Deserialize, Serialize};

const VERDICTS: &str = include_str!("../claims/verdicts.json");

/// Whether the results support a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A condition is not met. For a claim with parts, none of the conditions that could be checked is met.
    DoesNotHold,
    /// Some parts of the claim hold, others do not.
    InPart,
    /// Results that a verdict requires are missing.
    CannotTell,
    /// Every condition is met.
    Holds,
}

/// The relation between the two sides of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relation {
    /// Equal within the rounding of the claimed value.
    #[serde(rename = "=")]
    Equal,
    /// Equal within the tolerance that is common to all claims.
    #[serde(rename = "~")]
    About,
    /// Less.
    #[serde(rename = "<")]
    Below,
    /// More.
    #[serde(rename = ">")]
    Above,
}

/// Both sides of a condition, in the unit of the claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// The claimed value.
    pub claimed: f64,
    /// The value found.
    pub found: f64,
    /// Whether the condition is met.
    pub met: bool,
    /// The value found divided by the claimed value; absent if the claimed value is 0.
    pub ratio: Option<f64>,
    /// The required relation of the value found to the claimed value.
    pub relation: Relation,
    /// Unit of both.
    pub unit: String,
}

/// A result on which a verdict is based.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Its name, which consists of machine, metric and labels.
    pub figure: String,
    /// The line of the machine's text with the value.
    pub line: Option<u64>,
    /// Its unit.
    pub unit: String,
    /// Its value.
    pub value: f64,
}

/// A claim of a document, with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgedClaim {
    /// Both sides of each condition that could be checked.
    pub compared: Vec<Gap>,
    /// The document.
    pub document: String,
    /// The results.
    pub evidence: Vec<Figure>,
    /// Its name, such as `A13`.
    pub id: String,
    /// The machines to which the claim applies.
    pub machines: Vec<String>,
    /// How to measure the missing results.
    pub measured_by: Option<String>,
    /// Results needed for a verdict.
    pub needs: Vec<String>,
    /// Questions that the verdict leaves open.
    pub note: Option<String>,
    /// The claim, in one sentence.
    pub says: String,
    /// The verdict.
    pub verdict: Verdict,
}

/// All claims, in the documents' order. Fails only if the shipped data is damaged, which a test rules out.
pub fn all() -> serde_json::Result<Vec<JudgedClaim>> {
    serde_json::from_str(VERDICTS)
}

/// The claims about a machine, each with its verdict.
pub fn about(machine: &str) -> serde_json::Result<Vec<JudgedClaim>> {
    let mut claims = all()?;
    claims.retain(|claim| claim.machines.iter().any(|name| name == machine));
    Ok(claims)
}
