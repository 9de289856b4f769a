//! What an argument of `compare` and `show` stands for: a record's file, `.` for this machine's newest record, or `reference:NAME`.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use record::{Machine, Record};

use crate::failure::{Failure, unknown_name};
use crate::files;

/// Records of the state folder that are looked at for the newest of this machine.
const MOST_LOOKED_AT: usize = 200;
/// Records of this machine that a plan looks at, the newest first.
const MOST_RECORDS: usize = 30;

/// What stands for this machine.
pub const HERE: &str = ".";

/// A record and what it is called.
pub struct Source {
    /// Short: the file's name without its ending, `this machine`, the reference's name.
    pub name: String,
    /// Where it came from, in full.
    pub from: String,
    /// The record.
    pub record: Record,
    /// What is to be known of the choice where `.` is not simply the newest record.
    pub note: Option<String>,
}

impl Source {
    /// Says on standard error what is to be known of the choice, unless quiet was asked for.
    pub fn say_note(&self, out: &crate::options::Out) {
        if let (Some(note), false) = (&self.note, out.quiet_output) {
            crate::output::complain(note);
        }
    }
}

/// Reads every argument. `lighten`, where it is given, drops what is not needed of each.
pub fn read_all(arguments: &[String], lighten: Option<fn(&mut Record)>) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    for argument in arguments {
        let mut source = read(argument)?;
        if let Some(lighten) = lighten {
            lighten(&mut source.record);
        }
        sources.push(source);
    }
    shorten(&mut sources, arguments);
    tell_apart(&mut sources, arguments);
    Ok(sources)
}

/// The record that an argument stands for.
pub fn read(argument: &str) -> Result<Source, Failure> {
    if argument == HERE {
        return this_machine();
    }
    let path = Path::new(argument);
    let name = match argument.strip_prefix(reference::PREFIX) {
        Some(name) => name.into(),
        None if argument == "-" => "standard input".into(),
        None => path.file_stem().unwrap_or_default().to_string_lossy(),
    };
    Ok(Source { name: name.into_owned(), from: argument.to_owned(), record: file(path)?, note: None })
}

/// A record's file; `-` is standard input, `reference:NAME` a machine that ships with linespeed.
pub fn file(path: &Path) -> Result<Record, Failure> {
    if let Some(name) = path.to_str().and_then(|path| path.strip_prefix(reference::PREFIX)) {
        return reference_record(name);
    }
    if path.file_name().is_some_and(|name| name == crate::ceilings::NAME) {
        let why = "is not a record: it holds the ceilings of this machine, which linespeed stat reads; the records lie \
                   beside it";
        return Err(Failure::Input { path: path.to_owned(), why: why.to_owned() });
    }
    let from = if path.as_os_str() == "-" { Path::new("/dev/stdin") } else { path };
    Record::read(from).map_err(|error| Failure::Input { path: path.to_owned(), why: error.to_string() })
}

/// A reference machine, by its name.
pub fn reference_machine(name: &str) -> Result<&'static reference::Machine, Failure> {
    let names = reference::MACHINES.iter().map(|machine| machine.name);
    reference::find(name).ok_or_else(|| unknown_name("reference machine", name, names))
}

/// A reference machine's record.
fn reference_record(name: &str) -> Result<Record, Failure> {
    let machine = reference_machine(name)?;
    machine
        .record(env!("CARGO_PKG_VERSION"))
        .map_err(|trouble| Failure::Cannot(format!("{}{}: {trouble}", reference::PREFIX, machine.name)))
}

/// The metrics that a run of everything has on any machine; a record without one of them is of a part.
const OF_A_WHOLE_RUN: [&str; 3] = ["core.clock", "load.latency", "memory.bandwidth"];

/// The newest record of this machine in the state folder: of a run of everything where there is one, else the one with
/// the most metrics.
fn this_machine() -> Result<Source, Failure> {
    let folder = files::state_folder()?;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    // The kernel's word for a host that nobody named; its records have no name either.
    let host = Some(host.trim()).filter(|host| *host != "(none)").unwrap_or_default();
    newest(&folder, host).ok_or_else(|| {
        Failure::Cannot(format!(
            "there is no record of this machine in {}: run linespeed first, or name a record's file",
            crate::failure::shown(&folder)
        ))
    })
}

fn newest(folder: &Path, host: &str) -> Option<Source> {
    let mut paths: Vec<(std::time::SystemTime, PathBuf)> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .filter(|path| path.file_name().is_none_or(|name| name != crate::ceilings::NAME))
        .filter_map(|path| {
            Some((std::fs::metadata(&path).ok().filter(|d| d.is_file())?.modified().ok()?, path))
        })
        .collect();
    paths.sort_by(|a, b| b.cmp(a));
    let mut partial: Option<(usize, Source)> = None;
    let mut newer: Option<PathBuf> = None;
    for (_, path) in paths.into_iter().take(MOST_LOOKED_AT) {
        let Ok(record) = Record::read(&path) else { continue };
        if record.machine.hostname.as_deref().unwrap_or_default() != host || record.measurements.is_empty() {
            continue;
        }
        // A run of a few measurements, or of a command, is not what the machine is like.
        let metrics = metrics(&record);
        let whole = OF_A_WHOLE_RUN.iter().all(|name| metrics.contains(name));
        let count = metrics.len();
        let from = path.to_string_lossy().into_owned();
        let mut source = Source { name: "this machine".to_owned(), from, record, note: None };
        if whole {
            source.note = newer.map(|newer| {
                format!(
                    ". stands for {}, the newest run of everything; {} is newer and holds a part only",
                    crate::failure::shown(Path::new(&source.from)),
                    crate::failure::shown(&newer)
                )
            });
            return Some(source);
        }
        newer.get_or_insert(path);
        // Of equals the newest.
        if partial.as_ref().is_none_or(|(most, _)| *most < count) {
            partial = Some((count, source));
        }
    }
    let mut source = partial?.1;
    let lacks: Vec<&str> = OF_A_WHOLE_RUN
        .into_iter()
        .filter(|name| source.record.measurements_of(name).next().is_none())
        .collect();
    source.note = Some(format!(
        ". stands for {}, which holds a part only (no {}): linespeed measures everything",
        crate::failure::shown(Path::new(&source.from)),
        lacks.join(", ")
    ));
    Some(source)
}

/// Files that may be records of this machine, the newest first: names begin with the host's and end in the time.
pub fn records_here(machine: &Machine) -> Vec<PathBuf> {
    let Ok(folder) = files::state_folder() else { return Vec::new() };
    let host = record::file_name::record_name(machine.hostname.as_deref(), "");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .filter(|path| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(&host))
        })
        .collect();
    names.sort();
    names.reverse();
    names.truncate(MOST_RECORDS);
    names
}

/// The metrics of which a record has figures.
fn metrics(record: &Record) -> HashSet<&str> {
    record.measurements.iter().filter(|m| m.summary.n > 0).map(|m| m.metric.as_str()).collect()
}

/// Records in files as linespeed calls them are called by their hosts, where no other is called so.
fn shorten(sources: &mut [Source], arguments: &[String]) {
    let hosts: Vec<Option<String>> = sources
        .iter()
        .zip(arguments)
        .map(|(source, argument)| {
            let file = argument != HERE && argument != "-" && !argument.starts_with(reference::PREFIX);
            record::file_name::host_of(&source.name).filter(|_| file).map(str::to_owned)
        })
        .collect();
    let names = sources.iter().zip(&hosts).map(|(source, host)| host.as_ref().unwrap_or(&source.name));
    let count = count_names(names);
    for (source, host) in sources.iter_mut().zip(hosts) {
        if let Some(host) = host.filter(|host| count.get(host) == Some(&1)) {
            source.name = host;
        }
    }
}

/// How many bear each name.
fn count_names<'a>(names: impl Iterator<Item = &'a String>) -> HashMap<String, usize> {
    names.fold(HashMap::new(), |mut count, name| {
        *count.entry(name.clone()).or_default() += 1;
        count
    })
}

/// Records whose files are called alike are called by their folders, too.
fn tell_apart(sources: &mut [Source], arguments: &[String]) {
    let count = count_names(sources.iter().map(|source| &source.name));
    for (source, argument) in sources.iter_mut().zip(arguments) {
        let folder = Path::new(argument).parent().and_then(Path::file_name);
        if let (true, Some(folder)) = (count.get(&source.name).is_some_and(|n| *n > 1), folder) {
            source.name = format!("{}/{}", folder.to_string_lossy(), source.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Labels, Measurement};

    fn record(host: &str, metrics: &[&'static str], started: &str) -> Record {
        let mut record = Record::new("0", started.to_owned(), Vec::new());
        record.machine.hostname = Some(host.to_owned());
        for metric in metrics {
            let (low, _) = ::record::metrics::find(metric).unwrap().plausible;
            record.measurements.push(Measurement::new(metric, Labels::new(), vec![low]));
        }
        record
    }

    #[test]
    fn a_run_of_everything_stands_for_this_machine_before_a_part_and_others_never() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let write =
            |name: &str, record: &Record| std::fs::write(place(name), record.to_json().unwrap()).unwrap();
        assert!(newest(folder.path(), "here").is_none());
        write("there.json", &record("there", &["core.clock", "load.latency"], "x"));
        std::fs::write(place("broken.json"), "{").unwrap();
        std::fs::write(place("ceilings.json"), "{}").unwrap();
        assert!(newest(folder.path(), "here").is_none());
        let hour = std::time::Duration::from_secs(3600);
        let older = |name: &str, hours: u32| {
            let file = std::fs::File::options().write(true).open(place(name)).unwrap();
            file.set_modified(std::time::SystemTime::now() - hour * hours).unwrap();
        };
        write("whole.json", &record("here", &OF_A_WHOLE_RUN, "whole"));
        older("whole.json", 3);
        // Clock and latency alone lack what most comparisons are about.
        write("part.json", &record("here", &["core.clock", "load.latency"], "part"));
        older("part.json", 2);
        write("less.json", &record("here", &["cost.syscall"], "less"));
        let found = newest(folder.path(), "here").unwrap();
        assert_eq!(found.record.started, "whole");
        let note = found.note.unwrap();
        assert!(note.contains("whole.json") && note.contains("less.json is newer"), "{note}");
        std::fs::remove_file(place("whole.json")).unwrap();
        let found = newest(folder.path(), "here").unwrap();
        assert_eq!(found.record.started, "part");
        assert!(found.note.unwrap().contains("(no memory.bandwidth)"));
        write("whole.json", &record("here", &OF_A_WHOLE_RUN, "newest"));
        assert!(newest(folder.path(), "here").unwrap().note.is_none());
    }

    #[test]
    fn a_mistyped_reference_says_what_was_meant() {
        let refused = |name: &str| reference_machine(name).err().unwrap().to_string();
        assert!(refused("kunpeng-920-4862").contains("did you mean kunpeng-920-4826?"));
        assert!(refused("zzz").contains("hygon-5280"));
    }

    #[test]
    fn records_are_called_by_their_hosts_unless_two_are_of_one() {
        let folder = tempfile::tempdir().unwrap();
        let names = |files: &[&str]| -> Vec<String> {
            let arguments: Vec<String> = files
                .iter()
                .map(|file| {
                    let path = folder.path().join(format!("{file}.json"));
                    std::fs::write(&path, record("h", &[], "t").to_json().unwrap()).unwrap();
                    path.to_string_lossy().into_owned()
                })
                .collect();
            read_all(&arguments, None).unwrap().into_iter().map(|source| source.name).collect()
        };
        assert_eq!(names(&["db-1-20260102T030405Z", "海光-20260102T030406Z-2"]), ["db-1", "海光"]);
        assert_eq!(
            names(&["db1-20260102T030405Z", "db1-20260102T040405Z", "db2-20260102T030405Z"]),
            ["db1-20260102T030405Z", "db1-20260102T040405Z", "db2"]
        );
        assert_eq!(names(&["monday", "db1-20260102T030405Z"]), ["monday", "db1"]);
        assert_eq!(names(&["db1", "db1-20260102T030405Z"]), ["db1", "db1-20260102T030405Z"]);
    }

    #[test]
    fn files_of_one_name_are_reported_apart_by_their_folders() {
        let folder = tempfile::tempdir().unwrap();
        let mut arguments = Vec::new();
        for host in ["db1", "db2"] {
            std::fs::create_dir(folder.path().join(host)).unwrap();
            let path = folder.path().join(host).join("record.json");
            std::fs::write(&path, record(host, &[], "t").to_json().unwrap()).unwrap();
            arguments.push(path.to_string_lossy().into_owned());
        }
        let names: Vec<String> =
            read_all(&arguments, None).unwrap().into_iter().map(|source| source.name).collect();
        assert_eq!(names, ["db1/record", "db2/record"]);
    }
}
