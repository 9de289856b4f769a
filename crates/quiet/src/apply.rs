//! Writes the planned values, and restores them.

use crate::change::Change;
use crate::files::{Files, Refusal};
use crate::journal::{Error, Journal, JournalContents, Step};

/// The outcome of writing a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The file has the planned value.
    Set,
    /// The kernel accepted the value but stored this one instead. The original value is restored immediately or, if
    /// that fails, at the end.
    NotKept(String),
    /// The write was refused.
    Refused(String),
    /// The file no longer exists, because its CPU or device was removed.
    Gone,
    /// Another process changed the value between planning and writing, so it is not written.
    Changed(String),
}

/// The outcome of restoring a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreOutcome {
    /// The original state is back.
    Back,
    /// The file already had the original value.
    WasBack,
    /// Another process has since changed the value to this one, so the value is not restored.
    Theirs(String),
    /// The value could not be written.
    Refused(String),
    /// The file no longer exists.
    Gone,
}

impl RestoreOutcome {
    /// Whether nothing is left to restore: the original value is in effect again, or the file no longer exists.
    pub fn is_back(&self) -> bool {
        matches!(self, RestoreOutcome::Back | RestoreOutcome::WasBack | RestoreOutcome::Gone)
    }

    /// Whether the value that linespeed set is still in effect.
    pub fn is_refused(&self) -> bool {
        matches!(self, RestoreOutcome::Refused(_))
    }
}

impl From<Refusal> for WriteOutcome {
    fn from(refusal: Refusal) -> Self {
        if refusal.is_missing() { WriteOutcome::Gone } else { WriteOutcome::Refused(refusal.why) }
    }
}

impl From<Refusal> for RestoreOutcome {
    fn from(refusal: Refusal) -> Self {
        if refusal.is_missing() { RestoreOutcome::Gone } else { RestoreOutcome::Refused(refusal.why) }
    }
}

type Result<T, E = Error> = std::result::Result<T, E>;

/// Writes all changes of a plan in order, and returns their outcomes in the same order.
pub fn apply(files: &dyn Files, journal: &mut Journal, changes: &[Change]) -> Result<Vec<WriteOutcome>> {
    let mut all = Vec::with_capacity(changes.len());
    for (at, change) in changes.iter().enumerate() {
        all.push(write_one(files, journal, at, change)?);
    }
    journal.note(&Step::Applied)?;
    Ok(all)
}

fn write_one(files: &dyn Files, journal: &mut Journal, at: usize, change: &Change) -> Result<WriteOutcome> {
    match change.read_current(files) {
        Err(refusal) => return Ok(refusal.into()),
        Ok(now) if change.syntax.are_equal(&now, &change.new) => {
            // Writing an earlier value also changed this one, so the original value must be restored.
            journal.note(&Step::Stands(at, now))?;
            return Ok(WriteOutcome::Set);
        }
        Ok(now) if !change.syntax.are_equal(&now, &change.old) && !change.is_watched() => {
            return Ok(WriteOutcome::Changed(now));
        }
        Ok(_) => {}
    }
    journal.note(&Step::Writing(at))?;
    if let Err(refusal) = files.write(&change.path, &change.new) {
        // A watched value may be writable again after everything else is restored, so no refusal is recorded for it.
        if !change.is_watched() {
            journal.note(&Step::Refused(at, refusal.why.to_string()))?;
        }
        return Ok(refusal.into());
    }
    let now = match change.read_current(files) {
        Ok(now) => now,
        Err(refusal) => return Ok(refusal.into()),
    };
    if change.syntax.are_equal(&now, &change.new) {
        journal.note(&Step::Stands(at, now))?;
        return Ok(WriteOutcome::Set);
    }
    if !change.syntax.are_equal(&now, &change.old) {
        // The kernel stored a value that was not requested, so the old value is written back. If this fails, no refusal
        // is recorded, so that the old value is restored at the end.
        let _ = files.write(&change.path, &change.old);
        if !change.read_current(files).is_ok_and(|now| change.syntax.are_equal(&now, &change.old)) {
            return Ok(WriteOutcome::NotKept(now));
        }
    }
    journal.note(&Step::Refused(at, stays_at(&now)))?;
    Ok(WriteOutcome::NotKept(now))
}

/// The message about a value that the kernel accepts but does not store.
fn stays_at(now: &str) -> String {
    format!("the value remains {now}")
}

/// Restores everything in a journal, in reverse order of writing, and returns the outcomes in the journal's order.
pub fn restore(files: &dyn Files, journal: &mut Journal, contents: &JournalContents) -> Vec<RestoreOutcome> {
    let changes = &contents.header.changes;
    let mut all = vec![RestoreOutcome::WasBack; changes.len()];
    let states = states(contents);
    for at in (0..changes.len()).rev() {
        all[at] = restore_change(files, journal, at, &changes[at], &states[at]).unwrap_or_else(Into::into);
    }
    // One value may change another (setting a governor resets no_turbo) or prevent another one from being written (a
    // clock above the nominal clock while boost is off). Therefore, values that still differ from the original ones are
    // written again.
    for at in (0..changes.len()).rev() {
        let change = &changes[at];
        let again = match all[at] {
            RestoreOutcome::Back | RestoreOutcome::Refused(_) => true,
            RestoreOutcome::WasBack => change.is_watched(),
            RestoreOutcome::Theirs(_) | RestoreOutcome::Gone => false,
        };
        let Ok(now) = change.read_current(files) else { continue };
        if again && !change.syntax.are_equal(&now, &change.old) {
            all[at] = write_old_value(files, journal, at, change).unwrap_or_else(Into::into);
            // Without the governor `userspace`, which someone replaced, the clock has no meaning.
            if change.path.ends_with("/scaling_setspeed") && matches!(all[at], RestoreOutcome::Refused(_)) {
                all[at] = RestoreOutcome::Theirs(now);
            }
        } else if again && all[at] != RestoreOutcome::WasBack {
            all[at] = RestoreOutcome::Back;
        }
    }
    all
}

/// The state of one value according to the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    /// Whether a write or a restore was begun but its completion is not recorded.
    incomplete: bool,
    /// The value after our write.
    stands: Option<String>,
    /// Whether a governor was written later, which may have changed this value.
    moved_by_governor: bool,
}

fn states(contents: &JournalContents) -> Vec<State> {
    let changes = &contents.header.changes;
    let watched: Vec<usize> = (0..changes.len()).filter(|at| changes[*at].is_watched()).collect();
    let mut states = vec![State::default(); changes.len()];
    for step in &contents.steps {
        let Some(at) = step.change_index() else { continue };
        if matches!(step, Step::Writing(_) | Step::PuttingBack(_)) && changes[at].moves_others() {
            for watched in &watched {
                states[*watched].moved_by_governor = true;
            }
        }
        let Some(state) = states.get_mut(at) else { continue };
        match step {
            Step::Writing(_) | Step::PuttingBack(_) => state.incomplete = true,
            Step::Stands(_, value) => {
                *state = State { incomplete: false, stands: Some(value.clone()), moved_by_governor: false };
            }
            Step::Refused(..) | Step::Back(_) => *state = State::default(),
            Step::Applied | Step::Compound(_) | Step::Finished => {}
        }
    }
    states
}

fn restore_change(
    files: &dyn Files,
    journal: &mut Journal,
    at: usize,
    change: &Change,
    state: &State,
) -> Result<RestoreOutcome, Refusal> {
    let now = change.read_current(files)?;
    if change.syntax.are_equal(&now, &change.old) {
        return Ok(RestoreOutcome::WasBack);
    }
    let ours = state.incomplete
        || state.moved_by_governor
        || state.stands.as_ref().is_some_and(|stands| change.syntax.are_equal(&now, stands))
        || (state.stands.is_some() && change.syntax.are_equal(&now, &change.new));
    if !ours {
        return Ok(RestoreOutcome::Theirs(now));
    }
    write_old_value(files, journal, at, change)
}

fn write_old_value(
    files: &dyn Files,
    journal: &mut Journal,
    at: usize,
    change: &Change,
) -> Result<RestoreOutcome, Refusal> {
    // A full disk must not prevent restoring. The step need not be recorded, because the journal's header contains the
    // original values.
    let _ = journal.note(&Step::PuttingBack(at));
    files.write(&change.path, &change.old)?;
    let now = change.read_current(files)?;
    if !change.syntax.are_equal(&now, &change.old) {
        return Ok(RestoreOutcome::Refused(stays_at(&now)));
    }
    let _ = journal.note(&Step::Back(at));
    Ok(RestoreOutcome::Back)
}

#[cfg(test)]
mod tests;
