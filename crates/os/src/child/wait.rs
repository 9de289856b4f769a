//! Waits for all children in one loop, so that the end of each child is detected immediately and output is read in the
//! meantime. This module also ends children.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::outcome::{Ended, Exit, Usage};
use super::process::Child;
use super::tree::{self, Process};
use crate::Stop;
use crate::thread::read_usage;

/// The polling interval of the atomic variable that signal handlers set.
const LOOK: Duration = Duration::from_millis(50);
/// The grace period of a child after SIGTERM, and after a Ctrl-C that the child also received.
const GRACE: Duration = Duration::from_secs(2);
/// Maximum wait after SIGKILL. The only processes that then remain are blocked in disk I/O or belong to another user.
const LAST: Duration = Duration::from_secs(5);
/// Processes that were left behind are reported if they run for longer than this.
const TELL: Duration = Duration::from_millis(500);

/// Receives events while waiting for children.
pub trait Watcher {
    /// Called periodically; returns the time until the next call.
    fn tick(&mut self) -> Duration {
        Duration::from_secs(3600)
    }
    /// A child has exited; its /proc files can be read until this function returns.
    fn exited(&mut self, _pid: i32) {}
    /// A child has ended and left these processes running, which are now waited for.
    fn left(&mut self, _left: &[Process]) {}
}

/// A watcher that is only notified of processes left behind.
impl<F: FnMut(&[Process])> Watcher for F {
    fn left(&mut self, left: &[Process]) {
        self(left);
    }
}

impl Child {
    /// Waits until the child and all processes that it left behind have ended. A stop signal or an expired `timeout`
    /// ends them all. Later calls return the same result.
    pub fn wait(&mut self, stop: &Stop, timeout: Option<Duration>) -> Ended {
        let mut ended = wait_all(&mut [self], stop, timeout, &mut |_: &[Process]| {});
        ended.pop().unwrap_or_else(Ended::unknown)
    }

    /// Ends the child and all its descendants: first SIGTERM, then SIGKILL. Does nothing if they have already ended.
    pub fn end(&mut self) {
        if self.ended.is_some() {
            return;
        }
        // A gated child has not started its program yet, so there is nothing to terminate gracefully.
        if self.gate.take().is_some() {
            tree::signal_all(&[self.pid], libc::SIGKILL);
        }
        let mut waited = [Waited::new(self)];
        let mut left = [Vec::new()];
        give_up(&mut [self], &mut waited, &mut left, &mut |_: &[Process]| {}, Exit::Signal(libc::SIGTERM));
        tree::forget(self.pid);
        let ([waited], [left]) = (waited, left);
        let (exit, wall) = (waited.exit.unwrap_or(Exit::Code(-1)), self.started.elapsed());
        self.ended = Some(Ended { exit, wall, late: waited.late, usage: waited.usage, left });
    }

    /// The exit of the child itself, regardless of any processes that it left behind; `None` while it runs. The child
    /// is not reaped. Also reads its captured output.
    pub fn exit(&mut self) -> Option<Exit> {
        self.drain();
        self.ended.as_ref().map(|ended| ended.exit).or_else(|| exit_unreaped(self.pid))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}

/// A descriptor that becomes readable when a process has ended.
fn watch_process(pid: i32) -> Option<OwnedFd> {
    let watch = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    watch.or_else(|| watch_by_thread(pid).ok())
}

/// Like [`watch_process`], for kernels before Linux 5.3: a pipe that a thread closes when the process has ended.
fn watch_by_thread(pid: i32) -> io::Result<OwnedFd> {
    let (ours, theirs) = io::pipe()?;
    std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
        let interrupted = |error: io::Error| error.kind() == io::ErrorKind::Interrupted;
        while tree::look_at_end(libc::P_PID, pid, 0).is_err_and(interrupted) {}
        drop(theirs);
    })?;
    Ok(ours.into())
}

/// Waits until one of `fds` is readable or closed.
fn wait_readable(fds: &[RawFd], patience: Duration) {
    let mut polled: Vec<libc::pollfd> =
        fds.iter().map(|fd| libc::pollfd { fd: *fd, events: libc::POLLIN, revents: 0 }).collect();
    let spec = libc::timespec {
        tv_sec: patience.as_secs().min(3600) as libc::time_t,
        tv_nsec: patience.subsec_nanos() as libc::c_long,
    };
    // SAFETY: the list and the time outlive the call. An early return (EINTR) only causes another check.
    unsafe { libc::ppoll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, &spec, std::ptr::null()) };
}

/// Reaps a process if it has ended, and returns its wait status and its usage.
fn reap(pid: i32) -> Option<(i32, Usage)> {
    let mut status = 0;
    // SAFETY: the kernel fills both structures, for which all zeros is a valid value.
    let (code, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(pid, &mut status, libc::WNOHANG, &mut usage), usage)
    };
    (code == pid).then(|| (status, Usage::from(&usage)))
}

/// Peak resident memory of this process so far, bytes.
pub fn own_peak_bytes() -> u64 {
    read_usage(libc::RUSAGE_SELF).map_or(0, |usage| Usage::from(&usage).max_rss_bytes)
}

fn exit_of(status: i32) -> Exit {
    if libc::WIFSIGNALED(status) {
        Exit::Signal(libc::WTERMSIG(status))
    } else {
        Exit::Code(libc::WEXITSTATUS(status))
    }
}

/// A child being waited for.
#[derive(Default)]
struct Waited {
    watch: Option<OwnedFd>,
    exit: Option<Exit>,
    usage: Usage,
    wall: Duration,
    late: Duration,
}

impl Waited {
    fn new(child: &Child) -> Self {
        Self { watch: watch_process(child.pid), ..Self::default() }
    }

    /// Records the exit of the child, if the child has exited.
    ///
    /// `late`: the maximum delay with which this process detected the end.
    fn take_end(&mut self, child: &Child, late: Duration, watcher: &mut dyn Watcher) {
        if self.exit.is_some() || exit_unreaped(child.pid).is_none() {
            return;
        }
        self.wall = child.started.elapsed();
        self.late = late;
        watcher.exited(child.pid);
        let (status, usage) = reap(child.pid).unwrap_or_default();
        self.exit = Some(exit_of(status));
        self.usage = usage;
        self.watch = None;
    }
}

/// The exit of our child if it has ended, without reaping it. A process that is no longer our child has also ended.
///
/// /proc is not used: there, a process appears dead when its first thread has ended, even if other threads still run.
fn exit_unreaped(pid: i32) -> Option<Exit> {
    let Ok(info) = tree::look_at_end(libc::P_PID, pid, libc::WNOHANG) else { return Some(Exit::Code(-1)) };
    // SAFETY: these fields are valid for a child, and all zeros if there is no child.
    let (found, status) = unsafe { (info.si_pid(), info.si_status()) };
    match info.si_code {
        _ if found != pid => None,
        libc::CLD_EXITED => Some(Exit::Code(status)),
        _ => Some(Exit::Signal(status)),
    }
}

/// Waits until all children and the processes that they left behind have ended, and returns the exit and time of each
/// child. A stop signal or an expired `timeout` ends the remaining ones. The results are in the order of the children.
/// Gated children must be released first.
pub fn wait_all(
    children: &mut [&mut Child],
    stop: &Stop,
    timeout: Option<Duration>,
    watcher: &mut dyn Watcher,
) -> Vec<Ended> {
    let began = Instant::now();
    let mut waited: Vec<Waited> = children.iter().map(|child| Waited::new(child)).collect();
    let open = |child: &Child| child.ended.is_none();
    let mut next_tick = began + watcher.tick();
    let mut left: Vec<Vec<Process>> = vec![Vec::new(); children.len()];
    let mut all_ended_at = None;
    let mut reported = false;
    // `None` before the first check: until then, nothing has detected whether the child has ended.
    let mut late: Option<Duration> = None;
    let forced = loop {
        for (child, waited) in children.iter_mut().zip(&mut waited) {
            child.drain();
            if open(child) {
                let unseen = late.unwrap_or_else(|| child.started.elapsed().saturating_sub(LOOK));
                waited.take_end(child, unseen, watcher);
            }
        }
        // Exits are not detected from this point until the next check. The watcher works during this time.
        let from = Instant::now();
        let mut fds: Vec<RawFd> = Vec::new();
        for (child, waited) in children.iter().zip(&waited).filter(|(child, _)| open(child)) {
            fds.extend(waited.watch.iter().map(AsRawFd::as_raw_fd));
            fds.extend([&child.stdout, &child.stderr].into_iter().flatten().filter_map(|c| c.fd()));
        }
        let mut watches = Vec::new();
        if children.iter().zip(&waited).all(|(child, waited)| !open(child) || waited.exit.is_some()) {
            watches = reap_left_behind(children, &mut waited, &mut left);
            if watches.is_empty() {
                break None;
            }
            let since = *all_ended_at.get_or_insert_with(Instant::now);
            if !reported && since.elapsed() > TELL {
                reported = true;
                watcher.left(&left.concat());
            }
        }
        fds.extend(watches.iter().map(AsRawFd::as_raw_fd));
        if let Some(signal) = stop.signal() {
            break Some(Exit::Stopped(signal));
        }
        let now = Instant::now();
        if now >= next_tick {
            next_tick = now + watcher.tick();
        }
        let mut patience = LOOK.min(next_tick.saturating_duration_since(Instant::now()));
        if let Some(timeout) = timeout {
            let rest = timeout.saturating_sub(began.elapsed());
            if rest.is_zero() {
                break Some(Exit::TimedOut);
            }
            patience = patience.min(rest);
        }
        wait_readable(&fds, patience);
        late = Some(from.elapsed().saturating_sub(patience));
    };
    if let Some(exit) = forced {
        if exit == Exit::TimedOut {
            // The child's time includes the processes that it left behind: if these must be terminated now, the run has timed out.
            for (child, waited) in children.iter().zip(&mut waited).filter(|(child, _)| open(child)) {
                if waited.exit.is_some() && !tree::left_behind_by(child.pid).is_empty() {
                    waited.exit = Some(exit);
                }
            }
        }
        give_up(children, &mut waited, &mut left, watcher, exit);
    }
    let results = children.iter_mut().zip(waited).zip(left).map(|((child, waited), left)| {
        child.drain();
        if child.ended.is_none() {
            // Up to this point, the child's process group distinguishes the processes that it left behind from those of
            // other children.
            tree::forget(child.pid);
        }
        let now = child.started.elapsed();
        let ended = || Ended {
            exit: waited.exit.or(forced).unwrap_or(Exit::Code(-1)),
            wall: if waited.wall.is_zero() { now } else { waited.wall },
            late: waited.late,
            usage: waited.usage,
            left,
        };
        child.ended.get_or_insert_with(ended).clone()
    });
    results.collect()
}

/// Reaps processes that children left behind and adds their usage. Returns handles of the remaining processes.
fn reap_left_behind(
    children: &[&mut Child],
    waited: &mut [Waited],
    left: &mut [Vec<Process>],
) -> Vec<OwnedFd> {
    let mut watches = Vec::new();
    for (at, child) in children.iter().enumerate().filter(|(_, child)| child.ended.is_none()) {
        let waits = !left[at].is_empty();
        for process in tree::left_behind_by(child.pid) {
            if let Some((_, usage)) = reap(process.pid) {
                waited[at].usage.add(&usage);
                if !waits {
                    // The process ended before or together with the child, so the child's time does not change.
                    continue;
                }
                waited[at].wall = waited[at].wall.max(child.started.elapsed());
            } else if let Some(watch) = watch_process(process.pid) {
                watches.push(watch);
            }
            // The name may have changed: a new daemonized process often calls exec soon.
            match left[at].iter_mut().find(|known| known.pid == process.pid) {
                Some(known) => known.name = process.name,
                None => left[at].push(process),
            }
        }
    }
    watches
}

/// Ends all remaining processes, with `exit` as the reason.
fn give_up(
    children: &mut [&mut Child],
    waited: &mut [Waited],
    left: &mut [Vec<Process>],
    watcher: &mut dyn Watcher,
    exit: Exit,
) {
    let running: Vec<usize> = (0..children.len())
        .filter(|at| children[*at].ended.is_none() && waited[*at].exit.is_none())
        .collect();
    let roots: Vec<i32> = running.iter().map(|at| children[*at].pid).collect();
    let from_terminal = exit == Exit::Stopped(libc::SIGINT)
        && children.iter().all(|child| !child.own_group)
        && terminal_is_ours();
    // The processes are collected before the first one ends; after that, it is unknown to which child the others belong.
    let mut doomed = tree::Doomed::default();
    doomed.add(&roots);
    if !from_terminal {
        // If the signal came from a terminal, the processes have already received it, and many programs treat a second signal as a request
        // to exit immediately.
        let signal = if let Exit::Stopped(signal) = exit { signal } else { libc::SIGTERM };
        tree::signal_all(&roots, signal);
    }
    let mut step = |grace: Duration, signal: Option<i32>| -> bool {
        let from = Instant::now();
        let mut again = from;
        loop {
            if let Some(signal) = signal
                && Instant::now() >= again
            {
                let left = children.iter().flat_map(|child| tree::left_behind_by(child.pid));
                doomed.add(&left.map(|process| process.pid).collect::<Vec<_>>());
                tree::signal_all(&doomed.running(), signal);
                // Newly forked processes also receive the signal, but only SIGKILL is sent repeatedly at short intervals.
                again += if signal == libc::SIGKILL { Duration::from_millis(20) } else { grace };
            }
            for at in 0..children.len() {
                children[at].drain();
                if children[at].ended.is_none() {
                    waited[at].take_end(children[at], Duration::ZERO, watcher);
                }
            }
            let rest = reap_left_behind(children, waited, left);
            let ended =
                |(child, waited): (&&mut Child, &Waited)| child.ended.is_some() || waited.exit.is_some();
            let gone = children.iter().zip(&*waited).all(ended);
            if rest.is_empty() && gone && doomed.running().is_empty() {
                return true;
            }
            // If only processes left behind remain, this wait ends early: they have not been signaled yet, and nothing else will signal
            // them.
            let orphans_only = gone && signal.is_none() && from.elapsed() > TELL;
            let hurried = tree::hurried() && signal != Some(libc::SIGKILL);
            if from.elapsed() >= grace || orphans_only || hurried {
                return false;
            }
            let mut fds: Vec<RawFd> = rest.iter().map(AsRawFd::as_raw_fd).collect();
            fds.extend(waited.iter().filter_map(|w| w.watch.as_ref()).map(AsRawFd::as_raw_fd));
            wait_readable(&fds, Duration::from_millis(10));
        }
    };
    let _ = step(GRACE, None) || step(GRACE, Some(libc::SIGTERM)) || step(LAST, Some(libc::SIGKILL));
    for at in running {
        waited[at].exit = Some(exit);
    }
}

/// Whether the terminal's Ctrl-C reaches this process group.
fn terminal_is_ours() -> bool {
    let Ok(terminal) = std::fs::File::open("/dev/tty") else { return false };
    // SAFETY: both calls only take integers.
    unsafe { libc::tcgetpgrp(terminal.as_raw_fd()) == libc::getpgrp() }
}

/// Waits for one of our processes, reaps it and returns its wait status.
pub(crate) fn wait_for(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: the kernel fills the status.
    while unsafe { libc::waitpid(pid, &mut status, 0) } < 0
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
    status
}

/// Reaps a child that could not start its program. Such a child exits by itself.
pub(super) fn abandon(child: &mut Child) {
    let exit = exit_of(wait_for(child.pid));
    tree::forget(child.pid);
    child.ended = Some(Ended { exit, ..Ended::unknown() });
}
