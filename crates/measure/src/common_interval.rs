//! Counts work over the interval in which all threads of a group were active.

use std::time::Instant;

use crate::thread_group::{self, Member};

/// One thread's progress at a series of times: ns since a common start, and the work done so far (bytes, loads).
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkLog {
    points: Vec<(f64, f64)>,
}

impl WorkLog {
    /// An empty log with room for `points`.
    pub(crate) fn with_capacity(points: usize) -> Self {
        Self { points: Vec::with_capacity(points) }
    }

    /// Records that `done` was reached now.
    pub(crate) fn note(&mut self, zero: Instant, done: f64) {
        self.points.push((crate::watch::ns_since(zero), done));
    }

    /// Records that `done` was reached at `ns`.
    #[cfg(test)]
    pub(crate) fn note_at(&mut self, ns: f64, done: f64) {
        self.points.push((ns, done));
    }

    /// Work done by `ns`, interpolated linearly; `None` outside the log.
    fn done_by(&self, ns: f64) -> Option<f64> {
        let after = self.points.partition_point(|(at, _)| *at < ns);
        let (to, done_to) = *self.points.get(after)?;
        if to == ns {
            return Some(done_to);
        }
        let (from, done_from) = *self.points.get(after.checked_sub(1)?)?;
        Some(done_from + (done_to - done_from) * (ns - from) / (to - from))
    }
}

/// The interval in which all logs have points, in ns; `None` if there is none.
fn find_common(logs: &[WorkLog]) -> Option<(f64, f64)> {
    let from = logs.iter().map(|log| log.points.first().map(|p| p.0)).collect::<Option<Vec<_>>>()?;
    let to = logs.iter().map(|log| log.points.last().map(|p| p.0)).collect::<Option<Vec<_>>>()?;
    let from = from.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let to = to.into_iter().fold(f64::INFINITY, f64::min);
    // Without logs, both bounds are infinite.
    (to > from && from.is_finite() && to.is_finite()).then_some((from, to))
}

/// Work per second of all logs together, in each of `slices` equal parts of their common interval.
pub(crate) fn rates(logs: &[WorkLog], slices: usize) -> Vec<f64> {
    let Some((from, to)) = find_common(logs) else { return Vec::new() };
    let width = (to - from) / slices as f64;
    let at = |slice: usize| from + width * slice as f64;
    (0..slices)
        .filter_map(|slice| {
            let end = if slice + 1 == slices { to } else { at(slice + 1) };
            let done: Option<f64> =
                logs.iter().map(|log| Some(log.done_by(end)? - log.done_by(at(slice))?)).sum();
            Some(done? / width * 1e9)
        })
        .collect()
}

/// Runs `work` on all of these CPUs at the same time. Each call logs its progress and returns whether it ran on a
/// different CPU. The result is the total work per second in each slice, and whether any thread ran on a different CPU.
/// If a thread is missing, the list of rates is empty.
pub(crate) fn run(
    cpus: &[u32],
    slices: usize,
    work: impl Fn(Member) -> (WorkLog, bool) + Sync,
) -> (Vec<f64>, bool) {
    let logs = thread_group::run(cpus, work);
    let moved = logs.iter().flatten().any(|(_, moved)| *moved);
    let logs: Option<Vec<WorkLog>> = logs.into_iter().map(|log| log.map(|(log, _)| log)).collect();
    (logs.map_or_else(Vec::new, |logs| rates(&logs, slices)), moved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn log(points: &[(f64, f64)]) -> WorkLog {
        let mut log = WorkLog::default();
        for (ns, done) in points {
            log.note_at(*ns, *done);
        }
        log
    }

    #[test]
    fn only_the_time_in_which_all_worked_counts() {
        // The first works from 0 to 100 at 2 per ns, the second from 50 to 150 at 1 per ns: together 3 per ns.
        let logs = [log(&[(0.0, 0.0), (100.0, 200.0)]), log(&[(50.0, 0.0), (150.0, 100.0)])];
        assert_eq!(find_common(&logs), Some((50.0, 100.0)));
        for rate in rates(&logs, 5) {
            assert!((rate - 3e9).abs() < 1.0, "{rate}");
        }
    }

    #[test]
    fn threads_that_never_worked_together_have_no_rate() {
        assert!(rates(&[log(&[(0.0, 0.0), (10.0, 1.0)]), log(&[(20.0, 0.0), (30.0, 1.0)])], 3).is_empty());
        assert!(rates(&[log(&[])], 3).is_empty());
        assert!(rates(&[], 3).is_empty());
    }

    proptest! {
        #[test]
        fn slices_add_up_to_the_whole(steps in proptest::collection::vec((1.0f64..50.0, 0.0f64..100.0), 2..40)) {
            let (mut ns, mut done) = (0.0, 0.0);
            let mut log = WorkLog::default();
            for (dt, dw) in steps {
                log.note_at(ns, done);
                ns += dt;
                done += dw;
            }
            log.note_at(ns, done);
            let rates = rates(std::slice::from_ref(&log), 7);
            prop_assert_eq!(rates.len(), 7);
            let sum: f64 = rates.iter().sum::<f64>() / 7.0 * ns / 1e9;
            prop_assert!((sum - done).abs() < 1e-6 * done.max(1.0));
        }
    }
}
