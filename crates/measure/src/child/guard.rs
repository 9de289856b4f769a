//! What cleans up when this process is killed without a chance to do it itself: a process of our own that waits for our
//! end, then ends what we had started and removes the run's folder.

use std::cell::RefCell;
use std::ffi::{CStr, OsString};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::mark::Mark;
use super::tree;

/// The variable by which processes of a run know each other, however far they forked away.
const VARIABLE: &str = "LINESPEED_RUN";

/// The guard's own name as the kernel has it.
const NAME: &CStr = c"linespeed-guard";

/// Looks for processes of the run at most; one that forks without end is not hunted for ever.
const LOOKS: usize = 100;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// What puts the machine's settings back, and must outlive everything: the guardian of `linespeed quiet`.
const GUARDIAN: &[u8] = b"linespeed-quiet";

/// Waits for our end while it lives. Made before anything is started and dropped after everything has ended.
#[derive(Debug)]
pub struct Guard {
    token: String,
    /// By which processes are known that have not the variable any more.
    mark: Option<Mark>,
    /// What it removes.
    folder: Option<PathBuf>,
    posted: RefCell<Post>,
}

/// Where a guard stands.
#[derive(Debug)]
enum Post {
    NotYet,
    /// What closes with this process, however that ends, and the process that waits for it.
    Stands(Option<std::io::PipeWriter>, i32),
    Not,
}

impl Guard {
    /// Posts a guard over the processes of this run and its `folder`. Where that is not possible (this process has threads
    /// already, or is the init of its namespace) there is none, and only a `kill -9` of this process would tell.
    pub fn new(folder: Option<&Path>) -> Self {
        let guard = Self::prepared(folder);
        guard.post();
        guard
    }

    /// A guard that is not posted yet. What is started from now on can be told by it.
    pub fn prepared(folder: Option<&Path>) -> Self {
        let token = format!("{}-{}", std::process::id(), unique());
        let mark = Mark::new();
        if let Some(mark) = &mark {
            mark.set();
        }
        Self { token, mark, folder: folder.map(Path::to_owned), posted: RefCell::new(Post::NotYet) }
    }

    /// Posts it, as [`Guard::new`] does, if it is not posted. A child that stands at its gate meanwhile has done nothing
    /// that would be to clean up.
    pub fn post(&self) {
        let mut posted = self.posted.borrow_mut();
        if !matches!(*posted, Post::NotYet) {
            return;
        }
        *posted = match post(&self.token, self.mark, self.folder.as_deref()) {
            Some((lifeline, pid)) => Post::Stands(Some(lifeline), pid),
            None => {
                self.mark.iter().for_each(Mark::put_back);
                Post::Not
            }
        };
    }

    /// What each process of the run must have in its environment.
    pub fn variable(&self) -> (OsString, OsString) {
        (VARIABLE.into(), self.token.clone().into())
    }

    /// Tells the guard that everything has ended; a drop waits for its own end.
    pub fn dismiss(&self) {
        if let Post::Stands(lifeline, _) = &mut *self.posted.borrow_mut()
            && let Some(mut lifeline) = lifeline.take()
        {
            // Should it be gone already, nobody needs to be told.
            let _ = lifeline.write_all(b"d");
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.dismiss();
        let posted = self.posted.replace(Post::Not);
        if !matches!(posted, Post::Not) {
            self.mark.iter().for_each(Mark::put_back);
        }
        let Post::Stands(_, pid) = posted else { return };
        let mut status = 0;
        // SAFETY: the kernel fills the status.
        while unsafe { libc::waitpid(pid, &mut status, 0) } < 0
            && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
        {}
        tree::forget(pid);
    }
}

/// A number that no other run has at the same time: the clock's.
fn unique() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_nanos())
}

fn post(token: &str, mark: Option<Mark>, folder: Option<&Path>) -> Option<(std::io::PipeWriter, i32)> {
    if !has_one_thread() || std::process::id() == 1 {
        return None;
    }
    let (mut watched, lifeline) = std::io::pipe().ok()?;
    // SAFETY: this process has one thread, so that nothing, the allocator's locks included, is in a state that the copy
    // could not go on from.
    match unsafe { libc::fork() } {
        -1 => None,
        0 => {
            drop(lifeline);
            // SAFETY: takes nothing. A session of its own, so that Ctrl-C does not reach it.
            unsafe { libc::setsid() };
            guard(&mut watched, token, mark, folder);
            // SAFETY: ends this copy without running what the original registered for its own end.
            unsafe { libc::_exit(0) }
        }
        pid => {
            // Not something that a command left behind.
            tree::register(pid, true);
            Some((lifeline, pid))
        }
    }
}

/// Whether this process has one thread.
fn has_one_thread() -> bool {
    const TASKS: &str = "/proc/self/task";
    // Linux gives the folder a link from itself, one from above and one for each thread; sandboxes with a /proc of their own
    // may not, and there its entries are counted.
    std::fs::metadata(TASKS).is_ok_and(|folder| folder.nlink() == 3)
        || std::fs::read_dir(TASKS).is_ok_and(|tasks| tasks.count() == 1)
}

/// What the guard does.
fn guard(watched: &mut std::io::PipeReader, token: &str, mark: Option<Mark>, folder: Option<&Path>) {
    let keep = watched.as_raw_fd();
    // SAFETY: numbers and strings that outlive the calls. Whoever reads what we print must see its end when the original
    // ends, so nothing but the pipe stays open.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, NAME.as_ptr());
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE] {
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::chdir(c"/".as_ptr());
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for fd in 0..3 {
            if fd != keep && null >= 0 {
                libc::dup2(null, fd);
            }
        }
    }
    close_all_but(keep);
    let mut word = [0u8; 1];
    if watched.read(&mut word).is_ok_and(|count| count == 1) {
        return;
    }
    let mut quiet = 0;
    for _ in 0..LOOKS {
        let found = processes(token, mark);
        for pid in &found {
            // SAFETY: takes numbers.
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

/// Closes what this copy has open above the standard streams.
fn close_all_but(keep: i32) {
    let range = |from: i32, to: u32| {
        // SAFETY: takes numbers; this copy uses none of these descriptors.
        from as u32 > to || unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) } == 0
    };
    if range(3, keep.max(3) as u32 - 1) && range(keep + 1, u32::MAX) {
        return;
    }
    // Before Linux 5.9.
    for fd in open_descriptors() {
        if fd > 2 && fd != keep {
            // SAFETY: takes a number; this copy uses none of them.
            unsafe { libc::close(fd) };
        }
    }
}

fn open_descriptors() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Processes with this token in their environment, or with this mark.
fn processes(token: &str, mark: Option<Mark>) -> Vec<i32> {
    let wanted = format!("{VARIABLE}={token}");
    let me = std::process::id() as i32;
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| *pid != me)
        .filter(|pid| {
            // The guard of a linespeed that ran below this one has its own work now, and ends after it; so has a guardian.
            let name = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
            if [NAME.to_bytes(), GUARDIAN].contains(&name.trim_ascii()) {
                return false;
            }
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == OsString::from(&wanted).as_bytes())
                // One that has ended keeps its limits until somebody takes its end.
                || mark.is_some_and(|mark| mark.is_in(&limits)) && !tree::has_ended(*pid)
        })
        .collect()
}
