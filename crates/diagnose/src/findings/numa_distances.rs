//! A firmware distance table that contradicts the measured latencies. The kernel and programs use this table to place memory.

use super::prelude::*;

/// The firmware's distances compared with the measured latencies.
pub(super) const RULE: Rule = Rule { name: "numa-distances", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    let numa = case.numa.filter(|numa| !numa.distance_mismatches.is_empty())?;
    let unknown = || Verdict::NotMeasurable { reason: reason(RULE.name) };
    let loss = numa.distance_loss.clone().unwrap_or_else(unknown);
    let what =
        text!("numa-distances-wrong", "the firmware's NUMA distances contradict the measured latencies");
    let pairs = numa.distance_mismatches.iter();

    let finding = RULE
        .report_loss(loss, what)
        .cite_all(pairs.map(|says| cite_fact(says.clone(), "diagnosis.numa.distance_mismatches")))
        .cite_some(numa.distance_agreement, "diagnosis.numa.distance_agreement", |agreement| {
            let agreement = format!("{agreement:.2}");
            text!("rank correlation of distances and latencies: {agreement}")
        });
    Some(vec![Finding { severity: finding.severity.max(Severity::Warning), ..finding }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::share_of;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{machine, nodes};

    /// Four nodes: the table lists 0 and 2 as neighbors, but the real neighbors are 0 and 1.
    fn lying() -> record::Record {
        let near = |a: u32, b: u32| a / 2 == b / 2;
        let distance = move |a: u32, b: u32| match (a == b, near(a, b)) {
            (true, _) => 10,
            (false, true) => 28,
            (false, false) => 16,
        };
        nodes(4, distance, move |a, b| match (a == b, near(a, b)) {
            (true, _) => 100.0,
            (false, true) => 150.0,
            (false, false) => 250.0,
        })
    }

    #[test]
    fn a_table_that_lies_is_found_with_what_following_it_costs() {
        let finding = &found(&lying(), RULE)[0];
        assert_eq!(finding.evidence[0].says.code(), Some("distances-reversed"), "{finding:?}");
        assert_eq!(finding.what.code(), Some("numa-distances-wrong"));
        assert!((share_of(&finding.loss) - 0.4).abs() < 0.01, "{finding:?}");
        assert_eq!(finding.severity, Severity::Serious);
    }

    #[test]
    fn a_table_that_ranks_as_measured_is_silence() {
        let honest = nodes(2, |a, b| if a == b { 10 } else { 21 }, |a, b| if a == b { 100.0 } else { 150.0 });
        assert_eq!(found(&honest, RULE), []);
        assert_eq!(missing(&machine(2), RULE), None);
        let mut unreported = honest;
        for node in &mut unreported.machine.nodes {
            node.distances.clear();
        }
        assert_eq!(missing(&unreported, RULE), Some("the firmware's node distances"));
    }
}
