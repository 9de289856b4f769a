//! Compares average wake-up latency, the only value that some tools print, with the mean in
//! linespeed's records.

use std::collections::BTreeMap;

use record::phrase::count_noun;
use record::units::figure;
use record::{Label, Labels, Measurement, Metric, Record, Text, detail, metrics, text};

use super::Known;
use super::datum::Datum;
use super::row_names::{RowNames, shared_labels};
use super::rows::{RowEntry, RowKey, Rows};
use super::table::TableRow;
use super::work::OnlySizes;
use crate::figures::locate_figure;

/// The metric of averages without a distribution.
pub(super) const AVERAGE: Metric = metrics::WAKEUP_AVERAGE;

/// Adds the mean over all CPUs for each wake-up latency distribution in a record.
pub(super) fn add_averages(record: &Record, rows: &mut Rows) {
    let only = OnlySizes::default();
    let names = RowNames::new(record, false, &only);
    let mut found: BTreeMap<RowKey, (Labels, Vec<&Measurement>)> = BTreeMap::new();
    for m in record.measurements_of(metrics::WAKEUP_LATENCY).filter(|m| m.summary.mean.is_some()) {
        let average = Measurement::new(AVERAGE, m.labels.clone(), Vec::new());
        if let Some(key) = names.find_row(&average) {
            found.entry(key).or_insert_with(|| (shared_labels(&average.labels), Vec::new())).1.push(m);
        }
    }
    for (key, (place, mut all)) in found {
        // A result over all CPUs replaces the results of the individual CPUs.
        if all.iter().any(|m| m.labels.get(Label::Cpu).is_none()) {
            all.retain(|m| m.labels.get(Label::Cpu).is_none());
        }
        if let Some(datum) = average(&all) {
            rows.entry(key).or_insert(RowEntry { datum, place, parts: None });
        }
    }
}

/// The mean of all these wake-ups, with an interval derived from their scatter.
fn average(all: &[&Measurement]) -> Option<Datum> {
    let first = all.first()?;
    let (mut wakeups, mut sum, mut variance) = (0.0, 0.0, 0.0);
    for m in all {
        let (n, mean) = (m.summary.n as f64, m.summary.mean?);
        wakeups += n;
        sum += n * mean;
        variance += n * (m.summary.variation.unwrap_or(0.0) * mean).powi(2);
    }
    let deviation = Some(variance.sqrt() / sum).filter(|deviation| deviation.is_finite());
    let mut datum = Datum::derived(sum / wakeups, deviation, &first.unit, locate_figure(first));
    datum.over = Some(text!("mean of {wakeups} wake-ups", wakeups = wakeups as u64));
    datum.doubt = all.iter().find_map(|m| m.doubt.clone());
    datum.is_some().then_some(datum)
}

/// Notes reasons, other than the machines, why a row's averages differ; `None` if there is no such row or reason.
pub(super) fn note_sampling(known: &[Known], rows: &[TableRow]) -> Option<Text> {
    let row = rows.iter().find(|row| row.key.metric == AVERAGE)?;
    let setting = row.row.labels.word(Label::Setting);
    let sampled = known.iter().filter_map(|known| Some((&known.name, sampling(known.record, setting)?)));
    let sampled: Vec<(&String, (u64, usize, u64))> = sampled.collect();
    let differ = sampled.windows(2).any(|pair| pair[0].1 != pair[1].1);
    let each = sampled.into_iter().map(|(name, (wakeups, threads, interval_us))| {
        let (threads, apart) = (count_noun(threads, "thread"), figure(interval_us as f64 * 1e3, "ns"));
        format!("{name}: {wakeups} wake-ups in {threads}, one every {apart}.")
    });
    let each = each.collect::<Vec<_>>().join(" ");
    differ.then(|| {
        text!(
            "comparison-averages-differ",
            "Average wake-up latency is sensitive to rare long delays, and a longer run catches more of them. {each}"
        )
    })
}

/// The basis of an average: number of wake-ups and threads, and the time between wake-ups, µs.
fn sampling(record: &Record, setting: Option<&str>) -> Option<(u64, usize, u64)> {
    let is_alike = |m: &&Measurement| {
        m.labels.switch(Label::Corrected) != Some(true)
            && m.labels.word(Label::Policy) != Some("fifo")
            && m.labels.word(Label::Setting) == setting
            && m.detail.has(detail::CYCLES)
    };
    let of = |metric| record.measurements_of(metric).filter(is_alike).collect::<Vec<_>>();
    let all = [AVERAGE, metrics::WAKEUP_LATENCY].map(of).into_iter().find(|all| !all.is_empty())?;
    let wakeups = all.iter().filter_map(|m| m.detail.get(detail::CYCLES)).fold(0, u64::saturating_add);
    Some((wakeups, all.len(), all.iter().find_map(|m| m.detail.get(detail::INTERVAL_US))?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::documents::side_by_side;
    use crate::samples::machine;

    fn awake(
        record: &mut Record,
        metric: impl Into<Metric>,
        cpu: Option<u32>,
        latencies: Vec<f64>,
        cycles: u64,
    ) {
        let mut place = Labels::new().with_label(Label::Policy, "other").with_label(Label::Setting, "awake");
        if let Some(cpu) = cpu {
            place = place.with_label(Label::Cpu, cpu);
        }
        let m = Measurement::new(metric, place, latencies).with_detail(detail::CYCLES, cycles);
        record.measurements.push(m.with_detail(detail::INTERVAL_US, 1000));
    }

    #[test]
    fn a_published_average_stands_beside_the_mean_of_ones_own_wakeups() {
        let (mut published, mut own) = (machine(4), machine(2));
        awake(&mut published, AVERAGE, None, vec![11e3], 299_848);
        awake(&mut own, "wakeup.latency", Some(0), vec![10e3, 10e3, 40e3], 3);
        awake(&mut own, "wakeup.latency", Some(1), vec![10e3], 1);
        let said = side_by_side(&[("published", &published), ("own", &own)]);
        let row = said.rows.iter().find(|row| row.metric == AVERAGE).unwrap();
        let values: Vec<Option<f64>> = row.cells.iter().map(|cell| cell.value).collect();
        assert_eq!(values, [Some(11e3), Some(17.5e3)]);
        assert!(said.notes.iter().any(|note| note.code() == Some("comparison-averages-differ")));

        // Without averages from other tools, medians suffice.
        let said = side_by_side(&[("own", &own), ("again", &own)]);
        assert!(said.rows.iter().all(|row| row.metric != AVERAGE));
    }
}
