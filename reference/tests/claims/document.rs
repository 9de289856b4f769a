//! The rules that judge the documents' claims by the machines' results.
//!
//! A new claim is a table in `claims/DOCUMENT.toml`; a new document its line in `DOCUMENTS`.

use std::fmt;

use serde::Deserialize;

use crate::expression::{Atom, Condition, NotUnderstood};

/// The documents, as they ship.
const DOCUMENTS: &[&str] = &[
    include_str!("../../claims/cyclictest-on-four-cloud-servers.toml"),
    include_str!("../../claims/intel-hygon-kunpeng-phytium-compared.toml"),
    include_str!("../../claims/kernel-user-vm-prime-report.toml"),
    include_str!("../../claims/reducing-measurement-noise.toml"),
    include_str!("../../claims/the-bigger-machine-was-slower.toml"),
];

/// A claim of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its name, as `A13`.
    pub id: String,
    /// The document.
    pub document: String,
    /// The machines it is about.
    pub machines: Vec<String>,
    /// The claim, in one sentence.
    pub says: String,
    /// The conditions for it to hold.
    pub holds_if: Vec<Condition>,
    /// Whether each condition is a part of the claim that may hold independently.
    pub parts: bool,
    /// What the verdict leaves open.
    pub note: Option<String>,
    /// Results needed for a verdict.
    pub needs: Vec<Atom>,
    /// What would measure them.
    pub measured_by: Option<String>,
}

/// Why a shipped document cannot be read; a test makes sure that this does not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The file is invalid.
    #[error("{0}")]
    File(String),
    /// A claim's rule.
    #[error("{id}: {why}")]
    Rule {
        /// The claim.
        id: String,
        /// Why.
        why: NotUnderstood,
    },
    /// A claim that nothing can decide.
    #[error("{0}: neither holds_if nor needs")]
    NoRule(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    document: String,
    claim: Vec<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: String,
    machines: Vec<String>,
    says: String,
    #[serde(default)]
    holds_if: Vec<String>,
    #[serde(default)]
    parts: bool,
    note: Option<String>,
    #[serde(default)]
    needs: Vec<String>,
    measured_by: Option<String>,
}

/// Every claim, in the documents' order.
pub fn all() -> Result<Vec<Claim>, Unreadable> {
    let documents: Result<Vec<Vec<Claim>>, Unreadable> = DOCUMENTS.iter().map(|text| read(text)).collect();
    Ok(documents?.concat())
}

/// The claims of one document.
pub fn read(text: &str) -> Result<Vec<Claim>, Unreadable> {
    let document: Document = toml::from_str(text).map_err(|error| Unreadable::File(error.to_string()))?;
    document.claim.into_iter().map(|written| written.read(&document.document)).collect()
}

impl Written {
    fn read(self, document: &str) -> Result<Claim, Unreadable> {
        let rule = |why| Unreadable::Rule { id: self.id.clone(), why };
        let holds_if: Result<_, _> = self.holds_if.iter().map(|text| Condition::parse(text)).collect();
        let needs: Result<_, _> = self.needs.iter().map(|text| Atom::parse(text)).collect();
        let (holds_if, needs): (Vec<_>, Vec<_>) = (holds_if.map_err(rule)?, needs.map_err(rule)?);
        if holds_if.is_empty() && needs.is_empty() {
            return Err(Unreadable::NoRule(self.id));
        }
        Ok(Claim {
            document: document.to_owned(),
            holds_if,
            needs,
            id: self.id,
            machines: self.machines,
            says: self.says,
            parts: self.parts,
            note: self.note,
            measured_by: self.measured_by,
        })
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id, self.says)
    }
}
