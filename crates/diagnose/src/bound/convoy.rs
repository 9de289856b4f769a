//! Threads that meet at one lock: how many wait for it, by the looks at them.

use super::Facts;

/// From so many looks on it is told whether more than one thread ever wanted to run.
pub(super) const FEW_LOOKS: f64 = 5.0;
/// Threads that wait for a lock again and again, on average: fewer are no convoy.
const LEAST_WAITERS: f64 = 0.3;
/// With all CPUs at work, threads that wait are what a pool does that has enough to do; but not with so much in the kernel.
const LOCKING: f64 = 0.15;
/// The share of its CPUs from which all are at work.
const ALL_AT_WORK: f64 = 0.9;

/// Threads that meet at a lock, on average.
pub(super) struct Convoy {
    /// Those that wait for it again and again.
    pub(super) waiters: f64,
    /// Those that run or want to.
    pub(super) active: f64,
    /// Share of its CPU time in the kernel.
    pub(super) kernel: f64,
}

impl Convoy {
    pub(super) fn of(facts: &Facts) -> Option<Self> {
        let looks = facts.looks();
        if (looks.all as f64) < FEW_LOOKS {
            return None;
        }
        let again = facts.waits().get("lock").map_or(0, |waits| waits.again);
        let (waiters, active) = (again as f64 / looks.all as f64, looks.active as f64 / looks.all as f64);
        let kernel = facts.system / facts.cpu().max(1e-9);
        // Beside other programs those that are ready wait for a CPU with the lock, or on their way to it: that more of them wait
        // for it than that want a CPU is no pool with enough to do.
        let enough = active >= ALL_AT_WORK * facts.cpus && active >= waiters;
        let busy = facts.used() >= ALL_AT_WORK * facts.cpus || enough;
        if waiters < LEAST_WAITERS || active == 0.0 || (busy && kernel < LOCKING) {
            return None;
        }
        Some(Self { waiters, active, kernel })
    }

    /// Share of their time that its threads waited for it.
    pub(super) fn waited(&self) -> f64 {
        self.waiters / (self.waiters + self.active)
    }
}

/// Share of their time that threads waited for a lock at which they meet.
pub(super) fn waited_for_locks(facts: &Facts) -> f64 {
    Convoy::of(facts).map_or(0.0, |convoy| convoy.waited())
}
