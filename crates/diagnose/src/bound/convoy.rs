//! Threads contending for one lock: how long those of one process waited for it between their runs, and how long they ran.
//!
//! Threads that never ran belong to a pool without work, and waits of unrelated processes are no lock: the thread samples exclude both
//! (`measure/src/tasks/spells.rs`).

use record::command_run::LockWaits;

use super::Facts;

/// With this many samples, it is known whether more than one thread ever wanted to run.
pub(super) const FEW_LOOKS: f64 = 5.0;
/// Minimum average number of threads that wait for a lock between their runs; with fewer there is no convoy.
const LEAST_WAITERS: f64 = 0.3;
/// Threads of the process that run or are ready, on average. If a lock limits a program, its holder is one of them.
const LEAST_ACTIVE: f64 = 0.25;
/// Above this share of its CPUs all are busy: waiting threads then belong to a pool with enough to do, unless they wait for a mutex.
const ALL_AT_WORK: f64 = 0.9;
/// A thread with this share of its time on a CPU never waits.
const NEVER_WAITS: f64 = 0.85;
/// Above this share of their waits, they wait for a mutex.
const IN_MUTEX: f64 = 0.5;

/// How threads of one process waited for locks.
pub(super) fn locks(facts: &Facts) -> Option<LockWaits> {
    facts.waits().get("lock")?.locks
}

/// Average number of threads that contend for a lock.
pub(super) struct Convoy {
    /// Those that wait for it.
    pub(super) waiters: f64,
    /// Those of the same process that run or want to.
    pub(super) active: f64,
    /// Share of its CPU time in the kernel.
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

    /// Share of their time that its threads waited for it.
    pub(super) fn waited(&self) -> f64 {
        self.waiters / (self.waiters + self.active)
    }
}

/// Share of their time that threads waited for a contended lock.
pub(super) fn waited_for_locks(facts: &Facts) -> f64 {
    Convoy::of(facts).map_or(0.0, |convoy| convoy.waited())
}
