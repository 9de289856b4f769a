//! Tables of metrics without a dedicated table, and of results that no other table shows: those from a newer version of linespeed, those
//! from another tool, and those with labels that the tables do not support.

use std::collections::HashSet;

use record::{Key, Label, Measurement, Metric, Record};

use super::command::is_repeated;
use super::figures::{figure, key, keys, remarks, spread, value};
use super::provenance;
use super::side_by_side::group_by;
use crate::shown::Shown;
use crate::table::{Field, Table};

/// A table with at most `most` rows for each metric that has results not yet shown.
pub(crate) fn tables(record: &Record, shown: &Shown, most: usize) -> Vec<Table> {
    let all = record.measurements.iter().filter(|m| m.summary.n > 0 && !is_repeated(record, m));
    let (begun, left): (Vec<&Measurement>, Vec<&Measurement>) = all.partition(|m| shown.has(m));
    let begun: HashSet<Metric> = begun.into_iter().map(|m| m.metric).collect();
    let further = |metric: Metric| if begun.contains(&metric) { ", other results" } else { "" };
    let table = |(metric, all): (Metric, Vec<&Measurement>)| {
        generic(&format!("{}{}", heading(metric), further(metric)), &all, most)
    };
    group_by(left, |m| m.metric).into_iter().map(table).collect()
}

/// The title of a metric's results; for an unknown metric, its name.
pub(crate) fn heading(metric: Metric) -> &'static str {
    metric.definition().map_or(metric.name(), |known| known.title)
}

const FIGURES: [Field<Measurement>; 7] = [
    ("#median", value),
    ("#95 % CI", spread),
    ("?#min", |m| bound(m, m.summary.min)),
    ("?#max", |m| bound(m, m.summary.max)),
    ("?#samples", |m| m.summary.n.to_string()),
    ("?#marked", |m| {
        let marked: HashSet<u32> = m.marks.iter().map(|mark| mark.sample).collect();
        if marked.is_empty() { String::new() } else { marked.len().to_string() }
    }),
    ("?read from", |m| m.origin.as_ref().map_or(String::new(), provenance::place)),
];

/// The minimum or maximum; empty if there is only one sample.
fn bound(m: &Measurement, value: f64) -> String {
    if m.summary.n > 1 { figure(m, value) } else { String::new() }
}

/// The heading of a label's column.
fn place(label: &str) -> String {
    match Label::from_name(label) {
        Some(Label::Cpu) => "CPU".to_owned(),
        Some(Label::Cpus) => "CPUs".to_owned(),
        Some(Label::Op) => "operation".to_owned(),
        Some(Label::ShareOfPeak) => "of loaders' maximum".to_owned(),
        _ => label.replace('_', " "),
    }
}

/// A metric's measurements, with one column per label.
pub(crate) fn generic(title: &str, all: &[&Measurement], most: usize) -> Table {
    let keys = keys(all);
    let numeric = |name: &str| all.iter().all(|m| !matches!(m.labels.named(name), Some(Key::Word(_))));
    let places = keys.iter().map(|name| format!("{}{}", if numeric(name) { "#" } else { "" }, place(name)));
    let heads = places.chain(FIGURES.iter().map(|(head, _)| (*head).to_owned()));
    let mut table = Table::new(title, all.first().map(|m| m.metric.name()), heads);
    all.iter().for_each(|m| table.tells(m));
    for m in table.first(all.to_vec(), most) {
        table.note_row(remarks(m));
        let labels = keys.iter().map(|name| key(m, name));
        table.row(labels.chain(FIGURES.iter().map(|(_, cell)| cell(m))).collect());
    }
    table.finished()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Labels;

    fn record() -> Record {
        Record::new("0.1.0", String::new(), Vec::new())
    }

    #[test]
    fn no_metric_that_is_known_stands_below_its_raw_name() {
        for metric in record::metrics::all() {
            assert_ne!(heading(metric.metric()), metric.name);
        }
    }

    #[test]
    fn what_was_reported_is_not_reported_again() {
        let mut record = record();
        for cpu in 0..3u32 {
            let place = Labels::new().with_label(Label::Cpu, cpu);
            record.measurements.push(Measurement::new("core.clock", place, vec![3e9; 6]));
        }
        let mut shown = Shown::default();
        shown.add(&record.measurements[0]);
        let tables = tables(&record, &shown, 16);
        assert_eq!((tables.len(), tables[0].rows.len()), (1, 2));
        assert_eq!(tables[0].title, "Core clock, other results");
    }

    #[test]
    fn a_metric_of_the_future_is_printed_with_its_place() {
        let mut record = record();
        let mut m = Measurement::new("core.clock", Labels::new().with_label(Label::Cpu, 1u32), vec![4.0; 6]);
        m.labels.0.insert("warp".to_owned(), 9u32.into());
        m.metric = "flux.density".into();
        m.unit = "Wb".into();
        record.measurements.push(m);
        let tables = tables(&record, &Shown::default(), 16);
        assert_eq!(tables.len(), 1);
        assert_eq!(tables[0].title, "flux.density");
        assert_eq!(tables[0].rows[0][..3], ["1".to_owned(), "9".to_owned(), "4.00 Wb".to_owned()]);
    }
}
