//! linespeed itself ran at a low priority, so other processes ran first.

use record::Snapshot;

use super::other_load;
use super::prelude::*;

/// A raised nice value, a policy below `SCHED_OTHER`, or a cgroup with less than the default weight. These settings have no cost on an
/// otherwise idle machine.
pub(super) const RULE: Rule = Rule { name: "own-priority", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    // In imported output, the priority is that of the shell, not of the measurement.
    case.record.import.is_none().then_some(())?;
    let severity = match other_load::RULE.findings(case).is_empty() {
        true => Severity::Note,
        false => Severity::Warning,
    };
    let what = text!("linespeed ran at a low priority: other processes ran first");
    let mut finding = RULE.report_fact(severity, what);
    let Snapshot { own_nice, own_policy, own_cpu_weight, .. } = &case.record.conditions.before;
    if let Some(nice) = own_nice.filter(|nice| *nice > 0) {
        let says = text!("nice value: {nice}", nice = nice.to_string());
        finding = finding.cite(says, "conditions.before.own_nice").mend_as("own-priority nice");
    }
    if let Some(policy) = own_policy.as_ref().filter(|policy| ["batch", "idle"].contains(&policy.as_str())) {
        finding = finding
            .cite(text!("scheduling policy: {policy}"), "conditions.before.own_policy")
            .mend_as("own-priority policy");
    }
    if let Some(weight) = own_cpu_weight.filter(|weight| *weight < 1.0) {
        let share = Value::Share(weight);
        let says = text!("CPU weight of the cgroup: {share} of the default");
        finding = finding.cite(says, "conditions.before.own_cpu_weight").mend_as("own-priority weight");
    }
    (!finding.evidence.is_empty()).then(|| vec![finding])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::found;
    use crate::samples::{machine, measured, ran};

    #[test]
    fn a_low_priority_is_a_note_and_beside_other_work_a_warning() {
        let mut record = machine(2);
        assert_eq!(found(&record, RULE), [], "records of version 0.1 lack this field");
        record.conditions.before.own_nice = Some(0);
        record.conditions.before.own_policy = Some("other".to_owned());
        record.conditions.before.own_cpu_weight = Some(1.0);
        assert_eq!(found(&record, RULE), []);
        record.conditions.before.own_nice = Some(-5);
        assert_eq!(found(&record, RULE), []);
        record.conditions.before.own_nice = Some(15);
        assert_eq!(found(&record, RULE)[0].severity, Severity::Note);
        record.measurements.push(measured("cost.syscall", record::Labels::new(), 100.0));
        ran(&mut record, 20.0, 10.0);
        assert_eq!(found(&record, RULE)[0].severity, Severity::Warning);
        assert_eq!(found(&record, RULE)[0].remedy.len(), 1);
        record.conditions.before.own_policy = Some("idle".to_owned());
        record.conditions.before.own_cpu_weight = Some(0.2);
        assert_eq!(found(&record, RULE)[0].evidence.len(), 3);
        record.import = Some(record::import::Import::default());
        assert_eq!(found(&record, RULE), []);
    }
}
