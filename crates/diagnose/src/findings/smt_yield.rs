//! The SMT yield: a sibling adds less than a core, although the kernel counts each sibling as a CPU.

use super::prelude::*;

/// The throughput of all siblings of a core compared with that of a single thread. A ratio below one is a loss. If the ratio is only
/// slightly above one, capacity should be counted in cores; if it is well above one, it should be counted in CPUs.
pub(super) const RULE: Rule = Rule { name: "smt-yield", find };

/// Thresholds for the share of a core that a sibling adds: less than a quarter of a core is little, more than three quarters is much.
const LITTLE: f64 = 0.25;
const MUCH: f64 = 0.75;

const CONTROL: &str = "/sys/devices/system/cpu/smt/control";

/// The largest number of siblings of one core that this process may use.
pub(super) fn siblings(case: &Case) -> usize {
    let usable = case.record.machine.cpus.iter().filter(|cpu| cpu.online && cpu.allowed);
    usable.map(|cpu| cpu.siblings.len()).max().unwrap_or(0)
}

fn find(case: &Case) -> Option<Vec<Finding>> {
    let yields: Vec<&Measurement> = case.figures_of(metrics::SMT_YIELD).filter(|m| m.value() > 0.0).collect();
    let worth = || find_worth(&yields, siblings(case).max(2) as f64);
    Some(vec![find_harm(&yields).or_else(worth)?])
}

/// Adds the commands that switch siblings off and on again.
fn switch_off(finding: Finding) -> Finding {
    let off = text!("or disable SMT");
    let off = Remedy::both(off, write_command("off", CONTROL)).sets(KnobValue::new(KnobName::Smt, "off"));
    finding.mend([off]).undo([Remedy::command(write_command("on", CONTROL))])
}

/// Reports work that runs more slowly on all siblings of a core than on one.
fn find_harm(yields: &[&Measurement]) -> Option<Finding> {
    let losses = yields.iter().filter_map(|m| Some((*m, costs(shortfall(&m.summary, 1.0))?)));
    let (worst, loss) = losses.max_by(|a, b| share_of(&a.1).total_cmp(&share_of(&b.1)))?;
    let workload = workload_of(worst);
    let place = quote_name(&workload);
    let what = text!("SMT siblings make {workload} slower than one thread per core");
    let finding = RULE.report_loss(loss, what).felt_by(Relevance::Some).locate(place);
    Some(switch_off(finding.cite_all([cite_yield(worst)]).mend_as("smt-yield harm")))
}

fn workload_of(m: &Measurement) -> String {
    m.labels.word(Label::Workload).unwrap_or("work").to_owned()
}

fn cite_yield(m: &Measurement) -> Evidence {
    let says = text!(
        "{workload} on all siblings of a core: {factor} the speed of one thread",
        workload = workload_of(m),
        factor = Value::Factor(m.value())
    );
    cite_fact(says, m)
}

/// Reports siblings that add much less or much more than half a core.
fn find_worth(yields: &[&Measurement], siblings: f64) -> Option<Finding> {
    let usual = median(yields.iter().map(|m| m.value()))?;
    let each = (usual - 1.0) / (siblings - 1.0);
    let share = Value::Share(each.max(0.0));
    let report = |what| RULE.report_fact(Severity::Note, what).cite_all(yields.iter().map(|m| cite_yield(m)));
    if each < LITTLE {
        let what = text!(
            "smt-yield-little",
            "an SMT sibling adds {share} of a core: capacity is {factor} the core count, not {siblings}×",
            factor = Value::Factor(usual),
            siblings = siblings as u64
        );
        return Some(switch_off(report(what).mend_as("smt-yield little")));
    }
    let what =
        text!("smt-yield-much", "an SMT sibling adds {share} of a core: idle siblings are unused capacity");
    (each > MUCH).then(|| report(what).mend_as("smt-yield much"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{figure_in, machine, measured};
    use record::{Labels, Record};

    fn record_with(yields: &[(&str, f64)]) -> Record {
        let mut record = machine(4);
        for cpu in &mut record.machine.cpus {
            let first = cpu.id / 2 * 2;
            cpu.siblings = (first..first + 2).collect();
        }
        for (workload, value) in yields {
            let place = Labels::new().with_label(Label::Workload, *workload).with_label(Label::Core, 0u32);
            record.measurements.push(measured("smt.yield", place, *value));
        }
        record
    }

    #[test]
    fn work_that_siblings_slow_down_is_found_with_its_loss() {
        let finding = &found(&record_with(&[("primes", 1.3), ("flops", 0.8)]), RULE)[0];
        assert!((share_of(&finding.loss) - 0.2).abs() < 0.01, "{finding:?}");
        assert_eq!(finding.undo, [Remedy::command(write_command("on", CONTROL))]);
    }

    #[test]
    fn thirteen_percent_is_little_and_nine_tenths_much() {
        let little = &found(&record_with(&[("openssl", 1.13)]), RULE)[0];
        assert_eq!(little.what.code(), Some("smt-yield-little"));
        assert!((figure_in(&little.what, "share") - 0.13).abs() < 1e-3, "{little:?}");
        assert!((figure_in(&little.what, "factor") - 1.13).abs() < 1e-3, "{little:?}");
        let much = &found(&record_with(&[("wait", 1.9)]), RULE)[0];
        assert_eq!(much.what.code(), Some("smt-yield-much"));
        assert!((figure_in(&much.what, "share") - 0.9).abs() < 1e-3, "{much:?}");
    }

    #[test]
    fn half_a_core_is_silence_and_an_unmeasured_yield_is_missing() {
        assert_eq!(found(&record_with(&[("primes", 1.5)]), RULE), []);
        assert_eq!(missing(&record_with(&[]), RULE), Some("SMT yield (linespeed run smt-yield)"));
        assert_eq!(missing(&machine(2), RULE), None, "without siblings, no data is missing");
    }
}
