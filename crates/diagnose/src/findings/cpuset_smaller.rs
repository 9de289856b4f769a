//! A process that may use only some of the machine's CPUs.

use record::units;

use super::prelude::*;

/// The number of allowed CPUs compared with the number of online CPUs.
pub(super) const RULE: Rule = Rule { name: "cpuset-smaller", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    let machine = &case.record.machine;
    let allowed = machine.counts.cpus_allowed?;
    let online = machine.counts.cpus_online.filter(|online| *online > allowed)?;
    let loss = modelled(1.0 - f64::from(allowed) / f64::from(online))?;
    let what = text!("only {allowed} of {online} CPUs are allowed");
    let limits = &machine.limits;
    let by_cpuset = !limits.cpuset.is_empty() && limits.cpuset.len() <= limits.affinity.len();
    let cpus = units::cpus(allowed);
    let finding = RULE.report_model(loss, what).locate_cpus(&machine.allowed_cpus());
    let (now, undo, finding) = if by_cpuset {
        let now = &limits.cpuset;
        let finding = finding
            .cite(text!("cpuset-smaller-by-cpuset", "{cpus} allowed by the cpuset"), "machine.limits.cpuset")
            .mend_as("cpuset-smaller cpuset");
        (now, format!("docker update --cpuset-cpus={now} CONTAINER"), finding)
    } else {
        let now = &limits.affinity;
        let finding = finding
            .cite(text!("{cpus} allowed by the CPU affinity"), "machine.limits.affinity")
            .mend_as("cpuset-smaller affinity");
        (now, format!("taskset -acp {now} PID"), finding)
    };
    let finding = finding
        .cite(text!("{online} CPUs online (the number that many programs use)"), "machine.counts.cpus_online")
        .mend_as(RULE.name)
        .undo((!now.is_empty()).then(|| Remedy::command(undo)));
    let others = machine.cpus.iter().filter(|cpu| cpu.online && !cpu.allowed).map(|cpu| cpu.id);
    let others: CpuList = others.collect();
    if others.is_empty() || !others.is_subset(&machine.kernel.isolated) {
        return Some(vec![finding]);
    }
    // Isolated CPUs are reserved for programs that are explicitly assigned to them.
    let says = text!("CPUs {others} were isolated at boot");
    Some(vec![finding.felt_by(Relevance::None).cite(says, "machine.kernel.isolated")])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{figure_in, machine};
    use record::diagnosis::Severity;

    #[test]
    fn a_part_of_the_cpus_is_reported_with_its_loss() {
        let mut record = machine(8);
        record.machine.counts.cpus_allowed = Some(2);
        record.machine.limits.affinity = (0..2).collect();
        let finding = &found(&record, RULE)[0];
        assert_eq!(finding.severity, Severity::Serious);
        assert_eq!(["allowed", "online"].map(|name| figure_in(&finding.what, name)), [2.0, 8.0]);
        assert_eq!(finding.remedy[0].command.as_deref(), Some("taskset -c LIST COMMAND"));
        record.machine.limits.cpuset = (0..2).collect();
        assert_eq!(found(&record, RULE)[0].evidence[0].says.code(), Some("cpuset-smaller-by-cpuset"));
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
        assert_eq!(missing(&record, RULE), Some("the CPUs allowed for this process"));
    }
}
