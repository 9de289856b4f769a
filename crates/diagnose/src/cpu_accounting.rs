//! Who used the CPUs while a record was measured.

use record::{Label, Record, detail};

/// Kinds of CPU time in which somebody works.
const BUSY: [&str; 5] = ["user", "nice", "system", "irq", "softirq"];
/// A shorter run counts too few ticks (of 10 ms) to tell its own time from others'.
pub(crate) const LEAST_SECONDS: f64 = 1.0;

/// CPU time during a run, in seconds.
pub(crate) struct CpuAccounting {
    /// How long the run took.
    pub seconds: f64,
    /// Of this process, its children and the processes that it watched.
    pub own: f64,
    /// Of all.
    pub busy: f64,
}

impl CpuAccounting {
    /// What the record tells, where it tells all of it.
    pub(crate) fn from_record(record: &Record) -> Option<Self> {
        let (before, after) = (&record.conditions.before, record.conditions.after.as_ref()?);
        let mut busy = 0.0;
        for kind in BUSY {
            busy += after.cpu_seconds.get(kind)? - before.cpu_seconds.get(kind)?;
        }
        let seconds = after.uptime_seconds? - before.uptime_seconds?;
        let own = after.own_cpu_seconds? - before.own_cpu_seconds? + watched_seconds(record);
        Some(Self { seconds, own, busy })
    }

    /// CPUs that others used on average: all busy time less this process's own.
    pub(crate) fn by_others(&self) -> f64 {
        ((self.busy - self.own) / self.seconds).max(0.0)
    }
}

/// CPU time of processes that were no children and were watched (`stat -p`), seconds.
fn watched_seconds(record: &Record) -> f64 {
    let attached = record.measurements_of("workload.time").any(|time| time.detail.has(detail::ATTACHED_TO));
    let times = record.measurements_of("workload.cpu_time").filter(|time| {
        let sum = matches!(time.labels.word(Label::State), Some("user" | "system"));
        attached && sum && time.labels.get(Label::Thread).is_none()
    });
    times.map(|time| time.summary.median).filter(|seconds| seconds.is_finite()).sum()
}

/// CPUs that others used on average during a run that was long enough to tell.
pub fn used_by_others(record: &Record) -> Option<f64> {
    let accounting =
        CpuAccounting::from_record(record).filter(|accounting| accounting.seconds >= LEAST_SECONDS)?;
    Some(accounting.by_others()).filter(|used| used.is_finite())
}

#[cfg(test)]
mod tests {
    use record::Snapshot;

    use super::*;

    fn ran(seconds: f64, user: f64, own: f64) -> Record {
        let mut record = crate::samples::machine(2);
        let at = |uptime: f64, user: f64, own: f64| Snapshot {
            uptime_seconds: Some(uptime),
            own_cpu_seconds: Some(own),
            cpu_seconds: BUSY
                .iter()
                .map(|kind| ((*kind).to_owned(), if *kind == "user" { user } else { 0.0 }))
                .collect(),
            ..Snapshot::default()
        };
        record.conditions.before = at(100.0, 50.0, 1.0);
        record.conditions.after = Some(at(100.0 + seconds, 50.0 + user, 1.0 + own));
        record
    }

    #[test]
    fn what_is_watched_is_not_others() {
        let mut record = ran(10.0, 14.0, 1.0);
        let mut time = record::Measurement::new("workload.time", record::Labels::default(), vec![10.0]);
        time.detail.set(detail::ATTACHED_TO, "7");
        record.measurements.push(time);
        for (state, thread, seconds) in
            [("user", None, 7.0), ("system", None, 1.0), ("off-cpu", None, 2.0), ("user", Some("a 7"), 6.0)]
        {
            let mut place = record::Labels::default().with_label(Label::State, state);
            if let Some(thread) = thread {
                place = place.with_label(Label::Thread, thread);
            }
            record.measurements.push(record::Measurement::new("workload.cpu_time", place, vec![seconds]));
        }
        assert!((used_by_others(&record).unwrap() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn what_is_not_ours_is_others() {
        let used = used_by_others(&ran(10.0, 14.0, 9.0)).unwrap();
        assert!((used - 0.5).abs() < 1e-9, "{used}");
        // Ticks may count more for us than there was in all.
        assert_eq!(used_by_others(&ran(10.0, 8.9, 9.0)), Some(0.0));
        assert_eq!(used_by_others(&ran(0.5, 1.0, 0.1)), None);
        assert_eq!(used_by_others(&crate::samples::machine(2)), None);
    }
}
