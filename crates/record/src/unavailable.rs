//! A feature that is not available on this machine, with the reason and the remedy.

use crate::{Coverage, Text};

/// Why something is not available here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}{}", .remedy.as_ref().map(|remedy| format!(" ({remedy})")).unwrap_or_default())]
pub struct Unavailable {
    /// The reason, in one line.
    pub reason: Text,
    /// The remedy.
    pub remedy: Option<Text>,
}

impl Unavailable {
    /// A reason without a remedy.
    pub fn new(reason: impl Into<Text>) -> Self {
        Self { reason: reason.into(), remedy: None }
    }

    /// A reason with a remedy.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<Text>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// The coverage entry for `what`, which is impossible here.
    pub fn into_impossible(self, what: impl Into<String>) -> Coverage {
        Coverage { remedy: self.remedy, ..Coverage::impossible(what, self.reason) }
    }

    /// The coverage entry for `what`, which is partly missing.
    pub fn into_degraded(self, what: impl Into<String>) -> Coverage {
        Coverage { remedy: self.remedy, ..Coverage::degraded(what, self.reason) }
    }

    /// The coverage entry for `what`, which was skipped.
    pub fn into_skipped(self, what: impl Into<String>) -> Coverage {
        Coverage { remedy: self.remedy, ..Coverage::skipped(what, self.reason) }
    }
}

impl Text {
    /// Turns the text into a reason with a remedy.
    pub fn with_remedy(self, remedy: impl Into<Text>) -> Unavailable {
        Unavailable::new(self).with_remedy(remedy)
    }
}

impl<T: Into<Text>> From<T> for Unavailable {
    fn from(reason: T) -> Self {
        Self::new(reason)
    }
}
