//! Lines of the kernel's log that name a fault of the machine: a clock that it gave up, a part that fails.

use super::prelude::*;

/// A kind of line: the rule that finds it, the note that a record has of it, and what is found.
struct Line {
    rule: Rule,
    note: Template,
    severity: Severity,
    what: Template,
}

const fn line<const AT: usize>(
    name: &'static str,
    note: &'static str,
    severity: Severity,
    what: &'static str,
) -> Line {
    let rule = Rule { name, resource: None, needs: &[LOG], find: find::<AT> };
    let note = Template { code: name, words: note };
    Line { rule, note, severity, what: Template { code: "", words: what } }
}

/// A log without any of these lines is as uninformative as none.
const LOG: Need = Need::new("fault messages in the kernel log (dmesg)", |case| {
    let notes = &case.record.machine.notes;
    notes.iter().any(|note| LINES.iter().any(|line| note.is(&line.note)))
});

const LINES: [Line; 4] = [
    line::<0>(
        "tsc-unstable",
        "the kernel marked the TSC as unstable: {reason}",
        Severity::Warning,
        "the kernel marked the TSC unstable: reading the clock may need a system call",
    ),
    line::<1>(
        "machine-check",
        "machine checks in the kernel log: {count}",
        Severity::Warning,
        "the hardware reported errors (machine checks)",
    ),
    line::<2>(
        "memory-corrected",
        "corrected memory errors in the kernel log: {count} lines",
        Severity::Warning,
        "memory errors were corrected",
    ),
    line::<3>(
        "memory-uncorrected",
        "uncorrected memory errors in the kernel log: {count} lines",
        Severity::Serious,
        "memory errors could not be corrected",
    ),
];

/// The rules of all kinds of lines.
pub(super) const RULES: [Rule; 4] = [LINES[0].rule, LINES[1].rule, LINES[2].rule, LINES[3].rule];

fn find<const AT: usize>(case: &Case) -> Option<Vec<Finding>> {
    let Line { rule, note, severity, what } = LINES.get(AT)?;
    let notes = &case.record.machine.notes;
    let (at, seen) = notes.iter().enumerate().find(|(_, said)| said.is(note))?;
    let finding = rule.report_fact(*severity, Text::from(*what));
    Some(vec![finding.cite(seen.clone(), format!("machine.notes[{at}]")).mend_as(rule.name)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::machine;

    #[test]
    fn each_line_is_found_by_its_rule_and_nothing_else_is() {
        let healthy = machine(2);
        for (at, line) in LINES.iter().enumerate() {
            assert_eq!((found(&healthy, line.rule), missing(&healthy, line.rule)), (vec![], Some(LOG.what)));
            let mut record = machine(2);
            record.machine.notes = vec!["a file could not be read".into(), line.note.words.into()];
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
