//! Settings that linespeed has already made on this machine, and their owner. They are either this user's settings,
//! from the journal and the lock, or root's settings, because every user may read root's journal. Only one session
//! exists at a time, so the existing settings determine what another session may do.

use std::fmt;
use std::path::Path;

use record::CpuList;
use serde_json::{Value, json};

use crate::change::Change;
use crate::error::Error;
use crate::files::Files;
use crate::journal::{self, JournalContents};
use crate::knob::KnobContext;
use crate::lock_holder::Holder;
use crate::state_directory;
use crate::tuning_plan::{Purpose, TuningPlan};
use crate::value_syntax::name_cpus;

/// The settings that a journal lists, by their state.
#[derive(Debug)]
pub enum Leftover {
    /// Nothing.
    Nothing,
    /// Values from another boot, which were reset by the reboot.
    OtherBoot(JournalContents),
    /// Values that persist on request.
    Standing(JournalContents),
    /// Values of a process that has not restored them because it is still running or was killed.
    Orphaned(JournalContents),
}

/// Examines the values in the journal without taking the lock or changing anything. A directory that belongs to another
/// user contains no values of this user.
pub fn find_leftover(folder: &Path, boot: &str) -> Result<Leftover, Error> {
    if state_directory::is_foreign(folder) {
        return Ok(Leftover::Nothing);
    }
    Ok(Leftover::of_journal(journal::read(folder)?, boot))
}

impl Leftover {
    fn of_journal(contents: Option<JournalContents>, boot: &str) -> Self {
        match contents {
            None => Leftover::Nothing,
            Some(contents) if contents.header.boot != boot => Leftover::OtherBoot(contents),
            Some(contents) if contents.header.stays && contents.steps.contains(&journal::Step::Applied) => {
                Leftover::Standing(contents)
            }
            Some(contents) => Leftover::Orphaned(contents),
        }
    }

    /// The journal, from any boot.
    fn journal(&self) -> Option<&JournalContents> {
        match self {
            Leftover::Nothing => None,
            Leftover::OtherBoot(contents) | Leftover::Standing(contents) | Leftover::Orphaned(contents) => {
                Some(contents)
            }
        }
    }
}

/// The settings in effect, and their owner.
#[derive(Debug)]
pub struct Standing {
    left: Result<Leftover, Error>,
    holder: Option<Holder>,
    is_roots: bool,
}

impl Standing {
    fn look(folder: &Path, boot: &str) -> Self {
        // If a guardian is restoring values, waits until it has finished and has removed the journal.
        let holder = Holder::find_lasting(folder);
        Self { left: find_leftover(folder, boot), holder, is_roots: false }
    }

    /// This user's settings in effect.
    pub fn find(folder: &Path, boot: &str) -> Result<Self, Error> {
        let found = Self::look(folder, boot);
        found.left.map(|left| Self { left: Ok(left), ..found })
    }

    /// Root's settings in effect, as seen by another user; `None` for root, or if no settings remain.
    pub fn of_root(boot: &str) -> Option<Self> {
        if os::is_root() {
            return None;
        }
        let read = |folder: &Path| journal::read_of_root(folder).transpose();
        let found =
            [state_directory::SYSTEM, state_directory::RUNTIME].map(Path::new).into_iter().find_map(read)?;
        let left = found.map(|contents| Leftover::of_journal(Some(contents), boot)).map_err(Error::from);
        // Other users cannot open root's lock.
        let holder = match &left {
            Ok(Leftover::OtherBoot(_)) => return None,
            Ok(Leftover::Orphaned(contents)) => Holder::of_session(&contents.header),
            _ => None,
        };
        Some(Self { left, holder, is_roots: true })
    }

    /// The values set in this boot.
    pub fn contents(&self) -> Option<&JournalContents> {
        match self.left.as_ref().ok()? {
            Leftover::OtherBoot(_) => None,
            left => left.journal(),
        }
    }

    /// The new values.
    pub fn changes(&self) -> &[Change] {
        self.contents().map_or(&[], |contents| &contents.header.changes)
    }

    /// Whether nothing is set and the lock is free.
    pub fn is_nothing(&self) -> bool {
        matches!(self.left, Ok(Leftover::Nothing)) && self.holder.is_none()
    }

    /// The settings as JSON.
    pub fn to_json(&self, files: &dyn Files) -> Value {
        let left = match &self.left {
            Ok(left) => left,
            Err(why) => return json!({"state": "unknown", "why": why.to_string()}),
        };
        let state = match (left, &self.holder) {
            (Leftover::Nothing, _) => "nothing",
            (Leftover::OtherBoot(_), _) => "another boot",
            (Leftover::Standing(_), _) => "stands",
            (Leftover::Orphaned(_), Some(_)) => "in use",
            (Leftover::Orphaned(_), None) => "left behind",
        };
        let value = |change: &Change| {
            let mut value = crate::json::change(change);
            value["now"] =
                change.read_current(files).map_or_else(|refusal| json!(refusal.to_string()), Value::from);
            value
        };
        let header = left.journal().map(|contents| &contents.header);
        json!({
            "state": state,
            "holder": self.holder.as_ref().map(Holder::to_string),
            "process": header.map(|header| header.pid),
            "command": header.map(|header| &header.command),
            "since": header.map(|header| &header.date),
            "values": header.map(|header| header.changes.iter().map(value).collect::<Vec<_>>()),
        })
    }
}

/// Describes who made the settings and when, and how to revert them.
impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roots = self.is_roots;
        match (&self.left, &self.holder) {
            (Err(why), _) => return write!(f, "It is unknown whether root has set knobs: {why}"),
            (Ok(Leftover::OtherBoot(contents)), None) => return f.write_str(&contents.of_another_boot()),
            (Ok(Leftover::Nothing), None) => return f.write_str("linespeed has set no knobs"),
            (_, Some(holder)) => {
                let whose = if roots { "Root's knobs" } else { "Knobs" };
                return write!(f, "{whose} are currently set by {holder} and will be restored when it exits");
            }
            (Ok(Leftover::Standing(contents)), None) if roots => write!(f, "Root has set knobs: {contents}")?,
            (Ok(Leftover::Standing(contents)), None) => contents.fmt(f)?,
            (Ok(Leftover::Orphaned(contents)), None) => {
                let whose = if roots { "Root has set knobs: " } else { "" };
                write!(f, "{whose}{contents}, and the process exited without restoring them")?;
            }
        }
        f.write_str(match roots {
            true => "; root can restore them with sudo linespeed quiet --restore",
            false => "; to restore them, run linespeed quiet --restore",
        })
    }
}

/// Describes, in one line, the leftover settings of an earlier session, started by this user or by root; `None` if
/// there are none. An error describes the obstacle to setting anything, with the remedy.
pub fn describe_leftover(folder: &Path, boot: &str) -> Result<Option<String>, Error> {
    let own = Standing::find(folder, boot)?;
    let standing = if own.contents().is_some() { Some(own) } else { Standing::of_root(boot) };
    Ok(standing.map(|standing| standing.to_string()))
}

/// Handles knobs that were set by a parent process or by an earlier `--apply`. In this case, a further session changes
/// nothing on the machine and applies only the settings of its command.
impl Standing {
    /// The settings of another session that remain in effect during a session with this purpose; `None` if there are none. It is an error
    /// if an unrelated process holds the lock, or if a parent process holds it and this session should persist.
    pub(crate) fn beside(folder: &Path, boot: &str, purpose: Purpose) -> Result<Option<Self>, Error> {
        let found = Self::look(folder, boot);
        if let Some(holder) = &found.holder {
            return match holder.ancestor() {
                None => Err(Error::Held(holder.clone())),
                Some(pid) if purpose == Purpose::Persistent => Err(Error::Nested { pid, option: "--apply" }),
                Some(_) => Ok(Some(found)),
            };
        }
        match found.left {
            Err(why) => Err(why),
            Ok(Leftover::Standing(_)) if purpose != Purpose::Persistent => Ok(Some(found)),
            Ok(_) => Ok(None),
        }
    }

    /// The parent process, if the settings belong to it.
    fn parent(&self) -> Option<u32> {
        self.holder.as_ref()?.ancestor()
    }

    fn owner(&self) -> String {
        match (self.parent(), self.contents()) {
            (None, Some(contents)) => {
                format!("the session active since {} ({})", contents.header.date, contents.header.command)
            }
            (pid, _) => format!("process {}, which runs this command", pid.unwrap_or_default()),
        }
    }

    /// Removes everything except the command's own settings from the plan, and returns the knobs that remain unset.
    /// Fails if the user named knobs, or if the requested CPUs are not quiet.
    pub(crate) fn keep_to_the_commands(
        &self,
        plan: &mut TuningPlan,
        names: &[&'static str],
        cpus: Option<&CpuList>,
        context: &KnobContext,
    ) -> Result<Vec<&'static str>, Error> {
        let open = plan.keep_to_the_commands();
        let is_parents = self.parent().is_some();
        let more = cpus.filter(|_| is_parents).and_then(|wanted| not_quiet(wanted, context));
        let lack = if !names.is_empty() && !open.is_empty() {
            format!("does not set {}", open.join(", "))
        } else if let Some(cpus) = more {
            format!("does not cover {}", name_cpus(&cpus))
        } else {
            return Ok(open);
        };
        let (owner, comma, way_out) = (self.owner(), if is_parents { "," } else { "" }, self.way_out());
        Err(Error::Existing(format!(
            "{owner}{comma} {lack}, and only one session can exist at a time; {way_out}"
        )))
    }

    /// What the user must do before more knobs can be set.
    fn way_out(&self) -> &'static str {
        match self.parent() {
            Some(_) => "request it there",
            None => "end that session first with linespeed quiet --restore",
        }
    }

    /// Describes this session, which runs during the other one: it only makes the process-lifetime settings in `held`,
    /// and the knobs in `open` remain unset.
    pub(crate) fn describe_beside(&self, held: &[&str], open: &[&str]) -> String {
        let is_parents = self.parent().is_some();
        let already = if is_parents { "already made quiet by" } else { "already set by" };
        let mut words = format!("{already} {}, so nothing else was set", self.owner());
        if !held.is_empty() {
            words.push_str(&format!(", except during this run: {}", held.join(", ")));
        }
        match (open.join(", "), is_parents) {
            (open, _) if open.is_empty() => words,
            (open, true) => format!("{words} (unchanged: {open})"),
            (open, false) => format!("{words}; to also set {open}, {}", self.way_out()),
        }
    }
}

/// The wanted CPUs that are not reserved for this process. If this process may run on all CPUs, no CPUs are reserved.
fn not_quiet(wanted: &CpuList, context: &KnobContext) -> Option<CpuList> {
    let own = context.own.as_ref().map(|own| own.affinity.clone()).unwrap_or_default();
    let given = if context.online.is_subset(&own) { CpuList::new() } else { own };
    let more = wanted.difference(&given);
    (!more.is_empty()).then_some(more)
}
