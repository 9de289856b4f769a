//! What commands that measure do around it: they look at the machine, make it quiet where that is asked for, and fill the
//! record.

use std::path::PathBuf;
use std::time::Instant;

use ::quiet::tuned_session::TunedSession;
use live::Beside;
use machine::{Inspection, Root};
use record::{Conditions, Coverage, CpuList, Ended, Measurement, Record, RunMode, Snapshot};

use super::new_record;
use super::quiet::tuned_session;
use crate::delivery::destination;
use crate::failure::Failure;
use crate::options::Options;
use crate::redaction::redact;

/// A machine that is to be measured.
pub struct Measuring<'a> {
    options: &'a Options,
    /// The machine, and its state before.
    pub found: Inspection,
    record: Record,
    destination: Option<PathBuf>,
    began: Instant,
    beside: Beside,
    tuned: Option<TunedSession>,
}

/// What a run gave.
pub struct Outcome {
    /// The figures.
    pub measurements: Vec<Measurement>,
    /// What was measured, and how well.
    pub coverage: Vec<Coverage>,
    /// Where the CPUs were meanwhile.
    pub looks: Option<record::shape::Looks>,
    /// How the run ended.
    pub ended: Ended,
}

impl<'a> Measuring<'a> {
    /// Makes the machine quiet, looks at it, and checks that a record can be written, which a short run can do without.
    pub fn begin(options: &'a Options, short: bool) -> Result<Self, Failure> {
        let began = Instant::now();
        let tuned = tuned_session::for_measuring(options)?;
        let found = machine::inspect(&Root::live());
        let mut record = new_record();
        record.mode = Some(options.measuring.depth().pick(RunMode::Quick, RunMode::Normal, RunMode::Full));
        let destination = destination(options, &found.machine, &record, short)?;
        let beside = Beside::begin(Root::live());
        Ok(Self { options, found, record, destination, began, beside, tuned })
    }

    /// The whole record, and where it goes; knobs are as they were. `settle` completes the state after the run.
    pub fn finish(
        mut self,
        outcome: Outcome,
        settle: impl FnOnce(&mut Snapshot),
    ) -> Result<(Record, Option<PathBuf>), Failure> {
        let mut after = machine::snapshot_since(&Root::live(), &self.found.snapshot);
        settle(&mut after);
        let beside = self.beside.until_now(&[]);
        let knobs = tuned_session::knobs(self.tuned.as_ref());
        drop(self.tuned);
        let mut record = self.record;
        record.conditions = Conditions { beside, knobs, ..Conditions::default() };
        record.measurements = outcome.measurements;
        record.coverage = outcome.coverage;
        record.looks = outcome.looks;
        record.ended = outcome.ended;
        complete(&mut record, self.found, after, self.began);
        redact(self.options, &mut record)?;
        Ok((record, self.destination))
    }
}

/// Puts into a record of figures what is known of the machine, and what follows from it all.
pub fn complete(record: &mut Record, found: Inspection, after: Snapshot, began: Instant) {
    record.conditions.before = found.snapshot;
    record.conditions.after = Some(after);
    record.machine = found.machine;
    record.coverage.extend(found.coverage);
    record.seconds = Some((began.elapsed().as_secs_f64() * 1000.0).round() / 1000.0);
    diagnose::explain_noise(record);
    record.diagnosis = diagnose::diagnose(record);
}

/// How a run ended that a signal may have interrupted.
pub fn ended(interrupted: Option<i32>) -> Ended {
    interrupted.map_or(Ended::Complete, |signal| Ended::Interrupted { signal })
}

/// The CPUs that `--cpus` names, without it all of `allowed`, which is `None` where nobody tells. Refuses those that this process may
/// not use.
pub fn chosen_cpus(options: &Options, allowed: Option<CpuList>) -> Result<CpuList, Failure> {
    let Some(wanted) = &options.measuring.cpus else { return Ok(allowed.unwrap_or_default()) };
    if wanted.is_empty() {
        return Err(Failure::usage("--cpus: the list is empty; write for instance --cpus 0-3,8"));
    }
    let missing = allowed.as_ref().map(|allowed| wanted.difference(allowed)).unwrap_or_default();
    if let (false, Some(allowed)) = (missing.is_empty(), allowed) {
        return Err(Failure::Usage(format!(
            "--cpus {wanted}: this process may not use CPU {missing}; it may use {allowed}"
        )));
    }
    Ok(wanted.clone())
}
