//! `linespeed fix`: sets a finding's knob, measures alternately with the old and the new value, and keeps one of them.

use ::drawn::fix::{self as drawn_fix, Fixed, Kept};
use ::quiet::error::Error;
use ::quiet::tuned_session::TunedSession;
use ::quiet::tuning_plan::Purpose;
use experiment::fix::{self, FixError};
use experiment::prove::{Proof, ProofRequest, ProvenCommand, prove_command, prove_figure};
use machine::Root;
use os::signals;
use record::phrase::quote_word;
use record::source::HERE;
use record::{Text, text};
use report::view::View;

use super::quiet::{NOT_QUIET, tuned_session};
use crate::delivery::hand_out;
use crate::failure::{Failure, signal_code};
use crate::options::{Fix, Options};
use crate::{output, sources};

/// Applies the fix, or shows the planned changes.
pub fn run(options: &Options, asked: &Fix) -> Result<u8, Failure> {
    let mut source = sources::read(&asked.record)?;
    sources::say_note(&source, &options.out);
    // This gives the findings the same numbers as in the output of `show`.
    source.record.diagnosis = diagnose::diagnose(&source.record);
    let here = machine::inspect(&Root::live()).machine;
    // A redacted record of this machine contains its pseudonym instead of its name.
    let names = sources::names_of(&sources::host());
    if source.record.machine.hostname.as_ref().is_some_and(|name| names.contains(name)) {
        source.record.machine.hostname.clone_from(&here.hostname);
    }
    let record = &source.record;
    let fix = fix::choose(record, &here, &asked.finding, |finding| diagnose::cited_figure(record, finding))?;
    let outlook = fix.look(&Root::live(), asked.keep)?;
    let measures = measures(&fix, asked)?;
    let report = |proof: Option<&Proof>, kept| {
        let fixed = Fixed { fix: &fix, outlook: &outlook, proof, kept, measures: measures.clone() };
        let forms = View::new(|screen| drawn_fix::fix(screen, &fixed));
        hand_out(options, &forms.with_value(drawn_fix::fix_json(&fixed)))
    };
    if asked.dry_run || outlook.is_done() {
        return report(None, None).map(|()| 0);
    }
    if let Some(refusal) = fix.refusal(&outlook) {
        return Err(refusal.into());
    }
    let stop = signals::install();
    let begin = |purpose| tuned_session::begin_value(options, fix.value, purpose);
    // If another session has set knobs, this is reported now, instead of after minutes of measurement.
    begin(Purpose::Measuring)?.end();
    let proof = prove(options, asked, &fix, &|_| begin(Purpose::Measuring))?;
    if let Some(signal) = proof.interrupted {
        report(Some(&proof), Some(Kept::PutBack))?;
        return Ok(signal_code(signal));
    }
    let kept = match asked.keep {
        false => Kept::PutBack,
        true if begin(Purpose::Persistent)?.leave() => Kept::Stands,
        true => Kept::NotSet,
    };
    report(Some(&proof), Some(kept)).inspect_err(|_| {
        if kept == Kept::Stands {
            output::complain("the value is set; restore the old value with linespeed quiet --restore");
        }
    })?;
    Ok(if stop.signal().is_none() && kept == Kept::NotSet { NOT_QUIET } else { 0 })
}

/// A description of the measurements that `fix` makes.
fn measures(fix: &fix::Fix, asked: &Fix) -> Result<Text, FixError> {
    match (&fix.figure, asked.command.is_empty()) {
        (_, false) => Ok(text!("the time of the command, in alternating runs with the old and new values")),
        (Some(figure), true) => Ok(figure.describe()),
        (None, true) if asked.dry_run => {
            let knob = fix.value.knob.name();
            Ok(text!("nothing, because the gain of {knob} depends on the program; add -- COMMAND", knob))
        }
        (None, true) => {
            let of = match asked.record.as_str() {
                HERE => String::new(),
                record => format!(" --record {}", quote_word(record)),
            };
            let (knob, fix) = (fix.value.knob.name(), format!("linespeed fix {}{of}", fix.number));
            Err(FixError::NoFix(format!(
                "the gain of {knob} depends on the program. {fix} -- COMMAND measures your program; {fix} \
                 --dry-run only prints the planned changes"
            )))
        }
    }
}

fn prove(
    options: &Options,
    asked: &Fix,
    fix: &fix::Fix,
    begin_session: &dyn Fn(&[&'static str]) -> Result<TunedSession, Error>,
) -> Result<Proof, Failure> {
    let tell = |words: &str| output::notice(&options.out, words);
    let request = ProofRequest {
        names: &[fix.value.knob.name()],
        value: Some(fix.value),
        cpus: None,
        rounds: asked.rounds.map(|rounds| rounds as usize),
        stop: signals::install(),
        begin_session,
        tell: &tell,
    };
    Ok(match &fix.figure {
        Some(figure) if asked.command.is_empty() => prove_figure(request, figure)?,
        _ => prove_command(request, ProvenCommand { argv: &asked.command, drop_caches: false })?,
    })
}

impl From<FixError> for Failure {
    fn from(error: FixError) -> Self {
        match error {
            FixError::Session(error) => error.into(),
            FixError::CannotBeSet(why) => Failure::Cannot(why),
            FixError::NoFix(why) => Failure::Usage(why),
        }
    }
}
