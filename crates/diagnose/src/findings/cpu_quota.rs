//! A cgroup quota below the CPUs that the process may run on.

use record::diagnosis::Finding;
use record::units::significant;

use super::{Case, Rule, finding, lines};
use crate::figures::{modelled, told};

/// The quota against the CPUs allowed.
pub const RULE: Rule = Rule { name: "cpu-quota", find };

fn find(case: &Case) -> Vec<Finding> {
    one(case).into_iter().collect()
}

fn one(case: &Case) -> Option<Finding> {
    let quota = case.record.machine.limits.cpu_quota.filter(|quota| *quota > 0.0)?;
    let allowed = case.record.machine.counts.cpus_allowed.filter(|allowed| *allowed > 0)?;
    let loss = modelled(1.0 - quota / f64::from(allowed))?;
    let mut seen = vec![
        told(format!("quota of {} CPUs", significant(quota)), "machine.limits.cpu_quota"),
        told(format!("{allowed} CPUs allowed"), "machine.counts.cpus_allowed"),
    ];
    let conditions = &case.record.conditions;
    let after = conditions.after.as_ref().and_then(|after| after.quota_throttled);
    if let (Some(before), Some(after)) = (conditions.before.quota_throttled, after)
        && after > before
    {
        let says = format!("the quota stopped this cgroup in {} periods during the run", after - before);
        seen.push(told(says, "conditions.after.quota_throttled"));
    }
    let what = format!("a quota of {} CPUs stops the work on {allowed} CPUs", significant(quota));
    Some(Finding {
        measured: false,
        evidence: seen,
        remedy: lines([
            "raise or lift it: docker update --cpus N CONTAINER; resources.limits.cpu in Kubernetes; \
             systemctl set-property UNIT CPUQuota=; cpu.max in the cgroup",
            "or run no more threads than the quota has CPUs: stops of tens of milliseconds then end",
        ]),
        ..finding(&RULE, loss, what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{found, machine};

    #[test]
    fn a_quota_below_the_cpus_allowed_is_found() {
        let mut record = machine(4);
        record.machine.limits.cpu_quota = Some(0.5);
        record.conditions.before.quota_throttled = Some(10);
        record.conditions.after = Some(record::Snapshot { quota_throttled: Some(35), ..Default::default() });
        let finding = &found(&record, RULE)[0];
        assert!((crate::figures::share_of(&finding.loss) - 0.875).abs() < 1e-9);
        assert!(finding.evidence[2].says.contains("25 periods"), "{finding:?}");
    }

    #[test]
    fn a_quota_of_all_cpus_or_none_is_silence() {
        let mut record = machine(4);
        assert_eq!(found(&record, RULE), []);
        for quota in [4.0, 8.0, 0.0, -1.0, f64::NAN] {
            record.machine.limits.cpu_quota = Some(quota);
            assert_eq!(found(&record, RULE), [], "{quota}");
        }
    }
}
