//! CPU time used by other processes while a record was measured.

use crate::shape;
use record::command_run::Around;
use record::text::Value;
use record::{
    Doubt, Label, Mark, Measurement, Record, SampleMark, Template, Text, detail, metrics, text, units,
};

/// Kinds of busy CPU time.
const BUSY: [&str; 5] = ["user", "nice", "system", "irq", "softirq"];
/// A shorter run has too few ticks (of 10 ms) to separate its own CPU time from that of other processes. The limit is below 1 s because an
/// interval of a second may be slightly shorter.
pub(crate) const LEAST_SECONDS: f64 = 0.95;

/// CPU time during a run, in seconds.
pub(crate) struct CpuAccounting {
    /// Duration of the run.
    pub seconds: f64,
    /// CPU time of this process, its children and the processes it observed.
    pub own: f64,
    /// CPU time of all processes.
    pub busy: f64,
}

impl CpuAccounting {
    /// Reads the CPU time from a record; `None` if any part is missing.
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

    /// Mean number of CPUs that other processes used: total busy time minus linespeed's own CPU time, divided by the duration.
    pub(crate) fn by_others(&self) -> f64 {
        ((self.busy - self.own) / self.seconds).max(0.0)
    }
}

/// CPU time of observed processes that are not children (`stat -p`), seconds.
fn watched_seconds(record: &Record) -> f64 {
    let mut times = record.measurements_of(metrics::WORKLOAD_TIME);
    if !times.any(|time| time.detail.has(detail::ATTACHED_TO)) {
        return 0.0;
    }
    cpu_times(record).map(|time| time.summary.median).filter(|seconds| seconds.is_finite()).sum()
}

/// CPU time of complete workloads, in user mode and in the kernel.
fn cpu_times(record: &Record) -> impl Iterator<Item = &Measurement> {
    record.measurements_of(metrics::WORKLOAD_CPU_TIME).filter(|time| {
        let sum = matches!(time.labels.word(Label::State), Some("user" | "system"));
        sum && time.labels.get(Label::Thread).is_none()
    })
}

/// Mean number of CPUs used by other processes while a command ran, as in the command's verdict. If there was no command, or if it was too
/// short for tick accounting, this is the mean over the whole run, provided that the run was long enough.
pub fn used_by_others(record: &Record) -> Option<f64> {
    let used = of_command(record).or_else(|| {
        let accounting = CpuAccounting::from_record(record);
        accounting.filter(|accounting| accounting.seconds >= LEAST_SECONDS).map(|all| all.by_others())
    });
    used.filter(|used| used.is_finite())
}

/// Minimum number of CPUs used by other processes to affect the results.
pub const DISTURBED: f64 = 0.05;
/// Minimum number of CPUs used by other processes to cause noise.
const NOISY: f64 = 0.1;

/// Above this share of CPUs lost to other processes or the hypervisor, headline results show little about the machine.
const TOO_MUCH: f64 = 0.05;

/// The disturbance of an entire run, if it is so large that headline results show little about the machine: the CPU time used by other
/// processes or stolen by the hypervisor, whichever is more.
pub fn disturbance(record: &Record) -> Option<Text> {
    let cpus = record.machine.counts.cpus_online?.max(1);
    let used = used_by_others(record).unwrap_or_default();
    let stolen = record.conditions.after.as_ref().and_then(|after| after.steal_share).unwrap_or_default();
    let share = used / f64::from(cpus);
    let (used, taken) = (units::cpus_in_use(used), Value::Rounded(Box::new(Value::Share(stolen)), 2));
    (share.max(stolen) >= TOO_MUCH).then(|| match stolen > share {
        true => text!("the hypervisor took {taken} of CPU time", taken),
        false => text!("other processes used {used} of {cpus} CPUs"),
    })
}

/// Adds a cause of noise (migrated vCPUs or other processes) to the doubts that lack one, so that a run disturbed by other processes is
/// never reported as undisturbed.
pub fn explain_noise(record: &mut Record) {
    let states = shape::of_record(record).map(|shape| shape::moved(&shape).to_vec()).unwrap_or_default();
    for m in record.measurements.iter_mut().filter(|m| m.doubt.is_some()) {
        let explained = shape::noise::explain(m, &states).and_then(|by| m.doubt.as_ref()?.explained_by(by));
        m.doubt = explained.or(m.doubt.take());
    }
    let Some(used) = used_by_others(record) else { return };
    for m in &mut record.measurements {
        m.doubt = m.doubt.take().map(|doubt| relate(doubt, &m.marks, used));
        if used <= NOISY {
            continue;
        }
        let cause =
            || text!("other processes used {used} during the run", used = Value::Figure(used, "CPUs"));
        if let Some(explained) = m.doubt.as_ref().and_then(|doubt| doubt.explained_by(cause())) {
            m.doubt = Some(explained);
        }
    }
}

/// Adds the average CPU use of other processes over the run to a doubt if other processes interrupted some of the samples.
fn relate(doubt: Doubt, marks: &[SampleMark], used: f64) -> Doubt {
    let switched = marks.iter().any(|mark| mark.mark == Mark::Switched);
    let (Some(Value::Sentence(extent)), Some(Value::List(causes)), true) =
        (doubt.value("extent"), doubt.value("cause"), switched)
    else {
        return doubt;
    };
    let used = match used < LEAST_SHOWN {
        true => text!("less than {least} CPUs", least = units::cpus_in_use(LEAST_SHOWN)),
        false => text!("{used} CPUs", used = units::cpus_in_use(used)),
    };
    if causes.iter().any(|cause| cause.is(&OVER_THE_RUN)) {
        return doubt;
    }
    let causes = [causes.as_slice(), &[text!(OVER_THE_RUN, used)]].concat();
    Doubt::too_noisy_for((**extent).clone(), causes)
}

const OVER_THE_RUN: Template =
    Template::new("others-over-the-run", "other processes used {used} on average over the whole run");
/// The smallest displayed number of CPUs in use.
const LEAST_SHOWN: f64 = 0.01;

/// The number of CPUs that other processes used while a command used `used` CPUs, even if the command was shorter than a few ticks.
pub(crate) fn beside(around: &Around, used: f64) -> Option<f64> {
    let (busy, seconds) = around.busy_seconds.zip(around.seconds)?;
    Some((busy / seconds.max(1e-9) - used).max(0.0))
}

/// The number of CPUs that other processes used; `None` if the command was too short for tick accounting.
pub(crate) fn reported_beside(around: &Around, used: f64) -> Option<f64> {
    beside(around, used).filter(|_| around.seconds.is_some_and(|seconds| seconds >= LEAST_SECONDS))
}

/// CPUs that other processes used while the command of a record ran.
fn of_command(record: &Record) -> Option<f64> {
    let time = record.measurements_of(metrics::WORKLOAD_TIME).find(is_of_command)?;
    let own = cpu_times(record).filter(|m| m.labels.word(Label::Workload) == Some(COMMAND));
    let own: f64 = own.map(|m| m.value().max(0.0)).sum();
    reported_beside(&time.detail.get(detail::AROUND)?, own / time.value())
}

/// The workload of a command that `stat` ran.
const COMMAND: &str = "command";

/// Whether a result is the time of a command that `stat` ran. A time with a thread count belongs to a scaling run instead.
pub(crate) fn is_of_command(time: &&Measurement) -> bool {
    time.labels.word(Label::Workload) == Some(COMMAND) && time.labels.get(Label::Threads).is_none()
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
    fn a_disturbance_is_named_by_what_took_more() {
        let by = |user: f64, stolen: f64| {
            let mut record = ran(10.0, user, 9.0);
            record.conditions.after.as_mut().unwrap().steal_share = Some(stolen);
            disturbance(&record).map(|says| (says.value("used").is_some(), says.value("taken").is_some()))
        };
        assert_eq!((by(9.0, 0.0), by(9.0, 0.04)), (None, None));
        assert_eq!(by(14.0, 0.1), Some((true, false)), "0.5 of 2 CPUs");
        assert_eq!((by(9.0, 0.06), by(14.0, 0.3)), (Some((false, true)), Some((false, true))));
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
    fn beside_a_command_others_are_counted_while_it_ran_as_its_verdict_counts_them() {
        // A run of 2 s in which other processes used 0.5 CPUs.
        let with_command = |wall: f64, busy: f64| {
            let mut record = ran(2.0, 2.0, 1.0);
            let place = || record::Labels::default().with_label(Label::Workload, COMMAND);
            let mut time = Measurement::new("workload.time", place(), vec![wall]);
            let around = Around { seconds: Some(wall), busy_seconds: Some(busy), ..Around::default() };
            time.detail.set_parts(detail::AROUND, &around);
            time.detail.set(detail::CPU_COUNT, 8u32);
            record.measurements.push(time);
            let place = place().with_label(Label::State, "user");
            record.measurements.push(Measurement::new("workload.cpu_time", place, vec![3.0 * wall]));
            record
        };
        let record = with_command(1.25, 5.5);
        assert!((used_by_others(&record).unwrap() - 1.4).abs() < 1e-6);
        let said = crate::bound::bound(&crate::RecordIndex::new(&record)).unwrap().says.to_string();
        assert!(said.contains("other processes use 1.40."), "{said}");
        // Ticks show nothing about a short command, so the result is that of the whole run.
        let record = with_command(0.4, 1.76);
        assert_eq!(used_by_others(&record), Some(0.5));
        let said = crate::bound::bound(&crate::RecordIndex::new(&record)).unwrap();
        assert!(!said.says.to_string().contains("other processes 1"), "{said:?}");
        assert!(said.evidence.iter().all(|seen| seen.says.code() != Some("bound-others-used")), "{said:?}");
    }

    #[test]
    fn noise_beside_other_programs_is_not_said_to_have_no_cause() {
        let doubt_of = |busy: f64| {
            let mut record = ran(10.0, busy, 9.0);
            let mut m = Measurement::new("cost.syscall", record::Labels::default(), vec![190.0]);
            m.doubt = Some(record::Doubt::too_noisy_for("samples scatter".into(), Vec::new()));
            record.measurements.push(m);
            explain_noise(&mut record);
            record.measurements[0].doubt.as_ref().and_then(record::Doubt::noise).unwrap()
        };
        let beside = doubt_of(14.0);
        assert!(beside.is_explained && beside.cause.contains("other processes used"), "{beside:?}");
        assert!(!doubt_of(9.05).is_explained, "there was no other process");
    }

    #[test]
    fn what_is_not_ours_is_others() {
        let used = used_by_others(&ran(10.0, 14.0, 9.0)).unwrap();
        assert!((used - 0.5).abs() < 1e-9, "{used}");
        // Because of ticks, this process's time may exceed the total time.
        assert_eq!(used_by_others(&ran(10.0, 8.9, 9.0)), Some(0.0));
        assert_eq!(used_by_others(&ran(0.5, 1.0, 0.1)), None);
        assert_eq!(used_by_others(&crate::samples::machine(2)), None);
    }

    #[test]
    fn noise_of_others_in_some_samples_has_their_average_beside_it() {
        let noisy = || {
            let causes = vec![text!("noise-switched", "something else ran in 6 of 8 samples")];
            Doubt::too_noisy_for(text!("the median is known to ±9 % only"), causes)
        };
        let switched = [SampleMark { sample: 0, mark: Mark::Switched }];
        let related = relate(noisy(), &switched, 0.002);
        let Some(Value::List(causes)) = related.value("cause") else { panic!("{related:?}") };
        assert!(causes.len() == 2 && causes[1].is(&OVER_THE_RUN), "{related:?}");
        assert_eq!(related.kind(), noisy().kind());
        assert!(causes[1].to_string().contains("0.01"), "a running process never uses 0 CPUs: {related:?}");
        assert_eq!(relate(related.clone(), &switched, 0.002), related, "the cause is added only once");
        assert_eq!(relate(noisy(), &[], 0.002), noisy());
    }
}
