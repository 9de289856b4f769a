//! Memory bandwidth: the bytes that STREAM counts beside those on the bus.

use std::collections::HashMap;

use record::phrase::count_noun;
use record::{Label, Measurement, Record, metrics};

use super::figures::{MARK, as_known, labelled, remarks, spread, value, withheld};
use super::side_by_side::{cell, group_by, side_by_side};
use crate::chart::bars::{Bar, Bars, Fill, Piece};
use crate::table::Table;
use crate::text::range;

const STREAM: usize = 0;
const BUS: usize = 1;
/// Counted in a way that this version does not know.
const OTHER: usize = 2;

/// Rows for each that a table of CPUs may have: an operation has several kinds of stores and groups of CPUs.
const ROWS: usize = 4;

/// A row an operation, kind of stores and place.
pub(crate) fn table(record: &Record, most: usize) -> Table {
    let heads = [
        "operation",
        "stores",
        "#threads",
        "?CPUs",
        "node",
        "#STREAM bytes",
        "#bus bytes",
        "?#95 % interval",
    ];
    let mut table = Table::new("Memory bandwidth", Some(metrics::MEMORY_BANDWIDTH.name()), heads);
    let mut seen: HashMap<([String; 5], usize), usize> = HashMap::new();
    // Figures that differ in other labels have a row each; what is counted in an unknown way stands alone.
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
            counted if counted.is_empty() => "the record does not say which bytes are counted".to_owned(),
            counted => format!("counted as {counted}"),
        }));
        let first = figures[STREAM].or(figures[OTHER]);
        let spread = first.or(figures[BUS]).map_or(String::new(), spread);
        let bus = match (figures[STREAM], figures[BUS]) {
            (Some(stream), Some(bus)) if !withheld(stream) && !withheld(bus) => {
                let (least, most) = record::bus_bytes(record, stream, bus);
                is_range |= least < most;
                let mark = if bus.doubt.is_some() { MARK } else { "" };
                // Every table writes a figure as far as its interval knows it.
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
        table.note(
            "bus bytes are a range where it is not known exactly how many lines regular stores read before they overwrite them",
        );
    }
    table.finished()
}

/// Most bars of one number of threads; a record of many placements has the rest in its table.
const MOST: usize = 24;
/// Most numbers of threads.
const MOST_GROUPS: usize = 4;

/// A bar for each bandwidth as STREAM counts bytes, those of one number of threads together, on one scale.
pub(crate) fn bars(record: &Record) -> Vec<Bars> {
    let shown: Vec<&Measurement> = record
        .measurements_of(metrics::MEMORY_BANDWIDTH)
        .filter(|m| m.labels.word(Label::BytesCounted) != Some("bus"))
        .filter(|m| !withheld(m) && m.summary.n > 0 && m.value().is_finite() && m.value() > 0.0)
        .collect();
    let longest = shown.iter().map(|m| m.value()).fold(0.0, f64::max);
    let mut groups = group_by(shown, |m| m.labels.count(Label::Threads));
    groups.sort_by_key(|(threads, _)| *threads);
    let group = |(threads, all): (Option<u64>, Vec<&Measurement>)| {
        let threads = threads.map(|n| count_noun(usize::try_from(n).unwrap_or(usize::MAX), "thread"));
        // Both kinds of stores of an operation below one another.
        let operations = group_by(all, |m| labelled(m, Label::Op));
        let rows = operations.into_iter().flat_map(|(_, all)| all).take(MOST).map(|m| bar(m, longest));
        Bars {
            title: format!("{}, STREAM bytes", threads.as_deref().unwrap_or("Bandwidth")),
            rows: rows.collect(),
            ..Bars::default()
        }
    };
    groups.into_iter().take(MOST_GROUPS).map(group).collect()
}

fn bar(m: &Measurement, longest: f64) -> Bar {
    // A bar has a mark of its own.
    let (name, figure) = (labelled(m, Label::Op), value(m).trim_end_matches(MARK).to_owned());
    let stores = m.labels.word(Label::Stores).filter(|stores| *stores != "regular");
    let fill = if stores.is_some() { Fill::Series(3) } else { Fill::Plain };
    let says = format!("{name} {figure}, {}", spread(m));
    let piece = Piece { unreliable: m.doubt.is_some(), ..Piece::new(0.0, m.value() / longest, fill, says) };
    Bar { name, how: stores.unwrap_or_default().to_owned(), pieces: vec![piece], figure, ..Bar::default() }
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
        // Where it is known how many lines stores read first, they are one figure.
        for m in &mut record.measurements {
            m.labels = m.labels.clone().with_label(Label::Threads, 2u32);
        }
        let place = Labels::new().with_label(Label::Threads, 2u32);
        record.measurements.push(Measurement::new("memory.write_allocate_avoided", place, vec![1.0; 6]));
        assert_eq!(table(&record, 16).rows[0][4], "20.0 GB/s");
    }
}
