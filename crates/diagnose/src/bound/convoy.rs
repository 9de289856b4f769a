//! Detects threads that run one at a time, and threads that contend for one lock, from the run time of one process's threads and the time
//! that they wait for the lock between runs.
//!
//! The thread samples (`measure/src/tasks/spells.rs`) exclude threads that never ran, because they are idle threads of a pool, and waits of
//! unrelated processes, because these are not due to one lock.

use record::command_run::LockWaits;

use super::Facts;
use crate::cpu_accounting::beside;

/// Minimum number of samples needed to decide whether more than one thread was ever runnable.
pub(super) const FEW_LOOKS: f64 = 5.0;
/// Minimum average number of threads that wait for a lock between runs; fewer threads are not a convoy.
const LEAST_WAITERS: f64 = 0.3;
/// Minimum average number of running or runnable threads in the process. If a lock limits a program, the thread that holds the lock is
/// running or runnable.
const LEAST_ACTIVE: f64 = 0.25;
/// Above this share of busy CPU time, all CPUs of a process count as busy. Waiting threads are then assumed to be spare threads of a pool,
/// unless they wait for a mutex.
const ALL_AT_WORK: f64 = 0.9;
/// A thread that spends at least this share of its time on a CPU counts as never waiting.
const NEVER_WAITS: f64 = 0.85;
/// Threads count as waiting for a mutex if more than this share of their waits is for a mutex.
const IN_MUTEX: f64 = 0.5;

/// Minimum number of idle CPUs that the command could have used.
pub(super) const LEAST_IDLE: f64 = 0.2;

/// Whether one thread, or one thread at a time, used most of a program's CPU time. This is derived from samples of its threads, regardless
/// of other programs; in records without samples, from the number of CPUs used.
pub(super) fn is_one_at_a_time(facts: &Facts) -> bool {
    let looks = facts.looks();
    if looks.most_active > 0 && looks.all as f64 >= FEW_LOOKS {
        return looks.active as f64 <= (looks.all - looks.idle.min(looks.all)) as f64 * 1.05;
    }
    (0.6..=1.2).contains(&facts.used())
        && facts.cpus - facts.used() - beside(&facts.around(), facts.used()).unwrap_or(0.0) >= LEAST_IDLE
}

/// If threads waited for input between runs in at least this share of the samples, the other threads wait for work.
const FED: f64 = 0.1;
/// Maximum share of samples without a ready thread at which a program works without a pause.
const PAUSES: f64 = 0.05;
/// If the CPUs are idle for longer than this per context switch, s, the threads wait for something else than each other: waking a thread
/// takes less time, even if a virtual CPU has to be started.
const HANDOVER: f64 = 250e-6;

/// Whether a program works only on demand or at times: its threads wait for input or for a time to come, so its other waits are for work.
pub(super) fn is_fed(facts: &Facts) -> bool {
    let (waits, looks) = (facts.waits(), facts.looks());
    let idle = looks.idle as f64 / looks.all.max(1) as f64;
    let inputs =
        ["network", "events", "pipe", "terminal", "io_uring"].into_iter().filter_map(|word| waits.get(word));
    let again = inputs.map(|waits| waits.again).sum::<u64>() as f64;
    let is_long = |switches: f64| idle * facts.wall > HANDOVER * switches;
    let pauses = idle > PAUSES;
    pauses && facts.counted("context-switches").is_some_and(is_long)
        || again >= FED * looks.all as f64 && (pauses || !is_one_at_a_time(facts))
}

/// Lock waits of the threads in one process.
pub(super) fn locks(facts: &Facts) -> Option<LockWaits> {
    facts.waits().get("lock")?.locks
}

/// Average number of threads that contend for a lock.
pub(super) struct Convoy {
    /// Threads that wait for the lock.
    pub(super) waiters: f64,
    /// Threads of the same process that are running or runnable.
    pub(super) active: f64,
    /// Share of the process's CPU time that is spent in the kernel.
    pub(super) kernel: f64,
    /// Whether at least half of the waits are known to be for a mutex.
    pub(super) in_mutex: bool,
}

impl Convoy {
    pub(super) fn of(facts: &Facts) -> Option<Self> {
        let looks = facts.looks();
        let locks = locks(facts)?;
        if (looks.all as f64) < FEW_LOOKS {
            return None;
        }
        let (waiters, active) = (locks.blocked / facts.wall, locks.active / facts.wall);
        let wanted = facts.used() + facts.without_a_cpu() / facts.wall;
        let at_work = wanted.max(looks.active as f64 / looks.all as f64);
        // Threads may also wait for one CPU while another one is idle.
        let busy = facts.used() + beside(&facts.around(), facts.used()).unwrap_or(facts.cpus);
        let at_work = if facts.without_a_cpu() > facts.cpu() / 2.0 { at_work.min(busy) } else { at_work };
        let in_mutex = locks.mutex >= IN_MUTEX * locks.blocked;
        if waiters < LEAST_WAITERS
            || active < LEAST_ACTIVE
            || (at_work >= ALL_AT_WORK * facts.cpus && !in_mutex)
        {
            return None;
        }
        // A thread that never waits is not delayed by a lock, even if other threads of its process (such as a runtime's) wait.
        let never_waits = facts.threads.first().is_some_and(|(_, on)| *on >= NEVER_WAITS * facts.wall);
        if (never_waits || is_fed(facts)) && !in_mutex {
            return None;
        }
        Some(Self { waiters, active, kernel: facts.system / facts.cpu().max(1e-9), in_mutex })
    }

    /// The share of time that the process's threads waited for the lock.
    pub(super) fn waited(&self) -> f64 {
        self.waiters / (self.waiters + self.active)
    }
}

/// The share of time that threads waited for a contended lock.
pub(super) fn waited_for_locks(facts: &Facts) -> f64 {
    Convoy::of(facts).map_or(0.0, |convoy| convoy.waited())
}
