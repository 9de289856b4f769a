//! `linespeed show`: a record again.

use report::terminal;

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
    let style = output::style(&options.out);
    let text = if !show.parts.is_empty() {
        let sections = show.parts.iter().map(|name| {
            let known = || terminal::section_names(&record).join(", ");
            let missing = || Failure::Usage(format!("this record has no {name}; it has {}", known()));
            terminal::section(&record, name, &style).ok_or_else(missing)
        });
        sections.collect::<Result<Vec<_>, Failure>>()?.join("\n")
    } else if show.html {
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
        terminal::record(&record, options.out.all, &show.record.to_string_lossy(), &style)
    };
    print_or_write(options, &text)?;
    Ok(super::run::found_code(&options.measuring, &record))
}
