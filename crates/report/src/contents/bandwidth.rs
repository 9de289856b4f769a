//! Memory bandwidth: the bytes that STREAM counts, and the bytes on the bus.

use std::collections::HashMap;

use record::{Label, Record, metrics};

use super::figures::{MARK, as_known, labelled, remarks, spread, value, withheld};
use super::side_by_side::{cell, side_by_side};
use crate::table::Table;
use crate::text::range;

const STREAM: usize = 0;
const BUS: usize = 1;
/// Results for which this version does not know which bytes are counted.
const OTHER: usize = 2;

/// The maximum number of rows of a table of CPUs is multiplied by this factor, because an operation is measured with several kinds of
/// stores and several groups of CPUs.
const ROWS: usize = 4;

/// One row per operation, kind of stores and place.
pub(crate) fn table(record: &Record, most: usize) -> Table {
    let heads = "operation,stores,#threads,?CPUs,node,#STREAM bytes,#bus bytes,?#95 % CI".split(',');
    let mut table = Table::new("Memory bandwidth", Some(metrics::MEMORY_BANDWIDTH.name()), heads);
    let mut seen: HashMap<([String; 5], usize), usize> = HashMap::new();
    // Results that differ in other labels have separate rows; results counted in an unknown way have their own table.
    let rows = side_by_side::<_, 3>(record.measurements_of(metrics::MEMORY_BANDWIDTH), |m| {
        let labels = [Label::Op, Label::Stores, Label::Threads, Label::Cpus, Label::Node];
        let place = labels.map(|label| labelled(m, label));
        let column = match m.labels.word(Label::BytesCounted) {
            Some("stream") => STREAM,
            Some("bus") => BUS,
            _ => OTHER,
        };
        let number = seen.entry((place.clone(), column)).or_default();
        *number += 1;
        Some(((place, column == OTHER, *number), column))
    });
    let mut is_range = false;
    rows.iter().flat_map(|(_, figures)| figures).flatten().for_each(|m| table.tells(m));
    for ((place, ..), figures) in table.first(rows, most * ROWS) {
        table.note_row(figures.iter().flatten().flat_map(|m| remarks(m)));
        table.note_row(figures[OTHER].map(|m| match labelled(m, Label::BytesCounted) {
            counted if counted.is_empty() => "the record does not specify which bytes are counted".to_owned(),
            counted => format!("counted as {counted}"),
        }));
        let first = figures[STREAM].or(figures[OTHER]);
        let spread = first.or(figures[BUS]).map_or(String::new(), spread);
        let bus = match (figures[STREAM], figures[BUS]) {
            (Some(stream), Some(bus)) if !withheld(stream) && !withheld(bus) => {
                let (least, most) = record::bus_bytes(record, stream, bus);
                is_range |= least < most;
                let mark = if bus.doubt.is_some() { MARK } else { "" };
                // Every table prints a result with the digits that its interval allows.
                let is_measured = least == bus.value() && most == bus.value();
                if is_measured {
                    value(bus)
                } else {
                    range(&as_known(stream, least), &as_known(stream, most)) + mark
                }
            }
            (_, bus) => cell(bus),
        };
        table.row(place.into_iter().chain([cell(first), bus, spread]).collect());
    }
    if is_range {
        table.note("bus bytes are shown as a range if write-allocate traffic is not known exactly");
    }
    table.finished()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Labels, Measurement};

    #[test]
    fn both_ways_to_count_bytes_stand_in_one_row() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        for (counted, value) in [("stream", 2.0e10), ("bus", 2.7e10)] {
            let place = Labels::new()
                .with_label(Label::Op, "triad")
                .with_label(Label::Stores, "regular")
                .with_label(Label::BytesCounted, counted);
            record.measurements.push(Measurement::new("memory.bandwidth", place, vec![value; 6]));
        }
        assert_eq!(
            table(&record, 16).rows,
            [["triad", "regular", "20.0 GB/s", "20.0 – 27.0 GB/s", "20.0 GB/s"].map(str::to_owned)]
        );
        // If the number of lines that stores read first is known, bus bytes are a single result.
        for m in &mut record.measurements {
            m.labels = m.labels.clone().with_label(Label::Threads, 2u32);
        }
        let place = Labels::new().with_label(Label::Threads, 2u32);
        record.measurements.push(Measurement::new("memory.write_allocate_avoided", place, vec![1.0; 6]));
        assert_eq!(table(&record, 16).rows[0][4], "20.0 GB/s");
    }
}
