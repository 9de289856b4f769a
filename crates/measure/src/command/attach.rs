//! Observes running processes for a limited time. Nothing is started, stopped or changed, and only /proc is read.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::{Duration, Instant};

use machine::text::{bytes_field, field};
use os::Stop;
use os::child::{Ended, Exit, Stat, USER_HZ, Usage};
use record::CpuList;

use super::Run;
use super::around::{Look, grown_most, quota_files, throttled};
use crate::accesses::{Accesses, Hierarchy};
use crate::counters::Reading;
use crate::tasks::{Effort, Sampler, Seen, thread};

/// Time between two checks for a stop request or an ended process.
const NOTICE: Duration = Duration::from_millis(50);

/// With more processes than this, children are not searched for, because all processes of such a large service are
/// already listed.
const MOST_WITH_CHILDREN: usize = 32;
/// Maximum number of descendants read per process.
const MOST_IN_TREE: usize = 256;

/// A running process. Because its PID may be reused later, its start time identifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// The process's PID.
    pub pid: i32,
    started: u64,
    /// The process's command line, or its name if it has none.
    pub argv: Vec<OsString>,
    /// The CPUs on which it may run.
    pub cpus: CpuList,
}

/// The reason why a process cannot be observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttachError {
    /// There is no process with this PID.
    #[error("there is no process {0}")]
    Ended(i32),
    /// The process exists, but we may not see it in /proc.
    #[error("/proc hides process {0} (hidepid): run as its user or as root")]
    Hidden(i32),
}

impl Attached {
    /// Finds the process with this PID.
    pub fn find(pid: i32) -> Result<Self, AttachError> {
        let Some(stat) = Stat::read(pid) else {
            // SAFETY: the call only takes integers; signal 0 is not delivered.
            let sent = unsafe { libc::kill(pid, 0) };
            let denied = std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM);
            return Err(if sent == 0 || denied { AttachError::Hidden(pid) } else { AttachError::Ended(pid) });
        };
        if stat.has_ended() {
            return Err(AttachError::Ended(pid));
        }
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        let mut argv: Vec<OsString> = words.map(|word| OsString::from_vec(word.to_vec())).collect();
        if argv.is_empty() {
            argv.push(stat.name.into());
        }
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let cpus = field(&status, "Cpus_allowed_list").and_then(|list| list.parse().ok());
        Ok(Self { pid, started: stat.started, argv, cpus: cpus.unwrap_or_default() })
    }

    /// Whether the process is still running. A different process with the same PID does not count.
    pub fn is_there(&self) -> bool {
        Stat::read_first_thread(self.pid)
            .is_some_and(|stat| stat.started == self.started && !stat.has_ended())
    }

    /// The kernel's current accounting of the process; `None` if it has ended.
    fn account(&self) -> Option<Account> {
        if self.is_there() { Account::read(self.pid) } else { None }
    }
}

/// A process's totals so far: ticks in user mode and in the kernel, minor and major faults, peak memory in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    ticks: (u64, u64),
    faults: (u64, u64),
    rss: u64,
}

impl Account {
    fn read(pid: i32) -> Option<Self> {
        let Stat { ticks, faults, .. } = Stat::read(pid)?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        Some(Self { ticks, faults, rss: bytes_field(&status, "VmHWM").unwrap_or(0) })
    }
}

/// One of the observed processes.
#[derive(Debug)]
struct Watched {
    process: Attached,
    first: Account,
    last: Account,
    there: bool,
    /// The initial totals of the process and its descendants, including those that have ended; `None` if these totals are not needed.
    of_tree: Option<(u64, u64)>,
}

impl Watched {
    fn new(process: Attached) -> Self {
        let first = process.account();
        let (there, first) = (first.is_some(), first.unwrap_or_default());
        Self { process, first, last: first, there, of_tree: None }
    }

    /// Ticks since the first observation, for the process and all processes that it started (including short-lived
    /// ones).
    fn ticks(&self, named: &[i32]) -> (u64, u64) {
        let own = less(self.last.ticks, self.first.ticks);
        let now = self
            .of_tree
            .filter(|_| self.is_there())
            .map(|first| less(tree_ticks(self.process.pid, named), first));
        // If a descendant leaves the tree while it still runs, its time is no longer included.
        now.map_or(own, |tree| std::cmp::max_by_key(tree, own, |ticks| ticks.0.saturating_add(ticks.1)))
    }

    fn is_there(&self) -> bool {
        self.there && self.process.is_there()
    }
}

/// Processes observed in consecutive periods, with their activity in each period.
#[derive(Debug)]
pub struct Watching {
    all: Vec<Watched>,
    sampler: Sampler,
    /// The time up to which results have been returned.
    since: Instant,
    /// Samples of the processes' waits in user mode, if taken.
    accesses: Option<Accesses>,
}

impl Watching {
    /// Starts observing, with at most this effort.
    pub fn new(processes: Vec<Attached>, effort: Effort) -> Self {
        let sampler = Sampler::of_processes(&[], effort);
        let mut watching = Self { all: Vec::new(), sampler, since: Instant::now(), accesses: None };
        watching.set(processes);
        watching.since = Instant::now();
        watching
    }

    /// Replaces the observed processes. Results for previously observed processes are preserved.
    pub fn set(&mut self, processes: Vec<Attached>) {
        let mut before = std::mem::take(&mut self.all);
        for process in processes {
            match before.iter().position(|one| one.there && one.process == process) {
                Some(at) => self.all.push(before.swap_remove(at)),
                None => {
                    let one = Watched::new(process);
                    if one.there {
                        self.sampler.add(one.process.pid);
                    }
                    self.all.push(one);
                }
            }
        }
        for gone in before.iter().filter(|one| one.there) {
            if !self.all.iter().any(|one| one.there && one.process.pid == gone.process.pid) {
                self.sampler.forget(gone.process.pid);
            }
        }
        self.begin_trees();
    }

    /// The observed processes.
    pub fn processes(&self) -> impl Iterator<Item = &Attached> {
        self.all.iter().map(|one| &one.process)
    }

    /// The processes that existed at the last observation.
    pub fn present(&self) -> impl Iterator<Item = &Attached> {
        self.all.iter().filter(|one| one.there).map(|one| &one.process)
    }

    /// From now on, also samples the waits of the processes' threads in user mode. This is needed only if sampling
    /// whole CPUs is not permitted.
    pub fn sample(&mut self, known: Hierarchy) {
        self.accesses = Some(Accesses::of_threads(known));
    }

    /// Whether one of the processes still exists.
    pub fn is_one_there(&self) -> bool {
        self.all.iter().any(Watched::is_there)
    }

    /// Observes until all processes have ended, the time limit expires, or a stop is requested. The results cover the
    /// time since the last observation, for the processes and everything that they started.
    pub fn watch(&mut self, limit: Option<Duration>, stop: &Stop) -> Run {
        if self.since.elapsed() > NOTICE {
            // Activity between the last observation and now does not count.
            self.look();
            self.take();
        }
        let (before, began) = (Look::now(), Instant::now());
        let files = self.present().next().map(|one| quota_files(&one.pid.to_string())).unwrap_or_default();
        let throttled_before = throttled(&files);
        let mut next = began;
        let is_over = || stop.signal().is_some() || limit.is_some_and(|limit| began.elapsed() >= limit);
        while !is_over() && self.is_one_there() {
            if Instant::now() >= next {
                next = Instant::now() + self.look();
            }
            if let Some(accesses) = &mut self.accesses {
                accesses.follow(self.sampler.tids());
                accesses.take();
            }
            let left = limit.map_or(NOTICE, |limit| limit.saturating_sub(began.elapsed()));
            std::thread::sleep(NOTICE.min(left));
        }
        self.look();
        let (wall, usage, (seen, cpufreq)) = self.take();
        let named = self.all.iter().map(|one| one.process.pid);
        let pids: Vec<i32> = super::pids_of(&seen).into_iter().chain(named).collect();
        let sampled = self.accesses.as_mut().and_then(|accesses| match limit {
            Some(length) => accesses.of_interval(length, Some(&pids)),
            None => accesses.of_processes(&pids),
        });
        let sampled = sampled.filter(|sampled| sampled.samples > 0);
        let others_sampled =
            self.accesses.as_mut().map(|accesses| accesses.of_others(&pids)).unwrap_or_default();
        let mut around = before.until_now();
        // The quota of the processes' cgroup may differ from that of our own.
        around.throttled_seconds = grown_most(&throttled_before, &throttled(&files));
        Run {
            // The exit status of the attached processes is not available to us.
            ended: Ended { exit: Exit::Code(0), wall, late: Duration::ZERO, usage, left: Vec::new() },
            reading: Reading::default(),
            refused: Vec::new(),
            seen,
            around: Some(around),
            clock: cpufreq.map(|hz| (hz, "cpufreq")),
            rss_known: true,
            sampled,
            others_sampled,
            samples: self.accesses.as_ref().and_then(Accesses::coverage),
            attached: self.processes().map(|process| process.pid).collect(),
            attached_ended: self
                .all
                .iter()
                .filter(|one| !one.is_there())
                .map(|one| one.process.pid)
                .collect(),
        }
    }

    /// The data since the last call: elapsed time, activity, observations of the threads, and the threads' clock.
    fn take(&mut self) -> (Duration, Usage, (Seen, Option<f64>)) {
        let now = Instant::now();
        let wall = now - std::mem::replace(&mut self.since, now);
        let involuntary = self.sampler.involuntary_switches();
        let seen = self.sampler.take();
        let usage = usage(&self.all, &self.named(), &seen.0, involuntary);
        for one in &mut self.all {
            (one.first, one.of_tree) = (one.last, None);
        }
        self.begin_trees();
        (wall, usage, seen)
    }

    fn named(&self) -> Vec<i32> {
        self.all.iter().map(|one| one.process.pid).collect()
    }

    /// From now on, the totals include descendants, unless there are many processes.
    fn begin_trees(&mut self) {
        let named = self.named();
        let few = named.len() <= MOST_WITH_CHILDREN;
        for one in self.all.iter_mut().filter(|one| one.there && one.of_tree.is_none()) {
            one.of_tree = few.then(|| tree_ticks(one.process.pid, &named));
        }
    }

    /// Samples the threads and accounting. Returns the time until the next sample.
    fn look(&mut self) -> Duration {
        let (all, sampler) = (&mut self.all, &mut self.sampler);
        sampler.look_with(|sampler| {
            for one in all.iter_mut().filter(|one| one.there) {
                match one.process.account() {
                    Some(last) => one.last = last,
                    None => {
                        one.there = false;
                        sampler.forget(one.process.pid);
                    }
                }
            }
        })
    }
}

/// Observes processes and everything that they start until all have ended, the time limit expires, or a stop is
/// requested, and returns their activity. With `samples`, their waits in user mode are also sampled.
pub fn watch(
    processes: &[Attached],
    samples: Option<Hierarchy>,
    limit: Option<Duration>,
    stop: &Stop,
) -> Run {
    let mut watching = Watching::new(processes.to_vec(), Effort::MEASURED);
    watching.accesses = samples.map(Accesses::of_a_while);
    watching.watch(limit, stop)
}

/// Ticks of a process and its descendants, including those that ended and were waited for, so that the end of a
/// descendant does not change the total. Processes in `named` count separately.
fn tree_ticks(pid: i32, named: &[i32]) -> (u64, u64) {
    let (mut todo, mut sum) = (vec![pid], (0, 0));
    let mut left = MOST_IN_TREE;
    while let Some(pid) = todo.pop().filter(|_| left > 0) {
        left -= 1;
        let Some(stat) = Stat::read(pid) else { continue };
        sum = add(sum, add(stat.ticks, stat.ended_ticks));
        let tids = thread::list_threads(pid).into_iter().take(MOST_IN_TREE);
        let children = tids.flat_map(|tid| thread::children(pid, tid));
        todo.extend(children.filter(|child| !named.contains(child)));
    }
    sum
}

fn add(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    (one.0.saturating_add(other.0), one.1.saturating_add(other.1))
}

fn less(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    (one.0.saturating_sub(other.0), one.1.saturating_sub(other.1))
}

/// CPU time of the processes: the exact total of their threads, divided into user and kernel mode by ticks.
fn usage(all: &[Watched], named: &[i32], seen: &Seen, involuntary: u64) -> Usage {
    let grown = |of: fn(&Account) -> u64| {
        all.iter().map(|one| of(&one.last).saturating_sub(of(&one.first))).sum::<u64>()
    };
    // The accounting covers the named processes and ended children; running children are included in the threads. The
    // larger of the two is used, because threads and children may have started and ended between two samples.
    let of_processes = all.iter().fold((0, 0), |sum, one| add(sum, one.ticks(named)));
    let of_threads = seen.threads.iter().fold((0, 0), |sum, thread| add(sum, thread.ticks));
    let sum = |ticks: (u64, u64)| ticks.0.saturating_add(ticks.1);
    let (user, system) = std::cmp::max_by_key(of_processes, of_threads, |ticks| sum(*ticks));
    let on_cpu = seen.threads.iter().map(|thread| thread.on_cpu_ns).sum::<u64>() as f64 / 1e9;
    let ticks = sum((user, system)) as f64;
    let in_kernel = if ticks > 0.0 { system as f64 / ticks } else { 0.0 };
    let cpu = on_cpu.max(ticks / USER_HZ);
    let switches: u64 = seen.threads.iter().map(|thread| thread.slices).sum();
    Usage {
        user: cpu * (1.0 - in_kernel),
        system: cpu * in_kernel,
        minor_faults: grown(|account| account.faults.0),
        major_faults: grown(|account| account.faults.1),
        voluntary_switches: switches.saturating_sub(involuntary),
        involuntary_switches: involuntary,
        read_bytes: 0,
        max_rss_bytes: all.iter().map(|one| one.last.rss).max().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_watched_for_a_time_and_goes_on() {
        let mut child = Command::new("sleep").arg("20").spawn().unwrap();
        let pid = child.id() as i32;
        // The program is still loading when `spawn` returns. It has blocked once it is asleep and uses no more CPU time.
        let file = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap();
        let mut before = String::new();
        while file("schedstat") != before || !file("stat").contains(") S ") {
            before = file("schedstat");
            std::thread::sleep(Duration::from_millis(200));
        }
        let process = Attached::find(pid).unwrap();
        let run = watch(&[process], None, Some(Duration::from_millis(300)), &Stop::new());
        assert!(run.ended.wall >= Duration::from_millis(300) && run.ended.wall < Duration::from_secs(15));
        assert!(run.seen.looks.all > 0 && run.seen.looks.idle == run.seen.looks.all, "{:?}", run.seen);
        assert_eq!(child.try_wait().unwrap(), None, "it was ended");
        assert!(run.attached_ended.is_empty());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(Attached::find(pid), Err(AttachError::Ended(pid)));
    }

    #[test]
    fn the_end_of_all_ends_the_watch_and_another_of_the_number_is_none_of_them() {
        let mut child = Command::new("sleep").arg("0.2").spawn().unwrap();
        let process = Attached::find(child.id() as i32).unwrap();
        let waiter = std::thread::spawn(move || child.wait());
        let run = watch(&[process], None, None, &Stop::new());
        waiter.join().unwrap().unwrap();
        assert!(run.ended.wall < Duration::from_secs(15));
        assert_eq!(run.attached_ended, run.attached);
        // The process with this PID started at a different time.
        let own = std::process::id() as i32;
        let other = Attached { started: 1, ..Attached::find(own).unwrap() };
        let run = watch(&[other], None, None, &Stop::new());
        assert_eq!((run.seen.looks.all, run.ended.usage.user), (0, 0.0));
    }

    #[test]
    fn somebody_who_asks_ends_the_watch() {
        let stop = Stop::new();
        stop.ask(libc::SIGINT);
        let own = Attached::find(std::process::id() as i32).unwrap();
        assert!(watch(&[own], None, None, &stop).ended.wall < Duration::from_secs(10));
    }
}
