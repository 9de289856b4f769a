//! Locations of records, pages and other output files, and atomic writes.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use os::whole_file::Writer;
use os::{Invoker, places};
use record::Text;
use record::phrase::visible;
use record::redaction::{Aliases, Key};

use crate::failure::Failure;

const WAY_OUT: &str = "choose another path with --output FILE, or write to standard output (--json, --html…)";

/// Writes files. Under sudo, files in the state directory belong to the invoking user.
static WRITER: LazyLock<Writer> = LazyLock::new(|| {
    let (own, named) = (places::state_folder(), places::named_state_folder());
    if let (Some(own), Some(named)) = (&own, &named)
        && own != named
    {
        let (own, named) = (visible(own), visible(named));
        crate::output::complain(&format!(
            "other users can modify {named}; root's records are saved in {own}"
        ));
    }
    Writer { own, owner: Invoker::of_sudo() }
});

/// The directory for records.
pub fn state_folder() -> Result<PathBuf, Failure> {
    let none =
        || Failure::Cannot(format!("no directory for records (XDG_STATE_HOME and HOME unset); {WAY_OUT}"));
    places::state_folder().ok_or_else(none)
}

/// The directory of the user's recipes.
pub fn recipes() -> Option<PathBuf> {
    places::config_folder().map(|folder| folder.join("recipes"))
}

/// Checks before a run that a file can be written to `path`, to avoid losing a minute of measurements.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    Ok(WRITER.check(path)?)
}

/// Writes `text` to `path` atomically.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    Ok(WRITER.write(path, text)?)
}

/// Writes `text` to `path` atomically, without waiting for a disk or a reader.
pub fn refresh(path: &Path, text: &str) -> Result<(), Failure> {
    Ok(WRITER.refresh(path, text)?)
}

/// Writes a new measurement, and returns its path.
pub fn write_or_rescue(path: &Path, named: bool, text: &str) -> Result<PathBuf, Failure> {
    Ok(WRITER.write_or_rescue(path, named, text)?)
}

/// Sets a label for a record, and reports which record had the label before.
pub fn label_record(label: &str, record: &Path) -> Result<(), Failure> {
    let _owner = WRITER.assume(WRITER.own.as_deref().unwrap_or(record));
    let failed = |error| Failure::Cannot(format!("--label {label}: cannot be written: {error}"));
    if let Some(before) = record::store::label(&state_folder()?, label, record).map_err(failed)? {
        crate::output::complain(&format!("label {label} was moved from {} (still saved)", visible(&before)));
    }
    Ok(())
}

/// Saves the index of a directory of records, if the directory belongs to this user. Without an index, records can still be listed,
/// but more slowly.
pub fn save_index(path: &Path, text: &str) {
    if path.parent() == places::state_folder().as_deref() {
        let _ = WRITER.refresh(path, text);
    }
}

/// Updates the index after a record was written, if the record is in that directory.
pub fn extend_index(record: &Path) {
    let own = places::state_folder().filter(|own| record.parent() == Some(own));
    if let Some(own) = own {
        record::store::extend_index(&own, save_index);
    }
}

/// The key from which pseudonyms are derived, and a warning if one is needed.
pub fn redaction_key() -> Result<(Key, Option<Text>), Failure> {
    os::kept_key::kept_key(&WRITER, places::state_folder().as_deref())
        .map_err(|error| Failure::Cannot(format!("--redact: no random numbers available: {error}")))
}

/// The names of each host, including its pseudonyms, which are derived from the keys in the directories of records.
pub fn aliases() -> Aliases {
    let folders = places::state_folders();
    Aliases::new(folders.iter().filter_map(|folder| os::kept_key::known_key(&WRITER, folder)).collect())
}

/// Creates a directory specified by the user, including its parents.
pub fn create(folder: &Path) -> Result<(), Failure> {
    let failed =
        |error| Failure::Output { path: Some(folder.to_owned()), error, way_out: "choose another directory" };
    std::fs::create_dir_all(folder).map_err(failed)
}

impl From<os::whole_file::CannotWrite> for Failure {
    fn from(failed: os::whole_file::CannotWrite) -> Self {
        let (path, error) = (failed.path, failed.error);
        match failed.saved {
            Some(saved) => Failure::Rescued { path, error, saved },
            None => Failure::Output { path: Some(path), error, way_out: WAY_OUT },
        }
    }
}
