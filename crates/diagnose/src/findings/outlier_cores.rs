//! Cores that are slower than other cores of the same type when running the same work.

use std::collections::{BTreeMap, HashMap};

use record::machine::Cpu;
use record::statistics::MAD_SCALE;

use super::prelude::*;

/// The clock of each CPU with all CPUs busy, compared with the median of its core type.
///
/// A CPU is an outlier if its entire interval is below the median by more than the scatter among the CPUs of its core
/// type.
pub(super) const RULE: Rule = Rule { name: "outlier-cores", find };

/// Minimum number of CPUs needed to identify an outlier.
pub(super) const FEWEST: usize = 3;

/// The metric and labels of these clocks in the record, to be cited as evidence.
const CLOCKS: &str = "core.clock active=all vector=scalar";

/// Whether there are enough cores to identify an outlier.
pub(super) fn is_many(case: &Case) -> bool {
    case.record.machine.cpus.iter().filter(|cpu| cpu.online).count() >= FEWEST
}

/// The clocks with all CPUs busy, each with its CPU if recorded.
fn clocks<'a>(case: &Case<'a>) -> Vec<(&'a Measurement, Option<&'a Cpu>)> {
    let known: HashMap<_, _> = case.record.machine.cpus.iter().map(|cpu| (u64::from(cpu.id), cpu)).collect();
    let of_cpu = |m: &Measurement| m.labels.count(Label::Cpu).and_then(|cpu| known.get(&cpu).copied());
    let clocks = case.clocks("scalar", "all").filter(|m| m.value().is_finite() && m.value() > 0.0);
    clocks.map(|m| (m, of_cpu(m))).collect()
}

fn find(case: &Case) -> Option<Vec<Finding>> {
    let clocks = clocks(case);
    // Cores with different advertised clocks count as different core types.
    let mut kinds: BTreeMap<_, Vec<&Measurement>> = BTreeMap::new();
    for (m, cpu) in &clocks {
        let kind = cpu.map(kind_of);
        kinds.entry(kind).or_default().push(m);
    }
    let many = kinds.values().filter(|clocks| clocks.len() >= FEWEST);
    Some(many.filter_map(|clocks| find_outliers(clocks)).chain(find_kinds(&clocks)).collect())
}

/// A note about core types with different clocks, with the clock of each core type.
fn find_kinds(clocks: &[(&Measurement, Option<&Cpu>)]) -> Option<Finding> {
    let mut kinds: BTreeMap<&str, Vec<&Measurement>> = BTreeMap::new();
    for (m, cpu) in clocks {
        kinds.entry((*cpu)?.kind.as_deref()?).or_default().push(m);
    }
    let usual = |clocks: &[&Measurement]| median(clocks.iter().map(|m| m.value()));
    let mut kinds: Vec<(&str, f64, Vec<&Measurement>)> =
        kinds.into_iter().filter_map(|(kind, clocks)| Some((kind, usual(&clocks)?, clocks))).collect();
    kinds.sort_by(|a, b| b.1.total_cmp(&a.1));
    let ((_, fast, fastest), (_, slow, _)) = (kinds.first()?, kinds.last()?);
    if *slow >= fast * (1.0 - crate::figures::RESOLUTION) {
        return None;
    }
    let (mut groups, mut seen): (Vec<Text>, Vec<_>) = (Vec::new(), Vec::new());
    for (kind, hz, clocks) in &kinds {
        let (kind, clock, count) = ((*kind).to_owned(), Value::Figure(*hz, "Hz"), clocks.len());
        let cpus = name_cpus(&cpus_of(clocks.iter().copied())).unwrap_or_default();
        groups.push(text!("{count} {kind} at {clock}", kind = &kind, clock = clock.clone()));
        seen.push(cite_fact(text!("{kind}: {cpus}, median clock {clock}"), CLOCKS));
    }

    let what = text!("{count} core types: {kinds}", count = kinds.len(), kinds = groups);
    let pin = format!("taskset -c {} COMMAND", cpus_of(fastest.iter().copied()));
    let finding = RULE
        .report_fact_as("outlier-cores kinds", Severity::Note, what)
        .locate_cpus(&cpus_of(kinds.iter().flat_map(|(_, _, clocks)| clocks.iter().copied())))
        .cite_all(seen)
        .cite(text!("core types"), "machine.cpus[].kind")
        .mend_as("outlier-cores kinds")
        .suggest(text!("latency-critical work"), pin);
    Some(finding)
}

fn find_outliers(clocks: &[&Measurement]) -> Option<Finding> {
    let usual = median(clocks.iter().map(|m| m.value()))?;
    let scatter = median(clocks.iter().map(|m| (m.value() - usual).abs()))? * MAD_SCALE;
    let slow = clocks.iter().filter(|m| usual - m.value() > 4.0 * scatter);
    let mut slow: Vec<(&Measurement, Verdict)> =
        slow.filter_map(|m| Some((*m, costs(shortfall(&m.summary, usual))?))).collect();
    slow.sort_by(|a, b| share_of(&b.1).total_cmp(&share_of(&a.1)));
    let (worst, loss) = slow.first()?.clone();
    let (clock, others) = (Value::from(worst), Value::Figure(usual, "Hz"));
    let (count, all) = (slow.len(), clocks.len());
    let slowest = text!("slowest clock: {clock}", clock = clock.clone());
    let median = text!(
        "median clock of {all} CPUs: {others}, scatter {scatter}",
        others = others.clone(),
        scatter = Value::Figure(scatter, "Hz")
    );
    let what = if count == 1 {
        text!("1 of {all} CPUs runs at {clock}, the others at {others}")
    } else {
        text!("{count} of {all} CPUs run at {clock} or slightly above, the others at {others}")
    };

    let finding = RULE
        .report_loss(loss, what)
        .locate_cpus(&cpus_of(slow.iter().map(|slow| slow.0)))
        .cite(slowest, worst)
        .cite(median, CLOCKS);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{figure_in, machine, measured};
    use record::{Labels, Record};

    fn record_with(clocks: &[f64]) -> Record {
        let mut record = machine(clocks.len() as u32);
        for (cpu, hz) in clocks.iter().enumerate() {
            let place = Labels::new()
                .with_label(Label::Cpu, cpu)
                .with_label(Label::Active, "all")
                .with_label(Label::Vector, "scalar");
            record.measurements.push(measured("core.clock", place, *hz));
        }
        record
    }

    #[test]
    fn one_slow_core_is_found() {
        let finding = &found(&record_with(&[3.6e9, 3.61e9, 2.4e9, 3.6e9, 3.59e9]), RULE)[0];
        assert_eq!(finding.place, Some("CPU 2".into()));
        assert!((share_of(&finding.loss) - 1.0 / 3.0).abs() < 0.01, "{finding:?}");
    }

    #[test]
    fn cores_of_another_kind_are_no_outliers() {
        let mut record = record_with(&[5.0e9, 5.0e9, 5.0e9, 5.0e9, 3.8e9, 3.8e9, 3.8e9, 3.8e9]);
        assert_eq!(found(&record, RULE).len(), 0, "half of the cores cannot be outliers");
        let mut one = record_with(&[5.0e9, 5.0e9, 5.0e9, 5.0e9, 3.8e9]);
        assert_eq!(found(&one, RULE).len(), 1);
        for record in [&mut record, &mut one] {
            for cpu in &mut record.machine.cpus[4..] {
                cpu.kind = Some("efficiency".to_owned());
            }
            assert_eq!(found(record, RULE), []);
        }
    }

    #[test]
    fn cores_of_two_kinds_are_a_note() {
        let mut record = record_with(&[5.0e9, 5.0e9, 3.8e9, 3.8e9]);
        for (cpu, kind) in
            record.machine.cpus.iter_mut().zip(["performance", "performance", "efficiency", "efficiency"])
        {
            cpu.kind = Some(kind.to_owned());
        }
        let finding = &found(&record, RULE)[0];
        assert_eq!(finding.severity, Severity::Note);
        let Some(Value::List(kinds)) = finding.what.value("kinds") else { panic!("{finding:?}") };
        for (kind, (name, hz)) in kinds.iter().zip([("performance", 5.0e9), ("efficiency", 3.8e9)]) {
            assert_eq!((kind.value("kind"), figure_in(kind, "count")), (Some(&name.into()), 2.0));
            assert!((figure_in(kind, "clock") - hz).abs() < 1e3, "{finding:?}");
        }
        assert_eq!(finding.remedy[1].command.as_deref(), Some("taskset -c 0-1 COMMAND"));
        for m in &mut record.measurements {
            *m = measured("core.clock", m.labels.clone(), 3.8e9);
        }
        assert_eq!(found(&record, RULE), []);
    }

    #[test]
    fn cores_that_scatter_have_no_outlier_and_unmeasured_ones_are_missing() {
        assert_eq!(found(&record_with(&[3.6e9, 3.3e9, 3.0e9, 3.4e9, 2.9e9]), RULE), []);
        assert_eq!(missing(&machine(4), RULE), Some("core clock"));
        assert_eq!(missing(&machine(2), RULE), None, "two CPUs have no outlier");
    }
}
