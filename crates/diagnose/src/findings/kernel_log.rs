//! Kernel log lines that report a machine fault: a rejected clocksource or a failing component.

use super::needs::RULES as TABLE;
use super::prelude::*;
use crate::tables::sentences;

/// The rules, one per kind of line. A log without any of these lines is no more informative than a missing log.
pub(super) const RULES: [Rule; 4] = [
    Rule { name: "tsc-unstable", find: |case| find(case, "tsc-unstable", Severity::Warning) },
    Rule { name: "machine-check", find: |case| find(case, "machine-check", Severity::Warning) },
    Rule { name: "memory-corrected", find: |case| find(case, "memory-corrected", Severity::Warning) },
    Rule { name: "memory-uncorrected", find: |case| find(case, "memory-uncorrected", Severity::Serious) },
];

/// For the kernel log line of a rule: the place of its note in the record, the note itself, and the finding.
fn find_note<'a>(case: &Case<'a>, rule: &str) -> Option<(usize, &'a Text, Template)> {
    let [note, what] = sentences(TABLE, "kernel-log", rule)[..] else { return None };
    let mut notes = case.record.machine.notes.iter().enumerate();
    notes.find(|(_, said)| said.is(&note)).map(|(at, said)| (at, said, what))
}

/// Whether a record has a note about any such line.
pub(super) fn has_faults(case: &Case) -> bool {
    RULES.iter().any(|rule| find_note(case, rule.name).is_some())
}

fn find(case: &Case, name: &str, severity: Severity) -> Option<Vec<Finding>> {
    let rule = RULES.iter().find(|rule| rule.name == name)?;
    let (at, seen, what) = find_note(case, name)?;
    Some(vec![rule.report_fact(severity, what.into()).cite(seen.clone(), format!("machine.notes[{at}]"))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::machine;

    #[test]
    fn each_line_is_found_by_its_rule_and_nothing_else_is() {
        let healthy = machine(2);
        for (at, own) in RULES.iter().enumerate() {
            let nothing = (vec![], Some("fault messages in the kernel log (dmesg)"));
            assert_eq!((found(&healthy, *own), missing(&healthy, *own)), nothing);
            let note = sentences(TABLE, "kernel-log", own.name)[0];
            let mut record = machine(2);
            record.machine.notes = vec!["a file could not be read".into(), note.words.into()];
            for (other, rule) in RULES.iter().enumerate() {
                let findings = found(&record, *rule);
                assert_eq!(findings.len(), usize::from(other == at), "{findings:?}");
                for finding in findings {
                    assert!(matches!(finding.loss, Verdict::NotMeasurable { .. }), "{finding:?}");
                    assert_eq!(finding.evidence[0].from, "machine.notes[1]");
                    assert!(finding.remedy.len() >= 2, "{finding:?}");
                }
            }
        }
    }
}
