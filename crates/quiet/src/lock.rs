//! The lock over the state directory: one process may change knobs, and who that is.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::error::Error;
use crate::state_directory::DirectoryError;

/// The lock's name in the state directory.
const LOCK: &str = "quiet.lock";

/// Who holds the lock, in its own words; `None` where nobody does, or this user may not know.
pub fn find_holder(folder: &Path) -> Option<String> {
    let path = folder.join(LOCK);
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    // SAFETY: a descriptor that is open; the lock that is tried ends with it.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) } == 0 {
        return None;
    }
    Some(read_holder(&mut file))
}

/// Who holds the lock and lives. After a process was killed its guardian holds it until everything is back: that is waited
/// for.
pub fn find_living_holder(folder: &Path) -> Option<String> {
    let from = std::time::Instant::now();
    loop {
        let holder = find_holder(folder)?;
        let dead = holder_pid(&holder).is_some_and(|pid| !is_alive(pid));
        if !dead || from.elapsed() > PATIENCE {
            return Some(holder);
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Putting back takes no longer, on the largest machines too.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

/// The number of the process that has the lock, in its own words.
pub fn holder_pid(holder: &str) -> Option<u32> {
    holder.strip_prefix("process ")?.split_once(':')?.0.parse().ok()
}

/// Whether there is a process with this number, as far as this user may see.
pub fn is_alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// More than processes are ever nested; this bounds what numbers that change meanwhile cost.
const MOST_NESTED: usize = 10_000;

/// Whether this process was started below that one.
pub fn is_ancestor(pid: u32) -> bool {
    let mut at = std::process::id();
    for _ in 0..MOST_NESTED {
        let Some(parent) = parent_of(at) else { return false };
        if parent == pid {
            return true;
        }
        at = parent;
    }
    false
}

/// The parent of a process; `None` for the first one.
fn parent_of(pid: u32) -> Option<u32> {
    let parent = os::child::Stat::read(pid as i32)?.parent;
    u32::try_from(parent).ok().filter(|parent| *parent > 0)
}

/// What stands in the lock.
fn read_holder(file: &mut File) -> String {
    let mut holder = String::new();
    let _ = file.take(4096).read_to_string(&mut holder);
    let holder = holder.lines().next().unwrap_or("").trim();
    if holder.is_empty() { "another process".to_owned() } else { holder.to_owned() }
}

/// The right to change knobs: one process has it, and passes it on to the guardian that it leaves behind.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock, or says who has it.
    pub fn take(folder: &Path, command: &str) -> Result<Self, Error> {
        let path = folder.join(LOCK);
        let system = |error: io::Error| Error::Directory(DirectoryError::Unwritable(path.clone(), error));
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(&path)
            .map_err(system)?;
        if !file.metadata().map_err(system)?.is_file() {
            return Err(Error::Directory(DirectoryError::NotAFile(path)));
        }
        // SAFETY: a descriptor that is open.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::EWOULDBLOCK) {
                return Err(system(error));
            }
            return Err(Error::Held(read_holder(&mut file)));
        }
        let one_line: String = command.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        file.set_len(0)
            .and_then(|()| writeln!(&file, "process {}: {one_line}", std::process::id()))
            .map_err(system)?;
        Ok(Self { file })
    }

    /// Its descriptor, which a guardian keeps open.
    pub fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_reported_who_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::take(folder.path(), "linespeed quiet -- make\nbench").unwrap();
        let Err(Error::Held(holder)) = Lock::take(folder.path(), "another") else { panic!("taken twice") };
        assert_eq!(holder, format!("process {}: linespeed quiet -- make bench", std::process::id()));
        drop(first);
        // What another test forks in that moment has a copy of the descriptor until it closes all that it does not need.
        let from = std::time::Instant::now();
        while let Err(refused) = Lock::take(folder.path(), "another") {
            assert!(matches!(refused, Error::Held(_)) && from.elapsed() < PATIENCE, "{refused:?}");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    #[test]
    fn a_lock_that_is_a_link_or_a_folder_is_refused_with_a_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join(LOCK);
        std::os::unix::fs::symlink("/etc/hostname", &lock).unwrap();
        let refused = |folder: &Path| match Lock::take(folder, "test") {
            Err(Error::Directory(DirectoryError::Unwritable(path, error))) => (path, error.raw_os_error()),
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(folder.path()), (lock.clone(), Some(libc::ELOOP)));
        std::fs::remove_file(&lock).unwrap();
        std::fs::create_dir(&lock).unwrap();
        assert_eq!(refused(folder.path()), (lock, Some(libc::EISDIR)));
    }

    #[test]
    fn who_was_started_below_whom_is_known() {
        // SAFETY: takes nothing and cannot fail.
        let parent = unsafe { libc::getppid() } as u32;
        assert!(is_ancestor(parent) && !is_ancestor(std::process::id()) && !is_ancestor(u32::MAX));
        assert!(
            holder_pid("process 12: linespeed quiet") == Some(12) && holder_pid("another process").is_none()
        );
    }
}
