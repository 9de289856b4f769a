//! `linespeed show`: a record again.

use record::Record;
use report::terminal::{self, Style};

use super::to_standard_output;
use crate::delivery::{as_json, print_or_write};
use crate::failure::Failure;
use crate::options::{Options, Show};
use crate::{output, sources};

/// Prints a record, or writes it as a page.
pub fn run(options: &Options, show: &Show) -> Result<u8, Failure> {
    let mut record = if show.record.as_os_str() == sources::HERE {
        let source = sources::read(sources::HERE)?;
        source.say_note(&options.out);
        source.record
    } else {
        sources::file(&show.record)?
    };
    // Findings follow from the figures: an older record gets the rules of this version.
    record.diagnosis = diagnose::diagnose(&record);
    let text = if show.html {
        report::page::html(&record)
    } else if to_standard_output(options) || options.out.output.is_some() {
        as_json(record.to_json())?
    } else if show.forms.cyclictest || show.forms.histogram {
        report::cyclictest::forms(&record, show.forms.cyclictest, show.forms.histogram).ok_or_else(|| {
            Failure::Input {
                path: show.record.clone(),
                why: "has no wake-up latency; measure it with linespeed run wakeup".to_owned(),
            }
        })?
    } else {
        describe(&record, &output::style(&options.out))
    };
    print_or_write(options, &text)?;
    Ok(super::run::found_code(&options.measuring, &record))
}

/// A record in words: what a run of `scale` or `stat` says of its command comes first; without figures the inventory stands in
/// place of the report, or below it where the inventory alone tells what costs speed.
fn describe(record: &Record, style: &Style) -> String {
    let figures = !record.measurements.is_empty();
    let mut parts = Vec::new();
    if terminal::is_scale(record) {
        parts.push(terminal::scale_briefly(record, style));
    } else if figures {
        parts.push(terminal::stat(record, style));
    }
    if figures || (parts.is_empty() && !record.diagnosis.findings.is_empty()) {
        parts.push(terminal::report(record, style));
    }
    if !figures {
        parts.push(terminal::inventory(record, style));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}
