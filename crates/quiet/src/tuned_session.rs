//! Sets knobs for the duration of a session, and restores them.

use std::fs::File;
use std::path::{Path, PathBuf};

use machine::Root;
use os::child::{Child, SpawnError, Spec};
use record::Text;

use crate::apply::RestoreOutcome;
use crate::audit::AuditRow;
use crate::change::Change;
use crate::compound_change::CompoundChange;
use crate::compound_change::shield::Shield;
use crate::error::Error;
use crate::event::{Event, Listener};
use crate::journal::JournalContents;
use crate::knob::ProcessSetting;
use crate::knob_outcome::{KnobOutcome, describe_knob, describe_unset, find_standing, group_values};
use crate::lock::Lock;
use crate::lock_holder::Holder;
use crate::process_settings::{apply_settings, dma_latency, process};
use crate::session::{self, Request, Session};
use crate::standing::{Leftover, Standing, find_leftover};
use crate::state_directory;
use crate::tuning_plan::{Planned, Purpose, TuningPlan, Wanted};

/// The process that sets the knobs, as described by the caller.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The user's state directory; `None` if neither XDG_STATE_HOME nor HOME is set.
    pub state: Option<PathBuf>,
    /// The command line as typed.
    pub command: String,
    /// The time, formatted as in a record.
    pub date: String,
    /// Receives notices.
    pub listener: Listener,
}

impl Caller {
    /// The directory of the journal and the lock.
    pub fn state_directory(&self) -> Result<PathBuf, Error> {
        state_directory::locate(self.state.as_deref()).ok_or(Error::NoStateDirectory)
    }

    fn request(&self, folder: &Path, stays: bool) -> Request {
        Request {
            folder: folder.to_owned(),
            boot: read_boot_id(),
            command: self.command.clone(),
            date: self.date.clone(),
            stays,
        }
    }

    fn tell(&self, event: Event) {
        (self.listener)(event);
    }

    /// Reports that the state directory belongs to another user and cannot be used for this user's settings.
    pub fn tell_where_foreign(&self, folder: &Path) {
        if state_directory::is_foreign(folder) {
            self.tell(Event::ForeignDirectory(folder.to_owned()));
        }
    }
}

/// The ID of this boot.
pub fn read_boot_id() -> String {
    Root::live().text("/proc/sys/kernel/random/boot_id").unwrap_or_else(|| "unknown".to_owned())
}

/// Knobs that remain set until [`TunedSession::end`] is called or this value is dropped.
#[derive(Debug)]
pub struct TunedSession {
    session: Option<Session>,
    /// The open `/dev/cpu_dma_latency`, whose limit applies until the file is closed.
    latency: Option<File>,
    outcomes: Vec<KnobOutcome>,
    /// Whether a compound change is in effect.
    compound_applied: bool,
    /// The settings for a command.
    pub settings: Vec<ProcessSetting>,
    /// The shield that the command will enter.
    shield: Option<Shield>,
    /// The notice that another session exists, during which this session changes nothing on the machine.
    pub beside: Option<String>,
    listener: Listener,
}

impl TunedSession {
    /// Sets the requested knobs, after restoring leftover settings of an earlier session.
    ///
    /// An error means that nothing is set.
    pub fn begin(caller: &Caller, wanted: Wanted) -> Result<Self, Error> {
        let Wanted { names, purpose, cpus, .. } = wanted;
        let root = Root::live();
        let named = !names.is_empty();
        let Planned { context, mut rows, mut plan } = wanted.plan(&root)?;
        let folder = caller.state_directory();
        let boot = read_boot_id();
        if let Ok(folder) = &folder
            && let Some(existing) = Standing::beside(folder, &boot, purpose)?
        {
            let open = existing.keep_to_the_commands(&mut plan, names, cpus, &context)?;
            let mut tuned = Self::with_settings(caller, &rows, &plan);
            tuned.outcomes.extend(describe_unset(&rows, &plan));
            if purpose == Purpose::Measuring {
                tuned.outcomes.extend(find_standing(existing.changes(), &root));
            }
            let held: Vec<&str> = plan.settings.iter().map(|(name, _)| *name).collect();
            let mut tuned = tuned.or_refuse(named)?;
            tuned.beside = Some(existing.describe_beside(&held, &open));
            return Ok(tuned);
        }
        let leftover = folder.as_ref().map_or(Ok(Leftover::Nothing), |folder| find_leftover(folder, &boot));
        let is_left = matches!(leftover?, Leftover::Orphaned(_) | Leftover::OtherBoot(_));
        let mut locked = None;
        if plan.leaves_traces() || is_left {
            let request = caller.request(&folder?, purpose == Purpose::Persistent);
            let lock = session::lock(&request)?;
            if clean_up(caller, &request.folder, &boot, &root)? {
                // The values inspected so far were those of the earlier session, not the machine's original values.
                Planned { rows, plan, .. } = wanted.plan(&root)?;
            }
            locked = Some((lock, request));
        }
        refuse_unset(&plan, named)?;
        let mut tuned = Self::with_settings(caller, &rows, &plan);
        if let Some((lock, request)) = locked.filter(|_| plan.leaves_traces()) {
            process::run_before_others(|| tuned.start(caller, &root, lock, &request, &rows, &plan))?;
        }
        tuned.outcomes.extend(describe_unset(&rows, &plan));
        tuned.or_refuse(named)
    }

    /// Applies machine-wide settings.
    fn start(
        &mut self,
        caller: &Caller,
        root: &Root,
        lock: Lock,
        request: &Request,
        rows: &[AuditRow],
        plan: &TuningPlan,
    ) -> Result<(), Error> {
        let (mut session, written) = Session::start(root, lock, request, plan.changes.clone())?;
        session.guardian().map_or_else(|| caller.tell(Event::NoGuardian), os::child::register_own);
        self.outcomes.extend(group_values(&plan.changes, &written));
        for (name, compound) in &plan.compound_changes {
            let (notes, why_not) = match session.apply_compound(compound) {
                Ok(notes) => (notes, None),
                Err(why) => (Vec::new(), Some(Text::from(why.to_string()))),
            };
            self.compound_applied |= why_not.is_none();
            if let (CompoundChange::Shield(shield), None) = (compound, &why_not) {
                self.shield = Some(shield.clone());
            }
            let note = (!notes.is_empty()).then(|| Text::sequence(notes));
            self.outcomes.push(KnobOutcome { note, ..describe_knob(rows, name, why_not) });
        }
        self.session = Some(session);
        Ok(())
    }

    /// Applies the settings that last as long as this process, and collects those for the command.
    fn with_settings(caller: &Caller, rows: &[AuditRow], plan: &TuningPlan) -> Self {
        let mut tuned = Self {
            session: None,
            latency: None,
            outcomes: Vec::new(),
            compound_applied: false,
            settings: Vec::new(),
            shield: None,
            beside: None,
            listener: caller.listener,
        };
        for (name, setting) in &plan.settings {
            let mut why_not = None;
            match setting {
                ProcessSetting::DmaLatency(us) => match dma_latency::hold(*us) {
                    Ok(latency) => tuned.latency = Some(latency),
                    Err(refusal) => why_not = Some(refusal.to_string().into()),
                },
                setting => tuned.settings.push(setting.clone()),
            }
            tuned.outcomes.push(describe_knob(rows, name, why_not));
        }
        tuned
    }

    /// Restores everything if a named knob could not be set.
    fn or_refuse(self, named: bool) -> Result<Self, Error> {
        let missing: Vec<(&'static str, Text)> = self
            .outcomes
            .iter()
            .filter_map(|outcome| Some((outcome.knob, outcome.why_not.clone()?)))
            .collect();
        if !named || missing.is_empty() {
            return Ok(self);
        }
        self.end();
        Err(Error::NotSet { knobs: missing, restored: true })
    }

    /// The outcome for each knob.
    pub fn outcomes(&self) -> &[KnobOutcome] {
        &self.outcomes
    }

    /// Starts a command up to its gate, with all its settings. Failed settings are listed in the outcomes.
    ///
    /// # Errors
    ///
    /// The command cannot be started.
    pub fn spawn(&mut self, spec: &Spec) -> Result<Child, SpawnError> {
        let child = if self.settings.contains(&ProcessSetting::FixedAddresses) {
            let (child, fixed) = process::with_fixed_addresses(|| Child::spawn(spec));
            if let Err(why) = fixed {
                self.refuse(ProcessSetting::FixedAddresses.knob(), why.to_string());
            }
            child?
        } else {
            Child::spawn(spec)?
        };
        if let Some(Err(why)) = self.shield.as_ref().map(|shield| shield.add_process(child.pid())) {
            self.refuse("shield", why.to_string());
        }
        for (setting, why) in apply_settings(child.pid(), &self.settings) {
            self.refuse(setting.knob(), why.to_string());
        }
        Ok(child)
    }

    /// Records that a setting could not be made for the command, and why.
    fn refuse(&mut self, knob: &str, why: String) {
        if let Some(outcome) = self.outcomes.iter_mut().find(|outcome| outcome.knob == knob) {
            outcome.why_not = Some(why.into());
        }
    }

    /// Adds a remark about a knob of this session.
    pub fn note(&mut self, knob: &str, note: Text) {
        let done = |outcome: &&mut KnobOutcome| outcome.knob == knob && outcome.is_done();
        if let Some(outcome) = self.outcomes.iter_mut().find(done) {
            outcome.note = Some(note);
        }
    }

    /// The knobs in the format of a record.
    pub fn knobs(&self) -> Vec<record::Knob> {
        let knob = |outcome: &KnobOutcome| record::Knob {
            name: outcome.knob.to_owned(),
            was: outcome.old.clone(),
            set_to: outcome.is_done().then(|| outcome.new.clone()),
            not_set: outcome.why_not.as_ref().map(Text::to_string),
        };
        self.outcomes.iter().filter(|outcome| !outcome.advice).map(knob).collect()
    }

    /// Leaves the values in effect. Returns whether any values remain set.
    pub fn leave(mut self) -> bool {
        let Some(session) = self.session.take() else { return false };
        let stands = self.compound_applied
            || self.outcomes.iter().any(|outcome| outcome.is_done() && outcome.values > 0);
        if stands {
            session.leave();
        } else {
            end_session(session, self.listener);
        }
        stands
    }

    /// Restores everything, and reports what could not be restored.
    pub fn end(self) {
        drop(self);
    }
}

impl Drop for TunedSession {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            end_session(session, self.listener);
        }
    }
}

fn end_session(session: Session, listener: Listener) {
    match process::run_before_others(|| session.end(&Root::live())) {
        Ok(restored) => tell_unrestored(&restored, listener),
        Err(why) => listener(Event::RestoreFailed(&why)),
    }
}

fn tell_unrestored(restored: &[(Change, RestoreOutcome)], listener: Listener) {
    for (change, outcome) in restored.iter().filter(|(_, outcome)| !outcome.is_back()) {
        listener(Event::NotRestored(change, outcome));
    }
}

/// Fails before anything is set if a named knob cannot be set.
fn refuse_unset(plan: &TuningPlan, named: bool) -> Result<(), Error> {
    if !named || plan.not_set.is_empty() {
        return Ok(());
    }
    Err(Error::NotSet { knobs: plan.not_set.clone(), restored: false })
}

/// Restores settings left behind by a dead process, and discards settings from another boot. Returns whether values may
/// have changed. Values that persist on request are not changed; they prevent a new session.
fn clean_up(caller: &Caller, folder: &Path, boot: &str, root: &Root) -> Result<bool, Error> {
    match find_leftover(folder, boot)? {
        Leftover::Nothing => Ok(false),
        Leftover::OtherBoot(contents) => {
            session::forget(folder)?;
            caller.tell(Event::OtherBoot(&contents));
            Ok(false)
        }
        Leftover::Standing(contents) => Err(Error::Standing(contents.to_string())),
        Leftover::Orphaned(contents) => {
            caller.tell(Event::Leftover(&contents));
            tell_unrestored(&session::restore(root, folder)?, caller.listener);
            // Values that cannot be restored remain in the journal, which must not be overwritten.
            match find_leftover(folder, boot)? {
                Leftover::Nothing => Ok(true),
                _ => Err(Error::LeftoverStays),
            }
        }
    }
}

/// The outcome of restoring on request.
#[derive(Debug)]
pub struct Restored {
    /// The outcome of each value.
    pub values: Vec<(Change, RestoreOutcome)>,
    /// Values from another boot, which are discarded.
    pub forgotten: Option<JournalContents>,
    /// Root's settings that are in effect at the same time.
    pub root: Option<Standing>,
}

/// Restores leftover settings of an earlier session.
pub fn restore_leftover(caller: &Caller) -> Result<Restored, Error> {
    let folder = caller.state_directory()?;
    if let Some(holder) = Holder::find_lasting(&folder) {
        return Err(holder
            .ancestor()
            .map_or(Error::Held(holder), |pid| Error::Nested { pid, option: "--restore" }));
    }
    let boot = read_boot_id();
    let leftover = find_leftover(&folder, &boot)?;
    caller.tell_where_foreign(&folder);
    let mut restored = Restored { values: Vec::new(), forgotten: None, root: Standing::of_root(&boot) };
    if matches!(leftover, Leftover::Nothing) {
        return Ok(restored);
    }
    state_directory::prepare(&folder)?;
    let _lock = Lock::take(&folder, "linespeed quiet --restore")?;
    if let Leftover::OtherBoot(contents) = leftover {
        session::forget(&folder)?;
        restored.forgotten = Some(contents);
    } else {
        restored.values = session::restore(&Root::live(), &folder)?;
    }
    Ok(restored)
}
