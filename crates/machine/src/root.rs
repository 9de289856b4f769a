//! The directory under which `/proc`, `/sys` and other files are read: `/`, or a tree captured on another machine. A captured tree is
//! untrusted input: links cannot lead out of it, no file in it can block the program, and the size of every read is limited.

use std::collections::{BTreeSet, HashMap};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use record::CpuList;

use crate::quoted::Excerpt;

/// Maximum size of a file read as text. The longest files in sysfs are CPU lists and maps, which fill a few pages.
pub const MAX_TEXT: usize = 1 << 20;
/// Maximum size of files that grow with the number of CPUs, and in some cases with the number of interrupts or
/// scheduling domains.
pub const MAX_LONG_TEXT: usize = 16 << 20;
const LONG: [&str; 4] = ["proc/cpuinfo", "proc/interrupts", "proc/schedstat", "proc/stat"];
/// Maximum number of entries read from a directory.
const MAX_ENTRIES: usize = 100_000;
/// Maximum number of links followed in one path, which is also the kernel's limit (path_resolution(7)).
const MAX_LINKS: usize = 40;
/// Maximum number of resolved directories that are cached; a machine with 1,024 CPUs has about ten thousand.
const MAX_REMEMBERED: usize = 200_000;

/// A directory under which a machine's files are read.
#[derive(Debug)]
pub struct Root {
    /// The directory.
    path: PathBuf,
    /// Whether the directory is this machine's `/`.
    live: bool,
    /// Resolved directories of a captured tree, relative to `path` and keyed by the requested path, so that files in a
    /// known directory need only one look-up each.
    folders: Mutex<HashMap<String, Result<PathBuf, Why>>>,
    /// The files, if they are not on a disk.
    excerpt: Option<Excerpt>,
}

/// The reason why a directory cannot be the root of a captured tree.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// Nothing exists at this path.
    #[error("{0}: no such directory; specify the directory that contains the captured sys and proc")]
    NotFound(PathBuf),
    /// The path is not a directory.
    #[error("{0}: not a directory; unpack the capture and specify its directory")]
    NotAFolder(PathBuf),
    /// The directory contains neither `sys` nor `proc`.
    #[error("{0}: contains neither sys nor proc; specify the directory that contains these two")]
    NotATree(PathBuf),
    /// The directory could not be opened.
    #[error("{0}: {1}; make the directory readable")]
    Unreadable(PathBuf, io::Error),
}

/// The reason why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// No such file exists.
    #[error("there is no such file")]
    Missing,
    /// This user may not read the file.
    #[error("permission denied")]
    Denied,
    /// The path is a directory, a pipe, a device or a socket.
    #[error("not a regular file")]
    NotAFile,
    /// The file is longer than this many bytes.
    #[error("longer than {0} bytes")]
    TooLong(usize),
    /// The symbolic links to it form a loop.
    #[error("its symbolic links form a loop")]
    LinkLoop,
    /// The system's message for any other error.
    #[error("{0}")]
    Other(String),
}

impl From<io::Error> for Why {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR | libc::ENAMETOOLONG) => Why::Missing,
            Some(libc::EACCES | libc::EPERM) => Why::Denied,
            Some(libc::ELOOP) => Why::LinkLoop,
            Some(libc::EISDIR | libc::ENXIO) => Why::NotAFile,
            _ => Why::Other(error.to_string()),
        }
    }
}

/// A file that could not be read, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {why}")]
pub struct Unreadable {
    /// The path on the described machine: `/sys/…`.
    pub path: String,
    /// The reason.
    pub why: Why,
}

impl Unreadable {
    /// Whether the file does not exist. For most files, this only means that the kernel is too old to provide it.
    pub fn is_missing(&self) -> bool {
        self.why == Why::Missing
    }
}

impl Root {
    /// This machine.
    pub fn live() -> Self {
        Self { path: PathBuf::from("/"), live: true, folders: Mutex::default(), excerpt: None }
    }

    /// Some files of a machine, given by their paths and contents. Other files may be missing.
    pub fn excerpt<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let excerpt = Excerpt::new(files);
        Self { path: PathBuf::new(), live: false, folders: Mutex::default(), excerpt: Some(excerpt) }
    }

    /// Whether only some of the machine's files are available: if so, the absence of a file has no meaning.
    pub fn is_excerpt(&self) -> bool {
        self.excerpt.is_some()
    }

    /// Whether a file of an excerpt, given by its original path, has been read.
    pub fn was_read(&self, path: &str) -> bool {
        self.excerpt.as_ref().is_some_and(|excerpt| excerpt.was_read(path))
    }

    /// The directories of an excerpt under `folder`, each with the names in it.
    pub(crate) fn excerpt_folders(&self, folder: &str) -> Vec<(&str, &BTreeSet<String>)> {
        self.excerpt.as_ref().map_or(Vec::new(), |excerpt| excerpt.folders_below(folder))
    }

    /// A tree captured on a machine: a directory that contains its `sys` or `proc` (or both), or a directory whose only
    /// subdirectory contains them, as after unpacking an archive.
    pub fn captured(path: impl AsRef<Path>) -> Result<Self, RootError> {
        let path = path.as_ref();
        let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => RootError::NotFound(path.to_owned()),
            _ => RootError::Unreadable(path.to_owned(), error),
        })?;
        if !metadata.is_dir() {
            return Err(RootError::NotAFolder(path.to_owned()));
        }
        let is_tree = |folder: &Path| ["sys", "proc"].iter().any(|name| is_real_folder(&folder.join(name)));
        let tree = if is_tree(path) {
            path.to_owned()
        } else {
            let entries = std::fs::read_dir(path).map_err(|e| RootError::Unreadable(path.to_owned(), e))?;
            let mut inner =
                entries.flatten().take(MAX_ENTRIES).map(|e| e.path()).filter(|p| is_real_folder(p));
            match (inner.next(), inner.next()) {
                (Some(only), None) if is_tree(&only) => only,
                _ => return Err(RootError::NotATree(path.to_owned())),
            }
        };
        Ok(Self { path: tree, live: false, folders: Mutex::default(), excerpt: None })
    }

    /// Whether this is the running machine, in which case system calls may supplement the files.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text of the file `path` (as on the machine, `/sys/…`; the leading slash may be omitted), without leading and
    /// trailing white space, and with invalid UTF-8 replaced. `None` if it cannot be read. See [`Root::try_text`].
    pub fn text(&self, path: &str) -> Option<String> {
        self.try_text(path).ok()
    }

    /// Like [`Root::text`], with the reason for a failure. Only regular files of at most [`MAX_TEXT`] bytes are read
    /// ([`MAX_LONG_TEXT`] for those that grow with the number of CPUs); no read blocks.
    pub fn try_text(&self, path: &str) -> Result<String, Unreadable> {
        let long = LONG.iter().any(|file| path.ends_with(file));
        let bytes = self.read(path, if long { MAX_LONG_TEXT } else { MAX_TEXT })?;
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        let trimmed = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        Ok(if trimmed.len() == text.len() { text } else { trimmed.to_owned() })
    }

    /// The contents of a file; `None` if it cannot be read or is longer than `max` bytes.
    pub fn bytes(&self, path: &str, max: usize) -> Option<Vec<u8>> {
        self.read(path, max).ok()
    }

    /// The eight bytes at `offset` of a file, or of a device at this path, such as `/dev/cpu/0/msr`. An excerpt quotes the known bytes as
    /// numbers, the lowest first, under `/dev/cpu/0/msr@OFFSET`.
    pub fn word_at(&self, path: &str, offset: u64) -> Option<u64> {
        use std::os::unix::fs::FileExt;
        if self.excerpt.is_some() {
            let bytes = self.text(&format!("{path}@{offset:x}"))?;
            let shift = |word: u64, byte: &str| Some(word << 8 | u64::from(byte.parse::<u8>().ok()?));
            return bytes.split(' ').rev().try_fold(0, shift);
        }
        let (real, metadata) = self.locate(path).ok()?;
        // A device node in a captured tree would refer to a device of this machine.
        (self.live || metadata.is_file()).then_some(())?;
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(real).ok()?;
        let mut word = [0; 8];
        file.read_exact_at(&mut word, offset).ok()?;
        Some(u64::from_le_bytes(word))
    }

    /// The number in a file.
    pub fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// The CPU (or node) list that a file consists of, such as `online`.
    pub fn cpu_list(&self, path: &str) -> Option<CpuList> {
        self.text(path)?.parse().ok()
    }

    /// Names in a directory in natural order (`cpu2` before `cpu10`); empty if it cannot be read.
    pub fn list(&self, folder: &str) -> Vec<String> {
        if let Some(excerpt) = &self.excerpt {
            let mut names = excerpt.list(folder);
            names.sort_by(|a, b| natural(a, b));
            return names;
        }
        let Ok(real) = self.locate(folder).map(|(real, _)| real) else { return Vec::new() };
        let Ok(entries) = std::fs::read_dir(real) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .flatten()
            .take(MAX_ENTRIES)
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort_by(|a, b| natural(a, b));
        names
    }

    /// Names of the subdirectories of a directory, in any order, excluding links. Empty if it cannot be read.
    pub fn folders(&self, folder: &str) -> Vec<String> {
        let Ok(real) = self.locate(folder).map(|(real, _)| real) else { return Vec::new() };
        let Ok(entries) = std::fs::read_dir(real) else { return Vec::new() };
        let folders = entries.flatten().take(MAX_ENTRIES).filter(|e| e.file_type().is_ok_and(|t| t.is_dir()));
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// The numbers `N` of the entries `prefixN` in a directory, ascending: the CPUs of `/sys/devices/system/cpu`.
    /// Numbers above [`record::cpu_list::MAX_CPU`] are omitted.
    pub fn numbered(&self, folder: &str, prefix: &str) -> CpuList {
        let number = |name: &String| -> Option<u32> {
            let digits = name.strip_prefix(prefix)?;
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            if plain { digits.parse().ok() } else { None }
        };
        self.list(folder).iter().filter_map(number).collect()
    }

    /// Whether anything exists at `path`, with links resolved.
    pub fn exists(&self, path: &str) -> bool {
        self.excerpt.as_ref().map_or_else(|| self.locate(path).is_ok(), |excerpt| excerpt.exists(path))
    }

    fn read(&self, path: &str, max: usize) -> Result<Vec<u8>, Unreadable> {
        self.read_inner(path, max)
            .map_err(|why| Unreadable { path: format!("/{}", path.trim_start_matches('/')), why })
    }

    fn read_inner(&self, path: &str, max: usize) -> Result<Vec<u8>, Why> {
        if let Some(excerpt) = &self.excerpt {
            let text = excerpt.read(path).ok_or(Why::Missing)?;
            return if text.len() > max { Err(Why::TooLong(max)) } else { Ok(text.as_bytes().to_vec()) };
        }
        // O_NONBLOCK: opening a pipe returns immediately. It changes nothing for a regular file.
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC);
        let file = if self.live {
            let file = options.open(absolute(path))?;
            if !file.metadata()?.is_file() {
                return Err(Why::NotAFile);
            }
            file
        } else {
            // Checked before opening, because opening a device node may have side effects.
            let (real, metadata) = self.locate(path)?;
            if !metadata.is_file() {
                return Err(Why::NotAFile);
            }
            options.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_CLOEXEC).open(real)?
        };
        // A procfs file may be returned in pieces; in other files, a short read indicates the end.
        read_all(file, max, self.live && !absolute(path).starts_with("/sys"))
    }

    /// The real location of `path` (as on the machine), with links resolved below a captured tree.
    pub fn real_path(&self, path: &str) -> Result<PathBuf, Why> {
        self.locate(path).map(|(real, _)| real)
    }

    /// The real location of `path`, with links resolved, and its metadata.
    fn locate(&self, path: &str) -> Result<(PathBuf, Metadata), Why> {
        if self.excerpt.is_some() {
            return Err(Why::Missing);
        }
        if self.live {
            let path = absolute(path);
            let metadata = std::fs::metadata(&path)?;
            return Ok((path, metadata));
        }
        let path = path.trim_matches('/');
        let (real, metadata) = match path.rsplit_once('/') {
            Some((folder, name)) => self.resolve(self.folder(folder)?, name)?,
            None => self.resolve(PathBuf::new(), path)?,
        };
        Ok((self.path.join(real), metadata))
    }

    /// A directory of a captured tree, with links resolved, relative to the root.
    fn folder(&self, path: &str) -> Result<PathBuf, Why> {
        // A poisoned lock only means that another reader panicked; the cached data is still valid.
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = folders.get(path) {
            return known.clone();
        }
        if path.len() > libc::PATH_MAX as usize {
            return Err(Why::Missing);
        }
        let mut real = PathBuf::new();
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        let mut from = 0;
        for end in ends {
            let here = match folders.get(&path[..end]) {
                Some(known) => known.clone(),
                None => {
                    let found = self.resolve(real, &path[from..end]).map(|(real, _)| real);
                    if folders.len() < MAX_REMEMBERED {
                        folders.insert(path[..end].to_owned(), found.clone());
                    }
                    found
                }
            };
            real = here?;
            from = end + 1;
        }
        Ok(real)
    }

    /// Walks `path` from the directory `from` (relative to the root, without links), following links like a process
    /// with this root directory: an absolute link starts at the root, and `..` does not leave it.
    fn resolve(&self, from: PathBuf, path: &str) -> Result<(PathBuf, Metadata), Why> {
        let mut real = from;
        let mut metadata = None;
        let mut links = 0;
        let mut pending: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        while let Some(part) = pending.pop() {
            match part.as_str() {
                "" | "." => continue,
                ".." => {
                    real.pop();
                    metadata = None;
                    continue;
                }
                _ => {}
            }
            let here = self.path.join(&real).join(&part);
            let found = std::fs::symlink_metadata(&here)?;
            if found.file_type().is_symlink() {
                links += 1;
                if links > MAX_LINKS {
                    return Err(Why::LinkLoop);
                }
                let target = std::fs::read_link(&here)?;
                let target = target.to_string_lossy();
                if target.starts_with('/') {
                    real = PathBuf::new();
                }
                pending.extend(target.split('/').rev().map(str::to_owned));
                metadata = None;
            } else {
                if !found.is_dir() && pending.iter().any(|part| !part.is_empty()) {
                    return Err(Why::Missing);
                }
                real.push(&part);
                metadata = Some(found);
            }
        }
        let metadata = match metadata {
            Some(metadata) => metadata,
            None => std::fs::symlink_metadata(self.path.join(&real))?,
        };
        Ok((real, metadata))
    }
}

/// Whether `path` is a directory, and not only a link to one.
fn is_real_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// The path, starting with `/`.
fn absolute(path: &str) -> PathBuf {
    Path::new("/").join(path.trim_start_matches('/'))
}

/// Reads the rest of `file`; fails if it is longer than `max` bytes.
fn read_all(mut file: File, max: usize, in_pieces: bool) -> Result<Vec<u8>, Why> {
    // A page plus one byte: sysfs attributes fit, so one read suffices.
    let mut bytes = Vec::with_capacity(4097);
    loop {
        let start = bytes.len();
        let room = if start == 0 { 4097 } else { start.min(1 << 20) };
        bytes.resize(start + room, 0);
        let read = loop {
            match file.read(&mut bytes[start..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        bytes.truncate(start + read);
        if bytes.len() > max {
            return Err(Why::TooLong(max));
        }
        if read == 0 || (!in_pieces && read < 4096.min(room)) {
            return Ok(bytes);
        }
    }
}

/// Orders names in natural order: `cpu2` before `cpu10`.
fn natural(a: &str, b: &str) -> std::cmp::Ordering {
    parts(a).cmp(parts(b)).then_with(|| a.cmp(b))
}

/// The parts of a name. Each is a byte, or a number represented by its digits without leading zeros; fewer digits sort
/// first.
fn parts(name: &str) -> impl Iterator<Item = (u8, usize, &[u8])> {
    name.as_bytes().chunk_by(|a, b| a.is_ascii_digit() && b.is_ascii_digit()).map(|part| match part[0] {
        b'0'..=b'9' => {
            let digits = &part[part.iter().take_while(|byte| **byte == b'0').count()..];
            (b'0', digits.len(), digits)
        }
        byte => (byte, 0, part),
    })
}

#[cfg(test)]
mod tests {
    use super::natural;
    use proptest::prelude::*;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = ["cpu10", "cpu2", "cpu", "index3", "cpu02", "cpu2a"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["cpu", "cpu02", "cpu2", "cpu2a", "cpu10", "index3"]);
    }

    proptest! {
        #[test]
        fn the_order_of_names_is_one_order(names in proptest::collection::vec("[a0-2]{0,6}|\\PC{0,6}", 3)) {
            let (a, b, c) = (&names[0], &names[1], &names[2]);
            prop_assert_eq!(natural(a, b), natural(b, a).reverse());
            prop_assert_eq!(natural(a, b).is_eq(), a == b);
            prop_assert!(natural(a, b).is_gt() || natural(b, c).is_gt() || natural(a, c).is_le());
        }
    }
}
