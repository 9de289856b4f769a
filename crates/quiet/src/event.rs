//! What a session reports while it begins and ends.

use std::fmt;
use std::path::PathBuf;

use crate::apply::RestoreOutcome;
use crate::change::Change;
use crate::error::Error;
use crate::journal::JournalContents;

/// An event that the caller should know about while knobs are set.
#[derive(Debug)]
pub enum Event<'a> {
    /// No process could be started that puts everything back should this one be killed.
    NoGuardian,
    /// The state directory is another user's.
    ForeignDirectory(PathBuf),
    /// Values of another boot are forgotten.
    OtherBoot(&'a JournalContents),
    /// What an earlier session left is being restored.
    Leftover(&'a JournalContents),
    /// A value has not been restored.
    NotRestored(&'a Change, &'a RestoreOutcome),
    /// It is unknown what was restored.
    RestoreFailed(&'a Error),
}

/// Receives a session's events.
pub type Listener = fn(Event);

impl Event<'_> {
    /// Whether something of ours may still apply.
    pub fn leaves_something(&self) -> bool {
        match self {
            Event::RestoreFailed(_) => true,
            Event::NotRestored(_, outcome) => outcome.is_refused(),
            _ => false,
        }
    }
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::NoGuardian => f.write_str(
                "no guardian could be started: if linespeed is killed, restore the knobs with linespeed quiet --restore",
            ),
            Event::ForeignDirectory(folder) => write!(
                f,
                "{} belongs to another user, so it cannot store this user's settings; check HOME or XDG_STATE_HOME",
                folder.display()
            ),
            Event::OtherBoot(contents) => contents.of_another_boot().fmt(f),
            Event::Leftover(contents) => {
                write!(f, "restoring leftover settings: {contents}")
            }
            Event::NotRestored(change, outcome) => {
                let (path, old) = (&change.path, &change.old);
                match outcome {
                    RestoreOutcome::Theirs(now) => write!(
                        f,
                        "{path}: another process set it to {now} meanwhile, so it was not restored to {old}"
                    ),
                    RestoreOutcome::Refused(why) => {
                        write!(
                            f,
                            "{path}: cannot be restored to {old}: {why}; try again: linespeed quiet --restore"
                        )
                    }
                    RestoreOutcome::Back | RestoreOutcome::WasBack | RestoreOutcome::Gone => {
                        write!(f, "{path}: restored")
                    }
                }
            }
            Event::RestoreFailed(error) => {
                write!(f, "the knobs may not be restored: {error}; run linespeed quiet --restore")
            }
        }
    }
}
