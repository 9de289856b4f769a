//! A cycle counter that changes its rate or stops: clocks and profilers that read it go wrong, and the kernel falls back
//! to a slow clock.

use record::diagnosis::{Finding, Severity};

use super::{Case, Rule, inputs, lines, of_fact};
use crate::figures::told;

/// Whether the cycle counter keeps its rate in every state.
pub const RULE: Rule = Rule { name: "counter-not-invariant", resource: None, missing, find };

fn missing(case: &Case) -> Option<&'static str> {
    inputs::told(case.record.machine.processor.counter_invariant, "whether the cycle counter keeps its rate")
}

fn find(case: &Case) -> Vec<Finding> {
    if case.record.machine.processor.counter_invariant != Some(false) {
        return Vec::new();
    }
    let mut seen =
        vec![told("the cycle counter does not keep its rate", "machine.processor.counter_invariant")];
    let source = case.record.conditions.before.clocksource.as_deref();
    seen.extend(source.map(|source| told(format!("clocksource {source}"), "conditions.before.clocksource")));
    vec![Finding {
        evidence: seen,
        remedy: lines([
            "a virtual machine: have the host pass it on (QEMU: -cpu host,migratable=no,+invtsc), or an instance type that does",
            "a real one: newer firmware or microcode; time with clock_gettime, not with the counter",
        ]),
        ..of_fact(
            &RULE,
            Severity::Warning,
            "what it costs shows in reading the clock, where the kernel has fallen back to a slow one",
            "the cycle counter is not invariant: it changes its rate with the clock or stops in idle states",
        )
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{found, machine, missing};

    #[test]
    fn only_a_counter_that_is_known_to_change_is_found() {
        let mut record = machine(1);
        assert_eq!(missing(&record, RULE), Some("whether the cycle counter keeps its rate"));
        record.machine.processor.counter_invariant = Some(true);
        assert_eq!(found(&record, RULE), []);
        record.machine.processor.counter_invariant = Some(false);
        assert_eq!(found(&record, RULE)[0].severity, Severity::Warning);
    }
}
