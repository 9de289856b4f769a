//! Runs a workload on groups of CPUs, with one worker per CPU, created once. In a visit, one group works for several
//! slices, and the clock and the events of each slice are recorded.
//!
//! A slice ends for all threads when the last one has worked for its full time. Threads that finish earlier continue,
//! so that none is measured while others are idle. Only the work done while all threads were active counts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use record::{Machine, Mark, Unavailable, text};

use super::array_pool::{ArrayPool, Group};
use super::incidents::Incidents;
use super::workload::{Site, Worker, Workload, WrongResult};
use crate::common_interval::{self, WorkLog};
use crate::counters::{Counters, Reading, Set, Target};
use crate::thread_group::{self, Member};
use crate::watch::{involuntary_switches, look_at_clock};
use os::Stop;

/// The length of a thread's share of a slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SliceLength {
    /// The share ends after this many seconds.
    Seconds(f64),
    /// The share ends after this much work.
    Work(f64),
}

/// The limits of a group's visit, and the events to count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeBudget {
    /// A thread's share of a slice.
    pub length: SliceLength,
    /// Minimum number of slices, regardless of their duration, unless a stop is requested.
    pub least: usize,
    /// Maximum number of slices.
    pub most: usize,
    /// After the first `least` slices, no slice starts after this time.
    pub deadline: Instant,
    /// Events to count during the work, if the CPU has counters. They are counted only in user mode, in which the work
    /// runs.
    pub counted: Option<Set>,
}

impl TimeBudget {
    /// One slice of this many seconds.
    pub(crate) fn of_one(seconds: f64) -> Self {
        let length = SliceLength::Seconds(seconds);
        Self { length, least: 1, most: 1, deadline: Instant::now(), counted: None }
    }
}

/// Log points per slice: enough to interpolate the work at both ends of the time in which all threads were active.
const POINTS: f64 = 200.0;

/// Maximum change at which a clock counts as unchanged: for the median thread, and for any single thread.
const CLOCK_MOVED: (f64, f64) = (0.01, 0.05);

/// A thread that has completed its share continues for up to three times as long, plus this time, before it stops
/// waiting for the others. On a machine with twenty threads per CPU, a thread may have to wait for half a second.
const PATIENCE: Duration = Duration::from_secs(1);

/// Minimum share of a slice for which a thread must be on the CPU. If the share is lower, the thread shared its CPU, or the
/// CPU was idle.
const ON_CPU: f64 = 0.98;

/// The combined results of all threads for one slice of a visit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slice {
    /// Work per second.
    pub rate: f64,
    /// The median thread's core clock, Hz.
    pub clock_hz: f64,
    /// Declared instructions divided by cycles (on-CPU time × clock).
    pub ipc: Option<f64>,
    /// Work of all threads from their first to their last round in the slice.
    pub done: f64,
    /// The counter values for that work, summed over all threads.
    pub counted: Option<Reading>,
    /// Events during the slice.
    pub marks: BTreeSet<Mark>,
}

/// The results of a visit.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupRun {
    /// The slices; incomplete slices are omitted.
    pub slices: Vec<Slice>,
    /// CPUs whose results were wrong, with the error.
    pub wrong: Vec<(u32, WrongResult)>,
    /// CPUs to which a thread could not be pinned.
    pub unpinned: Vec<u32>,
    /// Number of threads that could not be started or that panicked.
    pub lost: usize,
}

/// The workers that run a workload, one per CPU.
pub(crate) struct WorkerPool<'a> {
    /// The workload that the workers run.
    pub workload: &'a dyn Workload,
    workers: BTreeMap<u32, Mutex<Box<dyn Worker>>>,
    /// The core of each CPU.
    cores: BTreeMap<u32, u32>,
}

/// One thread's part of a slice.
struct Part {
    log: WorkLog,
    clock: (f64, f64),
    /// Seconds for which the thread was on a CPU.
    on_cpu: f64,
    done: f64,
    counted: Option<Reading>,
    marks: BTreeSet<Mark>,
}

/// State shared by the threads of a visit.
struct Shared {
    /// Number of working threads.
    alive: AtomicUsize,
    /// The slice of the most advanced thread.
    foremost: AtomicUsize,
    /// For each slice, the number of threads that have completed their share.
    finished: Vec<AtomicUsize>,
    /// For each slice, the number of threads that have stopped working.
    left: Vec<AtomicUsize>,
    /// Whether a thread gave up waiting for the others, which ends the visit.
    given_up: AtomicBool,
}

/// A thread that counts as working until this value is dropped, which also happens if the thread panics. All threads
/// count from the start, so that no thread considers the group complete before the last one has arrived.
struct Present<'a>(&'a Shared);

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

impl<'a> WorkerPool<'a> {
    /// Creates a worker for each of `cpus`, on that CPU.
    pub(crate) fn start(
        workload: &'a dyn Workload,
        machine: &Machine,
        cpus: &[u32],
        pool: Option<&Arc<ArrayPool>>,
    ) -> Result<Self, Unavailable> {
        let made = thread_group::run(cpus, |member| {
            workload.prepare(&Site { cpu: member.cpu, pool: pool.cloned() })
        });
        let mut workers = BTreeMap::new();
        for (cpu, worker) in cpus.iter().zip(made) {
            let worker =
                worker.ok_or_else(|| text!("no thread could be started for CPU {cpu}", cpu = *cpu))??;
            workers.insert(*cpu, Mutex::new(worker));
        }
        let core = |cpu: u32| machine.cpu(cpu).and_then(|cpu| cpu.core);
        let cores = cpus.iter().filter_map(|cpu| Some((*cpu, core(*cpu)?))).collect();
        Ok(Self { workload, workers, cores })
    }

    /// Runs some slices on `cpus`, which must have workers.
    pub(crate) fn run_group(
        &self,
        cpus: &[u32],
        budget: TimeBudget,
        incidents: &Incidents,
        stop: &Stop,
    ) -> GroupRun {
        let count = || (0..budget.most).map(|_| AtomicUsize::new(0)).collect();
        let shared = Shared {
            alive: AtomicUsize::new(cpus.len()),
            foremost: AtomicUsize::new(0),
            finished: count(),
            left: count(),
            given_up: AtomicBool::new(false),
        };
        let cores: Vec<&u32> = cpus.iter().filter_map(|cpu| self.cores.get(cpu)).collect();
        let siblings = cores.iter().collect::<BTreeSet<_>>().len() < cores.len();
        let warm_up =
            matches!(budget.length, SliceLength::Seconds(_)) && !self.workload.definition().indivisible;
        let plan = Plan { budget, siblings, warm_up, stop };
        let before = incidents.read(cpus);
        let threads = thread_group::run(cpus, |member| {
            let present = Present(&shared);
            let worker = self.workers.get(&member.cpu)?;
            // No other thread uses this CPU's worker; a panicked thread loses only its own results.
            let mut worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
            worker.join(Group { cpus, index: member.index });
            let parts = plan.work(member, worker.as_mut(), &shared);
            drop(present);
            Some((member.pinned, parts, worker.verify()))
        });
        let happened = incidents.read(cpus).since(&before);

        let mut visit = GroupRun::default();
        let mut parts: Vec<Vec<Option<Part>>> = Vec::with_capacity(cpus.len());
        for (cpu, thread) in cpus.iter().zip(threads) {
            let Some((pinned, own, verified)) = thread.flatten() else {
                visit.lost += 1;
                continue;
            };
            if !pinned {
                visit.unpinned.push(*cpu);
            }
            if let Err(wrong) = verified {
                visit.wrong.push((*cpu, wrong));
            }
            parts.push(own);
        }
        if visit.lost > 0 {
            return visit;
        }
        for slice in 0..budget.most {
            let all: Option<Vec<Part>> = parts.iter_mut().map(|own| own.get_mut(slice)?.take()).collect();
            visit.slices.extend(all.and_then(|all| self.slice(all)));
        }
        blame(&mut visit.slices, &happened);
        visit
    }

    /// Combines the results of all threads for one slice; `None` if the threads never worked at the same time.
    fn slice(&self, parts: Vec<Part>) -> Option<Slice> {
        let clocks: Vec<f64> = parts.iter().map(|part| (part.clock.0 + part.clock.1) / 2.0).collect();
        // Cycles of this work, without the cycles of other tasks on the same CPU.
        let cycles: f64 = parts.iter().zip(&clocks).map(|(part, clock)| part.on_cpu * clock).sum();
        let moved: Vec<f64> = parts.iter().map(|part| (part.clock.1 / part.clock.0 - 1.0).abs()).collect();
        let mut marks: BTreeSet<Mark> = parts.iter().flat_map(|part| part.marks.iter().copied()).collect();
        if median(&moved) > CLOCK_MOVED.0 || moved.iter().any(|moved| *moved > CLOCK_MOVED.1) {
            marks.insert(Mark::ClockMoved);
        }
        let done: f64 = parts.iter().map(|part| part.done).sum();
        let readings: Option<Vec<&Reading>> = parts.iter().map(|part| part.counted.as_ref()).collect();
        let counted = readings.map(Reading::sum).filter(|reading| !reading.counts.is_empty());
        let logs: Vec<WorkLog> = parts.into_iter().map(|part| part.log).collect();
        Some(Slice {
            rate: *common_interval::rates(&logs, 1).first()?,
            clock_hz: median(&clocks),
            ipc: self.workload.instructions().map(|each| done * each / cycles),
            done,
            counted,
            marks,
        })
    }
}

/// The plan for the threads of a visit.
struct Plan<'a> {
    budget: TimeBudget,
    /// Whether some of the threads share a core.
    siblings: bool,
    /// Whether a warm-up round is done before the start.
    warm_up: bool,
    stop: &'a Stop,
}

impl Plan<'_> {
    /// All slices of one thread, in order.
    fn work(&self, member: Member, worker: &mut dyn Worker, shared: &Shared) -> Vec<Option<Part>> {
        let mut parts: Vec<Option<Part>> = (0..self.budget.most).map(|_| None).collect();
        if self.warm_up {
            worker.round();
        }
        let counters = self.budget.counted.map(|set| Counters::open_user(Target::ThisThread, set));
        counters.iter().for_each(Counters::enable);
        let mut clock = look_at_clock();
        member.wait();
        let mut next = 0;
        loop {
            // A late thread joins the others in their current slice.
            let number = shared.foremost.fetch_max(next, Ordering::SeqCst).max(next);
            let over = number >= self.budget.least && Instant::now() >= self.budget.deadline;
            let given_up = shared.given_up.load(Ordering::SeqCst);
            if number >= self.budget.most || over || given_up || self.stop.signal().is_some() {
                break;
            }
            let counts = counters.as_ref().map(Counters::read);
            let usage = Usage::now();
            let (log, done) = self.slice(member, worker, shared, number);
            let (on_cpu, mut marks) = Usage::now().since(&usage);
            let counted =
                counters.as_ref().zip(counts).map(|(counters, before)| counters.read().since(&before));
            if self.siblings {
                // A sibling that is still working would slow down this thread's chain of adds.
                shared.left[number].fetch_add(1, Ordering::SeqCst);
                let wait = Instant::now();
                while shared.left[number].load(Ordering::SeqCst) < shared.alive.load(Ordering::SeqCst)
                    && wait.elapsed() < Duration::from_millis(5)
                {
                    std::hint::spin_loop();
                }
            }
            let after = look_at_clock();
            if member.has_moved() {
                marks.insert(Mark::Migrated);
            }
            // A slice cut short by a signal does not count.
            if self.stop.signal().is_none() {
                parts[number] = Some(Part { log, clock: (clock, after), on_cpu, done, counted, marks });
            }
            clock = after;
            next = number + 1;
        }
        parts
    }

    /// Works until this thread has completed its share, and continues until all threads have.
    fn slice(
        &self,
        member: Member,
        worker: &mut dyn Worker,
        shared: &Shared,
        number: usize,
    ) -> (WorkLog, f64) {
        let mut log = WorkLog::with_capacity(POINTS as usize * 2);
        let began = Instant::now();
        let apart = match self.budget.length {
            SliceLength::Seconds(seconds) => seconds * 1e9 / POINTS,
            SliceLength::Work(_) => 1e6,
        };
        let (mut done, mut noted) = (0.0, 0.0);
        let mut own_end: Option<Duration> = None;
        log.note(member.start, 0.0);
        loop {
            done += worker.round();
            let elapsed = began.elapsed();
            if elapsed.as_nanos() as f64 >= noted + apart {
                log.note(member.start, done);
                noted = elapsed.as_nanos() as f64;
            }
            let had_its_share = match self.budget.length {
                SliceLength::Seconds(seconds) => elapsed.as_secs_f64() >= seconds,
                // The shares of a pass add up to the pass, except for rounding errors.
                SliceLength::Work(work) => done >= work * (1.0 - 1e-9),
            };
            if had_its_share && own_end.is_none() {
                own_end = Some(elapsed);
                shared.finished[number].fetch_add(1, Ordering::SeqCst);
            }
            let all_had =
                shared.finished[number].load(Ordering::SeqCst) >= shared.alive.load(Ordering::SeqCst);
            // A thread that could not be started, or whose CPU is idle, must not block the others forever.
            let impatient = own_end.is_some_and(|end| elapsed > end * 3 + PATIENCE);
            if impatient && !all_had {
                shared.given_up.store(true, Ordering::SeqCst);
            }
            let given_up = shared.given_up.load(Ordering::SeqCst);
            if own_end.is_some() && (all_had || given_up) || self.stop.signal().is_some() {
                break;
            }
        }
        log.note(member.start, done);
        (log, done)
    }
}

/// The kernel's counts for a thread.
struct Usage {
    at: Instant,
    on_cpu: Option<f64>,
    switches: u64,
}

impl Usage {
    fn now() -> Self {
        Self { at: Instant::now(), on_cpu: os::thread_cpu_ns(), switches: involuntary_switches() }
    }

    /// The number of seconds spent on a CPU since `before`, and the disturbances during that time.
    fn since(&self, before: &Self) -> (f64, BTreeSet<Mark>) {
        let mut marks = BTreeSet::new();
        if self.switches > before.switches {
            marks.insert(Mark::Switched);
        }
        let wall = self.at.duration_since(before.at).as_secs_f64();
        let on_cpu = match (before.on_cpu, self.on_cpu) {
            // If the CPU-time clock only advances once per tick, it may not have advanced; the elapsed time is then used.
            (Some(then), Some(now)) if now > then => ((now - then) / 1e9).min(wall),
            _ => wall,
        };
        if on_cpu < ON_CPU * wall {
            marks.insert(Mark::Switched);
        }
        (on_cpu, marks)
    }
}

fn median(values: &[f64]) -> f64 {
    record::Summary::from_samples(values).median
}

/// Attributes incidents that the kernel counts only for the complete visit to the slices that lost speed: those at
/// least 2 % below the best, or the slowest one if no slice lost that much.
fn blame(slices: &mut [Slice], happened: &[Mark]) {
    if happened.is_empty() {
        return;
    }
    let best = slices.iter().map(|slice| slice.rate).fold(0.0, f64::max);
    let least = slices.iter().map(|slice| slice.rate).fold(f64::INFINITY, f64::min);
    for slice in slices.iter_mut().filter(|slice| slice.rate <= least.max(best * 0.98)) {
        slice.marks.extend(happened);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads;

    fn part(rate: f64, clock: (f64, f64), on_cpu: f64) -> Part {
        let mut log = WorkLog::default();
        log.note_at(0.0, 0.0);
        log.note_at(1e9, rate);
        Part { log, clock, on_cpu, done: rate, counted: None, marks: BTreeSet::new() }
    }

    fn workers() -> WorkerPool<'static> {
        let workload = workloads::find("cpu-bound").unwrap();
        WorkerPool { workload, workers: BTreeMap::new(), cores: BTreeMap::new() }
    }

    #[test]
    fn rates_of_all_threads_add_up() {
        let parts = vec![part(9.0, (3.0, 3.0), 1.0), part(3.0, (3.0, 3.0), 1.0), part(10.0, (3.0, 3.0), 1.0)];
        let slice = workers().slice(parts).unwrap();
        assert_eq!(slice.rate, 22.0);
        assert!(slice.marks.is_empty());
    }

    #[test]
    fn ipc_is_over_the_cycles_that_a_thread_had() {
        // Another task used half of its second: 10 iterations of 5 instructions in 0.5 s × 20 Hz.
        let slice = workers().slice(vec![part(10.0, (20.0, 20.0), 0.5)]).unwrap();
        assert_eq!(slice.ipc, Some(5.0));
    }

    #[test]
    fn a_clock_that_drops_on_one_cpu_marks_the_slice() {
        let steady = |n: usize| (0..n).map(|_| part(1.0, (3.0, 3.0), 1.0)).collect::<Vec<_>>();
        let mut parts = steady(5);
        parts[2].clock = (3.0, 2.7);
        let marked = |parts| workers().slice(parts).unwrap().marks.contains(&Mark::ClockMoved);
        assert!(marked(parts));
        assert!(!marked(steady(5)));
        // All slices lost a little: the machine's turbo clock declined.
        let all = (0..5).map(|_| part(1.0, (3.0, 2.95), 1.0)).collect();
        assert!(marked(all));
    }

    #[test]
    fn incidents_of_a_visit_fall_on_the_slices_that_lost_by_them() {
        let slice =
            |rate| Slice { rate, clock_hz: 1.0, ipc: None, done: 1.0, counted: None, marks: BTreeSet::new() };
        let marked = |rates: [f64; 3]| {
            let mut slices = rates.map(slice);
            blame(&mut slices, &[Mark::Stolen]);
            slices.map(|slice| slice.marks.contains(&Mark::Stolen))
        };
        assert_eq!(marked([100.0, 80.0, 99.0]), [false, true, false]);
        assert_eq!(marked([100.0, 99.5, 99.0]), [false, false, true]);
    }
}
