//! Knobs that are set already: by a process under which this one runs, or by an earlier `--apply`. There is one session at a
//! time, so this one sets nothing more on the machine, and gives its command what is the command's own.

use std::fmt;
use std::path::Path;

use record::CpuList;

use crate::change::Change;
use crate::error::Error;
use crate::journal::JournalContents;
use crate::knob::KnobContext;
use crate::lock_holder::Holder;
use crate::root_session::RootSession;
use crate::session::{self, Leftover};
use crate::session_owner::{Lack, Owner};
use crate::tuning_plan::{Purpose, TuningPlan};

/// A session that stands.
#[derive(Clone, Debug)]
pub struct ExistingSession {
    owner: Owner,
    /// What it has set.
    pub changes: Vec<Change>,
}

impl ExistingSession {
    /// The session that stands here; `None` where there is none. One that belongs to somebody else is an error, and so is one
    /// that stays while this one is to stay, too.
    pub fn find(folder: &Path, boot: &str, purpose: Purpose) -> Result<Option<Self>, Error> {
        if let Some(holder) = Holder::find_lasting(folder) {
            let Some(pid) = holder.ancestor() else { return Err(Error::Held(holder)) };
            if purpose == Purpose::Persistent {
                return Err(Error::Nested { pid, option: "--apply" });
            }
            let contents = match session::find_leftover(folder, boot) {
                Ok(Leftover::Standing(contents) | Leftover::Orphaned(contents)) => contents.header.changes,
                _ => Vec::new(),
            };
            return Ok(Some(Self { owner: Owner::Parent(pid), changes: contents }));
        }
        if purpose == Purpose::Persistent {
            return Ok(None);
        }
        match session::find_leftover(folder, boot)? {
            Leftover::Standing(contents) => Ok(Some(Self {
                owner: Owner::Earlier { date: contents.header.date, command: contents.header.command },
                changes: contents.header.changes,
            })),
            _ => Ok(None),
        }
    }

    /// Takes from what is to be done all that is not the command's own: the knobs that this leaves open. What was named, or CPUs
    /// that are not quiet now, are refused.
    pub fn keep_to_the_commands(
        &self,
        plan: &mut TuningPlan,
        names: &[&'static str],
        cpus: Option<&CpuList>,
        context: &KnobContext,
    ) -> Result<Vec<&'static str>, Error> {
        let open = plan.keep_to_the_commands();
        let lacks = |lack| Err(Error::Existing { owner: self.owner.clone(), lack });
        if !names.is_empty() && !open.is_empty() {
            return lacks(Lack::Knobs(open));
        }
        if let (true, Some(wanted)) = (self.owner.is_parent(), cpus)
            && let Some(more) = not_quiet(wanted, context)
        {
            return lacks(Lack::Cpus(more));
        }
        Ok(open)
    }
}

/// CPUs that this process was not given for itself: where it may run on all, none was.
fn not_quiet(wanted: &CpuList, context: &KnobContext) -> Option<CpuList> {
    let own = context.own.as_ref().map(|own| own.affinity.clone()).unwrap_or_default();
    let given = if context.online.is_subset(&own) { CpuList::new() } else { own };
    let more = wanted.difference(&given);
    (!more.is_empty()).then_some(more)
}

/// What is left to do beside an existing session: its words say that nothing more is set but what is held meanwhile.
#[derive(Clone, Debug)]
pub struct Beside {
    /// The session.
    pub session: ExistingSession,
    /// Knobs that are held while this process runs.
    pub held: Vec<&'static str>,
    /// Knobs that stay open.
    pub open: Vec<&'static str>,
}

impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { session, held, open } = self;
        let open = match (open.as_slice(), session.owner.is_parent()) {
            ([], _) => String::new(),
            (some, true) => format!("; as they were there stay: {}", some.join(", ")),
            (some, false) => {
                format!("; still open: {} (to set them, too, {})", some.join(", "), session.owner.way_out())
            }
        };
        let who = &session.owner;
        let already = if who.is_parent() { "already quiet by" } else { "already set is" };
        let besides = match held.as_slice() {
            [] => String::new(),
            some => format!(", but while this runs: {}", some.join(", ")),
        };
        write!(f, "{already} {who}: nothing more is set{besides}{open}")
    }
}

/// What an earlier session left, in one line; `None` where nothing is left. An error is what stands in the way of setting
/// anything, with the way out.
pub fn describe_leftover(folder: &Path, boot: &str) -> Result<Option<String>, Error> {
    let contents = match session::find_leftover(folder, boot)? {
        Leftover::Standing(contents) | Leftover::Orphaned(contents) => contents,
        Leftover::Nothing | Leftover::OtherBoot(_) => {
            return Ok(RootSession::find(boot).map(|root| root.to_string()));
        }
    };
    if let Some(holder) = Holder::find_lasting(folder) {
        return Ok(Some(LeftBehind::Held(holder).to_string()));
    }
    Ok(Some(LeftBehind::Stands(contents).to_string()))
}

/// What an earlier session left.
enum LeftBehind {
    /// Its process still runs.
    Held(Holder),
    /// Its values stand.
    Stands(JournalContents),
}

impl fmt::Display for LeftBehind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftBehind::Held(holder) => {
                write!(f, "Knobs are set now by {holder}; they are put back when that ends.")
            }
            LeftBehind::Stands(contents) => {
                write!(f, "{contents}; linespeed quiet --restore puts it back")
            }
        }
    }
}
