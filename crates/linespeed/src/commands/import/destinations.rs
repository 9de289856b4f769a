//! Destinations for the records of imported machines.

use std::path::{Path, PathBuf};

use record::Record;

use crate::delivery::{is_named, output_file, to_standard_output};
use crate::failure::Failure;
use crate::options::Options;
use crate::{files, output};

/// The destination of each record, and whether the user specified it. A record has no destination if it is written to standard
/// output, or if the state directory is not writable. No data is lost in that case, because the user still has the input texts. `machines`
/// lists the machine names in the text.
pub(super) fn choose_destinations(
    options: &Options,
    records: &[Record],
    machines: &str,
) -> Result<Vec<(PathBuf, bool)>, Failure> {
    let several = records.len() > 1;
    let too_many = |way_out: &str| {
        Failure::Usage(format!("the input contains {} machines ({machines}): {way_out}", records.len()))
    };
    if several && (options.out.form().is_some() || to_standard_output(options)) {
        return Err(too_many("print one machine with --only NAME, or write all with --output DIR/"));
    }
    if to_standard_output(options) && !is_named(options) {
        return Ok(Vec::new());
    }
    let own = |folder: &Path| -> Vec<(PathBuf, bool)> {
        let file = |record: &Record| {
            let import = record.import.as_ref();
            let name = record.machine.hostname.as_ref().or(import.and_then(|import| import.name.as_ref()));
            record::file_name::record_name(name.map(String::as_str), &record.started) + ".json"
        };
        records.iter().map(|record| (folder.join(file(record)), false)).collect()
    };
    let destinations = match output_file(options).filter(|_| is_named(options)) {
        None => {
            let own = files::state_folder().map(|folder| own(&folder));
            let checked = own.and_then(|own| {
                own.iter().try_for_each(|(path, _)| files::check_writable(path)).map(|()| own)
            });
            return Ok(checked.unwrap_or_else(|failure| {
                output::complain(&format!("no record will be saved: {failure}"));
                Vec::new()
            }));
        }
        Some(folder) if folder.is_dir() => own(&folder),
        Some(folder) if folder.as_os_str().as_encoded_bytes().ends_with(b"/") => {
            std::fs::create_dir_all(&folder).map_err(|error| {
                Failure::Cannot(format!("{}: cannot be created: {error}", folder.display()))
            })?;
            own(&folder)
        }
        Some(_) if several => {
            return Err(too_many(
                "use --output with a directory (a name ending in / creates it), or --only NAME",
            ));
        }
        Some(file) => vec![(file, true)],
    };
    for (path, _) in &destinations {
        files::check_writable(path)?;
    }
    Ok(destinations)
}
