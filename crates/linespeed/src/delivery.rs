//! Where a record goes, and what is printed of it.

use std::path::{Path, PathBuf};

use record::{Machine, Record};
use report::terminal::Style;

use crate::failure::Failure;
use crate::options::Options;
use crate::{files, output, pager};

/// The file that `--output` names, `None` when it is `-` or was not given.
pub fn output_file(options: &Options) -> Option<PathBuf> {
    options.out.output.clone().filter(|path| path.as_os_str() != "-")
}

/// Whether the record goes to standard output and nothing else does.
pub fn to_standard_output(options: &Options) -> bool {
    options.out.json || options.out.output.as_deref().is_some_and(|path| path.as_os_str() == "-")
}

/// Where the record will go: checked before anything is measured; `None` for standard output.
pub fn destination(
    options: &Options,
    machine: &Machine,
    record: &Record,
) -> Result<Option<PathBuf>, Failure> {
    let path = match output_file(options) {
        Some(path) => path,
        None if to_standard_output(options) => return Ok(None),
        None => {
            let name = record::file_name::record_name(machine.hostname.as_deref(), &record.started);
            files::state_folder()?.join(format!("{name}.json"))
        }
    };
    files::check_writable(&path)?;
    Ok(Some(path))
}

/// Writes a text to the file that `--output` names, or else prints it.
pub fn print_or_write(options: &Options, text: &str) -> Result<(), Failure> {
    match output_file(options) {
        Some(path) => files::write(&path, text),
        None if options.out.json => output::print(text),
        None => pager::page(text, &options.out),
    }
}

/// JSON of a record, a plan, a comparison.
pub fn as_json(json: std::io::Result<String>) -> Result<String, Failure> {
    json.map_err(|error| Failure::Cannot(format!("cannot be written as JSON: {error}")))
}

/// Writes the record and prints its report. What was measured is shown even when it could not be stored.
pub fn deliver(
    options: &Options,
    record: &Record,
    destination: Option<&Path>,
    report: impl FnOnce(&Record, &Style) -> String,
) -> Result<(), Failure> {
    deliver_with_page(options, record, destination, report, None, true)
}

/// The same with a page beside a record whose place the user has not named. `names_files`: the report ends with their names.
pub fn deliver_with_page(
    options: &Options,
    record: &Record,
    destination: Option<&Path>,
    report: impl FnOnce(&Record, &Style) -> String,
    page: Option<fn(&Record) -> String>,
    names_files: bool,
) -> Result<(), Failure> {
    let json = as_json(record.to_json())?;
    let mut text = String::new();
    if to_standard_output(options) {
        text.push_str(&json);
    } else if !options.out.quiet_output {
        text = report(record, &output::style(&options.out));
    }
    let Some(destination) = destination else { return output::print(&text) };
    let named = options.out.output.is_some();
    let path = match files::write_or_rescue(destination, named, &json) {
        Ok(path) => path,
        Err(failure) => return output::print(&text).and(Err(failure)),
    };
    // A page beside a record that the user named would surprise.
    let page = page.filter(|_| !named).map(|page| (path.with_extension("html"), page(record)));
    let written = page.as_ref().map_or(Ok(()), |(path, page)| files::write(path, page));
    if names_files && !text.is_empty() && !to_standard_output(options) {
        text.push_str(&format!("\nRecord: {}\n", crate::failure::shown(&path)));
        if let (Some((page, _)), Ok(())) = (&page, &written) {
            text.push_str(&format!("Page:   {}\n", crate::failure::shown(page)));
        }
    }
    output::print(&text).and(written)
}
