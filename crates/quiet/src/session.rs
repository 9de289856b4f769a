//! From the lock over the journal to the values, and all the way back.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use os::Guardian;
use os::guardian::{Lifeline, Message};
use record::Text;

use crate::apply::{self, RestoreOutcome, WriteOutcome};
use crate::change::Change;
use crate::compound_change::{CompoundChange, CompoundError};
use crate::error::Error;
use crate::files::Files;
use crate::journal::{self, Journal, JournalContents, JournalHeader};
use crate::knobs::NO_TURBO;
use crate::lock::Lock;
use crate::state_directory;
use crate::value_syntax::ValueSyntax;

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

/// Changed values, until they are restored.
#[derive(Debug)]
pub struct Session {
    journal: Journal,
    guardian: Option<Guardian>,
    /// What putting back opens, so that there is room for it however many files are open by then.
    spare: Vec<File>,
    folder: PathBuf,
    _lock: Lock,
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
fn add_watched(files: &dyn Files, mut changes: Vec<Change>) -> Vec<Change> {
    if changes.iter().any(Change::moves_others) && !changes.iter().any(|change| change.path == NO_TURBO) {
        changes.extend(Change::watch(files, "boost", NO_TURBO, ValueSyntax::Word));
    }
    changes
}

/// Restores the values in a journal, and removes it when none of ours remains set. Returns the outcome of each value.
pub fn restore(files: &dyn Files, folder: &Path) -> Result<Vec<(Change, RestoreOutcome)>, Error> {
    let resumed = Journal::resume(folder)?;
    let Some((journal, contents)) = resumed else { return Ok(Vec::new()) };
    put_back(files, journal, contents)
}

fn put_back(
    files: &dyn Files,
    mut journal: Journal,
    contents: JournalContents,
) -> Result<Vec<(Change, RestoreOutcome)>, Error> {
    // CPUs are given back before those of them that are offline come online again.
    let undo = |compound: &CompoundChange| {
        let refused = |error: CompoundError| RestoreOutcome::Refused(error.to_string());
        (compound.as_change(), compound.undo().map_or_else(refused, |()| RestoreOutcome::Back))
    };
    let undone: Vec<(Change, RestoreOutcome)> = contents.compound_changes().map(undo).collect();
    let restored = apply::restore(files, &mut journal, &contents)?;
    let values = contents.header.changes.into_iter().zip(restored);
    let restored: Vec<(Change, RestoreOutcome)> = values.chain(undone).collect();
    // What could not be written stays in the journal, for the next try.
    if !restored.iter().any(|(_, restored)| restored.is_refused()) {
        journal.end()?;
    }
    Ok(restored)
}

/// Forgets values of another boot.
pub fn forget(folder: &Path) -> Result<(), Error> {
    let resumed = Journal::resume(folder)?;
    Ok(resumed.map_or(Ok(()), |(journal, _)| journal.end())?)
}

/// Puts back what this process has set, or the one that posted this guardian, whatever became of the journal on disk
/// meanwhile: where something lies in its place that must not be believed, what is open and remembered tells.
fn restore_own(
    files: &dyn Files,
    folder: &Path,
    journal: Journal,
) -> Result<Vec<(Change, RestoreOutcome)>, Error> {
    let _ = journal.rewrite_if_missing();
    match restore(files, folder) {
        Err(Error::Journal(error)) => {
            let Some(contents) = journal.own_contents() else { return Err(error.into()) };
            put_back(files, journal, contents)
        }
        restored => restored,
    }
}

/// Descriptors that putting back has open at once: the journal, its folder, a file of the kernel's and what leads there.
const SPARE: usize = 4;

/// The guardian's name as the kernel has it.
const NAME: &CStr = c"linespeed-quiet";

/// The process that puts everything back when this one is gone, however that ended, and the descriptors that are kept free for
/// putting back. There is no guardian where this process has threads already, in whose middle a copy could not go on, or is the
/// init of its namespace, which nobody outlives.
fn guard(
    files: &dyn Files,
    lock: &Lock,
    journal: &Journal,
    folder: &Path,
) -> io::Result<(Option<Guardian>, Vec<File>)> {
    let duplicate = journal.duplicate()?;
    let spare = (0..SPARE).map(|_| journal.another_descriptor()).collect::<io::Result<_>>()?;
    if !Guardian::is_possible()? {
        return Ok((None, spare));
    }
    let keep = [lock.descriptor(), duplicate.descriptor()];
    let watch = |lifeline: &Lifeline| {
        if matches!(lifeline.hear(), Message::Gone) {
            let _ = restore_own(files, folder, duplicate);
        }
    };
    Ok((Some(Guardian::post(NAME, &keep, watch)?), spare))
}

/// Lets a guardian go, and waits for its end: whoever comes next finds the lock free.
fn dismiss(guardian: Option<Guardian>) {
    if let Some(guardian) = guardian {
        guardian.dismiss();
        guardian.wait();
    }
}

/// Takes the lock.
pub fn lock(request: &Request) -> Result<Lock, Error> {
    state_directory::prepare(&request.folder)?;
    Lock::take(&request.folder, &request.command)
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
    ) -> Result<(Self, Vec<WriteOutcome>), Error> {
        let plan = JournalHeader::new(
            request.boot.clone(),
            for_everybody(&request.command),
            request.date.clone(),
            request.stays,
            add_watched(files, changes),
        );
        let mut journal = Journal::begin(&request.folder, &plan)?;
        let (guardian, spare) = match guard(files, &lock, &journal, &request.folder) {
            Ok(guarded) => guarded,
            Err(error) => {
                let _ = journal.end();
                return Err(Error::Unguarded((&error).into()));
            }
        };
        let written = match apply::apply(files, &mut journal, &plan.changes) {
            Ok(written) => written,
            Err(error) => {
                // The journal cannot be written any more: everything back at once.
                let _ = restore(files, &request.folder);
                dismiss(guardian);
                return Err(error.into());
            }
        };
        Ok((Self { journal, guardian, spare, folder: request.folder.clone(), _lock: lock }, written))
    }

    /// Does something that is more than a value; it is undone with them. What should be known of it; after an error nothing of
    /// it stands.
    pub fn apply_compound(&mut self, compound: &CompoundChange) -> Result<Vec<Text>, Error> {
        let compound = compound.prepared();
        self.journal.note(&journal::Step::Compound(compound.clone()))?;
        Ok(compound.begin().inspect_err(|_| {
            // What cannot be undone now stands in the journal.
            let _ = compound.undo();
        })?)
    }

    /// The guardian's process; `None` where none watches.
    pub fn guardian(&self) -> Option<i32> {
        self.guardian.as_ref().map(|guardian| guardian.pid())
    }

    /// Puts everything back. What became of each value.
    pub fn end(self, files: &dyn Files) -> Result<Vec<(Change, RestoreOutcome)>, Error> {
        drop(self.spare);
        let restored = restore_own(files, &self.folder, self.journal);
        match self.guardian {
            // What this process cannot do, that one may, which finds nobody here any more.
            Some(guardian) if restored.is_err() => guardian.wait(),
            guardian => dismiss(guardian),
        }
        restored
    }

    /// Leaves the values as they are.
    pub fn leave(self) {
        dismiss(self.guardian);
    }
}

#[cfg(test)]
mod tests;
