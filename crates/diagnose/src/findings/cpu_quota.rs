//! A cgroup quota below the number of CPUs on which the process may run.

use record::Conditions;
use record::units::{self, significant};

use super::prelude::*;
use super::quota::{self, quota, throttled_periods};
use super::steal_time;

/// The quota compared with the number of allowed CPUs.
pub(super) const RULE: Rule = Rule { name: "cpu-quota", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    let found = find_smaller_quota(case).or_else(|| find_throttled(case))?;
    Some(vec![found.locate(text!("the CPUs of this cgroup"))])
}

fn find_smaller_quota(case: &Case) -> Option<Finding> {
    let (quota, allowed) = quota(case)?;
    (!quota::hardly_throttled(case)).then_some(())?;
    let loss = modelled(1.0 - quota / f64::from(allowed))?;
    let (cpus, old) = (units::cpus(allowed), significant(quota));
    let what = if quota < 1.0 && allowed > 1 {
        text!(
            "a quota of {quota} CPUs throttles work on {cpus}; a single thread gets {share} of a CPU",
            quota = &old,
            cpus = &cpus,
            share = Value::Share(quota)
        )
    } else {
        text!("a quota of {quota} CPUs throttles work on {allowed} CPUs", quota = &old)
    };
    let mut seen = vec![cite_quota(quota)];
    let says = text!("{cpus} allowed (the number that programs detect)");
    seen.push(cite_fact(says, "machine.counts.cpus_allowed"));
    if let Some(periods) = throttled_periods(case) {
        seen.push(cite_periods(periods));
        seen.extend(steal_time::worst(case, "os").iter().flat_map(|stolen| stolen.evidence()));
    }
    seen.extend(throttled_before(case).map(|(_, seen)| seen));
    let as_before = [
        format!("docker update --cpus {old} CONTAINER"),
        format!("sudo systemctl set-property UNIT CPUQuota={:.0}%", quota * 100.0),
    ];
    let finding = RULE.report_model(loss, what).cite_all(seen);
    Some(finding.undo(as_before.map(Remedy::command)))
}

fn cite_quota(quota: f64) -> Evidence {
    cite_fact(text!("quota of {quota} CPUs", quota = significant(quota)), "machine.limits.cpu_quota")
}

fn cite_periods(periods: u64) -> Evidence {
    let says = text!("the quota throttled this cgroup in {periods} periods of the run");
    cite_fact(says, "conditions.after.quota_throttled")
}

/// Periods in which a cgroup was throttled although its quota is not below the number of allowed CPUs: the quota belongs to a parent
/// cgroup, or bursts of many threads exhausted the quota.
fn find_throttled(case: &Case) -> Option<Finding> {
    let during = throttled_periods(case).map(|periods| {
        (text!("a quota that covers all CPUs throttled work in {periods} periods"), cite_periods(periods))
    });
    let (what, seen) = during.or_else(|| throttled_before(case))?;
    let of_quota = quota(case).map(|(quota, allowed)| {
        [cite_quota(quota), cite_fact(text!("{allowed} CPUs allowed"), "machine.counts.cpus_allowed")]
    });
    let is_old = case.record.machine.limits.cgroup_version == Some(1);
    let section = if is_old { "cpu-quota throttled v1" } else { "cpu-quota throttled" };
    let finding = RULE.report_fact_as(section, Severity::Warning, what).cite_all([seen]);
    Some(finding.cite_all(of_quota.into_iter().flatten()).mend_as(section))
}

/// Without a run, the periods since the cgroup was created count if at least a quarter of them were throttled, as in the usual
/// alert of Kubernetes. A hundred periods usually take 10 s.
fn throttled_before(case: &Case) -> Option<(Text, Evidence)> {
    let Conditions { before, after, .. } = &case.record.conditions;
    let (throttled, periods) = before.quota_throttled.zip(before.quota_periods)?;
    (after.is_none() && periods >= 100 && throttled >= periods.div_ceil(4)).then_some(())?;
    let what =
        text!("a quota throttled work in {throttled} of {periods} periods since the cgroup was created");
    Some((what.clone(), cite_fact(what, "conditions.before.quota_throttled")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::machine;

    #[test]
    fn a_quota_below_the_cpus_allowed_is_found() {
        let mut record = machine(4);
        record.machine.limits.cpu_quota = Some(0.5);
        record.conditions.before.quota_throttled = Some(10);
        record.conditions.after = Some(record::Snapshot { quota_throttled: Some(35), ..Default::default() });
        let finding = &found(&record, RULE)[0];
        assert!((crate::figures::share_of(&finding.loss) - 0.875).abs() < 1e-9);
        assert_eq!(finding.evidence[2].says.value("periods"), Some(&Value::Count(25)));
        assert_eq!(finding.what.value("share"), Some(&Value::Share(0.5)));
    }

    #[test]
    fn stops_without_a_smaller_quota_are_reported_without_a_loss() {
        let mut record = machine(4);
        record.conditions.before.quota_throttled = Some(3);
        record.conditions.after = Some(record::Snapshot { quota_throttled: Some(9), ..Default::default() });
        let finding = &found(&record, RULE)[0];
        assert_eq!(finding.what.value("periods"), Some(&Value::Count(6)));
        assert!(matches!(finding.loss, record::Verdict::NotMeasurable { .. }), "{finding:?}");
    }

    #[test]
    fn a_pasted_cgroup_that_is_often_throttled_is_found() {
        let mut record = record::Record { import: Some(Default::default()), ..machine(4) };
        record.machine.counts.cpus_allowed = None;
        record.conditions.before.quota_periods = Some(1000);
        for (throttled, expected) in [(0, 0), (249, 0), (250, 1), (800, 1)] {
            record.conditions.before.quota_throttled = Some(throttled);
            assert_eq!(found(&record, RULE).len(), expected, "{throttled}");
        }
        assert!(matches!(found(&record, RULE)[0].loss, record::Verdict::NotMeasurable { .. }));
        record.import = None;
        assert_eq!(found(&record, RULE).len(), 1, "an inspection has no run either");
        record.conditions.after = Some(record.conditions.before.clone());
        assert_eq!(found(&record, RULE), [], "a run has its own periods");
    }

    #[test]
    fn a_quota_of_an_inspected_machine_counts_if_it_throttles() {
        let mut record = machine(8);
        record.machine.limits.cpu_quota = Some(2.0);
        (record.conditions.after, record.conditions.before.quota_periods) = (None, Some(60_000));
        for (throttled, evidence) in [(54_000, Some(3)), (700, Some(2)), (600, None), (0, None)] {
            record.conditions.before.quota_throttled = Some(throttled);
            let cited = found(&record, RULE).first().map(|finding| finding.evidence.len());
            assert_eq!(cited, evidence, "{throttled}");
        }
    }

    #[test]
    fn the_commands_are_those_of_the_version_of_cgroups() {
        let mut record = machine(4);
        (record.conditions.before.quota_periods, record.conditions.before.quota_throttled) =
            (Some(100), Some(80));
        let command = |record: &record::Record| found(record, RULE)[0].remedy[0].command.clone();
        let newer = command(&record);
        record.machine.limits.cgroup_version = Some(1);
        assert!(newer != command(&record) && newer.is_some());
    }

    #[test]
    fn a_quota_of_all_cpus_or_none_is_silence() {
        let mut record = machine(4);
        assert_eq!(found(&record, RULE), []);
        for quota in [4.0, 8.0, 0.0, -1.0, f64::NAN] {
            record.machine.limits.cpu_quota = Some(quota);
            assert_eq!(found(&record, RULE), [], "{quota}");
        }
        record.machine.limits.cpu_quota = Some(4.0);
        record.conditions.before.quota_throttled = Some(3);
        record.conditions.after = Some(record::Snapshot { quota_throttled: Some(3), ..Default::default() });
        assert_eq!(found(&record, RULE), []);
        record.machine.counts.cpus_allowed = None;
        assert_eq!(missing(&record, RULE), Some("the CPUs allowed for this process"));
    }
}
