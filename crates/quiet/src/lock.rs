//! The lock on the state directory, whose holder may change knobs.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::lock_holder::{Holder, LOCK};
use crate::state_directory::DirectoryError;

/// Maximum duration of a check for the lock's holder, even on a busy machine.
const A_LOOK: Duration = Duration::from_millis(50);

/// The exclusive permission to change knobs. It is passed on to the guardian.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock, or returns its holder.
    pub fn take(folder: &Path, command: &str) -> Result<Self, Error> {
        Self::take_within(A_LOOK, folder, command)
    }

    /// Waits at most this long for the lock. Even a process that only checks for a holder takes the lock (shared) for a
    /// moment.
    fn take_within(patience: Duration, folder: &Path, command: &str) -> Result<Self, Error> {
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
        let from = Instant::now();
        while let Err(error) = file.try_lock() {
            if let TryLockError::Error(error) = error {
                return Err(system(error));
            }
            if from.elapsed() > patience {
                return Err(Error::Held(Holder::read(&mut file)));
            }
            std::thread::sleep(A_LOOK / 10);
        }
        let one_line: String = command.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        file.set_len(0)
            .and_then(|()| writeln!(&file, "process {}: {one_line}", std::process::id()))
            .map_err(system)?;
        Ok(Self { file })
    }

    /// The descriptor of the lock file, which a guardian keeps open.
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
        assert_eq!(
            holder.to_string(),
            format!("process {} (linespeed quiet -- make bench)", std::process::id())
        );
        drop(first);
        // A process forked by another test at that moment has a copy of the descriptor until it closes unneeded
        // descriptors.
        let from = std::time::Instant::now();
        while let Err(refused) = Lock::take(folder.path(), "another") {
            assert!(
                matches!(refused, Error::Held(_)) && from.elapsed() < crate::lock_holder::PATIENCE,
                "{refused:?}"
            );
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    #[test]
    fn who_only_looks_at_it_keeps_nobody_from_it() {
        let folder = tempfile::tempdir().unwrap();
        drop(Lock::take(folder.path(), "first").unwrap());
        let look = File::open(folder.path().join(LOCK)).unwrap();
        look.try_lock_shared().unwrap();
        let over = std::thread::spawn(move || {
            std::thread::sleep(A_LOOK / 5);
            drop(look);
        });
        Lock::take_within(crate::lock_holder::PATIENCE, folder.path(), "second").unwrap();
        over.join().unwrap();
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
}

#[cfg(test)]
mod holder_tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// A lock file with the text of a session that has ended, held by a `sleep` that has the file open.
    fn left_to_a_guardian(folder: &Path) -> (std::process::Child, u32) {
        let mut ended = Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let path = folder.join(LOCK);
        std::fs::write(&path, format!("process {}: linespeed quiet -- make\n", ended.id())).unwrap();
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        file.try_lock().unwrap();
        let guardian = Command::new("sleep").arg("60").stdin(Stdio::from(file)).spawn().unwrap();
        (guardian, ended.id())
    }

    #[test]
    fn a_guardian_at_work_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (mut guardian, ended) = left_to_a_guardian(folder.path());
        let holder = Holder::find(folder.path()).unwrap();
        assert_eq!(holder.pid(), Some(ended));
        assert_eq!(holder.way_out(), "wait until it has restored them");
        let done = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            guardian.kill().unwrap();
            guardian.wait().unwrap();
        });
        assert_eq!(Holder::find_lasting(folder.path()), None);
        done.join().unwrap();
    }

    #[test]
    fn who_was_started_below_whom_is_known() {
        // SAFETY: the call takes no arguments and cannot fail.
        let parent = unsafe { libc::getppid() } as u32;
        let below = crate::lock_holder::is_ancestor;
        assert!(below(parent) && !below(std::process::id()) && !below(u32::MAX));
    }
}
