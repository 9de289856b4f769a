//! Commands that are measured: started, watched and waited for, with all that they start themselves.
//!
//! No child outlives this process: each dies with the thread that started it (PR_SET_PDEATHSIG), what forks away is
//! adopted (PR_SET_CHILD_SUBREAPER), waited for and counted, and [`Child::end`], which a drop calls too, ends the whole
//! tree. After a `kill -9` of this process its [`Guard`], where one was posted, ends what forked away.
//!
//! Start children from a thread that outlives them. Whatever this process starts must be started here, since children
//! that are nobody's are taken for what a command left behind.

mod capture;
mod error;
mod find;
mod guard;
mod mark;
mod spawn;
mod start;
mod tree;
mod wait;

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use record::CpuList;

use capture::Captured;
pub use error::SpawnError;
pub use guard::Guard;
pub use tree::{Process, Stat, hurry, processes};
pub use wait::{Nobody, Watcher, wait_all};

use crate::Stop;

/// What is started, and how.
#[derive(Debug)]
pub struct Spec<'a> {
    /// The program, by path or to be found on PATH, and its arguments.
    pub argv: &'a [OsString],
    /// The CPUs on which it may run, set before it starts; `None` for ours.
    pub cpus: Option<&'a CpuList>,
    /// Where its memory comes from; `None` for the kernel's own way, from the node of the CPU that touches it first.
    pub memory: Option<Memory<'a>>,
    /// Its standard input.
    pub stdin: Input,
    /// Its standard output.
    pub stdout: Output<'a>,
    /// Its standard error.
    pub stderr: Output<'a>,
    /// Variables that its environment has beside, or instead of, ours.
    pub env: &'a [(OsString, OsString)],
    /// The folder in which it starts; `None` for ours.
    pub folder: Option<&'a Path>,
    /// Whether it leads a process group of its own, which the terminal's Ctrl-C then does not reach. What forks away
    /// from one of several children can be told from what the others leave.
    pub own_group: bool,
    /// Whether it stands just before the start of its program until [`Child::release`]: counters can be attached, and
    /// copies start together.
    pub gate: bool,
}

impl<'a> Spec<'a> {
    /// `argv` with our own input, outputs, folder and environment, started at once.
    pub fn new(argv: &'a [OsString]) -> Self {
        Self {
            argv,
            cpus: None,
            memory: None,
            stdin: Input::Inherit,
            stdout: Output::Inherit,
            stderr: Output::Inherit,
            env: &[],
            folder: None,
            own_group: false,
            gate: false,
        }
    }
}

/// From which nodes a child's memory comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory<'a> {
    /// The nodes.
    pub nodes: &'a CpuList,
    /// Whether page by page in turn; otherwise the nearest first.
    pub interleave: bool,
}

/// Where a child reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Where we do.
    Inherit,
    /// Nothing.
    Null,
}

/// Where a child writes.
#[derive(Clone, Copy, Debug)]
pub enum Output<'a> {
    /// Where we do.
    Inherit,
    /// Nowhere.
    Null,
    /// To a file.
    File(&'a File),
    /// To us. At most `limit` bytes are kept, half of them the first and half the last; the rest is read and counted, so
    /// that the child never waits for its reader and no memory fills up. It is read while the child is waited for.
    Capture {
        /// Bytes kept.
        limit: usize,
    },
}

/// A child that was started.
#[derive(Debug)]
pub struct Child {
    pid: i32,
    own_group: bool,
    program: OsString,
    /// What a gated child waits for.
    gate: Option<OwnedFd>,
    /// Where it says why its program could not be started.
    report: Option<spawn::Reports>,
    failed: Option<SpawnError>,
    stdout: Option<Captured>,
    stderr: Option<Captured>,
    started: Instant,
    ended: Option<Ended>,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal, which did not come from us.
    Signal(i32),
    /// It took longer than it was given, and was ended.
    TimedOut,
    /// We got this signal, and ended it.
    Stopped(i32),
}

/// The end of a child and of all that it started.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// How the child itself ended.
    pub exit: Exit,
    /// From its release to the end of the last process that was waited for.
    pub wall: Duration,
    /// What it used, and all whose end was waited for.
    pub usage: Usage,
    /// Processes that were still there when the child itself had ended: it forked away. They were waited for.
    pub left: Vec<Process>,
}

/// What processes used, by the kernel's accounting.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Seconds of CPU in user mode.
    pub user: f64,
    /// Seconds of CPU in the kernel.
    pub system: f64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Times a thread gave its CPU up to wait.
    pub voluntary_switches: u64,
    /// Times a thread was taken off its CPU.
    pub involuntary_switches: u64,
    /// Bytes that were read from disks.
    pub read_bytes: u64,
    /// Memory in RAM at its most, of the largest process, bytes.
    pub max_rss_bytes: u64,
}

impl Usage {
    /// Adds another process's: sums, and the larger memory.
    pub fn add(&mut self, other: &Usage) {
        self.user += other.user;
        self.system += other.system;
        self.minor_faults += other.minor_faults;
        self.major_faults += other.major_faults;
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.max_rss_bytes = self.max_rss_bytes.max(other.max_rss_bytes);
    }
}

/// Processes that were adopted after the child `pid` or something that it started left them behind.
pub fn adopted_beside(pid: i32) -> Vec<i32> {
    tree::left_behind_by(pid).iter().map(|process| process.pid).collect()
}

/// Makes this process the one that adopts whatever its descendants leave behind; `false` where that cannot be (before
/// Linux 3.4, in emulators of user programs): what forks away is then init's. [`Child::spawn`] does it too.
pub fn become_subreaper() -> bool {
    // SAFETY: PR_SET_CHILD_SUBREAPER takes a number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 }
}

/// The most memory in RAM that this process had until now, bytes.
pub fn own_peak_bytes() -> u64 {
    wait::own_usage().max_rss_bytes
}

/// Notes a process that this one has forked for its own work: nothing that a command left behind.
pub fn is_ours(pid: i32) {
    tree::register(pid, true);
}

impl Child {
    /// Starts a child. With a gate it stands before its program, with everything else in place; else its program runs.
    pub fn spawn(spec: &Spec) -> Result<Child, SpawnError> {
        spawn::spawn(spec, &mut |_| ())
    }

    /// As [`Child::spawn`]; `beside` is called with its process number while it gets ready, on another CPU where there is
    /// one. What counts from its program's start on can be attached there. A child with a gate has not passed it then.
    pub fn spawn_beside(spec: &Spec, beside: &mut dyn FnMut(i32)) -> Result<Child, SpawnError> {
        spawn::spawn(spec, beside)
    }

    /// Its process number.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Lets a gated child start its program, and time begins. Does not wait for it, so that many start together; whether
    /// the program could be started [`Child::started`] tells. Nothing to do without a gate.
    pub fn release(&mut self) {
        if let Some(gate) = self.gate.take() {
            self.started = Instant::now();
            spawn::open_gate(&gate);
        }
    }

    /// Waits until the program runs, or says why it could not be started (then the child has ended, with 127 or 126).
    pub fn started(&mut self) -> Result<(), SpawnError> {
        if let Some(report) = self.report.take()
            && let Some(failure) = spawn::read_report(&report)
        {
            self.failed = Some(failure.explain(&self.program));
        }
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Waits for the end of the child and of all that it left behind; a signal that asks us to stop, or the end of
    /// `timeout`, ends them all. After the first time it tells the same again.
    pub fn wait(&mut self, stop: &Stop, timeout: Option<Duration>) -> Ended {
        let mut ended = wait_all(&mut [self], stop, timeout, &mut Nobody);
        ended.pop().unwrap_or_else(Ended::unknown)
    }

    /// Ends the child and all that it started: asks first (SIGTERM), then forces (SIGKILL). Nothing to do when they have
    /// ended.
    pub fn end(&mut self) {
        wait::end(self);
    }

    /// How the child itself has ended, whatever it left behind; `None` while it runs. Its end stays to be waited for.
    /// Reads on the way what it has printed for us.
    pub fn exit(&mut self) -> Option<Exit> {
        self.drain();
        self.ended.as_ref().map(|ended| ended.exit).or_else(|| wait::exit_unreaped(self.pid))
    }

    /// What of standard output and standard error was kept.
    pub fn captured(&mut self) -> (Vec<u8>, Vec<u8>) {
        self.drain();
        let take =
            |captured: &mut Option<Captured>| captured.as_mut().map(Captured::take).unwrap_or_default();
        (take(&mut self.stdout), take(&mut self.stderr))
    }

    /// Bytes that were printed in all on standard output and standard error, as far as they were captured.
    pub fn printed(&self) -> (u64, u64) {
        let total = |captured: &Option<Captured>| captured.as_ref().map_or(0, Captured::total);
        (total(&self.stdout), total(&self.stderr))
    }

    fn drain(&mut self) {
        for captured in [&mut self.stdout, &mut self.stderr].into_iter().flatten() {
            captured.drain();
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.end();
        }
    }
}

impl Ended {
    /// For an end that nobody could see.
    fn unknown() -> Self {
        Self { exit: Exit::Code(-1), wall: Duration::ZERO, usage: Usage::default(), left: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
