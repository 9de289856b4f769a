//! The cost of ignoring NUMA nodes, and whether the firmware's distances agree with the measurements.

use std::collections::BTreeSet;

use record::diagnosis::Numa;
use record::text::Value;
use record::{Measurement, Text, metrics, text};

use crate::distances::{self, Cell, Cells, Judgement};
use crate::figures::{median, spread};
use crate::node_costs::{Costs, Matrix, nodes_figures};
use crate::record_index::RecordIndex;

/// Conclusions from the matrices; `None` if there are fewer than two nodes.
pub fn numa(index: &RecordIndex) -> Option<Numa> {
    let bandwidth = nodes_figures(index, metrics::NUMA_BANDWIDTH);
    let cell = |m: &Measurement| {
        let sure = m.doubt.is_none();
        Cell { value: m.value(), between: spread(&m.summary), sure }
    };
    let latency = nodes_figures(index, metrics::NUMA_LATENCY);
    let latency: Cells = latency.into_iter().map(|(at, m)| (at, cell(m))).collect();
    let pairs = || latency.keys().chain(bandwidth.iter().map(|(at, _)| at));
    let rows: BTreeSet<u32> = pairs().map(|(from, _)| *from).collect();
    let columns: BTreeSet<u32> = pairs().map(|(_, to)| *to).collect();
    if rows.union(&columns).count() < 2 {
        return None;
    }
    let local = |cells: &Cells| median(cells.iter().filter(|(at, _)| at.0 == at.1).map(|(_, c)| c.value));
    let remote = median(latency.iter().filter(|(at, _)| at.0 != at.1).map(|(_, cell)| cell.value));
    let slowest = latency.iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value));
    // Latencies add up over accesses, as do times per byte.
    let costs = Costs::from_index(index);
    let ignored = |matrix: &Option<Matrix>| {
        let (from, to): (Vec<u32>, Vec<u32>) =
            (rows.iter().copied().collect(), columns.iter().copied().collect());
        let matrix = matrix.as_ref()?;
        let factor = matrix.mean(&from, &to, &costs)?.value / matrix.own.value;
        factor.is_finite().then_some(factor)
    };
    let ignoring_factor = ignored(&costs.latency).filter(|_| !latency.is_empty());
    let bandwidth_factor = ignored(&costs.bandwidth).map(|factor| 1.0 / factor);
    let own = rows.intersection(&columns).count();
    // Timings in an emulator show nothing about the firmware's table.
    let emulated = index.record.machine.virtualization.emulated == Some(true);
    let judged = if emulated { Judgement::default() } else { distances::judge(&latency, &costs.distances) };
    let doubtful = latency.values().filter(|cell| !cell.sure).count();
    let mut numa = Numa {
        nodes: u32::try_from(columns.len()).unwrap_or(u32::MAX),
        local_ns: local(&latency),
        remote_ns: remote,
        slowest: slowest.map(|((from, to), cell)| (*from, *to, cell.value)),
        remote_share: 1.0 - own as f64 / (rows.len() * columns.len()) as f64,
        ignoring_factor,
        bandwidth_factor,
        distance_agreement: judged.agreement,
        distance_loss: judged.loss,
        meaning: Text::default(),
        distance_mismatches: judged.mismatches,
    };
    numa.meaning = meaning(&numa);
    numa.meaning.push(judged.says.unwrap_or_default());
    if emulated {
        numa.meaning
            .push(text!("numa-emulated", "Emulator timings are not compared with the firmware's distances."));
    } else if doubtful > 0 {
        numa.meaning.push(text!(
            "numa-latencies-in-doubt",
            "{doubtful} of {all} latencies are unreliable, so latencies are not compared with distances.",
            all = latency.len()
        ));
    }
    Some(numa)
}

fn meaning(numa: &Numa) -> Text {
    let mut says = text!(
        "numa-ignored",
        "For a program that ignores NUMA nodes, {remote} of accesses are remote.",
        remote = Value::Share(numa.remote_share)
    );
    if let (Some(factor), Some(local)) = (numa.ignoring_factor, numa.local_ns) {
        says.push(text!(
            "numa-ignored-latency",
            "Its mean latency is {factor} the local latency of {local}.",
            factor = Value::Factor(factor),
            local = Value::Figure(local, "ns")
        ));
    }
    if let Some(share) = numa.bandwidth_factor {
        let share = Value::Share(share);
        says.push(text!("numa-ignored-bandwidth", "Its read bandwidth is {share} of the local bandwidth."));
    }
    says
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{machine, measured};
    use proptest::prelude::*;
    use record::machine::Node;
    use record::{Label, Labels, Record};

    fn numa(record: &Record) -> Option<Numa> {
        super::numa(&RecordIndex::new(record))
    }

    /// The codes of the sentences.
    fn codes(numa: &Numa) -> Vec<&str> {
        numa.meaning.sentences().iter().filter_map(Text::code).collect()
    }

    /// A machine with these distances; `latency` contains results by (from, to).
    fn record_with(distances: &[&[u32]], latency: &[((u32, u32), f64)]) -> Record {
        let mut record = machine(distances.len() as u32);
        for (id, row) in distances.iter().enumerate() {
            record.machine.nodes.push(Node {
                id: id as u32,
                cpus: [id as u32].into_iter().collect(),
                distances: row.to_vec(),
                allowed: true,
                ..Node::default()
            });
        }
        for ((from, to), ns) in latency {
            let place = Labels::new().with_label(Label::From, *from).with_label(Label::To, *to);
            record.measurements.push(measured("numa.latency", place, *ns));
        }
        record
    }

    /// The results of one column: every node accesses the memory of node 0.
    fn column(ns: &[f64]) -> Vec<((u32, u32), f64)> {
        ns.iter().enumerate().map(|(from, ns)| ((from as u32, 0), *ns)).collect()
    }

    /// Hygon C86 5280, 4 nodes: distances and lat_mem_rd at 64 MB as published.
    const HYGON_DISTANCES: &[&[u32]] =
        &[&[10, 16, 28, 22], &[16, 10, 22, 28], &[28, 22, 10, 16], &[22, 28, 16, 10]];
    const HYGON: &[f64] = &[102.574, 160.989, 286.850, 231.197];
    /// Kunpeng 920-4826, 4 nodes.
    const KUNPENG_DISTANCES: &[&[u32]] =
        &[&[10, 12, 20, 22], &[12, 10, 22, 24], &[20, 22, 10, 12], &[22, 24, 12, 10]];
    const KUNPENG: &[f64] = &[117.323, 135.337, 197.782, 219.416];
    /// Phytium FT-2500, 16 nodes: the first row of its distances.
    const FT_FIRST_ROW: [u32; 16] = [10, 20, 40, 30, 20, 30, 50, 40, 100, 100, 100, 100, 100, 100, 100, 100];
    const FT: &[f64] = &[
        149.976, 168.805, 191.415, 178.283, 170.814, 185.699, 212.281, 202.479, 426.176, 444.367, 465.894,
        452.245, 448.352, 460.603, 485.989, 490.402,
    ];

    #[test]
    fn published_latencies_follow_the_published_distances() {
        let ft: Vec<Vec<u32>> = (0..16)
            .map(|node| if node == 0 { FT_FIRST_ROW.to_vec() } else { vec![FT_FIRST_ROW[node]] })
            .collect();
        let ft: Vec<&[u32]> = ft.iter().map(Vec::as_slice).collect();
        for (name, distances, ns) in [
            ("Hygon", HYGON_DISTANCES, HYGON),
            ("Kunpeng", KUNPENG_DISTANCES, KUNPENG),
            ("FT-2500", &ft[..], FT),
        ] {
            let numa = numa(&record_with(distances, &column(ns))).unwrap();
            assert_eq!(numa.distance_agreement, Some(1.0), "{name}: {numa:?}");
            assert!(numa.distance_mismatches.is_empty(), "{name}: {:?}", numa.distance_mismatches);
            assert_eq!(numa.local_ns, Some(ns[0]), "{name}");
            assert_eq!(codes(&numa).last(), Some(&"distances-rank"), "{}", numa.meaning);
        }
    }

    #[test]
    fn a_program_that_ignores_four_nodes_pays_for_three() {
        let all: Vec<((u32, u32), f64)> = (0..4)
            .flat_map(|from| (0..4).map(move |to| ((from, to), if from == to { 100.0 } else { 200.0 })))
            .collect();
        let mut record = record_with(HYGON_DISTANCES, &all);
        for (from, to) in [(0u32, 0u32), (0, 1)] {
            let place = Labels::new()
                .with_label(Label::From, from)
                .with_label(Label::To, to)
                .with_label(Label::Op, "read")
                .with_label(Label::Threads, 8u32);
            let rate = if from == to { 4e10 } else { 2e10 };
            record.measurements.push(measured("numa.bandwidth", place, rate));
        }
        let numa = numa(&record).unwrap();
        assert_eq!((numa.nodes, numa.remote_share), (4, 0.75));
        assert!((numa.ignoring_factor.unwrap() - 1.75).abs() < 1e-6, "{numa:?}");
        // A quarter of the bytes at full speed, the rest at half: 1 / (0.25 + 0.75 * 2).
        assert!((numa.bandwidth_factor.unwrap() - 1.0 / 1.75).abs() < 1e-6, "{numa:?}");
        assert_eq!((numa.local_ns, numa.remote_ns), (Some(100.0), Some(200.0)));
        assert_eq!(codes(&numa)[..3], ["numa-ignored", "numa-ignored-latency", "numa-ignored-bandwidth"]);
        assert_eq!(numa.meaning.value("remote"), Some(&Value::Share(0.75)));
    }

    #[test]
    fn pairs_that_were_not_measured_cost_what_their_distance_costs() {
        // Row 0 has both remote distances, and row 1 has only the local one.
        let some = [((0, 0), 100.0), ((0, 1), 160.0), ((0, 2), 280.0), ((0, 3), 220.0), ((1, 1), 100.0)];
        let numa = numa(&record_with(HYGON_DISTANCES, &some)).unwrap();
        assert!((numa.ignoring_factor.unwrap() - 7.6 / 4.0).abs() < 1e-6, "{numa:?}");
    }

    #[test]
    fn memory_without_cpus_and_cpus_without_memory_have_their_share() {
        let two: &[&[u32]] = &[&[10, 17], &[17, 10]];
        let memory_only = numa(&record_with(two, &[((0, 0), 100.0), ((0, 1), 300.0)])).unwrap();
        assert_eq!((memory_only.nodes, memory_only.remote_share), (2, 0.5));
        assert_eq!(memory_only.slowest, Some((0, 1, 300.0)));
        let one_memory = numa(&record_with(two, &[((0, 0), 100.0), ((1, 0), 300.0)])).unwrap();
        assert_eq!((one_memory.nodes, one_memory.remote_share), (1, 0.5));
    }

    proptest! {
        #[test]
        fn any_matrix_says_something_finite_or_nothing(
            cells in proptest::collection::vec((0u32..6, 0u32..6, proptest::num::f64::ANY, 1.0f64..1e3), 0..40),
            distances in proptest::collection::vec(proptest::collection::vec(any::<u32>(), 0..8), 0..6),
        ) {
            let rows: Vec<&[u32]> = distances.iter().map(Vec::as_slice).collect();
            let mut record = record_with(&rows, &[]);
            for (from, to, wild, tame) in cells {
                let place = Labels::new().with_label(Label::From, from).with_label(Label::To, to);
                let value = if from == 5 { wild } else { tame };
                record.measurements.push(measured("numa.latency", place.clone(), value));
                record.measurements.push(measured("numa.bandwidth", place, value));
            }
            if let Some(numa) = numa(&record) {
                prop_assert!((0.0..=1.0).contains(&numa.remote_share), "{numa:?}");
                for value in [numa.local_ns, numa.remote_ns, numa.ignoring_factor, numa.bandwidth_factor] {
                    prop_assert!(value.is_none_or(|value| value.is_finite() && value > 0.0), "{numa:?}");
                }
                prop_assert!(numa.distance_agreement.is_none_or(|a| (-1.0..=1.0).contains(&a)), "{numa:?}");
            }
        }
    }

    #[test]
    fn neither_doubtful_nor_emulated_figures_are_held_against_the_firmware() {
        let mut record = record_with(HYGON_DISTANCES, &column(&[102.0, 161.0, 231.0, 287.0]));
        assert!(!numa(&record).unwrap().distance_mismatches.is_empty());
        for m in &mut record.measurements[2..] {
            m.doubt = Some("too noisy".into());
        }
        let doubtful = numa(&record).unwrap();
        assert!(doubtful.distance_mismatches.is_empty(), "{doubtful:?}");
        assert_eq!(codes(&doubtful).last(), Some(&"numa-latencies-in-doubt"), "{}", doubtful.meaning);
        let counts = ["doubtful", "all"].map(|name| doubtful.meaning.value(name));
        assert_eq!(counts, [Some(&Value::Count(2)), Some(&Value::Count(4))]);
        record.machine.virtualization.emulated = Some(true);
        let emulated = numa(&record).unwrap();
        assert_eq!((emulated.distance_agreement, emulated.local_ns), (None, Some(102.0)));
        assert_eq!(codes(&emulated).last(), Some(&"numa-emulated"), "{}", emulated.meaning);
    }

    #[test]
    fn one_node_or_no_figure_says_nothing() {
        assert!(numa(&record_with(&[&[10]], &[((0, 0), 90.0)])).is_none());
        assert!(numa(&record_with(HYGON_DISTANCES, &[])).is_none());
        assert!(numa(&record_with(HYGON_DISTANCES, &[((0, 0), f64::NAN), ((0, 1), -4.0)])).is_none());
    }
}
