//! What a program pays that ignores nodes: most of its accesses go to other nodes' memory.

use record::diagnosis::{Finding, Numa};
use record::statistics::Verdict;
use record::units::{figure, percent, significant};

use super::{Case, Rule, at_most_warning, by_model, costs, lines};
use crate::figures::{RESOLUTION, median, modelled, spread, told, verdict};
use crate::resources::{MEMORY_BANDWIDTH, MEMORY_LATENCY};

/// Latency and bandwidth over all pairs of nodes against those of each node's own memory.
///
/// The matrix is measured; that accesses spread evenly over all nodes is the model.
pub const RULE: Rule = Rule { name: "numa-latency", resource: Some(MEMORY_LATENCY), missing, find };

/// Whether the machine has more than one node.
pub(super) fn has_nodes(case: &Case) -> bool {
    let machine = &case.record.machine;
    machine.counts.nodes.unwrap_or(0) > 1 || machine.nodes.len() > 1
}

/// What is missing to judge a machine of several nodes.
pub(super) fn missing(case: &Case) -> Option<&'static str> {
    (has_nodes(case) && case.numa.is_none()).then_some("latency or bandwidth between the nodes")
}

fn find(case: &Case) -> Vec<Finding> {
    // Times of an emulator say nothing of distances.
    if case.record.machine.virtualization.emulated == Some(true) {
        return Vec::new();
    }
    case.numa.and_then(|numa| one(case, numa)).into_iter().collect()
}

/// The loss of latency with its interval, from those of the local and the remote cells.
fn latency_loss(case: &Case, numa: &Numa, factor: f64) -> Option<Verdict> {
    let cells = |local: bool, end: fn((f64, f64)) -> f64| {
        let wanted =
            case.of("numa.latency").filter(move |m| (m.place.count("from") == m.place.count("to")) == local);
        median(wanted.map(move |m| end(spread(&m.summary))))
    };
    let share = 1.0 - 1.0 / factor;
    let between = |remote: f64, local: f64| {
        let factor = 1.0 + numa.remote_share * (remote / local - 1.0);
        1.0 - 1.0 / factor
    };
    let least = between(cells(false, |s| s.0)?, cells(true, |s| s.1)?) - RESOLUTION;
    let most = between(cells(false, |s| s.1)?, cells(true, |s| s.0)?) + RESOLUTION;
    costs(verdict(share, (least.min(share), most.max(share))))
}

fn one(case: &Case, numa: &Numa) -> Option<Finding> {
    let by_latency =
        numa.ignoring_factor.and_then(|factor| Some((factor, latency_loss(case, numa, factor)?)));
    let mut seen = vec![told(
        format!("{} of the accesses of a program that ignores nodes are remote", percent(numa.remote_share)),
        "diagnosis.numa.remote_share",
    )];
    if let (Some(local), Some(remote)) = (numa.local_ns, numa.remote_ns) {
        let says = format!("local {}, remote {} in the median", figure(local, "ns"), figure(remote, "ns"));
        seen.push(told(says, "diagnosis.numa.local_ns and .remote_ns"));
    }
    if let Some((from, to, ns)) = numa.slowest {
        let says = format!("the slowest pair, node {from} to {to}, {}", figure(ns, "ns"));
        seen.push(told(says, "diagnosis.numa.slowest"));
    }
    if let Some(factor) = numa.bandwidth_factor {
        let says = format!("it reads at {} of the local bandwidth", percent(factor));
        seen.push(told(says, "diagnosis.numa.bandwidth_factor"));
    }
    let finding = match by_latency {
        Some((factor, loss)) => by_model(
            &RULE,
            loss,
            format!("a program that ignores nodes waits {} times the local latency", significant(factor)),
        ),
        None => {
            let factor = numa.bandwidth_factor?;
            let loss = modelled(1.0 - factor)?;
            let what =
                format!("a program that ignores nodes reads at {} of the local bandwidth", percent(factor));
            Finding { resource: Some(MEMORY_BANDWIDTH.to_owned()), ..by_model(&RULE, loss, what) }
        }
    };
    Some(Finding {
        severity: at_most_warning(&finding.loss),
        evidence: seen,
        remedy: lines([
            "a process a node, each bound to its own: numactl --cpunodebind=N --membind=N COMMAND",
            "one process that needs more than a node: spread its memory evenly, numactl --interleave=all COMMAND",
        ]),
        ..finding
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::share_of;
    use crate::samples::{found, machine, missing, nodes};

    #[test]
    fn four_nodes_cost_three_remote_accesses_of_four() {
        let record = nodes(4, |a, b| if a == b { 10 } else { 21 }, |a, b| if a == b { 100.0 } else { 150.0 });
        let finding = &found(&record, RULE)[0];
        // Over all accesses 1.375 times the local latency.
        assert!((share_of(&finding.loss) - (1.0 - 1.0 / 1.375)).abs() < 1e-6, "{finding:?}");
        assert!(
            finding.what.ends_with("waits 1.37 times the local latency") || finding.what.contains("1.38")
        );
        assert!(finding.evidence[0].says.starts_with("75.0 %"), "{finding:?}");
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
    fn an_emulator_says_nothing_of_nodes() {
        let mut record = nodes(2, |_, _| 20, |a, b| if a == b { 100.0 } else { 200.0 });
        record.machine.virtualization.emulated = Some(true);
        assert_eq!(found(&record, RULE), []);
    }
}
