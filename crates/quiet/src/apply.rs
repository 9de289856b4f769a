//! Writing the planned values, and putting them back.

use crate::change::Change;
use crate::files::Files;
use crate::journal::{Error, Journal, Kept, Step};

/// How one value fared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fared {
    /// It stands as planned.
    Set,
    /// The kernel took it and keeps another one, which is put back.
    NotKept(String),
    /// It was refused.
    Refused(String),
    /// The file has gone, with the CPU or device that it belonged to.
    Gone,
    /// Somebody changed it between the plan and the write: it is theirs.
    Changed(String),
}

/// How one value came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    /// It is as it was.
    Back,
    /// It was so already.
    WasBack,
    /// Somebody else has changed it since: left alone, with its value.
    Theirs(String),
    /// It could not be written.
    Refused(String),
    /// The file has gone.
    Gone,
}

/// Writes all changes of a plan in their order; what each led to, in the same order.
pub fn apply(files: &dyn Files, journal: &mut Journal, changes: &[Change]) -> Result<Vec<Fared>, Error> {
    let mut all = Vec::with_capacity(changes.len());
    for (at, change) in changes.iter().enumerate() {
        all.push(one(files, journal, at, change)?);
    }
    journal.note(&Step::Applied)?;
    Ok(all)
}

fn one(files: &dyn Files, journal: &mut Journal, at: usize, change: &Change) -> Result<Fared, Error> {
    match change.now(files) {
        Err(refusal) if refusal.is_missing() => return Ok(Fared::Gone),
        Err(refusal) => return Ok(Fared::Refused(refusal.why)),
        Ok(now) if change.form.same(&now, &change.new) => {
            // An earlier write brought it along: it is ours to put back.
            journal.note(&Step::Stands(at, now))?;
            return Ok(Fared::Set);
        }
        Ok(now) if !change.form.same(&now, &change.old) && !change.is_watched() => {
            return Ok(Fared::Changed(now));
        }
        Ok(_) => {}
    }
    journal.note(&Step::Writing(at))?;
    if let Err(refusal) = files.write(&change.path, &change.new) {
        journal.note(&Step::Refused(at, refusal.why.clone()))?;
        return Ok(if refusal.is_missing() { Fared::Gone } else { Fared::Refused(refusal.why) });
    }
    let now = match change.now(files) {
        Ok(now) => now,
        Err(refusal) if refusal.is_missing() => return Ok(Fared::Gone),
        Err(refusal) => return Ok(Fared::Refused(refusal.why)),
    };
    if change.form.same(&now, &change.new) {
        journal.note(&Step::Stands(at, now))?;
        return Ok(Fared::Set);
    }
    if !change.form.same(&now, &change.old) {
        // What nobody asked for must not stand. Where it stays all the same, it is still ours to put back.
        let _ = files.write(&change.path, &change.old);
        if !change.now(files).is_ok_and(|now| change.form.same(&now, &change.old)) {
            return Ok(Fared::NotKept(now));
        }
    }
    journal.note(&Step::Refused(at, format!("it stays at {now}")))?;
    Ok(Fared::NotKept(now))
}

/// Puts everything back that a journal tells, the last written first; what became of each, in the journal's order.
pub fn restore(files: &dyn Files, journal: &mut Journal, kept: &Kept) -> Result<Vec<Came>, Error> {
    let changes = &kept.plan.changes;
    let mut all = vec![Came::WasBack; changes.len()];
    let states = states(kept);
    for at in (0..changes.len()).rev() {
        all[at] = back(files, journal, at, &changes[at], &states[at])?;
    }
    // One value may move another (setting a governor resets no_turbo), or keep another from being written (a clock above
    // the nominal one while boost is off): what is not as it was is written again, or found to be back by now.
    for at in (0..changes.len()).rev() {
        let change = &changes[at];
        let again = match all[at] {
            Came::Back | Came::Refused(_) => true,
            Came::WasBack => change.is_watched(),
            Came::Theirs(_) | Came::Gone => false,
        };
        let Ok(now) = change.now(files) else { continue };
        if again && !change.form.same(&now, &change.old) {
            all[at] = put(files, journal, at, change)?;
        } else if again && all[at] != Came::WasBack {
            all[at] = Came::Back;
        }
    }
    Ok(all)
}

/// Where one value stands by the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    /// It was begun to be written, or put back, and nothing tells the end.
    in_the_middle: bool,
    /// What stood there after our write.
    stands: Option<String>,
    /// A governor was written after it, which may have moved it.
    dragged: bool,
}

fn states(kept: &Kept) -> Vec<State> {
    let changes = &kept.plan.changes;
    let watched: Vec<usize> = (0..changes.len()).filter(|at| changes[*at].is_watched()).collect();
    let mut states = vec![State::default(); changes.len()];
    for step in &kept.steps {
        let Some(at) = step.at() else { continue };
        if matches!(step, Step::Writing(_) | Step::PuttingBack(_)) && changes[at].drags() {
            for watched in &watched {
                states[*watched].dragged = true;
            }
        }
        let Some(state) = states.get_mut(at) else { continue };
        match step {
            Step::Writing(_) | Step::PuttingBack(_) => state.in_the_middle = true,
            Step::Stands(_, value) => {
                *state = State { in_the_middle: false, stands: Some(value.clone()), dragged: false };
            }
            Step::Refused(..) | Step::Back(_) => *state = State::default(),
            Step::Applied | Step::Undertaking(_) | Step::Over => {}
        }
    }
    states
}

fn back(
    files: &dyn Files,
    journal: &mut Journal,
    at: usize,
    change: &Change,
    state: &State,
) -> Result<Came, Error> {
    let now = match change.now(files) {
        Ok(now) => now,
        Err(refusal) if refusal.is_missing() => return Ok(Came::Gone),
        Err(refusal) => return Ok(Came::Refused(refusal.why)),
    };
    if change.form.same(&now, &change.old) {
        return Ok(Came::WasBack);
    }
    let ours = state.in_the_middle
        || state.dragged
        || state.stands.as_ref().is_some_and(|stands| change.form.same(&now, stands))
        || (state.stands.is_some() && change.form.same(&now, &change.new));
    if !ours {
        return Ok(Came::Theirs(now));
    }
    put(files, journal, at, change)
}

fn put(files: &dyn Files, journal: &mut Journal, at: usize, change: &Change) -> Result<Came, Error> {
    // A full disk must not keep anything from being put back: the plan says enough.
    let _ = journal.note(&Step::PuttingBack(at));
    if let Err(refusal) = files.write(&change.path, &change.old) {
        return Ok(if refusal.is_missing() { Came::Gone } else { Came::Refused(refusal.why) });
    }
    let came = match change.now(files) {
        Ok(now) if change.form.same(&now, &change.old) => Came::Back,
        Ok(now) => Came::Refused(format!("it stays at {now}")),
        Err(refusal) if refusal.is_missing() => Came::Gone,
        Err(refusal) => Came::Refused(refusal.why),
    };
    if came == Came::Back {
        let _ = journal.note(&Step::Back(at));
    }
    Ok(came)
}

#[cfg(test)]
mod tests;
