//! Where a record goes, and what is printed of it.

use std::path::{Path, PathBuf};

use record::{Machine, Record};
use report::terminal::Style;

use crate::failure::Failure;
use crate::options::Options;
use crate::{files, output};

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
            let name = files::record_name(machine.hostname.as_deref(), &record.started);
            files::state_folder()?.join(format!("{name}.json"))
        }
    };
    files::check_writable(&path)?;
    Ok(Some(path))
}

/// JSON of a record, a plan, a comparison.
pub fn as_json(json: std::io::Result<String>) -> Result<String, Failure> {
    json.map_err(|error| Failure::Cannot(format!("this has no form in JSON: {error}")))
}

/// Writes the record and prints its report. What was measured is shown even when it could not be stored.
pub fn deliver(
    options: &Options,
    record: &Record,
    destination: Option<&Path>,
    report: impl FnOnce(&Record, &Style) -> String,
) -> Result<(), Failure> {
    let json = as_json(record.to_json())?;
    let mut text = String::new();
    if to_standard_output(options) {
        text.push_str(&json);
    } else if !options.out.quiet_output {
        text = report(record, &output::style(&options.out));
    }
    let Some(destination) = destination else { return output::print(&text) };
    match files::write_or_rescue(destination, options.out.output.is_some(), &json) {
        Ok(path) => {
            if !text.is_empty() && !to_standard_output(options) {
                text.push_str(&format!("\nRecord: {}\n", crate::failure::shown(&path)));
            }
            output::print(&text)
        }
        Err(failure) => {
            output::print(&text)?;
            Err(failure)
        }
    }
}
