//! Common steps of measuring commands: inspect the machine, quiet it if requested, and fill the record.

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

/// A machine to be measured.
pub struct Measuring<'a> {
    options: &'a Options,
    /// The machine and its state before the run; empty if it is not inspected.
    pub found: Inspection,
    record: Record,
    destination: Option<PathBuf>,
    began: Instant,
    /// Other processes during the run, if known.
    pub beside: Option<Beside>,
    /// Processes that do not count as other processes.
    pub own: Vec<i32>,
    looks: bool,
    tuned: Option<TunedSession>,
}

/// The result of a run.
#[derive(Default)]
pub struct Outcome {
    /// The results.
    pub measurements: Vec<Measurement>,
    /// Which measurements are incomplete or missing, and why.
    pub coverage: Vec<Coverage>,
    /// CPU placement during the run.
    pub looks: Option<record::shape::Looks>,
    /// The longest gaps and latest wake-ups.
    pub long_gaps: Vec<record::long_gap::LongGap>,
    /// How the run ended.
    pub ended: Ended,
}

impl<'a> Measuring<'a> {
    /// Quiets the machine, inspects it, and checks that a record can be written. A short run continues even if no record can be written.
    pub fn begin(options: &'a Options, short: bool) -> Result<Self, Failure> {
        let mut measuring = Self::of_command(options, short, true)?;
        let mode = options.measuring.depth().pick(RunMode::Quick, RunMode::Normal, RunMode::Full);
        measuring.record.mode = Some(mode);
        Ok(measuring)
    }

    /// Like [`Self::begin`], but for measuring a command, which does not depend on the depth of measurement. The machine is inspected only
    /// if the output describes it, because an inspection takes longer than many commands.
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

    /// Restores the knobs, and returns the complete record and its destination. `settle` adds the conditions after the run.
    pub fn finish(
        self,
        outcome: Outcome,
        settle: impl FnOnce(&mut Conditions),
    ) -> Result<(Record, Option<PathBuf>), Failure> {
        let mut watch = self.beside;
        let mut beside = watch.as_mut().map(|watch| watch.until_now(&self.own)).unwrap_or_default();
        let after = self.looks.then(|| machine::snapshot_since(&Root::live(), &self.found.snapshot));
        // If a command was run, the other processes were already sampled during the run.
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

/// How a run ended; a signal may have interrupted it.
pub fn ended(interrupted: Option<i32>) -> Ended {
    interrupted.map_or(Ended::Complete, |signal| Ended::Interrupted { signal })
}

/// The CPUs of `--cpus`, or else all of `allowed`, which is `None` if unknown. Rejects CPUs that this process may not use.
pub fn chosen_cpus(options: &Options, allowed: Option<CpuList>) -> Result<CpuList, Failure> {
    let Some(wanted) = &options.measuring.cpus else { return Ok(allowed.unwrap_or_default()) };
    if wanted.is_empty() {
        return Err(Failure::usage("the list of --cpus is empty; use, for example, --cpus 0-3,8"));
    }
    let missing = allowed.as_ref().map(|allowed| wanted.difference(allowed)).unwrap_or_default();
    if let (false, Some(allowed)) = (missing.is_empty(), allowed) {
        let words = format!("--cpus {wanted}: this process may only use CPUs {allowed}, not {missing}");
        return Err(Failure::Usage(words));
    }
    Ok(wanted.clone())
}
