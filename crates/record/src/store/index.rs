//! An index of the records in a directory, which is stored next to them. With it, unchanged files need not be read
//! again. A lost, damaged or foreign index is harmless, because a file is read again unless the index contains exactly
//! the file's current state.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::{list_names, read_each};
use crate::regular_file;

/// The name of the index file. Because of its extension, it is not mistaken for a record.
pub(super) const NAME: &str = "records.index";
/// The version of the index. It must be increased when the format of the index or the way in which records are read
/// changes.
const VERSION: u32 = 2;
/// Maximum size of an index, enough for about 80,000 records. Larger indexes are neither read nor written.
const MOST_BYTES: u64 = 64 << 20;
/// If a file was changed less than this many seconds ago, another change may go undetected, because file-system
/// timestamps are coarse.
const SETTLED: i64 = 2;

/// The contents of an index file.
#[derive(Default, Serialize, Deserialize)]
struct Index {
    /// [`VERSION`].
    index: u32,
    /// Entries by file name.
    files: BTreeMap<String, Known>,
}

/// A file at the time when it was read.
#[derive(Clone, Serialize, Deserialize)]
struct Known {
    /// The state of the file at that time.
    of: State,
    /// The file's entry; `None` if the file is not a record.
    is: Option<Entry>,
}

/// The state of a file: size, inode, and the times of the last changes to its content and its metadata in seconds and nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct State(u64, u64, i64, i64, i64, i64);

impl State {
    fn of(data: &Metadata) -> Self {
        Self(data.len(), data.ino(), data.mtime(), data.mtime_nsec(), data.ctime(), data.ctime_nsec())
    }

    /// Whether the file was changed long enough ago that any later change would alter the state.
    fn is_settled(&self, now: i64) -> bool {
        self.4.checked_add(SETTLED).is_some_and(|settled| settled <= now)
    }
}

impl Index {
    /// The index of a directory; empty if there is no valid index.
    fn read(path: &Path) -> Self {
        let text = regular_file::read(path, MOST_BYTES).ok().map(|(text, _)| text);
        let read = text.and_then(|text| serde_json::from_slice::<Self>(&text).ok());
        read.filter(|index| index.index == VERSION).unwrap_or_default()
    }

    /// The entry of a file if its state is still the same.
    fn entry(&self, path: &Path, state: State) -> Option<Option<Entry>> {
        let known = self.files.get(path.file_name()?.to_str()?).filter(|known| known.of == state)?;
        Some(known.is.as_ref().map(|entry| Entry { path: path.to_owned(), ..entry.clone() }))
    }
}

/// The current time in seconds since 1970.
pub(super) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs() as i64)
}

/// The records of a directory without their labels, in no particular order. `read` reads the files missing from the index, at most `most`
/// of them; the other files have no entry. `save` receives the directory's new index, if it changed. `now` is in seconds since 1970.
pub(super) fn entries(
    folder: &Path,
    now: i64,
    most: usize,
    read: impl Fn(&Path) -> Option<Entry> + Sync,
    save: impl Fn(&Path, &str),
) -> Vec<Entry> {
    let place = folder.join(NAME);
    let index = Index::read(&place);
    let state = |path: PathBuf| {
        let state = State::of(&std::fs::metadata(&path).ok()?);
        Some((path, state))
    };
    let files: Vec<_> = list_names(&[folder.to_owned()]).into_iter().filter_map(state).collect();
    let mut all: Vec<_> = files.iter().map(|(path, state)| index.entry(path, *state)).collect();
    let unknown: Vec<usize> = (0..all.len()).filter(|at| all.get(*at).is_some_and(Option::is_none)).collect();
    let mut is_new = files.len() - unknown.len() < index.files.len();
    let paths: Vec<PathBuf> =
        unknown.iter().take(most).filter_map(|at| files.get(*at)).map(|(path, _)| path.clone()).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for (at, entry) in unknown.into_iter().zip(read_each(&paths, threads, read)) {
        is_new |= files.get(at).is_some_and(|(_, state)| state.is_settled(now));
        if let Some(place) = all.get_mut(at) {
            *place = Some(entry);
        }
    }
    if is_new {
        let settled = files.iter().zip(&all).filter(|((_, state), _)| state.is_settled(now));
        let known = settled.filter_map(|((path, of), entry)| {
            Some((path.file_name()?.to_str()?.to_owned(), Known { of: *of, is: entry.clone()? }))
        });
        let index = Index { index: VERSION, files: known.collect() };
        let text = serde_json::to_string(&index).unwrap_or_default();
        if (1..=MOST_BYTES).contains(&(text.len() as u64)) {
            save(&place, &text);
        }
    }
    all.into_iter().flatten().flatten().collect()
}
