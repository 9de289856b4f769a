//! Rows derived from other results: scaling of workloads to all CPUs, loads in flight, and latency under load.

use record::text::Value;
use record::{Label, Record, detail, metrics, text};

use super::datum::Datum;
use super::rows::{RowKey, RowKind, Rows, add_row};
use crate::scaling::POOR;

/// The position of the rows for miss rates, which follow the rows for counts.
const MISS_SHARES: u32 = 20;

/// Adds the throughput of all CPUs divided by the throughput of as many single threads.
pub(super) fn add_efficiency(rows: &mut Rows) {
    let mut found = Vec::new();
    let is_of_all = |key: &RowKey| key.metric == metrics::WORKLOAD_THROUGHPUT && key.kind == RowKind::AllCpus;
    for (key, entry) in rows.iter().filter(|(key, _)| is_of_all(key)) {
        let name = key.subject.as_str();
        let of_one = |other: &RowKey| {
            other.kind == RowKind::OneThread && other.metric == key.metric && other.subject == name
        };
        let one = rows.iter().find(|(other, _)| of_one(other)).map(|(_, entry)| entry);
        let (Some(one), Some(threads)) =
            (one, entry.parts.map(|parts| parts.cpus).filter(|threads| *threads > 1))
        else {
            continue;
        };
        let mut datum = entry.datum.over_another(&one.datum, f64::from(threads).recip(), "ratio");
        datum.over = Some(text!("{threads} threads compared with one"));
        if datum.value > 1.0 + POOR {
            let why = text!(
                "comparison-superlinear",
                "{share} of linear scaling is implausible: one of the two results was disturbed",
                share = Value::Share(datum.value)
            );
            datum.unfit.get_or_insert(why);
        }
        found.push((name.to_owned(), datum));
    }
    for (work, datum) in found {
        let key = RowKey::new(metrics::WORKLOAD_THROUGHPUT, 35, format!("{work}, efficiency on all CPUs"));
        add_row(rows, key.of_kind(RowKind::Efficiency, &work), datum);
    }
}

/// Adds the miss rates that perf prints next to the counts: misses per access or branch, if both were counted.
pub(super) fn add_miss_shares(rows: &mut Rows) {
    let counted: Vec<(&str, &str, &Datum)> = rows
        .iter()
        .filter_map(|(key, row)| Some((key.subject.as_str(), row.place.word(Label::Event)?, &row.datum)))
        .collect();
    let missed = counted.iter().filter_map(|(work, event, misses)| {
        let what = event.strip_suffix("-misses")?;
        let all = ["s", "es", "-references"].map(|ending| format!("{what}{ending}"));
        let of = |other: &&(&str, &str, &Datum)| other.0 == *work && all.iter().any(|all| all == other.1);
        let (_, all, accesses) = counted.iter().find(of)?;
        let datum = misses.over_another(accesses, 100.0, "%");
        let name = format!("{event} of all {all}, {work}");
        let key = RowKey::new(metrics::COUNTER_COUNT, MISS_SHARES, name).of_kind(RowKind::MissShare, work);
        (datum.value <= 100.0).then_some((key, datum))
    });
    for (key, datum) in missed.collect::<Vec<_>>() {
        add_row(rows, key, datum);
    }
}

/// Adds maximum memory-level parallelism, and latency under load.
pub(super) fn add_loaded(record: &Record, rows: &mut Rows) {
    let best = record.measurements_of(metrics::LOAD_PARALLELISM).filter(|m| m.value().is_finite());
    if let Some(best) = best.max_by(|a, b| a.value().total_cmp(&b.value())) {
        let chains = best.labels.count(record::Label::Chains).unwrap_or(0);
        let mut datum = Datum::from_measurement(best);
        datum.over = Some(text!("{chains} chains"));
        add_row(rows, RowKey::new(metrics::LOAD_PARALLELISM, 50, "maximum loads in flight"), datum);
    }
    let Some(curve) = record.measurements_of(metrics::MEMORY_LOADED_LATENCY).next() else { return };
    for (order, load, key) in
        [(60, "half", detail::NS_AT_HALF_OF_PEAK), (61, "80 %", detail::NS_AT_80_PERCENT_OF_PEAK)]
    {
        if let Some(ns) = curve.detail.get(key) {
            let from = format!("memory.loaded_latency detail.{}", key.name());
            let mut datum = Datum::derived(ns, None, "ns", from);
            datum.over = Some(text!("from a curve"));
            let name = format!("latency at {load} of the loaders' maximum bandwidth");
            add_row(rows, RowKey::new(metrics::MEMORY_LOADED_LATENCY, order, name), datum);
        }
    }
}
