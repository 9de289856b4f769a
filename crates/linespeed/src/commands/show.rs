//! `linespeed show`: displays a saved record.

use std::path::Path;

use report::terminal::{self, Screen, Style};
use report::view::View;

use crate::delivery::{hand_out, lasting_name, name_own_files};
use crate::failure::Failure;
use crate::options::{Options, Show};
use crate::redaction::{argument, redact};
use crate::sources;

/// Prints a record, or writes it as a page.
pub fn run(options: &Options, show: &Show) -> Result<u8, Failure> {
    let source = sources::read(&show.record)?;
    if !options.out.redact {
        sources::say_note(&source, &options.out);
    }
    let mut record = source.record;
    // Findings are derived from the results, so that the rules of this version also apply to older records.
    record.diagnosis = diagnose::diagnose(&record);
    redact(options, &mut record)?;
    let forms = &show.forms;
    let wakeups = report::cyclictest::forms(&record, forms.cyclictest, forms.histogram);
    if forms.any() && wakeups.is_none() {
        let why = "has no wake-up latency; measure it with linespeed run wakeup".to_owned();
        return Err(Failure::Input { path: show.record.clone().into(), why });
    }
    let shown_by = argument(options, &show.record);
    let measured: Vec<_> = measure::MEASUREMENTS.iter().map(|one| (one.name, one.metrics)).collect();
    for name in &show.parts {
        let mut screen = Screen::new(&Style::default());
        if !terminal::section(&mut screen, &record, name, shown_by, &measured) {
            let known = terminal::section_names(&record, &measured).join(", ");
            return Err(Failure::Usage(format!("this record contains no {name}; it contains {known}")));
        }
    }
    let report = |screen: &mut Screen| {
        if let Some(text) = &wakeups {
            return screen.verbatim(text);
        }
        for name in &show.parts {
            terminal::section(screen, &record, name, shown_by, &measured);
        }
        if show.parts.is_empty() {
            terminal::record(screen, &record, options.out.all, shown_by);
            if screen.is_terminal() {
                screen.verbatim(&name_own_files(options, Path::new(&source.from)));
            }
        }
    };
    let name = lasting_name(options, Some(Path::new(&source.from)));
    hand_out(options, &View::of_record(&record, name, report).with_report_asked_for(forms.any()))?;
    Ok(super::run::found_code(&options.measuring, &record))
}
