//! Some of a machine's files, quoted in another text.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The files.
#[derive(Debug, Default)]
pub(crate) struct Excerpt {
    /// The contents of each file, by path without the leading slash.
    files: BTreeMap<String, String>,
    /// The names in each directory.
    folders: HashMap<String, BTreeSet<String>>,
    /// The files that have been read so far.
    read: Mutex<BTreeSet<String>>,
}

/// Alternative kernel paths to a directory, and the path used here.
const ALIASES: [(&str, &str); 3] = [
    ("sys/bus/cpu/devices/", "sys/devices/system/cpu/"),
    ("sys/bus/node/devices/", "sys/devices/system/node/"),
    ("sys/devices/virtual/dmi/id/", "sys/class/dmi/id/"),
];

/// The path of a file without its leading slash and with known links resolved; for example, a CPU's `cpufreq` is a link to its policy.
fn plain_path(path: &str) -> String {
    let path = path.trim_matches('/').replace("//", "/");
    let alias = ALIASES.iter().find_map(|(alias, real)| Some(format!("{real}{}", path.strip_prefix(alias)?)));
    let path = alias.unwrap_or(path);
    let policy =
        path.strip_prefix("sys/devices/system/cpu/cpu").and_then(|rest| rest.split_once("/cpufreq/"));
    match policy {
        Some((cpu, file)) if cpu.bytes().all(|b| b.is_ascii_digit()) => {
            format!("sys/devices/system/cpu/cpufreq/policy{cpu}/{file}")
        }
        _ => path,
    }
}

impl Excerpt {
    /// Creates an excerpt from these files, given by their paths on the machine.
    pub(crate) fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut excerpt = Excerpt::default();
        for (path, text) in files {
            let path = plain_path(path);
            for (at, _) in path.match_indices('/') {
                let (folder, name) = (&path[..at], path[at + 1..].split('/').next().unwrap_or_default());
                excerpt.folders.entry(folder.to_owned()).or_default().insert(name.to_owned());
            }
            excerpt.files.insert(path, text.to_owned());
        }
        excerpt
    }

    /// The contents of a file.
    pub(crate) fn read(&self, path: &str) -> Option<&str> {
        let path = path.trim_matches('/');
        let text = self.files.get(path)?;
        self.read.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        Some(text)
    }

    /// Whether a file, given by its original path, has been read.
    pub(crate) fn was_read(&self, path: &str) -> bool {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).contains(&plain_path(path))
    }

    /// The names in a directory.
    pub(crate) fn list(&self, folder: &str) -> Vec<String> {
        self.folders.get(folder.trim_matches('/')).into_iter().flatten().cloned().collect()
    }

    /// Whether a file or a directory exists.
    pub(crate) fn exists(&self, path: &str) -> bool {
        let path = path.trim_matches('/');
        self.files.contains_key(path) || self.folders.contains_key(path)
    }

    /// The directories under a directory, each with the names in it.
    pub(crate) fn folders_below(&self, folder: &str) -> Vec<(&str, &BTreeSet<String>)> {
        let is_below = |path: &str| Path::new(path).starts_with(folder.trim_matches('/'));
        let folders = self.folders.iter().map(|(path, names)| (path.as_str(), names));
        let mut below: Vec<_> = folders.filter(|(path, _)| is_below(path)).collect();
        below.sort();
        below
    }
}
