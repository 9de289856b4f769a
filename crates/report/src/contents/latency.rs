//! Load latency where too few working sets were looked at for a curve: a row each. Of a curve, how many figures it has.

use std::collections::HashSet;

use record::phrase::count_noun;
use record::{Label, Measurement, Record};

use super::block::{Block, Part};
use super::figures::{labelled, place, remarks, spread};
use super::side_by_side::{add_rows, cell, side_by_side};
use crate::table::Table;

/// Figures up to which each has a row: eight CPUs and four nodes.
const FEW: usize = 32;

/// The block; `None` where nothing was measured.
pub(crate) fn block(record: &Record) -> Option<Block> {
    let of =
        |metric| record.measurements_of(metric).filter(|m| m.summary.n > 0).collect::<Vec<&Measurement>>();
    let (all, cycles) = (of("load.latency"), of("load.latency_cycles"));
    if all.is_empty() {
        return None;
    }
    if all.len() > FEW {
        let mut block = Block::new("Figures of the latency curve", Some("load.latency"));
        let places: HashSet<String> =
            all.iter().map(|m| format!("{} {}", labelled(m, Label::Cpu), labelled(m, Label::Node))).collect();
        if places.len() > 1 {
            let (figures, places) =
                (count_noun(all.len(), "figure"), count_noun(places.len(), "CPU and node"));
            let says = format!("{figures} from {places}; the curve draws one place, the record has all.");
            block.parts.push(Part::Says(says));
        }
        all.iter().chain(&cycles).for_each(|m| block.shown.add(m));
        return Some(block);
    }
    let heads =
        ["CPU", "memory of node", "#working set", "#pages", "#latency", "#in cycles", "?#95 % interval"];
    let mut table = Table::new("Load latency", Some("load.latency"), heads);
    let mut rows = side_by_side::<_, 2>(all.into_iter().chain(cycles), |m| {
        Some((place(m), usize::from(m.metric != "load.latency")))
    });
    rows.retain(|(_, figures)| figures[0].is_some());
    add_rows(&mut table, rows, FEW, remarks, |_, [latency, cycles]| {
        let labels = [Label::Cpu, Label::Node, Label::Bytes, Label::Page];
        let place = labels.map(|label| latency.map_or(String::new(), |m| labelled(m, label)));
        place
            .into_iter()
            .chain([cell(latency), cell(cycles), latency.map_or(String::new(), spread)])
            .collect()
    });
    Some(Block::from_table(table.finished()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Labels;

    fn record(sizes: u64) -> Record {
        let mut record = Record::new("0", String::new(), Vec::new());
        for number in 1..=sizes {
            for metric in ["load.latency", "load.latency_cycles"] {
                let place = Labels::new()
                    .with_label(Label::Cpu, 0u32)
                    .with_label(Label::Node, 0u32)
                    .with_label(Label::Bytes, number << 20);
                record.measurements.push(Measurement::new(metric, place, vec![100.0 + number as f64]));
            }
        }
        record
    }

    #[test]
    fn four_published_figures_are_four_rows() {
        let record = record(4);
        let block = block(&record).unwrap();
        let [Part::Table(table)] = &block.parts[..] else { panic!("{block:?}") };
        assert_eq!(table.rows.len(), 4);
        assert_eq!(table.rows[0], ["0", "0", "1 MiB", "101 ns", "101 cycles"].map(str::to_owned));
        assert!(record.measurements.iter().all(|m| block.shown_figures().has(m)));
    }

    #[test]
    fn of_a_curve_the_figures_are_counted() {
        let record = record(90);
        let block = block(&record).unwrap();
        // They are of one place, which the curve draws.
        assert!(block.parts.is_empty(), "{block:?}");
        assert!(record.measurements.iter().all(|m| block.shown_figures().has(m)));
    }
}
