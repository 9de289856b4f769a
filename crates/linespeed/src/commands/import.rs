//! `linespeed import`: other tools' output as records.

mod destinations;

use std::fs::File;
use std::path::{Path, PathBuf};

use import::{Imported, Importer, Split, choose_machine};
use record::Record;
use record::import::NotUnderstood;
use record::phrase::{count_noun, quote_word};
use report::terminal::{self, Extent};

use super::{new_record, to_standard_output};
use crate::delivery::as_json;
use crate::failure::{Failure, shown};
use crate::options::{Import, Options};
use crate::{files, output};
use destinations::choose_destinations;

/// How origins call standard input.
const STANDARD_INPUT: &str = "standard input";

/// Reads the texts, makes a record of each machine, and says what was made of them.
pub fn run(options: &Options, import: &Import) -> Result<u8, Failure> {
    let mut importer =
        Importer::new(import.split.as_deref().map_or(Ok(Split::Hosts), Split::parse).map_err(usage)?);
    for path in &import.files {
        read_text(&mut importer, path)?;
    }
    let not_understood = importer.not_understood().clone();
    let mut machines = importer.finish().map_err(|error| refused(&error, import))?;
    if let Some(wanted) = &import.only {
        machines = vec![choose_machine(machines, wanted).map_err(usage)?];
    }
    let destinations = choose_destinations(options, &machines)?;
    let diagnosed = |machine: Imported| {
        let mut record = machine.into_record(new_record());
        record.diagnosis = diagnose::diagnose(&record);
        record
    };
    let records: Vec<Record> = machines.into_iter().map(diagnosed).collect();
    if !options.out.quiet_output {
        complain(&not_understood);
    }
    let Some(destinations) = destinations else {
        // Several were refused before.
        print_json(&records)?;
        return Ok(exit_code(options, &records));
    };
    // Each is tried: what cannot be written is rescued.
    let written: Vec<Result<PathBuf, Failure>> = destinations
        .iter()
        .zip(&records)
        .map(|((path, named), record)| files::write_or_rescue(path, *named, &as_json(record.to_json())?))
        .collect();
    let paths = written.into_iter().collect::<Result<Vec<PathBuf>, Failure>>()?;
    if to_standard_output(options) {
        print_json(&records)?;
    } else if !options.out.quiet_output {
        output::print(&describe(options, &records, &paths))?;
    }
    Ok(exit_code(options, &records))
}

fn usage(error: impl std::error::Error) -> Failure {
    Failure::Usage(error.to_string())
}

fn print_json(records: &[Record]) -> Result<(), Failure> {
    let texts = records.iter().map(|record| as_json(record.to_json())).collect::<Result<String, _>>()?;
    output::print(&texts)
}

/// What was made of the texts, in words.
fn describe(options: &Options, records: &[Record], paths: &[PathBuf]) -> String {
    let style = output::style(&options.out);
    let mut text = String::new();
    for (at, (record, path)) in records.iter().zip(paths).enumerate() {
        text.push_str(&terminal::import(
            record,
            &style,
            Extent { whole: options.out.verbose, reported_elsewhere: at + 1 < records.len() },
        ));
        text.push_str(&format!("Record: {}\n\n", shown(path)));
    }
    let written: Vec<String> = paths.iter().map(|path| quote_word(&shown(path))).collect();
    text.push_str(&match written.as_slice() {
        [one] => format!("All of it:  linespeed show {one}\n"),
        all => {
            format!("All of one: linespeed show RECORD\nCompared:   linespeed compare {}\n", all.join(" "))
        }
    });
    text
}

/// The exit code: that of the record with the worst finding.
fn exit_code(options: &Options, records: &[Record]) -> u8 {
    records.iter().map(|record| super::run::found_code(&options.measuring, record)).max().unwrap_or(0)
}

fn read_text(importer: &mut Importer, path: &Path) -> Result<(), Failure> {
    let unreadable = |why: String| Failure::Input { path: path.to_owned(), why };
    let read = if path.as_os_str() == "-" {
        importer.read(STANDARD_INPUT, std::io::stdin())
    } else {
        if path.is_dir() {
            return Err(unreadable("is a folder; name the files in it".to_owned()));
        }
        let file = File::open(path)
            .map_err(|error| unreadable(format!("cannot be opened: {error}; name another file, or -")))?;
        importer.read(&shown(path), file)
    };
    read.map_err(|error| unreadable(format!("cannot be read: {error}")))
}

fn refused(error: &import::Error, options: &Import) -> Failure {
    let names: Vec<String> = options.files.iter().map(|path| shown(path)).collect();
    let names = names.join(", ");
    Failure::Cannot(match error {
        import::Error::NothingKnown { .. } => {
            let tools: Vec<&str> = import::tool_names().into_iter().collect();
            format!("{names}: {error}; import knows {}", tools.join(", "))
        }
        import::Error::NothingRead { .. } => format!("{names}: {error}"),
        _ => error.to_string(),
    })
}

/// One line for what nobody understood.
fn complain(not_understood: &NotUnderstood) {
    let Some(first) = not_understood.examples.first() else { return };
    let says: String = first.says.chars().take(60).collect();
    output::complain(&format!(
        "{} not recognised; the first: {} line {}: {says}",
        count_noun(not_understood.lines, "line"),
        first.text,
        first.line
    ));
}
