//! Process ownership: the children started here, the processes that they left running, and all descendants.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::mark;
use crate::procfs::{self, Stat};
use crate::thread::check_result;

/// Children started here that have not ended, or that left running processes behind: the PID, and whether the child
/// leads its own group.
static CHILDREN: Mutex<Vec<(i32, bool)>> = Mutex::new(Vec::new());
/// The number of these children; signal handlers can read it.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Whether to kill children without sending SIGTERM first.
static HURRY: AtomicBool = AtomicBool::new(false);

/// Children that this process had before it adopted any processes (the children of a shell that started it with `exec`)
/// and all their descendants, by PID and start time.
static OTHERS: OnceLock<Vec<(i32, u64)>> = OnceLock::new();

/// A process that a child left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The process's PID.
    pub pid: i32,
    /// The process's name in the kernel, at most 15 bytes.
    pub name: String,
}

/// Requests that all children be killed immediately, without a grace period. Async-signal-safe. `false` if there are no
/// children, or if this was already requested.
pub fn hurry() -> bool {
    COUNT.load(Ordering::Relaxed) > 0 && !HURRY.swap(true, Ordering::Relaxed)
}

/// Whether [`hurry`] was called.
pub(super) fn hurried() -> bool {
    HURRY.load(Ordering::Relaxed)
}

fn children() -> std::sync::MutexGuard<'static, Vec<(i32, bool)>> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a child.
pub(crate) fn register(pid: i32, own_group: bool) {
    children().push((pid, own_group));
    COUNT.fetch_add(1, Ordering::Relaxed);
}

/// Removes a child that has no remaining processes.
pub(crate) fn forget(pid: i32) {
    let mut all = children();
    if let Some(at) = all.iter().position(|(other, _)| *other == pid) {
        all.swap_remove(at);
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Adopted processes that the child `pid` or its descendants left behind.
pub fn adopted_beside(pid: i32) -> Vec<i32> {
    left_behind_by(pid).iter().map(|process| process.pid).collect()
}

/// Makes this process adopt orphaned descendants. `false` if that is impossible (before Linux 3.4, or in user-mode emulators); in this
/// case, init adopts them. [`super::Child::spawn`] also does this.
pub fn become_subreaper() -> bool {
    OTHERS.get_or_init(|| {
        let own = children().clone();
        let others = list_adopted().into_iter().filter(|pid| !own.iter().any(|(child, _)| child == pid));
        let others: Vec<i32> = others.collect();
        let mut all = Doomed::default();
        if !others.is_empty() {
            all.add(&others);
        }
        all.0
    });
    // SAFETY: PR_SET_CHILD_SUBREAPER takes a number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 }
}

/// Registers a process that this process forked for its own work, as opposed to one that a command left behind.
pub fn register_own(pid: i32) {
    register(pid, true);
}

/// Whether a process has ended, reaped or not.
pub(super) fn has_ended(pid: i32) -> bool {
    Stat::read(pid).is_none_or(|line| line.has_ended())
}

/// Checks whether a child has ended, without reaping it.
pub(super) fn look_at_end(kind: libc::idtype_t, id: i32, flags: libc::c_int) -> io::Result<libc::siginfo_t> {
    // SAFETY: the kernel fills the siginfo, for which all zeros is a valid value; nothing is waited for or reaped.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let flags = flags | libc::WEXITED | libc::WNOWAIT;
        check_result(libc::waitid(kind, id as libc::id_t, &mut info, flags).into()).map(|_| info)
    }
}

/// Processes that this process adopted: its children, except those started here and those started by the program that ran in this process
/// before `exec`. Processes in the process group of a child other than `pid` are excluded, because that child left them behind.
pub(super) fn left_behind_by(pid: i32) -> Vec<Process> {
    // Without any children, there is nothing to check.
    if look_at_end(libc::P_ALL, 0, libc::WNOHANG).is_err() {
        return Vec::new();
    }
    let known = children().clone();
    let others = OTHERS.get().map_or(&[][..], Vec::as_slice);
    let (mut found, mut adopted) = (Vec::new(), Vec::new());
    for candidate in list_adopted() {
        if known.iter().any(|(child, _)| *child == candidate) || candidate == pid {
            continue;
        }
        let Some(line) = Stat::read(candidate) else { continue };
        // Processes that those other children start later are recognized because they do not have the mark of a run.
        let of_others = others.contains(&(candidate, line.started))
            || !others.is_empty() && !mark::is_of_a_run(candidate);
        if !of_others && !known.iter().any(|(child, own)| *own && *child == line.group && *child != pid) {
            adopted.push((candidate, line.started));
            found.push(Process { pid: candidate, name: line.name });
        }
    }
    mark::tell_adopted(&adopted);
    found
}

/// The children of our first thread, which is the thread that adopts orphans (fork(2), kernel/exit.c `find_new_reaper`). Children that
/// other threads start with the standard library are not included.
fn list_adopted() -> Vec<i32> {
    let me = std::process::id();
    if let Ok(text) = std::fs::read_to_string(format!("/proc/self/task/{me}/children")) {
        return text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    }
    // The kernel lacks CONFIG_PROC_CHILDREN.
    processes().into_iter().filter(|(_, line)| line.parent == me as i32).map(|(pid, _)| pid).collect()
}

/// All visible processes.
pub fn processes() -> HashMap<i32, Stat> {
    procfs::numbers("/proc").filter_map(|pid| Some((pid, Stat::read(pid)?))).collect()
}

/// Processes to be ended, identified by PID and start time. A process stays in the set if its parent ends first, and
/// another process that reuses its PID is not mistaken for it.
#[derive(Debug, Default)]
pub(super) struct Doomed(pub(super) Vec<(i32, u64)>);

impl Doomed {
    /// Adds `roots`, their descendants, and the descendants of processes already in the set.
    pub(super) fn add(&mut self, roots: &[i32]) {
        let all = processes();
        self.0.retain(|(pid, started)| all.get(pid).is_some_and(|line| line.started == *started));
        let mut below: HashMap<i32, Vec<i32>> = HashMap::new();
        for (pid, line) in &all {
            below.entry(line.parent).or_default().push(*pid);
        }
        let mut found: Vec<i32> = self.0.iter().map(|(pid, _)| *pid).chain(roots.iter().copied()).collect();
        let mut seen: HashSet<i32> = found.iter().copied().collect();
        let mut at = 0;
        while at < found.len() {
            found.extend(below.get(&found[at]).into_iter().flatten().filter(|pid| seen.insert(**pid)));
            at += 1;
        }
        let known: HashSet<i32> = self.0.iter().map(|(pid, _)| *pid).collect();
        let new = found.into_iter().filter(|pid| !known.contains(pid));
        self.0.extend(new.filter_map(|pid| Some((pid, all.get(&pid)?.started))));
    }

    /// The processes that are still running.
    pub(super) fn running(&self) -> Vec<i32> {
        let runs = |(pid, started): &(i32, u64)| {
            let line = Stat::read(*pid).filter(|line| line.started == *started)?;
            (!line.has_ended()).then_some(*pid)
        };
        self.0.iter().filter_map(runs).collect()
    }
}

/// Sends a signal to each process. Stopped processes are continued so that they can handle it.
pub(super) fn signal_all(pids: &[i32], signal: i32) {
    for pid in pids {
        // SAFETY: the call only takes integers.
        unsafe {
            libc::kill(*pid, signal);
            if signal != libc::SIGKILL {
                libc::kill(*pid, libc::SIGCONT);
            }
        }
    }
}
