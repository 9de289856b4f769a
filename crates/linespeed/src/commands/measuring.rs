//! What commands that measure do around it: they look at the machine, make it quiet if asked for, and fill the
//! record.

use std::path::PathBuf;
use std::time::Instant;

use ::quiet::tuned_session::TunedSession;
use live::Beside;
use machine::{Inspection, Root};
use measure::accesses::Hierarchy;
use record::{Conditions, Coverage, CpuList, Ended, Measurement, Record, RunMode};

use super::new_record;
use super::quiet::tuned_session;
use crate::ceilings;
use crate::delivery::{checked_output_file, destination};
use crate::failure::Failure;
use crate::options::Options;
use crate::redaction::redact;

/// A machine that is to be measured.
pub struct Measuring<'a> {
    options: &'a Options,
    /// The machine, and its state before; nothing where it is not looked at.
    pub found: Inspection,
    record: Record,
    destination: Option<PathBuf>,
    began: Instant,
    /// Who else works meanwhile, if known.
    pub beside: Option<Beside>,
    /// Processes that are none of the others.
    pub own: Vec<i32>,
    looks: bool,
    tuned: Option<TunedSession>,
}

/// What a run gave.
#[derive(Default)]
pub struct Outcome {
    /// The results.
    pub measurements: Vec<Measurement>,
    /// What was measured, and how well.
    pub coverage: Vec<Coverage>,
    /// Where the CPUs were meanwhile.
    pub looks: Option<record::shape::Looks>,
    /// The longest gaps and latest wake-ups.
    pub long_gaps: Vec<record::long_gap::LongGap>,
    /// How the run ended.
    pub ended: Ended,
}

impl<'a> Measuring<'a> {
    /// Makes the machine quiet, looks at it, and checks that a record can be written, which a short run can do without.
    pub fn begin(options: &'a Options, short: bool) -> Result<Self, Failure> {
        let mut measuring = Self::of_command(options, short, true)?;
        let mode = options.measuring.depth().pick(RunMode::Quick, RunMode::Normal, RunMode::Full);
        measuring.record.mode = Some(mode);
        Ok(measuring)
    }

    /// The same for a command, of whose runs there is one kind. Where nothing of the machine is shown it is not looked at, which
    /// takes longer than many commands.
    pub fn of_command(options: &'a Options, short: bool, looks: bool) -> Result<Self, Failure> {
        let (began, record) = (Instant::now(), new_record());
        let tuned = tuned_session::for_measuring(options)?;
        let found = if looks { machine::inspect(&Root::live()) } else { Inspection::default() };
        let destination = match looks {
            true => destination(options, &found.machine, &record, short)?,
            false => checked_output_file(options)?,
        };
        let beside = looks.then(|| Beside::begin(Root::live()));
        Ok(Self { options, found, record, destination, began, beside, own: Vec::new(), looks, tuned })
    }

    /// The whole record, and where it goes; knobs are as they were. `settle` completes the state after the run.
    pub fn finish(
        self,
        outcome: Outcome,
        settle: impl FnOnce(&mut Conditions),
    ) -> Result<(Record, Option<PathBuf>), Failure> {
        let mut watch = self.beside;
        let mut beside = watch.as_mut().map(|watch| watch.until_now(&self.own)).unwrap_or_default();
        let after = self.looks.then(|| machine::snapshot_since(&Root::live(), &self.found.snapshot));
        // Of a command's runs it was asked meanwhile.
        if let (Some(watch), Some(_)) = (watch, self.record.mode) {
            let curve = ceilings::of_this_machine().map(|known| known.curve).unwrap_or_default();
            watch.ask(&mut beside, Hierarchy { machine: &self.found.machine, curve: &curve });
        }
        let knobs = tuned_session::knobs(self.tuned.as_ref());
        drop(self.tuned);
        let mut record = self.record;
        record.conditions = Conditions { before: self.found.snapshot, after, beside, knobs };
        settle(&mut record.conditions);
        record.machine = self.found.machine;
        record.measurements = outcome.measurements;
        record.coverage = outcome.coverage;
        record.coverage.extend(self.found.coverage);
        record.looks = outcome.looks;
        record.long_gaps = outcome.long_gaps;
        record.ended = outcome.ended;
        record.seconds = Some((self.began.elapsed().as_secs_f64() * 1000.0).round() / 1000.0);
        if self.looks {
            diagnose::explain_noise(&mut record);
            record.diagnosis = diagnose::diagnose(&record);
        }
        redact(self.options, &mut record)?;
        Ok((record, self.destination))
    }
}

/// How a run ended that a signal may have interrupted.
pub fn ended(interrupted: Option<i32>) -> Ended {
    interrupted.map_or(Ended::Complete, |signal| Ended::Interrupted { signal })
}

/// The CPUs that `--cpus` names, without it all of `allowed`, which is `None` where nobody shows. Refuses those that this process may
/// not use.
pub fn chosen_cpus(options: &Options, allowed: Option<CpuList>) -> Result<CpuList, Failure> {
    let Some(wanted) = &options.measuring.cpus else { return Ok(allowed.unwrap_or_default()) };
    if wanted.is_empty() {
        return Err(Failure::usage("--cpus: the list is empty; use for instance --cpus 0-3,8"));
    }
    let missing = allowed.as_ref().map(|allowed| wanted.difference(allowed)).unwrap_or_default();
    if let (false, Some(allowed)) = (missing.is_empty(), allowed) {
        return Err(Failure::Usage(format!(
            "--cpus {wanted}: this process may not use CPU {missing}; it may use {allowed}"
        )));
    }
    Ok(wanted.clone())
}
