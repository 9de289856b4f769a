//! The cost of NUMA: the matrices of latency and bandwidth, and conclusions from them.

use std::collections::{BTreeMap, BTreeSet};

use record::diagnosis::Numa;
use record::{Label, Measurement, Record, metrics, units};

use super::{Block, Part, Section};
use crate::chart::heat::{Head, Heat};
use crate::shown::Shown;

/// Maximum number of nodes for a drawn matrix: Linux supports up to 1024 (`CONFIG_NODES_SHIFT`).
const MOST_NODES: usize = 1024;

/// The block of a report about nodes; empty if no matrix was measured.
pub(crate) fn block(record: &Record) -> Block {
    let numa = record.diagnosis.numa.iter();
    let parts = numa.flat_map(|numa| [Part::Says(numa.meaning.to_string()), Part::Facts(facts(numa))]);
    let mut block =
        Block::new("NUMA latency and bandwidth", Some(metrics::NUMA_LATENCY.name()), parts.collect());
    for (heat, shown) in [latency(record), bandwidth(record)].into_iter().flatten() {
        block.shown.join(&shown);
        block.parts.push(Part::Heat(Box::new(heat)));
    }
    block
}

/// Conclusions from the matrices, one fact per line.
fn facts(numa: &Numa) -> Section {
    let mut section = Section::new("Nodes");
    let ns = |value: f64| units::figure(value, "ns");
    section.add_some("local memory", numa.local_ns.map(|value| format!("{} (median)", ns(value))));
    section.add_some("other nodes", numa.remote_ns.map(|value| format!("{} (median)", ns(value))));
    section.add_some(
        "slowest pair",
        numa.slowest.map(|(from, to, value)| format!("{} from node {from} to node {to}", ns(value))),
    );
    let agreement = numa.distance_agreement.filter(|agreement| agreement.is_finite());
    section.add_some(
        "distances",
        agreement.map(|by| format!("rank correlation {by:.2} with the measured latencies")),
    );
    for sentence in &numa.distance_mismatches {
        section.add("distances", sentence);
    }
    section
}

/// Latency, node by node.
pub(crate) fn latency(record: &Record) -> Option<(Heat, Shown)> {
    let all = record.measurements_of(metrics::NUMA_LATENCY).collect();
    matrix(record, all, "Load latency, node to node", "ns")
}

/// Read bandwidth, node by node, with the largest number of threads.
pub(crate) fn bandwidth(record: &Record) -> Option<(Heat, Shown)> {
    let mut all: Vec<&Measurement> = record.measurements_of(metrics::NUMA_BANDWIDTH).collect();
    let reading = |m: &&Measurement| m.labels.word(Label::Op) == Some("read");
    if all.iter().any(reading) {
        all.retain(reading);
    }
    all.sort_by_key(|m| std::cmp::Reverse(m.labels.count(Label::Threads)));
    matrix(record, all, "Bandwidth, node to node", "B/s")
}

/// The matrix of these results, and the results that it contains.
fn matrix(record: &Record, all: Vec<&Measurement>, title: &str, unit: &'static str) -> Option<(Heat, Shown)> {
    let id = |m: &Measurement, key: Label| m.labels.count(key).and_then(|id| u32::try_from(id).ok());
    let mut cells: BTreeMap<(u32, u32), &Measurement> = BTreeMap::new();
    for m in all.into_iter().filter(|m| m.summary.n > 0) {
        if let (Some(from), Some(to)) = (id(m, Label::From), id(m, Label::To)) {
            cells.entry((from, to)).or_insert(m);
        }
    }
    let rows: BTreeSet<u32> = cells.keys().map(|(from, _)| *from).collect();
    let columns: BTreeSet<u32> = cells.keys().map(|(_, to)| *to).collect();
    if rows.len() > MOST_NODES || columns.len() > MOST_NODES || rows.union(&columns).count() < 2 {
        return None;
    }
    let packages = packages(record);
    let head = |node: &u32| Head {
        name: node.to_string(),
        group: packages.get(node).map_or(String::new(), |package| format!("package {package}")),
    };
    let cell = |from: &u32, to: &u32| cells.get(&(*from, *to)).map(|m| m.value());
    let mut shown = Shown::default();
    cells.values().for_each(|m| shown.add(m));
    let heat = Heat {
        title: title.to_owned(),
        unit,
        lower_is_better: unit == "ns",
        down: "requesting node".to_owned(),
        across: "memory node".to_owned(),
        diagonal: true,
        rows: rows.iter().map(head).collect(),
        columns: columns.iter().map(head).collect(),
        cells: rows.iter().map(|from| columns.iter().map(|to| cell(from, to)).collect()).collect(),
        notes: super::figures::doubts(cells.values().copied(), "cell").into_iter().collect(),
    };
    Some((heat.checked()?, shown))
}

/// The package of each node; nodes without CPUs have no package.
fn packages(record: &Record) -> BTreeMap<u32, u32> {
    let mut packages = BTreeMap::new();
    for cpu in record.machine.cpus.iter().filter(|cpu| cpu.online) {
        if let (Some(node), Some(package)) = (cpu.node, cpu.package) {
            packages.entry(node).or_insert(package);
        }
    }
    packages
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Labels;

    #[test]
    fn a_memory_only_node_is_a_column_and_no_row() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        for (to, ns) in [(0u32, 100.0), (2, 300.0)] {
            let place = Labels::new().with_label(Label::From, 0u32).with_label(Label::To, to);
            record.measurements.push(Measurement::new("numa.latency", place, vec![ns; 6]));
        }
        let (heat, shown) = latency(&record).unwrap();
        assert!(record.measurements.iter().all(|m| shown.has(m)));
        assert_eq!(heat.rows.iter().map(|head| head.name.as_str()).collect::<Vec<_>>(), ["0"]);
        assert_eq!(heat.columns.iter().map(|head| head.name.as_str()).collect::<Vec<_>>(), ["0", "2"]);
        assert_eq!(bandwidth(&record), None);
    }

    #[test]
    fn one_node_has_no_matrix() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        let place = Labels::new().with_label(Label::From, 0u32).with_label(Label::To, 0u32);
        record.measurements.push(Measurement::new("numa.latency", place, vec![90.0; 6]));
        assert_eq!(latency(&record), None);
        assert!(block(&record).is_empty());
    }
}
