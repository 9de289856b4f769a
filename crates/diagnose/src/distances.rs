//! Compares the firmware's distances between nodes (SLIT) with measured latencies.

use std::collections::{BTreeMap, BTreeSet};

use record::difference::MUCH;
use record::text::Value;
use record::{Machine, Text, Verdict, text};

/// One measured cell of a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    /// The median.
    pub value: f64,
    /// The 95 % CI of the median, or the range of the samples.
    pub between: (f64, f64),
    /// Whether the cell is reliable, that is, has no doubt.
    pub sure: bool,
}

/// The cells of a matrix by (from, to).
pub(crate) type Cells = BTreeMap<(u32, u32), Cell>;

/// Distances by (from, to).
pub(crate) type Table = BTreeMap<(u32, u32), u32>;

/// Nodes with the same listed distance do not count as equally distant if their latencies differ by more than this share. Published
/// machines with correct tables are below this limit (FT-2500: 15 % over the eight nodes at distance 100).
const ONE_DISTANCE: f64 = 0.25;
/// Minimum rank correlation at which a table with errors still counts as a table of distances.
const NEARLY: f64 = 0.9;
/// Maximum number of pairs listed; the rest are counted.
const MOST_SENTENCES: usize = 8;
/// Maximum number of cells for which all pairs are compared: the full matrix of 64 nodes.
const MOST_CELLS: usize = 4096;
/// The kernel's default table, used if the firmware has none: 10 local, 20 remote (`include/linux/topology.h`).
const DEFAULT: (u32, u32) = (10, 20);

/// The result of the comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Judgement {
    /// Rank correlation (Goodman and Kruskal's gamma, which is Kendall's tau over the pairs that both distances and latencies rank).
    pub agreement: Option<f64>,
    /// One phrase per mismatched pair, worst first.
    pub mismatches: Vec<Text>,
    /// For the worst pair, the share of latency lost if memory is placed according to the table.
    pub loss: Option<Verdict>,
    /// One sentence, if there is something to report.
    pub says: Option<Text>,
}

/// A pair of cells that the table ranks in the wrong order.
struct Mismatch {
    /// The higher latency divided by the lower one.
    factor: f64,
    between: (f64, f64),
    says: Text,
}

impl Mismatch {
    fn new(fast: &RatedCell, slow: &RatedCell, says: Text) -> Self {
        let (fast, slow) = (&fast.cell, &slow.cell);
        let between = (slow.between.0 / fast.between.1, slow.between.1 / fast.between.0);
        Self { factor: slow.value / fast.value, between, says }
    }
}

/// Summarizes the rank correlation and the mismatches of a table.
fn summarize(agreement: f64, is_default: bool, any: bool) -> Text {
    let correlation = format!("{agreement:.2}");
    match (is_default, any) {
        (true, false) => {
            text!(
                "The firmware's distances are uniform (10 and 20), and the measured latencies are nearly uniform."
            )
        }
        (true, true) => text!(
            "distances-uniform-hiding",
            "The firmware's distances are uniform (10 and 20), although the measured latencies differ."
        ),
        (false, false) if agreement > 0.999 => {
            text!("distances-rank", "The firmware's distances rank the nodes in the measured order.")
        }
        (false, false) => text!(
            "The firmware's distances rank the nodes almost in the measured order (rank correlation {correlation})."
        ),
        (false, true) if agreement >= NEARLY => text!(
            "The firmware's distances rank the nodes in the measured order, with a few exceptions (rank correlation {correlation})."
        ),
        (false, true) => text!(
            "The firmware's distances contradict the measured latencies (rank correlation {correlation})."
        ),
    }
}

/// The firmware's distances; empty if there are none.
pub(crate) fn table(machine: &Machine) -> Table {
    let ids: Vec<u32> = machine.nodes.iter().map(|node| node.id).collect();
    let mut table = Table::new();
    for node in &machine.nodes {
        for (to, distance) in ids.iter().zip(&node.distances).filter(|(_, distance)| **distance > 0) {
            table.insert((node.id, *to), *distance);
        }
    }
    // If the table contains only one direction of a pair, its distance applies to both directions.
    let rated: Vec<((u32, u32), u32)> = table.iter().map(|(at, distance)| (*at, *distance)).collect();
    for ((from, to), distance) in rated {
        table.entry((to, from)).or_insert(distance);
    }
    table
}

/// A cell and its listed distance.
#[derive(Clone, Copy)]
struct RatedCell {
    at: (u32, u32),
    distance: u32,
    cell: Cell,
}

/// Compares latencies with distances.
pub(crate) fn judge(latency: &Cells, distances: &Table) -> Judgement {
    let rated: Vec<RatedCell> = latency
        .iter()
        .filter(|(_, cell)| cell.sure)
        .filter_map(|(at, cell)| {
            distances.get(at).map(|distance| RatedCell { at: *at, distance: *distance, cell: *cell })
        })
        .take(MOST_CELLS)
        .collect();
    let nodes = rated.iter().flat_map(|rated| [rated.at.0, rated.at.1]).collect::<BTreeSet<u32>>().len();
    let is_default =
        nodes > 2 && rated.iter().all(|t| t.distance == if t.at.0 == t.at.1 { DEFAULT.0 } else { DEFAULT.1 });
    let mut mismatches = if is_default { hidden(&rated) } else { one_distance(&rated) };
    mismatches.extend(reversed(&rated));
    mismatches.sort_by(|a, b| b.factor.total_cmp(&a.factor));
    let loss = mismatches.first().map(|Mismatch { factor, between: (low, high), .. }| {
        crate::figures::verdict(1.0 - 1.0 / factor, (1.0 - 1.0 / low, 1.0 - 1.0 / high))
    });
    let more = mismatches.len().saturating_sub(MOST_SENTENCES);
    let mut mismatches: Vec<Text> =
        mismatches.into_iter().take(MOST_SENTENCES).map(|mismatch| mismatch.says).collect();
    mismatches.extend((more > 0).then(|| text!("distances-more", "{more} more such pairs")));
    let agreement = gamma(&rated);
    let says = agreement.map(|agreement| summarize(agreement, is_default, !mismatches.is_empty()));
    Judgement { agreement, mismatches, loss, says }
}

/// (concordant - discordant) / (concordant + discordant) over all pairs of cells that differ in distance and, beyond their intervals, in
/// latency. If there are no ties, this is Kendall's tau.
fn gamma(rated: &[RatedCell]) -> Option<f64> {
    let (mut alike, mut against) = (0u64, 0u64);
    for (number, a) in rated.iter().enumerate() {
        for b in &rated[number + 1..] {
            let (near, far) = if a.distance < b.distance { (a, b) } else { (b, a) };
            if near.distance == far.distance || !apart(near, far) {
                continue;
            }
            if near.cell.value < far.cell.value { alike += 1 } else { against += 1 }
        }
    }
    let pairs = alike + against;
    (pairs > 0).then(|| (alike as f64 - against as f64) / pairs as f64)
}

/// Whether two latencies differ beyond their intervals.
fn apart(a: &RatedCell, b: &RatedCell) -> bool {
    a.cell.between.1 < b.cell.between.0 || b.cell.between.1 < a.cell.between.0
}

/// Describes a pair of nodes with its latency.
fn pair(rated: &RatedCell) -> Text {
    let ns = Value::Figure(rated.cell.value, "ns");
    match rated.at {
        (from, to) if from == to => text!("node {from} itself ({ns})"),
        (from, to) => text!("node {from} to {to} ({ns})"),
    }
}

/// Pairs of cells in one row or column for which the firmware lists the slower cell as nearer. For each slower cell, only the worst pair is
/// listed, and for each pair of nodes, only the worse direction.
fn reversed(rated: &[RatedCell]) -> Vec<Mismatch> {
    let mut worst: BTreeMap<(u32, u32), Mismatch> = BTreeMap::new();
    for slow in rated {
        let contradicts = |fast: &&RatedCell| {
            (fast.at.0 == slow.at.0 || fast.at.1 == slow.at.1)
                && slow.distance < fast.distance
                && fast.cell.value * (1.0 + MUCH) < slow.cell.value
                && apart(slow, fast)
        };
        let fastest = rated.iter().filter(contradicts).min_by(|a, b| a.cell.value.total_cmp(&b.cell.value));
        let Some(fast) = fastest else { continue };
        let factor = slow.cell.value / fast.cell.value;
        let key = (slow.at.0.min(slow.at.1), slow.at.0.max(slow.at.1));
        if worst.get(&key).is_none_or(|known| known.factor < factor) {
            let text = text!(
                "distances-reversed",
                "{slow} is slower than {fast} despite a smaller distance ({slow_distance} vs. {fast_distance})",
                slow = pair(slow),
                slow_distance = slow.distance,
                fast = pair(fast),
                fast_distance = fast.distance
            );
            worst.insert(key, Mismatch::new(fast, slow, text));
        }
    }
    worst.into_values().collect()
}

/// Rows in which nodes have the same listed distance but different measured latencies.
fn one_distance(rated: &[RatedCell]) -> Vec<Mismatch> {
    let mut groups: BTreeMap<(u32, u32), Vec<&RatedCell>> = BTreeMap::new();
    for cell in rated.iter().filter(|rated| rated.at.0 != rated.at.1) {
        groups.entry((cell.at.0, cell.distance)).or_default().push(cell);
    }
    let mismatch = |((_, distance), cells): ((u32, u32), Vec<&RatedCell>)| {
        unlike(&cells, |fast, slow| {
            text!("distances-alike", "{fast} and {slow} both have distance {distance}")
        })
    };
    groups.into_iter().filter_map(mismatch).collect()
}

/// The difference that a default table hides: the fastest and the slowest remote pair, if they differ.
fn hidden(rated: &[RatedCell]) -> Vec<Mismatch> {
    let remote: Vec<&RatedCell> = rated.iter().filter(|rated| rated.at.0 != rated.at.1).collect();
    let hidden = unlike(&remote, |fast, slow| {
        text!(
            "distances-default",
            "all remote nodes have distance {distance} (the kernel's default if there is no firmware table), but their latencies are {fast} to {slow}",
            distance = DEFAULT.1
        )
    });
    hidden.into_iter().collect()
}

/// The fastest and the slowest of the cells with the same listed distance, if they are not equally distant.
fn unlike(cells: &[&RatedCell], says: impl FnOnce(Text, Text) -> Text) -> Option<Mismatch> {
    let by = |a: &&&RatedCell, b: &&&RatedCell| a.cell.value.total_cmp(&b.cell.value);
    let (fast, slow) = (cells.iter().min_by(by)?, cells.iter().max_by(by)?);
    let is_unlike = slow.cell.value / fast.cell.value > 1.0 + ONE_DISTANCE && apart(fast, slow);
    is_unlike.then(|| Mismatch::new(fast, slow, says(pair(fast), pair(slow))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(value: f64) -> Cell {
        Cell { value, between: (value * 0.99, value * 1.01), sure: true }
    }

    fn row(ns: &[f64]) -> Cells {
        ns.iter().enumerate().map(|(to, ns)| ((0, to as u32), cell(*ns))).collect()
    }

    /// The nodes and the latency of a pair in a text.
    fn of(text: &Text, name: &str) -> (u64, u64, f64) {
        let Some(Value::Sentence(pair)) = text.value(name) else { panic!("no {name} in {text:?}") };
        let (Some(Value::Count(from)), Some(Value::Count(to)), Some(Value::Figure(ns, "ns"))) =
            (pair.value("from"), pair.value("to"), pair.value("ns"))
        else {
            panic!("{pair:?}")
        };
        (*from, *to, *ns)
    }

    fn distances(row: &[u32]) -> Table {
        row.iter().enumerate().map(|(to, distance)| ((0, to as u32), *distance)).collect()
    }

    #[test]
    fn a_table_that_has_two_nodes_the_wrong_way_round_is_caught() {
        let verdict = judge(&row(&[100.0, 160.0, 230.0, 290.0]), &distances(&[10, 16, 28, 22]));
        let [mismatch] = verdict.mismatches.as_slice() else { panic!("{verdict:?}") };
        assert_eq!(mismatch.code(), Some("distances-reversed"));
        assert_eq!((of(mismatch, "slow"), of(mismatch, "fast")), ((0, 3, 290.0), (0, 2, 230.0)));
        let distances = ["slow_distance", "fast_distance"].map(|name| mismatch.value(name));
        assert_eq!(distances, [Some(&Value::Count(22)), Some(&Value::Count(28))]);
        assert!(verdict.agreement.is_some_and(|agreement| agreement > 0.5 && agreement < 1.0), "{verdict:?}");
    }

    #[test]
    fn a_difference_inside_the_intervals_is_no_mismatch() {
        let mut latency = row(&[100.0, 160.0, 230.0, 290.0]);
        latency.insert((0, 3), Cell { value: 290.0, between: (220.0, 360.0), sure: true });
        let verdict = judge(&latency, &distances(&[10, 16, 28, 22]));
        assert!(verdict.mismatches.is_empty(), "{verdict:?}");
        assert_eq!(verdict.agreement, Some(1.0));
    }

    #[test]
    fn the_default_table_is_named_and_what_it_hides() {
        let verdict = judge(&row(&[100.0, 160.0, 290.0, 230.0]), &distances(&[10, 20, 20, 20]));
        let [hidden] = verdict.mismatches.as_slice() else { panic!("{verdict:?}") };
        assert_eq!(hidden.code(), Some("distances-default"));
        assert_eq!((of(hidden, "fast"), of(hidden, "slow")), ((0, 1, 160.0), (0, 2, 290.0)));
        assert_eq!(verdict.says.unwrap().code(), Some("distances-uniform-hiding"));
        // With two nodes, a uniform table hides no difference.
        let two = judge(&row(&[78.0, 144.0]), &distances(&[10, 20]));
        assert_eq!(two.says.as_ref().and_then(Text::code), Some("distances-rank"), "{two:?}");
        assert!(two.mismatches.is_empty() && two.agreement == Some(1.0), "{two:?}");
    }

    #[test]
    fn nodes_called_alike_that_are_not_are_reported() {
        let verdict = judge(&row(&[100.0, 160.0, 290.0, 500.0]), &distances(&[10, 21, 21, 30]));
        let [alike] = verdict.mismatches.as_slice() else { panic!("{verdict:?}") };
        assert_eq!(
            (alike.code(), alike.value("distance")),
            (Some("distances-alike"), Some(&Value::Count(21)))
        );
        assert_eq!((of(alike, "fast"), of(alike, "slow")), ((0, 1, 160.0), (0, 2, 290.0)));
    }

    #[test]
    fn of_many_mismatches_the_worst_are_reported_and_the_rest_counted() {
        let latency: Cells = (0..8u32)
            .flat_map(|from| {
                (0..8u32).map(move |to| ((from, to), cell(100.0 + f64::from(from.abs_diff(to)) * 50.0)))
            })
            .collect();
        let backwards: Table = latency.keys().map(|at| (*at, 100 - at.0.abs_diff(at.1) * 10)).collect();
        let verdict = judge(&latency, &backwards);
        assert_eq!(verdict.agreement, Some(-1.0));
        assert_eq!(verdict.mismatches.len(), MOST_SENTENCES + 1, "{verdict:?}");
        assert_eq!(verdict.mismatches[MOST_SENTENCES].code(), Some("distances-more"));
        assert!(matches!(verdict.mismatches[MOST_SENTENCES].value("more"), Some(Value::Count(1..))));
    }

    #[test]
    fn a_machine_without_a_table_is_not_judged() {
        let verdict = judge(&row(&[100.0, 160.0]), &Table::new());
        assert_eq!(verdict, Judgement::default());
    }
}
