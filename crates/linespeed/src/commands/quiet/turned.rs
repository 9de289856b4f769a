//! Knobs turned for a time: begun, told, ended.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ::quiet::apply::{Came, Fared};
use ::quiet::audit::{Row, audit};
use ::quiet::change::Change;
use ::quiet::files::Tree;
use ::quiet::holds::dma_latency::DmaLatency;
use ::quiet::holds::process;
use ::quiet::knob::Hold;
use ::quiet::place::Lock;
use ::quiet::session::{self, Left, Request, Session};
use ::quiet::turn::{Purpose, Turn};
use ::quiet::undertaking::Undertaking;
use ::quiet::undertaking::shield::Shield;
use machine::Root;

use super::over::Over;
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

/// Knobs that are turned, until [`Turned::end`] or a drop puts them back.
#[derive(Debug)]
pub struct Turned {
    session: Option<Session>,
    latency: Option<DmaLatency>,
    outcomes: Vec<Outcome>,
    /// Whether something that is more than a value stands.
    undertaken: bool,
    /// What a command is to be given.
    pub holds: Vec<Hold>,
    /// The shield that the command is to enter.
    pub shield: Option<Shield>,
}

/// Takes the lock, or says who has it.
pub fn lock(folder: &Path, command: &str) -> Result<Lock, Failure> {
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

impl Turned {
    /// Turns the knobs with these names, or all that nobody disputes. What an earlier start left behind is put back first.
    ///
    /// An error means that nothing is turned.
    pub fn begin(options: &Options, names: &[&'static str], purpose: Purpose) -> Result<Self, Failure> {
        let root = Root::live();
        let tree = Tree::new(&root);
        let mut scene = super::scene(options, &root, &tree, purpose)?;
        scene.stays = purpose == Purpose::ToStay;
        let named = !names.is_empty();
        let look = |scene: &_| {
            let rows = audit(scene, names);
            let turn = Turn::of(&rows, named, purpose, &tree);
            (rows, turn)
        };
        let (mut rows, mut turn) = look(&scene);
        let folder = super::folder();
        if let Ok(folder) = &folder
            && let Some(over) = Over::here(folder, purpose)?
        {
            let set = over.keep_to_the_commands(options, &mut turn, names, &scene)?;
            let mut turned = Self::without_session(&rows, &turn);
            if purpose == Purpose::ForMeasuring {
                turned.outcomes.extend(set_before(&over.changes, &tree));
            }
            let held: Vec<&str> = turn.holds.iter().map(|(name, _)| *name).collect();
            return turned.or_refuse(named).inspect(|_| over.tell(options, &held, &set));
        }
        let left = folder.as_ref().map_or(Ok(Left::Nothing), |folder| session::left(folder, &super::boot()));
        let left_behind = matches!(left.map_err(Failure::Cannot)?, Left::Orphaned(_) | Left::OtherBoot(_));
        if turn.leaves_traces() || left_behind {
            let folder = folder?;
            let request = request(&folder, command_line(), purpose == Purpose::ToStay);
            let lock = session::lock(&request).map_err(Failure::Cannot)?;
            if clean_up(&folder, &tree)? {
                // The values that were looked at were not the machine's own.
                scene = super::scene(options, &root, &tree, purpose)?;
                scene.stays = purpose == Purpose::ToStay;
                (rows, turn) = look(&scene);
            }
            refuse_what_is_missing(&turn, named)?;
            if !turn.leaves_traces() {
                return Self::without_session(&rows, &turn).or_refuse(named);
            }
            let turned = process::before_others(|| Self::with_session(&tree, lock, &request, &rows, turn))?;
            return turned.or_refuse(named);
        }
        refuse_what_is_missing(&turn, named)?;
        Self::without_session(&rows, &turn).or_refuse(named)
    }

    fn without_session(rows: &[Row], turn: &Turn) -> Self {
        let mut turned = Self::with_holds(rows, turn);
        turned.outcomes.extend(left(rows, turn));
        turned
    }

    fn with_session(
        tree: &Tree,
        lock: Lock,
        request: &Request,
        rows: &[Row],
        turn: Turn,
    ) -> Result<Self, Failure> {
        let changes = turn.changes.clone();
        let (mut session, fared) =
            Session::start(tree, lock, request, changes, || {}).map_err(Failure::Cannot)?;
        match session.guardian() {
            Some(pid) => measure::child::is_ours(pid),
            None => output::complain(
                "no process could be posted that puts the knobs back if this one is killed: then linespeed quiet --restore",
            ),
        }
        let mut turned = Self::with_holds(rows, &turn);
        turned.outcomes.extend(of_values(&turn.changes, &fared));
        for (name, undertaking) in &turn.undertakings {
            let (notes, why_not) = match session.undertake(undertaking) {
                Ok(notes) => (notes, None),
                Err(why) => (Vec::new(), Some(why)),
            };
            turned.undertaken |= why_not.is_none();
            if let (Undertaking::Shield(shield), None) = (undertaking, &why_not) {
                turned.shield = Some(shield.clone());
            }
            let note = (!notes.is_empty()).then(|| notes.join("; "));
            turned.outcomes.push(Outcome { note, ..looked(rows, name, why_not) });
        }
        turned.outcomes.extend(left(rows, &turn));
        turned.session = Some(session);
        Ok(turned)
    }

    /// What this process holds, and what is for the command to have.
    fn with_holds(rows: &[Row], turn: &Turn) -> Self {
        let mut turned = Self {
            session: None,
            latency: None,
            outcomes: Vec::new(),
            undertaken: false,
            holds: Vec::new(),
            shield: None,
        };
        for (name, hold) in &turn.holds {
            let why_not = match hold {
                Hold::DmaLatency(us) => match DmaLatency::hold(*us) {
                    Ok(held) => {
                        turned.latency = Some(held);
                        None
                    }
                    Err(refusal) => Some(refusal.to_string()),
                },
                hold => {
                    turned.holds.push(hold.clone());
                    None
                }
            };
            turned.outcomes.push(looked(rows, name, why_not));
        }
        turned
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
    pub fn refuse(&mut self, hold: &Hold, why: String) {
        let name = name_of(hold);
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
        let stands =
            self.undertaken || self.outcomes.iter().any(|outcome| outcome.is_done() && outcome.values > 0);
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

/// `--quiet-machine`: the knobs turned for linespeed's own measuring; `None` where that was not asked for.
pub fn for_measuring(options: &Options) -> Result<Option<Turned>, Failure> {
    if !options.measuring.quiet_machine {
        return Ok(None);
    }
    let turned = Turned::begin(options, &[], Purpose::ForMeasuring)?;
    super::tell(options, &turned);
    Ok(Some(turned))
}

/// What the record says of them.
pub fn knobs(turned: Option<&Turned>) -> Vec<record::Knob> {
    let one = |outcome: &Outcome| record::Knob {
        name: outcome.knob.to_owned(),
        was: outcome.old.clone(),
        set_to: outcome.is_done().then(|| outcome.new.clone()),
        not_set: outcome.why_not.clone(),
    };
    let asked = |outcome: &&Outcome| !outcome.advice;
    turned.iter().flat_map(|turned| &turned.outcomes).filter(asked).map(one).collect()
}

impl Drop for Turned {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            back(session);
        }
    }
}

/// A knob's name by what is held for it.
fn name_of(hold: &Hold) -> &'static str {
    match hold {
        Hold::DmaLatency(_) => "idle-states",
        Hold::Affinity(_) => "affinity",
        Hold::Nice(_) => "nice",
        Hold::Fifo(_) => "fifo",
        Hold::IoPriority(_) => "ionice",
        Hold::FixedAddresses => "aslr",
    }
}

/// What was named and cannot be set is refused before anything is.
fn refuse_what_is_missing(turn: &Turn, named: bool) -> Result<(), Failure> {
    if !named || turn.left.is_empty() {
        return Ok(());
    }
    let missing: Vec<String> = turn.left.iter().map(|(name, why)| format!("{name}: {why}")).collect();
    Err(Failure::Cannot(missing.join("; ")))
}

fn told(outcome: &Outcome) -> Option<String> {
    outcome.why_not.as_ref().map(|why| format!("{}: {why}", outcome.knob))
}

fn looked(rows: &[Row], name: &'static str, why_not: Option<String>) -> Outcome {
    let look = rows.iter().find(|row| row.knob.name() == name).map(|row| &row.look);
    Outcome {
        knob: name,
        old: look.map(|look| look.now.clone()).unwrap_or_default(),
        new: look.and_then(|look| look.steadier.clone()).unwrap_or_default(),
        values: 0,
        why_not,
        advice: false,
        note: None,
    }
}

fn left<'a>(rows: &'a [Row], turn: &'a Turn) -> impl Iterator<Item = Outcome> + 'a {
    let one = |advice| {
        move |(name, why): &(&'static str, String)| Outcome {
            advice,
            ..looked(rows, name, Some(why.clone()))
        }
    };
    turn.left.iter().map(one(false)).chain(turn.advice.iter().map(one(true)))
}

/// Values that stand since before, of those that an earlier session wrote.
fn set_before(changes: &[Change], tree: &Tree) -> Vec<Outcome> {
    let stands = |change: &&Change| change.now(tree).is_ok_and(|now| change.form.same(&now, &change.new));
    let changes: Vec<Change> =
        changes.iter().filter(|change| !change.is_watched()).filter(stands).cloned().collect();
    of_values(&changes, &vec![Fared::Set; changes.len()])
}

/// Values by knob, and by what was and what is; those that did not take theirs by the reason.
fn of_values(changes: &[Change], fared: &[Fared]) -> Vec<Outcome> {
    let mut all: Vec<(Outcome, &str)> = Vec::new();
    for (change, fared) in changes.iter().zip(fared) {
        let why_not = match fared {
            Fared::Set => None,
            Fared::NotKept(now) => Some(format!("the kernel takes it and stays at {now}")),
            Fared::Refused(why) => Some(why.clone()),
            Fared::Gone => Some("the file has gone, with its CPU or device".to_owned()),
            Fared::Changed(now) => Some(format!("somebody has set it to {now} meanwhile")),
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
    match session::left(folder, &super::boot()).map_err(Failure::Cannot)? {
        Left::Nothing => Ok(false),
        Left::OtherBoot(kept) => {
            session::forget(folder).map_err(Failure::Cannot)?;
            output::complain(&super::text::gone(&kept));
            Ok(false)
        }
        Left::Standing(kept) => Err(Failure::Cannot(format!(
            "knobs stand already: {}; put them back first: linespeed quiet --restore",
            super::text::who(&kept)
        ))),
        Left::Orphaned(kept) => {
            output::complain(&format!("putting back what was left behind: {}", super::text::who(&kept)));
            say_what_is_not_back(&session::restore(tree, folder).map_err(Failure::Cannot)?);
            // What cannot be put back stays in the journal, which must not be written over.
            match session::left(folder, &super::boot()).map_err(Failure::Cannot)? {
                Left::Nothing => Ok(true),
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
    match process::before_others(|| session.end(&Tree::new(&root))) {
        Ok(came) => say_what_is_not_back(&came),
        Err(why) => {
            NOT_BACK.store(true, Ordering::Relaxed);
            output::complain(&format!("the knobs may not be back: {why}; linespeed quiet --restore"));
        }
    }
}

fn say_what_is_not_back(came: &[(Change, Came)]) {
    for (change, came) in came {
        match came {
            Came::Theirs(now) => output::complain(&format!(
                "{}: somebody has set it to {now} meanwhile, so it was not put back to {}",
                change.path, change.old
            )),
            Came::Refused(why) => {
                NOT_BACK.store(true, Ordering::Relaxed);
                let way_out =
                    if why.contains("--restore") { "" } else { "; then: linespeed quiet --restore" };
                output::complain(&format!(
                    "{}: cannot be put back to {}: {why}{way_out}",
                    change.path, change.old
                ));
            }
            Came::Back | Came::WasBack | Came::Gone => {}
        }
    }
}

/// Whether nothing of ours stands there any more, and nothing of somebody else's.
pub fn is_back(came: &Came) -> bool {
    !matches!(came, Came::Theirs(_) | Came::Refused(_))
}
