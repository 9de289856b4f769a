//! The journal records changes on disk before the first write, so that a later process can revert them.
//!
//! The journal is a file of JSON lines. The first line, the header, contains every value to be changed, together with
//! its old value, and is on disk before any value is changed. Further lines are appended before and after each value is
//! written. Therefore, a value that is neither the old nor the new one was set by us if the journal shows an incomplete
//! write, and otherwise by another process.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::change::Change;
use crate::compound_change::CompoundChange;
use crate::state_directory::{self, JOURNAL};

/// The version of the journal's format that this program writes.
const VERSION: u32 = 1;
/// Maximum length of a journal. On the largest machines, a journal contains about ten thousand values.
const LONGEST: u64 = 64 << 20;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalHeader {
    /// The version of the journal's format.
    pub version: u32,
    /// The boot in which the values were set; a reboot resets the values.
    pub boot: String,
    /// The writing process.
    pub pid: u32,
    /// The command line of the writing process, by which users can identify it.
    pub command: String,
    /// The time, formatted as in a record.
    pub date: String,
    /// Whether the values persist after the process ends.
    pub stays: bool,
    /// The values, in the order of writing.
    pub changes: Vec<Change>,
}

/// A later line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// A value is about to be written.
    Writing(usize),
    /// The value was written. Afterwards, the file contained this value, which may differ from the written one.
    Stands(usize, String),
    /// The write was refused for this reason; the file is unchanged.
    Refused(usize, String),
    /// The value is about to be restored.
    PuttingBack(usize),
    /// The value is restored.
    Back(usize),
    /// All values are written.
    Applied,
    /// This compound change is about to be applied, in addition to the values.
    #[serde(rename = "undertaking")]
    Compound(CompoundChange),
    /// All changes have been reverted, and the journal is about to be removed.
    #[serde(rename = "over")]
    Finished,
}

/// The contents of a journal on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalContents {
    /// The first line.
    pub header: JournalHeader,
    /// The subsequent steps.
    pub steps: Vec<Step>,
}

/// The reason why a journal cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system reports an error.
    #[error("{0}: {1}")]
    System(PathBuf, io::Error),
    /// The file must not be trusted.
    #[error("{0} is ignored because {1}; check it, then remove it")]
    Untrusted(PathBuf, &'static str),
    /// Values of an earlier session are still in effect.
    #[error("values from an earlier session are still set ({0}); first run linespeed quiet --restore")]
    EarlierStands(PathBuf),
    /// The file is not a journal.
    #[error("{0} is not a valid journal ({1}); check it, restore its values manually, then remove it")]
    Corrupt(PathBuf, String),
}

/// An open journal for appending steps.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// The written text, in complete lines. If the file is damaged, it is rewritten from this text.
    text: Vec<u8>,
    /// Whether this handle was duplicated before any step and therefore has only the header.
    without_steps: bool,
}

impl Journal {
    /// Writes the header, which is on disk when this function returns. On failure, nothing is left behind.
    pub fn begin(folder: &Path, header: &JournalHeader) -> Result<Self, Error> {
        let path = folder.join(JOURNAL);
        let text = line(header).map_err(|error| Error::System(path.clone(), error))?;
        if path.symlink_metadata().is_ok_and(|there| there.is_file() && there.len() == 0) {
            // A journal gets its name only when its header is complete. If the file is empty, nothing was ever set.
            let _ = std::fs::remove_file(&path);
        }
        if path.symlink_metadata().is_ok() {
            return Err(Error::EarlierStands(path));
        }
        clear_unfinished(folder);
        let file = write_new(folder, &path, text.as_bytes()).map_err(|error| {
            // Nothing has been changed yet, so a journal that may not be on disk is discarded.
            let _ = std::fs::remove_file(&path);
            Error::System(path.clone(), error)
        })?;
        Ok(Self { path, file, text: text.into_bytes(), without_steps: false })
    }

    /// Another handle of the same file, for a process that does not receive later steps.
    pub fn duplicate(&self) -> io::Result<Self> {
        let file = self.another_descriptor()?;
        Ok(Self { path: self.path.clone(), file, text: self.text.clone(), without_steps: true })
    }

    /// Another descriptor of the same file.
    pub fn another_descriptor(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// The contents of this journal, regardless of the file at its path: from the open file if that is complete,
    /// otherwise from the text in memory.
    pub fn own_contents(&self) -> Option<JournalContents> {
        let text = match self.read_open() {
            Ok(open) if open.starts_with(&self.text) => open,
            _ => self.remembered().ok()?,
        };
        parse(&text).ok()
    }

    fn read_open(&self) -> io::Result<Vec<u8>> {
        let mut open = vec![0; self.file.metadata()?.len().min(LONGEST) as usize];
        self.file.read_exact_at(&mut open, 0)?;
        Ok(open)
    }

    /// The descriptor that a guardian keeps open.
    pub fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Writes the journal again if someone removed it (perhaps with its directory) or truncated it while its values are
    /// set. The text is taken from the open file if that is still complete, otherwise from memory.
    pub fn rewrite_if_missing(&self) -> Result<(), Error> {
        let system = |error: io::Error| Error::System(self.path.clone(), error);
        let own = self.file.metadata().map_err(system)?;
        let open = self.read_open().map_err(system)?;
        let whole = open.starts_with(&self.text);
        let in_the_way = match self.path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(_) => true,
            Ok(there) if (there.dev(), there.ino()) == (own.dev(), own.ino()) => whole,
            Ok(there) => !(there.is_file() && there.len() == 0),
        };
        if in_the_way {
            return Ok(());
        }
        let text = if whole { open } else { self.remembered().map_err(system)? };
        let over = line(&Step::Finished).map_err(system)?;
        if text.ends_with(over.as_bytes()) {
            return Ok(());
        }
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        state_directory::prepare(folder).map_err(|why| system(io::Error::other(why)))?;
        write_new(folder, &self.path, &text).map(drop).map_err(system)
    }

    /// The text in memory. A handle without steps adds a step for every change, as if each value were being written,
    /// because it does not know which values were written.
    fn remembered(&self) -> io::Result<Vec<u8>> {
        let mut text = self.text.clone();
        if self.without_steps
            && let Ok(contents) = parse(&text)
        {
            for at in 0..contents.header.changes.len() {
                text.extend(line(&Step::Writing(at))?.into_bytes());
            }
        }
        Ok(text)
    }

    /// Opens the existing journal to append further steps. An incomplete last line, left by a killed process, is
    /// removed, so that the next line starts correctly.
    pub fn resume(folder: &Path) -> Result<Option<(Self, JournalContents)>, Error> {
        clear_unfinished(folder);
        let Some((contents, text)) = read_whole(folder, os::effective_user())? else { return Ok(None) };
        let path = folder.join(JOURNAL);
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path)
            .and_then(|file| file.set_len(text.len() as u64).map(|()| file))
            .map_err(|error| Error::System(path.clone(), error))?;
        Ok(Some((Self { path, file, text, without_steps: false }, contents)))
    }

    /// Appends a step. If the process is killed during the write, an incomplete line may remain. If the disk is full,
    /// the incomplete line is removed.
    pub fn note(&mut self, step: &Step) -> Result<(), Error> {
        let text = line(step).map_err(|error| Error::System(self.path.clone(), error))?;
        self.file.write_all(text.as_bytes()).map_err(|error| {
            let _ = self.file.set_len(self.text.len() as u64);
            Error::System(self.path.clone(), error)
        })?;
        self.text.extend(text.into_bytes());
        Ok(())
    }

    /// Removes the journal after everything was restored.
    pub fn end(mut self) -> Result<(), Error> {
        // This tells a guardian that has the journal open not to write it again. On a full disk, this step is not
        // recorded. A guardian may then write the journal again, but finds all values restored.
        let _ = self.note(&Step::Finished);
        if !self.is_at_its_path() {
            // The file at this path is not this journal, so it is left to its owner.
            return Ok(());
        }
        std::fs::remove_file(&self.path).map_err(|error| Error::System(self.path.clone(), error))
    }

    /// Whether the file at the journal's path is the open file; `true` if this cannot be determined.
    fn is_at_its_path(&self) -> bool {
        match (self.file.metadata(), self.path.symlink_metadata()) {
            (Ok(own), Ok(there)) => (own.dev(), own.ino()) == (there.dev(), there.ino()),
            _ => true,
        }
    }
}

/// Writes a new file and renames it to `path`; the file is on disk when this function returns. On failure, nothing is
/// left behind.
fn write_new(folder: &Path, path: &Path, text: &[u8]) -> io::Result<File> {
    let new = folder.join(format!("{JOURNAL}.{}", std::process::id()));
    let written = (|| {
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&new)?;
        if os::effective_user() == 0 {
            // All users may read root's settings, regardless of root's umask. Values of kernel files are not secret,
            // and only the name of the command is stored, not its arguments.
            file.set_permissions(std::fs::Permissions::from_mode(0o644))?;
        }
        file.write_all(text)?;
        file.sync_all()?;
        std::fs::rename(&new, path)?;
        File::open(folder)?.sync_all()?;
        Ok(file)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    written
}

/// Removes unfinished files of processes that died while writing. The caller holds the lock, so no other process is
/// writing.
fn clear_unfinished(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(JOURNAL)?.strip_prefix('.'));
        if number.is_some_and(|number| number.parse::<u32>().is_ok()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn line(value: &impl Serialize) -> io::Result<String> {
    let mut text = serde_json::to_string(value).map_err(io::Error::other)?;
    text.push('\n');
    Ok(text)
}

/// The journal in a directory, if it exists and is trusted, that is, owned by this user.
pub fn read(folder: &Path) -> Result<Option<JournalContents>, Error> {
    Ok(read_whole(folder, os::effective_user())?.map(|(contents, _)| contents))
}

/// The journal in one of root's directories, which all users can read but only root can write.
pub fn read_of_root(folder: &Path) -> Result<Option<JournalContents>, Error> {
    match std::fs::symlink_metadata(folder) {
        Ok(there) if there.is_dir() && there.uid() == 0 && there.mode() & 0o022 == 0 => {
            Ok(read_whole(folder, 0)?.map(|(contents, _)| contents))
        }
        // The directory does not exist, or users other than root could have written its files.
        _ => Ok(None),
    }
}

/// Like [`read`], but for a journal that belongs to `owner`. Also returns the text of the complete lines. An empty
/// journal is ignored, because nothing was ever set.
fn read_whole(folder: &Path, owner: u32) -> Result<Option<(JournalContents, Vec<u8>)>, Error> {
    let path = folder.join(JOURNAL);
    let system = |error: io::Error| Error::System(path.clone(), error);
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(&path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
            return Err(Error::Untrusted(path, "it is a symbolic link"));
        }
        Err(error) => return Err(system(error)),
    };
    let metadata = file.metadata().map_err(system)?;
    let doubts = [
        (!metadata.is_file(), "it is not a regular file"),
        (metadata.uid() != owner, "it belongs to another user"),
        (metadata.mode() & 0o022 != 0, "other users can write to it"),
        (metadata.nlink() > 1, "it has a second hard link"),
        (metadata.len() > LONGEST, "it is too long for a journal"),
    ];
    if let Some((_, why)) = doubts.into_iter().find(|(doubted, _)| *doubted) {
        return Err(Error::Untrusted(path, why));
    }
    let mut text = Vec::new();
    file.take(LONGEST).read_to_end(&mut text).map_err(system)?;
    if text.is_empty() {
        return Ok(None);
    }
    let contents = parse(&text).map_err(|why| Error::Corrupt(path, why))?;
    text.truncate(text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
    Ok(Some((contents, text)))
}

/// Parses a journal; the error explains why the journal is invalid.
fn parse(text: &[u8]) -> Result<JournalContents, String> {
    let text = std::str::from_utf8(text).map_err(|_| "it is not a text file")?;
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.ends_with('\n')).ok_or("its first line is incomplete")?;
    let header: JournalHeader = serde_json::from_str(first).map_err(|error| format!("line 1: {error}"))?;
    if header.version != VERSION {
        return Err(format!("it was written by another version of linespeed (format {})", header.version));
    }
    let foreign = |path: &str| Err(format!("it lists {path}, which is not a kernel file"));
    if let Some(bad) = header.changes.iter().find(|change| !change.is_of_the_kernel()) {
        return foreign(&bad.path);
    }
    let mut steps = Vec::new();
    // The last line may be incomplete if the process was killed while writing it. In this case, the step that it
    // announces was not begun.
    for (number, line) in (2..).zip(lines.take_while(|line| line.ends_with('\n'))) {
        let step: Step = serde_json::from_str(line).map_err(|error| format!("line {number}: {error}"))?;
        if step.change_index().is_some_and(|at| at >= header.changes.len()) {
            return Err(format!("line {number}: unknown change"));
        }
        if let Step::Compound(compound) = &step
            && let Some(path) = compound.foreign_path()
        {
            return foreign(path);
        }
        steps.push(step);
    }
    Ok(JournalContents { header, steps })
}

impl Step {
    /// The index of the change to which this step refers.
    pub fn change_index(&self) -> Option<usize> {
        match self {
            Step::Writing(at)
            | Step::Stands(at, _)
            | Step::Refused(at, _)
            | Step::PuttingBack(at)
            | Step::Back(at) => Some(*at),
            Step::Applied | Step::Compound(_) | Step::Finished => None,
        }
    }
}

/// Describes how many values were set, by whom and when.
impl fmt::Display for JournalContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JournalHeader { pid, command, date, changes, .. } = &self.header;
        let values = if changes.len() == 1 { "value" } else { "values" };
        write!(f, "{} {values} set by process {pid} ({command}) at {date}", changes.len())
    }
}

impl JournalContents {
    /// The notice about a journal from another boot.
    pub fn of_another_boot(&self) -> String {
        format!("the last boot reset {self}; the boot-time settings apply")
    }

    /// Compound changes in addition to the values, in the (reverse) order in which they must be undone.
    pub fn compound_changes(&self) -> impl Iterator<Item = &CompoundChange> {
        self.steps.iter().rev().filter_map(|step| match step {
            Step::Compound(compound) => Some(compound),
            _ => None,
        })
    }
}

impl JournalHeader {
    /// A header for this process.
    pub fn new(boot: String, command: String, date: String, stays: bool, changes: Vec<Change>) -> Self {
        Self { version: VERSION, boot, pid: std::process::id(), command, date, stays, changes }
    }
}
