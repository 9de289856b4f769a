//! Events that a session reports when it begins and when it ends.

use std::path::PathBuf;

use crate::apply::RestoreOutcome;
use crate::change::Change;
use crate::error::Error;
use crate::journal::JournalContents;

/// An event that the caller should handle or report while knobs are set.
#[derive(Debug, thiserror::Error)]
pub enum Event<'a> {
    /// No guardian could be started. Therefore, nothing restores the settings if this process is killed.
    #[error(
        "no guardian could be started: if linespeed is killed, restore the knobs with linespeed quiet --restore"
    )]
    NoGuardian,
    /// The state directory belongs to another user.
    #[error("{} belongs to another user, so it cannot store this user's settings; check HOME or XDG_STATE_HOME", .0.display())]
    ForeignDirectory(PathBuf),
    /// Values from another boot are discarded.
    #[error("{}", .0.of_another_boot())]
    OtherBoot(&'a JournalContents),
    /// Leftover settings of an earlier session are being restored.
    #[error("restoring leftover settings: {0}")]
    Leftover(&'a JournalContents),
    /// A value could not be restored, or was not restored because another process has changed it.
    #[error("{}: {}", .0.path, not_restored(.0, .1))]
    NotRestored(&'a Change, &'a RestoreOutcome),
    /// Restoring was aborted by an error, so it is unknown which values were restored.
    #[error("knobs may still be set, because restoring them failed ({0}); run linespeed quiet --restore")]
    RestoreFailed(&'a Error),
}

fn not_restored(Change { old, .. }: &Change, outcome: &RestoreOutcome) -> String {
    match outcome {
        RestoreOutcome::Theirs(now) => {
            format!("another process has set it to {now}, so it was not restored to {old}")
        }
        RestoreOutcome::Refused(why) => {
            format!("cannot be restored to {old} ({why}); to try again, run linespeed quiet --restore")
        }
        RestoreOutcome::Back | RestoreOutcome::WasBack | RestoreOutcome::Gone => "restored".to_owned(),
    }
}

/// Receives a session's events.
pub type Listener = fn(Event);

impl Event<'_> {
    /// Whether some of this session's settings may still be in effect.
    pub fn leaves_something(&self) -> bool {
        match self {
            Event::RestoreFailed(_) => true,
            Event::NotRestored(_, outcome) => outcome.is_refused(),
            _ => false,
        }
    }
}
