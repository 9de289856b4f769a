//! Samples the threads of processes periodically. A sample is cheap, and the caller limits the share of one CPU's time
//! used for sampling.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use super::calls::{Machine, Waiting};
use super::seen::{Seen, Sleeper};
use super::spells;
use super::thread::{self, Had, Thread};
use super::turns::{Key, Turns};
use super::waiting;
use os::child;

/// Commands that end before this time are not sampled, because start-up dominates their duration.
pub const FIRST: Duration = Duration::from_millis(20);
/// Maximum time between two samples, regardless of their cost.
const MOST_BETWEEN: Duration = Duration::from_secs(5);
/// Maximum number of threads saved separately; the time of further threads is included in the command's sums.
const MOST_KEPT: usize = 20_000;

/// Maximum number of ready threads whose system call is read per sample.
const MOST_READY_ASKED: usize = 4;

/// Time after which all threads of new processes are sampled once: by then, every running thread has used CPU time.
const UNKNOWN: Duration = Duration::from_millis(400);

/// The limits of sampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The time until the next sample, as a multiple of a sample's CPU time. This limits the share of time used for sampling.
    cost: u32,
    /// Minimum time between two samples.
    between: Duration,
    /// Maximum number of threads per sample. If there are more threads, each sample covers those that ran recently and a few of the others.
    threads: usize,
    /// Maximum number of waiting threads whose wait reason is determined per sample.
    waiting: usize,
    /// Whether to read migrations and each thread's earlier involuntary switches, which requires reading two more files per thread.
    moves: bool,
    /// Whether to also sample descendants, and to determine the wait reason of every waiting thread rather than only of
    /// threads that were observed running.
    whole: bool,
}

impl Effort {
    /// For a measured command: at most 1 % of one CPU.
    pub const MEASURED: Self = Self {
        cost: 100,
        between: Duration::from_millis(50),
        threads: 4096,
        waiting: 64,
        moves: true,
        whole: true,
    };
    /// For long observation of processes in production.
    pub const BESIDE: Self = Self {
        cost: 400,
        between: Duration::from_millis(100),
        threads: 256,
        waiting: 24,
        moves: false,
        whole: true,
    };
    /// For the processes that are currently the busiest on a machine.
    pub const BUSIEST: Self = Self { threads: 64, whole: false, ..Self::BESIDE };
}

/// Samples processes and their descendants.
#[derive(Debug)]
pub struct Sampler {
    effort: Effort,
    pids: Vec<i32>,
    /// Our command, whose orphaned descendants become our children.
    child: Option<i32>,
    first: bool,
    /// The time by which all threads will have been sampled once, if there are many of them. Until then, it is unknown
    /// which threads run.
    all_at: Option<Instant>,
    threads: HashMap<Key, Thread>,
    turns: Turns,
    /// Number of samples in which a thread that had just run was in a system call that syncs data.
    syncs: u64,
    /// The time at which results were last taken.
    taken: Instant,
    seen: Seen,
    clocks: Vec<f64>,
    /// Whether the kernel reports current clocks.
    has_clocks: bool,
}

/// The results of one sample.
#[derive(Default)]
struct Look {
    active: u64,
    /// Number of ready threads whose system call was read.
    asked: usize,
    sleepers: Vec<Sleeper>,
    /// The thread with the most CPU time since the previous sample, ns, and its CPU.
    busiest: Option<(u64, u32)>,
}

impl Sampler {
    fn new(effort: Effort, pids: &[i32]) -> Self {
        Self {
            effort,
            pids: pids.to_vec(),
            child: None,
            first: false,
            all_at: None,
            threads: HashMap::new(),
            turns: Turns::default(),
            syncs: 0,
            taken: Instant::now(),
            seen: Seen::default(),
            clocks: Vec::new(),
            has_clocks: true,
        }
    }

    /// Prepares sampling of the command with this PID, which has not started its program yet. `prepared` is the usage of its process so
    /// far.
    pub(crate) fn of_child(pid: i32, prepared: Had) -> Self {
        let threads = HashMap::from([((pid, pid), Thread::since(pid, pid, prepared))]);
        Self { child: Some(pid), threads, first: true, ..Self::new(Effort::MEASURED, &[pid]) }
    }

    /// Creates a sampler that observes these running processes from now on.
    pub fn of_processes(pids: &[i32], effort: Effort) -> Self {
        let mut sampler = Self::new(effort, &[]);
        pids.iter().for_each(|pid| sampler.add(*pid));
        sampler
    }

    /// Also samples this running process from now on.
    pub fn add(&mut self, pid: i32) {
        if self.pids.contains(&pid) {
            return;
        }
        self.pids.push(pid);
        let whole = self.effort.whole;
        let mut pids = vec![pid];
        while let Some(pid) = pids.pop() {
            for tid in thread::list_threads(pid) {
                if self.threads.len() >= MOST_KEPT {
                    return;
                }
                if self.threads.contains_key(&(pid, tid)) {
                    continue;
                }
                let mut thread = Thread::new(pid, tid);
                if thread.refresh(self.effort.moves) {
                    thread.involuntary = self.effort.moves.then(|| thread::involuntary_switches(pid, tid));
                    if whole {
                        thread.children = thread::children(pid, tid);
                        pids.extend(&thread.children);
                    }
                    thread.restart();
                    self.threads.insert((pid, tid), thread);
                }
            }
        }
        self.turns.begin_anew();
        self.all_at = Some(Instant::now() + UNKNOWN);
    }

    /// Samples only these processes from now on.
    pub fn look_at_only(&mut self, pids: &[i32]) {
        self.pids.retain(|pid| pids.contains(pid));
        pids.iter().for_each(|pid| self.add(*pid));
        self.turns.begin_anew();
    }

    /// Stops sampling a process; earlier results are preserved.
    pub fn forget(&mut self, pid: i32) {
        self.pids.retain(|other| *other != pid);
    }

    /// Takes a sample and returns the time until the next one.
    pub fn tick(&mut self) -> Duration {
        if std::mem::take(&mut self.first) { FIRST } else { self.look_with(|_| {}) }
    }

    /// Takes a sample, calls `and`, and returns the time until the next sample, which depends on the cost of both.
    pub(crate) fn look_with(&mut self, and: impl FnOnce(&mut Self)) -> Duration {
        // The cost is measured in CPU time: if other tasks use the CPU, a sample takes longer but does not cost more.
        let cpu = || os::thread_cpu_ns().map(|ns| Duration::from_nanos(ns as u64));
        let (from, cpu_from) = (Instant::now(), cpu());
        self.sample();
        and(self);
        let cost = cpu().zip(cpu_from).map(|(now, from)| now.saturating_sub(from));
        let Effort { cost: share, between, .. } = self.effort;
        (cost.unwrap_or_else(|| from.elapsed()) * share).clamp(between, MOST_BETWEEN)
    }

    /// Must be called when the command has ended but has not been reaped yet: the values of its first thread are then
    /// final.
    pub(crate) fn exited(&mut self, pid: i32) {
        self.look_at(pid, pid);
    }

    /// The observed threads.
    pub(crate) fn tids(&self) -> impl Iterator<Item = i32> + '_ {
        self.threads.keys().map(|(_, tid)| *tid)
    }

    /// Involuntary switches since the last call, summed over the threads that ran since the last [`Self::take`] and still exist.
    pub(crate) fn involuntary_switches(&mut self) -> u64 {
        let looked = self.threads.values_mut().filter(|thread| thread.looks > 0);
        looked.map(Thread::take_involuntary_switches).sum()
    }

    /// Returns all results since the start or the last call, and the median of the observed clocks, Hz. If threads are
    /// sampled alternately, a thread's results are those of its last turn.
    pub fn take(&mut self) -> (Seen, Option<f64>) {
        let mut seen = std::mem::take(&mut self.seen);
        let since_taken = self.taken.elapsed().as_nanos() as u64;
        self.taken = Instant::now();
        let looked = || self.threads.values().filter(|thread| thread.looks > 0);
        seen.name_uninterruptible(std::mem::take(&mut self.syncs));
        seen.locks = spells::longest(looked().map(|thread| (thread.pid, &thread.spells)));
        for thread in self.threads.values_mut().filter(|thread| thread.looks > 0) {
            let mut since = thread.clone();
            since.leave_out_before();
            // For a thread that has waited since its last turn, this time may include waiting before the last call.
            since.blocked_ns = since.blocked_ns.min(since_taken);
            seen.threads.push(since);
            thread.restart();
        }
        seen.threads.sort_by_key(|thread| (std::cmp::Reverse(thread.on_cpu_ns), thread.tid));
        if self.turns.are_many() {
            seen.resting = self.turns.listed().len().saturating_sub(seen.threads.len());
        }
        if self.threads.len() > self.turns.listed().len() {
            let there: HashSet<Key> = self.turns.listed().iter().copied().collect();
            self.threads.retain(|key, _| there.contains(key));
        }
        let clocks = std::mem::take(&mut self.clocks);
        (seen, (!clocks.is_empty()).then(|| record::Summary::from_samples(&clocks).median))
    }

    /// Samples a thread and returns it with its CPU time since the previous sample, ns, and whether it was scheduled
    /// onto a CPU.
    fn look_at(&mut self, pid: i32, tid: i32) -> Option<(&mut Thread, u64, bool)> {
        let key = (pid, tid);
        if self.threads.len() >= MOST_KEPT && !self.threads.contains_key(&key) {
            self.seen.too_many = true;
            return None;
        }
        let thread = self.threads.entry(key).or_insert_with(|| Thread::new(pid, tid));
        let (on_cpu, slices, known) = (thread.on_cpu_ns, thread.slices, thread.cpu.is_some());
        if thread.refresh(self.effort.moves) {
            // The difference is zero for a thread whose TID was reused.
            let grown = thread.on_cpu_ns.saturating_sub(on_cpu);
            let again = known && thread.slices > slices;
            // A thread that has not run has not started any process.
            if self.effort.whole && (again || !known || !thread.children.is_empty()) {
                thread.children = thread::children(pid, tid);
            }
            return self.threads.get_mut(&key).map(|thread| (thread, grown, again));
        }
        if thread.looks == 0 {
            self.threads.remove(&key);
        }
        None
    }

    /// Samples one thread as part of a sample of all threads.
    fn visit(&mut self, (pid, tid): Key, look: &mut Look) {
        let Some((thread, grown, again)) = self.look_at(pid, tid) else { return };
        let (state, cpu) = (thread.state, thread.cpu);
        match state {
            'R' => {
                look.active += 1;
                // A ready thread may be in a call that syncs data. If other tasks use the CPUs, hardly any sample observes the waits in
                // such a call, so the call is read here.
                if again && look.asked < MOST_READY_ASKED {
                    look.asked += 1;
                    self.syncs += u64::from(waiting::is_in_sync(pid, tid, Machine::of_process(pid)));
                }
            }
            'Z' | 'X' => {}
            _ => look.sleepers.push(Sleeper { pid, tid, state, again }),
        }
        let (most, _) = look.busiest.unwrap_or_default();
        if let Some(cpu) = cpu
            && (grown > most || look.busiest.is_none())
        {
            look.busiest = Some((grown, cpu));
        }
        self.turns.note((pid, tid), grown > 0 || again || matches!(state, 'R' | 'D'));
    }

    /// Lists all threads. If there are few, each thread and its child processes are also sampled.
    fn list(&mut self, look: &mut Look) {
        let mut processes = self.pids.clone();
        processes.extend(self.child.map(child::adopted_beside).unwrap_or_default());
        let (mut listed, mut at) = (Vec::new(), 0);
        while at < processes.len() {
            let pid = processes[at];
            at += 1;
            for tid in thread::list_threads(pid) {
                if listed.len() == MOST_KEPT {
                    self.seen.too_many = true;
                    break;
                }
                let key = (pid, tid);
                listed.push(key);
                if !self.turns.are_many() && listed.len() <= self.effort.threads {
                    self.visit(key, look);
                }
                let children = self.threads.get(&key).map(|thread| thread.children.as_slice());
                processes.extend(children.unwrap_or_default().iter().filter(|pid| !self.pids.contains(pid)));
            }
        }
        self.turns.begin(listed, self.effort.threads);
    }

    fn sample(&mut self) {
        let mut look = Look::default();
        if self.turns.are_over() {
            self.list(&mut look);
        }
        if self.turns.are_many() {
            let all = self.all_at.take_if(|at| *at <= Instant::now()).is_some();
            let (ran_lately, others) = self.turns.next(self.effort.threads, all);
            ran_lately.into_iter().for_each(|key| self.visit(key, &mut look));
            for key in others {
                // For most threads, reading a single file is enough to show that they have not run.
                if let Some(thread) = self.threads.get_mut(&key)
                    && thread.is_as_it_was()
                {
                    let Thread { pid, tid, state, .. } = *thread;
                    look.sleepers.push(Sleeper { pid, tid, state, again: false });
                } else {
                    self.visit(key, &mut look);
                }
            }
        }
        let Look { active, sleepers, busiest, .. } = look;
        // Between the end of the command and its notification, there is nothing to observe.
        if active == 0 && sleepers.is_empty() {
            return;
        }
        self.seen.add_look(active);
        self.seen.most_threads = self.seen.most_threads.max(self.turns.listed().len());
        let held = self.ask_sleepers(sleepers);
        if active == 0 {
            *self.seen.waiting.entry(held.unwrap_or(Waiting::Unknown)).or_default() += 1;
        } else if let Some((_, cpu)) = busiest
            && self.has_clocks
        {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
            let khz = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<f64>().ok());
            self.has_clocks = khz.is_some();
            self.clocks.extend(khz.map(|khz| khz * 1e3));
        }
    }

    /// Determines the threads' wait reasons and returns the first in order of precedence. Threads that wait repeatedly
    /// are examined first.
    fn ask_sleepers(&mut self, mut sleepers: Vec<Sleeper>) -> Option<Waiting> {
        let threads = &mut self.threads;
        let ran = |one: &Sleeper| threads.get(&(one.pid, one.tid)).is_some_and(|thread| thread.spells.ran());
        if !self.effort.whole {
            // Threads that sleep for long, like most threads of a server, do not block progress.
            sleepers.retain(|one| one.state == 'D' || one.state == 'S' && ran(one));
        }
        sleepers.sort_by_key(|one| (!one.again, !ran(one)));
        let had: Vec<u64> = sleepers
            .iter()
            .map(|one| threads.get(&(one.pid, one.tid)).map_or(0, |thread| thread.spells.had()))
            .collect();
        let asked = sleepers.into_iter().zip(had).take(self.effort.waiting);
        self.seen.ask(asked, &mut HashMap::new(), |key, waiting| {
            if let Some(thread) = threads.get_mut(&key) {
                thread.spells.waits(waiting);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    /// A Python program with this many waiting threads, the first of which repeatedly runs for a short time.
    fn program(threads: usize) -> Child {
        let script = format!(
            "import threading, time\n\
             for _ in range({threads}): threading.Thread(target=threading.Event().wait, daemon=True).start()\n\
             while True:\n sum(range(20000))\n time.sleep(0.01)\n"
        );
        let mut python = Command::new("python3");
        python.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn of_many_threads_the_one_that_runs_is_looked_at_and_no_time_counts_twice() {
        let mut child = program(80);
        let pid = child.id() as i32;
        let until = Instant::now() + Duration::from_secs(60);
        while thread::list_threads(pid).len() < 81 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        let before = Had::read(pid, pid);
        let mut sampler = Sampler::of_processes(&[pid], Effort { threads: 16, ..Effort::BESIDE });
        let (mut on_cpu, mut others) = (0, HashSet::new());
        // The first samples determine which of the threads run.
        for time in 0..8 {
            for _ in 0..3 {
                sampler.tick();
                std::thread::sleep(Duration::from_millis(60));
            }
            let (seen, _) = sampler.take();
            assert_eq!((seen.most_threads, seen.too_many), (81, false));
            assert!(
                seen.threads.len() <= 81 && (time < 4 || seen.threads[0].tid == pid),
                "{:?}",
                seen.threads
            );
            on_cpu += seen
                .threads
                .iter()
                .filter(|thread| thread.tid == pid)
                .map(|thread| thread.on_cpu_ns)
                .sum::<u64>();
            others.extend(seen.threads.iter().map(|thread| thread.tid));
        }
        let after = Had::read(pid, pid);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(on_cpu > 0 && on_cpu <= after.on_cpu_ns - before.on_cpu_ns, "{on_cpu} {before:?} {after:?}");
        assert_eq!(others.len(), 81);
        sampler.tick();
        sampler.take();
        sampler.forget(pid);
        sampler.turns.begin_anew();
        sampler.tick();
        sampler.take();
        assert!(sampler.threads.is_empty(), "ended processes are still listed");
    }

    #[test]
    fn of_the_busiest_processes_those_that_sleep_again_and_again_are_seen_to_sleep() {
        let mut child = program(3);
        let pid = child.id() as i32;
        let mut sampler = Sampler::of_processes(&[], Effort::BUSIEST);
        sampler.look_at_only(&[pid]);
        let until = Instant::now() + Duration::from_secs(60);
        let again = |seen: &Seen| seen.waits.values().map(|waits| waits.again).sum::<u64>();
        while again(&sampler.seen) < 5 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
            sampler.tick();
        }
        sampler.look_at_only(&[]);
        child.kill().unwrap();
        child.wait().unwrap();
        let (seen, _) = sampler.take();
        assert!(again(&seen) >= 5 && seen.looks.all > 0, "{seen:?}");
        assert!(
            seen.waits.values().all(|waits| waits.threads <= seen.looks.all),
            "wait reasons of threads that never ran were determined: {seen:?}"
        );
        sampler.tick();
        assert!(sampler.take().0.threads.is_empty());
    }
}
