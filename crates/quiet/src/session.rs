//! From the lock over the journal to the values, and all the way back.

use std::path::{Path, PathBuf};

use crate::apply::{self, Came, Fared};
use crate::change::Change;
use crate::files::Files;
use crate::form::Form;
use crate::guardian::{self, Guardian};
use crate::journal::{self, Journal, Kept, Plan};
use crate::knobs::NO_TURBO;
use crate::place::{self, Lock, Refused};
use crate::undertaking::Undertaking;

/// Who asks, and for what.
#[derive(Clone, Debug)]
pub struct Request {
    /// The folder of journal and lock.
    pub folder: PathBuf,
    /// This boot, from `/proc/sys/kernel/random/boot_id`.
    pub boot: String,
    /// The command line, for those who ask who it was: whole in the lock, which is its owner's alone, and in the journal, which
    /// all may read where it is root's, without the arguments of the command that it runs.
    pub command: String,
    /// When.
    pub date: String,
    /// Whether the values stay when this process ends.
    pub stays: bool,
}

/// What an earlier start left behind.
#[derive(Debug)]
pub enum Left {
    /// Nothing.
    Nothing,
    /// Values of another boot, gone by themselves.
    OtherBoot(Kept),
    /// Values that stand, because somebody asked for that.
    Standing(Kept),
    /// Values whose process died without putting them back.
    Orphaned(Kept),
}

/// Values that are changed, until they are put back.
#[derive(Debug)]
pub struct Session {
    journal: Journal,
    guardian: Option<Guardian>,
    folder: PathBuf,
    _lock: Lock,
}

/// Looks at what stands in the journal; takes no lock and changes nothing. In somebody else's folder nothing of this user's
/// stands.
pub fn left(folder: &Path, boot: &str) -> Result<Left, String> {
    if place::is_foreign(folder) {
        return Ok(Left::Nothing);
    }
    let kept = journal::read(folder).map_err(|error| error.to_string())?;
    Ok(kept.map_or(Left::Nothing, |kept| judged(kept, boot)))
}

/// What root's journal tells another user, or why it tells nothing; `None` for root, and where root has set nothing.
pub fn left_by_root(boot: &str) -> Option<Result<Left, String>> {
    Some(place::of_root()?.map(|kept| judged(kept, boot)))
}

fn judged(kept: Kept, boot: &str) -> Left {
    if kept.plan.boot != boot {
        Left::OtherBoot(kept)
    } else if kept.plan.stays && kept.steps.contains(&journal::Step::Applied) {
        Left::Standing(kept)
    } else {
        Left::Orphaned(kept)
    }
}

/// A command line up to the program that it runs: arguments may be nobody else's business.
fn for_everybody(command: &str) -> String {
    let Some((ours, theirs)) = command.split_once(" -- ") else { return command.to_owned() };
    match theirs.split_once(' ') {
        Some((program, _)) => format!("{ours} -- {program} …"),
        None => command.to_owned(),
    }
}

/// The changes, and with them what they would move.
fn watched(files: &dyn Files, mut changes: Vec<Change>) -> Vec<Change> {
    if changes.iter().any(Change::drags) && !changes.iter().any(|change| change.path == NO_TURBO) {
        changes.extend(Change::watch(files, "boost", NO_TURBO, Form::Word));
    }
    changes
}

/// Puts back what a journal tells, and removes it when nothing of ours stands any more. What became of each value.
pub fn restore(files: &dyn Files, folder: &Path) -> Result<Vec<(Change, Came)>, String> {
    let resumed = Journal::resume(folder).map_err(|error| error.to_string())?;
    let Some((mut journal, kept)) = resumed else { return Ok(Vec::new()) };
    // CPUs are given back before those of them that are offline come online again.
    let undone: Vec<(Change, Came)> = kept
        .undertakings()
        .map(|undertaking| {
            (undertaking.as_change(), undertaking.undo().map_or_else(Came::Refused, |()| Came::Back))
        })
        .collect();
    let came = apply::restore(files, &mut journal, &kept).map_err(|error| error.to_string())?;
    let came = came.into_iter().chain(undone.iter().map(|(_, came)| came.clone())).collect::<Vec<_>>();
    // What could not be written stays in the journal, for the next try.
    if !came.iter().any(|came| matches!(came, Came::Refused(_))) {
        journal.end().map_err(|error| error.to_string())?;
    }
    let changes = kept.plan.changes.into_iter().chain(undone.into_iter().map(|(change, _)| change));
    Ok(changes.zip(came).collect())
}

/// Forgets values of another boot.
pub fn forget(folder: &Path) -> Result<(), String> {
    let resumed = Journal::resume(folder).map_err(|error| error.to_string())?;
    resumed.map_or(Ok(()), |(journal, _)| journal.end().map_err(|error| error.to_string()))
}

/// What the second is told.
pub fn held_by(holder: &str) -> String {
    format!("the knobs are held by {holder}: wait for it, or end it")
}

/// Takes the lock.
pub fn lock(request: &Request) -> Result<Lock, String> {
    place::prepare(&request.folder)?;
    Lock::take(&request.folder, &request.command).map_err(|refused| match refused {
        Refused::Held(holder) => held_by(&holder),
        Refused::System(why) => why,
    })
}

impl Session {
    /// Writes the plan, posts the guardian, writes the values. What became of each.
    ///
    /// An error means that nothing was changed.
    pub fn start(
        files: &dyn Files,
        lock: Lock,
        request: &Request,
        changes: Vec<Change>,
        hold: impl FnOnce(),
    ) -> Result<(Self, Vec<Fared>), String> {
        let plan = Plan::new(
            request.boot.clone(),
            for_everybody(&request.command),
            request.date.clone(),
            request.stays,
            watched(files, changes),
        );
        let mut journal = Journal::begin(&request.folder, &plan).map_err(|error| error.to_string())?;
        let folder = request.folder.clone();
        let spare = journal.spare().map_err(|error| error.to_string())?;
        let keep = [lock.descriptor(), spare.descriptor()];
        let on_death = move || {
            let _ = spare.back_in_place();
            let _ = restore(files, &folder);
        };
        let guardian = guardian::post(&keep, on_death, hold);
        let fared = match apply::apply(files, &mut journal, &plan.changes) {
            Ok(fared) => fared,
            Err(error) => {
                // The journal cannot be written any more: everything back at once.
                let _ = restore(files, &request.folder);
                if let Some(guardian) = guardian {
                    guardian.dismiss();
                }
                return Err(error.to_string());
            }
        };
        Ok((Self { journal, guardian, folder: request.folder.clone(), _lock: lock }, fared))
    }

    /// Does something that is more than a value; it is undone with them. What should be known of it; after an error nothing of
    /// it stands.
    pub fn undertake(&mut self, undertaking: &Undertaking) -> Result<Vec<String>, String> {
        let undertaking = undertaking.prepared();
        self.journal
            .note(&journal::Step::Undertaking(undertaking.clone()))
            .map_err(|error| error.to_string())?;
        undertaking.begin().inspect_err(|_| {
            // What cannot be undone now stands in the journal.
            let _ = undertaking.undo();
        })
    }

    /// The guardian's process; `None` where none watches.
    pub fn guardian(&self) -> Option<i32> {
        self.guardian.as_ref().map(|guardian| guardian.pid)
    }

    /// Puts everything back. What became of each value.
    pub fn end(self, files: &dyn Files) -> Result<Vec<(Change, Came)>, String> {
        let came = self
            .journal
            .back_in_place()
            .map_err(|error| error.to_string())
            .and_then(|()| restore(files, &self.folder));
        if let Some(guardian) = self.guardian {
            guardian.dismiss();
        }
        came
    }

    /// Leaves the values as they are; what only a process can hold the guardian holds on.
    pub fn leave(self) {
        if let Some(guardian) = self.guardian {
            guardian.stay();
        }
    }
}

#[cfg(test)]
mod tests;
