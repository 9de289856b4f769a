//! Counter values: counts with the share of time for which they were counted, and arithmetic on them.

use record::{Template, Text};

/// Number of times an event occurred.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    /// The event, by perf's name.
    pub event: &'static str,
    /// The number of events, scaled up from the time for which they were counted to the full time.
    pub value: f64,
    /// The raw count.
    pub raw: u64,
    /// Time for which the event should have been counted, ns: the time for which the thread ran, summed over threads.
    pub enabled_ns: u64,
    /// Time for which it was actually counted, ns. Less than `enabled_ns` if there are fewer counters than events.
    pub running_ns: u64,
    /// Whether only user mode was counted (perf's `:u`), because this user may not count the kernel.
    pub user_only: bool,
}

impl Count {
    /// A count extrapolated to the full time. `None` if the event was never counted, because no result is better than a
    /// meaningless zero.
    fn scale(row: &Row) -> Option<Self> {
        let &Row { event, raw, enabled: enabled_ns, running: running_ns, user_only } = row;
        // If the event was always on a counter, the count is not scaled, so that exact counts remain exact.
        let exact = running_ns >= enabled_ns;
        let value = raw as f64 * if exact { 1.0 } else { enabled_ns as f64 / running_ns as f64 };
        (running_ns > 0).then_some(Self { event, value, raw, enabled_ns, running_ns, user_only })
    }

    /// Share of time for which the event was actually counted, 0 to 1.
    pub fn coverage(&self) -> f64 {
        if self.enabled_ns == 0 { 0.0 } else { (self.running_ns as f64 / self.enabled_ns as f64).min(1.0) }
    }
}

/// The values of all counters at one time, or between two times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The counted events.
    pub counts: Vec<Count>,
    /// Open events that were never on a counter and therefore have no result, each with the reason.
    pub not_counted: Vec<(&'static str, Text)>,
    /// The values from which the other two fields are computed, including the times of events that were not counted.
    rows: Vec<Row>,
}

/// The kernel's values for one event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) event: &'static str,
    pub(super) raw: u64,
    pub(super) enabled: u64,
    pub(super) running: u64,
    pub(super) user_only: bool,
}

impl Reading {
    /// The count of an event by perf's name.
    pub fn get(&self, event: &str) -> Option<&Count> {
        self.counts.iter().find(|count| count.event == event)
    }

    /// The counts since `before`, an earlier reading of the same counters. Each difference is scaled by the times
    /// of its own interval, because a counter that was active only earlier shows little about that interval.
    pub fn since(&self, before: &Reading) -> Reading {
        let mut since = Tally::default();
        for now in &self.rows {
            let then = before.rows.iter().find(|row| row.event == now.event).copied().unwrap_or_default();
            since.add(Row {
                raw: now.raw.saturating_sub(then.raw),
                enabled: now.enabled.saturating_sub(then.enabled),
                running: now.running.saturating_sub(then.running),
                ..*now
            });
        }
        self.not_counted.iter().for_each(|(event, why)| since.refuse(event, why.clone()));
        since.reading()
    }

    /// Sum of several readings, for example of a group's threads. A thread in which an event was never counted lowers
    /// the sum's coverage, and the sum is scaled up accordingly.
    pub fn sum<'a>(readings: impl IntoIterator<Item = &'a Reading>) -> Reading {
        let mut total = Tally::default();
        for reading in readings {
            reading.rows.iter().for_each(|row| total.add(*row));
            reading.not_counted.iter().for_each(|(event, why)| total.refuse(event, why.clone()));
        }
        total.reading()
    }

    /// Instructions per cycle.
    pub fn ipc(&self) -> Option<f64> {
        let cycles = self.get("cycles")?.value;
        let instructions = self.get("instructions")?.value;
        (cycles > 0.0).then(|| instructions / cycles)
    }
}

/// The reason why an open event has no result.
pub(super) const NO_TURN: Template =
    Template::new("counters-no-turn", "not counted: no hardware counter was free while the program ran");

/// Sums readings of single descriptors by event: threads, or the kinds of core of a hybrid machine.
#[derive(Debug, Default)]
pub(super) struct Tally {
    rows: Vec<Row>,
    refused: Vec<(&'static str, Text)>,
}

impl Tally {
    /// Adds a count of another thread. Times add up.
    pub(super) fn add(&mut self, row: Row) {
        self.join(row, u64::saturating_add);
    }

    /// Adds a count of the same threads on another kind of core. Each kind's PMU is enabled whenever the threads run,
    /// but counts only while they are on its cores. Counts therefore add up, while the enabled time is the same for all
    /// kinds. Scaling each kind separately would count the other kind's share twice.
    pub(super) fn add_kind(&mut self, row: Row) {
        self.join(row, u64::max);
    }

    fn join(&mut self, new: Row, join_times: fn(u64, u64) -> u64) {
        match self.rows.iter_mut().find(|row| row.event == new.event) {
            Some(row) => {
                row.raw = row.raw.saturating_add(new.raw);
                row.running = row.running.saturating_add(new.running);
                row.enabled = join_times(row.enabled, new.enabled);
                row.user_only |= new.user_only;
            }
            None => self.rows.push(new),
        }
    }

    /// Records why an event has no result.
    pub(super) fn refuse(&mut self, event: &'static str, why: Text) {
        if !self.refused.iter().any(|(known, _)| *known == event) {
            self.refused.push((event, why));
        }
    }

    /// The reading with the scaled sums.
    pub(super) fn reading(self) -> Reading {
        let mut reading = Reading { rows: self.rows, ..Reading::default() };
        for row in &reading.rows {
            match Count::scale(row) {
                Some(count) => reading.counts.push(count),
                None => reading.not_counted.push((row.event, NO_TURN.into())),
            }
        }
        for (event, why) in self.refused {
            if !reading.rows.iter().any(|row| row.event == event) {
                reading.not_counted.push((event, why));
            }
        }
        reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(rows: &[(&'static str, u64, u64, u64)]) -> Reading {
        let mut tally = Tally::default();
        for (event, raw, enabled, running) in rows {
            tally.add(Row { event, raw: *raw, enabled: *enabled, running: *running, user_only: false });
        }
        tally.reading()
    }

    #[test]
    fn a_quarter_of_the_time_is_scaled_by_four_and_says_so() {
        let reading = reading(&[("branches", 1_000, 8_000, 2_000)]);
        let count = reading.get("branches").unwrap();
        assert_eq!((count.value, count.raw, count.coverage()), (4_000.0, 1_000, 0.25));
    }

    #[test]
    fn an_event_without_a_turn_has_no_figure_rather_than_zero() {
        let reading = reading(&[("branches", 0, 8_000, 0)]);
        assert!(reading.get("branches").is_none());
        assert_eq!(reading.not_counted[0].0, "branches");
        assert!(reading.not_counted[0].1.is(&NO_TURN));
    }

    #[test]
    fn a_difference_is_scaled_by_its_own_times() {
        let before = reading(&[("cycles", 100, 1_000, 1_000), ("instructions", 100, 1_000, 1_000)]);
        let after = reading(&[("cycles", 300, 3_000, 2_000), ("instructions", 700, 3_000, 2_000)]);
        let since = after.since(&before);
        let cycles = since.get("cycles").unwrap();
        assert_eq!((cycles.raw, cycles.value, cycles.coverage()), (200, 400.0, 0.5));
        assert_eq!(since.ipc(), Some(3.0));
        // The counter counted only in the later interval, so its count is scaled by that interval.
        let waiting = reading(&[("cycles", 0, 1_000, 0)]);
        let later = after.since(&waiting);
        assert_eq!(later.get("cycles").unwrap().value, 300.0);
        // Nothing ran in between.
        let still = after.since(&after);
        assert!(still.get("cycles").is_none() && still.ipc().is_none());
        assert_eq!(still.not_counted.len(), 2);
    }

    #[test]
    fn counts_of_two_kinds_of_core_add_up_without_being_scaled_twice() {
        let mut tally = Tally::default();
        // A thread of 10 µs that spent 6 µs on large cores and 4 µs on small ones.
        let row =
            |raw, running| Row { event: "instructions", raw, enabled: 10_000, running, user_only: false };
        tally.add_kind(row(6_000, 6_000));
        tally.add_kind(row(1_000, 4_000));
        let reading = tally.reading();
        let count = reading.get("instructions").unwrap();
        assert_eq!((count.value, count.coverage()), (7_000.0, 1.0));
    }

    #[test]
    fn threads_add_up_and_time_adds_up_with_them() {
        let (a, b) = (
            reading(&[("cycles", 100, 1_000, 1_000)]),
            reading(&[("cycles", 100, 1_000, 500), ("x", 0, 5, 0)]),
        );
        let sum = Reading::sum([&a, &b]);
        let cycles = sum.get("cycles").unwrap();
        assert_eq!((cycles.raw, cycles.enabled_ns, cycles.running_ns), (200, 2_000, 1_500));
        assert!((cycles.value - 200.0 * 2_000.0 / 1_500.0).abs() < 1e-9);
        assert_eq!(sum.not_counted[0].0, "x");
        // A thread in which the event was never counted is not treated as one in which it never occurred.
        let never = reading(&[("cycles", 0, 1_000, 0)]);
        let sum = Reading::sum([&a, &never]);
        let cycles = sum.get("cycles").unwrap();
        assert_eq!((cycles.value, cycles.coverage()), (200.0, 0.5));
    }

    #[test]
    fn no_cycles_is_no_ipc() {
        assert_eq!(reading(&[("instructions", 5, 1, 1)]).ipc(), None);
        assert_eq!(reading(&[("instructions", 5, 1, 1), ("cycles", 0, 1, 1)]).ipc(), None);
    }

    #[test]
    fn a_count_that_steps_back_is_none_rather_than_huge() {
        let (small, large) = (reading(&[("cycles", 10, 10, 10)]), reading(&[("cycles", 99, 99, 99)]));
        assert!(small.since(&large).get("cycles").is_none());
    }
}
