//! The exit of a child, and its resource usage.

use std::fmt;
use std::time::Duration;

use super::tree::Process;

/// The exit of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The program exited with this code.
    Code(i32),
    /// The program was killed by a signal that linespeed did not send.
    Signal(i32),
    /// The program exceeded its time limit and was terminated.
    TimedOut,
    /// linespeed received this signal and terminated the child.
    Stopped(i32),
}

/// Exit code of a command that exceeded its time limit, as in timeout(1).
const TIMED_OUT: u8 = 124;

impl Exit {
    /// The shell-style exit code.
    pub fn code(self) -> u8 {
        match self {
            Exit::Code(code) => code as u8,
            Exit::Signal(signal) | Exit::Stopped(signal) => 128u8.wrapping_add(signal as u8),
            Exit::TimedOut => TIMED_OUT,
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exited with code {code}"),
            Exit::Signal(libc::SIGKILL) => {
                f.write_str("was killed (signal 9), possibly because memory ran out")
            }
            Exit::Signal(signal) => write!(f, "was terminated by signal {signal}"),
            Exit::TimedOut => f.write_str("took too long"),
            Exit::Stopped(signal) => write!(f, "was stopped by signal {signal}"),
        }
    }
}

/// The outcome of a child and of everything that it started.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The exit of the child itself.
    pub exit: Exit,
    /// Time from the child's release until the last awaited process ended.
    pub wall: Duration,
    /// The maximum error of `wall`: the time for which this process was stopped or waited for a CPU at a moment when it
    /// should have detected the end.
    pub late: Duration,
    /// Resource usage of the child and all awaited processes.
    pub usage: Usage,
    /// Background processes that outlived the child; linespeed waited until they ended.
    pub left: Vec<Process>,
}

/// Resource usage of processes, from the kernel's accounting.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// CPU time in user mode, seconds.
    pub user: f64,
    /// CPU time in the kernel, seconds.
    pub system: f64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Voluntary context switches, in which a thread waited.
    pub voluntary_switches: u64,
    /// Involuntary context switches, in which a thread lost its CPU.
    pub involuntary_switches: u64,
    /// Bytes read from disks.
    pub read_bytes: u64,
    /// Peak resident memory of the largest process, bytes.
    pub max_rss_bytes: u64,
}

impl From<&libc::rusage> for Usage {
    fn from(usage: &libc::rusage) -> Self {
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
        Self {
            user: seconds(usage.ru_utime),
            system: seconds(usage.ru_stime),
            minor_faults: count(usage.ru_minflt),
            major_faults: count(usage.ru_majflt),
            voluntary_switches: count(usage.ru_nvcsw),
            involuntary_switches: count(usage.ru_nivcsw),
            // The kernel counts blocks of 512 bytes, for every file system.
            read_bytes: count(usage.ru_inblock).saturating_mul(512),
            // Linux reports KiB.
            max_rss_bytes: count(usage.ru_maxrss).saturating_mul(1024),
        }
    }
}

impl Usage {
    /// Adds another process's usage: counters are summed, and the larger peak memory is used.
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

impl Ended {
    /// The outcome of a child whose end could not be observed.
    pub(super) fn unknown() -> Self {
        let (wall, late) = (Duration::ZERO, Duration::ZERO);
        Self { exit: Exit::Code(-1), wall, late, usage: Usage::default(), left: Vec::new() }
    }
}
