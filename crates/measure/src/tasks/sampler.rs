//! Looks at the threads of processes now and then. A look is cheap and there are few: at most a hundredth of one CPU's time goes
//! into looking.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use record::command_run::LockWaits;

use super::calls::{Machine, Waiting};
use super::spells;
use super::thread::{self, Had, Thread};
use super::waiting;
use os::child;

/// Commands that end before this are not looked at: what they are bound by is their start.
pub const FIRST: Duration = Duration::from_millis(20);
/// Between two looks, at least.
const BETWEEN: Duration = Duration::from_millis(50);
/// Between two looks, at most, however long they take.
const MOST_BETWEEN: Duration = Duration::from_secs(5);
/// One look may take this share of the time until the next.
const COST: u32 = 100;
/// Threads looked at in one look. What a command of more threads does is told from these.
const MOST_THREADS: usize = 4096;
/// Threads of which all is kept; the time of those beyond is in the command's sums.
const MOST_KEPT: usize = 20_000;
/// Waiting threads of which it is found out what they wait for, in one look.
const MOST_WAITING: usize = 64;

/// Threads that waited for one thing, summed over looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// All of them.
    pub threads: u64,
    /// Those that had been on a CPU since the look before: they wait again and again, and not once for long.
    pub again: u64,
}

/// What was seen of the threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Looks.
    pub samples: u64,
    /// Looks at which no thread ran or was ready to run.
    pub idle: u64,
    /// Threads that ran or were ready to run, summed over looks.
    pub active: u64,
    /// At idle looks: what held them all.
    pub waiting: BTreeMap<Waiting, u64>,
    /// At all looks: what threads waited for.
    pub waits: BTreeMap<Waiting, Waits>,
    /// Of the process whose threads waited longest for locks.
    pub locks: Option<LockWaits>,
    /// Waiting threads of which that may not be read, summed over looks.
    pub unread: u64,
    /// Threads that were seen, those with the most time on a CPU first.
    pub threads: Vec<Thread>,
    /// Most threads at one look.
    pub most_threads: usize,
    /// Most threads that ran or were ready to run, at one look.
    pub most_active: u64,
    /// Whether there were more threads than are looked at.
    pub too_many: bool,
}

/// Looks at processes and what they start.
#[derive(Default)]
pub struct Sampler {
    pids: Vec<i32>,
    /// The command of ours whose children become ours when it leaves them behind.
    child: Option<i32>,
    /// What threads had had before they were watched.
    before: HashMap<(i32, i32), Had>,
    first: bool,
    threads: HashMap<(i32, i32), Thread>,
    seen: Seen,
    clocks: Vec<f64>,
    /// Whether the kernel tells current clocks.
    has_clocks: bool,
}

/// A thread that waits, at one look.
struct Sleeper {
    pid: i32,
    tid: i32,
    state: char,
    again: bool,
}

impl Sampler {
    /// For the command with this process number, which stands before its beginning and has had that.
    pub(crate) fn of_child(pid: i32, prepared: Had) -> Self {
        let before = HashMap::from([((pid, pid), prepared)]);
        Self { pids: vec![pid], child: Some(pid), before, first: true, has_clocks: true, ..Self::default() }
    }

    /// For processes that run already, from now on.
    pub fn of_processes(pids: &[i32]) -> Self {
        let mut sampler = Self { pids: pids.to_vec(), has_clocks: true, ..Self::default() };
        let mut pids = pids.to_vec();
        let mut at = 0;
        while at < pids.len() && sampler.before.len() < MOST_KEPT {
            let pid = pids[at];
            at += 1;
            for tid in thread::list_threads(pid) {
                sampler.before.insert((pid, tid), Had::read(pid, tid));
                let started = thread::children(pid, tid);
                let new: Vec<i32> = started.into_iter().filter(|child| !pids.contains(child)).collect();
                pids.extend(new);
            }
        }
        sampler
    }

    /// What threads had had before they were watched.
    pub(crate) fn before(&self) -> &HashMap<(i32, i32), Had> {
        &self.before
    }

    /// No longer looks at a process; what was seen of it stays.
    pub fn forget(&mut self, pid: i32) {
        self.pids.retain(|other| *other != pid);
    }

    /// Looks, and says when to look again.
    pub fn tick(&mut self) -> Duration {
        if std::mem::take(&mut self.first) {
            return FIRST;
        }
        // Of its CPU time: where others have the CPU, a look takes long and costs no more.
        let cpu = || os::thread_cpu_ns().map(|ns| Duration::from_nanos(ns as u64));
        let (from, cpu_from) = (Instant::now(), cpu());
        self.sample();
        let cost = cpu().zip(cpu_from).map(|(now, from)| now.saturating_sub(from));
        (cost.unwrap_or_else(|| from.elapsed()) * COST).clamp(BETWEEN, MOST_BETWEEN)
    }

    /// The command itself has ended and was not waited for yet: its first thread's figures are final.
    pub(crate) fn exited(&mut self, pid: i32) {
        self.look_at(pid, pid);
    }

    /// All that was seen; the median of the clocks that were seen, Hz.
    pub fn finish(mut self) -> (Seen, Option<f64>) {
        for (key, thread) in &mut self.threads {
            if let Some(had) = self.before.get(key) {
                thread.leave_out(had);
            }
        }
        self.seen.locks = spells::longest(self.threads.values().map(|thread| (thread.pid, &thread.spells)));
        self.seen.threads = self.threads.into_values().collect();
        self.seen.threads.sort_by_key(|thread| (std::cmp::Reverse(thread.on_cpu_ns), thread.tid));
        let clock = (!self.clocks.is_empty()).then(|| record::Summary::from_samples(&self.clocks).median);
        (self.seen, clock)
    }

    /// Its state, the CPU it was on last, what it had on a CPU since the look before, ns, and whether it was put on one.
    fn look_at(&mut self, pid: i32, tid: i32) -> Option<(char, Option<u32>, u64, bool)> {
        if self.threads.len() >= MOST_KEPT && !self.threads.contains_key(&(pid, tid)) {
            self.seen.too_many = true;
            return None;
        }
        let new = || match self.before.get(&(pid, tid)) {
            Some(had) => Thread::since(pid, tid, had),
            None => Thread::new(pid, tid),
        };
        let thread = self.threads.entry((pid, tid)).or_insert_with(new);
        let (on_cpu, slices, looks) = (thread.on_cpu_ns, thread.slices, thread.looks);
        let there = thread.refresh();
        let again = looks > 0 && thread.slices > slices;
        let result = there.then_some((thread.state, thread.cpu, thread.on_cpu_ns - on_cpu, again));
        if thread.looks == 0 {
            self.threads.remove(&(pid, tid));
        }
        result
    }

    fn sample(&mut self) {
        let mut processes = self.pids.clone();
        processes.extend(self.child.map(child::adopted_beside).unwrap_or_default());
        let mut sleepers: Vec<Sleeper> = Vec::new();
        let (mut active, mut count, mut at) = (0u64, 0usize, 0usize);
        let mut busiest: Option<(u64, u32)> = None;
        while at < processes.len() {
            let pid = processes[at];
            at += 1;
            for tid in thread::list_threads(pid) {
                if count == MOST_THREADS {
                    self.seen.too_many = true;
                    break;
                }
                count += 1;
                processes
                    .extend(thread::children(pid, tid).into_iter().filter(|pid| !self.pids.contains(pid)));
                let Some((state, cpu, grown, again)) = self.look_at(pid, tid) else { continue };
                match state {
                    'R' => active += 1,
                    'Z' | 'X' => {}
                    _ => sleepers.push(Sleeper { pid, tid, state, again }),
                }
                if let Some(cpu) = cpu
                    && busiest.is_none_or(|(most, _)| grown > most)
                {
                    busiest = Some((grown, cpu));
                }
            }
        }
        // Between its end and our notice there is nothing to see.
        if active == 0 && sleepers.is_empty() {
            return;
        }
        self.seen.samples += 1;
        self.seen.active += active;
        self.seen.most_threads = self.seen.most_threads.max(count);
        self.seen.most_active = self.seen.most_active.max(active);
        let held = self.ask_sleepers(sleepers);
        if active == 0 {
            self.seen.idle += 1;
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

    /// What the threads wait for; the first of it. Those that wait again and again are asked first.
    fn ask_sleepers(&mut self, mut sleepers: Vec<Sleeper>) -> Option<Waiting> {
        let threads = &self.threads;
        let ran = |one: &Sleeper| threads.get(&(one.pid, one.tid)).is_some_and(|thread| thread.spells.ran());
        sleepers.sort_by_key(|one| (!one.again, !ran(one)));
        let mut machines: HashMap<i32, Option<Machine>> = HashMap::new();
        let mut first: Option<Waiting> = None;
        for Sleeper { pid, tid, state, again } in sleepers.into_iter().take(MOST_WAITING) {
            let machine = *machines.entry(pid).or_insert_with(|| Machine::of_process(pid));
            match waiting::find_reason(pid, tid, state, machine) {
                Some(waiting) => {
                    let waits = self.seen.waits.entry(waiting).or_default();
                    waits.threads += 1;
                    waits.again += u64::from(again);
                    if let Some(thread) = self.threads.get_mut(&(pid, tid)) {
                        thread.spells.waits(waiting);
                    }
                    first = Some(first.map_or(waiting, |first| first.min(waiting)));
                }
                None => self.seen.unread += 1,
            }
        }
        first
    }
}
