//! What could be measured, what could not, why, and what would make it possible.

use serde::{Deserialize, Serialize};

/// How well one thing was covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// In full.
    Measured,
    /// In part, or under conditions that weaken it.
    Degraded,
    /// Left out: not asked for, no time, no memory, interrupted.
    Skipped,
    /// Cannot be had on this machine as this user.
    Impossible,
}

impl State {
    /// The word for people and JSON.
    pub fn word(self) -> &'static str {
        match self {
            State::Measured => "measured",
            State::Degraded => "degraded",
            State::Skipped => "skipped",
            State::Impossible => "impossible",
        }
    }
}

/// The coverage of one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Coverage {
    /// The measurement (`latency`), or a part of it (`latency 2MiB`), or a part of the inventory
    /// (`memory devices`).
    pub what: String,
    /// How well.
    pub state: State,
    /// Why not in full; absent when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What would make it possible, as a person would do it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Coverage {
    /// Why a measurement is left out of a run for which others were named.
    pub const NOT_ASKED_FOR: &str = "not asked for";

    /// How the reason begins for which a figure of a record that was read is withheld.
    pub const CHANGED_OR_DAMAGED: &str = "withheld, since the record was changed or damaged";

    /// In full.
    pub fn measured(what: impl Into<String>) -> Self {
        Self { what: what.into(), state: State::Measured, reason: None, remedy: None }
    }

    /// In part.
    pub fn degraded(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { what: what.into(), state: State::Degraded, reason: Some(reason.into()), remedy: None }
    }

    /// Left out.
    pub fn skipped(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { what: what.into(), state: State::Skipped, reason: Some(reason.into()), remedy: None }
    }

    /// Not to be had here.
    pub fn impossible(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { what: what.into(), state: State::Impossible, reason: Some(reason.into()), remedy: None }
    }

    /// Adds what would make it possible.
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}
