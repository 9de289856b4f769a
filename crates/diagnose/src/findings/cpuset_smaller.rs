//! A process that may use only some of the machine's CPUs.

use record::diagnosis::{Finding, Severity};

use super::{Case, Rule, finding, lines};
use crate::figures::{modelled, told};

/// CPUs allowed against CPUs online.
pub const RULE: Rule = Rule { name: "cpuset-smaller", find };

fn find(case: &Case) -> Vec<Finding> {
    one(case).into_iter().collect()
}

fn one(case: &Case) -> Option<Finding> {
    let machine = &case.record.machine;
    let allowed = machine.counts.cpus_allowed?;
    let online = machine.counts.cpus_online.filter(|online| *online > allowed)?;
    let loss = modelled(1.0 - f64::from(allowed) / f64::from(online))?;
    let limits = &machine.limits;
    let by_cpuset = !limits.cpuset.is_empty() && limits.cpuset.len() <= limits.affinity.len();
    let (who, from, remedy) = if by_cpuset {
        (
            "its cpuset",
            "machine.limits.cpuset",
            "widen it: docker update --cpuset-cpus LIST CONTAINER; cpuset.cpus in the cgroup",
        )
    } else {
        (
            "its affinity",
            "machine.limits.affinity",
            "start it on all CPUs: taskset -c LIST COMMAND; taskset -ap LIST PID",
        )
    };
    let mine = machine.allowed_cpus();
    Some(Finding {
        // Somebody chose it, and what runs beside is not known from here.
        severity: Severity::Note,
        measured: false,
        place: (!mine.is_empty()).then(|| format!("CPUs {mine}")),
        evidence: vec![
            told(format!("{allowed} CPUs allowed by {who}"), from),
            told(format!("{online} CPUs online"), "machine.counts.cpus_online"),
        ],
        remedy: lines([remedy]),
        ..finding(&RULE, loss, format!("only {allowed} of {online} CPUs may be used"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{found, machine};

    #[test]
    fn a_part_of_the_cpus_is_told_as_a_note() {
        let mut record = machine(8);
        record.machine.counts.cpus_allowed = Some(2);
        record.machine.limits.affinity = (0..2).collect();
        let finding = &found(&record, RULE)[0];
        assert_eq!(
            (finding.what.as_str(), finding.severity),
            ("only 2 of 8 CPUs may be used", Severity::Note)
        );
        assert!(finding.remedy[0].contains("taskset"));
        record.machine.limits.cpuset = (0..2).collect();
        assert!(found(&record, RULE)[0].remedy[0].contains("cpuset"));
    }

    #[test]
    fn all_cpus_or_a_captured_tree_are_silence() {
        let mut record = machine(8);
        assert_eq!(found(&record, RULE), []);
        record.machine.counts.cpus_allowed = None;
        assert_eq!(found(&record, RULE), []);
    }
}
