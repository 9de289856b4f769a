//! The matrices of nodes: every cell is present, and its memory was on the stated node. The same applies to the time
//! per element of each loop from each node to each node, unless the run was quick.

use record::Label;
use std::collections::BTreeMap;

use record::{Measurement, Record, RunMode, metrics};

use super::verdicts::{Verdicts, check_placed};
use crate::shape::Shape;

/// Compares both matrices with the shape's nodes: rows are nodes with online CPUs, columns are nodes with memory.
pub fn check(shape: &Shape, record: &Record, verdicts: &mut Verdicts) {
    let online = shape.online();
    let numbered = || shape.nodes.iter().enumerate();
    let rows: Vec<u64> = numbered()
        .filter(|(_, node)| !node.cpus.intersection(&online).is_empty())
        .map(|(id, _)| id as u64)
        .collect();
    let columns: Vec<u64> = numbered().filter(|(_, node)| node.bytes > 0).map(|(id, _)| id as u64).collect();
    let nodes = [Matrix::Nodes(metrics::NUMA_LATENCY), Matrix::Nodes(metrics::NUMA_BANDWIDTH)];
    let quick = record.mode == Some(RunMode::Quick);
    let elements = [Matrix::Elements("copy"), Matrix::Elements("triad")];
    for matrix in nodes.into_iter().chain(elements.into_iter().filter(|_| !quick)) {
        let metric = matrix.name();
        let mut cells: BTreeMap<(u64, u64), Vec<&Measurement>> = BTreeMap::new();
        for cell in record.measurements.iter().filter(|m| matrix.holds(m)) {
            match matrix.find_place(shape, cell) {
                Some(place) => cells.entry(place).or_default().push(cell),
                None => verdicts.hold(false, format!("each cell of {metric} has a place"), || {
                    format!("{:?}", cell.labels)
                }),
            }
        }
        let wanted: Vec<(u64, u64)> =
            rows.iter().flat_map(|from| columns.iter().map(move |to| (*from, *to))).collect();
        let found: Vec<(u64, u64)> = cells.keys().copied().collect();
        let missing: Vec<String> =
            wanted.iter().filter(|cell| !found.contains(cell)).map(|cell| format!("{cell:?}")).collect();
        let foreign: Vec<_> = found.iter().filter(|cell| !wanted.contains(cell)).collect();
        let size = format!("{metric} has {} rows of {}", rows.len(), columns.len());
        verdicts.complete(record, "numa", size, &missing);
        verdicts.hold(foreign.is_empty(), format!("{metric} has no other cell"), || format!("{foreign:?}"));
        let twice = cells.values().filter(|of_place| of_place.len() > 1).count();
        verdicts.equal(&format!("duplicate cells of {metric}"), 0, twice);
        for ((from, to), cell) in cells.iter().filter_map(|(at, all)| Some((at, all.first()?))) {
            check_placed(cell, &format!("{metric} from {from}"), *to, verdicts);
        }
    }
}

/// A result with a cell for each requesting node and each node's memory.
#[derive(Clone, Copy)]
enum Matrix {
    /// A metric between nodes.
    Nodes(record::Metric),
    /// The time per element of a loop.
    Elements(&'static str),
}

impl Matrix {
    fn name(self) -> String {
        match self {
            Matrix::Nodes(metric) => metric.into(),
            Matrix::Elements(op) => format!("time per element of {op}"),
        }
    }

    fn holds(self, m: &Measurement) -> bool {
        match self {
            Matrix::Nodes(metric) => m.metric == metric,
            Matrix::Elements(op) => {
                m.metric == metrics::STREAM_NS_PER_ELEMENT && m.labels.word(Label::Op) == Some(op)
            }
        }
    }

    /// The requesting node, and the node of the memory.
    fn find_place(self, shape: &Shape, m: &Measurement) -> Option<(u64, u64)> {
        match self {
            Matrix::Nodes(_) => m.labels.count(Label::From).zip(m.labels.count(Label::To)),
            Matrix::Elements(_) => {
                let cpu = u32::try_from(m.labels.count(Label::Cpu)?).ok()?;
                let from = shape.nodes.iter().position(|node| node.cpus.contains(cpu))?;
                Some((from as u64, m.labels.count(Label::Node)?))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::made_up::{figure, record, shape, wrong};
    use record::Labels;
    use record::detail;

    fn found(cells: &[(u64, u64)], change: impl Fn(Measurement) -> Measurement) -> String {
        let all = ["numa.latency", "numa.bandwidth"].iter().flat_map(|metric| {
            let cell = |(from, to): &(u64, u64)| {
                change(figure(
                    *metric,
                    Labels::new().with_label(Label::From, *from).with_label(Label::To, *to),
                ))
            };
            cells.iter().map(cell).collect::<Vec<_>>()
        });
        let elements = ["copy", "triad"].iter().flat_map(|op| {
            let cell = |(from, to): &(u64, u64)| {
                let place = Labels::new().with_label(Label::Op, *op).with_label(Label::Cpu, from * 2);
                change(figure("stream.ns_per_element", place.with_label(Label::Node, *to)))
            };
            cells.iter().map(cell).collect::<Vec<_>>()
        });
        let record = record(all.chain(elements).collect());
        wrong(|verdicts| check(&shape("", 1), &record, verdicts))
    }

    #[test]
    fn a_node_without_memory_has_a_row_and_no_column() {
        assert_eq!(found(&[(0, 0), (1, 0)], |cell| cell), "");
        let missing = found(&[(0, 0)], |cell| cell);
        assert!(missing.contains("numa.latency has 2 rows of 1: found 1 missing: (1, 0)"), "{missing}");
        let elements = "time per element of triad has 2 rows of 1: found 1 missing: (1, 0)";
        assert!(missing.contains(elements), "{missing}");
        let foreign = found(&[(0, 0), (1, 0), (0, 1)], |cell| cell);
        assert!(foreign.contains("no other cell: found [(0, 1)]"), "{foreign}");
        assert!(
            found(&[(0, 0), (0, 0), (1, 0)], |cell| cell)
                .contains("duplicate cells of numa.latency is 0: found 1")
        );
    }

    #[test]
    fn pages_that_lay_elsewhere_or_were_never_asked_about_are_not_passed_over() {
        let cells = [(0, 0), (1, 0)];
        let elsewhere = found(&cells, |cell| cell.with_detail(detail::ON_NODE, 0.98));
        assert!(elsewhere.contains("from 1: its pages are on node 0: found share Some(0.98)"), "{elsewhere}");
        assert!(found(&cells, |cell| cell.with_detail(detail::PAGES, 0)).contains("of Some(0) pages"));
        let silent = |mut cell: Measurement| {
            cell.detail = record::Detail::default();
            cell
        };
        assert!(found(&cells, silent).contains("share None of None pages"));
    }
}
