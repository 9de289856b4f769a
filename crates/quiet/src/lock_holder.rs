//! Who holds the lock over the state directory: a session's process, or, after that one ended, the guardian that puts its
//! values back.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use os::child::Stat;

use crate::journal::JournalHeader;

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
    /// Its process, and what stands in the lock of it; `None` where nothing does.
    session: Option<(u32, String)>,
    /// The guardian, where that process has ended.
    guardian: Option<Guardian>,
}

/// What puts back a session's values after its process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Guardian {
    pid: u32,
    /// Stopped by a signal, or by a debugger.
    stopped: bool,
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
            let at_work = !holder.lives() && holder.guardian.is_none_or(|guardian| !guardian.stopped);
            if !at_work || from.elapsed() > PATIENCE {
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
        let session = session.and_then(|(pid, command)| Some((pid.parse().ok()?, command.to_owned())));
        let mut holder = Self { session, guardian: None };
        if !holder.lives() {
            holder.guardian = find_other(file);
        }
        holder
    }

    /// The process of a session, while it runs.
    pub(crate) fn of_session(header: &JournalHeader) -> Option<Self> {
        let session = Some((header.pid, header.command.clone()));
        is_alive(header.pid).then_some(Self { session, guardian: None })
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
    pub(crate) fn way_out(&self) -> String {
        match self.guardian {
            Some(Guardian { pid, stopped: true }) => format!("let it put them back: kill -CONT {pid}"),
            Some(_) => "wait until it has put them back".to_owned(),
            None => "wait for it, or end it".to_owned(),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.session, self.guardian) {
            (Some((ended, command)), Some(Guardian { pid, stopped })) => {
                let state = if stopped { ", stopped" } else { "" };
                write!(f, "process {pid}{state}, guardian of process {ended}, which has ended ({command})")
            }
            (Some((pid, command)), None) => write!(f, "process {pid}: {command}"),
            (None, _) => f.write_str("another process"),
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

/// The other process that has had this file open for longest, as far as this user may see: who looks at it for a moment has it
/// open, too.
fn find_other(file: &File) -> Option<Guardian> {
    let wanted = file.metadata().ok()?;
    let same = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|it| (it.dev(), it.ino()) == (wanted.dev(), wanted.ino()))
    };
    let pids = std::fs::read_dir("/proc").ok()?.flatten();
    let others = pids
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| *pid as u32 != std::process::id())
        .filter(|pid| {
            let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            open.map(|entry| entry.path()).any(|path| same(&path))
        });
    let (pid, stat) = others
        .filter_map(|pid| Some((pid, Stat::read(pid)?)))
        .min_by_key(|(pid, stat)| (stat.started, *pid))?;
    Some(Guardian { pid: pid as u32, stopped: stat.is_stopped() })
}

#[cfg(test)]
mod tests {
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
    fn a_stopped_guardian_is_named_with_the_way_to_let_it_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let (mut guardian, ended) = left_to_a_guardian(folder.path());
        let pid = guardian.id();
        // SAFETY: signals a child that was not waited for.
        assert_eq!(unsafe { libc::kill(pid as i32, libc::SIGSTOP) }, 0);
        while !Stat::read(pid as i32).unwrap().is_stopped() {
            std::thread::yield_now();
        }
        let holder = Holder::find_lasting(folder.path()).unwrap();
        assert_eq!((holder.pid(), holder.guardian), (Some(ended), Some(Guardian { pid, stopped: true })));
        assert!(holder.way_out().ends_with(&format!("kill -CONT {pid}")));
        guardian.kill().unwrap();
        guardian.wait().unwrap();
        assert_eq!(Holder::find_lasting(folder.path()), None);
    }

    #[test]
    fn a_guardian_at_work_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (mut guardian, _) = left_to_a_guardian(folder.path());
        let holder = Holder::find(folder.path()).unwrap();
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
