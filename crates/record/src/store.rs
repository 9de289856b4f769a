//! Directories of records: lists of records, the choice of the record that represents a machine, and labels.
//!
//! A label is a symbolic link in the directory `labels`, so the record itself is not changed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::file_name::{REDACTED, host_of, record_name};
use crate::phrase::visible;
use crate::redaction::Aliases;
use crate::{Machine, Record, Text, text};

use entry::content;
pub use entry::{Entry, OF_A_WHOLE_RUN};
pub use read_each::read_each;

mod entry;
mod index;
mod read_each;

/// The file with ceilings, stored next to the records.
pub const CEILINGS: &str = "ceilings.json";
/// Maximum number of records that are examined, newest first, to find the one that represents a machine.
const MOST_LOOKED_AT: usize = 200;
/// Maximum number of records of one machine that are read, newest first.
const MOST_OF_A_MACHINE: usize = 30;
/// Maximum number of files that are searched for these records. The limit can be high, because most files are small:
/// they are records of a command that was measured repeatedly.
const MOST_PASSED_OVER: usize = 1000;
/// Maximum number of files that are read for the index when a record is written. It is small enough to avoid a
/// noticeable delay.
const MOST_INDEXED_AT_ONCE: usize = 100;
const LABELS: &str = "labels";

fn read(path: &Path) -> Option<Record> {
    Record::from_json(&content(path)?).ok()
}

/// The record that represents a machine, and a note on the choice.
#[derive(Debug)]
pub struct Newest {
    /// The newest complete run, quick or not; otherwise the newest of the records with the most metrics.
    pub entry: Entry,
    /// A newer record from a partial run.
    pub newer: Option<Entry>,
}

impl Newest {
    /// A note on the choice. `own` is the directory of the user's own records.
    pub fn remark(&self, own: Option<&Path>) -> Option<Text> {
        // In the user's own directory, the record's name is sufficient, because every command finds the record by its name.
        let named = |path: &Path| {
            let stem = path.file_stem().filter(|_| own.is_some() && path.parent() == own);
            stem.map_or_else(|| visible(path), |stem| visible(Path::new(stem)))
        };
        let record = named(&self.entry.path);
        let lacks = self.entry.lacks();
        if !lacks.is_empty() {
            return Some(text!(
                "\".\" is {record}, a partial run (no {lacks}); run linespeed to measure everything",
                record,
                lacks = lacks.join(", ")
            ));
        }
        if let Some(newer) = &self.newer {
            let newer = named(&newer.path);
            let says =
                text!("\".\" is {record}, the newest complete run; {newer} is only partial", record, newer);
            return Some(says);
        }
        let elsewhere = own.is_none_or(|own| !self.entry.path.starts_with(own));
        elsewhere.then(|| text!("\".\" is {record}", record))
    }
}

/// The record that represents a host in any of the directories: one with its name, otherwise one with its pseudonym.
/// Files named after other hosts are read only if no other file belongs to this host.
pub fn newest(folders: &[PathBuf], names: &[String]) -> Option<Newest> {
    // A redacted record is chosen last, because its facts differ from those of all other records.
    names.iter().find_map(|name| newest_named(folders, std::slice::from_ref(name), &own_names(names)))
}

fn newest_named(folders: &[PathBuf], names: &[String], own: &[String]) -> Option<Newest> {
    let (own, others): (Vec<PathBuf>, Vec<PathBuf>) =
        list_names(folders).into_iter().partition(|path| may_be_of(path, own));
    newest_of(by_age(own), names).or_else(|| newest_of(by_age(others), names))
}

/// Like [`newest`], but chooses from these files, which are ordered with the most recently written first.
fn newest_of(files: Vec<PathBuf>, names: &[String]) -> Option<Newest> {
    let (mut partial, mut newer): (Option<Entry>, Option<Entry>) = (None, None);
    for path in files.into_iter().take(MOST_LOOKED_AT) {
        let Some(entry) = Entry::read(&path).filter(|entry| names.contains(&entry.host)) else { continue };
        if entry.is_whole() {
            return Some(Newest { entry, newer });
        }
        if entry.metrics.is_empty() {
            continue;
        }
        newer.get_or_insert_with(|| entry.clone());
        // If several records have the same number of metrics, the newest is used.
        if partial.as_ref().is_none_or(|most| most.metrics.len() < entry.metrics.len()) {
            partial = Some(entry);
        }
    }
    partial.map(|entry| Newest { entry, newer: None })
}

/// The `wanted` records of the host with this name and these pseudonyms in the directories, newest first by file name. In all of them,
/// the host name is that of `machine`. Files that are not records, or that belong to another machine, are left out.
pub fn of_machine<'a, W: FnMut(&Entry) -> bool>(
    folders: &[PathBuf],
    machine: &'a Machine,
    names: Vec<String>,
    mut wanted: W,
) -> impl Iterator<Item = (PathBuf, Record)> + use<'a, W> {
    let (mut files, _) = of_host(folders, &names);
    // Files with user-chosen names are moved from the front to the end, because these names contain no time.
    let own = files.iter().take_while(|path| host_of(&stem(path)).is_none()).count();
    files.rotate_left(own);
    let records = files.into_iter().take(MOST_PASSED_OVER).filter_map(move |path| {
        let text = content(&path)?;
        let of_host = Entry::from_json(&text, &path).is_some_and(|e| names.contains(&e.host) && wanted(&e));
        let mut record = of_host.then(|| Record::from_json(&text).ok()).flatten()?;
        record.machine.hostname.clone_from(&machine.hostname);
        Some((path, record))
    });
    records.filter(|(_, record)| machine.is_same_hardware(&record.machine)).take(MOST_OF_A_MACHINE)
}

/// Files in the directories that may be records of the host with this name and these pseudonyms, newest first by file name, and the number
/// of files named after other hosts. A file with a user-chosen name may belong to any host.
pub fn of_host(folders: &[PathBuf], names: &[String]) -> (Vec<PathBuf>, usize) {
    let own = own_names(names);
    let files = list_names(folders);
    let all = files.len();
    let mut own: Vec<PathBuf> = files.into_iter().filter(|path| may_be_of(path, &own)).collect();
    // The file names of a host end in the time, so they sort by age; files with user-chosen names come first.
    own.sort_by_cached_key(|path| {
        let name = stem(path);
        let host = host_of(&name).map(str::len);
        let time = name.get(host.unwrap_or(0)..).unwrap_or_default().to_owned();
        std::cmp::Reverse((host.is_none(), time, name))
    });
    let others = all - own.len();
    (own, others)
}

/// For each name of a host: the host part of the file names of its records. If the host has pseudonyms, the host part of
/// redacted files is included.
fn own_names(names: &[String]) -> Vec<String> {
    let redacted = names.get(1).map(|_| REDACTED.to_owned());
    let begin = |host: &String| {
        let name = record_name(Some(host), "");
        name.strip_suffix('-').unwrap_or(&name).to_owned()
    };
    names.iter().map(begin).chain(redacted).collect()
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Whether a file may belong to the host with these host parts: the host part of its name is one of them, or the name
/// is user-chosen.
fn may_be_of(path: &Path, own: &[String]) -> bool {
    host_of(&stem(path)).is_none_or(|of| own.iter().any(|own| of == own))
}

/// All records in the directories with their labels, newest first. The entries of unchanged files are read from the index of their
/// directory; `save` receives a directory's new index with its path.
pub fn list(folders: &[PathBuf], save: impl Fn(&Path, &str)) -> Vec<Entry> {
    let now = index::now();
    let mut entries: Vec<Entry> = folders
        .iter()
        .flat_map(|folder| index::entries(folder, now, usize::MAX, Entry::read, &save))
        .collect();
    let mut labelled: HashMap<PathBuf, Vec<String>> = HashMap::new();
    for (name, target) in folders.iter().flat_map(|folder| labels(folder)) {
        labelled.entry(target).or_default().push(name);
    }
    for entry in entries.iter_mut().filter(|_| !labelled.is_empty()) {
        let here = std::fs::canonicalize(&entry.path).ok();
        entry.labels = here.and_then(|here| labelled.get(&here)).cloned().unwrap_or_default();
    }
    // Records of the same second have a number at the end of their names.
    let name = |entry: &Entry| (entry.path.file_stem().map_or(0, OsStr::len), entry.path.clone());
    entries.sort_by(|a, b| b.started.cmp(&a.started).then_with(|| name(b).cmp(&name(a))));
    entries
}

/// Updates the index of a directory after a record was written: reads a limited number of the files that are not yet in
/// the index. The first listing then does not have to read all files.
pub fn extend_index(folder: &Path, save: impl Fn(&Path, &str)) {
    index::entries(folder, index::now(), MOST_INDEXED_AT_ONCE, Entry::read, save);
}

/// The record in a directory that an earlier import of the same output wrote: one with the same content as the record
/// in `json`.
pub fn find_same_import(folder: &Path, json: &str, save: impl Fn(&Path, &str)) -> Option<PathBuf> {
    // Both records are parsed from JSON before the comparison, so that rounding affects them equally.
    let said = |record: Record| (record.machine, record.measurements, record.import);
    let new = Record::from_json(json.as_bytes()).ok()?;
    let host = new.machine.hostname.clone().unwrap_or_default();
    let new = said(new);
    let imported = list(&[folder.to_owned()], save).into_iter().filter(|e| e.imported && e.host == host);
    imported.map(|entry| entry.path).find(|path| read(path).is_some_and(|record| said(record) == new))
}

/// The files by the time of their last change, newest first.
fn by_age(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut files: Vec<(SystemTime, PathBuf)> = files
        .into_iter()
        .filter_map(|path| Some((std::fs::metadata(&path).ok()?.modified().ok()?, path)))
        .collect();
    files.sort_by(|a, b| b.cmp(a));
    files.into_iter().map(|(_, path)| path).collect()
}

/// The JSON files in the directories except the ceilings, in no particular order.
fn list_names(folders: &[PathBuf]) -> Vec<PathBuf> {
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let records = entries.map(|entry| entry.path()).filter(|path| {
        path.extension().is_some_and(|ending| ending == "json")
            && path.file_name().is_none_or(|name| name != CEILINGS)
    });
    records.collect()
}

/// The labels in a directory, and the records to which they point.
fn labels(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder.join(LABELS)).into_iter().flatten().flatten();
    let label = |entry: std::fs::DirEntry| {
        Some((entry.file_name().into_string().ok()?, std::fs::canonicalize(entry.path()).ok()?))
    };
    let mut labels: Vec<(String, PathBuf)> = entries.filter_map(label).collect();
    labels.sort();
    labels
}

/// The record with this label, or with this file name without its extension.
pub fn find(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    let plain = is_label(name);
    let labelled = |folder: &PathBuf| std::fs::canonicalize(folder.join(LABELS).join(name)).ok();
    let named = |folder: &PathBuf| Some(folder.join(format!("{name}.json"))).filter(|path| path.is_file());
    let found = folders.iter().filter(|_| plain).filter_map(labelled).find(|path| path.is_file());
    found.or_else(|| folders.iter().filter(|_| plain).find_map(named))
}

/// Whether a name can be used as a label: it consists of letters, digits and `-_.+@`, and does not begin with `-` or `.`, so it is neither
/// a path nor an option.
pub fn is_label(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "-_.+@".contains(c);
    !name.is_empty() && name.chars().all(plain) && !name.starts_with(['-', '.'])
}

/// Assigns a label to a record; returns the record that had the label before.
///
/// # Errors
///
/// The name is not allowed as a label, or the directory cannot be written to.
pub fn label(folder: &Path, name: &str, record: &Path) -> std::io::Result<Option<PathBuf>> {
    if !is_label(name) {
        return Err(Error::from(ErrorKind::InvalidInput));
    }
    let labels = folder.join(LABELS);
    std::fs::create_dir_all(&labels)?;
    let record = std::fs::canonicalize(record)?;
    let link = labels.join(name);
    let before = std::fs::canonicalize(&link).ok().filter(|before| *before != record);
    let new = labels.join(format!(".{name}-{}", std::process::id()));
    // A run that was killed at this point may have left the file.
    let _ = std::fs::remove_file(&new);
    std::os::unix::fs::symlink(record, &new)?;
    std::fs::rename(new, link)?;
    Ok(before)
}

/// Removes a record, its HTML page, and its labels.
///
/// # Errors
///
/// The record cannot be removed.
pub fn remove(folders: &[PathBuf], entry: &Entry) -> std::io::Result<()> {
    let links = folders.iter().flat_map(|at| entry.labels.iter().map(|name| at.join(LABELS).join(name)));
    let here = std::fs::canonicalize(&entry.path)?;
    let links: Vec<PathBuf> =
        links.filter(|link| std::fs::canonicalize(link).is_ok_and(|target| target == here)).collect();
    std::fs::remove_file(&entry.path)?;
    // There may be no HTML page, so errors are ignored.
    let _ = std::fs::remove_file(entry.path.with_extension("html"));
    links.iter().try_for_each(std::fs::remove_file)
}

/// The records that may be removed if `keep` records of each host are kept; `all` is ordered with the newest first. Labeled records and the
/// complete run that represents a host are always kept. `aliases` identifies hosts.
pub fn superfluous<'a>(all: &'a [Entry], keep: usize, aliases: &Aliases) -> Vec<&'a Entry> {
    let names = aliases.resolve(all.iter().map(|entry| entry.host.as_str()));
    let host_of = |entry: &'a Entry| names.get(&entry.host).unwrap_or(&entry.host).as_str();
    let mut kept: HashMap<&str, usize> = HashMap::new();
    let mut stands: HashMap<&str, &'a Entry> = HashMap::new();
    for entry in all.iter().filter(|entry| entry.is_whole()) {
        stands.entry(host_of(entry)).or_insert(entry);
    }
    all.iter()
        .filter(|entry| {
            let count = kept.entry(host_of(entry)).or_default();
            *count += 1;
            let stands_for_host = stands.get(host_of(entry)).is_some_and(|one| std::ptr::eq(*one, *entry));
            *count > keep && entry.labels.is_empty() && !stands_for_host
        })
        .collect()
}

#[cfg(test)]
mod index_tests;
#[cfg(test)]
mod tests;
