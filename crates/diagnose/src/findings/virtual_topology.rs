//! A virtual machine that presents each CPU as a single-core package, which hides shared resources from the scheduler.

use super::prelude::*;

/// The machine has a hypervisor, and as many packages as CPUs.
pub(super) const RULE: Rule = Rule { name: "virtual-topology", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    let counts = &case.record.machine.counts;
    let (packages, cpus) = (counts.packages?, counts.cpus_online?);
    if !case.record.machine.is_virtual() || cpus < 2 || packages != cpus {
        return None;
    }

    let what =
        text!("all {cpus} CPUs appear as single-core sockets: shared caches are hidden from the scheduler");
    let finding = RULE
        .report_fact(Severity::Note, what)
        .cite(text!("{packages} sockets, {cpus} CPUs"), "machine.counts.packages and .cpus_online");
    Some(vec![finding])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::machine;

    #[test]
    fn single_core_sockets_are_found_under_a_hypervisor_only() {
        let mut record = machine(4);
        record.machine.counts.packages = Some(4);
        assert_eq!(found(&record, RULE), []);
        record.machine.virtualization.hypervisor = Some("vmware".to_owned());
        assert_eq!(found(&record, RULE)[0].what.value("cpus"), Some(&4u32.into()));
        record.machine.counts.packages = Some(2);
        assert_eq!(found(&record, RULE), []);
        record.machine.counts.packages = None;
        assert_eq!(missing(&record, RULE), Some("counts of packages and CPUs"));
    }
}
