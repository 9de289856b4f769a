//! Kernel log lines and memory controllers' counts that report a machine fault: a rejected clocksource or a failing component.

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
    let Some((at, seen, what)) = find_note(case, name) else { return find_counted(case, rule, severity) };
    Some(vec![rule.report_fact(severity, what.into()).cite(seen.clone(), format!("machine.notes[{at}]"))])
}

/// Errors of the most affected memory module, as counted by its controller. Rare corrected errors are normal: they count from mcelog's usual
/// threshold per day (mcelog.conf, `ce-error-threshold`).
fn find_counted(case: &Case, rule: &Rule, severity: Severity) -> Option<Vec<Finding>> {
    let before = &case.record.conditions.before;
    let days = before.uptime_seconds.map_or(f64::INFINITY, |seconds| (seconds / 86_400.0).max(1.0));
    let at = ["memory-corrected", "memory-uncorrected"].iter().position(|name| *name == rule.name)?;
    let least = [10.0 * days, 1.0][at];
    let modules = before.memory_errors.iter().map(|(module, errors)| (&**module, errors[at]));
    let (module, errors) = modules.max_by_key(|(_, errors)| *errors).filter(|(_, n)| *n as f64 >= least)?;
    let what = *sentences(TABLE, "kernel-log", rule.name).get(1)?;
    let finding = rule.report_fact(severity, what.into()).locate(text!("{module}"));
    Some(vec![finding.cite(text!("errors counted since boot: {errors}"), "conditions.before.memory_errors")])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::machine;

    #[test]
    fn errors_that_the_memory_controllers_counted_are_found_with_their_module() {
        let mut record = machine(2);
        record.conditions.before.uptime_seconds = Some(864_000.0);
        let mut severities = |counts: [[u64; 2]; 2]| {
            let errors = ["A1", "mc1"].map(str::to_owned).into_iter().zip(counts);
            record.conditions.before.memory_errors = errors.collect();
            [RULES[2], RULES[3]]
                .map(|rule| found(&record, rule).first().map(|of| (of.severity, of.place.clone())))
        };
        let at = |severity, place: &str| Some((severity, Some(place.to_owned().into())));
        assert_eq!(severities([[99, 0], [0, 0]]), [None, None]);
        assert_eq!(severities([[100, 0], [0, 0]]), [at(Severity::Warning, "A1"), None]);
        let both = [at(Severity::Warning, "mc1"), at(Severity::Serious, "A1")];
        assert_eq!(severities([[12, 1], [48_213, 0]]), both);
    }

    #[test]
    fn each_line_is_found_by_its_rule_and_nothing_else_is() {
        let healthy = machine(2);
        for (at, own) in RULES.iter().enumerate() {
            assert!(found(&healthy, *own).is_empty() && missing(&healthy, *own).is_some());
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
