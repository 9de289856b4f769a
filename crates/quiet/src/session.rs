//! A session takes the lock, writes the journal and the values, and reverts everything.

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

/// The request for a session, and its origin.
#[derive(Clone, Debug)]
pub struct Request {
    /// The directory of the journal and the lock.
    pub folder: PathBuf,
    /// This boot, from `/proc/sys/kernel/random/boot_id`.
    pub boot: String,
    /// The command line, which identifies the session. The lock file, which only its owner can read, contains the
    /// complete command line. The journal, which all users can read if it belongs to root, omits the arguments of the
    /// tuned command.
    pub command: String,
    /// The time.
    pub date: String,
    /// Whether the values persist after this process ends.
    pub stays: bool,
}

/// Values that have been changed and must be restored.
#[derive(Debug)]
pub struct Session {
    journal: Journal,
    guardian: Option<Guardian>,
    /// File descriptors reserved for restoring, so that restoring works even if the process has reached its limit on
    /// open files.
    spare: Vec<File>,
    folder: PathBuf,
    _lock: Lock,
}

/// A command line up to the program that it runs, because the program's arguments may be private.
fn for_everybody(command: &str) -> String {
    let Some((ours, theirs)) = command.split_once(" -- ") else { return command.to_owned() };
    match theirs.split_once(' ') {
        Some((program, _)) => format!("{ours} -- {program} …"),
        None => command.to_owned(),
    }
}

/// The changes, and any other values that the changes would affect.
pub(crate) fn add_watched(files: &dyn Files, mut changes: Vec<Change>) -> Vec<Change> {
    // The governor `userspace` forgets its clock when another one is set.
    let of_programs = changes.iter().filter(|change| change.moves_others() && change.old == "userspace");
    let clock = |change: &Change| change.path.replace("scaling_governor", "scaling_setspeed");
    let clocks = of_programs.filter_map(|c| Change::watch(files, &c.knob, &clock(c), ValueSyntax::Word));
    changes.extend(clocks.collect::<Vec<_>>());
    if changes.iter().any(Change::moves_others) && !changes.iter().any(|change| change.path == NO_TURBO) {
        changes.extend(Change::watch(files, "boost", NO_TURBO, ValueSyntax::Word));
    }
    changes
}

/// Values restored, each with the outcome.
pub type Restored = Vec<(Change, RestoreOutcome)>;

/// Restores the values in a journal, and removes the journal once all our values are reverted. Returns the outcome of
/// each value.
pub fn restore(files: &dyn Files, folder: &Path) -> Result<Restored, Error> {
    let resumed = Journal::resume(folder)?;
    let Some((journal, contents)) = resumed else { return Ok(Vec::new()) };
    put_back(files, journal, contents)
}

fn put_back(files: &dyn Files, mut journal: Journal, contents: JournalContents) -> Result<Restored, Error> {
    // Compound changes are undone first: reserved CPUs must be returned before offline CPUs are brought online again.
    let undo = |compound: &CompoundChange| {
        let refused = |error: CompoundError| RestoreOutcome::Refused(error.to_string());
        (compound.as_change(), compound.undo().map_or_else(refused, |()| RestoreOutcome::Back))
    };
    let undone: Restored = contents.compound_changes().map(undo).collect();
    let restored = apply::restore(files, &mut journal, &contents);
    let values = contents.header.changes.into_iter().zip(restored);
    let restored: Restored = values.chain(undone).collect();
    // Values that could not be written remain in the journal for the next attempt.
    if !restored.iter().any(|(_, restored)| restored.is_refused()) {
        journal.end()?;
    }
    Ok(restored)
}

/// Discards values from another boot.
pub fn forget(folder: &Path) -> Result<(), Error> {
    let resumed = Journal::resume(folder)?;
    Ok(resumed.map_or(Ok(()), |(journal, _)| journal.end())?)
}

/// Restores all values that were set by this process or by the process that started this guardian. If the journal on
/// disk was replaced with an untrusted file, the open file and the text in memory are used instead.
fn restore_own(files: &dyn Files, folder: &Path, journal: Journal) -> Result<Restored, Error> {
    let _ = journal.rewrite_if_missing();
    match restore(files, folder) {
        Err(Error::Journal(error)) => {
            let Some(contents) = journal.own_contents() else { return Err(error.into()) };
            put_back(files, journal, contents)
        }
        restored => restored,
    }
}

/// File descriptors needed for restoring: the journal, its directory, a kernel file and its directory.
const SPARE: usize = 4;

/// The guardian's name in the kernel.
const NAME: &CStr = c"linespeed-quiet";

/// Starts the process that restores everything after this one has ended for any reason, and reserves file descriptors
/// for restoring. There is no guardian if this process already has several threads, because a forked copy would lack
/// them, or if this process is the init of its namespace, because all processes of the namespace end with init.
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

/// Dismisses a guardian and waits until it has exited, so that the lock is free for the next session.
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
    /// Writes the plan, starts the guardian and writes the values. Returns the outcome of each value.
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
                // The journal can no longer be written: restore everything immediately.
                let _ = restore(files, &request.folder);
                dismiss(guardian);
                return Err(error.into());
            }
        };
        Ok((Self { journal, guardian, spare, folder: request.folder.clone(), _lock: lock }, written))
    }

    /// Applies a compound change, which is undone together with the values. Returns remarks; after an error, no part of
    /// the change remains.
    pub fn apply_compound(&mut self, compound: &CompoundChange) -> Result<Vec<Text>, Error> {
        let compound = compound.prepared();
        self.journal.note(&journal::Step::Compound(compound.clone()))?;
        Ok(compound.begin().inspect_err(|_| {
            // If the change cannot be undone now, the journal still contains it.
            let _ = compound.undo();
        })?)
    }

    /// The guardian's PID; `None` without a guardian.
    pub fn guardian(&self) -> Option<i32> {
        self.guardian.as_ref().map(|guardian| guardian.pid())
    }

    /// Restores everything; returns the outcome of each value.
    pub fn end(self, files: &dyn Files) -> Result<Restored, Error> {
        drop(self.spare);
        let restored = restore_own(files, &self.folder, self.journal);
        match self.guardian {
            // If restoring failed, the guardian makes another attempt.
            Some(guardian) if restored.is_err() => guardian.wait(),
            guardian => dismiss(guardian),
        }
        restored
    }

    /// Ends the session and leaves the values in effect.
    pub fn leave(self) {
        dismiss(self.guardian);
    }
}

#[cfg(test)]
mod tests;
