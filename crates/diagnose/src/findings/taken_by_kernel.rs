//! CPU time that a continuously busy program loses to interrupts and to other tasks.

use super::prelude::*;
use super::steal_time;

/// The share stolen by the operating system.
///
/// Time withheld by a quota of this cgroup is reported by `cpu-quota`: if all CPUs are busy, each CPU is stopped for 1 − quota ÷ CPUs of
/// the time.
pub(super) const RULE: Rule = Rule { name: "stolen-os", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    let stolen = steal_time::by_others(case)?;
    let taken = stolen.describe();

    let finding = RULE
        .report_loss(stolen.loss.clone(), text!("other tasks and interrupts take {taken}"))
        .locate_cpus(&stolen.cpus)
        .cite_all(stolen.evidence());
    Some(vec![finding])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::share_of;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{figure_in, machine, stolen};
    use record::text::Value;
    use record::{Text, detail};

    fn taken(finding: &Finding) -> Text {
        match finding.what.value("taken") {
            Some(Value::Sentence(taken)) => (**taken).clone(),
            _ => panic!("{finding:?}"),
        }
    }

    #[test]
    fn the_cpu_that_loses_is_named_and_what_it_is_of_all() {
        let finding = &found(&stolen("os", [0.0005, 0.5]), RULE)[0];
        assert_eq!(finding.place, Some("CPU 1".into()));
        assert!((share_of(&finding.loss) - 0.5).abs() < 1e-3, "{finding:?}");
        let taken = taken(finding);
        assert_eq!(taken.value("cpu"), Some(&"CPU 1".into()));
        assert_eq!(figure_in(&finding.evidence[2].says, "count"), 2.0);
        assert!((figure_in(&taken, "share") - 0.5).abs() < 1e-3, "{finding:?}");
        assert!((figure_in(&taken, "all") - 0.25).abs() < 1e-3, "{finding:?}");
        assert!((figure_in(&finding.evidence[1].says, "longest") - 4e6).abs() < 2e4, "{finding:?}");
    }

    #[test]
    fn time_that_came_in_bursts_counts() {
        let mut record = stolen("os", [0.02, 0.02]);
        for m in &mut record.measurements {
            let bursts = [0.15, 0.16, 0.16, 0.16, 0.16, 0.17, 0.16, 0.16];
            m.summary = record::Summary::from_samples(&bursts);
            m.detail.set(detail::SHARE_OF_ALL, 0.159);
        }
        let finding = &found(&record, RULE)[0];
        assert_eq!((share_of(&finding.loss), figure_in(&taken(finding), "share")), (0.159, 0.159));
    }

    #[test]
    fn what_the_quota_takes_is_not_reported_twice() {
        let mut record = stolen("os", [0.74, 0.76]);
        assert_eq!(found(&record, RULE).len(), 1);
        record.machine.limits.cpu_quota = Some(0.5);
        record.conditions.before.quota_throttled = Some(1);
        record.conditions.after = Some(record::Snapshot { quota_throttled: Some(9), ..Default::default() });
        assert_eq!(found(&record, RULE), []);
        record.conditions.after = Some(record::Snapshot { quota_throttled: Some(1), ..Default::default() });
        assert_eq!(found(&record, RULE).len(), 1, "a quota that did not throttle explains nothing");
    }

    #[test]
    fn a_quiet_cpu_is_silence_and_an_unreported_cause_is_missing() {
        assert_eq!(found(&stolen("os", [0.0005, 0.0099]), RULE), []);
        assert_eq!(found(&stolen("below", [0.2, 0.2]), RULE), []);
        assert_eq!(missing(&machine(2), RULE), Some("stolen time"));
        let mut unreported = stolen("os", [0.5, 0.5]);
        for m in &mut unreported.measurements {
            m.labels.0.remove("cause");
        }
        assert_eq!(missing(&unreported, RULE), Some("the cause of stolen time (/proc/interrupts)"));
    }
}
