//! The ceilings of machines, with which `stat` compares a command. They are saved in a small file next to the records, because a small
//! file can be read quickly.

use std::path::{Path, PathBuf};

use diagnose::KeptCeilings;
use machine::Root;
use record::command_run::Ceilings;
use record::{Ended, Record, regular_file};

use crate::files;

/// A longer file cannot have been written by linespeed.
const MOST_BYTES: u64 = 1 << 20;

fn path() -> Option<PathBuf> {
    files::state_folder().ok().map(|folder| folder.join(record::store::CEILINGS))
}

/// Reads the ceilings.
fn read() -> KeptCeilings {
    let text = path().and_then(|path| regular_file::read(&path, MOST_BYTES).ok());
    text.map(|(text, _)| KeptCeilings::read(&text)).unwrap_or_default()
}

/// The ceilings of this machine, within the limits of this process; otherwise, why there are none.
pub fn of_this_machine() -> Result<Ceilings, &'static str> {
    let kept = read();
    let others = kept.is_of_others();
    // This machine is identified only if there are saved ceilings to compare with.
    let found = others.then(|| kept.find(&machine::identity(&Root::live())).cloned()).flatten();
    found.ok_or(match others {
        true => "the saved ceilings are for another machine or for other limits (cpuset, quota)",
        false => "no ceilings have been measured on this machine yet",
    })
}

/// Saves the ceilings from a record of this machine; `file` is the record's path. `ours` means that the record is in the state
/// directory; otherwise, the ceilings are saved only if their file already exists. If the write fails, the run still succeeds.
pub fn keep(record: &Record, file: Option<&Path>, ours: bool) {
    let Some(path) = path() else { return };
    if record.ended != Ended::Complete || record.machine.virtualization.emulated == Some(true) {
        return;
    }
    if ours || path.exists() {
        let here = machine::identity(&Root::live());
        let name = file.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        if let Some(text) = read().with_record(record, name.as_deref(), &here) {
            let _ = files::write(&path, &text);
        }
    }
}
