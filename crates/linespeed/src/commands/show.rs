//! `linespeed show`: a record again.

use report::terminal;

use super::{output_file, to_standard_output};
use crate::delivery::as_json;
use crate::failure::Failure;
use crate::options::{Options, Show};
use crate::{files, output, sources};

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
    } else if terminal::is_scale(&record) {
        let style = output::style(&options.out);
        // Of a record of scale, what it says of the command comes first, and before the machine alone where it has no figure.
        let rest = if record.measurements.is_empty() { terminal::inventory } else { terminal::report };
        format!("{}\n{}", terminal::scale_briefly(&record, &style), rest(&record, &style))
    } else if record.measurements.is_empty() && record.diagnosis.findings.is_empty() {
        terminal::inventory(&record, &output::style(&options.out))
    } else if record.measurements.is_empty() {
        // The inventory alone may tell what costs speed: memory below its rating, offline CPUs.
        let style = output::style(&options.out);
        format!(
            "{}
{}",
            terminal::report(&record, &style),
            terminal::inventory(&record, &style)
        )
    } else {
        let style = output::style(&options.out);
        // Of a record of a command, what that was bound by comes first.
        let mut text = terminal::stat(&record, &style);
        text.push_str(if text.is_empty() { "" } else { "\n" });
        text + &terminal::report(&record, &style)
    };
    match output_file(options) {
        Some(path) => files::write(&path, &text)?,
        None => output::print(&text)?,
    }
    Ok(super::run::found_code(&options.measuring, &record))
}
