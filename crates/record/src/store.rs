//! The folders that records lie in: which there are, which stands for a machine, and their labels.
//!
//! A label is a symbolic link in the folder `labels`, so that the record stays as it was written.

use std::collections::{BTreeSet, HashMap};
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::file_name::{host_of, record_name};
use crate::phrase::visible;
use crate::{Machine, Record, RunMode, Text, regular_file, text};

/// The file beside the records that holds ceilings.
pub const CEILINGS: &str = "ceilings.json";
/// The metrics that a run of everything has on any machine; a record without one of them is of a part.
const OF_A_WHOLE_RUN: [&str; 3] = ["core.clock", "load.latency", "memory.bandwidth"];
/// Records that are looked at for one that stands for a machine, the newest first.
const MOST_LOOKED_AT: usize = 200;
/// Records of one machine that are looked at, the newest first.
const MOST_OF_A_MACHINE: usize = 30;
const LABELS: &str = "labels";

/// A record in a folder, by its beginning and what it is of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Its file.
    pub path: PathBuf,
    /// When it began.
    pub started: String,
    /// The host, empty where it has no name.
    pub host: String,
    /// The command line that made it.
    pub command: Vec<String>,
    /// How thorough the run was, where there is a choice.
    pub mode: Option<RunMode>,
    /// The metrics of which it has figures.
    pub metrics: BTreeSet<String>,
    /// Whether other tools measured it.
    pub imported: bool,
    /// The labels that it has.
    pub labels: Vec<String>,
}

impl Entry {
    /// Whether it is of a run of everything.
    pub fn is_whole(&self) -> bool {
        self.lacks().is_empty()
    }

    /// What a run of everything has and this has not.
    pub fn lacks(&self) -> Vec<&'static str> {
        OF_A_WHOLE_RUN.into_iter().filter(|name| !self.metrics.contains(*name)).collect()
    }

    /// Reads what a list of records tells of each; `None` for a file that is none.
    pub fn read(path: &Path) -> Option<Self> {
        #[derive(Deserialize)]
        struct Head {
            started: String,
            #[serde(default)]
            command: Vec<String>,
            mode: Option<RunMode>,
            #[serde(default)]
            machine: Host,
            #[serde(default)]
            measurements: Vec<Figure>,
            import: Option<IgnoredAny>,
        }
        #[derive(Default, Deserialize)]
        struct Host {
            hostname: Option<String>,
        }
        #[derive(Deserialize)]
        struct Figure {
            metric: String,
            summary: Count,
        }
        #[derive(Deserialize)]
        struct Count {
            n: u64,
        }
        let head: Head = serde_json::from_slice(&content(path)?).ok()?;
        let figures = head.measurements.into_iter().filter(|figure| figure.summary.n > 0);
        Some(Self {
            path: path.to_owned(),
            started: head.started,
            host: head.machine.hostname.unwrap_or_default(),
            mode: head.mode.or_else(|| RunMode::of_command(&head.command)),
            command: head.command,
            metrics: figures.map(|figure| figure.metric).collect(),
            imported: head.import.is_some(),
            labels: Vec::new(),
        })
    }
}

/// What a file in a folder of records holds; anything can lie there.
fn content(path: &Path) -> Option<Vec<u8>> {
    Some(regular_file::read(path, crate::document::MAX_RECORD_BYTES).ok()?.0)
}

fn read(path: &Path) -> Option<Record> {
    Record::from_json(&content(path)?).ok()
}

/// The record that stands for a machine, and what is to be known of the choice.
#[derive(Debug)]
pub struct Newest {
    /// The newest run of everything that was no quick one; without one, the newest quick one; without any, the newest of those
    /// with the most metrics.
    pub entry: Entry,
    /// A newer record, of a part or of a quick run.
    pub newer: Option<Entry>,
}

impl Newest {
    /// Whether it is of a run of everything that was no quick one.
    pub fn is_thorough(&self) -> bool {
        self.entry.is_whole() && self.entry.mode != Some(RunMode::Quick)
    }

    /// What is to be known of the choice. `own`: the folder of the user's own records.
    pub fn remark(&self, own: Option<&Path>) -> Option<Text> {
        let record = visible(&self.entry.path);
        let lacks = self.entry.lacks();
        if !lacks.is_empty() {
            return Some(text!(
                "newest-is-of-a-part",
                ". stands for {record}, which holds a part only (no {lacks}): linespeed measures everything",
                record,
                lacks = lacks.join(", ")
            ));
        }
        if let Some(newer) = &self.newer {
            let newer_one = visible(&newer.path);
            return Some(if newer.is_whole() {
                text!(
                    "newer-is-quick",
                    ". stands for {record}, the newest run of everything; {newer} is newer and of a quick run",
                    record,
                    newer = newer_one
                )
            } else {
                text!(
                    "newer-is-of-a-part",
                    ". stands for {record}, the newest run of everything; {newer} is newer and holds a part only",
                    record,
                    newer = newer_one
                )
            });
        }
        let elsewhere = own.is_none_or(|own| !self.entry.path.starts_with(own));
        elsewhere.then(|| text!("newest-is-elsewhere", ". stands for {record}", record))
    }
}

/// The record that stands for a host: of what was measured there, in any of the folders.
pub fn newest(folders: &[PathBuf], host: &str) -> Option<Newest> {
    let (mut partial, mut newer): (Option<Entry>, Option<Entry>) = (None, None);
    let mut quick: Option<Newest> = None;
    for path in files(folders).into_iter().take(MOST_LOOKED_AT) {
        let Some(entry) = Entry::read(&path).filter(|entry| entry.host == host) else { continue };
        if entry.is_whole() && entry.mode != Some(RunMode::Quick) {
            return Some(Newest { entry, newer });
        }
        if entry.is_whole() {
            quick.get_or_insert_with(|| Newest { entry: entry.clone(), newer: newer.clone() });
            newer.get_or_insert(entry);
            continue;
        }
        if entry.metrics.is_empty() {
            continue;
        }
        newer.get_or_insert_with(|| entry.clone());
        // Of equals the newest.
        if partial.as_ref().is_none_or(|most| most.metrics.len() < entry.metrics.len()) {
            partial = Some(entry);
        }
    }
    quick.or(partial.map(|entry| Newest { entry, newer: None }))
}

/// The records of a machine in a folder, the newest first by their names, which begin with the host's and end in the time. A file
/// that is no record, or another machine's, is left out.
pub fn of_machine(folder: PathBuf, machine: &Machine) -> impl Iterator<Item = (PathBuf, Record)> {
    let host = record_name(machine.hostname.as_deref(), "");
    let mut files = files(&[folder]);
    files.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&host)));
    files.sort_by(|a, b| b.cmp(a));
    let records = files.into_iter().take(MOST_OF_A_MACHINE).filter_map(|path| {
        let record = read(&path)?;
        Some((path, record))
    });
    records.filter(|(_, record)| machine.is_same_hardware(&record.machine))
}

/// Files of the folders that may be a host's records, the newest first by their names, and how many are other hosts' by theirs. A
/// file with a name of its own may be anybody's.
pub fn of_host(folders: &[PathBuf], host: &str) -> (Vec<PathBuf>, usize) {
    let own = record_name(Some(host), "");
    let stem = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let is_own = |path: &PathBuf| host_of(&stem(path)).is_none_or(|of| own.strip_suffix('-') == Some(of));
    let names = list_names(folders);
    let all = names.len();
    let mut own: Vec<PathBuf> = names.into_iter().filter(is_own).collect();
    // Names of one host end in the time; what has a name of its own is read first.
    own.sort_by_cached_key(|path| {
        let name = stem(path);
        std::cmp::Reverse((host_of(&name).is_none(), name))
    });
    let others = all - own.len();
    (own, others)
}

/// All records of the folders with their labels, the newest first.
pub fn list(folders: &[PathBuf]) -> Vec<Entry> {
    let labels: Vec<(String, PathBuf)> = folders.iter().flat_map(|folder| labels(folder)).collect();
    let mut entries: Vec<Entry> = files(folders).iter().filter_map(|path| Entry::read(path)).collect();
    for entry in &mut entries {
        let here = std::fs::canonicalize(&entry.path).ok();
        let of = labels.iter().filter(|(_, target)| Some(target) == here.as_ref());
        entry.labels = of.map(|(name, _)| name.clone()).collect();
    }
    entries.sort_by(|a, b| b.started.cmp(&a.started));
    entries
}

/// The record in a folder that other tools' output was imported to before: it says the same as this JSON of a record.
pub fn find_same_import(folder: &Path, json: &str) -> Option<PathBuf> {
    // Figures are held against each other as they are read, both from text.
    let said = |record: Record| (record.machine, record.measurements, record.import);
    let new = Record::from_json(json.as_bytes()).ok()?;
    let host = new.machine.hostname.clone().unwrap_or_default();
    let new = said(new);
    let imported =
        list(&[folder.to_owned()]).into_iter().filter(|entry| entry.imported && entry.host == host);
    imported.map(|entry| entry.path).find(|path| read(path).is_some_and(|record| said(record) == new))
}

/// The JSON files of the folders but for the ceilings, the last that was written first.
fn files(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut files: Vec<(SystemTime, PathBuf)> = list_names(folders)
        .into_iter()
        .filter_map(|path| Some((std::fs::metadata(&path).ok()?.modified().ok()?, path)))
        .collect();
    files.sort_by(|a, b| b.cmp(a));
    files.into_iter().map(|(_, path)| path).collect()
}

/// The JSON files of the folders but for the ceilings, in no order.
fn list_names(folders: &[PathBuf]) -> Vec<PathBuf> {
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let records = entries.map(|entry| entry.path()).filter(|path| {
        path.extension().is_some_and(|ending| ending == "json")
            && path.file_name().is_none_or(|name| name != CEILINGS)
    });
    records.collect()
}

/// The labels of a folder, and the records that they name.
fn labels(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder.join(LABELS)).into_iter().flatten().flatten();
    let label = |entry: std::fs::DirEntry| {
        Some((entry.file_name().into_string().ok()?, std::fs::canonicalize(entry.path()).ok()?))
    };
    let mut labels: Vec<(String, PathBuf)> = entries.filter_map(label).collect();
    labels.sort();
    labels
}

/// The record that a label, or the name of a file without its ending, stands for.
pub fn find(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    let plain = is_label(name);
    let labelled = |folder: &PathBuf| std::fs::canonicalize(folder.join(LABELS).join(name)).ok();
    let named = |folder: &PathBuf| Some(folder.join(format!("{name}.json"))).filter(|path| path.is_file());
    let found = folders.iter().filter(|_| plain).filter_map(labelled).find(|path| path.is_file());
    found.or_else(|| folders.iter().filter(|_| plain).find_map(named))
}

/// Whether this may be a label: it is no path, no flag, and stands for nothing else.
pub fn is_label(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "-_.+@".contains(c);
    !name.is_empty() && name.chars().all(plain) && !name.starts_with(['-', '.'])
}

/// Lets a label stand for a record; returns the record that it stood for before.
///
/// # Errors
///
/// The name is no label, or the folder cannot be written.
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
    // One of a run that died here.
    let _ = std::fs::remove_file(&new);
    std::os::unix::fs::symlink(record, &new)?;
    std::fs::rename(new, link)?;
    Ok(before)
}

/// Removes a record, the page beside it and its labels.
///
/// # Errors
///
/// The record cannot be removed.
pub fn remove(folders: &[PathBuf], entry: &Entry) -> std::io::Result<()> {
    let links =
        folders.iter().flat_map(|folder| entry.labels.iter().map(|name| folder.join(LABELS).join(name)));
    let here = std::fs::canonicalize(&entry.path)?;
    let links: Vec<PathBuf> =
        links.filter(|link| std::fs::canonicalize(link).is_ok_and(|target| target == here)).collect();
    std::fs::remove_file(&entry.path)?;
    // There may be none.
    let _ = std::fs::remove_file(entry.path.with_extension("html"));
    links.iter().try_for_each(std::fs::remove_file)
}

/// Of all records, the newest first, those that may go where `keep` of each host are kept: one with a label stays, and the run of
/// everything that stands for its host.
pub fn superfluous(all: &[Entry], keep: usize) -> Vec<&Entry> {
    let mut kept: HashMap<&str, usize> = HashMap::new();
    let mut stands: HashMap<&str, &Entry> = HashMap::new();
    let is_short = |entry: &Entry| entry.mode == Some(RunMode::Quick);
    for entry in all.iter().filter(|entry| entry.is_whole()) {
        let chosen = stands.entry(&entry.host).or_insert(entry);
        if is_short(chosen) && !is_short(entry) {
            *chosen = entry;
        }
    }
    all.iter()
        .filter(|entry| {
            let count = kept.entry(&entry.host).or_default();
            *count += 1;
            let stands_for_host =
                stands.get(entry.host.as_str()).is_some_and(|one| std::ptr::eq(*one, *entry));
            *count > keep && entry.labels.is_empty() && !stands_for_host
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Labels, Measurement};

    fn record(host: &str, metrics: &[&'static str], started: &str) -> Record {
        let mut record = Record::new("0", started.to_owned(), Vec::new());
        record.machine.hostname = Some(host.to_owned());
        for metric in metrics {
            let (low, _) = crate::metrics::find(metric).unwrap().plausible;
            record.measurements.push(Measurement::new(metric, Labels::new(), vec![low]));
        }
        record
    }

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn all(&self) -> [PathBuf; 1] {
            [self.0.path().to_owned()]
        }

        /// Writes a record that is so many hours old.
        fn write(&self, name: &str, record: &Record, hours: u32) -> PathBuf {
            let path = self.0.path().join(name);
            std::fs::write(&path, record.to_json().unwrap()).unwrap();
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::now() - std::time::Duration::from_secs(3600) * hours).unwrap();
            path
        }
    }

    #[test]
    fn a_run_of_everything_stands_for_a_machine_before_a_part_and_others_never() {
        let folder = Folder::new();
        let newest = || newest(&folder.all(), "here");
        assert!(newest().is_none());
        folder.write("there.json", &record("there", &OF_A_WHOLE_RUN, "x"), 0);
        std::fs::write(folder.0.path().join("broken.json"), "{").unwrap();
        std::fs::write(folder.0.path().join(CEILINGS), "{}").unwrap();
        assert!(newest().is_none());
        let whole = folder.write("whole.json", &record("here", &OF_A_WHOLE_RUN, "whole"), 3);
        // Clock and latency alone lack what most comparisons are about.
        folder.write("part.json", &record("here", &["core.clock", "load.latency"], "part"), 2);
        let less = folder.write("less.json", &record("here", &["cost.syscall"], "less"), 1);
        let found = newest().unwrap();
        let newer = found.newer.map(|entry| entry.path);
        assert_eq!((found.entry.path.as_path(), newer), (whole.as_path(), Some(less)));
        std::fs::remove_file(&whole).unwrap();
        let found = newest().unwrap();
        assert_eq!((found.entry.started.as_str(), found.entry.lacks()), ("part", vec!["memory.bandwidth"]));
        folder.write("whole.json", &record("here", &OF_A_WHOLE_RUN, "newest"), 0);
        assert!(newest().unwrap().newer.is_none());
    }

    #[test]
    fn a_quick_run_stands_for_a_machine_only_where_there_is_no_better_one() {
        let folder = Folder::new();
        let run = |command: &[&str], started: &str| {
            let mut record = record("here", &OF_A_WHOLE_RUN, started);
            record.command = command.iter().map(|word| (*word).to_owned()).collect();
            record
        };
        let quick = folder.write("quick.json", &run(&["linespeed", "--quick"], "quick"), 1);
        let part = folder.write("part.json", &record("here", &["core.clock"], "part"), 0);
        let found = newest(&folder.all(), "here").unwrap();
        assert_eq!(
            (found.entry.path, found.newer.map(|entry| entry.path)),
            (quick.clone(), Some(part.clone()))
        );
        let whole = folder.write("whole.json", &run(&["linespeed"], "before"), 2);
        std::fs::remove_file(&part).unwrap();
        let found = newest(&folder.all(), "here").unwrap();
        assert_eq!(
            (found.entry.path, found.newer.map(|entry| entry.path)),
            (whole.clone(), Some(quick.clone()))
        );
        // What stands for the machine is not pruned, a newer quick run is.
        let all = list(&folder.all());
        let gone: Vec<&Path> = superfluous(&all, 0).into_iter().map(|entry| entry.path.as_path()).collect();
        assert_eq!(gone, [quick.as_path()]);
    }

    #[test]
    fn a_label_stands_for_its_record_and_moves_but_never_touches_it() {
        let folder = Folder::new();
        let (first, second) = (
            folder.write("a.json", &record("h", &[], "1"), 1),
            folder.write("b.json", &record("h", &[], "2"), 0),
        );
        let found = |name: &str| find(&folder.all(), name);
        let real = |path: &Path| std::fs::canonicalize(path).unwrap();
        assert_eq!(label(folder.0.path(), "before", &first).unwrap(), None);
        assert_eq!(found("before"), Some(real(&first)));
        assert_eq!(label(folder.0.path(), "before", &second).unwrap(), Some(real(&first)));
        assert_eq!((found("before"), found("a")), (Some(real(&second)), Some(first.clone())));
        assert_eq!(list(&folder.all())[0].labels, ["before"]);
        for refused in ["", "../a", "a/b", ".", "-x", "reference:x"] {
            assert!(
                label(folder.0.path(), refused, &first).is_err() && found(refused).is_none(),
                "{refused}"
            );
        }
        let entries = list(&folder.all());
        remove(&folder.all(), &entries[0]).unwrap();
        assert!(!second.exists() && found("before").is_none() && first.exists());
    }

    #[test]
    fn what_has_a_label_and_what_stands_for_its_host_is_never_superfluous() {
        let entry = |host: &str, whole: bool, label: Option<&str>| Entry {
            host: host.to_owned(),
            metrics: if whole { OF_A_WHOLE_RUN.map(str::to_owned).into() } else { BTreeSet::new() },
            labels: label.map(str::to_owned).into_iter().collect(),
            ..Entry::default()
        };
        let all = [
            entry("a", false, None),
            entry("a", false, None),
            entry("a", true, None),
            entry("a", true, None),
            entry("a", true, Some("before")),
            entry("b", false, None),
        ];
        let gone = |keep| {
            superfluous(&all, keep)
                .into_iter()
                .map(|e| all.iter().position(|o| std::ptr::eq(o, e)).unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(gone(1), [1, 3]);
        assert_eq!((gone(0), gone(9)), (vec![0, 1, 3, 5], vec![]));
    }
}
