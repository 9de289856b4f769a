//! What an argument of `compare` and `show` stands for: a record's file, a label, `.` for this
//! machine's newest record, or `reference:NAME`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use record::phrase::visible;
use record::{Machine, Record, store};

use crate::failure::{Failure, unknown_name};
use crate::files;

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
    let path = locate(argument);
    let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = match argument.strip_prefix(reference::PREFIX) {
        Some(name) => name.to_owned(),
        None if argument == "-" => "standard input".to_owned(),
        None if path != Path::new(argument) => argument.to_owned(),
        None => stem(),
    };
    Ok(Source { name, from: path.to_string_lossy().into_owned(), record: file(&path)?, note: None })
}

/// The file that an argument names: by its path, by its label, or as a record of the state folder.
pub fn locate(argument: &str) -> PathBuf {
    let path = PathBuf::from(argument);
    let known = (!path.exists()).then(|| store::find(&files::folders(), argument)).flatten();
    known.unwrap_or(path)
}

/// A record's file; `-` is standard input, `reference:NAME` a machine that ships with linespeed.
fn file(path: &Path) -> Result<Record, Failure> {
    if let Some(name) = path.to_str().and_then(|path| path.strip_prefix(reference::PREFIX)) {
        return reference_record(name);
    }
    let refused = |why: String| Failure::Input { path: path.to_owned(), why };
    if path.file_name().is_some_and(|name| name == store::CEILINGS) {
        let why = "is not a record: it holds the ceilings of this machine, which linespeed stat reads; the records lie \
                   beside it";
        return Err(refused(why.to_owned()));
    }
    let from = if path.as_os_str() == "-" { Path::new("/dev/stdin") } else { path };
    let plain = path.to_str().is_some_and(store::is_label) && !path.exists();
    if plain && from == path {
        return Err(refused(
            "no file, label or record is called so; linespeed records lists them".to_owned(),
        ));
    }
    Record::read(from).map_err(|error| refused(error.to_string()))
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

/// This host's name; the kernel's word for a host that nobody named is none, as in its records.
pub fn host() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Some(host.trim()).filter(|host| *host != "(none)").unwrap_or_default().to_owned()
}

/// The newest record of this machine: of a run of everything where there is one, else the one with the most metrics.
fn this_machine() -> Result<Source, Failure> {
    let folders = files::folders();
    let Some(found) = store::newest(&folders, &host()) else {
        files::state_folder()?;
        let looked: Vec<String> = folders.iter().map(|folder| visible(folder)).collect();
        return Err(Failure::Cannot(format!(
            "there is no record of this machine in {}: run linespeed first, or name a record's file",
            looked.join(" or ")
        )));
    };
    let path = found.entry.path.as_path();
    let stands = format!(". stands for {}", visible(path));
    let lacks = found.entry.lacks();
    let note = if !lacks.is_empty() {
        let lacks = lacks.join(", ");
        Some(format!("{stands}, which holds a part only (no {lacks}): linespeed measures everything"))
    } else if let Some(newer) = &found.newer {
        Some(format!(
            "{stands}, the newest run of everything; {} is newer and holds a part only",
            visible(newer)
        ))
    } else {
        folders.first().is_none_or(|own| !path.starts_with(own)).then_some(stands)
    };
    let from = path.to_string_lossy().into_owned();
    Ok(Source { name: "this machine".to_owned(), from, record: file(path)?, note })
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

    fn record(host: &str) -> Record {
        let mut record = Record::new("0", "t".to_owned(), Vec::new());
        record.machine.hostname = Some(host.to_owned());
        record
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
                    std::fs::write(&path, record("h").to_json().unwrap()).unwrap();
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
            std::fs::write(&path, record(host).to_json().unwrap()).unwrap();
            arguments.push(path.to_string_lossy().into_owned());
        }
        let names: Vec<String> =
            read_all(&arguments, None).unwrap().into_iter().map(|source| source.name).collect();
        assert_eq!(names, ["db1/record", "db2/record"]);
    }
}
