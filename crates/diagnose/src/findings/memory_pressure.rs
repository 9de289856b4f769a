//! Tasks that wait for the kernel to free memory.

use super::prelude::*;

/// Pressure stall information for memory: the share of time during which at least one task waited.
///
/// The loss is the share of time during which all tasks waited, because other tasks run while some wait.
pub(super) const RULE: Rule = Rule { name: "memory-pressure", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    // Uses the pressure before the run, because pressure caused by the run's own arrays is not a finding about the machine.
    let pressure = &case.record.conditions.before.pressure;
    let some = *pressure.get("memory")?;
    modelled(some)?;
    let (share, all) = (Value::Share(some), pressure.get("memory_full").copied());
    let says = text!("at least one task waited {share} of the time", share = share.clone());
    let what = text!("tasks waited for memory {share} of the time");
    let finding = match all.and_then(modelled) {
        Some(loss) => RULE.report_loss(loss, what),
        None => RULE.report_fact(Severity::Note, what),
    };
    let all = all.map(|all| text!("all tasks waited {all} of the time", all = Value::Share(all)));
    let all = all.map(|all| cite_fact(all, "conditions.before.pressure.memory_full"));
    Some(vec![finding.cite(says, "conditions.before.pressure.memory").cite_all(all)])
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
        for (full, severity, share) in [
            (None, Severity::Note, 0.0),
            (Some(0.0), Severity::Note, 0.0),
            (Some(0.2), Severity::Warning, 0.2),
        ] {
            let pressure = &mut record.conditions.before.pressure;
            full.map(|full| pressure.insert("memory_full".to_owned(), full));
            let finding = &found(&record, RULE)[0];
            assert_eq!((finding.severity, crate::figures::share_of(&finding.loss)), (severity, share));
        }
    }
}
