//! The threads of a command from /proc: name, state, CPU, on-CPU and run-queue time.

use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};

use super::spells::Spells;
use machine::text::field;
use os::procfs::{Stat, TICK_NS, schedstat};

/// Observations of one thread, up to its last sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    /// The PID of the thread's process.
    pub pid: i32,
    /// The thread's TID.
    pub tid: i32,
    /// The thread's name in the kernel.
    pub name: String,
    /// Nanoseconds on a CPU.
    pub on_cpu_ns: u64,
    /// Number of 10 ms ticks that occurred while the thread was in user mode, and while it was in the kernel.
    pub ticks: (u64, u64),
    /// Time for which the thread was ready to run but had no CPU, ns.
    pub runnable_ns: u64,
    /// Number of times that the thread was scheduled onto a CPU, which equals the number of its context switches.
    pub slices: u64,
    /// Number of times that the kernel moved the thread to another CPU, if the kernel reports it (CONFIG_SCHED_DEBUG).
    pub migrations: Option<u64>,
    /// Time between the thread's first and last sample during which the thread neither had a CPU nor was ready for one, ns.
    pub blocked_ns: u64,
    /// The time of the thread's first sample, and its CPU time and ready time until then.
    pub(crate) first: Option<(Instant, u64)>,
    /// The time of the thread's last sample, and its start time, because its TID may be reused.
    pub(crate) last: Option<Instant>,
    pub(crate) started: Option<u64>,
    /// The thread's usage before the observation or before its values were last taken.
    pub(crate) had: Had,
    /// The waits that blocked the thread between its runs.
    pub(crate) spells: Spells,
    /// Involuntary switches at the last reading; `None` before the first reading.
    pub(crate) involuntary: Option<u64>,
    /// The processes that the thread started, as listed by the kernel.
    pub(crate) children: Vec<i32>,
    /// Number of samples of the thread.
    pub looks: u64,
    /// The CPU on which the thread last ran.
    pub cpu: Option<u32>,
    /// The thread's state at the last sample: R running or ready, S waiting, D waiting for a disk, T stopped, Z ended.
    pub state: char,
}

/// Reads a /proc file in a single read: its length is unknown, and several reads may mix two states.
fn read(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(4096);
    File::open(path).ok()?.take(u64::MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A thread's resource usage so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Had {
    /// Nanoseconds on a CPU.
    pub on_cpu_ns: u64,
    /// Time for which the thread was ready to run but had no CPU, ns.
    pub runnable_ns: u64,
    /// Number of times that the thread was scheduled onto a CPU.
    pub slices: u64,
    /// Voluntary and involuntary switches.
    pub switches: (u64, u64),
    /// Page faults without and with I/O.
    pub faults: (u64, u64),
    /// Number of 10 ms ticks that occurred while the thread was in user mode, and while it was in the kernel.
    pub ticks: (u64, u64),
    /// Migrations to other CPUs.
    pub migrations: u64,
    /// The time at which the usage was read.
    pub read_at: Option<Instant>,
}

impl Had {
    /// A thread's resource usage so far; all zero if /proc does not show the usage.
    pub(crate) fn read(pid: i32, tid: i32) -> Self {
        let place = format!("/proc/{pid}/task/{tid}");
        let read_at = Some(Instant::now());
        let text = |name: &str| read(&format!("{place}/{name}"));
        let (on_cpu_ns, runnable_ns, slices) =
            text("schedstat").as_deref().and_then(schedstat).unwrap_or_default();
        let stat = text("stat").as_deref().and_then(Stat::parse);
        Self {
            on_cpu_ns,
            runnable_ns,
            slices,
            switches: switches(pid, tid),
            faults: stat.as_ref().map_or((0, 0), |stat| stat.faults),
            ticks: stat.as_ref().map_or((0, 0), |stat| stat.ticks),
            migrations: migrations(&place).unwrap_or(0),
            read_at,
        }
    }
}

/// A thread's involuntary context switches so far.
pub(super) fn involuntary_switches(pid: i32, tid: i32) -> u64 {
    switches(pid, tid).1
}

/// A thread's voluntary and involuntary context switches so far.
fn switches(pid: i32, tid: i32) -> (u64, u64) {
    let status = read(&format!("/proc/{pid}/task/{tid}/status")).unwrap_or_default();
    let count = |name: &str| field(&status, name).and_then(|count| count.parse().ok()).unwrap_or(0);
    (count("voluntary_ctxt_switches"), count("nonvoluntary_ctxt_switches"))
}

/// Number of times that the kernel moved the thread with this /proc directory to another CPU; `None` if the kernel does
/// not report it.
pub fn migrations(place: &str) -> Option<u64> {
    parse_migrations(&read(&format!("{place}/sched"))?)
}

fn parse_migrations(sched: &str) -> Option<u64> {
    field(sched, "se.nr_migrations")?.parse().ok()
}

impl Thread {
    /// A thread before its first sample.
    pub fn new(pid: i32, tid: i32) -> Self {
        Self { pid, tid, state: 'S', involuntary: Some(0), ..Self::default() }
    }

    /// A thread sampled before the observation, with its usage until then.
    pub(super) fn since(pid: i32, tid: i32, had: Had) -> Self {
        let first = had.read_at.map(|at| (at, had.on_cpu_ns.saturating_add(had.runnable_ns)));
        let Had { on_cpu_ns, runnable_ns, slices, .. } = had;
        let mut thread = Self { on_cpu_ns, runnable_ns, slices, first, had, ..Self::new(pid, tid) };
        if let Some((at, before)) = first {
            thread.spells.look(at, before, had.slices);
        }
        thread
    }

    /// Samples the thread and, with `moves`, its migrations; `false` if it no longer exists.
    pub fn refresh(&mut self, moves: bool) -> bool {
        let place = format!("/proc/{}/task/{}", self.pid, self.tid);
        let Some(stat) = read(&format!("{place}/stat")).as_deref().and_then(Stat::parse) else {
            return false;
        };
        if self.started.is_some_and(|started| started != stat.started) {
            *self = Self::new(self.pid, self.tid);
        }
        self.started = Some(stat.started);
        // Kernels without CONFIG_SCHED_INFO only have ticks.
        let (on_cpu, runnable, slices) = read(&format!("{place}/schedstat"))
            .as_deref()
            .and_then(schedstat)
            .unwrap_or((stat.all_ticks().saturating_mul(TICK_NS), 0, 0));
        self.on_cpu_ns = self.on_cpu_ns.max(on_cpu);
        self.ticks = stat.ticks;
        self.runnable_ns = self.runnable_ns.max(runnable);
        // A thread that did not run was not migrated.
        if moves && (self.last.is_none() || slices > self.slices) {
            self.migrations = self.migrations.max(migrations(&place));
        }
        self.slices = self.slices.max(slices);
        let now = Instant::now();
        self.last = Some(now);
        self.note_blocked(now);
        self.spells.look(now, self.on_cpu_ns.saturating_add(self.runnable_ns), self.slices);
        self.looks += 1;
        self.cpu = stat.cpu;
        self.name = stat.name;
        self.state = stat.state;
        true
    }

    /// Adds the part of the time since the first sample in which the thread was neither on a CPU nor ready for one. The
    /// time is computed over all samples, because the kernel updates the time of a running thread only at ticks.
    fn note_blocked(&mut self, now: Instant) {
        let had = self.on_cpu_ns.saturating_add(self.runnable_ns);
        let (since, before) = *self.first.get_or_insert((now, had));
        let wanted = Duration::from_nanos(had.saturating_sub(before));
        self.blocked_ns = (now - since).saturating_sub(wanted).as_nanos() as u64;
    }
}

impl Thread {
    /// Excludes the usage before the observation.
    pub(super) fn leave_out_before(&mut self) {
        let had = &self.had;
        self.on_cpu_ns = self.on_cpu_ns.saturating_sub(had.on_cpu_ns);
        self.runnable_ns = self.runnable_ns.saturating_sub(had.runnable_ns);
        self.ticks = (self.ticks.0.saturating_sub(had.ticks.0), self.ticks.1.saturating_sub(had.ticks.1));
        self.slices = self.slices.saturating_sub(had.slices);
        self.migrations = self.migrations.map(|all| all.saturating_sub(had.migrations));
    }

    /// From now on, counts only usage after the last sample.
    pub(super) fn restart(&mut self) {
        self.had = Had {
            on_cpu_ns: self.on_cpu_ns,
            runnable_ns: self.runnable_ns,
            slices: self.slices,
            ticks: self.ticks,
            migrations: self.migrations.unwrap_or(0),
            ..Had::default()
        };
        self.first = self.last.map(|at| (at, self.on_cpu_ns.saturating_add(self.runnable_ns)));
        (self.blocked_ns, self.looks) = (0, 0);
        self.spells.restart();
    }

    /// The thread's involuntary switches since the last call.
    pub(super) fn take_involuntary_switches(&mut self) -> u64 {
        if self.slices <= self.had.slices {
            return 0;
        }
        // The kernel shows no switches of an exited thread. At the first reading, all switches count as earlier ones.
        let now = involuntary_switches(self.pid, self.tid);
        now.saturating_sub(self.involuntary.replace(now).unwrap_or(now))
    }

    /// Whether the thread waited at the last sample and has not been on a CPU since. This reads only one file, and does not
    /// detect a thread that has become ready but has not run yet.
    pub(super) fn is_as_it_was(&mut self) -> bool {
        let place = format!("/proc/{}/task/{}/schedstat", self.pid, self.tid);
        let is = self.state != 'R'
            && read(&place).as_deref().and_then(schedstat).is_some_and(|(on_cpu, _, slices)| {
                slices == self.slices && on_cpu == self.on_cpu_ns && slices > 0
            });
        self.looks += u64::from(is);
        if is {
            let now = Instant::now();
            self.last = Some(now);
            self.note_blocked(now);
        }
        is
    }
}

/// The threads of a process.
pub(crate) fn list_threads(pid: i32) -> Vec<i32> {
    os::procfs::numbers(format!("/proc/{pid}/task")).collect()
}

/// The running processes that a thread has started; empty on kernels that do not list them.
pub(crate) fn children(pid: i32, tid: i32) -> Vec<i32> {
    let text = read(&format!("/proc/{pid}/task/{tid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moves_are_those_of_this_count_alone() {
        let sched = "cat (1, #threads: 1)\n---\nse.nr_migrations    :      17\nnr_switches : 5\n";
        assert_eq!(parse_migrations(sched), Some(17));
        assert_eq!(parse_migrations("se.nr_migrations_cold : 3\n"), None);
    }

    #[test]
    fn this_thread_is_seen() {
        let (pid, tid) = (std::process::id() as i32, os::thread_id());
        assert!(list_threads(pid).contains(&tid));
        let mut thread = Thread::new(pid, tid);
        assert!(thread.refresh(true) && thread.looks == 1 && !thread.name.is_empty());
        assert!(!Thread::new(pid, i32::MAX).refresh(true));
    }

    #[test]
    fn blocked_is_what_was_neither_on_a_cpu_nor_ready() {
        let at = Instant::now();
        let had = Had { on_cpu_ns: 5_000, runnable_ns: 1_000, read_at: Some(at), ..Had::default() };
        let look = |mut thread: Thread, after: u64, on_cpu_ns: u64| {
            (thread.on_cpu_ns, thread.runnable_ns) = (on_cpu_ns, 3_000);
            thread.note_blocked(at + Duration::from_nanos(after));
            thread
        };
        let known = look(Thread::since(1, 1, had), 100_000, 25_000);
        assert_eq!(known.blocked_ns, 100_000 - 20_000 - 2_000);
        // A thread that was always on a CPU may have slightly more CPU time, because the kernel uses a different clock.
        assert_eq!(look(known, 100_000, 500_000).blocked_ns, 0);
        // For a thread that appeared in the meantime, time counts from the first sample on.
        let new = look(Thread::new(1, 2), 50_000, 20_000);
        assert_eq!(new.blocked_ns, 0);
        assert_eq!(look(new, 90_000, 30_000).blocked_ns, 30_000);
    }

    proptest! {
        #[test]
        fn no_line_panics(text in "\\PC{0,80}") {
            let _ = parse_migrations(&format!("se.nr_migrations{text}"));
        }
    }
}
