//! `linespeed import`: other tools' output as records.

mod destinations;

use std::fs::File;
use std::path::{Path, PathBuf};

use import::{Error, Imported, Importer, Setting, Split, Table, choose_machine, list_machines};
use record::import::NotUnderstood;
use record::phrase::{count_noun, visible};
use record::{Record, store};
use report::terminal::{self, Screen};
use report::view::View;

use super::new_record;
use crate::delivery::{as_json, is_named, lasting_name, print, printed, write_form};
use crate::failure::Failure;
use crate::options::{Import, Options};
use crate::redaction::{redact_all, shown};
use crate::{files, output, sources};
use destinations::choose_destinations;

/// The name by which origins refer to standard input.
const STANDARD_INPUT: &str = "standard input";

/// Reads the texts, creates a record for each machine, and shows the result.
pub fn run(options: &Options, import: &Import) -> Result<u8, Failure> {
    let tables: Vec<Table> =
        import.tables.iter().map(|table| Table::parse(table)).collect::<Result<_, _>>().map_err(usage)?;
    let settings: Vec<Setting> =
        import.settings.iter().map(|one| Setting::parse(one)).collect::<Result<_, _>>().map_err(usage)?;
    let read = |split: Split| {
        let mut importer = Importer::new(split).with_tables(tables.clone()).with_settings(settings.clone());
        import.files.iter().try_for_each(|path| read_text(&mut importer, path))?;
        Ok::<_, Failure>(importer.finish())
    };
    if import.files.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Failure::usage("standard input can provide only one text: use - once"));
    }
    let split = import.split.as_deref().map_or(Ok(Split::Hosts), Split::parse).map_err(usage)?;
    let mut found = read(split)?;
    // Standard input cannot be read a second time.
    let again = import.split.is_none() && import.files.iter().all(|path| path.is_file());
    if matches!(found, Err(Error::SeveralMachines(_)) if again)
        && let Ok(apart) = read(Split::Headings)?
        && apart.len() > 1
    {
        let machines = count_noun(apart.len(), "machine");
        output::complain(&format!("split at headings into {machines}; to change this, use --split REGEX"));
        found = Ok(apart);
    }
    let mut machines = found.map_err(|error| refused(&error, import))?;
    if let Some(wanted) = &import.only {
        machines = vec![choose_machine(machines, wanted).map_err(usage)?];
    }
    let listed = list_machines(&machines);
    let diagnosed = |machine: Imported| {
        let mut record = machine.into_record(new_record());
        record.diagnosis = diagnose::diagnose(&record);
        record
    };
    let mut records: Vec<Record> = machines.into_iter().map(diagnosed).collect();
    redact_all(options, &mut records)?;
    let destinations = choose_destinations(options, &records, &listed)?;
    let all = options.out.all || options.out.verbose;
    // Every record from a text contains the lines that were not recognized; the full report shows them.
    if let Some(import) = records.first().and_then(|record| record.import.as_ref())
        && !(all || options.out.quiet_output)
    {
        complain(&import.not_understood);
    }
    // All records are written, even if one fails; a record that cannot be written is saved elsewhere.
    let written: Vec<Result<_, Failure>> =
        destinations.iter().zip(&records).map(|((path, named), record)| keep(record, path, *named)).collect();
    let kept = written.into_iter().collect::<Result<Vec<(PathBuf, bool)>, Failure>>()?;
    let first = kept.first().map(|(path, _)| path.as_path());
    if let (Some(label), Some(path)) = (&options.out.label, first) {
        files::label_record(label, path)?;
    }
    let places: Vec<terminal::Kept> = kept.iter().map(|kept| place(options, kept)).collect();
    let report = |screen: &mut Screen| terminal::import(screen, &records, &places, all);
    let forms = match records.as_slice() {
        [one] => View::of_record(one, lasting_name(options, first), report),
        several => View::new(report).with_csv(|| report::csv::records(several)),
    };
    if !is_named(options) {
        write_form(options, &forms)?;
    }
    print(options, &printed(&forms, options)?)?;
    // The exit code for the record with the worst finding.
    Ok(records.iter().map(|record| super::run::found_code(&options.measuring, record)).max().unwrap_or(0))
}

/// A description of the record's location, and whether the same text had already been imported.
fn place(options: &Options, (path, before): &(PathBuf, bool)) -> terminal::Kept {
    let place = shown(options, path);
    let here = files::state_folder().is_ok_and(|folder| path.parent() == Some(&folder));
    let stem = path.file_stem().filter(|_| here);
    let shown_by = stem.map_or(place.clone(), |stem| stem.to_string_lossy().into_owned());
    terminal::Kept { place, shown_by, before: *before }
}

/// Saves a record, unless an earlier import of the same text already did.
fn keep(record: &Record, path: &Path, named: bool) -> Result<(PathBuf, bool), Failure> {
    let json = as_json(record.to_json())?;
    let same = (!named)
        .then(|| path.parent().and_then(|folder| store::find_same_import(folder, &json, files::save_index)));
    match same.flatten() {
        Some(path) => Ok((path, true)),
        None => Ok((files::write_or_rescue(path, named, &json)?, false)),
    }
}

fn usage(error: impl std::error::Error) -> Failure {
    Failure::Usage(error.to_string())
}

fn read_text(importer: &mut Importer, path: &Path) -> Result<(), Failure> {
    let unreadable = |why: String| Failure::Input { path: path.to_owned(), why };
    let read = if path.as_os_str() == "-" {
        importer.read(STANDARD_INPUT, std::io::stdin())
    } else {
        // A reference machine is already a record.
        if let Some(name) = path.to_str().and_then(|path| path.strip_prefix(reference::PREFIX))
            && !path.exists()
        {
            let (prefix, name) = (reference::PREFIX, &sources::reference_machine(name)?.name);
            return Err(unreadable(format!("is already a record; linespeed show {prefix}{name} shows it")));
        }
        if path.is_dir() {
            return Err(unreadable("is a directory; specify the files in it".to_owned()));
        }
        let file = File::open(path)
            .map_err(|error| unreadable(format!("cannot be opened: {error}; specify another file, or -")))?;
        importer.read(&visible(path), file)
    };
    read.map_err(|error| unreadable(format!("cannot be read: {error}")))
}

fn refused(error: &Error, options: &Import) -> Failure {
    let names: Vec<String> = options.files.iter().map(|path| visible(path)).collect();
    let names = names.join(", ");
    Failure::Cannot(match error {
        Error::NothingKnown { .. } => {
            format!("{names}: {error}; linespeed import --help lists the tools")
        }
        Error::NothingRead { .. } => format!("{names}: {error}"),
        Error::SeveralMachines(clash) if options.split.as_deref() == Some("headings") => {
            format!("{clash}: no heading separates these machines; use --split files or --split REGEX")
        }
        _ => error.to_string(),
    })
}

/// Prints one line about the lines that were not recognized.
fn complain(not_understood: &NotUnderstood) {
    let Some(first) = not_understood.examples.first() else { return };
    let says: String = first.says.chars().take(60).collect();
    let lines = count_noun(not_understood.lines, "line");
    output::complain(&format!(
        "{lines} not recognized; the first: {} line {}: {says}",
        first.text, first.line
    ));
}
