//! Scaling: each workload from one CPU to all, on existing CPUs, each step once.

use record::Label;
use record::detail;
use std::collections::{BTreeMap, BTreeSet};

use record::{CpuList, Record, metrics};

use super::verdicts::Verdicts;
use crate::shape::Shape;

/// Compares the steps with the shape's CPUs.
pub fn check(shape: &Shape, record: &Record, verdicts: &mut Verdicts) {
    let online = shape.online();
    let mut steps: BTreeMap<(&str, &str), BTreeSet<u64>> = BTreeMap::new();
    for figure in record.measurements.iter().filter(|m| m.metric == metrics::WORKLOAD_THROUGHPUT) {
        let place = &figure.labels;
        let (Some(workload), Some(placement), Some(threads)) =
            (place.word(Label::Workload), place.word(Label::Placement), place.count(Label::Threads))
        else {
            verdicts.hold(false, "a step has workload, placement and threads", || format!("{place:?}"));
            continue;
        };
        let once = steps.entry((workload, placement)).or_default().insert(threads);
        verdicts
            .hold(once, format!("{workload} {placement} on {threads} occurs once"), || "twice".to_owned());
        let reported = figure.detail.get(detail::CPUS).unwrap_or("");
        let cpus: CpuList = reported.parse().unwrap_or_default();
        verdicts.hold(
            cpus.len() as u64 == threads && cpus.is_subset(&online),
            format!("{workload} {placement} on {threads} ran on the same number of online CPUs"),
            || format!("CPUs {reported:?}"),
        );
    }
    verdicts.hold(!steps.is_empty(), "some workload's scaling is reported", || "none".to_owned());
    let all = online.len() as u64;
    for ((workload, _), counts) in steps.iter().filter(|((_, placement), _)| *placement == "cores-first") {
        let ends = (counts.first().copied(), counts.last().copied());
        verdicts.equal(&format!("fewest and most CPUs of {workload}"), (Some(1), Some(all)), ends);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::made_up::{figure, record, shape, wrong};
    use record::Labels;

    fn found(steps: &[(u64, &str)]) -> String {
        let step = |(threads, cpus): &(u64, &str)| {
            let place = Labels::new().with_label(Label::Workload, "nop").with_label(Label::Threads, *threads);
            figure("workload.throughput", place.with_label(Label::Placement, "cores-first"))
                .with_detail(detail::CPUS, *cpus)
        };
        let record = record(steps.iter().map(step).collect());
        wrong(|verdicts| check(&shape("offline = '3'", 1), &record, verdicts))
    }

    #[test]
    fn steps_go_from_one_cpu_to_all_that_are_online() {
        assert_eq!(found(&[(1, "0"), (2, "0-1"), (3, "0-2")]), "");
        assert!(found(&[]).contains("some workload's scaling is reported"));
        assert!(found(&[(1, "0"), (2, "0-1")]).contains("(Some(1), Some(3)): found (Some(1), Some(2))"));
        assert!(found(&[(1, "0"), (3, "0-1,3")]).contains("found CPUs \"0-1,3\""));
        assert!(found(&[(1, "0"), (3, "0-1")]).contains("the same number of online CPUs"));
    }
}
