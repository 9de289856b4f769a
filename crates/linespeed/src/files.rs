//! Where records and pages are written: whole or not at all.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

const WAY_OUT: &str =
    "name another place with --output FILE, or take the record from standard output with --json";

/// The folder for records: `$XDG_STATE_HOME/linespeed`, by default `~/.local/state/linespeed`.
pub fn state_folder() -> Result<PathBuf, Failure> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .map(|state| state.join("linespeed"))
        .ok_or_else(|| {
            Failure::Cannot(format!("neither XDG_STATE_HOME nor HOME says where records go; {WAY_OUT}"))
        })
}

/// Checks before a run that a file can be written at `path`, so that a minute of measuring is not lost.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    let failed = |error| cannot_write(path, error);
    if is_special(path) {
        return std::fs::File::options().write(true).open(path).map(drop).map_err(failed);
    }
    if let Some(error) = in_the_way(path) {
        return Err(failed(error));
    }
    let target = behind_links(path);
    let folder = folder_of(&target);
    have(folder).map_err(failed)?;
    temporary(folder).map(drop).map_err(failed)
}

fn cannot_write(path: &Path, error: std::io::Error) -> Failure {
    Failure::Output { path: Some(path.to_owned()), error, way_out: WAY_OUT }
}

/// Writes `text` to `path`: a temporary file beside it, synced, then renamed, so that there is the old file or the
/// new one and never half of it.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error| cannot_write(path, error);
    if is_special(path) {
        let mut file = std::fs::File::options().write(true).open(path).map_err(failed)?;
        return file.write_all(text.as_bytes()).map_err(failed);
    }
    if let Some(error) = in_the_way(path) {
        return Err(failed(error));
    }
    let target = behind_links(path);
    let file = staged(folder_of(&target), text).map_err(failed)?;
    file.persist(&target).map(drop).map_err(|error| failed(error.error))
}

/// Creates a folder that the user wants filled, with those above it.
pub fn create(folder: &Path) -> Result<(), Failure> {
    let failed =
        |error| Failure::Output { path: Some(folder.to_owned()), error, way_out: "name another folder" };
    std::fs::create_dir_all(folder).map_err(failed)
}

/// Sees to it that a folder is there. Our own is created; one that the user named and that is missing is more likely
/// misspelt.
fn have(folder: &Path) -> std::io::Result<()> {
    if state_folder().is_ok_and(|ours| folder.starts_with(ours)) {
        return std::fs::create_dir_all(folder);
    }
    if folder.exists() {
        return Ok(());
    }
    let words = format!("there is no folder {}", crate::failure::shown(folder));
    Err(std::io::Error::new(std::io::ErrorKind::NotFound, words))
}

/// A temporary file in `folder`, on disk.
fn staged(folder: &Path, text: &str) -> std::io::Result<tempfile::NamedTempFile> {
    have(folder)?;
    let mut file = temporary(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// An empty temporary file in `folder`, as readable as the user's other files. The error is the system's own: the name of a
/// temporary file in it would only confuse.
fn temporary(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut system = None;
    let made = tempfile::Builder::new().prefix(".linespeed-").make_in(folder, |path| {
        let made = std::fs::File::options().read(true).write(true).create_new(true).open(path);
        made.inspect_err(|error| system = error.raw_os_error())
    });
    made.map_err(|error| system.map_or(error, std::io::Error::from_raw_os_error))
}

/// Writes under a name of our own choosing, which another run of the same second may have taken: then a number is added.
/// Returns the name.
fn write_beside_others(path: &Path, text: &str) -> Result<PathBuf, Failure> {
    let failed = |error| cannot_write(path, error);
    let mut file = staged(folder_of(path), text).map_err(failed)?;
    for number in 1..1000 {
        let name = if number == 1 { path.to_owned() } else { numbered(path, number) };
        match file.persist_noclobber(&name) {
            Ok(_) => return Ok(name),
            Err(refused) if refused.error.kind() == std::io::ErrorKind::AlreadyExists => file = refused.file,
            Err(refused) => return Err(failed(refused.error)),
        }
    }
    Err(failed(std::io::ErrorKind::AlreadyExists.into()))
}

/// `record.json` as `record-2.json`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}-{number}{ending}"))
}

/// Writes a record that was just measured and returns where it lies: at `path`, replacing what was there when the user
/// `named` it. When its place cannot be written any longer it goes to the temporary folder, which is still a failure,
/// because nobody looks for it there, but not a loss.
pub fn write_or_rescue(path: &Path, named: bool, text: &str) -> Result<PathBuf, Failure> {
    let written =
        if named { write(path, text).map(|()| path.to_owned()) } else { write_beside_others(path, text) };
    let failure = match written {
        Err(Failure::Output { path: Some(_), error, .. }) => error,
        written => return written,
    };
    // A device's name says nothing of what it was to be given.
    let own = || OsString::from("linespeed-record.json");
    let name = path.file_name().filter(|_| !is_special(path)).map_or_else(own, |name| name.to_owned());
    let saved = std::env::temp_dir().join(name);
    if saved != path
        && let Ok(saved) = write_beside_others(&saved, text)
    {
        return Err(Failure::Rescued { path: path.to_owned(), error: failure, saved });
    }
    Err(cannot_write(path, failure))
}

/// The file behind a symbolic link: it is what gets replaced, as a shell's redirection would.
fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // The kernel follows 40 links at most.
    for _ in 0..40 {
        match std::fs::read_link(&path) {
            Ok(target) => path = folder_of(&path).join(target),
            Err(_) => break,
        }
    }
    path
}

/// An error that says what stands in the way, where the system's words would not.
fn in_the_way(path: &Path) -> Option<std::io::Error> {
    if path.is_dir() {
        return Some(std::io::Error::other("it is a folder"));
    }
    let folder = folder_of(path);
    let file = folder.ancestors().find(|above| above.exists()).filter(|above| !above.is_dir())?;
    Some(std::io::Error::other(format!("{} is not a folder", crate::failure::shown(file))))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A device or a pipe (/dev/stdout, /dev/null) is written to, not replaced.
fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_stays_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.json");
        write(&path, "first").unwrap();
        write(&path, "second").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn two_runs_of_one_second_leave_two_records() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("host-t.json");
        let first = write_beside_others(&path, "first").unwrap();
        let second = write_beside_others(&path, "second").unwrap();
        assert_eq!(second, folder.path().join("host-t-2.json"));
        assert_eq!(std::fs::read_to_string(first).unwrap(), "first");
        assert_eq!(std::fs::read_to_string(second).unwrap(), "second");
    }

    #[test]
    fn the_file_behind_a_link_is_replaced_and_the_link_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        std::os::unix::fs::symlink("target", &link).unwrap();
        write(&link, "new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(target).unwrap(), "new");
    }

    #[test]
    fn a_folder_that_is_missing_is_not_created() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("misspelt/x.json");
        for refused in [check_writable(&path), write(&path, "text")] {
            let message = refused.unwrap_err().to_string();
            assert!(message.contains("there is no folder") && message.contains("misspelt"), "{message}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_in_the_way_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let message = check_writable(folder.path()).unwrap_err().to_string();
        assert!(message.contains("it is a folder") && message.contains("--output"), "{message}");
    }
}
