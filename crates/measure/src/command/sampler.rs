//! Looks at a command's threads now and then. A look is cheap and there are few: at most a hundredth of one CPU's time goes
//! into looking.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use super::around::Look;
use super::threads::{self, Had, Thread};
use super::waiting::{self, Waiting};
use os::child;
use record::command_run::Around;

/// Commands that end before this are not looked at: what they are bound by is their start.
pub(crate) const FIRST: Duration = Duration::from_millis(20);
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

/// What was seen of a command's threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Looks.
    pub samples: u64,
    /// Looks at which no thread ran or was ready to run.
    pub idle: u64,
    /// Threads that ran or were ready to run, summed over looks.
    pub active: u64,
    /// At idle looks: what held the command.
    pub waiting: BTreeMap<Waiting, u64>,
    /// Threads that were seen, those with the most time on a CPU first.
    pub threads: Vec<Thread>,
    /// Most threads at one look.
    pub most_threads: usize,
    /// Whether there were more threads than are looked at.
    pub too_many: bool,
}

/// Looks at a command and what it started.
#[derive(Default)]
pub(crate) struct Sampler {
    pid: i32,
    /// What the command's first thread had had before its program began.
    prepared: Had,
    first: bool,
    before: Option<Look>,
    threads: HashMap<(i32, i32), Thread>,
    seen: Seen,
    clocks: Vec<f64>,
    /// Whether the kernel tells current clocks.
    has_clocks: bool,
}

impl Sampler {
    /// For the command with this process number, which stands before its beginning and has had that.
    pub(crate) fn new(pid: i32, prepared: Had) -> Self {
        Self { pid, prepared, first: true, has_clocks: true, ..Self::default() }
    }

    /// Looks, and says when to look again.
    pub(crate) fn tick(&mut self) -> Duration {
        if std::mem::take(&mut self.first) {
            return FIRST;
        }
        let from = Instant::now();
        if self.before.is_none() {
            self.before = Some(Look::now());
        }
        self.sample();
        (from.elapsed() * COST).clamp(BETWEEN, MOST_BETWEEN)
    }

    /// The command itself has ended and was not waited for yet: its first thread's figures are final.
    pub(crate) fn exited(&mut self, pid: i32) {
        self.look_at(pid, pid);
    }

    /// All that was seen; the median of the clocks that were seen, Hz.
    pub(crate) fn finish(mut self) -> (Seen, Option<Around>, Option<f64>) {
        let around = self.before.as_ref().map(Look::until_now);
        if let Some(first) = self.threads.get_mut(&(self.pid, self.pid)) {
            first.on_cpu_ns = first.on_cpu_ns.saturating_sub(self.prepared.on_cpu_ns);
            first.runnable_ns = first.runnable_ns.saturating_sub(self.prepared.runnable_ns);
            first.migrations = first.migrations.map(|all| all.saturating_sub(self.prepared.migrations));
        }
        self.seen.threads = self.threads.into_values().collect();
        self.seen.threads.sort_by_key(|thread| (std::cmp::Reverse(thread.on_cpu_ns), thread.tid));
        let clock = (!self.clocks.is_empty()).then(|| record::Summary::from_samples(&self.clocks).median);
        (self.seen, around, clock)
    }

    fn look_at(&mut self, pid: i32, tid: i32) -> Option<(char, Option<u32>, u64)> {
        if self.threads.len() >= MOST_KEPT && !self.threads.contains_key(&(pid, tid)) {
            self.seen.too_many = true;
            return None;
        }
        let thread = self.threads.entry((pid, tid)).or_insert_with(|| Thread::new(pid, tid));
        let before = thread.on_cpu_ns;
        let there = thread.refresh();
        let grown = thread.on_cpu_ns - before;
        let result = there.then_some((thread.state, thread.cpu, grown));
        if thread.looks == 0 {
            self.threads.remove(&(pid, tid));
        }
        result
    }

    fn sample(&mut self) {
        let mut processes = vec![self.pid];
        processes.extend(child::adopted_beside(self.pid));
        let mut waiting: Vec<(i32, i32, char)> = Vec::new();
        let (mut active, mut count, mut at) = (0u64, 0usize, 0usize);
        let mut busiest: Option<(u64, u32)> = None;
        while at < processes.len() {
            let pid = processes[at];
            at += 1;
            for tid in threads::list_threads(pid) {
                if count == MOST_THREADS {
                    self.seen.too_many = true;
                    break;
                }
                count += 1;
                processes.extend(threads::children(pid, tid));
                let Some((state, cpu, grown)) = self.look_at(pid, tid) else { continue };
                match state {
                    'R' => active += 1,
                    'Z' | 'X' => {}
                    _ if waiting.len() < MOST_WAITING => waiting.push((pid, tid, state)),
                    _ => {}
                }
                if let Some(cpu) = cpu
                    && busiest.is_none_or(|(most, _)| grown > most)
                {
                    busiest = Some((grown, cpu));
                }
            }
        }
        // Between its end and our notice there is nothing to see.
        if active == 0 && waiting.is_empty() {
            return;
        }
        self.seen.samples += 1;
        self.seen.active += active;
        self.seen.most_threads = self.seen.most_threads.max(count);
        if active == 0 {
            self.seen.idle += 1;
            let what = waiting.iter().map(|(pid, tid, state)| waiting::find_reason(*pid, *tid, *state)).min();
            *self.seen.waiting.entry(what.unwrap_or(Waiting::Unknown)).or_default() += 1;
        } else if let Some((_, cpu)) = busiest
            && self.has_clocks
        {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
            let khz = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<f64>().ok());
            self.has_clocks = khz.is_some();
            self.clocks.extend(khz.map(|khz| khz * 1e3));
        }
    }
}
