//! A session in which this program sets knobs: its owner, its messages, and whether everything was restored.

use std::sync::atomic::{AtomicBool, Ordering};

use ::quiet::error::Error;
use ::quiet::event::Event;
use ::quiet::knob_outcome::KnobOutcome;
use ::quiet::tuned_session::{Caller, TunedSession};
use ::quiet::tuning_plan::{Purpose, Wanted};
use record::KnobValue;
use report::view::Screen;

use crate::failure::Failure;
use crate::options::Options;
use crate::{files, output};
use ::drawn::knob_changes;

/// Whether something could not be restored in this run.
static NOT_BACK: AtomicBool = AtomicBool::new(false);

/// Whether something could not be restored in this run, which makes the run a failure.
pub fn is_something_not_back() -> bool {
    NOT_BACK.load(Ordering::Relaxed)
}

/// Reports events of a session.
fn hear(event: Event) {
    if event.leaves_something() {
        NOT_BACK.store(true, Ordering::Relaxed);
    }
    output::complain(&event.to_string());
}

/// This program as the owner of a session.
pub fn caller() -> Caller {
    let words = std::env::args_os().map(|word| record::phrase::quote_word(&word.to_string_lossy()));
    Caller {
        state: files::state_folder().ok(),
        command: words.collect::<Vec<_>>().join(" "),
        date: crate::commands::now(),
        listener: hear,
    }
}

/// Sets the knobs with these names, or all knobs that are not opt-in. On error, nothing is set.
pub fn begin(options: &Options, names: &[&'static str], purpose: Purpose) -> Result<TunedSession, Error> {
    let wanted = Wanted { names, purpose, cpus: options.measuring.cpus.as_ref(), value: None };
    let tuned = TunedSession::begin(&caller(), wanted)?;
    if let Some(beside) = &tuned.beside
        && !options.out.quiet_output
        && !options.out.json
    {
        output::complain(&beside.to_string());
    }
    Ok(tuned)
}

/// Sets one knob to a given value. On error, nothing is set.
pub fn begin_value(options: &Options, value: &KnobValue, purpose: Purpose) -> Result<TunedSession, Error> {
    let cpus = options.measuring.cpus.as_ref();
    let wanted = Wanted { names: &[value.knob.name()], purpose, cpus, value: Some(value) };
    TunedSession::begin(&caller(), wanted)
}

/// Sets the knobs for linespeed's own measurements if `--quiet-machine` was specified; `None` without it.
pub fn for_measuring(options: &Options) -> Result<Option<TunedSession>, Failure> {
    if !options.measuring.quiet_machine {
        return Ok(None);
    }
    let tuned = begin(options, &[], Purpose::Measuring)?;
    tell(options, &tuned, false);
    Ok(Some(tuned))
}

/// Reports which knobs could not be set, and which were set (with their values if requested, otherwise by name if `names_set`).
/// Prints nothing if output is off or JSON was requested.
pub fn tell(options: &Options, tuned: &TunedSession, names_set: bool) {
    if options.out.quiet_output || options.out.json {
        return;
    }
    if options.out.verbose {
        let draw = |screen: &mut Screen| knob_changes::knobs_set(screen, tuned.outcomes());
        return output::print_error(&Screen::draw(&output::error_style(&options.out), draw));
    }
    let say = |what: &str, is_one: &dyn Fn(&&KnobOutcome) -> bool, shown: &str| {
        let mut names: Vec<&str> = tuned.outcomes().iter().filter(is_one).map(|one| one.knob).collect();
        names.dedup();
        if !names.is_empty() {
            output::complain(&format!("{what}: {} (-v shows {shown})", names.join(", ")));
        }
    };
    say("set for this run", &|one| names_set && one.is_done(), "the values");
    say("not set", &|one| one.is_missing(), "why");
    for (knob, note) in tuned.outcomes().iter().filter_map(|done| Some((done.knob, done.note.as_ref()?))) {
        output::complain(&format!("{knob}: {note}"));
    }
}

/// The entries for knobs in a record.
pub fn knobs(tuned: Option<&TunedSession>) -> Vec<record::Knob> {
    tuned.map(TunedSession::knobs).unwrap_or_default()
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if error.is_usage() { Failure::Usage(error.to_string()) } else { Failure::Cannot(error.to_string()) }
    }
}
