//! Knobs that are set already: by a process under which this one runs, or by an earlier `--apply`. There is one session at a
//! time, so this one sets nothing more on the machine, and gives its command what is the command's own.

use std::path::Path;

use record::CpuList;

use crate::change::Change;
use crate::error::Error;
use crate::knob::KnobContext;
use crate::lock_holder::Holder;
use crate::root_session::RootSession;
use crate::session::{self, Leftover};
use crate::tuning_plan::{Purpose, TuningPlan};
use crate::value_syntax::name_cpus;

/// A session that stands.
#[derive(Clone, Debug)]
pub struct ExistingSession {
    /// Whose it is, in words.
    owner: String,
    /// Whether that is a process under which this one runs; otherwise it is an earlier start, whose values stay.
    is_parents: bool,
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
            let left = session::find_leftover(folder, boot).ok();
            let changes = left.as_ref().and_then(Leftover::contents).map(|contents| &contents.header.changes);
            let owner = format!("process {pid}, under which this runs");
            return Ok(Some(Self { owner, is_parents: true, changes: changes.cloned().unwrap_or_default() }));
        }
        if purpose == Purpose::Persistent {
            return Ok(None);
        }
        Ok(match session::find_leftover(folder, boot)? {
            Leftover::Standing(contents) => {
                let owner =
                    format!("what stands since {} ({})", contents.header.date, contents.header.command);
                Some(Self { owner, is_parents: false, changes: contents.header.changes })
            }
            _ => None,
        })
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
        let more = cpus.filter(|_| self.is_parents).and_then(|wanted| not_quiet(wanted, context));
        let lack = if !names.is_empty() && !open.is_empty() {
            format!("does not set {}", open.join(", "))
        } else if let Some(cpus) = more {
            format!("does not keep {} quiet", name_cpus(&cpus))
        } else {
            return Ok(open);
        };
        let (owner, comma) = (&self.owner, if self.is_parents { "," } else { "" });
        let way_out = self.way_out();
        Err(Error::Existing(format!(
            "{owner}{comma} {lack}, and only one session can exist at a time; {way_out}"
        )))
    }

    /// What has to be done to set more.
    fn way_out(&self) -> &'static str {
        if self.is_parents {
            "ask for it there"
        } else {
            "put its values back first: linespeed quiet --restore"
        }
    }

    /// What is left to do beside it: nothing more is set but what is held meanwhile, and these knobs stay open.
    pub(crate) fn describe(&self, held: &[&str], open: &[&str]) -> String {
        let already = if self.is_parents { "already quiet by" } else { "already set is" };
        let mut words = format!("{already} {}: nothing more is set", self.owner);
        if !held.is_empty() {
            words.push_str(&format!(", but while this runs: {}", held.join(", ")));
        }
        match (open.join(", "), self.is_parents) {
            (open, _) if open.is_empty() => words,
            (open, true) => format!("{words}; as they were there stay: {open}"),
            (open, false) => format!("{words}; still open: {open} (to set them, too, {})", self.way_out()),
        }
    }
}

/// CPUs that this process was not given for itself: where it may run on all, none was.
fn not_quiet(wanted: &CpuList, context: &KnobContext) -> Option<CpuList> {
    let own = context.own.as_ref().map(|own| own.affinity.clone()).unwrap_or_default();
    let given = if context.online.is_subset(&own) { CpuList::new() } else { own };
    let more = wanted.difference(&given);
    (!more.is_empty()).then_some(more)
}

/// What an earlier session left, in one line; `None` where nothing is left. An error is what stands in the way of setting
/// anything, with the way out.
pub fn describe_leftover(folder: &Path, boot: &str) -> Result<Option<String>, Error> {
    let left = session::find_leftover(folder, boot)?;
    let Some(contents) = left.contents() else {
        return Ok(RootSession::find(boot).map(|root| root.to_string()));
    };
    Ok(Some(match Holder::find_lasting(folder) {
        Some(holder) => format!("Knobs are set now by {holder}; they are put back when that ends."),
        None => format!("{contents}; linespeed quiet --restore puts it back"),
    }))
}
