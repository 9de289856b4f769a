//! Files in /proc that stay open between reads, because opening a file takes several times as long as reading it.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use machine::Root;

/// Maximum number of files of one kind to keep open, a quarter of the usual limit of a process; others are opened each time.
pub(crate) const MOST_OPEN: usize = 256;
/// Bytes per read: enough for all of `/proc/PID/stat`, which contains about 50 numbers and a name of at most 15 bytes.
const PIECE: usize = 4096;

/// The open files, each identified by a number that the caller assigns.
#[derive(Debug, Default)]
pub(crate) struct KeptFiles {
    open: HashMap<i32, File>,
    /// Whether the limit of open files is too low.
    refused: bool,
}

impl KeptFiles {
    /// The current contents of the file; if its process has exited, the contents of the file that is now at `path`.
    pub(crate) fn text(&mut self, root: &Root, key: i32, path: &str) -> Option<String> {
        // The files of a captured tree may be replaced between reads.
        if !root.is_live() {
            return root.text(path);
        }
        if !self.open.contains_key(&key) {
            if self.refused || self.open.len() >= MOST_OPEN {
                return root.text(path);
            }
            match File::open(path) {
                Ok(file) => drop(self.open.insert(key, file)),
                Err(error) => {
                    if error.raw_os_error() == Some(libc::EMFILE) {
                        self.refused = true;
                        self.open.clear();
                    }
                    return root.text(path);
                }
            }
        }
        match read_whole(self.open.get(&key)?) {
            Ok(bytes) if !bytes.is_empty() => Some(String::from_utf8_lossy(&bytes).into_owned()),
            _ => {
                self.open.remove(&key);
                root.text(path)
            }
        }
    }

    /// Like [`Self::text`], but only for a file that is or can be kept open. As long as an open file can be read, it belongs to the
    /// same process.
    pub(crate) fn kept_text(&mut self, root: &Root, key: i32, path: &str) -> Option<(String, bool)> {
        let known = self.open.contains_key(&key);
        let text = self.text(root, key, path)?;
        self.open.contains_key(&key).then_some((text, known))
    }

    /// Closes all files for which `keep` returns false.
    pub(crate) fn retain(&mut self, keep: impl Fn(i32) -> bool) {
        self.open.retain(|key, _| keep(*key));
    }
}

/// The complete contents of a file. A single read from /proc may return only a part of them.
fn read_whole(file: &File) -> io::Result<Vec<u8>> {
    let (mut bytes, mut piece) = (Vec::new(), [0; PIECE]);
    loop {
        match file.read_at(&mut piece, bytes.len() as u64)? {
            0 => return Ok(bytes),
            read => bytes.extend_from_slice(&piece[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_process_that_ended_is_another_process() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let (pid, path) = (child.id() as i32, format!("/proc/{}/stat", child.id()));
        let (root, mut kept) = (Root::live(), KeptFiles::default());
        let first = kept.text(&root, pid, &path).unwrap();
        assert_eq!(first.split(' ').next(), Some(pid.to_string().as_str()));
        assert!(kept.text(&root, pid, &path).is_some() && kept.open.len() == 1);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(kept.text(&root, pid, &path), None);
        let own = kept.text(&root, pid, "/proc/self/stat").unwrap();
        assert_eq!(own.split(' ').next(), Some(std::process::id().to_string().as_str()));
        kept.retain(|_| false);
        assert!(kept.open.is_empty());
    }

    #[test]
    fn a_file_that_grew_too_long_is_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        std::fs::write(&path, "x".repeat(PIECE + 1)).unwrap();
        let text = KeptFiles::default().text(&Root::live(), 1, path.to_str().unwrap());
        assert_eq!(text.map(|text| text.len()), Some(PIECE + 1));
        let mut kept = KeptFiles::default();
        std::fs::write(&path, "x".repeat(5 * PIECE)).unwrap();
        for length in [5 * PIECE, 3, 3] {
            std::fs::write(&path, "y".repeat(length)).unwrap();
            let text = kept.text(&Root::live(), 1, path.to_str().unwrap()).unwrap();
            assert_eq!(text, "y".repeat(length));
        }
        assert_eq!((kept.open.len(), kept.text(&Root::live(), 2, "/proc/none")), (1, None));
    }
}
