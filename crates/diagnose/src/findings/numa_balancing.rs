//! Automatic NUMA balancing: while programs run, the kernel moves memory between nodes. To detect which CPU uses a page, the kernel first
//! unmaps the page.

use super::numa_latency::has_nodes;
use super::prelude::*;

/// Automatic NUMA balancing enabled on a machine with several nodes.
pub(super) const RULE: Rule = Rule { name: "numa-balancing", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    let setting = case.record.conditions.before.numa_balancing;
    let setting = setting.filter(|setting| *setting > 0 && has_nodes(case))?;

    let what = text!("automatic NUMA balancing is on: the kernel migrates memory between NUMA nodes");
    let finding = RULE
        .report_fact(Severity::Note, what)
        .cite(text!("kernel.numa_balancing = {setting}"), "conditions.before.numa_balancing")
        .mend([Remedy::both(
            text!("if programs are bound to their nodes, disable NUMA balancing"),
            "sudo sysctl kernel.numa_balancing=0",
        )
        .sets(KnobValue::new(KnobName::NumaBalancing, "0"))])
        .undo([Remedy::command(format!("sudo sysctl kernel.numa_balancing={setting}"))]);
    Some(vec![finding])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{machine, nodes};

    #[test]
    fn it_is_a_note_where_there_are_nodes_to_move_between() {
        let mut record = nodes(2, |_, _| 10, |_, _| 100.0);
        assert_eq!(missing(&record, RULE), Some("the automatic NUMA balancing setting"));
        record.conditions.before.numa_balancing = Some(1);
        assert_eq!(found(&record, RULE)[0].undo, [Remedy::command("sudo sysctl kernel.numa_balancing=1")]);
        record.conditions.before.numa_balancing = Some(0);
        assert_eq!(found(&record, RULE), []);
        let mut one = machine(2);
        assert_eq!(missing(&one, RULE), None);
        one.conditions.before.numa_balancing = Some(1);
        assert_eq!(found(&one, RULE), []);
    }
}
