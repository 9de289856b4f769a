//! The ceilings of this machine in a tiny file beside the records: what `stat` holds a command against, read in an instant.

use std::path::PathBuf;

use diagnose::KeptCeilings;
use machine::Root;
use record::{Ended, Record};

use crate::files;

/// A file that is longer is not ours.
const MOST_BYTES: u64 = 64 << 10;

fn path() -> Option<PathBuf> {
    files::state_folder().ok().map(|folder| folder.join(record::store::CEILINGS))
}

/// Reads them.
pub fn read() -> KeptCeilings {
    // Who we are is asked only where there is something to compare it with.
    let path = path().filter(|path| path.exists());
    let small =
        |path: &PathBuf| std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.len() <= MOST_BYTES);
    match path.filter(small).and_then(|path| std::fs::read(path).ok()) {
        Some(text) => KeptCeilings::read(&text, &machine::identity(&Root::live())),
        None => KeptCeilings::Nothing,
    }
}

/// Keeps what a record of this machine tells of its ceilings. `ours` says that the record goes into the state folder too;
/// else nothing is written there unless the file stands there already. That it cannot be written is no error of the run.
pub fn keep(record: &Record, ours: bool) {
    let Some(path) = path() else { return };
    if record.ended != Ended::Complete || record.machine.virtualization.emulated == Some(true) {
        return;
    }
    if ours || path.exists() {
        let here = machine::identity(&Root::live());
        if let Some(text) = read().with_record(record, &here) {
            let _ = files::write(&path, &text);
        }
    }
}
