//! The contents of all writable files of a tree, and the differences between two states.

use std::collections::BTreeMap;
use std::path::Path;

/// The contents of all files below these directories, without following links. Unreadable files are skipped.
pub fn contents(folders: &[&Path]) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open: Vec<_> = folders.iter().map(|folder| folder.to_path_buf()).collect();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file()
                && is_setting(&entry)
                && let Ok(bytes) = std::fs::read(entry.path())
            {
                all.insert(entry.path().display().to_string(), bytes);
            }
        }
    }
    all
}

/// Whether its owner may read and write it. Files that cannot be written cannot have been changed by a knob.
fn is_setting(entry: &std::fs::DirEntry) -> bool {
    use std::os::unix::fs::MetadataExt;
    entry.metadata().is_ok_and(|metadata| metadata.mode() & 0o600 == 0o600)
}

/// The differences, as lines to print.
pub fn differences(before: &BTreeMap<String, Vec<u8>>, after: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let text = |bytes: Option<&Vec<u8>>| match bytes {
        Some(bytes) => String::from_utf8_lossy(bytes).trim().to_owned(),
        None => "nothing".to_owned(),
    };
    let paths: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    paths
        .into_iter()
        .filter(|path| before.get(*path) != after.get(*path))
        .map(|path| format!("{path}: {} before, {} after", text(before.get(path)), text(after.get(path))))
        .collect()
}
