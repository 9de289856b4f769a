//! Kills processes at one of their system calls. They are traced with ptrace, which stops them before and after each
//! call.

use std::io;
use std::time::Duration;

/// The target of the signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The process that was started.
    Main,
    /// The first process that it created: the guardian.
    Guardian,
    /// Both at the same time, counted by the calls of the first.
    Both,
}

/// A signal at a stop. There are two stops per system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shot {
    pub victim: Victim,
    pub at: u64,
    pub signal: i32,
}

/// The result of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// Number of stops of the started process, and of the first process that it created.
    pub stops: [u64; 2],
    /// Number of signals sent.
    pub shots: u32,
    /// Number of stops of the started process before it created the guardian, which it does before it sets anything.
    pub before_guardian: u64,
    /// The exit status of the started process: its code, or 128 plus the signal number.
    pub code: i32,
}

/// The signal with which a child stops to wait for its tracer.
const READY: i32 = libc::SIGSTOP;
/// The exit code of a child that cannot be traced.
const UNTRACED: i32 = 97;

/// Starts a process that does `work`, and traces it and all its descendants until they end. Each shot is fired once.
/// `None` if processes cannot be traced.
pub fn follow(work: impl FnOnce(), shots: &[Shot]) -> Option<Followed> {
    // SAFETY: the copy has one thread; `work` reads and writes files, creates processes and exits.
    let main = unsafe { libc::fork() };
    assert!(main >= 0, "fork: {}", io::Error::last_os_error());
    if main == 0 {
        // SAFETY: these system calls only affect this process.
        unsafe {
            if libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0 {
                libc::_exit(UNTRACED);
            }
            libc::raise(READY);
        }
        work();
        // SAFETY: ends the copy without running exit handlers of the original.
        unsafe { libc::_exit(0) }
    }
    let mut status = 0;
    // SAFETY: the status is valid for the write; the child belongs to this thread.
    unsafe { libc::waitpid(main, &mut status, libc::__WALL) };
    if libc::WIFEXITED(status) {
        return None;
    }
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_EXITKILL;
    // SAFETY: the child is stopped and traced by this thread.
    unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, main, 0, options) };
    go_on(main, 0);
    Some(Hunt { main, guardian: None, shots: shots.to_vec(), followed: Followed::default() }.until_the_end())
}

/// Continues a process that a wait reported as stopped. It is not an error if the process was killed meanwhile.
fn go_on(pid: i32, signal: i32) {
    for _ in 0..PATIENCE {
        // SAFETY: the process is stopped and traced by this thread; if it has already ended, the call fails.
        if unsafe { libc::ptrace(libc::PTRACE_SYSCALL, pid, 0, signal) } == 0 {
            return;
        }
        let error = io::Error::last_os_error();
        if !is_stopped(pid) {
            return;
        }
        println!("process {pid} is stopped and cannot go on with signal {signal}: {error}; once more");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Maximum number of attempts to continue a stopped process.
const PATIENCE: u32 = 100;

fn is_stopped(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('t'))
}

struct Hunt {
    main: i32,
    guardian: Option<i32>,
    shots: Vec<Shot>,
    followed: Followed,
}

impl Hunt {
    fn until_the_end(mut self) -> Followed {
        loop {
            let mut status = 0;
            // Only waits for children of this thread, because other threads may have their own.
            // SAFETY: the status is valid for the write.
            let pid = unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::__WNOTHREAD) };
            if pid < 0 {
                if io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) {
                    continue;
                }
                return self.followed;
            }
            if libc::WIFSTOPPED(status) {
                self.stopped(pid, status);
            } else if pid == self.main {
                self.followed.code = if libc::WIFEXITED(status) {
                    libc::WEXITSTATUS(status)
                } else {
                    128 + libc::WTERMSIG(status)
                };
            }
        }
    }

    fn stopped(&mut self, pid: i32, status: i32) {
        let signal = libc::WSTOPSIG(status);
        let event = status >> 16;
        if signal == libc::SIGTRAP | 0x80 {
            self.at_call(pid);
            go_on(pid, 0);
        } else if event != 0 {
            if self.guardian.is_none() && event == libc::PTRACE_EVENT_FORK {
                let mut new: libc::c_ulong = 0;
                // SAFETY: the kernel writes one long.
                unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, pid, 0, &raw mut new) };
                self.guardian = i32::try_from(new).ok();
                self.followed.before_guardian = self.followed.stops[0];
            }
            go_on(pid, 0);
        } else {
            // The first stop of a new process is caused by the tracer and must not be passed on.
            go_on(pid, if signal == READY || signal == libc::SIGTRAP { 0 } else { signal });
        }
    }

    /// Counts a stop and fires the shots that are due.
    fn at_call(&mut self, pid: i32) {
        let who = if pid == self.main {
            0
        } else if Some(pid) == self.guardian {
            1
        } else {
            return;
        };
        let now = self.followed.stops[who];
        self.followed.stops[who] += 1;
        let guardian = self.guardian;
        let main = self.main;
        let mut fired = 0;
        self.shots.retain(|shot| {
            let counted = usize::from(shot.victim == Victim::Guardian);
            if counted != who || shot.at != now {
                return true;
            }
            let targets = match shot.victim {
                Victim::Main => [Some(main), None],
                Victim::Guardian => [guardian, None],
                Victim::Both => [guardian, Some(main)],
            };
            for target in targets.into_iter().flatten() {
                // SAFETY: processes that this process created and has not reaped yet.
                unsafe { libc::kill(target, shot.signal) };
            }
            fired += 1;
            false
        });
        self.followed.shots += fired;
    }
}
