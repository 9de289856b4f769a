//! The documents' claims about the machines, and whether the machines' results support them.
//!
//! The verdicts ship as data (`claims/verdicts.json`): the tests apply the rules beside them in `claims/`, and compare the file.

use serde::{Deserialize, Serialize};

const VERDICTS: &str = include_str!("../claims/verdicts.json");

/// What the results show about a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A condition is not met.
    DoesNotHold,
    /// Of a claim in several parts some hold.
    InPart,
    /// The results are inconclusive.
    CannotTell,
    /// Every condition is met.
    Holds,
}

/// How the two sides of a condition relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relation {
    /// As near as the claim's digits allow.
    #[serde(rename = "=")]
    Equal,
    /// As near as the one tolerance of all claims allows.
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
    /// What is claimed.
    pub claimed: f64,
    /// What was found.
    pub found: f64,
    /// Whether the condition is met.
    pub met: bool,
    /// Found divided by claimed; absent if nothing is claimed to be there.
    pub ratio: Option<f64>,
    /// The required relation of what was found to what is claimed.
    pub relation: Relation,
    /// Unit of both.
    pub unit: String,
}

/// A result that a verdict relies on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Its name: machine, metric and labels.
    pub figure: String,
    /// The line of the machine's text with the value.
    pub line: Option<u64>,
    /// Its unit.
    pub unit: String,
    /// Its value.
    pub value: f64,
}

/// A claim of a document, with what the results show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgedClaim {
    /// Both sides of each condition that could be applied.
    pub compared: Vec<Gap>,
    /// The document.
    pub document: String,
    /// The results.
    pub evidence: Vec<Figure>,
    /// Its name, as `A13`.
    pub id: String,
    /// The machines it is about.
    pub machines: Vec<String>,
    /// What would measure the missing result.
    pub measured_by: Option<String>,
    /// Results needed for a verdict.
    pub needs: Vec<String>,
    /// What the verdict leaves open.
    pub note: Option<String>,
    /// The claim, in one sentence.
    pub says: String,
    /// The verdict.
    pub verdict: Verdict,
}

/// Every claim, in the documents' order. Fails only if the shipped data is damaged, which a test excludes.
pub fn all() -> serde_json::Result<Vec<JudgedClaim>> {
    serde_json::from_str(VERDICTS)
}

/// The claims about a machine, each with what the results show.
pub fn about(machine: &str) -> serde_json::Result<Vec<JudgedClaim>> {
    let mut claims = all()?;
    claims.retain(|claim| claim.machines.iter().any(|name| name == machine));
    Ok(claims)
}
