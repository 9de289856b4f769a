//! A process that may use only some of the machine's CPUs.

use record::diagnosis::{Finding, Severity};
use record::{CpuList, Remedy, Template};

use super::needs::Need;
use super::{Case, Rule, by_model};
use crate::figures::{cite_fact, cpus_text, modelled};

/// CPUs allowed against CPUs online.
pub(super) const RULE: Rule = Rule {
    name: "cpuset-smaller",
    glossary: "
        The process may run on only some of the CPUs. A note where the others were isolated at boot.
        How: Modelled: 1 − CPUs allowed ÷ CPUs online.
    ",
    resource: None,
    needs: &[Need {
        what: Template { code: "needs-cpus-allowed", words: "the CPUs allowed for this process" },
        is_met: |case| {
            let counts = &case.record.machine.counts;
            counts.cpus_allowed.is_some() && counts.cpus_online.is_some()
        },
    }],
    find,
};

fn find(case: &Case) -> Vec<Finding> {
    find_cpuset_smaller(case).into_iter().collect()
}

fn find_cpuset_smaller(case: &Case) -> Option<Finding> {
    let machine = &case.record.machine;
    let allowed = machine.counts.cpus_allowed?;
    let online = machine.counts.cpus_online.filter(|online| *online > allowed)?;
    let loss = modelled(1.0 - f64::from(allowed) / f64::from(online))?;
    let limits = &machine.limits;
    let by_cpuset = !limits.cpuset.is_empty() && limits.cpuset.len() <= limits.affinity.len();
    let now = if by_cpuset { &limits.cpuset } else { &limits.affinity };
    let (who, from, remedy, undo) = if by_cpuset {
        (
            "its cpuset",
            "machine.limits.cpuset",
            [
                "widen it, of a container: docker update --cpuset-cpus LIST CONTAINER",
                "elsewhere cpuset.cpus in the cgroup",
            ],
            format!("docker update --cpuset-cpus {now} CONTAINER"),
        )
    } else {
        (
            "its affinity",
            "machine.limits.affinity",
            ["start it on all CPUs: taskset -c LIST COMMAND", "one that runs: taskset -acp LIST PID"],
            format!("taskset -acp {now} PID"),
        )
    };
    let mine = machine.allowed_cpus();
    let others: CpuList =
        machine.cpus.iter().filter(|cpu| cpu.online && !cpu.allowed).map(|cpu| cpu.id).collect();
    let mut finding = Finding {
        place: cpus_text(&mine).map(Into::into),
        evidence: vec![
            cite_fact(
                if allowed == 1 {
                    format!("1 CPU allowed by {who}")
                } else {
                    format!("{allowed} CPUs allowed by {who}")
                },
                from,
            ),
            cite_fact(
                format!("{online} CPUs online: what programs count that ask for the machine's CPUs"),
                "machine.counts.cpus_online",
            ),
        ],
        remedy: vec![
            Remedy::of_words(remedy[0]),
            Remedy::of_words(remedy[1]),
            Remedy::advice(
                "programs that size themselves by the machine: give them the number (nproc tells it)",
            ),
        ],
        undo: if now.is_empty() { Vec::new() } else { vec![Remedy::command(undo)] },
        ..by_model(&RULE, loss, format!("only {allowed} of {online} CPUs may be used"))
    };
    let isolated = &machine.kernel.isolated;
    if !others.is_empty() && others.iter().all(|cpu| isolated.contains(cpu)) {
        // They are kept for programs that are put there by name.
        finding.severity = Severity::Note;
        finding
            .evidence
            .push(cite_fact(format!("CPUs {others} are isolated at boot"), "machine.kernel.isolated"));
    }
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::machine;

    #[test]
    fn a_part_of_the_cpus_is_reported_with_its_loss() {
        let mut record = machine(8);
        record.machine.counts.cpus_allowed = Some(2);
        record.machine.limits.affinity = (0..2).collect();
        let finding = &found(&record, RULE)[0];
        assert_eq!(
            (finding.what.to_string().as_str(), finding.severity),
            ("only 2 of 8 CPUs may be used", Severity::Serious)
        );
        assert!(finding.remedy[0].to_string().contains("taskset"));
        record.machine.limits.cpuset = (0..2).collect();
        assert!(found(&record, RULE)[0].remedy[0].to_string().contains("cpuset"));
    }

    #[test]
    fn cpus_isolated_at_boot_are_a_note() {
        let mut record = machine(4);
        record.machine.counts.cpus_allowed = Some(2);
        for cpu in &mut record.machine.cpus[2..] {
            cpu.allowed = false;
        }
        assert_eq!(found(&record, RULE)[0].severity, Severity::Serious);
        record.machine.kernel.isolated = (2..4).collect();
        assert_eq!(found(&record, RULE)[0].severity, Severity::Note);
    }

    #[test]
    fn all_cpus_are_silence_and_a_captured_tree_misses_its_process() {
        let mut record = machine(8);
        assert_eq!(found(&record, RULE), []);
        record.machine.counts.cpus_allowed = None;
        assert_eq!(missing(&record, RULE), Some("needs-cpus-allowed"));
    }
}
