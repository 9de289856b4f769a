//! Cleans up if this process is killed before it can do so itself. A separate process, the guard, waits until this
//! process has exited. It then terminates the processes that this process started, and removes the run's directory.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::ffi::{CStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::mark::{self, KnownRun, Mark, VARIABLE, clock_ns, runs};
use super::tree;
use crate::guardian::{Guardian, Lifeline, Message};
use crate::procfs;

/// The guard's process name in the kernel.
const NAME: &CStr = c"linespeed-guard";

/// Maximum number of searches for processes of the run: the search must end even if a process forks endlessly.
const LOOKS: usize = 100;

/// The pause between two searches.
const PAUSE: Duration = Duration::from_millis(20);

/// The guardian of `linespeed quiet`. It restores the machine's settings and must outlive all other processes.
const QUIET: &[u8] = b"linespeed-quiet";

/// A guard that waits for this process to exit. It is created before any other process is started and dropped after all
/// of them have exited.
#[derive(Debug)]
pub struct Guard {
    token: String,
    /// The mark identifies processes that no longer have the environment variable.
    mark: Option<Mark>,
    /// The directory that the guard removes.
    folder: Option<PathBuf>,
    /// The guard's process, once requested; `None` if it could not be started.
    posted: OnceCell<Option<Guardian>>,
}

impl Guard {
    /// Starts a guard for the processes of this run and its `folder`. If this is impossible (this process already has threads, or is the
    /// init of its namespace), there is no guard. Its absence matters only after a `kill -9` of this process.
    pub fn new(folder: Option<&Path>) -> Self {
        let guard = Self::prepared(folder);
        guard.post();
        guard
    }

    /// A guard that has not been started yet. It recognizes every process that starts from now on.
    pub fn prepared(folder: Option<&Path>) -> Self {
        let token = format!("{}-{}", std::process::id(), clock_ns());
        let mark = Mark::new();
        if let Some(mark) = &mark {
            mark.set();
        }
        runs().push(KnownRun { token: token.clone(), mark, tell: None, known: HashSet::new() });
        Self { token, mark, folder: folder.map(Path::to_owned), posted: OnceCell::new() }
    }

    /// Starts the guard, as [`Guard::new`] does, unless it is already running. A child waiting at its gate needs no
    /// cleanup.
    pub fn post(&self) {
        self.posted.get_or_init(|| {
            let guardian = post(&self.token, self.mark, self.folder.as_deref());
            if guardian.is_none() {
                self.mark.iter().for_each(Mark::put_back);
            }
            guardian
        });
    }

    /// The environment variable that each process of the run must have.
    pub fn variable(&self) -> (OsString, OsString) {
        (VARIABLE.into(), self.token.clone().into())
    }

    /// Informs the guard that everything has ended. Dropping the value waits for the guard to exit.
    pub fn dismiss(&self) {
        if let Some(Some(guardian)) = self.posted.get() {
            guardian.dismiss();
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.dismiss();
        runs().retain(|run| run.token != self.token);
        let posted = self.posted.take();
        if !matches!(posted, Some(None)) {
            self.mark.iter().for_each(Mark::put_back);
        }
        if let Some(Some(guardian)) = posted {
            let pid = guardian.pid();
            guardian.wait();
            tree::forget(pid);
        }
    }
}

/// Starts the guard for these processes.
fn post(token: &str, mark: Option<Mark>, folder: Option<&Path>) -> Option<Guardian> {
    let work = |lifeline: &Lifeline| {
        let mut adopted = Vec::new();
        loop {
            match lifeline.hear() {
                Message::Number(pid) => {
                    adopted.extend(crate::procfs::Stat::read(pid).map(|line| (pid, line.started)));
                }
                Message::Gone => break clean_up(token, mark, adopted, folder),
                Message::Dismissed => break,
            }
        }
    };
    let guardian = Guardian::post(NAME, &[], work).ok()?;
    let mut runs = runs();
    if let (Some(run), Ok(tell)) = (runs.iter_mut().find(|run| run.token == token), guardian.teller()) {
        run.tell = Some(Box::new(tell));
    }
    // The guardian is registered, so that it does not count as a process left behind by a command.
    tree::register(guardian.pid(), true);
    Some(guardian)
}

/// Ends the run's processes, including the processes in `adopted` (by PID and start time), and removes the run's
/// directory.
fn clean_up(token: &str, mark: Option<Mark>, adopted: Vec<(i32, u64)>, folder: Option<&Path>) {
    let mut quiet = 0;
    // The set includes all descendants of marked processes: a process that has lost every mark is identified through its parent, even if
    // the parent has ended.
    let mut doomed = tree::Doomed(adopted);
    for _ in 0..LOOKS {
        doomed.add(&processes_of_run(token, mark));
        let found: Vec<i32> = doomed.running().into_iter().filter(|pid| !is_a_guardian(*pid)).collect();
        for pid in &found {
            // SAFETY: the call only takes integers.
            unsafe { libc::kill(*pid, libc::SIGKILL) };
        }
        quiet = if found.is_empty() { quiet + 1 } else { 0 };
        if quiet == 2 {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    if let Some(folder) = folder {
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Processes with this token in their environment, or with this mark.
fn processes_of_run(token: &str, mark: Option<Mark>) -> Vec<i32> {
    let me = std::process::id() as i32;
    // An ended process keeps its limits until it is reaped.
    let is_ours = |pid: &i32| *pid != me && mark::is_of_run(*pid, token, mark) && !tree::has_ended(*pid);
    procfs::numbers("/proc").filter(|pid| is_ours(pid) && !is_a_guardian(*pid)).collect()
}

/// Whether a process is a guardian, or the guard of a nested linespeed. Both have their own work and end later. Any
/// program can have such a name, so the executable file is compared.
fn is_a_guardian(pid: i32) -> bool {
    let name = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    let program = |process: &str| {
        let file = std::fs::metadata(format!("/proc/{process}/exe")).ok()?;
        Some((file.dev(), file.ino()))
    };
    [NAME.to_bytes(), QUIET].contains(&name.trim_ascii())
        && program("self").is_some_and(|own| program(&pid.to_string()) == Some(own))
}
