//! Writes files atomically: a temporary file in the same directory is synced and then renamed.

use std::ffi::OsString;
use std::fs::{File, Metadata, Permissions};
use std::io::{Error, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use record::phrase::visible;
use record::text;

use crate::user::Invoker;

/// The interval between checks for a reader of a pipe.
const READER: Duration = Duration::from_millis(20);

/// A file that cannot be written.
#[derive(Debug)]
pub struct CannotWrite {
    /// The intended path.
    pub path: PathBuf,
    /// The system's error.
    pub error: Error,
    /// The path to which the text was saved instead.
    pub saved: Option<PathBuf>,
}

/// Writes files. The program's own directory is created if it is missing; under sudo, it belongs to the user who ran sudo.
#[derive(Debug, Default)]
pub struct Writer {
    /// The program's own directory.
    pub own: Option<PathBuf>,
    /// The directory's owner, if different from the current user.
    pub owner: Option<Invoker>,
}

impl Writer {
    /// Checks before a run that a file can be written at `path`, to avoid losing the measurement.
    pub fn check(&self, path: &Path) -> Result<(), CannotWrite> {
        let _owner = self.assume(path);
        let check = || {
            if self.is_written_to(path)? {
                // Opening and closing a pipe would make its reader reach the end of file.
                return if is_pipe(path) { Ok(()) } else { open_special(path).map(drop) };
            }
            in_the_way(path)?;
            let target = self.target(path);
            self.have(folder_of(&target))?;
            temporary(folder_of(&target)).map(drop)
        };
        check().map_err(|error| cannot(path, error))
    }

    /// Writes `text` to `path` atomically: the path always contains either the old or the complete new text.
    pub fn write(&self, path: &Path, text: &str) -> Result<(), CannotWrite> {
        self.write_waiting(path, text, true)
    }

    /// Like [`Self::write`], for repeatedly written files: this function waits neither for the disk nor for the reader
    /// of a pipe.
    pub fn refresh(&self, path: &Path, text: &str) -> Result<(), CannotWrite> {
        self.write_waiting(path, text, false)
    }

    fn write_waiting(&self, path: &Path, text: &str, waits: bool) -> Result<(), CannotWrite> {
        let _owner = self.assume(path);
        let write = || {
            if self.is_written_to(path)? {
                let at_once = || File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path);
                let mut file = if waits { open_special(path) } else { at_once() }?;
                return file.write_all(text.as_bytes());
            }
            in_the_way(path)?;
            let target = self.target(path);
            let file = self.staged(folder_of(&target), text, waits)?;
            // Permissions are preserved, as with a shell's redirection.
            if let Some(before) = target.symlink_metadata().ok().filter(Metadata::is_file) {
                file.as_file().set_permissions(before.permissions())?;
            }
            file.persist(&target).map(drop).map_err(|error| error.error)
        };
        write().map_err(|error| cannot(path, error))
    }

    /// Writes a new measurement and returns its path: `path`, replacing an existing file if the user `named` it. If the
    /// path is no longer writable, the measurement is saved in the temporary directory. In this case, nothing is lost, but this function
    /// returns an error, because users would not look for the measurement there.
    pub fn write_or_rescue(&self, path: &Path, named: bool, text: &str) -> Result<PathBuf, CannotWrite> {
        let written = if named {
            self.write(path, text).map(|()| path.to_owned())
        } else {
            self.write_beside_others(path, text)
        };
        written.map_err(|failure| {
            // The name of a device does not describe its contents.
            let own = || OsString::from("linespeed-record.json");
            let name =
                path.file_name().filter(|_| !is_special(path)).map_or_else(own, |name| name.to_owned());
            let place = crate::places::temporary_folder().join(name);
            let saved = (place != path).then(|| Self::default().write_beside_others(&place, text).ok());
            CannotWrite { saved: saved.flatten(), ..failure }
        })
    }

    /// Writes a file with a generated name. If another run in the same second has already used that name, a number is
    /// added. Returns the name.
    fn write_beside_others(&self, path: &Path, text: &str) -> Result<PathBuf, CannotWrite> {
        let _owner = self.assume(path);
        let failed = |error| cannot(path, error);
        let mut file = self.staged(folder_of(path), text, true).map_err(failed)?;
        for number in 1..1000 {
            let name = if number == 1 { path.to_owned() } else { numbered(path, number) };
            match file.persist_noclobber(&name) {
                Ok(_) => return Ok(name),
                Err(refused) if refused.error.kind() == ErrorKind::AlreadyExists => file = refused.file,
                Err(refused) => return Err(failed(refused.error)),
            }
        }
        Err(failed(ErrorKind::AlreadyExists.into()))
    }

    /// Writes a file that only its owner may read.
    ///
    /// # Errors
    ///
    /// The file already exists, or the directory is not writable.
    pub(crate) fn write_secret(&self, path: &Path, text: &str) -> std::io::Result<()> {
        if path.symlink_metadata().is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let _owner = self.assume(path);
        self.have(folder_of(path))?;
        let mut file = temporary(folder_of(path))?;
        file.as_file().set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist_noclobber(path).map(drop).map_err(|error| error.error)
    }

    /// The file to replace: the target of a link that the user named or, in our own directory, the link itself, because
    /// someone else created it.
    fn target(&self, path: &Path) -> PathBuf {
        if self.is_own(path) { path.to_owned() } else { behind_links(path) }
    }

    /// Makes this thread create files as the owner of the directory of `path` until the result is dropped.
    pub fn assume(&self, path: &Path) -> Option<crate::user::Assumed> {
        self.owner.as_ref().filter(|_| self.is_own(path)).map(Invoker::assume)
    }

    /// Whether the path is in the program's own directory.
    fn is_own(&self, path: &Path) -> bool {
        self.own.as_ref().is_some_and(|own| path.starts_with(own))
    }

    /// Whether the path is a device or a pipe, that is, whether text is written to it instead of replacing it. Neither
    /// is expected in our own directory, in which a pipe would block us.
    fn is_written_to(&self, path: &Path) -> std::io::Result<bool> {
        match is_special(path) {
            true if self.is_own(path) => Err(Error::other(text!("it is not a regular file").to_string())),
            special => Ok(special),
        }
    }

    /// Ensures that a directory exists. Our own directory is created; a missing directory specified by the user is
    /// probably misspelled.
    fn have(&self, folder: &Path) -> std::io::Result<()> {
        if self.is_own(folder) {
            return std::fs::create_dir_all(folder);
        }
        if folder.exists() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::NotFound,
            text!("there is no directory {folder}", folder = visible(folder)).to_string(),
        ))
    }

    /// A temporary file in `folder` that contains `text`. If `waits` is set, this function waits until the file is on disk.
    fn staged(&self, folder: &Path, text: &str, waits: bool) -> std::io::Result<tempfile::NamedTempFile> {
        self.have(folder)?;
        let mut file = temporary(folder)?;
        // The error from `write_all` does not name the temporary file.
        file.as_file_mut().write_all(text.as_bytes())?;
        if waits {
            file.as_file().sync_all()?;
        }
        Ok(file)
    }
}

/// An unused name similar to `path`, so that messages printed before the file is written contain the right name.
pub fn free_name(path: &Path) -> PathBuf {
    let mut names =
        (1..1000).map(|number| if number == 1 { path.to_owned() } else { numbered(path, number) });
    names.find(|name| name.symlink_metadata().is_err()).unwrap_or_else(|| path.to_owned())
}

fn cannot(path: &Path, error: Error) -> CannotWrite {
    CannotWrite { path: path.to_owned(), error, saved: None }
}

/// The prefix of temporary files.
const UNFINISHED: &str = ".linespeed-unfinished-";

/// Removes files and directories with this prefix that killed runs left behind; files in use are locked.
pub fn clear_killed(place: &Path, prefix: &str) {
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(prefix) {
            continue;
        }
        // Do not follow links.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let opened = File::options().read(true).custom_flags(flags).open(entry.path());
        let Ok((file, data)) = opened.and_then(|file| file.metadata().map(|data| (file, data))) else {
            continue;
        };
        if !crate::is_ours(data.uid()) || !is_old(&data) || file.try_lock().is_err() {
            continue;
        }
        let _ = match data.is_dir() {
            true => std::fs::remove_dir_all(entry.path()),
            false if data.is_file() => std::fs::remove_file(entry.path()),
            false => Ok(()),
        };
    }
}

/// Whether a file is too old to have been created by a run that has not locked it yet.
fn is_old(data: &Metadata) -> bool {
    let age = data.modified().ok().and_then(|time| time.elapsed().ok());
    age.is_some_and(|age| age > Duration::from_secs(2))
}

/// An empty temporary file in `folder`, locked, with the same permissions as the user's other files. The error is the
/// system's error without the name of the temporary file, which would only be confusing.
fn temporary(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    clear_killed(folder, UNFINISHED);
    let mut system = None;
    let made = tempfile::Builder::new().prefix(UNFINISHED).make_in(folder, |path| {
        let made = File::options().read(true).write(true).create_new(true).open(path);
        // If the file system does not support locks, unfinished files are never removed.
        made.inspect(|file| drop(file.try_lock())).inspect_err(|error| system = error.raw_os_error())
    });
    made.map_err(|error| system.map_or(error, Error::from_raw_os_error))
}

/// `record.json` as `record-2.json`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}-{number}{ending}"))
}

/// The target of a symbolic link: as in a shell redirection, the target is replaced instead of the link.
fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // The kernel follows at most 40 links.
    for _ in 0..40 {
        let Ok(target) = std::fs::read_link(&path) else { break };
        path = folder_of(&path).join(target);
    }
    path
}

/// An error that describes the obstacle, if the system's message would not.
fn in_the_way(path: &Path) -> std::io::Result<()> {
    if path.is_dir() {
        return Err(Error::other(text!("it is a directory").to_string()));
    }
    match folder_of(path).ancestors().find(|above| above.exists()).filter(|above| !above.is_dir()) {
        Some(file) => Err(Error::other(text!("{file} is not a directory", file = visible(file)).to_string())),
        None => Ok(()),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Opens a device or a pipe for writing. Waits for the reader of a pipe until a signal requests a stop.
fn open_special(path: &Path) -> std::io::Result<File> {
    let open = |flags| File::options().write(true).custom_flags(flags).open(path);
    while is_pipe(path) {
        match open(libc::O_NONBLOCK) {
            // The first descriptor stays open until the second one is open, because the reader of a pipe without
            // writers reaches the end of file.
            Ok(_first) => return open(0),
            Err(error) if error.raw_os_error() != Some(libc::ENXIO) => return Err(error),
            Err(_) if crate::signals::is_asked() => {
                return Err(Error::other(text!("the pipe has no reader").to_string()));
            }
            Err(_) => std::thread::sleep(READER),
        }
    }
    open(0)
}

fn is_pipe(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|data| data.file_type().is_fifo())
}

/// Whether the path is a device or a pipe (/dev/stdout, /dev/null).
fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn the_reader_of_a_pipe_is_waited_for_and_gets_all() {
        let (folder, writer) = (tempfile::tempdir().unwrap(), Writer::default());
        let path = folder.path().join("pipe");
        let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
        // SAFETY: the name ends with a zero byte.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let reader = std::thread::spawn({
            let path = path.clone();
            move || std::fs::read_to_string(path).unwrap()
        });
        writer.check(&path).unwrap();
        let text = "line\n".repeat(50_000);
        writer.write(&path, &text).unwrap();
        assert!(reader.join().unwrap() == text);
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_stays_beside_it() {
        let (folder, writer) = (tempfile::tempdir().unwrap(), Writer::default());
        let path = folder.path().join("record.json");
        writer.write(&path, "first").unwrap();
        writer.write(&path, "second").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn two_runs_of_one_second_leave_two_records() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("host-t.json");
        let write = |text| Writer::default().write_or_rescue(&path, false, text).unwrap();
        let (first, second) = (write("first"), write("second"));
        assert_eq!(second, folder.path().join("host-t-2.json"));
        assert_eq!(std::fs::read_to_string(first).unwrap(), "first");
        assert_eq!(std::fs::read_to_string(second).unwrap(), "second");
    }

    #[test]
    fn the_file_behind_a_link_is_replaced_and_the_link_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        std::os::unix::fs::symlink("target", &link).unwrap();
        Writer::default().write(&link, "new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(target).unwrap(), "new");
    }

    #[test]
    fn in_the_programs_own_folder_a_link_is_replaced_and_who_may_read_a_file_stays() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (victim, link) = (elsewhere.path().join("victim"), folder.path().join("noise.json"));
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        let own = Writer { own: Some(folder.path().to_owned()), owner: None };
        own.check(&link).unwrap();
        own.write(&link, "first").unwrap();
        assert!(!link.is_symlink());
        assert_eq!(std::fs::read_to_string(victim).unwrap(), "precious");
        std::fs::set_permissions(&link, std::fs::Permissions::from_mode(0o600)).unwrap();
        own.write(&link, "second").unwrap();
        assert_eq!(std::fs::metadata(&link).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_a_killed_run_left_unfinished_goes_and_what_is_being_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let old = SystemTime::now() - Duration::from_secs(60);
        let lay = |name: &str| {
            let file = File::create(at(name)).unwrap();
            file.set_modified(old).unwrap();
            file
        };
        for name in [".linespeed-unfinished-aBcDeF", ".linespeed-backup", "other"] {
            lay(name);
        }
        let written = lay(".linespeed-unfinished-gHiJkL");
        written.try_lock().unwrap();
        std::fs::create_dir(at(".linespeed-unfinished-folder")).unwrap();
        Writer::default().write(&at("record.json"), "text").unwrap();
        let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut left: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        left.sort();
        let stay = [".linespeed-backup", ".linespeed-unfinished-folder", ".linespeed-unfinished-gHiJkL"];
        assert_eq!(left, [&stay[..], &["other", "record.json"]].concat());
    }

    #[test]
    fn only_the_programs_own_folder_is_created() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("misspelt/x.json");
        let writer = Writer::default();
        for refused in [writer.check(&path), writer.write(&path, "text")] {
            let message = refused.unwrap_err().error.to_string();
            assert!(message.contains("there is no directory") && message.contains("misspelt"), "{message}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let own = Writer { own: Some(folder.path().join("misspelt")), owner: None };
        own.write(&path, "text").unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "text");
    }

    #[test]
    fn a_folder_in_the_way_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let message = Writer::default().check(folder.path()).unwrap_err().error.to_string();
        assert!(message.contains("it is a directory"), "{message}");
    }
}
