//! What a program pays that ignores nodes: most of its accesses go to other nodes' memory.

use record::Label;
use record::diagnosis::{Finding, Numa};
use record::statistics::Verdict;
use record::units::{figure, percent, significant};

use super::needs::Need;
use super::{Case, Rule, at_most_warning, by_model, costs, lines};
use crate::comparison::datum::Datum;
use crate::comparison::nodes::{Reach, reaches};
use crate::figures::{RESOLUTION, cite_fact, median, modelled, spread, verdict};
use crate::resources::{MEMORY_BANDWIDTH, MEMORY_LATENCY};

/// Latency and bandwidth over all pairs of nodes against those of each node's own memory.
///
/// The matrix is measured; that accesses spread evenly over all nodes is the model. A record without a matrix may hold
/// single figures of own and other nodes' memory, as other tools print them; then these serve.
pub(super) const RULE: Rule =
    Rule { name: "numa-latency", resource: Some(MEMORY_LATENCY), needs: &[MATRIX], find };

/// Whether the machine has more than one node.
pub(super) fn has_nodes(case: &Case) -> bool {
    let machine = &case.record.machine;
    machine.counts.nodes.unwrap_or(0) > 1 || machine.nodes.len() > 1
}

/// Figures between the nodes, where there are several.
pub(super) const MATRIX: Need = Need {
    what: "latency or bandwidth between the nodes",
    is_met: |case| !has_nodes(case) || case.numa.is_some() || by_place(case).is_some(),
};

fn find(case: &Case) -> Vec<Finding> {
    // Times of an emulator say nothing of distances.
    if case.record.machine.virtualization.emulated == Some(true) {
        return Vec::new();
    }
    let found = match case.numa {
        Some(numa) => find_node_cost(case, numa),
        None => by_place(case).and_then(|reach| single(case, &reach)),
    };
    found.into_iter().collect()
}

/// Single figures of own and other nodes' memory, where there is no matrix. Not where the own node would be a guess.
fn by_place(case: &Case) -> Option<Reach> {
    let reported = |reach: &Reach| reach.other.is_some() && !reach.guessed && reach.own.unfit.is_none();
    reaches(case.record).into_iter().find(reported)
}

/// The finding from single figures: there is no interval, so none is claimed.
fn single(case: &Case, reach: &Reach) -> Option<Finding> {
    let other = reach.other.as_ref()?;
    let loss = modelled(1.0 - 1.0 / reach.ignoring())?;
    let what = format!(
        "a program that ignores nodes waits {} times the local latency",
        significant(reach.ignoring())
    );
    let reported_of = |datum: &Datum, whose: &str| {
        cite_fact(
            format!("{}, {whose} memory: {}", reach.what, figure(datum.value, &reach.unit)),
            datum.from.clone(),
        )
    };
    let share =
        format!("{} of the accesses of a program that ignores nodes are remote", percent(reach.remote_share));
    Some(Finding {
        severity: at_most_warning(&loss),
        evidence: vec![
            cite_fact(share, nodes_from(case)),
            reported_of(&reach.own, "the own node's"),
            reported_of(other, "other nodes'"),
        ],
        remedy: remedy(),
        ..by_model(&RULE, loss, what)
    })
}

/// Where the record tells how many nodes there are.
fn nodes_from(case: &Case) -> &'static str {
    if case.record.machine.nodes.len() > 1 { "machine.nodes" } else { "machine.counts.nodes" }
}

fn remedy() -> Vec<String> {
    lines([
        "a process a node, each bound to its own: numactl --cpunodebind=N --membind=N COMMAND",
        "one process that needs more than a node, its memory spread evenly: numactl --interleave=all COMMAND",
    ])
}

/// The loss of latency with its interval, from those of the local and the remote cells.
fn latency_loss(case: &Case, numa: &Numa, factor: f64) -> Option<Verdict> {
    let cells = |local: bool, end: fn((f64, f64)) -> f64| cells(case, "numa.latency", local, end);
    let share = 1.0 - 1.0 / factor;
    let between = |remote: f64, local: f64| {
        let factor = 1.0 + numa.remote_share * (remote / local - 1.0);
        1.0 - 1.0 / factor
    };
    let least = between(cells(false, |s| s.0)?, cells(true, |s| s.1)?) - RESOLUTION;
    let most = between(cells(false, |s| s.1)?, cells(true, |s| s.0)?) + RESOLUTION;
    costs(verdict(share, (least.min(share), most.max(share))))
}

/// The median of one end of the intervals over the cells of one matrix, own nodes' or others'.
fn cells(case: &Case, metric: &str, local: bool, end: fn((f64, f64)) -> f64) -> Option<f64> {
    let wanted = case
        .figures_of(metric)
        .filter(|m| (m.labels.count(Label::From) == m.labels.count(Label::To)) == local);
    median(wanted.map(|m| end(spread(&m.summary))))
}

/// The loss of bandwidth, of bytes read one after the other, with its interval.
fn bandwidth_loss(case: &Case, numa: &Numa, factor: f64) -> Option<Verdict> {
    let cells = |local: bool, end: fn((f64, f64)) -> f64| cells(case, "numa.bandwidth", local, end);
    let share = 1.0 - factor;
    let between = |remote: f64, local: f64| 1.0 - 1.0 / (1.0 + numa.remote_share * (local / remote - 1.0));
    let least = between(cells(false, |s| s.1)?, cells(true, |s| s.0)?) - RESOLUTION;
    let most = between(cells(false, |s| s.0)?, cells(true, |s| s.1)?) + RESOLUTION;
    costs(verdict(share, (least.min(share), most.max(share))))
}

fn find_node_cost(case: &Case, numa: &Numa) -> Option<Finding> {
    let by_latency =
        numa.ignoring_factor.and_then(|factor| Some((factor, latency_loss(case, numa, factor)?)));
    let mut seen = vec![cite_fact(
        format!("{} of the accesses of a program that ignores nodes are remote", percent(numa.remote_share)),
        "diagnosis.numa.remote_share",
    )];
    if let (Some(local), Some(remote)) = (numa.local_ns, numa.remote_ns) {
        let says = format!("local {}, remote {} in the median", figure(local, "ns"), figure(remote, "ns"));
        seen.push(cite_fact(says, "diagnosis.numa.local_ns and .remote_ns"));
    }
    if let Some((from, to, ns)) = numa.slowest {
        let says = format!("the slowest pair, node {from} to {to}, {}", figure(ns, "ns"));
        seen.push(cite_fact(says, "diagnosis.numa.slowest"));
    }
    if let Some(factor) = numa.bandwidth_factor {
        let says = format!("it reads at {} of the local bandwidth", percent(factor));
        seen.push(cite_fact(says, "diagnosis.numa.bandwidth_factor"));
    }
    let finding = match by_latency {
        Some((factor, loss)) => by_model(
            &RULE,
            loss,
            format!("a program that ignores nodes waits {} times the local latency", significant(factor)),
        ),
        None => {
            let factor = numa.bandwidth_factor?;
            let loss = bandwidth_loss(case, numa, factor)?;
            let what =
                format!("a program that ignores nodes reads at {} of the local bandwidth", percent(factor));
            Finding { resource: Some(MEMORY_BANDWIDTH.to_owned()), ..by_model(&RULE, loss, what) }
        }
    };
    Some(Finding { severity: at_most_warning(&finding.loss), evidence: seen, remedy: remedy(), ..finding })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::share_of;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{machine, nodes};

    #[test]
    fn four_nodes_cost_three_remote_accesses_of_four() {
        let record = nodes(4, |a, b| if a == b { 10 } else { 21 }, |a, b| if a == b { 100.0 } else { 150.0 });
        let finding = &found(&record, RULE)[0];
        // Over all accesses 1.375 times the local latency.
        assert!((share_of(&finding.loss) - (1.0 - 1.0 / 1.375)).abs() < 1e-6, "{finding:?}");
        assert!(
            finding.what.to_string().ends_with("waits 1.37 times the local latency")
                || finding.what.to_string().contains("1.38")
        );
        assert!(finding.evidence[0].says.to_string().starts_with("75.0 %"), "{finding:?}");
        assert!(!finding.measured && finding.severity == record::diagnosis::Severity::Warning);
    }

    #[test]
    fn nodes_that_are_alike_one_node_or_no_matrix_are_silence() {
        let alike = nodes(2, |a, b| if a == b { 10 } else { 11 }, |_, _| 100.0);
        assert_eq!(found(&alike, RULE), []);
        assert_eq!(missing(&machine(2), RULE), None, "one node cannot be ignored");
        let mut unmeasured = alike;
        unmeasured.measurements.clear();
        assert_eq!(missing(&unmeasured, RULE), Some("latency or bandwidth between the nodes"));
    }

    #[test]
    fn without_a_matrix_own_and_remote_figures_of_another_tool_serve() {
        let mut record = machine(4);
        record.machine.counts.nodes = Some(4);
        assert_eq!(missing(&record, RULE), Some("latency or bandwidth between the nodes"));
        for (node, ns) in [("local", 1.2), ("remote", 1.85)] {
            let place = record::Labels::new().with_label(Label::Op, "copy").with_label(Label::Node, node);
            record.measurements.push(record::Measurement::new("stream.ns_per_element", place, vec![ns]));
        }
        assert_eq!(missing(&record, RULE), None);
        let finding = &found(&record, RULE)[0];
        // 1 + 3/4 × (1.85 ÷ 1.20 − 1).
        assert!((share_of(&finding.loss) - (1.0 - 1.0 / 1.406_25)).abs() < 1e-6, "{finding:?}");
        assert!(
            finding.evidence[0].says.to_string().starts_with("75.0 %")
                && finding.evidence[2].says.to_string().ends_with("1.85 ns")
        );
        // As fast from everywhere: nothing to find, and nothing missing.
        record.measurements.pop();
        let place = record::Labels::new().with_label(Label::Op, "copy").with_label(Label::Node, "remote");
        record.measurements.push(record::Measurement::new("stream.ns_per_element", place, vec![1.2]));
        assert_eq!(found(&record, RULE), []);
        assert_eq!(missing(&record, RULE), None);
    }

    #[test]
    fn an_emulator_says_nothing_of_nodes() {
        let mut record = nodes(2, |_, _| 20, |a, b| if a == b { 100.0 } else { 200.0 });
        record.machine.virtualization.emulated = Some(true);
        assert_eq!(found(&record, RULE), []);
    }
}
