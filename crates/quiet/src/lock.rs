//! The lock over the state directory: one process may change knobs, and who that is.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use os::child::Stat;

use crate::error::Error;
use crate::journal::JournalHeader;
use crate::state_directory::DirectoryError;

/// A look at who holds the lock is over by then, on a busy machine too.
const A_LOOK: Duration = Duration::from_millis(50);

/// The right to change knobs: one process has it, and passes it on to the guardian that it leaves behind.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock, or says who has it.
    pub fn take(folder: &Path, command: &str) -> Result<Self, Error> {
        Self::take_within(A_LOOK, folder, command)
    }

    /// Who asks whether it is held shares it for a moment, which is waited for.
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

    /// Its descriptor, which a guardian keeps open.
    pub fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }
}

/// The lock's name in the state directory.
pub(crate) const LOCK: &str = "quiet.lock";
/// Putting back takes no longer, on the largest machines too.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks at whether it is done.
const BETWEEN: Duration = Duration::from_millis(10);
/// More than processes are ever nested; this bounds what numbers that change meanwhile cost.
const MOST_NESTED: usize = 10_000;

/// Who holds the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The session's process, and what stands in the lock of it; `None` where nothing does. Where it has ended, its guardian holds
    /// the lock.
    session: Option<(u32, String)>,
}

impl Holder {
    /// Who holds it now; `None` where nobody does, or this user may not know.
    pub fn find(folder: &Path) -> Option<Self> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let mut file = OpenOptions::new().read(true).custom_flags(flags).open(folder.join(LOCK)).ok()?;
        // The lock that is tried ends with the descriptor.
        if file.try_lock_shared().is_ok() {
            return None;
        }
        Some(Self::read(&mut file))
    }

    /// Who holds it and goes on holding it. A guardian at work is waited for.
    pub fn find_lasting(folder: &Path) -> Option<Self> {
        let from = Instant::now();
        loop {
            let holder = Self::find(folder)?;
            if holder.lives() || from.elapsed() > PATIENCE {
                return Some(holder);
            }
            std::thread::sleep(BETWEEN);
        }
    }

    /// What stands in the lock, and who has it.
    pub(crate) fn read(file: &mut File) -> Self {
        let mut text = String::new();
        let _ = file.take(4096).read_to_string(&mut text);
        let line = text.lines().next().unwrap_or("").trim();
        let session = line.strip_prefix("process ").and_then(|rest| rest.split_once(": "));
        Self { session: session.and_then(|(pid, command)| Some((pid.parse().ok()?, command.to_owned()))) }
    }

    /// The process of a session, while it runs.
    pub(crate) fn of_session(header: &JournalHeader) -> Option<Self> {
        is_alive(header.pid).then(|| Self { session: Some((header.pid, header.command.clone())) })
    }

    /// The session's process, as far as it is known.
    pub fn pid(&self) -> Option<u32> {
        self.session.as_ref().map(|(pid, _)| *pid)
    }

    /// The session's process, where this one was started below it.
    pub fn ancestor(&self) -> Option<u32> {
        self.pid().filter(|pid| is_ancestor(*pid))
    }

    /// Whether the session's process lives; taken so where it is not known.
    fn lives(&self) -> bool {
        self.pid().is_none_or(is_alive)
    }

    /// What has to be done before somebody else may change knobs.
    pub(crate) fn way_out(&self) -> &'static str {
        if self.lives() { "wait for it, or end it" } else { "wait until it has put them back" }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.session {
            Some((ended, command)) if !self.lives() => {
                write!(f, "the guardian of process {ended}, which has ended ({command})")
            }
            Some((pid, command)) => write!(f, "process {pid}: {command}"),
            None => f.write_str("another process"),
        }
    }
}

/// Whether there is a process with this number that has not ended, as far as this user may see.
fn is_alive(pid: u32) -> bool {
    let here = || Path::new("/proc").join(pid.to_string()).exists();
    i32::try_from(pid).ok().and_then(Stat::read).map_or_else(here, |stat| !stat.has_ended())
}

/// Whether this process was started below that one.
fn is_ancestor(pid: u32) -> bool {
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
    let parent = Stat::read(pid as i32)?.parent;
    u32::try_from(parent).ok().filter(|parent| *parent > 0)
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
            format!("process {}: linespeed quiet -- make bench", std::process::id())
        );
        drop(first);
        // What another test forks in that moment has a copy of the descriptor until it closes all that it does not need.
        let from = std::time::Instant::now();
        while let Err(refused) = Lock::take(folder.path(), "another") {
            assert!(
                matches!(refused, Error::Held(_)) && from.elapsed() < crate::lock::PATIENCE,
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
        Lock::take_within(crate::lock::PATIENCE, folder.path(), "second").unwrap();
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

    /// A lock's file with the words of a session that has ended, held by a `sleep` that has it open.
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
        assert_eq!(holder.way_out(), "wait until it has put them back");
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
        // SAFETY: takes nothing and cannot fail.
        let parent = unsafe { libc::getppid() } as u32;
        assert!(is_ancestor(parent) && !is_ancestor(std::process::id()) && !is_ancestor(u32::MAX));
    }
}
