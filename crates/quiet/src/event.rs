//! What a session tells while it begins and ends.

use std::fmt;
use std::path::PathBuf;

use crate::apply::RestoreOutcome;
use crate::change::Change;
use crate::error::Error;
use crate::journal::JournalContents;

/// Something that whoever sets knobs should hear of.
#[derive(Debug)]
pub enum Event<'a> {
    /// No process could be started that puts everything back should this one be killed.
    NoGuardian,
    /// The state directory is another user's.
    ForeignDirectory(PathBuf),
    /// Values of another boot are forgotten.
    OtherBoot(&'a JournalContents),
    /// What an earlier session left is being put back.
    Leftover(&'a JournalContents),
    /// A value is not as it was.
    NotRestored(&'a Change, &'a RestoreOutcome),
    /// Nothing is known of what was put back.
    RestoreFailed(&'a Error),
}

/// Hears of a session's events.
pub type Listener = fn(Event);

impl Event<'_> {
    /// Whether something of ours may still stand.
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
                "no process could be posted that puts the knobs back if this one is killed: then linespeed quiet --restore",
            ),
            Event::ForeignDirectory(folder) => write!(
                f,
                "{} is not this user's, so nothing that this user set is written down there; HOME or XDG_STATE_HOME names it",
                folder.display()
            ),
            Event::OtherBoot(contents) => contents.of_another_boot().fmt(f),
            Event::Leftover(contents) => {
                write!(f, "putting back what was left behind: {contents}")
            }
            Event::NotRestored(change, outcome) => {
                let (path, old) = (&change.path, &change.old);
                match outcome {
                    RestoreOutcome::Theirs(now) => write!(
                        f,
                        "{path}: somebody has set it to {now} meanwhile, so it was not put back to {old}"
                    ),
                    RestoreOutcome::Refused(why) => {
                        write!(
                            f,
                            "{path}: cannot be put back to {old}: {why}; then: linespeed quiet --restore"
                        )
                    }
                    RestoreOutcome::Back | RestoreOutcome::WasBack | RestoreOutcome::Gone => {
                        write!(f, "{path}: as it was")
                    }
                }
            }
            Event::RestoreFailed(error) => {
                write!(f, "the knobs may not be back: {error}; linespeed quiet --restore")
            }
        }
    }
}
