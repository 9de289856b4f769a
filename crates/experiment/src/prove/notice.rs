//! What a proof tells while it goes on.

use record::units::figure;

/// How far a proof is, and how long it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// In words.
    pub says: String,
    /// Whether it is a warning, which is told to those too who want no progress.
    pub is_warning: bool,
}

impl Notice {
    /// What follows, and about how many seconds it takes.
    pub(super) fn follows(what: &str, seconds: f64) -> Self {
        Self { says: format!("{what}: about {}", figure(seconds, "s")), is_warning: false }
    }
}
