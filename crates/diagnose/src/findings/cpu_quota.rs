//! A cgroup quota below the CPUs that the process may run on.

use record::diagnosis::Finding;
use record::units::{percent, significant};

use super::{Case, Rule, by_model, inputs, lines, theft};
use crate::figures::{modelled, told};
use crate::resources::CORE;

/// The quota against the CPUs allowed.
pub const RULE: Rule = Rule { name: "cpu-quota", resource: Some(CORE), missing, find };

fn missing(case: &Case) -> Option<&'static str> {
    // No quota is none, not a quota that is not told.
    inputs::told(case.record.machine.counts.cpus_allowed, "the CPUs that this process may use")
}

fn find(case: &Case) -> Vec<Finding> {
    one(case).into_iter().collect()
}

/// The quota in CPUs and the CPUs allowed, where there is a quota.
fn quota(case: &Case) -> Option<(f64, u32)> {
    let quota = case.record.machine.limits.cpu_quota.filter(|quota| *quota > 0.0)?;
    Some((quota, case.record.machine.counts.cpus_allowed.filter(|allowed| *allowed > 0)?))
}

/// Periods in which the quota stopped this cgroup during the run.
fn periods(case: &Case) -> Option<u64> {
    let conditions = &case.record.conditions;
    let after = conditions.after.as_ref()?.quota_throttled?;
    after.checked_sub(conditions.before.quota_throttled?).filter(|periods| *periods > 0)
}

/// The share of each CPU's time that the quota takes when all work, where it did stop this cgroup during the run.
pub(super) fn stops(case: &Case) -> Option<f64> {
    periods(case)?;
    quota(case).map(|(quota, allowed)| 1.0 - quota / f64::from(allowed)).filter(|share| *share > 0.0)
}

fn one(case: &Case) -> Option<Finding> {
    let (quota, allowed) = quota(case)?;
    let loss = modelled(1.0 - quota / f64::from(allowed))?;
    let mut seen = vec![
        told(format!("quota of {} CPUs", significant(quota)), "machine.limits.cpu_quota"),
        told(format!("{allowed} CPUs allowed, which is what programs count"), "machine.counts.cpus_allowed"),
    ];
    if let Some(periods) = periods(case) {
        let says = format!("the quota stopped this cgroup in {periods} periods during the run");
        seen.push(told(says, "conditions.after.quota_throttled"));
        if let Some(theft) = theft::worst(case, "os") {
            seen.extend(theft.evidence());
        }
    }
    let what = if quota < 1.0 && allowed > 1 {
        format!(
            "a quota of {} CPUs stops the work on {allowed} CPUs; one thread alone gets {}",
            significant(quota),
            percent(quota)
        )
    } else {
        format!("a quota of {} CPUs stops the work on {allowed} CPUs", significant(quota))
    };
    Some(Finding {
        evidence: seen,
        remedy: lines([
            "raise or lift it: docker update --cpus N CONTAINER; resources.limits.cpu in Kubernetes; \
             systemctl set-property UNIT CPUQuota=; cpu.max in the cgroup",
            "or run no more threads than the quota has CPUs (GOMAXPROCS, -XX:ActiveProcessorCount, OMP_NUM_THREADS): \
             stops of tens of milliseconds then end",
        ]),
        ..by_model(&RULE, loss, what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{found, machine, missing};

    #[test]
    fn a_quota_below_the_cpus_allowed_is_found() {
        let mut record = machine(4);
        record.machine.limits.cpu_quota = Some(0.5);
        record.conditions.before.quota_throttled = Some(10);
        record.conditions.after = Some(record::Snapshot { quota_throttled: Some(35), ..Default::default() });
        let finding = &found(&record, RULE)[0];
        assert!((crate::figures::share_of(&finding.loss) - 0.875).abs() < 1e-9);
        assert!(finding.evidence[2].says.contains("25 periods"), "{finding:?}");
        assert!(finding.what.ends_with("one thread alone gets 50.0 %"), "{finding:?}");
    }

    #[test]
    fn a_quota_of_all_cpus_or_none_is_silence() {
        let mut record = machine(4);
        assert_eq!(found(&record, RULE), []);
        for quota in [4.0, 8.0, 0.0, -1.0, f64::NAN] {
            record.machine.limits.cpu_quota = Some(quota);
            assert_eq!(found(&record, RULE), [], "{quota}");
        }
        record.machine.counts.cpus_allowed = None;
        assert_eq!(missing(&record, RULE), Some("the CPUs that this process may use"));
    }
}
