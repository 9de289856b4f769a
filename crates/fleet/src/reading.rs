//! Reads the records in directories and files one by one: a summary of each is kept, and files that are not records are counted and
//! listed.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use record::baseline::Baseline;
use record::document::MAX_RECORD_BYTES;
use record::fleet::Remark;
use record::phrase::visible;
use record::redaction::Aliases;
use record::regular_file::{self, NotRead};
use record::store::{CEILINGS, read_each};
use record::{ReadError, Record, Template, Text, text};

use crate::brief::{Brief, Known, is_held};
use crate::machines::{newest_of_each, remark};
use crate::names::Names;

/// Maximum memory for reading one record, in bytes. This is twice the size of the largest record that import writes.
const MOST_MEMORY: u64 = 256 << 20;
/// Maximum depth of directories.
const DEEPEST: usize = 16;

const UNREADABLE: Template = Template::new("fleet-unreadable", "cannot be read");
const TOO_LARGE: Template = Template::new("fleet-too-large", "too large for a record");

/// The result of reading.
#[derive(Debug, Default)]
pub struct Collection {
    /// One summary per record, in the order of the files.
    pub briefs: Vec<Brief>,
    /// Names and values shared by records.
    pub known: Known,
    /// The number of files examined.
    pub files: u64,
    /// Remarks about skipped files and other problems.
    pub remarks: Vec<Remark>,
}

/// Reads the given files, and all `.json` files under the given directories, with this many threads. `names` provides the displayed names.
/// Errors do not stop reading: an unreadable file becomes a remark.
pub fn read(paths: &[PathBuf], threads: usize, names: &Names) -> Collection {
    let mut remarks = Vec::new();
    let mut files = Vec::new();
    for path in paths {
        list(path, 0, &mut files, &mut remarks, names);
    }
    files.sort();
    files.dedup();
    let known = Mutex::new(Known::default());
    let all = read_each(&files, threads, |path| read_one(path, &known, names));
    let mut briefs = Vec::new();
    for (path, result) in files.iter().zip(all) {
        let file = || Some(visible(&names.of_file(path)));
        match result {
            Err(why) => remark(&mut remarks, why, true, file()),
            Ok(brief) => {
                let older = text!("fleet-older", "written by another version of linespeed");
                let early = text!("fleet-broken-off", "the run ended early; its results are used");
                let notes = [brief.older.then_some(older), (!brief.complete).then_some(early)];
                notes.into_iter().flatten().for_each(|what| remark(&mut remarks, what, false, file()));
                briefs.push(*brief);
            }
        }
    }
    let known = known.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Collection { briefs, known, files: files.len() as u64, remarks }
}

/// The newest record of each machine in a directory, without samples.
pub fn newest_records(folder: &Path, names: &Names, aliases: &Aliases) -> Vec<Record> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut read = read(&[folder.to_owned()], threads, names);
    let newest = newest_of_each(&mut read.briefs, &mut read.remarks, aliases).into_iter().next();
    let briefs = newest.unwrap_or_default().into_iter().filter_map(|at| read.briefs.get(at));
    briefs.filter_map(|brief| read_record(&brief.path, names).ok()).collect()
}

/// Adds a file, or the files in a directory. In a directory, only files whose names end in `.json` can be records.
fn list(path: &Path, depth: usize, files: &mut Vec<PathBuf>, remarks: &mut Vec<Remark>, names: &Names) {
    // A link to a directory is followed only if the user specified it, because other links may form a loop.
    let kind = if depth == 0 { std::fs::metadata(path) } else { std::fs::symlink_metadata(path) };
    let is_folder = kind.is_ok_and(|kind| kind.is_dir());
    if !is_folder {
        let may_be = path.extension().is_some_and(|ending| ending == "json");
        if depth == 0 || may_be && path.file_name().is_none_or(|name| name != CEILINGS) {
            files.push(path.to_owned());
        }
        return;
    }
    match std::fs::read_dir(path) {
        Ok(entries) if depth < DEEPEST => {
            entries.flatten().for_each(|entry| list(&entry.path(), depth + 1, files, remarks, names));
        }
        _ => remark(remarks, text!(UNREADABLE), true, Some(visible(&names.of_file(path)))),
    }
}

/// Reads a file, or returns the reason why it does not count.
fn read_one(path: &Path, known: &Mutex<Known>, names: &Names) -> Result<Box<Brief>, Text> {
    let mut record = read_record(path, names)?;
    record.measurements.retain(|m| is_held(m.metric));
    // Boxed because otherwise the result for every file would need as much memory as a summary, even for perhaps a million files that are
    // not records.
    Ok(Box::new(Brief::from_record(&record, path.to_owned(), names.of_file(path), known)))
}

/// Reads a record with results but without samples, or returns the reason why the file does not count.
pub(crate) fn read_record(path: &Path, names: &Names) -> Result<Record, Text> {
    let content = regular_file::read(path, MAX_RECORD_BYTES).map_err(|error| match error {
        NotRead::Io(_) => text!(UNREADABLE),
        NotRead::NotRegular => text!("fleet-no-regular-file", "not a regular file"),
        NotRead::TooLarge(_) => text!(TOO_LARGE),
    })?;
    let mut record = Record::from_json_within(&content.0, MOST_MEMORY).map_err(|error| match error {
        ReadError::Io(_) => text!(UNREADABLE),
        ReadError::Empty => text!("fleet-empty", "empty"),
        ReadError::Truncated => text!("fleet-half", "truncated: only partly written or copied"),
        ReadError::NotJson(_) => text!("fleet-not-json", "not JSON"),
        ReadError::NotARecord(_) if Baseline::is_in(&content.0) => {
            text!("fleet-is-baseline", "a fleet baseline, not a record")
        }
        ReadError::NotARecord(_) => text!("fleet-foreign", "JSON, but not a linespeed record"),
        ReadError::Newer(_) => {
            text!("fleet-newer", "written by a newer linespeed: use that version to read it")
        }
        ReadError::TooLarge(_) | ReadError::NoRoom { .. } => text!(TOO_LARGE),
    })?;
    record.keep_summaries();
    if record.watch.is_some() {
        return Err(text!("fleet-watch", "a live recording; compare two with linespeed compare"));
    }
    if record.measurements.is_empty() {
        return Err(text!("fleet-no-figures", "no results: inventory only"));
    }
    names.in_record(record).ok_or_else(|| text!(UNREADABLE))
}
