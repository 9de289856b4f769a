//! Knobs that are set already: by a process under which this one runs, or by an earlier `--apply`. There is one session at a
//! time, so this one sets nothing more on the machine, and gives its command what is the command's own.

use std::fmt;
use std::path::Path;

use record::CpuList;

use crate::change::Change;
use crate::error::Error;
use crate::knob::KnobContext;
use crate::lock;
use crate::root_session::RootSession;
use crate::session::{self, Leftover};
use crate::tuning_plan::{Purpose, TuningPlan};
use crate::value_syntax::name_cpus;

/// A session that stands.
#[derive(Clone, Debug)]
pub struct ExistingSession {
    /// Whose it is, in words.
    who: String,
    /// What has to be done to set more.
    way_out: String,
    /// What it has set.
    pub changes: Vec<Change>,
    /// Whether this process runs under it.
    parent: bool,
}

impl ExistingSession {
    /// The session that stands here; `None` where there is none. One that belongs to somebody else is an error, and so is one
    /// that stays while this one is to stay, too.
    pub fn find(folder: &Path, boot: &str, purpose: Purpose) -> Result<Option<Self>, Error> {
        if let Some(holder) = lock::find_living_holder(folder) {
            let parent = lock::holder_pid(&holder).filter(|pid| lock::is_ancestor(*pid));
            let Some(pid) = parent else { return Err(Error::Held(holder)) };
            if purpose == Purpose::Persistent {
                return Err(Error::Nested { pid, option: "--apply" });
            }
            let contents = match session::find_leftover(folder, boot) {
                Ok(Leftover::Standing(contents) | Leftover::Orphaned(contents)) => contents.header.changes,
                _ => Vec::new(),
            };
            return Ok(Some(Self {
                who: format!("process {pid}, under which this runs,"),
                way_out: "ask for it there".to_owned(),
                changes: contents,
                parent: true,
            }));
        }
        if purpose == Purpose::Persistent {
            return Ok(None);
        }
        match session::find_leftover(folder, boot)? {
            Leftover::Standing(contents) => Ok(Some(Self {
                who: format!("what stands since {} ({})", contents.header.date, contents.header.command),
                way_out: "put that back first: linespeed quiet --restore".to_owned(),
                changes: contents.header.changes,
                parent: false,
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
        let lacks = |lacks: String| {
            Err(Error::Existing { who: self.who.clone(), lacks, way_out: self.way_out.clone() })
        };
        if !names.is_empty() && !open.is_empty() {
            return lacks(format!("does not set {}, and there is one session at a time", open.join(", ")));
        }
        if let (true, Some(wanted)) = (self.parent, cpus)
            && let Some(more) = not_quiet(wanted, context)
        {
            let more = name_cpus(&more);
            return lacks(format!("does not keep {more} quiet, and there is one session at a time"));
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
        let open = match (open.as_slice(), session.parent) {
            ([], _) => String::new(),
            (some, true) => format!("; as they were there stay: {}", some.join(", ")),
            (some, false) => {
                format!("; still open: {} (to set them, too, {})", some.join(", "), session.way_out)
            }
        };
        let who = session.who.trim_end_matches(',');
        let already = if session.parent { "already quiet by" } else { "already set is" };
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
    if let Some(holder) = lock::find_living_holder(folder) {
        return Ok(Some(format!("Knobs are set now by {holder}; they are put back when that ends.")));
    }
    Ok(Some(format!("{}; linespeed quiet --restore puts it back", contents.describe())))
}
