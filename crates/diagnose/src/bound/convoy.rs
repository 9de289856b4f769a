//! Threads contending for one lock: the time for which threads of one process waited for it between their runs, and their
//! run time.
//!
//! Threads that never ran belong to a pool without work, and waits of unrelated processes are not due to one lock: the thread samples
//! exclude both
//! (`measure/src/tasks/spells.rs`).

use record::command_run::LockWaits;

use super::Facts;

/// Minimum number of samples to decide whether more than one thread ever wanted to run.
pub(super) const FEW_LOOKS: f64 = 5.0;
/// Minimum average number of threads that wait for a lock between their runs; with fewer threads, there is no convoy.
const LEAST_WAITERS: f64 = 0.3;
/// Minimum average number of running or ready threads of the process. If a lock limits a program, the lock's holder is
/// one of these threads.
const LEAST_ACTIVE: f64 = 0.25;
/// Above this share, all of a process's CPUs count as busy: waiting threads then belong to a pool with enough work, unless they wait
/// for a mutex.
const ALL_AT_WORK: f64 = 0.9;
/// A thread with at least this share of its time on a CPU never waits.
const NEVER_WAITS: f64 = 0.85;
/// Above this share of their waits, threads count as waiting for a mutex.
const IN_MUTEX: f64 = 0.5;

/// The waits for locks of one process's threads.
pub(super) fn locks(facts: &Facts) -> Option<LockWaits> {
    facts.waits().get("lock")?.locks
}

/// Average number of threads that contend for a lock.
pub(super) struct Convoy {
    /// Threads that wait for the lock.
    pub(super) waiters: f64,
    /// Threads of the same process that are running or ready to run.
    pub(super) active: f64,
    /// Share of the process's CPU time in the kernel.
    pub(super) kernel: f64,
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
        let in_mutex = locks.mutex >= IN_MUTEX * locks.blocked;
        if waiters < LEAST_WAITERS
            || active < LEAST_ACTIVE
            || (at_work >= ALL_AT_WORK * facts.cpus && !in_mutex)
        {
            return None;
        }
        // A thread that never waits is not held up by a lock, whatever other threads of its process, such as a runtime's own, wait for.
        let never_waits = facts.threads.first().is_some_and(|(_, on)| *on >= NEVER_WAITS * facts.wall);
        if never_waits && !in_mutex {
            return None;
        }
        let kernel = facts.system / facts.cpu().max(1e-9);
        Some(Self { waiters, active, kernel })
    }

    /// Share of their time for which the process's threads waited for the lock.
    pub(super) fn waited(&self) -> f64 {
        self.waiters / (self.waiters + self.active)
    }
}

/// Share of their time that threads waited for a contended lock.
pub(super) fn waited_for_locks(facts: &Facts) -> f64 {
    Convoy::of(facts).map_or(0.0, |convoy| convoy.waited())
}
