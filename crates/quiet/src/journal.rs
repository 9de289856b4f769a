//! What is changed stands on disk before the first write, so that whoever comes after can put it back.
//!
//! A file of lines of JSON. The first, the header, holds every value to be changed with what it was; it is on disk before
//! anything is written. The others are appended around each write, so that a value which stands as neither old nor new is
//! known to be ours where we were in the middle of writing it, and another's where not.

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

/// The version of the layout that this version writes.
const VERSION: u32 = 1;
/// A journal longer than this is none: some ten thousand values on the largest machines.
const LONGEST: u64 = 64 << 20;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalHeader {
    /// The version of the layout.
    pub version: u32,
    /// The boot in which the values stand; after another boot they are gone by themselves.
    pub boot: String,
    /// The process that writes.
    pub pid: u32,
    /// What it was called with, for the one who asks who it was.
    pub command: String,
    /// When, as in a record.
    pub date: String,
    /// Whether the values are to stay when the process has ended.
    pub stays: bool,
    /// The values in the order of their writing.
    pub changes: Vec<Change>,
}

/// A later line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// A value is about to be written.
    Writing(usize),
    /// It was written, and this is what stands there: the kernel may keep another.
    Stands(usize, String),
    /// It was refused, with the reason; the file is as it was.
    Refused(usize, String),
    /// It is about to be put back.
    PuttingBack(usize),
    /// It is back.
    Back(usize),
    /// All is written.
    Applied,
    /// This is about to be done, beside the values.
    #[serde(rename = "undertaking")]
    Compound(CompoundChange),
    /// Nothing of it stands any more, and it is about to be removed.
    #[serde(rename = "over")]
    Finished,
}

/// A journal as it stands on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalContents {
    /// The first line.
    pub header: JournalHeader,
    /// What happened since.
    pub steps: Vec<Step>,
}

/// Why a journal is not read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refuses.
    #[error("{0}: {1}")]
    System(PathBuf, io::Error),
    /// What lies there must not be believed.
    #[error("{0}: {1}, so it is ignored; check it, then remove it")]
    Untrusted(PathBuf, &'static str),
    /// The values of an earlier start stand.
    #[error("{0}: values from an earlier session are still set; first run linespeed quiet --restore")]
    EarlierStands(PathBuf),
    /// What lies there is no journal.
    #[error("{0}: {1}; check it, restore its values manually, then remove it")]
    Corrupt(PathBuf, String),
}

/// An open journal that steps are appended to.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// What was written, whole lines only: a file that somebody damages is written anew from it.
    text: Vec<u8>,
    /// Whether the steps came after this copy was made, so that it has the header alone.
    without_steps: bool,
}

impl Journal {
    /// Writes the header, on disk when this returns. Nothing is left behind where that fails.
    pub fn begin(folder: &Path, header: &JournalHeader) -> Result<Self, Error> {
        let path = folder.join(JOURNAL);
        let text = line(header).map_err(|error| Error::System(path.clone(), error))?;
        if path.symlink_metadata().is_ok_and(|there| there.is_file() && there.len() == 0) {
            // Journals are renamed into place when they are whole: of an empty one nothing was ever set.
            let _ = std::fs::remove_file(&path);
        }
        if path.symlink_metadata().is_ok() {
            return Err(Error::EarlierStands(path));
        }
        clear_unfinished(folder);
        match write_new(folder, &path, text.as_bytes()) {
            Ok(file) => Ok(Self { path, file, text: text.into_bytes(), without_steps: false }),
            Err(error) => {
                // Nothing is changed yet: a journal that may not be on disk is none.
                let _ = std::fs::remove_file(&path);
                Err(Error::System(path, error))
            }
        }
    }

    /// Another hand on the same file, for a process that does not hear of later steps.
    pub fn duplicate(&self) -> io::Result<Self> {
        let file = self.another_descriptor()?;
        Ok(Self { path: self.path.clone(), file, text: self.text.clone(), without_steps: true })
    }

    /// Another descriptor of the same file.
    pub fn another_descriptor(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// What it says, whatever lies at its path: from what is open where that is whole, else from what was written.
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

    /// Its descriptor, which a guardian keeps open.
    pub fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Writes it again where somebody removed it, its folder perhaps too, or cut it while its values stand: what is open is
    /// still whole then, or what was written is remembered.
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

    /// What was written. A copy that knows the header alone takes every value that is not as it was for one that was being
    /// written.
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

    /// Opens the journal that is there, to go on in it. A last line that a kill left without its end is cut off, so that the
    /// next one does not run into it.
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

    /// Appends a step. After a kill in the middle of it the line lacks its end; on a full disk none of it stays.
    pub fn note(&mut self, step: &Step) -> Result<(), Error> {
        let text = line(step).map_err(|error| Error::System(self.path.clone(), error))?;
        match self.file.write_all(text.as_bytes()) {
            Ok(()) => {
                self.text.extend(text.into_bytes());
                Ok(())
            }
            Err(error) => {
                let _ = self.file.set_len(self.text.len() as u64);
                Err(Error::System(self.path.clone(), error))
            }
        }
    }

    /// Removes it: everything is as it was.
    pub fn end(mut self) -> Result<(), Error> {
        // For a guardian that holds it open: not to be written again. On a full disk it is, and found to be done.
        let _ = self.note(&Step::Finished);
        if !self.is_at_its_path() {
            // Somebody else's, who may remove it.
            return Ok(());
        }
        std::fs::remove_file(&self.path).map_err(|error| Error::System(self.path.clone(), error))
    }

    /// Whether what lies at its path is what is open, as far as can be told.
    fn is_at_its_path(&self) -> bool {
        match (self.file.metadata(), self.path.symlink_metadata()) {
            (Ok(own), Ok(there)) => (own.dev(), own.ino()) == (there.dev(), there.ino()),
            _ => true,
        }
    }
}

/// Writes a file beside and renames it, on disk when this returns; nothing of it is left beside where that fails.
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
            // Whoever uses the machine may know what root has set there, whatever root's mask is. Values of the kernel's files
            // are no secret, and of a command its name alone is told.
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

/// Removes what processes left that died while they wrote: who holds the lock may.
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

/// The journal in a folder, if there is one that may be believed: this user's own.
pub fn read(folder: &Path) -> Result<Option<JournalContents>, Error> {
    Ok(read_whole(folder, os::effective_user())?.map(|(contents, _)| contents))
}

/// The journal in one of root's folders, which others may read and nobody but root may write.
pub fn read_of_root(folder: &Path) -> Result<Option<JournalContents>, Error> {
    match std::fs::symlink_metadata(folder) {
        Ok(there) if there.is_dir() && there.uid() == 0 && there.mode() & 0o022 == 0 => {
            Ok(read_whole(folder, 0)?.map(|(contents, _)| contents))
        }
        // Whatever lies there, it is not root's.
        _ => Ok(None),
    }
}

/// As [`read`], of this owner, with the text of its whole lines. An empty one is none: nothing was ever set by it.
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
        (metadata.mode() & 0o022 != 0, "others may write it"),
        (metadata.nlink() > 1, "it has a second hard link"),
        (metadata.len() > LONGEST, "it is longer than any journal"),
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

/// The journal in a text, or why it is none.
fn parse(text: &[u8]) -> Result<JournalContents, String> {
    let text = std::str::from_utf8(text).map_err(|_| "it is no text")?;
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.ends_with('\n')).ok_or("its first line is incomplete")?;
    let header: JournalHeader = serde_json::from_str(first).map_err(|error| format!("line 1: {error}"))?;
    if header.version != VERSION {
        return Err(format!("it was written by another version of linespeed (format {})", header.version));
    }
    let foreign = |path: &str| Err(format!("it names {path}, which is not a kernel file"));
    if let Some(bad) = header.changes.iter().find(|change| !change.is_of_the_kernel()) {
        return foreign(&bad.path);
    }
    let mut steps = Vec::new();
    // The last line may lack its end: a kill came while it was written, and what it announces has not begun.
    for (number, line) in (2..).zip(lines.take_while(|line| line.ends_with('\n'))) {
        let step: Step = serde_json::from_str(line).map_err(|error| format!("line {number}: {error}"))?;
        if step.change_index().is_some_and(|at| at >= header.changes.len()) {
            return Err(format!("line {number}: no such change"));
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
    /// The change that it is about.
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

/// How many values were set, by whom and when.
impl fmt::Display for JournalContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JournalHeader { pid, command, date, changes, .. } = &self.header;
        let values = if changes.len() == 1 { "value" } else { "values" };
        write!(f, "{} {values} set by process {pid} ({command}) at {date}", changes.len())
    }
}

impl JournalContents {
    /// The notice about a journal of another boot.
    pub fn of_another_boot(&self) -> String {
        format!("{self} before the last boot, which ended them; the settings made at boot are in force")
    }

    /// Compound changes beside the values, the last first: the order in which it is undone.
    pub fn compound_changes(&self) -> impl Iterator<Item = &CompoundChange> {
        self.steps.iter().rev().filter_map(|step| match step {
            Step::Compound(compound) => Some(compound),
            _ => None,
        })
    }
}

impl JournalHeader {
    /// A header of this process.
    pub fn new(boot: String, command: String, date: String, stays: bool, changes: Vec<Change>) -> Self {
        Self { version: VERSION, boot, pid: std::process::id(), command, date, stays, changes }
    }
}
