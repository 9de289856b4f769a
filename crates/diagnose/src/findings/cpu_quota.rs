//! A cgroup quota below the CPUs that the process may run on.

use record::diagnosis::{Finding, Severity};
use record::units::{self, percent, significant};
use record::{Remedy, Template};

use super::needs::Need;
use super::quota::{quota, throttled_periods};
use super::{Case, Rule, by_model, of_fact, steal_time};
use crate::figures::{cite_fact, modelled};
use crate::resources::CORE;

/// The quota against the CPUs allowed.
pub(super) const RULE: Rule = Rule {
    name: "cpu-quota",
    glossary: "",
    resource: Some(CORE),
    needs: &[
        // No quota is none, not a quota that is not told.
        Need {
            what: Template { code: "needs-cpus-allowed", words: "the CPUs allowed for this process" },
            is_met: |case| case.record.machine.counts.cpus_allowed.is_some(),
        },
    ],
    find,
};

fn find(case: &Case) -> Vec<Finding> {
    find_smaller_quota(case).into_iter().collect()
}

fn find_smaller_quota(case: &Case) -> Option<Finding> {
    let smaller = quota(case)
        .and_then(|(quota, allowed)| Some((quota, allowed, modelled(1.0 - quota / f64::from(allowed))?)));
    let Some((quota, allowed, loss)) = smaller else {
        return stopped(case);
    };
    let mut seen = vec![
        cite_fact(format!("quota of {} CPUs", significant(quota)), "machine.limits.cpu_quota"),
        cite_fact(
            format!("{} allowed, which is what programs count", units::cpus(allowed)),
            "machine.counts.cpus_allowed",
        ),
    ];
    if let Some(periods) = throttled_periods(case) {
        let says = format!("the quota stopped this cgroup in {periods} periods during the run");
        seen.push(cite_fact(says, "conditions.after.quota_throttled"));
        if let Some(stolen) = steal_time::worst(case, "os") {
            seen.extend(stolen.evidence());
        }
    }
    let what = if quota < 1.0 && allowed > 1 {
        format!(
            "a quota of {} CPUs stops the work on {}; one thread alone gets {}",
            significant(quota),
            units::cpus(allowed),
            percent(quota)
        )
    } else {
        format!("a quota of {} CPUs stops the work on {allowed} CPUs", significant(quota))
    };
    let old = significant(quota);
    Some(Finding {
        place: Some("this cgroup".into()),
        undo: vec![
            Remedy::command(format!("docker update --cpus {old} CONTAINER")),
            Remedy::command(format!("sudo systemctl set-property UNIT CPUQuota={:.0}%", quota * 100.0)),
        ],
        evidence: seen,
        remedy: vec![
            Remedy::both("raise or lift it, of a container", "docker update --cpus N CONTAINER"),
            Remedy::both("of a service", "sudo systemctl set-property UNIT CPUQuota="),
            Remedy::advice("in Kubernetes resources.limits.cpu; elsewhere cpu.max in the cgroup"),
            Remedy::advice(
                "or run no more threads than the quota has CPUs (GOMAXPROCS, -XX:ActiveProcessorCount, OMP_NUM_THREADS): \
             stops of tens of milliseconds then end",
            ),
        ],
        ..by_model(&RULE, loss, what)
    })
}

/// Periods in which a cgroup was stopped though its quota is not below the CPUs allowed: it is another cgroup's above, or
/// one of many threads that all run for moments.
fn stopped(case: &Case) -> Option<Finding> {
    let periods = throttled_periods(case)?;
    let says = format!("the quota stopped this cgroup in {periods} periods during the run");
    let mut seen = vec![cite_fact(says, "conditions.after.quota_throttled")];
    if let Some((quota, allowed)) = quota(case) {
        seen.push(cite_fact(format!("quota of {} CPUs", significant(quota)), "machine.limits.cpu_quota"));
        seen.push(cite_fact(format!("{allowed} CPUs allowed"), "machine.counts.cpus_allowed"));
    }
    Some(Finding {
        place: Some("this cgroup".into()),
        evidence: seen,
        remedy: vec![
            Remedy::both(
                "which quota and how often, here and in the cgroups above",
                "cat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu.stat",
            ),
            Remedy::advice(
                "raise it, or run fewer threads: a burst of many threads spends the quota of a period in a part of it",
            ),
        ],
        ..of_fact(
            &RULE,
            Severity::Warning,
            "how long each stop lasted is not told; stolen time shows what was taken",
            format!("a quota stopped the work in {periods} periods though it allows all CPUs"),
        )
    })
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
        assert!(finding.evidence[2].says.to_string().contains("25 periods"), "{finding:?}");
        assert!(finding.what.to_string().ends_with("one thread alone gets 50.0 %"), "{finding:?}");
    }

    #[test]
    fn stops_without_a_smaller_quota_are_reported_without_a_loss() {
        let mut record = machine(4);
        record.conditions.before.quota_throttled = Some(3);
        record.conditions.after = Some(record::Snapshot { quota_throttled: Some(9), ..Default::default() });
        let finding = &found(&record, RULE)[0];
        assert!(finding.what.to_string().contains("in 6 periods"), "{finding:?}");
        assert!(matches!(finding.loss, record::Verdict::NotMeasurable { .. }), "{finding:?}");
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
        assert_eq!(missing(&record, RULE), Some("needs-cpus-allowed"));
    }
}
