//! Knobs set for a time.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ::quiet::apply::{RestoreOutcome, WriteOutcome};
use ::quiet::audit::{AuditRow, audit};
use ::quiet::change::Change;
use ::quiet::compound_change::CompoundChange;
use ::quiet::compound_change::shield::Shield;
use ::quiet::files::Tree;
use ::quiet::knob::ProcessSetting;
use ::quiet::lock::Lock;
use ::quiet::process_settings::dma_latency::DmaLatency;
use ::quiet::process_settings::process;
use ::quiet::session::{self, Leftover, Request, Session};
use ::quiet::tuning_plan::{Purpose, TuningPlan};
use machine::Root;

use super::existing_session::ExistingSession;
use crate::date;
use crate::failure::Failure;
use crate::options::Options;
use crate::output;

/// What became of one knob.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Its name.
    pub knob: &'static str,
    /// What it was.
    pub old: String,
    /// What it is.
    pub new: String,
    /// How many values were set to that; 0 for what a process holds.
    pub values: usize,
    /// Why it is not so; `None` where it is.
    pub why_not: Option<String>,
    /// Whether it is somebody else's to set: at boot, or by hand.
    pub advice: bool,
    /// What should be known of it though it is done.
    pub note: Option<String>,
}

impl Outcome {
    /// Whether it is as was asked for.
    pub fn is_done(&self) -> bool {
        self.why_not.is_none()
    }

    /// Whether it was to be set and is not.
    pub fn is_missing(&self) -> bool {
        self.why_not.is_some() && !self.advice
    }
}

/// knobs that are set, until [`TunedSession::end`] or a drop puts them back.
#[derive(Debug)]
pub struct TunedSession {
    session: Option<Session>,
    latency: Option<DmaLatency>,
    outcomes: Vec<Outcome>,
    /// Whether something that is more than a value stands.
    compound_applied: bool,
    /// What a command is to be given.
    pub settings: Vec<ProcessSetting>,
    /// The shield that the command is to enter.
    pub shield: Option<Shield>,
}

/// Takes the lock, or says who has it.
pub fn take_lock(folder: &Path, command: &str) -> Result<Lock, Failure> {
    session::lock(&request(folder, command.to_owned(), false)).map_err(Failure::Cannot)
}

fn request(folder: &Path, command: String, stays: bool) -> Request {
    Request { folder: folder.to_owned(), boot: super::boot(), command, date: date::now(), stays }
}

/// The command line as it was typed.
fn command_line() -> String {
    let words = std::env::args_os().map(|word| report::terminal::quoted(&word.to_string_lossy()));
    words.collect::<Vec<_>>().join(" ")
}

impl TunedSession {
    /// Turns the knobs with these names, or all that nobody disputes. What an earlier start left behind is put back first.
    ///
    /// An error means that nothing is set.
    pub fn begin(options: &Options, names: &[&'static str], purpose: Purpose) -> Result<Self, Failure> {
        let root = Root::live();
        let tree = Tree::new(&root);
        let mut context = super::context(options, &root, &tree, purpose)?;
        context.stays = purpose == Purpose::Persistent;
        let named = !names.is_empty();
        let inspection = |context: &_| {
            let rows = audit(context, names);
            let plan = TuningPlan::from_audit(&rows, named, purpose, &tree);
            (rows, plan)
        };
        let (mut rows, mut plan) = inspection(&context);
        let folder = super::folder();
        if let Ok(folder) = &folder
            && let Some(existing) = ExistingSession::here(folder, purpose)?
        {
            let set = existing.keep_to_the_commands(options, &mut plan, names, &context)?;
            let mut tuned = Self::without_session(&rows, &plan);
            if purpose == Purpose::Measuring {
                tuned.outcomes.extend(set_before(&existing.changes, &tree));
            }
            let held: Vec<&str> = plan.settings.iter().map(|(name, _)| *name).collect();
            return tuned.or_refuse(named).inspect(|_| existing.tell(options, &held, &set));
        }
        let left = folder
            .as_ref()
            .map_or(Ok(Leftover::Nothing), |folder| session::find_leftover(folder, &super::boot()));
        let left_behind =
            matches!(left.map_err(Failure::Cannot)?, Leftover::Orphaned(_) | Leftover::OtherBoot(_));
        if plan.leaves_traces() || left_behind {
            let folder = folder?;
            let request = request(&folder, command_line(), purpose == Purpose::Persistent);
            let lock = session::lock(&request).map_err(Failure::Cannot)?;
            if clean_up(&folder, &tree)? {
                // The values that were looked at were not the machine's own.
                context = super::context(options, &root, &tree, purpose)?;
                context.stays = purpose == Purpose::Persistent;
                (rows, plan) = inspection(&context);
            }
            refuse_what_is_missing(&plan, named)?;
            if !plan.leaves_traces() {
                return Self::without_session(&rows, &plan).or_refuse(named);
            }
            let tuned =
                process::run_before_others(|| Self::with_session(&tree, lock, &request, &rows, plan))?;
            return tuned.or_refuse(named);
        }
        refuse_what_is_missing(&plan, named)?;
        Self::without_session(&rows, &plan).or_refuse(named)
    }

    fn without_session(rows: &[AuditRow], plan: &TuningPlan) -> Self {
        let mut tuned = Self::with_holds(rows, plan);
        tuned.outcomes.extend(left(rows, plan));
        tuned
    }

    fn with_session(
        tree: &Tree,
        lock: Lock,
        request: &Request,
        rows: &[AuditRow],
        plan: TuningPlan,
    ) -> Result<Self, Failure> {
        let changes = plan.changes.clone();
        let (mut session, written) =
            Session::start(tree, lock, request, changes, || {}).map_err(Failure::Cannot)?;
        match session.guardian() {
            Some(pid) => os::child::is_ours(pid),
            None => output::complain(
                "no process could be posted that puts the knobs back if this one is killed: then linespeed quiet --restore",
            ),
        }
        let mut tuned = Self::with_holds(rows, &plan);
        tuned.outcomes.extend(of_values(&plan.changes, &written));
        for (name, compound) in &plan.compound_changes {
            let (notes, why_not) = match session.apply_compound(compound) {
                Ok(notes) => (notes, None),
                Err(why) => (Vec::new(), Some(why)),
            };
            tuned.compound_applied |= why_not.is_none();
            if let (CompoundChange::Shield(shield), None) = (compound, &why_not) {
                tuned.shield = Some(shield.clone());
            }
            let note = (!notes.is_empty()).then(|| notes.join("; "));
            tuned.outcomes.push(Outcome { note, ..looked(rows, name, why_not) });
        }
        tuned.outcomes.extend(left(rows, &plan));
        tuned.session = Some(session);
        Ok(tuned)
    }

    /// What this process holds, and what is for the command to have.
    fn with_holds(rows: &[AuditRow], plan: &TuningPlan) -> Self {
        let mut tuned = Self {
            session: None,
            latency: None,
            outcomes: Vec::new(),
            compound_applied: false,
            settings: Vec::new(),
            shield: None,
        };
        for (name, setting) in &plan.settings {
            let why_not = match setting {
                ProcessSetting::DmaLatency(us) => match DmaLatency::hold(*us) {
                    Ok(held) => {
                        tuned.latency = Some(held);
                        None
                    }
                    Err(refusal) => Some(refusal.to_string()),
                },
                setting => {
                    tuned.settings.push(setting.clone());
                    None
                }
            };
            tuned.outcomes.push(looked(rows, name, why_not));
        }
        tuned
    }

    /// Puts everything back where something that was named could not be set.
    fn or_refuse(self, named: bool) -> Result<Self, Failure> {
        let missing: Vec<String> = self.outcomes.iter().filter_map(told).collect();
        if !named || missing.is_empty() {
            return Ok(self);
        }
        self.end();
        Err(Failure::Cannot(format!("{}; everything is as it was", missing.join("; "))))
    }

    /// What became of each knob.
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// Notes what a command was refused.
    pub fn refuse(&mut self, setting: &ProcessSetting, why: String) {
        let name = name_of(setting);
        if let Some(outcome) = self.outcomes.iter_mut().find(|outcome| outcome.knob == name) {
            outcome.why_not = Some(why);
        }
    }

    /// Adds what should be known of a knob that is set.
    pub fn note(&mut self, knob: &str, note: String) {
        let done = |outcome: &&mut Outcome| outcome.knob == knob && outcome.is_done();
        if let Some(outcome) = self.outcomes.iter_mut().find(done) {
            outcome.note = Some(note);
        }
    }

    /// Notes that a command could not be put behind its shield.
    pub fn refuse_shield(&mut self, why: String) {
        if let Some(outcome) = self.outcomes.iter_mut().find(|outcome| outcome.knob == "shield") {
            outcome.why_not = Some(why);
        }
    }

    /// Leaves the values as they are. Whether any stands.
    pub fn leave(mut self) -> bool {
        let Some(session) = self.session.take() else { return false };
        let stands = self.compound_applied
            || self.outcomes.iter().any(|outcome| outcome.is_done() && outcome.values > 0);
        if stands {
            session.leave();
        } else {
            back(session);
        }
        stands
    }

    /// Puts everything back, and says what is not as it was.
    pub fn end(mut self) {
        if let Some(session) = self.session.take() {
            back(session);
        }
    }
}

/// `--quiet-machine`: the knobs set for linespeed's own measuring; `None` where that was not asked for.
pub fn for_measuring(options: &Options) -> Result<Option<TunedSession>, Failure> {
    if !options.measuring.quiet_machine {
        return Ok(None);
    }
    let tuned = TunedSession::begin(options, &[], Purpose::Measuring)?;
    super::tell(options, &tuned);
    Ok(Some(tuned))
}

/// What the record says of them.
pub fn knobs(tuned: Option<&TunedSession>) -> Vec<record::Knob> {
    let one = |outcome: &Outcome| record::Knob {
        name: outcome.knob.to_owned(),
        was: outcome.old.clone(),
        set_to: outcome.is_done().then(|| outcome.new.clone()),
        not_set: outcome.why_not.clone(),
    };
    let asked = |outcome: &&Outcome| !outcome.advice;
    tuned.iter().flat_map(|tuned| &tuned.outcomes).filter(asked).map(one).collect()
}

impl Drop for TunedSession {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            back(session);
        }
    }
}

/// A knob's name by what is held for it.
fn name_of(setting: &ProcessSetting) -> &'static str {
    match setting {
        ProcessSetting::DmaLatency(_) => "idle-states",
        ProcessSetting::Affinity(_) => "affinity",
        ProcessSetting::Nice(_) => "nice",
        ProcessSetting::Fifo(_) => "fifo",
        ProcessSetting::IoPriority(_) => "ionice",
        ProcessSetting::FixedAddresses => "aslr",
    }
}

/// What was named and cannot be set is refused before anything is.
fn refuse_what_is_missing(plan: &TuningPlan, named: bool) -> Result<(), Failure> {
    if !named || plan.not_set.is_empty() {
        return Ok(());
    }
    let missing: Vec<String> = plan.not_set.iter().map(|(name, why)| format!("{name}: {why}")).collect();
    Err(Failure::Cannot(missing.join("; ")))
}

fn told(outcome: &Outcome) -> Option<String> {
    outcome.why_not.as_ref().map(|why| format!("{}: {why}", outcome.knob))
}

fn looked(rows: &[AuditRow], name: &'static str, why_not: Option<String>) -> Outcome {
    let inspection = rows.iter().find(|row| row.knob.name() == name).map(|row| &row.inspection);
    Outcome {
        knob: name,
        old: inspection.map(|inspection| inspection.now.clone()).unwrap_or_default(),
        new: inspection.and_then(|inspection| inspection.steadier.clone()).unwrap_or_default(),
        values: 0,
        why_not,
        advice: false,
        note: None,
    }
}

fn left<'a>(rows: &'a [AuditRow], plan: &'a TuningPlan) -> impl Iterator<Item = Outcome> + 'a {
    let one = |advice| {
        move |(name, why): &(&'static str, String)| Outcome {
            advice,
            ..looked(rows, name, Some(why.clone()))
        }
    };
    plan.not_set.iter().map(one(false)).chain(plan.advice.iter().map(one(true)))
}

/// Values that stand since before, of those that an earlier session wrote.
fn set_before(changes: &[Change], tree: &Tree) -> Vec<Outcome> {
    let stands = |change: &&Change| {
        change.read_current(tree).is_ok_and(|now| change.syntax.are_equal(&now, &change.new))
    };
    let changes: Vec<Change> =
        changes.iter().filter(|change| !change.is_watched()).filter(stands).cloned().collect();
    of_values(&changes, &vec![WriteOutcome::Set; changes.len()])
}

/// Values by knob, and by what was and what is; those that did not take theirs by the reason.
fn of_values(changes: &[Change], written: &[WriteOutcome]) -> Vec<Outcome> {
    let mut all: Vec<(Outcome, &str)> = Vec::new();
    for (change, written) in changes.iter().zip(written) {
        let why_not = match written {
            WriteOutcome::Set => None,
            WriteOutcome::NotKept(now) => Some(format!("the kernel takes it and stays at {now}")),
            WriteOutcome::Refused(why) => Some(why.clone()),
            WriteOutcome::Gone => Some("the file has gone, with its CPU or device".to_owned()),
            WriteOutcome::Changed(now) => Some(format!("somebody has set it to {now} meanwhile")),
        };
        let Some(knob) = ::quiet::knobs::find(&change.knob).map(|knob| knob.name()) else { continue };
        let same = |(outcome, _): &&mut (Outcome, &str)| {
            outcome.knob == knob
                && outcome.why_not == why_not
                && (outcome.old == change.old && outcome.new == change.new || why_not.is_some())
        };
        if let Some((outcome, _)) = all.iter_mut().find(same) {
            outcome.values += 1;
        } else {
            let outcome = Outcome {
                knob,
                old: change.old.clone(),
                new: change.new.clone(),
                values: 1,
                why_not,
                advice: false,
                note: None,
            };
            all.push((outcome, &change.path));
        }
    }
    let named = |(mut outcome, first): (Outcome, &str)| {
        outcome.why_not = outcome.why_not.map(|why| match outcome.values {
            1 => format!("{first}: {why}"),
            many => format!("{many} values, the first {first}: {why}"),
        });
        outcome
    };
    all.into_iter().map(named).collect()
}

/// Puts back what a dead process left, forgets another boot's; whether values may have changed by that. What somebody wants to
/// stand is not touched: then nothing begins.
fn clean_up(folder: &Path, tree: &Tree) -> Result<bool, Failure> {
    match session::find_leftover(folder, &super::boot()).map_err(Failure::Cannot)? {
        Leftover::Nothing => Ok(false),
        Leftover::OtherBoot(contents) => {
            session::forget(folder).map_err(Failure::Cannot)?;
            output::complain(&super::text::gone(&contents));
            Ok(false)
        }
        Leftover::Standing(contents) => Err(Failure::Cannot(format!(
            "knobs stand already: {}; put them back first: linespeed quiet --restore",
            super::text::who(&contents)
        ))),
        Leftover::Orphaned(contents) => {
            output::complain(&format!("putting back what was left behind: {}", super::text::who(&contents)));
            say_what_is_not_back(&session::restore(tree, folder).map_err(Failure::Cannot)?);
            // What cannot be put back stays in the journal, which must not be written over.
            match session::find_leftover(folder, &super::boot()).map_err(Failure::Cannot)? {
                Leftover::Nothing => Ok(true),
                _ => Err(Failure::Cannot(
                    "what was left behind cannot be put back; linespeed quiet --status tells what it is"
                        .to_owned(),
                )),
            }
        }
    }
}

/// Whether something could not be put back in this run.
static NOT_BACK: AtomicBool = AtomicBool::new(false);

/// Whether something could not be put back in this run: then it was no success.
pub fn is_something_not_back() -> bool {
    NOT_BACK.load(Ordering::Relaxed)
}

fn back(session: Session) {
    let root = Root::live();
    match process::run_before_others(|| session.end(&Tree::new(&root))) {
        Ok(restored) => say_what_is_not_back(&restored),
        Err(why) => {
            NOT_BACK.store(true, Ordering::Relaxed);
            output::complain(&format!("the knobs may not be back: {why}; linespeed quiet --restore"));
        }
    }
}

fn say_what_is_not_back(restored: &[(Change, RestoreOutcome)]) {
    for (change, restored) in restored {
        match restored {
            RestoreOutcome::Theirs(now) => output::complain(&format!(
                "{}: somebody has set it to {now} meanwhile, so it was not put back to {}",
                change.path, change.old
            )),
            RestoreOutcome::Refused(why) => {
                NOT_BACK.store(true, Ordering::Relaxed);
                let way_out =
                    if why.contains("--restore") { "" } else { "; then: linespeed quiet --restore" };
                output::complain(&format!(
                    "{}: cannot be put back to {}: {why}{way_out}",
                    change.path, change.old
                ));
            }
            RestoreOutcome::Back | RestoreOutcome::WasBack | RestoreOutcome::Gone => {}
        }
    }
}

/// Whether nothing of ours stands there any more, and nothing of somebody else's.
pub fn is_back(restored: &RestoreOutcome) -> bool {
    !matches!(restored, RestoreOutcome::Theirs(_) | RestoreOutcome::Refused(_))
}
