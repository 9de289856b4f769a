//! SMT yield: one result for each tested core and workload, measured on that core's CPUs.

use record::Label;
use record::detail;
use std::collections::{BTreeMap, BTreeSet};

use record::{CpuList, Record, State, metrics};

use super::verdicts::Verdicts;
use crate::shape::Shape;

/// Compares the results with the shape's cores.
pub fn check(shape: &Shape, record: &Record, verdicts: &mut Verdicts) {
    let metric = metrics::SMT_YIELD;
    let online = shape.online();
    let threads = shape.cpus.threads;
    let of_core =
        |first: u32| -> CpuList { (first..first + threads).filter(|cpu| online.contains(*cpu)).collect() };
    let with_siblings = (0..shape.cpus.count()).step_by(threads as usize).any(|cpu| of_core(cpu).len() > 1);
    let mut cores: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
    for figure in record.measurements.iter().filter(|m| m.metric == metric) {
        let (Some(core), Some(workload)) =
            (figure.labels.count(Label::Core), figure.labels.word(Label::Workload))
        else {
            verdicts.hold(false, format!("{metric} has a core and a workload"), || {
                format!("{:?}", figure.labels)
            });
            continue;
        };
        let once = cores.entry(core).or_default().insert(workload);
        verdicts.hold(once, format!("{workload} on core {core} occurs once"), || "twice".to_owned());
        let reported = figure.detail.get(detail::CPUS).unwrap_or("");
        let cpus: CpuList = reported.parse().unwrap_or_default();
        let expected = cpus.first().map(|cpu| of_core(cpu - cpu % threads)).unwrap_or_default();
        verdicts.hold(
            cpus.len() > 1 && cpus == expected,
            format!("{workload} on core {core} ran on the CPUs of one core"),
            || format!("CPUs {reported:?}"),
        );
    }
    if !with_siblings {
        verdicts.equal("cores with an SMT yield", 0, cores.len());
        let impossible = record
            .coverage
            .iter()
            .any(|entry| entry.topic() == "smt-yield" && entry.state == State::Impossible);
        verdicts.hold(impossible, "without siblings, the coverage says so", || "nothing of it".to_owned());
        return;
    }
    verdicts.hold(!cores.is_empty(), "the SMT yield of a core is reported", || "none".to_owned());
    let all: BTreeSet<&str> = cores.values().flatten().copied().collect();
    for (core, workloads) in &cores {
        let missing: Vec<_> = all.difference(workloads).collect();
        verdicts.hold(missing.is_empty(), format!("core {core} ran every workload"), || {
            format!("{missing:?} missing")
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::made_up::{figure, record, shape, wrong};
    use record::{Coverage, Labels};

    fn found(figures: &[(u64, &str, &str)], threads: u32) -> String {
        let figure = |(core, workload, cpus): &(u64, &str, &str)| {
            figure(
                "smt.yield",
                Labels::new().with_label(Label::Core, *core).with_label(Label::Workload, *workload),
            )
            .with_detail(detail::CPUS, *cpus)
        };
        let record = record(figures.iter().map(figure).collect());
        wrong(|verdicts| check(&shape("", threads), &record, verdicts))
    }

    #[test]
    fn each_core_that_was_tried_ran_every_workload_on_its_own_cpus() {
        assert_eq!(found(&[(0, "nop", "0-1"), (1, "nop", "2-3")], 2), "");
        assert!(found(&[], 2).contains("the SMT yield of a core is reported"));
        assert!(found(&[(0, "nop", "1-2")], 2).contains("CPUs of one core: found CPUs \"1-2\""));
        assert!(
            found(&[(0, "nop", "0-1"), (0, "pi", "0-1"), (1, "nop", "2-3")], 2).contains("[\"pi\"] missing")
        );
    }

    #[test]
    fn without_siblings_there_is_no_yield_and_the_coverage_says_why() {
        let silent = found(&[], 1);
        assert!(silent.contains("the coverage says so"), "{silent}");
        let mut reported = record(Vec::new());
        reported.coverage.push(Coverage::impossible("smt-yield", "no core has two siblings"));
        assert_eq!(wrong(|verdicts| check(&shape("", 1), &reported, verdicts)), "");
    }
}
