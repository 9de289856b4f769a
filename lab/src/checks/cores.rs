//! Checks the core-to-core matrix: every pair is present, with a line on the node of each CPU, transferred by both methods.

use record::Label;
use std::collections::{BTreeMap, BTreeSet};

use record::{Handover, Measurement, Record, metrics};

use super::verdicts::{Verdicts, check_placed};
use crate::shape::Shape;

/// A pair and the node of its line.
type Line = ((u32, u32), Option<u64>);

/// Compares the matrix with the shape's CPUs and nodes.
pub fn check(shape: &Shape, record: &Record, verdicts: &mut Verdicts) {
    let metric = metrics::CORE_TO_CORE_LATENCY;
    let mut pairs: BTreeMap<(u32, u32), BTreeSet<Option<u64>>> = BTreeMap::new();
    let mut ways: BTreeMap<Line, BTreeSet<&'static str>> = BTreeMap::new();
    for cell in record.measurements.iter().filter(|m| m.metric == metric) {
        let Some(pair) = pair(cell) else {
            verdicts
                .hold(false, format!("each cell of {metric} has two CPUs"), || format!("{:?}", cell.labels));
            continue;
        };
        let home = cell.labels.count(Label::Home);
        pairs.entry(pair).or_default().insert(home);
        let way = Handover::of_measurement(cell).map_or("untold", Handover::word);
        if !ways.entry((pair, home)).or_default().insert(way) {
            verdicts.hold(false, format!("CPUs {pair:?} with home {home:?} by {way} occur once"), || {
                "twice".to_owned()
            });
        }
        if let (Some(home), true) = (home, shape.nodes.len() > 1) {
            check_placed(cell, &format!("line of CPUs {} and {}", pair.0, pair.1), home, verdicts);
        }
    }
    let both: BTreeSet<&str> = Handover::ALL.map(Handover::word).into();
    let half: Vec<String> = ways
        .iter()
        .filter(|(_, ways)| **ways != both)
        .map(|((pair, home), ways)| format!("{pair:?} with home {home:?} has {ways:?}"))
        .collect();
    verdicts.complete(
        record,
        "core-to-core",
        format!("{metric}: each line is transferred by both methods"),
        &half,
    );
    let online = shape.online();
    let wanted: Vec<(u32, u32)> =
        online.iter().flat_map(|a| online.iter().filter(move |b| *b > a).map(move |b| (a, b))).collect();
    let missing: Vec<String> =
        wanted.iter().filter(|pair| !pairs.contains_key(pair)).map(|pair| format!("{pair:?}")).collect();
    let foreign: Vec<_> = pairs.keys().filter(|pair| !wanted.contains(pair)).collect();
    verdicts.complete(
        record,
        "core-to-core",
        format!("{metric} has {} pairs of CPUs", wanted.len()),
        &missing,
    );
    verdicts.hold(foreign.is_empty(), format!("{metric} has no other pair"), || format!("{foreign:?}"));
    for (pair, homes) in &pairs {
        let nodes = homes_of(shape, *pair);
        if !nodes.is_empty() {
            verdicts.equal(&format!("nodes of the line of CPUs {pair:?}"), &nodes, homes);
        }
    }
}

/// A cell's CPUs, the lower one first.
fn pair(cell: &Measurement) -> Option<(u32, u32)> {
    let cpu = |key| u32::try_from(cell.labels.count(key)?).ok();
    let (a, b) = (cpu(Label::From)?, cpu(Label::To)?);
    Some((a.min(b), a.max(b)))
}

/// The nodes of a pair's CPUs, if they have memory.
fn homes_of(shape: &Shape, pair: (u32, u32)) -> BTreeSet<Option<u64>> {
    let of = |cpu: u32| shape.nodes.iter().position(|node| node.cpus.contains(cpu));
    let nodes = [of(pair.0), of(pair.1)].into_iter().flatten();
    nodes.filter(|node| shape.nodes[*node].bytes > 0).map(|node| Some(node as u64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::made_up::{figure, record, shape, wrong};
    use record::Labels;

    /// The failed checks for a matrix of these pairs and home nodes, if CPU 3 is offline and node 1 has no memory.
    fn found(cells: &[(u64, u64, u64)]) -> String {
        let by = |(from, to, home): &(u64, u64, u64), how: Handover| {
            let place = Labels::new()
                .with_label(Label::From, *from)
                .with_label(Label::To, *to)
                .with_label(Label::Home, *home);
            figure("core_to_core.latency", place.with_label(Label::Handover, how.word()))
        };
        let both = |cell| Handover::ALL.map(|how| by(cell, how));
        checked(cells.iter().flat_map(both).collect())
    }

    fn checked(cells: Vec<Measurement>) -> String {
        let record = record(cells);
        wrong(|verdicts| check(&shape("offline = '3'", 1), &record, verdicts))
    }

    #[test]
    fn every_pair_of_cpus_online_is_there_with_its_line_on_their_nodes() {
        assert_eq!(found(&[(0, 1, 0), (2, 0, 0), (1, 2, 0)]), "");
        let missing = found(&[(0, 1, 0), (0, 2, 0)]);
        assert!(missing.contains("has 3 pairs of CPUs: found 1 missing: (1, 2)"), "{missing}");
        assert!(
            found(&[(0, 1, 0), (0, 2, 0), (1, 2, 0), (0, 3, 0)]).contains("no other pair: found [(0, 3)]")
        );
        assert!(found(&[(0, 1, 0), (0, 2, 1), (1, 2, 0)]).contains("nodes of the line of CPUs (0, 2)"));
        assert!(found(&[(0, 1, 0), (1, 0, 0), (0, 2, 0), (1, 2, 0)]).contains("occur once: found twice"));
    }

    #[test]
    fn a_pair_in_one_way_only_is_half_reported() {
        let cell = |from: u64, to: u64, how: &str| {
            let place = Labels::new()
                .with_label(Label::From, from)
                .with_label(Label::To, to)
                .with_label(Label::Home, 0u64);
            figure("core_to_core.latency", place.with_label(Label::Handover, how))
        };
        let mut cells: Vec<_> = [(0, 1), (0, 2), (1, 2)]
            .iter()
            .flat_map(|(a, b)| ["cas", "store"].map(|how| cell(*a, *b, how)))
            .collect();
        assert_eq!(checked(cells.clone()), "");
        drop(cells.pop());
        let wrong = checked(cells);
        assert!(
            wrong.contains("by both methods: found 1 missing: (1, 2) with home Some(0) has {\"cas\"}"),
            "{wrong}"
        );
    }
}
