//! Tasks that wait for the kernel to free memory.

use super::prelude::*;

/// Pressure stall information for memory: the share of time during which at least one task waited.
pub(super) const RULE: Rule = Rule { name: "memory-pressure", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    // Uses the pressure before the run, because pressure caused by the run's own arrays is not a finding about the machine.
    let share = *case.record.conditions.before.pressure.get("memory")?;
    let loss = modelled(share)?;
    let share = Value::Share(share);
    let says = text!("at least one task waited {share} of the time", share = share.clone());
    let finding = RULE
        .report_loss(loss, text!("tasks waited for memory {share} of the time"))
        .cite(says, "conditions.before.pressure.memory");
    Some(vec![finding])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::machine;

    #[test]
    fn waiting_for_memory_is_found_and_hardly_any_is_not() {
        let mut record = machine(1);
        assert_eq!(missing(&record, RULE), Some("memory pressure (PSI)"));
        record.conditions.before.pressure.insert("memory".to_owned(), 0.004);
        assert_eq!(found(&record, RULE), []);
        record.conditions.before.pressure.insert("memory".to_owned(), 0.25);
        assert_eq!(found(&record, RULE)[0].what.value("share"), Some(&Value::Share(0.25)));
    }
}
