//! A section that states the number of results of a latency curve. If there are too few results for a curve, each has a
//! row in the table of other results.

use std::collections::HashSet;

use record::phrase::count_noun;
use record::{Label, Measurement, Record, metrics};

use super::figures::labelled;
use super::{Block, Part};

/// Maximum number of results that have a row each, enough for eight CPUs and four nodes.
const FEW: usize = 32;

/// The block; `None` if there are too few results for a curve.
pub(crate) fn block(record: &Record) -> Option<Block> {
    let of = |e| record.measurements_of(e).filter(|m| m.summary.n > 0).collect::<Vec<&Measurement>>();
    let (all, cycles) = (of(metrics::LOAD_LATENCY), of(metrics::LOAD_LATENCY_CYCLES));
    (all.len() > FEW).then_some(())?;
    let mut block = Block::new("Points of the latency curve", Some(metrics::LOAD_LATENCY.name()), Vec::new());
    let places: HashSet<String> =
        all.iter().map(|m| format!("{} {}", labelled(m, Label::Cpu), labelled(m, Label::Node))).collect();
    if places.len() > 1 {
        let (figures, places) = (count_noun(all.len(), "result"), count_noun(places.len(), "CPU/node pair"));
        let says = format!("{figures} from {places}. The chart shows one pair; the record contains all.");
        block.parts.push(Part::Says(says));
    }
    all.iter().chain(&cycles).for_each(|m| block.shown.add(m));
    Some(block)
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
        let text = crate::terminal::Screen::draw(&crate::terminal::Style::default(), |screen| {
            crate::terminal::report(screen, &record(4), None)
        });
        assert!(text.contains("101 ns") && text.contains("104 ns") && text.contains("104 cycles"), "{text}");
    }

    #[test]
    fn of_a_curve_the_figures_are_counted() {
        let record = record(90);
        let block = block(&record).unwrap();
        // All results are from one place and are shown by the curve.
        assert!(block.parts.is_empty(), "{block:?}");
        assert!(record.measurements.iter().all(|m| block.shown_figures().has(m)));
    }
}
