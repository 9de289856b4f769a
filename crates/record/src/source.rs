//! Display names of records: each as short as possible but distinct from the others.

use std::collections::HashMap;
use std::path::Path;

use crate::Record;
use crate::file_name::host_of;

/// The name of this machine.
pub const HERE: &str = ".";

/// A record and its name.
pub struct Source {
    /// Short name: the file name without its extension, `this machine`, or the name of the reference.
    pub name: String,
    /// The complete source of the record, for example its path.
    pub from: String,
    /// The record.
    pub record: Record,
    /// If `.` is not simply the newest record, a note on the choice.
    pub note: Option<String>,
}

/// Names a record by its host if that name is unique among the records. If several files still have the same name, the
/// names of their directories are added.
pub fn tell_apart(sources: &mut [Source]) {
    let hosts: Vec<Option<String>> =
        sources.iter().map(|source| host_of(&source.name).map(str::to_owned)).collect();
    // Records with another display name are also counted for their host.
    let of_file = |source: &Source| {
        let stem = Path::new(&source.from).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        host_of(&stem).map_or_else(|| source.name.clone(), str::to_owned)
    };
    let known: Vec<String> = sources.iter().map(of_file).collect();
    let count = count_names(known.iter());
    for (source, host) in sources.iter_mut().zip(hosts) {
        if let Some(host) = host.filter(|host| count.get(host) == Some(&1)) {
            source.name = host;
        }
    }
    let count = count_names(sources.iter().map(|source| &source.name));
    for source in sources {
        let from = Path::new(&source.from);
        let is_file = from.file_stem().is_some_and(|stem| stem == source.name.as_str());
        let folder = from.parent().and_then(Path::file_name).filter(|_| is_file);
        if let (true, Some(folder)) = (count.get(&source.name).is_some_and(|n| *n > 1), folder) {
            source.name = format!("{}/{}", folder.to_string_lossy(), source.name);
        }
    }
}

/// The number of records with each name.
fn count_names<'a>(names: impl Iterator<Item = &'a String>) -> HashMap<String, usize> {
    names.fold(HashMap::new(), |mut count, name| {
        *count.entry(name.clone()).or_default() += 1;
        count
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[&str]) -> Vec<String> {
        let source = |file: &&str| Source {
            name: Path::new(file).file_stem().unwrap().to_string_lossy().into_owned(),
            from: (*file).to_owned(),
            record: Record::new("0", "t".to_owned(), Vec::new()),
            note: None,
        };
        let mut sources: Vec<Source> = files.iter().map(source).collect();
        tell_apart(&mut sources);
        sources.into_iter().map(|source| source.name).collect()
    }

    #[test]
    fn records_are_called_by_their_hosts_unless_two_are_of_one() {
        assert_eq!(names(&["db-1-20260102T030405Z.json", "海光-20260102T030406Z-2.json"]), ["db-1", "海光"]);
        assert_eq!(
            names(&["db1-20260102T030405Z.json", "db1-20260102T040405Z.json", "db2-20260102T030405Z.json"]),
            ["db1-20260102T030405Z", "db1-20260102T040405Z", "db2"]
        );
        assert_eq!(names(&["monday.json", "db1-20260102T030405Z.json"]), ["monday", "db1"]);
        assert_eq!(names(&["db1.json", "db1-20260102T030405Z.json"]), ["db1", "db1-20260102T030405Z"]);
    }

    #[test]
    fn another_record_of_this_machine_is_not_called_by_its_host() {
        let source = |name: &str, day: u32| Source {
            name: name.to_owned(),
            from: format!("/r/db1-202601{day:02}T030405Z.json"),
            record: Record::new("0", "t".to_owned(), Vec::new()),
            note: None,
        };
        let mut both = [source("this machine", 1), source("db1-20260102T030405Z", 2)];
        tell_apart(&mut both);
        assert_eq!(both.map(|source| source.name), ["this machine", "db1-20260102T030405Z"]);
    }

    #[test]
    fn files_of_one_name_are_reported_apart_by_their_folders() {
        assert_eq!(names(&["/r/db1/record.json", "/r/db2/record.json"]), ["db1/record", "db2/record"]);
    }
}
