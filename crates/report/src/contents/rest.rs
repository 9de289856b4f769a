//! The figures that no table of their own tells: of a newer linespeed, of another tool, or of a place that the tables do
//! not know. One table a metric.

use std::collections::{HashMap, HashSet};

use record::{Measurement, Record};

use super::details::generic;
use crate::shown::Shown;
use crate::table::Table;

/// A table for each metric of which figures are not yet `told`, with `most` rows.
pub(crate) fn tables(record: &Record, shown: &Shown, most: usize) -> Vec<Table> {
    let mut left: Vec<(&str, Vec<&Measurement>)> = Vec::new();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut begun: HashSet<&str> = HashSet::new();
    for m in record.measurements.iter().filter(|m| m.summary.n > 0) {
        let metric = m.metric.as_str();
        if shown.has(m) {
            begun.insert(metric);
            continue;
        }
        let number = *numbers.entry(metric).or_insert_with(|| {
            left.push((metric, Vec::new()));
            left.len() - 1
        });
        left[number].1.push(m);
    }
    let title = |metric: &str| match begun.contains(metric) {
        true => format!("{}, further figures", heading(metric)),
        false => heading(metric).to_owned(),
    };
    left.into_iter().map(|(metric, all)| generic(&title(metric), &all, most)).collect()
}

/// What the figures of a metric are called; one that this version does not know by its own name.
pub(crate) fn heading(metric: &str) -> &str {
    record::metrics::find(metric).map_or(metric, |known| known.title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Label;
    use record::Labels;

    fn record() -> Record {
        Record::new("0.1.0", String::new(), Vec::new())
    }

    #[test]
    fn no_metric_that_is_known_stands_below_its_raw_name() {
        for metric in record::metrics::all() {
            assert_ne!(heading(metric.name), metric.name);
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
        assert_eq!(tables[0].title, "Core clock, further figures");
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
