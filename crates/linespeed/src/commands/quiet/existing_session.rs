//! Knobs that are set already: by a process under which this one runs, or by an earlier `--apply`. There is one session at a
//! time, so this one sets nothing more on the machine, and gives its command what is the command's own.

use std::path::Path;

use ::quiet::change::Change;
use ::quiet::knob::KnobContext;
use ::quiet::lock;
use ::quiet::session::{self, Leftover};
use ::quiet::tuning_plan::{Purpose, TuningPlan};
use ::quiet::value_syntax::name_cpus;
use record::CpuList;

use crate::failure::Failure;
use crate::options::Options;
use crate::output;

/// A session that stands.
#[derive(Debug)]
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
    pub fn here(folder: &Path, purpose: Purpose) -> Result<Option<Self>, Failure> {
        if let Some(holder) = lock::find_living_holder(folder) {
            let parent = lock::holder_pid(&holder).filter(|pid| lock::is_ancestor(*pid));
            let Some(pid) = parent else { return Err(Failure::Cannot(session::held_by(&holder))) };
            if purpose == Purpose::Persistent {
                return Err(Failure::Cannot(under(pid, "--apply")));
            }
            let contents = match session::find_leftover(folder, &super::boot()) {
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
        match session::find_leftover(folder, &super::boot()).map_err(Failure::Cannot)? {
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
        options: &Options,
        plan: &mut TuningPlan,
        names: &[&'static str],
        context: &KnobContext,
    ) -> Result<Vec<&'static str>, Failure> {
        let open = plan.keep_to_the_commands();
        let cannot = |what: String| Err(Failure::Cannot(format!("{} {what}; {}", self.who, self.way_out)));
        if !names.is_empty() && !open.is_empty() {
            return cannot(format!("does not set {}, and there is one session at a time", open.join(", ")));
        }
        if let (true, Some(wanted)) = (self.parent, &options.measuring.cpus)
            && let Some(more) = self.not_quiet(wanted, context)
        {
            return cannot(format!(
                "does not keep {} quiet, and there is one session at a time",
                name_cpus(&more)
            ));
        }
        Ok(open)
    }

    /// CPUs that this process was not given for itself: where it may run on all, none was.
    fn not_quiet(&self, wanted: &CpuList, context: &KnobContext) -> Option<CpuList> {
        let own = context.own.as_ref().map(|own| own.affinity.clone()).unwrap_or_default();
        let given = if context.online.is_subset(&own) { CpuList::new() } else { own };
        let more = wanted.difference(&given);
        (!more.is_empty()).then_some(more)
    }

    /// Says that nothing more is set but what is held while this runs, and what stays open.
    pub fn tell(&self, options: &Options, held: &[&'static str], open: &[&'static str]) {
        if options.out.quiet_output || options.out.json {
            return;
        }
        let open = match (open, self.parent) {
            ([], _) => String::new(),
            (some, true) => format!("; as they were there stay: {}", some.join(", ")),
            (some, false) => {
                format!("; still open: {} (to set them, too, {})", some.join(", "), self.way_out)
            }
        };
        let who = self.who.trim_end_matches(',');
        let already = if self.parent { "already quiet by" } else { "already set is" };
        let besides = match held {
            [] => String::new(),
            some => format!(", but while this runs: {}", some.join(", ")),
        };
        output::complain(&format!("{already} {who}: nothing more is set{besides}{open}"));
    }
}

/// What cannot be done under a session.
pub fn under(pid: u32, what: &str) -> String {
    format!(
        "this runs under process {pid}, which puts its knobs back when it ends: {what} has to wait until then"
    )
}
