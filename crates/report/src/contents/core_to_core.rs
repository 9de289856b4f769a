//! Core-to-core latency: the matrix in topology order, summarized by kind of pair. Compare-and-swap is shown first, then loads and stores.

use std::collections::{BTreeMap, BTreeSet};

use record::machine::Cpu;
use record::{Handover, Label, Machine, Measurement, Record, Summary, detail, metrics, units};

use super::figures::{doubts, labelled, value};
use super::{Block, Part};
use crate::chart::heat::{Head, Heat};
use crate::table::Table;

/// Maximum number of CPUs for a drawn matrix: even with one pixel per CPU, a larger matrix would be wider than any
/// page.
const MOST_CPUS: usize = 1024;
/// With at most this many pairs, each pair has a row, and no matrix is drawn.
const FEW: usize = 3;

/// The machine's CPUs, by number.
type Cpus<'a> = BTreeMap<u32, &'a Cpu>;

fn cpus(machine: &Machine) -> Cpus<'_> {
    machine.cpus.iter().map(|cpu| (cpu.id, cpu)).collect()
}

/// The block of a report about pairs of CPUs; `None` if few or none were measured.
pub(crate) fn block(record: &Record) -> Option<Block> {
    // Published articles contain results per kind of pair instead of per pair.
    let is_placed = |m: &&Measurement| pair(m).is_some() || m.detail.has(detail::CLASS);
    let all =
        record.measurements_of(metrics::CORE_TO_CORE_LATENCY).filter(|m| m.summary.n > 0).filter(is_placed);
    let mut ways: BTreeMap<Option<Handover>, Vec<&Measurement>> = BTreeMap::new();
    all.for_each(|m| ways.entry(Handover::of_measurement(m)).or_default().push(m));
    // Results measured with an unknown method are shown first if there are no others; otherwise, they have a separate table.
    let how = Handover::chief(ways.values().flatten().copied());
    let chief = ways.remove(&how)?;
    let beside = ways.remove(&Some(Handover::Store)).unwrap_or_default();
    let cpus = cpus(&record.machine);
    let dies = record.machine.counts.dies > record.machine.counts.packages;
    let class = |m: &Measurement| class(&cpus, dies, m);
    let pairs: BTreeSet<(u32, u32)> = chief.iter().filter_map(|m| pair(m)).collect();
    // Results from published articles are per kind of pair, so their records contain no individual pairs.
    (!(1..=FEW).contains(&pairs.len())).then_some(())?;
    let table = classes(how, &chief, &beside, class);
    let heat = matrix(&cpus, how, &chief).map(|heat| Part::Heat(Box::new(heat)));
    let parts = [Part::Table(table)].into_iter().chain(heat).collect();
    let mut block = Block::new("Core-to-core latency", Some(metrics::CORE_TO_CORE_LATENCY.name()), parts);
    // All results count as shown: the table contains the number of pairs of each kind, and the matrix shows the pairs.
    chief.iter().chain(&beside).for_each(|m| block.shown.add(m));
    Some(block)
}

/// The title of the drawn results, with the handover method if known.
fn titled(what: &str, how: Option<Handover>) -> String {
    how.map_or(what.to_owned(), |how| format!("{what}, {}", how.says()))
}

/// The two CPUs of a measurement.
fn pair(m: &Measurement) -> Option<(u32, u32)> {
    let id = |key| m.labels.count(key).and_then(|id| u32::try_from(id).ok());
    Some((id(Label::From)?, id(Label::To)?))
}

/// The kind of a pair: as named in the record, otherwise derived from the topology.
fn class(cpus: &Cpus, dies: bool, m: &Measurement) -> String {
    if let Some(shown) = m.detail.get(detail::CLASS) {
        // The words of the record: `cache`, `package at distance 16`.
        return if SHARED.iter().any(|part| shown.starts_with(part)) {
            format!("one {shown}")
        } else {
            shown.to_owned()
        };
    }
    let Some((from, to)) = pair(m) else { return String::new() };
    let (Some(a), Some(b)) = (cpus.get(&from), cpus.get(&to)) else {
        return "unknown".to_owned();
    };
    let shared = |(name, of): &&OfPart| (dies || *name != "die") && of(a).is_some() && of(a) == of(b);
    match PARTS.iter().find(shared) {
        Some(("core", _)) => "siblings".to_owned(),
        Some((name, _)) => format!("one {name}"),
        None => "other package".to_owned(),
    }
}

/// Parts that two CPUs may share, smallest first, as records name them.
const SHARED: [&str; 5] = ["cluster", "cache", "die", "node", "package"];

/// The rank of this kind of pair by distance: siblings first, then ordered by the shared part and by distance.
fn rank(kind: &str) -> (usize, u32, String) {
    let mut words = kind.split_whitespace();
    let place = match (words.next(), words.next()) {
        (Some("siblings"), _) => 0,
        (Some("one"), Some(part)) => {
            SHARED.iter().position(|shared| *shared == part).map_or(SHARED.len() + 2, |at| at + 1)
        }
        (Some("other"), Some("package")) => SHARED.len() + 1,
        _ => SHARED.len() + 2,
    };
    let distance = kind.rsplit(' ').next().and_then(|last| last.parse().ok()).unwrap_or(0);
    (place, distance, kind.to_owned())
}

/// Pairs beyond this multiple or fraction of the median of their kind are outliers.
const FAR: f64 = 2.0;
/// Minimum number of pairs of a kind for which outliers are reported.
const LEAST_PAIRS: usize = 3;
/// Maximum number of pairs named in a note.
const NAMED: usize = 3;

/// The note on outlier pairs that the topology does not explain.
fn outliers(kind: &str, of: &[&Measurement]) -> Vec<String> {
    let known: Vec<&&Measurement> =
        of.iter().filter(|m| m.value() > 0.0 && m.value().is_finite() && pair(m).is_some()).collect();
    let pairs: BTreeSet<(u32, u32)> = known.iter().filter_map(|m| pair(m)).collect();
    if pairs.len() < LEAST_PAIRS {
        return Vec::new();
    }
    let middle = Summary::from_samples(&known.iter().map(|m| m.value()).collect::<Vec<_>>()).median;
    let describe = |far: Vec<&&&Measurement>, why: &str| {
        let named = far.iter().take(NAMED).map(|m| {
            let (from, to) = (labelled(m, Label::From), labelled(m, Label::To));
            format!("CPUs {from} and {to} {}", value(m))
        });
        let named: Vec<String> = named.collect();
        let more = far.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let median = units::figure(middle, "ns");
        (!named.is_empty()).then(|| format!("{kind}: {}{more}, median {median}: {why}", named.join(", ")))
    };
    let near = known.iter().filter(|m| m.value() * FAR < middle).collect();
    let far = known.iter().filter(|m| m.value() > middle * FAR).collect();
    let (hidden, disturbed) = (
        "nearer than the topology shows, possibly siblings or a shared cache hidden by the hypervisor",
        "farther than the topology shows, or another process used one of these CPUs",
    );
    [describe(near, hidden), describe(far, disturbed)].into_iter().flatten().collect()
}

/// One row per kind of pair, nearest first; a separate column shows the medians of the results in `beside`.
fn classes(
    how: Option<Handover>,
    all: &[&Measurement],
    beside: &[&Measurement],
    class: impl Fn(&Measurement) -> String,
) -> Table {
    let heads = ["kind of pair", "#pairs", "#median", "#min", "#max", "#by stores", "slowest pair"];
    let mut table =
        Table::new(&titled("By kind of pair", how), Some(metrics::CORE_TO_CORE_LATENCY.name()), heads);
    // A kind that occurs only in `beside` still has a row.
    let mut kinds: BTreeMap<String, [Vec<&Measurement>; 2]> = BTreeMap::new();
    for (column, figures) in [all, beside].into_iter().enumerate() {
        for m in figures.iter().filter(|m| m.value().is_finite()) {
            kinds.entry(class(m)).or_default()[column].push(m);
        }
    }
    let mut rows: Vec<_> = kinds.into_iter().collect();
    rows.sort_by_cached_key(|(kind, _)| rank(kind));
    for (kind, [of, beside]) in rows {
        outliers(&kind, &of).iter().for_each(|note| table.note(note));
        let pairs: BTreeSet<(u32, u32)> = of.iter().filter_map(|m| pair(m)).collect();
        let slowest = of.iter().max_by(|a, b| a.value().total_cmp(&b.value()));
        let summarized =
            |all: &[&Measurement]| Summary::from_samples(&all.iter().map(|m| m.value()).collect::<Vec<_>>());
        let (summary, other) = (summarized(&of), summarized(&beside));
        let ns = |summary: &Summary, value| match summary.n {
            0 => String::new(),
            _ => units::figure(value, "ns"),
        };
        table.row(vec![
            kind,
            if pairs.is_empty() { String::new() } else { pairs.len().to_string() },
            ns(&summary, summary.median),
            ns(&summary, summary.min),
            ns(&summary, summary.max),
            ns(&other, other.median),
            slowest.filter(|m| pair(m).is_some()).map_or(String::new(), |m| {
                format!("CPUs {} and {}", labelled(m, Label::From), labelled(m, Label::To))
            }),
        ]);
    }
    if let Some(note) = doubts(all.iter().chain(beside).copied(), "pair") {
        table.note(&note);
    }
    if !beside.is_empty() {
        table.note("\"by stores\" is the median of the same pairs if loads and stores transfer the line");
    }
    table.finished()
}

/// The CPUs of these pairs in the order of the topology: package, node, die, cluster, core, then the siblings by number.
fn ordered(cpus: &Cpus, all: &[&Measurement]) -> Vec<u32> {
    let ids: BTreeSet<u32> = all.iter().filter_map(|m| pair(m)).flat_map(|(a, b)| [a, b]).collect();
    let mut ids: Vec<u32> = ids.into_iter().collect();
    let parts = |id: &u32| PARTS.map(|(_, of)| cpus.get(id).and_then(|cpu| of(cpu)));
    ids.sort_by_cached_key(|id| parts(id).into_iter().rev().collect::<Vec<_>>());
    ids
}

/// The values of each pair. If the node of the line's memory was recorded, the CPU on that node is the first of the pair.
fn by_home(cpus: &Cpus, all: &[&Measurement]) -> BTreeMap<(u32, u32), f64> {
    let node = |id: u32| cpus.get(&id).and_then(|cpu| cpu.node).map(u64::from);
    let mut cells = BTreeMap::new();
    for m in all {
        let Some((from, to)) = pair(m) else { continue };
        let home = m.labels.count(Label::Home);
        let at_to = home.is_some() && home == node(to) && home != node(from);
        cells.insert(if at_to { (to, from) } else { (from, to) }, m.value());
    }
    // If the line was on only one node, the result represents both directions.
    let other: Vec<((u32, u32), f64)> = cells.iter().map(|(at, value)| ((at.1, at.0), *value)).collect();
    for (at, value) in other {
        cells.entry(at).or_insert(value);
    }
    cells
}

/// The matrix.
fn matrix(cpus: &Cpus, how: Option<Handover>, all: &[&Measurement]) -> Option<Heat> {
    let ids = ordered(cpus, all);
    (ids.len() <= MOST_CPUS).then_some(())?;
    let cells = by_home(cpus, all);
    // The margin shows nodes, or packages if there is only one node.
    let nodes: BTreeSet<u32> = ids.iter().filter_map(|id| cpus.get(id)?.node).collect();
    let (part, of) = if nodes.len() > 1 { PARTS[3] } else { PARTS[4] };
    let number = |id: &u32| cpus.get(id).and_then(|cpu| of(cpu));
    let group = |id: &u32| number(id).map_or(String::new(), |number| format!("{part} {number}"));
    let head = |id: &u32| Head { name: id.to_string(), group: group(id) };
    let heads: Vec<Head> = ids.iter().map(head).collect();
    let row = |from: &u32| ids.iter().map(|to| cells.get(&(*from, *to)).copied()).collect();
    Heat {
        title: titled("Cache-line transfer between CPUs, one way", how),
        unit: "ns",
        lower_is_better: true,
        down: "CPU on the cache line's node".to_owned(),
        across: "the other CPU".to_owned(),
        diagonal: false,
        cells: ids.iter().map(row).collect(),
        rows: heads.clone(),
        columns: heads,
        notes: vec!["CPUs are ordered by package, node, die, cluster, core and sibling.".to_owned()],
    }
    .checked()
}

/// A kind of part that encloses CPUs.
type OfPart = (&'static str, fn(&Cpu) -> Option<u32>);

/// The kinds of parts, smallest first.
const PARTS: [OfPart; 5] = [
    ("core", |cpu| cpu.core),
    ("cluster", |cpu| cpu.cluster),
    ("die", |cpu| cpu.die),
    ("node", |cpu| cpu.node),
    ("package", |cpu| cpu.package),
];

#[cfg(test)]
mod tests {
    use super::*;
    use record::Labels;

    /// Two packages of two cores with two siblings each, numbered as Linux does: 0 and 4 are siblings.
    fn record(pairs: &[(u32, u32)]) -> Record {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        for id in 0..8u32 {
            let core = id % 4;
            record.machine.cpus.push(Cpu {
                id,
                online: true,
                core: Some(core),
                package: Some(core / 2),
                node: Some(core / 2),
                ..Cpu::default()
            });
        }
        for (from, to) in pairs {
            let place = Labels::new()
                .with_label(Label::From, *from)
                .with_label(Label::To, *to)
                .with_label(Label::Home, from % 4 / 2);
            record.measurements.push(Measurement::new("core_to_core.latency", place, vec![50.0; 6]));
        }
        record
    }

    #[test]
    fn a_pair_far_from_the_others_of_its_kind_is_named() {
        let with = |ns: f64| {
            let mut record = record(&[(0, 2), (0, 3), (1, 2), (1, 3)]);
            let place = record.measurements[0].labels.clone();
            record.measurements[0] = Measurement::new("core_to_core.latency", place, vec![ns; 6]);
            let block = block(&record).unwrap();
            let Part::Table(table) = &block.parts[0] else { panic!("{:?}", block.parts) };
            table.remarks.join("\n")
        };
        let (near, far) = (with(20.0), with(150.0));
        assert!(near.contains("CPUs 0 and 2 20.0 ns, median 50.0 ns"), "{near}");
        assert!(far.contains("CPUs 0 and 2 150 ns") && far != near.replace("20.0 ns", "150 ns"), "{far}");
        assert_eq!(with(60.0), "");
    }

    #[test]
    fn of_one_pair_there_is_no_map() {
        assert_eq!(block(&record(&[(0, 1)])), None);
    }

    /// The same pairs by compare-and-swap, twice as fast.
    fn swapped_too(mut record: Record) -> Record {
        for m in record.measurements.clone() {
            let place = m.labels.with_label(Label::Handover, Handover::Cas.word());
            record.measurements.push(Measurement::new("core_to_core.latency", place, vec![25.0; 6]));
        }
        record
    }

    #[test]
    fn the_map_is_of_one_way_and_the_others_median_stands_beside_it() {
        let pairs = [(0, 1), (0, 4), (0, 2), (1, 5)];
        let record = swapped_too(record(&pairs));
        let block = block(&record).unwrap();
        let [Part::Table(table), Part::Heat(map)] = &block.parts[..] else { panic!("{:?}", block.parts) };
        assert_eq!(table.title, "By kind of pair, by compare-and-swap");
        assert_eq!(table.rows[0][..6], ["siblings", "2", "25.0 ns", "25.0 ns", "25.0 ns", "50.0 ns"]);
        assert_eq!(map.cells[0][1], Some(25.0));
        assert!(record.measurements.iter().all(|m| block.shown_figures().has(m)));
    }

    #[test]
    fn a_record_of_one_way_has_one_map_that_says_which() {
        let mut record = record(&[(0, 1), (0, 4), (0, 2), (1, 5)]);
        let title = |record: &Record| match &block(record).unwrap().parts[..] {
            [Part::Table(_), Part::Heat(heat)] => heat.title.clone(),
            parts => panic!("{parts:?}"),
        };
        assert_eq!(title(&record), "Cache-line transfer between CPUs, one way, by loads and stores");
        record.measurements.iter_mut().for_each(|m| m.method = Some("another tool".to_owned()));
        assert_eq!(title(&record), "Cache-line transfer between CPUs, one way");
    }

    #[test]
    fn siblings_stand_side_by_side_in_the_matrix() {
        let record = record(&[(0, 1), (0, 4), (0, 2), (1, 5), (3, 7), (2, 6)]);
        let all: Vec<&Measurement> = record.measurements_of("core_to_core.latency").collect();
        let heat = matrix(&cpus(&record.machine), Some(Handover::Cas), &all).unwrap();
        let names: Vec<&str> = heat.rows.iter().map(|head| head.name.as_str()).collect();
        assert_eq!(names, ["0", "4", "1", "5", "2", "6", "3", "7"]);
        assert_eq!((heat.cells[0][1], heat.cells[1][0], heat.cells[0][7]), (Some(50.0), Some(50.0), None));
        assert_eq!((heat.rows[0].group.as_str(), heat.rows[7].group.as_str()), ("node 0", "node 1"));
    }

    #[test]
    fn both_homes_of_a_line_stand_on_either_side_of_the_diagonal() {
        let mut record = record(&[(0, 2)]);
        let place = Labels::new()
            .with_label(Label::From, 0u32)
            .with_label(Label::To, 2u32)
            .with_label(Label::Home, 1u32);
        record.measurements.push(Measurement::new("core_to_core.latency", place, vec![90.0; 6]));
        let all: Vec<&Measurement> = record.measurements_of("core_to_core.latency").collect();
        let cells = by_home(&cpus(&record.machine), &all);
        assert_eq!((cells[&(0, 2)], cells[&(2, 0)]), (50.0, 90.0));
    }

    #[test]
    fn kinds_of_pairs_stand_nearest_first_whatever_was_measured() {
        let mut kinds =
            ["other package at distance 28", "one package at distance 16", "one cache", "siblings"];
        kinds.reverse();
        kinds.swap(0, 3);
        let mut sorted = kinds.to_vec();
        sorted.sort_by_cached_key(|kind| rank(kind));
        let nearest_first =
            ["siblings", "one cache", "one package at distance 16", "other package at distance 28"];
        assert_eq!(sorted, nearest_first);
        assert!(rank("other package at distance 9") < rank("other package at distance 28"));
    }

    #[test]
    fn the_records_own_kind_of_pair_comes_first() {
        let mut record = record(&[(0, 4), (0, 1), (0, 2), (0, 3)]);
        let own = record.measurements[0].clone().with_detail(detail::CLASS, "same L2");
        record.measurements[0] = own;
        let all: Vec<&Measurement> = record.measurements_of("core_to_core.latency").collect();
        let table = classes(None, &all, &[], |m| class(&cpus(&record.machine), false, m));
        let kinds: Vec<&str> = table.rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(kinds, ["one node", "other package", "same L2"]);
    }
}
