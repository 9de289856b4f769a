//! A cgroup quota below the CPUs that the process may run on.

use record::diagnosis::{Evidence, Finding, Severity};
use record::text::Value;
use record::units::{self, significant};
use record::{Remedy, Template, Text, text};

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
        cite_quota(quota),
        cite_fact(
            text!(
                "cpu-quota-allowed",
                "{cpus} allowed, the number that programs see",
                cpus = units::cpus(allowed)
            ),
            "machine.counts.cpus_allowed",
        ),
    ];
    if let Some(periods) = throttled_periods(case) {
        seen.push(cite_periods(periods));
        if let Some(stolen) = steal_time::worst(case, "os") {
            seen.extend(stolen.evidence());
        }
    }
    let what = if quota < 1.0 && allowed > 1 {
        text!(
            "cpu-quota-below-one",
            "a quota of {quota} CPUs throttles work on {cpus}; one thread alone gets {share}",
            quota = significant(quota),
            cpus = units::cpus(allowed),
            share = Value::Share(quota)
        )
    } else {
        text!(
            "cpu-quota-below-cpus",
            "a quota of {quota} CPUs throttles work on {allowed} CPUs",
            quota = significant(quota),
            allowed
        )
    };
    let old = significant(quota);
    Some(Finding {
        place: Some(text!("cpu-quota-cgroup", "this cgroup")),
        undo: vec![
            Remedy::command(format!("docker update --cpus {old} CONTAINER")),
            set_unit_quota(None, &format!("{:.0}%", quota * 100.0)),
        ],
        evidence: seen,
        remedy: vec![
            Remedy::both(
                text!("cpu-quota-raise-container", "raise or lift the quota of a container"),
                "docker update --cpus=N CONTAINER",
            ),
            set_unit_quota(Some(text!("cpu-quota-raise-service", "of a service")), ""),
            Remedy::advice(text!(
                "cpu-quota-raise-elsewhere",
                "in Kubernetes resources.limits.cpu; elsewhere cpu.max of the cgroup"
            )),
            Remedy::advice(text!(
                "cpu-quota-fewer-threads",
                "or run no more threads than the quota has CPUs (GOMAXPROCS, -XX:ActiveProcessorCount, OMP_NUM_THREADS): \
                 no stops of tens of milliseconds then"
            )),
        ],
        ..by_model(&RULE, loss, what)
    })
}

fn set_unit_quota(of: Option<Text>, value: &str) -> Remedy {
    Remedy { text: of, ..Remedy::command(format!("sudo systemctl set-property UNIT CPUQuota={value}")) }
}

fn cite_quota(quota: f64) -> Evidence {
    let says = text!("cpu-quota-set", "quota of {quota} CPUs", quota = significant(quota));
    cite_fact(says, "machine.limits.cpu_quota")
}

fn cite_periods(periods: u64) -> Evidence {
    let says = text!(
        "cpu-quota-periods",
        "the quota throttled this cgroup in {periods} periods of the run",
        periods
    );
    cite_fact(says, "conditions.after.quota_throttled")
}

/// Periods in which a cgroup was stopped though its quota is not below the CPUs allowed: it is another cgroup's above, or
/// one of many threads that all run for moments.
fn stopped(case: &Case) -> Option<Finding> {
    let periods = throttled_periods(case)?;
    let mut seen = vec![cite_periods(periods)];
    if let Some((quota, allowed)) = quota(case) {
        seen.push(cite_quota(quota));
        let says = text!("cpu-quota-cpus-allowed", "{allowed} CPUs allowed", allowed);
        seen.push(cite_fact(says, "machine.counts.cpus_allowed"));
    }
    Some(Finding {
        place: Some(text!("cpu-quota-cgroup", "this cgroup")),
        evidence: seen,
        remedy: vec![
            Remedy::both(
                text!("cpu-quota-which", "show the quota and its throttling, here and in parent cgroups"),
                "cat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu.stat",
            ),
            Remedy::advice(text!(
                "cpu-quota-burst",
                "raise it, or run fewer threads: a burst of many threads spends the quota of a period early"
            )),
        ],
        ..of_fact(
            &RULE,
            Severity::Warning,
            text!(
                "cpu-quota-length-unknown",
                "the length of each stop is not reported; stolen time shows what was taken"
            ),
            text!(
                "cpu-quota-threads-throttled",
                "a quota that allows all CPUs throttled work in {periods} periods",
                periods
            ),
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
