//! Cores that lowered their clock for heat during the run.

use record::diagnosis::{Finding, Severity};
use record::{Remedy, Template, text};

use super::needs::Need;
use super::{Case, Rule, is_virtual, needs, of_fact};
use crate::figures::cite_fact;
use crate::resources::CORE;

/// The kernel's count of throttling for heat, after against before.
pub(super) const RULE: Rule = Rule {
    name: "throttled",
    glossary: "",
    resource: Some(CORE),
    needs: &[
        // The host's thermometers are not a guest's.
        Need {
            what: Template { code: "needs-throttle-counts", words: "counts of thermal throttling" },
            is_met: |case| is_virtual(case.record) || case.record.conditions.before.throttled.is_some(),
        },
        Need {
            what: needs::STATE_AFTER.what,
            is_met: |case| is_virtual(case.record) || needs::STATE_AFTER.is_met(case),
        },
    ],
    find: |case| find(case).into_iter().collect(),
};

fn find(case: &Case) -> Option<Finding> {
    let conditions = &case.record.conditions;
    let after = conditions.after.as_ref()?;
    let times = after.throttled?.checked_sub(conditions.before.throttled?).filter(|times| *times > 0)?;
    let says = text!("throttled-count", "thermal throttling events during the run: {times}", times);
    let mut seen = vec![cite_fact(says, "conditions.after.throttled")];
    if let Some((sensor, hottest)) = after.temperatures.iter().max_by(|a, b| a.1.total_cmp(b.1)) {
        seen.push(cite_fact(
            text!(
                "throttled-hottest",
                "hottest sensor: {temperature} °C",
                temperature = format!("{hottest:.0}")
            ),
            format!("conditions.after.temperatures.{sensor}"),
        ));
    }
    let reason =
        text!("throttled-duration", "the duration of throttling is unknown; the measured clocks include it");
    Some(Finding {
        evidence: seen,
        remedy: vec![Remedy::advice(text!(
            "throttled-cooling",
            "check fans, dust, airflow, thermal paste and the firmware's cooling profile"
        ))],
        ..of_fact(
            &RULE,
            Severity::Warning,
            reason,
            text!("throttled-by-heat", "heat throttled the CPU clock; events during the run: {times}", times),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::machine;

    #[test]
    fn heat_during_the_run_is_found_and_heat_before_is_not() {
        let mut record = machine(1);
        assert_eq!(missing(&record, RULE), Some("needs-throttle-counts"));
        record.conditions.before.throttled = Some(7);
        record.conditions.after = Some(record::Snapshot { throttled: Some(7), ..Default::default() });
        assert_eq!(found(&record, RULE), []);
        record.conditions.after = Some(record::Snapshot { throttled: Some(12), ..Default::default() });
        assert_eq!(found(&record, RULE)[0].what.value("times"), Some(&5u64.into()));
        record.conditions.after = Some(record::Snapshot { throttled: Some(1), ..Default::default() });
        assert_eq!(found(&record, RULE), [], "counts that fell (a CPU came back) are none");
    }
}
