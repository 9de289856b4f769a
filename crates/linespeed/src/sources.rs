//! The meaning of an argument of `compare` and `show`: a record's file, a label, `.` for this machine's newest record, or `reference:NAME`.

use std::path::{Path, PathBuf};

use record::phrase::{join_choices, visible};
use record::source::{HERE, Source, tell_apart};
use record::store::Entry;
use record::{Machine, Record, store};

use crate::failure::Failure;
use crate::files;
use crate::options::Out;

/// Reports on standard error how the record was chosen, unless output is off.
pub fn say_note(source: &Source, out: &Out) {
    source.note.iter().for_each(|note| crate::output::notice(out, note));
}

/// Reads the records of all arguments. `prepare` drops the unneeded parts of each record.
pub fn read_all(arguments: &[String], prepare: impl Fn(&mut Record)) -> Result<Vec<Source>, Failure> {
    let read = |argument: &String| {
        let mut source = read(argument)?;
        prepare(&mut source.record);
        Ok(source)
    };
    let mut sources = arguments.iter().map(read).collect::<Result<Vec<Source>, Failure>>()?;
    files::aliases().unify(sources.iter_mut().map(|source| &mut source.record));
    tell_apart(&mut sources);
    Ok(sources)
}

/// The record of an argument.
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

/// An argument that refers to this record in the state directory: only the record's name if that suffices to find it,
/// otherwise its path.
pub fn name_of(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| visible(Path::new(stem)));
    let finds = |stem: &String| store::find(&os::places::state_folders(), stem).as_deref() == Some(path);
    stem.filter(finds).unwrap_or_else(|| visible(path))
}

/// The file that an argument refers to: by its path, by its label, or as a record of the state directory.
pub fn locate(argument: &str) -> PathBuf {
    let path = PathBuf::from(argument);
    let known = (!path.exists()).then(|| store::find(&os::places::state_folders(), argument)).flatten();
    known.unwrap_or(path)
}

/// Reads a record from its file; `-` is standard input, and `reference:NAME` is a built-in reference machine.
fn file(path: &Path) -> Result<Record, Failure> {
    if let Some(name) = path.to_str().and_then(|path| path.strip_prefix(reference::PREFIX)) {
        let machine = reference_machine(name)?;
        let failed = |trouble| Failure::Cannot(format!("{}{}: {trouble}", reference::PREFIX, machine.name));
        return machine.record(env!("CARGO_PKG_VERSION")).map_err(failed);
    }
    let refused = |why: &str| Failure::Input { path: path.to_owned(), why: why.to_owned() };
    if path.file_name().is_some_and(|name| name == store::CEILINGS) {
        let why = "contains this machine's ceilings, not a record; the records are in the same directory";
        return Err(refused(why));
    }
    let from = if path.as_os_str() == "-" { Path::new("/dev/stdin") } else { path };
    let plain = path.to_str().is_some_and(store::is_label) && !path.exists();
    if plain && from == path {
        return Err(refused("no file, label or record has this name; linespeed records lists them"));
    }
    Record::read_within(from, memory_left()).map_err(|error| refused(&error.to_string()))
}

/// The amount of memory that this process may still allocate, bytes.
fn memory_left() -> u64 {
    let of_machine = machine::memory_left(&machine::Root::live()).unwrap_or(u64::MAX);
    of_machine.min(os::address_space_left().unwrap_or(u64::MAX))
}

/// A reference machine, by its name.
pub fn reference_machine(name: &str) -> Result<&'static reference::Machine, Failure> {
    reference::find(name).ok_or_else(|| unknown_reference(name))
}

/// Maximum number of suggestions for an unknown reference machine, so that they fit on a line.
const MOST_MEANT: usize = 4;
/// Maximum number of characters of an unknown name that are shown.
const SHOWN_OF_NAME: usize = 40;

/// The error for an unknown reference machine, with suggestions.
fn unknown_reference(name: &str) -> Failure {
    let meant: Vec<String> = reference::find_meant(name).into_iter().map(str::to_owned).collect();
    let meant = if meant.is_empty() {
        ";".to_owned()
    } else {
        format!("; did you mean {}?", join_choices(&meant, MOST_MEANT))
    };
    let name: String = name.chars().take(SHOWN_OF_NAME).collect();
    Failure::Usage(format!("no reference machine {name:?}{meant} linespeed reference lists all"))
}

/// This host's name, as it occurs in its records; empty if the host has no name, in which case the kernel reports `(none)`.
pub fn host() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Some(host.trim()).filter(|host| *host != "(none)").unwrap_or_default().to_owned()
}

/// The names that records may contain for a host: its own name, and its pseudonyms in records redacted on this machine.
pub fn names_of(host: &str) -> Vec<String> {
    files::aliases().of(host)
}

/// The record that represents this machine.
pub fn newest() -> Option<store::Newest> {
    store::newest(&os::places::state_folders(), &names_of(&host()))
}

/// The newest record from a complete run on this machine or, if there is none, the record with the most metrics.
fn this_machine() -> Result<Source, Failure> {
    let folders = os::places::state_folders();
    let Some(found) = newest() else {
        files::state_folder()?;
        let looked: Vec<String> = folders.iter().map(|folder| visible(folder)).collect();
        return Err(Failure::Cannot(format!(
            "there is no record of this machine in {}: run linespeed first, or specify a record file",
            looked.join(" or ")
        )));
    };
    let path = found.entry.path.as_path();
    let note = found.remark(folders.first().map(PathBuf::as_path)).map(|note| note.to_string());
    let from = path.to_string_lossy().into_owned();
    Ok(Source { name: "this machine".to_owned(), from, record: file(path)?, note })
}

/// The `wanted` records of this machine, newest first.
pub fn records_here<W: FnMut(&Entry) -> bool>(
    machine: &Machine,
    wanted: W,
) -> impl Iterator<Item = (PathBuf, Record)> + use<'_, W> {
    let names = names_of(machine.hostname.as_deref().unwrap_or_default());
    store::of_machine(&os::places::state_folders(), machine, names, wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_reference_says_what_was_meant() {
        let refused = |name: &str| reference_machine(name).err().unwrap().to_string();
        assert!(refused("kunpeng-920-4862").contains("did you mean kunpeng-920-4826?"));
        let of_epyc = refused("EPYC");
        assert!(of_epyc.contains("did you mean epyc-7h12, epyc-7r13, epyc-7v73x or epyc-9274f (2 more)?"));
        assert!(refused("8269cy").contains("did you mean xeon-8269cy or xeon-8269cy-numa?"));
        for (name, named) in [("zzz", "zzz"), ("", "\"\""), (&"x".repeat(9000), "xxx")] {
            let says = refused(name);
            assert!(says.contains(named) && says.ends_with("; linespeed reference lists all"), "{says}");
            assert!(says.len() < 120, "{says}");
        }
    }
}
