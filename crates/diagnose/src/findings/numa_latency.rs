//! The cost of ignoring NUMA nodes: many memory accesses of a program without node binding are remote.

use record::Metric;
use record::diagnosis::Numa;

use super::prelude::*;
use crate::comparison::datum::Datum;
use crate::comparison::nodes::{Reach, Timed, find_reaches};
use crate::resources::MEMORY_BANDWIDTH;

/// The latency and bandwidth of all pairs of nodes, compared with those of each node's local memory.
///
/// The matrix is measured; the model assumes that accesses are spread evenly over all nodes. If the record has no
/// matrix, single results for local and remote memory are used, such as those printed by other tools.
pub(super) const RULE: Rule = Rule { name: "numa-latency", find };

/// Whether the machine has more than one node.
pub(super) fn has_nodes(case: &Case) -> bool {
    let machine = &case.record.machine;
    machine.counts.nodes.unwrap_or(0) > 1 || machine.nodes.len() > 1
}

fn find(case: &Case) -> Option<Vec<Finding>> {
    // Latencies measured in an emulator show nothing about distances.
    (case.record.machine.virtualization.emulated != Some(true)).then_some(())?;
    let found = match case.numa {
        Some(numa) => find_node_cost(case, numa)?,
        None => find_single_cost(case, &find_reach(case)?)?,
    };
    Some(vec![found])
}

/// In two-socket servers, remote accesses take 1.4 to 2.3 times as long as local ones by design; the links between sockets carry a quarter
/// to two thirds of a socket's memory bandwidth.
const LATENCY_BY_DESIGN: f64 = 2.3;
const BANDWIDTH_BY_DESIGN: f64 = 4.0;

/// The affected programs. If remote memory is no slower than expected from the design of the machine, only programs that could be bound to
/// nodes but are not bound count as affected.
fn felt_by(ignoring: f64, remote_share: f64, by_design: f64) -> Relevance {
    let remote = 1.0 + (ignoring - 1.0) / remote_share;
    if remote <= by_design { Relevance::Few } else { Relevance::Some }
}

/// Single results for local and remote memory, if the record has no matrix. `None` if it is not certain which node is the local one.
pub(super) fn find_reach(case: &Case) -> Option<Reach> {
    let reported = |reach: &Reach| reach.other.is_some() && !reach.guessed && reach.own.unfit.is_none();
    find_reaches(case.record).into_iter().find(reported)
}

/// The finding based on single results; it has no interval.
fn find_single_cost(case: &Case, reach: &Reach) -> Option<Finding> {
    let other = reach.other.as_ref()?;
    let loss = modelled(1.0 - 1.0 / reach.ignoring())?;
    let cite_datum = |datum: &Datum, template: Template| {
        let figure = record::units::figure(datum.value, &reach.own.unit);
        let figure: Value = match &datum.over {
            Some(over) => text!("{figure}, {over}").into(),
            None => figure.into(),
        };
        cite_fact(text!(template, what = &reach.what, figure = figure), datum.from.clone())
    };
    let nodes = if case.record.machine.nodes.len() > 1 { "machine.nodes" } else { "machine.counts.nodes" };
    let what = match reach.timed {
        // With many loads in flight, the result is not a latency.
        Timed::Stream(_) => text!(
            "a program that ignores NUMA nodes takes {factor} as long per element as a program with local memory",
            factor = Value::Factor(reach.ignoring())
        ),
        Timed::Matrix | Timed::Loads => describe_latency(reach.ignoring()),
    };
    let streams = matches!(reach.timed, Timed::Stream(_));
    let by_design = if streams { BANDWIDTH_BY_DESIGN } else { LATENCY_BY_DESIGN };
    let relevance = felt_by(reach.ignoring(), reach.remote_share, by_design);
    let mut finding = RULE.report_model(loss, what).felt_by(relevance);
    if streams {
        finding.resource = Some(MEMORY_BANDWIDTH.to_owned());
    }
    let finding = finding.cite(describe_share(reach.remote_share), nodes);
    Some(finding.cite_all([cite_datum(&reach.own, LOCAL), cite_datum(other, REMOTE)]))
}

const LOCAL: Template = Template::new("numa-latency-local", "{what}, local memory: {figure}");
const REMOTE: Template = Template::new("numa-latency-remote", "{what}, remote memory: {figure}");

fn describe_latency(factor: f64) -> Text {
    let factor = Value::Factor(factor);
    text!("numa-latency-ignoring", "a program that ignores NUMA nodes has {factor} the local memory latency")
}

fn describe_bandwidth(share: f64) -> Text {
    let share = Value::Share(share);
    text!("a program that ignores NUMA nodes reads at {share} of the local bandwidth")
}

fn describe_share(share: f64) -> Text {
    let share = Value::Share(share);
    text!("a program that ignores NUMA nodes makes {share} of its accesses to remote memory")
}

/// The share lost to remote accesses. Its interval is derived from the intervals of the matrix's local and remote cells;
/// `slowdown(remote, local)` is the cost of a remote access relative to a local one.
fn remote_loss(
    case: &Case,
    numa: &Numa,
    metric: Metric,
    share: f64,
    slowdown: impl Fn(f64, f64) -> f64,
) -> Option<Verdict> {
    // The median of the lower or upper interval bounds, over all local or all remote cells.
    let cells = |local: bool, end: fn((f64, f64)) -> f64| {
        let all = case.figures_of(metric);
        let wanted = all.filter(|m| (m.labels.count(Label::From) == m.labels.count(Label::To)) == local);
        median(wanted.map(|m| end(spread(&m.summary))))
    };
    let between = |far: f64, near: f64| 1.0 - 1.0 / (1.0 + numa.remote_share * (slowdown(far, near) - 1.0));
    let one = between(cells(false, |s| s.0)?, cells(true, |s| s.1)?);
    let other = between(cells(false, |s| s.1)?, cells(true, |s| s.0)?);
    let (least, most) = (one.min(other) - RESOLUTION, one.max(other) + RESOLUTION);
    costs(verdict(share, (least.min(share), most.max(share))))
}

fn find_node_cost(case: &Case, numa: &Numa) -> Option<Finding> {
    let by_latency = numa.ignoring_factor.and_then(|factor| {
        let loss = remote_loss(case, numa, metrics::NUMA_LATENCY, 1.0 - 1.0 / factor, |remote, local| {
            remote / local
        })?;
        let relevance = felt_by(factor, numa.remote_share, LATENCY_BY_DESIGN);
        Some(RULE.report_model(loss, describe_latency(factor)).felt_by(relevance))
    });
    let by_bandwidth = || {
        let factor = numa.bandwidth_factor?;
        let loss = remote_loss(case, numa, metrics::NUMA_BANDWIDTH, 1.0 - factor, |far, near| near / far)?;
        let resource = Some(MEMORY_BANDWIDTH.to_owned());
        let relevance = felt_by(1.0 / factor, numa.remote_share, BANDWIDTH_BY_DESIGN);
        let finding = RULE.report_model(loss, describe_bandwidth(factor)).felt_by(relevance);
        Some(Finding { resource, ..finding })
    };
    let ns = |ns: f64| Value::Figure(ns, "ns");
    let medians = numa.local_ns.map(ns).zip(numa.remote_ns.map(ns));
    let finding = by_latency
        .or_else(by_bandwidth)?
        .cite(describe_share(numa.remote_share), "diagnosis.numa.remote_share")
        .cite_some(medians, "diagnosis.numa.local_ns and .remote_ns", |(local, remote)| {
            text!("median latency: local {local}, remote {remote}")
        })
        .cite_some(numa.slowest, "diagnosis.numa.slowest", |(from, to, latency)| {
            text!("slowest pair: node {from} to node {to}, {latency}", latency = ns(latency))
        })
        .cite_some(numa.bandwidth_factor, "diagnosis.numa.bandwidth_factor", describe_bandwidth);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::share_of;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{figure_in, machine, nodes};

    #[test]
    fn four_nodes_cost_three_remote_accesses_of_four() {
        let record = nodes(4, |a, b| if a == b { 10 } else { 21 }, |a, b| if a == b { 100.0 } else { 150.0 });
        let finding = &found(&record, RULE)[0];
        // Over all accesses, 1.375 times the local latency.
        assert!((share_of(&finding.loss) - (1.0 - 1.0 / 1.375)).abs() < 1e-6, "{finding:?}");
        assert_eq!(finding.what.code(), Some("numa-latency-ignoring"));
        assert!((figure_in(&finding.what, "factor") - 1.375).abs() < 1e-6, "{finding:?}");
        assert_eq!(figure_in(&finding.evidence[0].says, "share"), 0.75);
        assert!(!finding.measured && finding.severity == Severity::Note, "1.5 times is by design");
        let far = nodes(4, |a, b| if a == b { 10 } else { 21 }, |a, b| if a == b { 100.0 } else { 250.0 });
        assert_eq!(found(&far, RULE)[0].severity, Severity::Warning);
    }

    #[test]
    fn nodes_that_are_alike_one_node_or_no_matrix_are_silence() {
        let alike = nodes(2, |a, b| if a == b { 10 } else { 11 }, |_, _| 100.0);
        assert_eq!(found(&alike, RULE), []);
        assert_eq!(missing(&machine(2), RULE), None, "with one node, there is nothing to ignore");
        let mut unmeasured = alike;
        unmeasured.measurements.clear();
        assert_eq!(missing(&unmeasured, RULE), Some("latency or bandwidth between nodes"));
    }

    #[test]
    fn without_a_matrix_own_and_remote_figures_of_another_tool_serve() {
        let mut record = machine(4);
        record.machine.counts.nodes = Some(4);
        assert_eq!(missing(&record, RULE), Some("latency or bandwidth between nodes"));
        for (node, ns) in [("local", 1.2), ("remote", 1.85)] {
            let place = record::Labels::new().with_label(Label::Op, "copy").with_label(Label::Node, node);
            record.measurements.push(record::Measurement::new("stream.ns_per_element", place, vec![ns]));
        }
        assert_eq!(missing(&record, RULE), None);
        let finding = &found(&record, RULE)[0];
        // 1 + 3/4 × (1.85 ÷ 1.20 − 1).
        assert!((share_of(&finding.loss) - (1.0 - 1.0 / 1.406_25)).abs() < 1e-6, "{finding:?}");
        assert_eq!(figure_in(&finding.evidence[0].says, "share"), 0.75);
        assert_eq!(finding.evidence[2].says.value("figure"), Some(&"1.85 ns".into()));
        // Equally fast from every node: no finding, and no missing data.
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
