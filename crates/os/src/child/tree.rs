//! Process ownership: the children started here, the processes they left running, and all their descendants.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::mark;
use crate::procfs::{self, Stat};
use crate::thread::check_result;

/// Children started here that have not ended, including everything they left: PID, and whether it leads its own group.
static CHILDREN: Mutex<Vec<(i32, bool)>> = Mutex::new(Vec::new());
/// How many those are, for signal handlers.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Whether to end children without a request first.
static HURRY: AtomicBool = AtomicBool::new(false);

/// Children that this process had before it adopted any, those of the shell that became it by `exec`, and all below them,
/// by number and start.
static OTHERS: OnceLock<Vec<(i32, u64)>> = OnceLock::new();

/// A process that a child left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// Its name in the kernel: at most 15 bytes.
    pub name: String,
}

/// Requests the immediate end of all children, without a grace period. Async-signal-safe. `false` if there are none, or if it was requested
/// before.
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

/// Notes a child.
pub(crate) fn register(pid: i32, own_group: bool) {
    children().push((pid, own_group));
    COUNT.fetch_add(1, Ordering::Relaxed);
}

/// Forgets a child without remaining processes.
pub(crate) fn forget(pid: i32) {
    let mut all = children();
    if let Some(at) = all.iter().position(|(other, _)| *other == pid) {
        all.swap_remove(at);
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Processes adopted after the child `pid`, or a process that it started, left them behind.
pub fn adopted_beside(pid: i32) -> Vec<i32> {
    left_behind_by(pid).iter().map(|process| process.pid).collect()
}

/// Makes this process adopt the orphans of its descendants; `false` if that is impossible (before Linux 3.4, in emulators of user programs), in
/// which case orphans belong to init. [`super::Child::spawn`] also does this.
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

/// Notes a process that this one forked for its own work, as opposed to one left by a command.
pub fn register_own(pid: i32) {
    register(pid, true);
}

/// Whether a process has ended, waited for or not.
pub(super) fn has_ended(pid: i32) -> bool {
    Stat::read(pid).is_none_or(|line| line.has_ended())
}

/// Checks for the end of a child, which remains to be collected.
pub(super) fn look_at_end(kind: libc::idtype_t, id: i32, flags: libc::c_int) -> io::Result<libc::siginfo_t> {
    // SAFETY: the kernel fills the siginfo, for which all zeros is a value; nothing is waited for or taken away.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let flags = flags | libc::WEXITED | libc::WNOWAIT;
        check_result(libc::waitid(kind, id as libc::id_t, &mut info, flags).into()).map(|_| info)
    }
}

/// Processes that we adopted: our children that were not started here, nor by the program that was this process before. Those in the group
/// of a child other than `pid` were left by that one.
pub(super) fn left_behind_by(pid: i32) -> Vec<Process> {
    // Without any child there is nothing to check.
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
        // What the others start later has no mark of a run.
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

/// Children of our first thread, which is the one that adopts (fork(2), kernel/exit.c `find_new_reaper`). Children that
/// other threads start with the standard library are not among them.
fn list_adopted() -> Vec<i32> {
    let me = std::process::id();
    if let Ok(text) = std::fs::read_to_string(format!("/proc/self/task/{me}/children")) {
        return text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    }
    // Kernels without CONFIG_PROC_CHILDREN.
    processes().into_iter().filter(|(_, line)| line.parent == me as i32).map(|(pid, _)| pid).collect()
}

/// All processes that can be seen.
pub fn processes() -> HashMap<i32, Stat> {
    procfs::numbers("/proc").filter_map(|pid| Some((pid, Stat::read(pid)?))).collect()
}

/// Processes to be ended, identified by PID and start time: none is lost if its parent ends first and no process adopts it, and none is confused
/// with another process that got its PID.
#[derive(Debug, Default)]
pub(super) struct Doomed(Vec<(i32, u64)>);

impl Doomed {
    /// Of these, by number and start.
    pub(super) fn of(processes: Vec<(i32, u64)>) -> Self {
        Self(processes)
    }

    /// Adds `roots` and all descendants of them or of those already known.
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

    /// Those that are still running.
    pub(super) fn running(&self) -> Vec<i32> {
        let runs = |(pid, started): &(i32, u64)| {
            let line = Stat::read(*pid).filter(|line| line.started == *started)?;
            (!line.has_ended()).then_some(*pid)
        };
        self.0.iter().filter_map(runs).collect()
    }
}

/// Sends a signal to each; stopped processes are continued, so that they can handle it.
pub(super) fn signal_all(pids: &[i32], signal: i32) {
    for pid in pids {
        // SAFETY: takes numbers.
        unsafe {
            libc::kill(*pid, signal);
            if signal != libc::SIGKILL {
                libc::kill(*pid, libc::SIGCONT);
            }
        }
    }
}
