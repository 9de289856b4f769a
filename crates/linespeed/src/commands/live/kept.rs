//! Saves a recording to the file specified with `--output`, every minute and at the end.

use std::path::PathBuf;

use ::live::Keeping;
use record::Record;
use record::phrase::visible;
use record::redaction::Pseudonyms;
use report::terminal;
use report::view::View;

use crate::delivery::{checked_output_file, is_named, keep, write_form};
use crate::failure::Failure;
use crate::options::Options;
use crate::output;
use crate::redaction::redact_with;

/// The file that contains a recording.
pub struct Kept<'a> {
    options: &'a Options,
    file: Option<PathBuf>,
    /// The time up to which the recording is saved.
    until: Option<String>,
    /// Whether a failed write was already reported.
    said: bool,
}

impl<'a> Kept<'a> {
    /// Checks that the requested file can be written.
    pub fn checked(options: &'a Options) -> Result<Self, Failure> {
        let file = checked_output_file(options)?;
        if options.out.label.is_some() && !is_named(options) {
            return Err(Failure::usage("--label requires a saved record: add --output FILE"));
        }
        Ok(Self { options, file, until: None, said: false })
    }

    /// Writes the recording so far, if it is time to do so. A failed write is retried, because a full disk may have space later.
    pub fn write_now_and_then(
        &mut self,
        keeping: &mut Keeping,
        names: Option<&mut Pseudonyms>,
    ) -> Result<(), Failure> {
        let Some(mut record) = self.file.as_ref().and_then(|_| keeping.when_due()) else { return Ok(()) };
        if let Some(names) = names {
            record = redact_with(record.redacted(names))?;
        }
        match self.write(&record) {
            Ok(()) => self.until = Some(super::now()),
            Err(failure) if !self.said => {
                self.said = true;
                output::complain(&format!("{failure}; still observing"));
            }
            Err(_) => {}
        }
        Ok(())
    }

    /// Writes the whole recording; on failure, reports which part the file contains.
    pub fn write_at_the_end(&self, record: &Record) -> Result<(), Failure> {
        let Some(file) = &self.file else { return Ok(()) };
        let written = if is_named(self.options) {
            keep(self.options, record, Some(file)).1
        } else {
            self.write(record)
        };
        if let (Err(_), Some(until)) = (&written, &self.until) {
            output::complain(&format!("{} contains the recording up to {until}", visible(file)));
        }
        written
    }

    fn write(&self, record: &Record) -> Result<(), Failure> {
        let all = self.options.out.all;
        let draw = |screen: &mut _| terminal::record(screen, record, all, record::source::HERE);
        write_form(self.options, &View::of_record(record, None, draw))
    }
}
