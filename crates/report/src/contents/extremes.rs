//! Wake-ups of which only the shortest, the average and the longest are known, as cyclictest's line has them.

use record::Label;
use std::collections::HashMap;

use record::{Measurement, Record};

use super::figures::{key, parted_remarks, place, value};
use crate::table::Table;

const METRICS: [&str; 3] = ["wakeup.minimum", "wakeup.average", "wakeup.maximum"];

/// A row a place, `most` of them.
pub(crate) fn extremes(record: &Record, most: usize) -> Table {
    let heads = ["setting", "policy", "CPU", "#least", "#average", "#longest"];
    let mut table = Table::new("Wake-up latency, as cyclictest tells it", Some("wakeup.maximum"), &heads);
    let mut rows: Vec<[Option<&Measurement>; METRICS.len()]> = Vec::new();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for m in record.measurements.iter().filter(|m| m.summary.n > 0) {
        let Some(column) = METRICS.iter().position(|name| *name == m.metric) else { continue };
        let row = *numbers.entry(place(m)).or_insert_with(|| {
            rows.push([None; METRICS.len()]);
            rows.len() - 1
        });
        if rows[row][column].is_none() {
            rows[row][column] = Some(m);
            table.tells(m);
        }
    }
    if rows.len() > most {
        table.note(&format!("the first {most} of {}; all are in the record", rows.len()));
    }
    for row in rows.into_iter().take(most) {
        let Some(m) = row.iter().flatten().next() else { continue };
        let policy = match m.labels.count(Label::Priority) {
            Some(priority) if priority > 0 => format!("{} {priority}", key(m, "policy")),
            _ => key(m, "policy"),
        };
        for remark in row.iter().flatten().flat_map(|m| parted_remarks(m)) {
            table.note_row(&remark);
        }
        let figures = row.map(|m| m.map_or(String::new(), value));
        table.row([key(m, "setting"), policy, key(m, "cpu")].into_iter().chain(figures).collect());
    }
    table.finished()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Labels;

    #[test]
    fn least_average_and_longest_stand_in_one_row() {
        let mut record = Record::new("0", String::new(), Vec::new());
        for (metric, ns) in METRICS.into_iter().zip([5e3, 8e3, 9e4]) {
            let place = Labels::new()
                .with_label(Label::Policy, "fifo")
                .with_label(Label::Priority, 80u32)
                .with_label(Label::Cpu, 3u32);
            record.measurements.push(Measurement::new(metric, place, vec![ns]));
        }
        let table = extremes(&record, 16);
        assert_eq!(table.rows, [["fifo 80", "3", "5.00 µs", "8.00 µs", "90.0 µs"].map(str::to_owned)]);
        assert!(record.measurements.iter().all(|m| table.shown.has(m)));
    }
}
