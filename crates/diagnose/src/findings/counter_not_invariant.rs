//! A cycle counter that stops or changes its rate. Clocks and profilers based on such a counter are wrong, and the kernel falls back to a
//! slow clock.

use super::clocksource;
use super::prelude::*;

/// Whether the cycle counter has the same rate in every state.
pub(super) const RULE: Rule = Rule { name: "counter-not-invariant", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    if case.record.machine.processor.counter_invariant? {
        return None;
    }
    // Programs that read the kernel's clock in user space are not affected.
    let slow = !clocksource::RULE.findings(case).is_empty();
    let read = middle(case.figures_of(metrics::COST_CLOCK_READ)).filter(|_| !slow);
    let cite_read = |read| cite_fact(text!("reading the clock takes {read} (in user space)"), read);

    let what = text!(
        "the cycle counter is not invariant: its rate follows the core clock, or it stops in idle states"
    );
    let severity = if slow { Severity::Warning } else { Severity::Note };
    Some(vec![
        RULE.report_fact(severity, what)
            .cite(text!("cycle counter not invariant"), "machine.processor.counter_invariant")
            .cite_all(case.record.conditions.before.clocksource.as_deref().map(clocksource::cite_source))
            .cite_all(read.map(cite_read)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{machine, measured};
    use record::Label;

    #[test]
    fn only_a_counter_that_is_known_to_change_is_found() {
        let mut record = machine(1);
        assert_eq!(missing(&record, RULE), Some("invariance of the cycle counter"));
        record.machine.processor.counter_invariant = Some(true);
        assert_eq!(found(&record, RULE), []);
        record.machine.processor.counter_invariant = Some(false);
        record.conditions.before.clocksource = Some("hpet".to_owned());
        assert_eq!(found(&record, RULE)[0].severity, Severity::Warning);
        record.conditions.before.clocksource = Some("kvm-clock".to_owned());
        record.measurements.push(measured(
            "cost.clock_read",
            record::Labels::new().with_label(Label::Cpu, 0u32),
            35.0,
        ));
        assert_eq!(
            found(&record, RULE)[0].severity,
            Severity::Note,
            "the kernel's clock is fast nevertheless"
        );
    }
}
