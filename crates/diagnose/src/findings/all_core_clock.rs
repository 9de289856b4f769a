//! Cores that run below the specified clock when all of them are busy.

use super::clock_cause::cause;
use super::clock_limit::{Below, below, hz_reported};
use super::prelude::*;

/// The clock with all cores busy, compared with the base clock or, if that is unknown, with the clock with one core
/// busy.
pub(super) const RULE: Rule = Rule { name: "all-core-clock", find };

/// In published results of servers, the turbo clock drops by a tenth to a third when all cores are busy. The constant is the largest such
/// drop. If the base clock is unknown, a smaller drop counts as within specification.
const TURBO: f64 = 1.0 / 3.0;

fn find(case: &Case) -> Option<Vec<Finding>> {
    let (found, against, what) = below_base(case).or_else(|| below_one(case))?;
    let Below { measured: worst, cpu, promised, ref loss } = *found.first()?;
    let finding = RULE
        .report_loss(loss.clone(), what)
        .locate_cpus(&cpus_of(found.iter().map(|found| found.measured)))
        .cite(text!("CPU {cpu} runs at {worst} with all cores busy"), worst)
        .cite_all([against])
        .cite_all(cite_hottest(&case.record.conditions.before, "before"));
    let cause = cause(case, cpu, promised);
    let finding = if cause.is_set {
        finding.cite_all(cause.evidence).mend(cause.remedy)
    } else {
        let finding = Finding { confidence: Confidence::Medium, ..finding };
        finding.mend_as(if case.record.machine.is_virtual() { "all-core-clock guest" } else { RULE.name })
    };
    Some(vec![finding.undo(cause.undo)])
}

/// The CPUs that are too slow, the evidence for the clock that they are compared with, and the finding's sentence.
type TooSlow<'a> = (Vec<Below<'a>>, Evidence, Text);

fn below_base<'a>(case: &Case<'a>) -> Option<TooSlow<'a>> {
    let machine = &case.record.machine;
    let of_all = of_every_core(machine, base_hz(case.record));
    let found = below(case, "all", |_, cpu| cpu.and_then(|cpu| cpu.base_hz).or(of_all).map(|hz| hz as f64));
    let Below { measured: is, promised, cpu, .. } = *found.first()?;
    let base = Value::Figure(promised, "Hz");
    let says = text!("base clock {base}", base = base.clone());
    let against = cite_fact(says, hz_reported(case, cpu, "base_hz", |cpu| cpu.base_hz));
    let what = text!(
        "all-core-clock-below-base",
        "with all cores busy, the clock is {is}, below the base clock of {base}"
    );
    Some((found, against, what))
}

fn below_one<'a>(case: &Case<'a>) -> Option<TooSlow<'a>> {
    let machine = &case.record.machine;
    base_hz(case.record).or(machine.cpus.iter().find_map(|cpu| cpu.base_hz)).is_none().then_some(())?;
    // The clock is compared with that of the same core running alone, or with that of another core of the same type.
    let usual = of_every_core(machine, middle(case.clocks("scalar", "one")));
    let own = |id: u32| case.clocks("scalar", "one").find(|m| m.labels.count(Label::Cpu) == Some(id.into()));
    let alone = |cpu: u32| own(cpu).or(usual);
    let mut found = below(case, "all", |cpu, _| Some(alone(cpu)?.value()));
    found.retain(|below| below.measured.value() < below.promised * (1.0 - TURBO));
    let Below { measured: is, cpu, .. } = *found.first()?;
    let alone = alone(cpu)?;
    let against = cite_fact(text!("with one core busy, the clock is {alone}"), alone);
    let what = text!("all-core-clock-below-one", "the clock is {is} with all cores busy, {alone} with one");
    Some((found, against, what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{figure_in, machine, measured};
    use record::Label;
    use record::{Labels, Record};

    fn record_with(one: f64, all: f64, base: Option<u64>) -> Record {
        let mut record = machine(1);
        record.machine.processor.base_hz = base;
        for (active, hz) in [("one", one), ("all", all)] {
            let place = Labels::new()
                .with_label(Label::Cpu, 0u32)
                .with_label(Label::Active, active)
                .with_label(Label::Vector, "scalar");
            record.measurements.push(measured("core.clock", place, hz));
        }
        record
    }

    #[test]
    fn a_clock_below_base_is_found() {
        let finding = &found(&record_with(3.9e9, 2.0e9, Some(2_500_000_000)), RULE)[0];
        assert_eq!(finding.what.code(), Some("all-core-clock-below-base"));
        assert_eq!([figure_in(&finding.what, "is"), figure_in(&finding.what, "base")], [2.0e9, 2.5e9]);
        assert!((crate::figures::share_of(&finding.loss) - 0.2).abs() < 0.01);
    }

    #[test]
    fn without_a_base_clock_half_of_one_core_is_found() {
        let finding = &found(&record_with(4.0e9, 2.0e9, None), RULE)[0];
        assert_eq!(finding.what.code(), Some("all-core-clock-below-one"));
        assert_eq!([figure_in(&finding.what, "is"), figure_in(&finding.what, "alone")], [2.0e9, 4.0e9]);
    }

    #[test]
    fn slow_cores_of_a_hybrid_processor_are_held_against_themselves() {
        let mut record = record_with(5.0e9, 4.5e9, None);
        let mut slow = record_with(3.0e9, 2.9e9, None);
        slow.measurements.iter_mut().for_each(|m| m.labels = m.labels.clone().with_label(Label::Cpu, 1u32));
        record.measurements.extend(slow.measurements);
        let cpu = record::machine::Cpu { id: 1, online: true, capacity: Some(446), ..Default::default() };
        record.machine.cpus.push(cpu);
        assert_eq!(found(&record, RULE), []);
        // The base clock of the fast cores is not the reference either.
        record.machine.processor.base_hz = Some(3_200_000_000);
        assert_eq!(found(&record, RULE), []);
    }

    #[test]
    fn turbo_steps_are_no_loss_and_an_unmeasured_clock_is_missing() {
        assert_eq!(found(&record_with(3.9e9, 3.0e9, Some(2_500_000_000)), RULE), []);
        assert_eq!(found(&record_with(3.9e9, 2.7e9, None), RULE), []);
        let mut record = record_with(3.9e9, 3.0e9, None);
        record.measurements.pop();
        assert_eq!(missing(&record, RULE), Some("the all-core clock"));
    }
}
