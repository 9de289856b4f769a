//! The process that holds the lock on the state directory.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use os::child::Stat;

use crate::journal::JournalHeader;

/// The lock's name in the state directory.
pub(crate) const LOCK: &str = "quiet.lock";
/// Maximum duration of restoring, even on the largest machines.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// The pause between two checks of whether restoring has ended.
const BETWEEN: Duration = Duration::from_millis(10);
/// Maximum number of ancestors to search. The limit ensures that the search ends even if PIDs are reused in the
/// meantime.
const MOST_NESTED: usize = 10_000;

/// The holder of the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The session's process, and the command line in the lock file; `None` if the file is empty. After this process
    /// has exited, its guardian holds the lock.
    session: Option<(u32, String)>,
}

impl Holder {
    /// The current holder; `None` if there is none, or if this user may not see the lock.
    pub fn find(folder: &Path) -> Option<Self> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let mut file = OpenOptions::new().read(true).custom_flags(flags).open(folder.join(LOCK)).ok()?;
        // The trial lock is released when the descriptor is closed.
        if file.try_lock_shared().is_ok() {
            return None;
        }
        Some(Self::read(&mut file))
    }

    /// The holder, if any. If the holder is a guardian that is restoring values, waits until it has finished.
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

    /// Reads the holder from the text in the lock file.
    pub(crate) fn read(file: &mut File) -> Self {
        let mut text = String::new();
        let _ = file.take(4096).read_to_string(&mut text);
        let line = text.lines().next().unwrap_or("").trim();
        let session = line.strip_prefix("process ").and_then(|rest| rest.split_once(": "));
        Self { session: session.and_then(|(pid, command)| Some((pid.parse().ok()?, command.to_owned()))) }
    }

    /// The holder for a session's process, as long as that process runs.
    pub(crate) fn of_session(header: &JournalHeader) -> Option<Self> {
        is_alive(header.pid).then(|| Self { session: Some((header.pid, header.command.clone())) })
    }

    /// The session's process, if known.
    pub fn pid(&self) -> Option<u32> {
        self.session.as_ref().map(|(pid, _)| *pid)
    }

    /// The session's process, if this process is its descendant.
    pub fn ancestor(&self) -> Option<u32> {
        self.pid().filter(|pid| is_ancestor(*pid))
    }

    /// Whether the session's process is alive; `true` if unknown.
    fn lives(&self) -> bool {
        self.pid().is_none_or(is_alive)
    }

    /// What must happen before another process can change knobs.
    pub(crate) fn way_out(&self) -> &'static str {
        if self.lives() { "wait for it to finish, or stop it" } else { "wait until it has restored them" }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.session {
            Some((ended, command)) if !self.lives() => {
                write!(f, "the guardian of the exited process {ended} ({command})")
            }
            Some((pid, command)) => write!(f, "process {pid} ({command})"),
            None => f.write_str("another process"),
        }
    }
}

/// Whether a process with this PID is alive, as far as this user can tell.
fn is_alive(pid: u32) -> bool {
    let here = || Path::new("/proc").join(pid.to_string()).exists();
    i32::try_from(pid).ok().and_then(Stat::read).map_or_else(here, |stat| !stat.has_ended())
}

/// Whether the process `pid` is an ancestor of this process.
pub(crate) fn is_ancestor(pid: u32) -> bool {
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

/// The parent of a process; `None` for init.
fn parent_of(pid: u32) -> Option<u32> {
    let parent = Stat::read(pid as i32)?.parent;
    u32::try_from(parent).ok().filter(|parent| *parent > 0)
}
