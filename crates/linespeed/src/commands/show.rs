//! `linespeed show`: a record again.

use std::path::Path;

use record::Record;
use report::forms::Forms;
use report::terminal::{self, Layout, Style};

use crate::delivery::{hand_out, lasting_name};
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
    // Findings follow from the figures: an older record gets the rules of this version.
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
    let sections = |style: &Style| -> Result<Vec<String>, Failure> {
        let known = || terminal::section_names(&record, &measured).join(", ");
        let missing = |name| Failure::Usage(format!("this record has no {name}; it has {}", known()));
        let parts = show.parts.iter();
        parts
            .map(|name| {
                terminal::section(&record, name, shown_by, &measured, style).ok_or_else(|| missing(name))
            })
            .collect()
    };
    sections(&Style::default())?;
    let named = |style: &Style| match style.layout {
        Layout::Terminal => crate::delivery::name_files(options, Path::new(&source.from)),
        _ => String::new(),
    };
    let report = |record: &Record, style: &Style| match &wakeups {
        Some(text) => text.clone(),
        None if !show.parts.is_empty() => sections(style).unwrap_or_default().join("\n"),
        None => terminal::record(record, options.out.all, shown_by, style) + &named(style),
    };
    let name = lasting_name(options, Some(Path::new(&source.from)));
    hand_out(options, &Forms::of_record(&record, name, report).with_report_asked_for(forms.any()))?;
    Ok(super::run::found_code(&options.measuring, &record))
}
