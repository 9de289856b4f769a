//! Tests that a directory of 10,000 records is listed without reading unchanged files again.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const MANY: usize = 10_000;

struct Folder {
    folder: tempfile::TempDir,
    /// Files read since the last call.
    read: AtomicUsize,
    /// Indexes saved since the last call.
    saved: Mutex<Vec<String>>,
}

impl Folder {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), read: AtomicUsize::new(0), saved: Mutex::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a small record of a host and returns its file.
    fn write(&self, host: &str, second: usize, more: &str) -> PathBuf {
        let started = format!("2026-01-02T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60);
        let path = self.path(&format!("{}.json", record_name(Some(host), &started)));
        let text = format!(
            "{{\"schema\": 1, \"started\": \"{started}\", \"command\": [\"linespeed\"], \"machine\": \
             {{\"hostname\": \"{host}\"}}, \"measurements\": [{{\"metric\": \"core.clock\", \"summary\": {{\"n\": 1}}}}{more}]}}"
        );
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Lists the records as if this many seconds had passed, because the index trusts a new file only after a delay.
    fn list(&self, later: i64) -> (Vec<Entry>, usize, usize) {
        self.list_reading(later, usize::MAX)
    }

    /// Lists the records, but reads at most this many files.
    fn list_reading(&self, later: i64, most: usize) -> (Vec<Entry>, usize, usize) {
        let count = |path: &Path| {
            self.read.fetch_add(1, Ordering::Relaxed);
            Entry::read(path)
        };
        let save = |path: &Path, text: &str| {
            std::fs::write(path, text).unwrap();
            self.saved.lock().unwrap().push(text.to_owned());
        };
        let now = index::now() + later;
        let mut entries = index::entries(self.folder.path(), now, most, count, save);
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let saved = std::mem::take(&mut *self.saved.lock().unwrap()).len();
        (entries, self.read.swap(0, Ordering::Relaxed), saved)
    }
}

#[test]
fn of_ten_thousand_records_none_is_read_twice() {
    let folder = Folder::new();
    for number in 0..MANY {
        folder.write(&format!("host{}", number % 7), number, "");
    }
    let (first, read, saved) = folder.list(60);
    assert_eq!((first.len(), read, saved), (MANY, MANY, 1));
    assert!(first.iter().all(|entry| entry.metrics.iter().map(|metric| metric.name()).eq(["core.clock"])
        && entry.host.starts_with("host")));
    let (again, read, saved) = folder.list(60);
    assert_eq!((read, saved), (0, 0));
    assert_eq!(again, first);
    // One record is added, one removed, one changed.
    folder.write("host7", 0, "");
    std::fs::remove_file(folder.path("host1-20260102T000001Z.json")).unwrap();
    let changed = folder.write("host0", 0, ", {\"metric\": \"load.latency\", \"summary\": {\"n\": 1}}");
    let (third, read, saved) = folder.list(60);
    assert_eq!((third.len(), read, saved), (MANY, 2, 1));
    let entry = third.iter().find(|entry| entry.path == changed).unwrap();
    assert_eq!(entry.metrics.len(), 2);
    assert!(third.iter().any(|entry| entry.host == "host7"));
    assert_eq!(folder.list(60).1, 0);
    // All records are listed with their labels, newest first.
    label(folder.folder.path(), "before", &changed).unwrap();
    let all = list(&[folder.folder.path().to_owned()], |_, _| ());
    assert!(all.len() == MANY && all.is_sorted_by(|a, b| a.started >= b.started));
    let labelled: Vec<&Entry> = all.iter().filter(|entry| !entry.labels.is_empty()).collect();
    assert!(labelled.len() == 1 && labelled[0].path == changed && labelled[0].labels == ["before"]);
}

#[test]
fn the_index_grows_by_a_part_with_each_record_that_is_written() {
    let folder = Folder::new();
    for number in 0..25 {
        folder.write("here", number, "");
    }
    for (known, saved) in [(10, 1), (20, 1), (25, 1), (25, 0)] {
        let (some, _, now) = folder.list_reading(60, 10);
        assert_eq!((some.len(), now), (known, saved));
    }
    // Files that were skipped are read later.
    folder.write("here", 25, "");
    assert_eq!(folder.list(60).0.len(), 26);
}

#[test]
fn what_is_no_record_is_not_looked_into_again_until_it_changes() {
    let folder = Folder::new();
    let half = folder.write("half", 0, "");
    let whole = std::fs::read(&half).unwrap();
    std::fs::write(&half, &whole[..whole.len() / 2]).unwrap();
    std::fs::write(folder.path("foreign.json"), "{\"a\": [1]}").unwrap();
    std::fs::write(folder.path("empty.json"), "").unwrap();
    std::fs::create_dir(folder.path("folder.json")).unwrap();
    std::fs::write(folder.path(CEILINGS), "{}").unwrap();
    assert_eq!(folder.list(60), (vec![], 4, 1));
    assert_eq!(folder.list(60), (vec![], 0, 0));
    std::fs::write(&half, &whole).unwrap();
    let (found, read, saved) = folder.list(60);
    assert_eq!((found.len(), found[0].host.as_str(), read, saved), (1, "half", 1, 1));
}

#[test]
fn an_index_that_may_not_be_of_these_files_is_not_trusted() {
    let folder = Folder::new();
    let record = folder.write("here", 0, "");
    // A file that changed a moment ago may change again within the same tick.
    assert_eq!((folder.list(0).1, folder.list(0).1, folder.path(index::NAME).exists()), (1, 1, false));
    // A clock set back: a file from the future is always read.
    assert_eq!((folder.list(-3600).1, folder.path(index::NAME).exists()), (1, false));
    let (right, ..) = folder.list(60);
    let good = std::fs::read_to_string(folder.path(index::NAME)).unwrap();
    let other_version = good.replacen("\"index\":2", "\"index\":1", 1);
    let other_type = good.replacen("\"metrics\":[", "\"metrics\":[9,", 1);
    assert!(other_version != good && other_type != good);
    for bad in ["", "{", "[]", "\0\0\0", &good[..good.len() - 1], &other_version, &other_type] {
        std::fs::write(folder.path(index::NAME), bad).unwrap();
        assert_eq!(folder.list(60), (right.clone(), 1, 1), "{bad}");
        assert_eq!(std::fs::read_to_string(folder.path(index::NAME)).unwrap(), good);
    }
    // Another file with the same name, size and modification time.
    let time = std::fs::metadata(&record).unwrap().modified().unwrap();
    let text = std::fs::read_to_string(&record).unwrap().replace("\"here\"", "\"fake\"");
    std::fs::write(&record, text).unwrap();
    std::fs::File::options().write(true).open(&record).unwrap().set_modified(time).unwrap();
    let (found, read, _) = folder.list(60);
    assert_eq!((found[0].host.as_str(), read), ("fake", 1));
    // A directory in place of the index.
    std::fs::remove_file(folder.path(index::NAME)).unwrap();
    std::fs::create_dir(folder.path(index::NAME)).unwrap();
    let count = AtomicUsize::new(0);
    let read = |path: &Path| {
        count.fetch_add(1, Ordering::Relaxed);
        Entry::read(path)
    };
    assert_eq!(index::entries(folder.folder.path(), index::now() + 60, usize::MAX, read, |_, _| ()).len(), 1);
    assert_eq!(count.into_inner(), 1);
}

#[test]
fn the_record_of_a_machine_is_found_behind_any_number_of_others() {
    let folder = Folder::new();
    let own = folder.write("here", 0, "");
    for number in 1..=MOST_LOOKED_AT * 2 {
        folder.write("there", number, "");
    }
    let folders = [folder.folder.path().to_owned()];
    assert_eq!(newest(&folders, &["here".to_owned()]).unwrap().entry.path, own);
    // A file named after another host is read if there is no other file.
    let moved = folder.path("there-20270102T000000Z.json");
    std::fs::rename(&own, &moved).unwrap();
    let file = std::fs::File::options().write(true).open(&moved).unwrap();
    file.set_modified(SystemTime::now() + std::time::Duration::from_secs(60)).unwrap();
    assert_eq!(newest(&folders, &["here".to_owned()]).unwrap().entry.path, moved);
    assert!(newest(&folders, &["nowhere".to_owned()]).is_none());
}
