//! What the documents claim of the machines, and what the machines' figures say of it.
//!
//! The verdicts ship as data (`claims/verdicts.json`): the rules beside them in `claims/` are applied by the tests, which hold the file equal.

use serde::{Deserialize, Serialize};

const VERDICTS: &str = include_str!("../claims/verdicts.json");

/// What the figures say of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A condition is not met.
    DoesNotHold,
    /// Of a claim in several parts some hold.
    InPart,
    /// The figures do not decide it.
    CannotTell,
    /// Every condition is met.
    Holds,
}

/// How the two sides of a condition stand to one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relation {
    /// As near as the claim's digits tell.
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
    /// What is found.
    pub found: f64,
    /// Whether the condition is met.
    pub met: bool,
    /// Found by claimed; absent where nothing is claimed to be there.
    pub ratio: Option<f64>,
    /// How what is found would have to stand to what is claimed.
    pub relation: Relation,
    /// Unit of both.
    pub unit: String,
}

/// A figure that a verdict rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Which: machine, metric and labels.
    pub figure: String,
    /// The line of the machine's text that it was read from.
    pub line: Option<u64>,
    /// Its unit.
    pub unit: String,
    /// Its value.
    pub value: f64,
}

/// A claim of a document with what the figures say of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgedClaim {
    /// Both sides of each condition that could be applied.
    pub compared: Vec<Gap>,
    /// The document.
    pub document: String,
    /// The figures.
    pub evidence: Vec<Figure>,
    /// Its name, as `A13`.
    pub id: String,
    /// The machines that it is about.
    pub machines: Vec<String>,
    /// What would measure what is missing.
    pub measured_by: Option<String>,
    /// Figures without which it cannot be told.
    pub needs: Vec<String>,
    /// What the verdict leaves open.
    pub note: Option<String>,
    /// What it says, in one sentence.
    pub says: String,
    /// What the figures say.
    pub verdict: Verdict,
}

/// Every claim, in the documents' order. An error only where what ships is damaged, which a test excludes.
pub fn all() -> serde_json::Result<Vec<JudgedClaim>> {
    serde_json::from_str(VERDICTS)
}

/// The claims about a machine, each with what the figures say of it.
pub fn about(machine: &str) -> serde_json::Result<Vec<JudgedClaim>> {
    let mut claims = all()?;
    claims.retain(|claim| claim.machines.iter().any(|name| name == machine));
    Ok(claims)
}
