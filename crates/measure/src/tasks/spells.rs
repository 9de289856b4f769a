//! Records how long and why threads were blocked between two runs. This distinguishes threads that
//! contend for a lock from idle threads of a pool.

use std::collections::BTreeMap;
use std::time::Instant;

use record::command_run::LockWaits;

use super::calls::Waiting;

/// A thread that never ran is considered stuck in a lock after it has waited for the lock in this many samples.
const STUCK_LOOKS: u64 = 3;
/// Number of completed lock waits after which a thread is considered to contend for the lock. Any thread may wait once
/// for another thread to end, and perhaps once for its helpers to start.
const MEETS: u64 = 3;

/// The waits of one thread, from its samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spells {
    /// The number of times that the thread had been scheduled onto a CPU at the last sample.
    slices: Option<u64>,
    /// CPU time plus ready time until each of three samples, ns: the first sample, the first one that found that the thread had run since
    /// the previous sample (with the time of this sample), and the last one.
    first: Option<u64>,
    first_run: Option<(Instant, u64)>,
    last: u64,
    /// Blocked time between the first and the last sample that found that the thread had run since the previous sample. An unfinished wait
    /// is excluded, because it may be a wait for work.
    blocked_ns: u64,
    /// The number of samples in which the thread waited, the number in which it waited for a lock, and the number in which that lock was
    /// certainly a mutex.
    waited: u64,
    lock: u64,
    mutex: u64,
    /// Whether the thread has waited for a lock since it last ran, and the number of such waits that ended.
    in_lock: bool,
    ended: u64,
}

impl Spells {
    /// Adds a sample: the CPU time and ready time so far, ns, and the number of times that the thread was scheduled
    /// onto a CPU. Returns whether it ran since the previous sample.
    pub(super) fn look(&mut self, now: Instant, had: u64, slices: u64) -> bool {
        let ran = self.slices.is_some_and(|before| slices > before);
        self.slices = Some(slices);
        self.first.get_or_insert(had);
        self.last = had;
        if ran {
            let (since, before) = *self.first_run.get_or_insert((now, had));
            let blocked = (now - since).as_nanos().saturating_sub(u128::from(had.saturating_sub(before)));
            self.blocked_ns = u64::try_from(blocked).unwrap_or(u64::MAX);
            self.ended += u64::from(std::mem::take(&mut self.in_lock));
        }
        ran
    }

    /// Records a wait for this reason.
    pub(super) fn waits(&mut self, waiting: Waiting) {
        self.waited += 1;
        self.lock += u64::from(waiting.is_a_lock());
        self.in_lock |= waiting.is_a_lock();
        self.mutex += u64::from(waiting == Waiting::Mutex);
    }

    /// Whether the thread was observed running.
    pub(super) fn ran(&self) -> bool {
        self.first_run.is_some()
    }

    /// CPU time and ready time since the first sample, ns.
    pub(super) fn had(&self) -> u64 {
        self.last.saturating_sub(self.first.unwrap_or(self.last))
    }

    /// Whether the thread hardly ever waited: it always ran or was ready.
    fn never_waits(&self) -> bool {
        self.ran() && self.blocked_ns < self.had() / 6
    }

    /// Restarts as if the last sample were the first.
    pub(super) fn restart(&mut self) {
        *self = Self { slices: self.slices, first: Some(self.last), last: self.last, ..Self::default() };
    }
}

/// The lock waits of the process whose threads waited longest for locks; if no thread waited repeatedly, of the process with the most
/// threads that are stuck in a lock. Each thread is given with the PID of its process.
pub(super) fn longest<'a>(threads: impl Iterator<Item = (i32, &'a Spells)>) -> Option<LockWaits> {
    let mut processes: BTreeMap<i32, (LockWaits, bool)> = BTreeMap::new();
    for (pid, thread) in threads {
        let (process, never_waits) = processes.entry(pid).or_default();
        *never_waits |= thread.never_waits();
        if thread.ended >= MEETS {
            let blocked = thread.blocked_ns as f64 / 1e9 / thread.waited.max(1) as f64;
            process.blocked += blocked * thread.lock as f64;
            process.mutex += blocked * thread.mutex as f64;
        }
        process.active += thread.had() as f64 / 1e9;
        let stuck = !thread.ran() && thread.waited >= STUCK_LOOKS && thread.mutex == thread.waited;
        process.stuck += u64::from(stuck);
    }
    // No lock delays a thread that never waits. The other threads then wait for work, unless they wait for a mutex.
    let waits = processes.into_values().map(|(waits, never_waits)| match never_waits {
        true => LockWaits { blocked: waits.mutex, ..waits },
        false => waits,
    });
    let longest = waits.max_by(|a, b| {
        let (a, b) = ((a.blocked, a.stuck), (b.blocked, b.stuck));
        a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
    })?;
    (longest.blocked > 0.0 || longest.stuck > 0).then_some(longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    /// A thread in samples 100 ms apart: its time, the number of times that it was on a CPU, and its wait reason.
    fn thread(looks: &[(u64, u64, Option<Waiting>)]) -> Spells {
        let (mut spells, began) = (Spells::default(), Instant::now());
        for (at, (had_ms, slices, waiting)) in looks.iter().enumerate() {
            spells.look(began + Duration::from_millis(100 * at as u64), had_ms * MS, *slices);
            waiting.iter().for_each(|waiting| spells.waits(*waiting));
        }
        spells
    }

    #[test]
    fn who_runs_now_and_then_waits_and_who_never_runs_does_not() {
        let (mutex, lock) = (Some(Waiting::Mutex), Some(Waiting::Lock));
        let looks =
            [(0, 1, mutex), (10, 2, mutex), (10, 2, mutex), (50, 7, mutex), (60, 8, None), (60, 8, mutex)];
        let runs = thread(&looks);
        // A wait longer than the time between two samples counts; the wait after the last run does not.
        assert_eq!((runs.blocked_ns, runs.waited, runs.mutex, runs.ended), (250 * MS, 5, 5, 3));
        // A thread that waits for another thread to end has a single wait, regardless of its length.
        let joins = thread(&[(0, 1, lock), (5, 2, lock), (5, 2, lock), (5, 2, lock), (6, 3, None)]);
        assert_eq!((joins.blocked_ns, joins.ended), (299 * MS, 2));
        assert_eq!(longest([(1, &joins)].into_iter()), None);
        // A thread parked all the time; a thread woken once; a thread parked in a mutex.
        let parked = thread(&[(5, 1, lock); 5]);
        let woken = thread(&[(0, 1, lock), (1, 2, lock), (1, 2, lock), (1, 2, lock)]);
        let stuck = thread(&[(0, 1, mutex); 4]);
        let other = thread(&[(0, 1, None), (100, 1, None), (200, 1, None)]);
        assert!(!parked.ran() && woken.ran() && woken.blocked_ns == 0);
        assert_eq!(longest([(1, &parked), (1, &woken), (1, &other)].into_iter()), None);
        // Of two processes, the one whose threads waited counts; the threads of the other do not.
        let waits = longest([(1, &runs), (1, &parked), (2, &other)].into_iter()).unwrap();
        assert_eq!((waits.blocked, waits.mutex, waits.active, waits.stuck), (0.25, 0.25, 0.06, 0));
        let waits = longest([(1, &parked), (2, &stuck), (2, &stuck)].into_iter()).unwrap();
        assert_eq!((waits.blocked, waits.active, waits.stuck), (0.0, 0.0, 2));
        // Beside a thread that never waits, only waits for a mutex count.
        let computes = thread(&[(0, 1, None), (99, 2, None), (199, 3, None), (298, 4, None)]);
        let idle = Spells { mutex: 0, ..runs };
        assert_eq!(longest([(1, &computes), (1, &idle)].into_iter()), None);
        assert_eq!(longest([(1, &computes), (1, &runs)].into_iter()).unwrap().blocked, 0.25);
        // The remaining samples belong to another interval.
        let mut again = runs;
        again.restart();
        assert_eq!(longest([(1, &again)].into_iter()), None);
        assert!(again.look(Instant::now(), 70 * MS, 9) && again.last - again.first.unwrap() == 10 * MS);
    }
}
