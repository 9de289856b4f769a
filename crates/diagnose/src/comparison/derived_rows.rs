//! Rows that follow from others: how well workloads scale to all CPUs, loads in flight, and latency under load.

use record::text::Value;
use record::{Record, detail, text};

use super::datum::Datum;
use super::method::{SUPERLINEAR, Unfit};
use super::rows::{Group, NamedRow, RowKey, RowKind, Rows, add_row};
use crate::scaling::POOR;

/// Adds throughput of all CPUs over that of as many single threads.
pub(super) fn add_efficiency(rows: &mut Rows) {
    let mut found = Vec::new();
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
        let value = entry.datum.value / (one.datum.value * f64::from(threads));
        let deviation =
            one.datum.log_deviation().zip(entry.datum.log_deviation()).map(|(one, all)| one.hypot(all));
        let mut datum = Datum::derived(value, deviation, "ratio", entry.datum.from.clone());
        datum.over = Some(text!("comparison-threads-against-one", "{threads} threads against one", threads));
        datum.doubt = entry.datum.doubt.clone().or_else(|| one.datum.doubt.clone());
        datum.method = entry.datum.method.clone();
        datum.command = entry.datum.command.clone();
        if value > 1.0 + POOR {
            let why = text!(SUPERLINEAR, share = Value::Share(value));
            datum.unfit.get_or_insert(Unfit::Because(why));
        }
        found.push((name.to_owned(), datum));
    }
    for (work, datum) in found {
        let name = text!("comparison-row-efficiency", "{work}, efficiency on all CPUs", work = &work);
        let row = NamedRow::new(Group::Workloads, "workload.throughput", 35, name);
        add_row(rows, row.of_kind(RowKind::Efficiency, &work), datum);
    }
}

/// Whether a row is the throughput of all CPUs.
fn is_of_all(key: &RowKey) -> bool {
    key.metric == "workload.throughput" && key.kind == RowKind::AllCpus
}

/// Adds memory-level parallelism at its best, and latency under load.
pub(super) fn add_loaded(record: &Record, rows: &mut Rows) {
    let best = record.measurements_of("load.parallelism").filter(|m| m.value().is_finite());
    if let Some(best) = best.max_by(|a, b| a.value().total_cmp(&b.value())) {
        let chains = best.labels.count(record::Label::Chains).unwrap_or(0);
        let mut datum = Datum::from_measurement(best);
        datum.over = Some(text!("comparison-of-chains", "{chains} chains", chains));
        let name = text!("comparison-row-parallelism", "loads in flight, maximum");
        add_row(rows, NamedRow::new(Group::Latency, "load.parallelism", 50, name), datum);
    }
    let Some(curve) = record.measurements_of("memory.loaded_latency").next() else { return };
    let at_half =
        text!("comparison-row-latency-at-half", "latency at half of the loaders' maximum bandwidth");
    let at_80_percent =
        text!("comparison-row-latency-at-80-percent", "latency at 80 % of the loaders' maximum bandwidth");
    for (order, key, name) in
        [(60, detail::NS_AT_HALF_OF_PEAK, at_half), (61, detail::NS_AT_80_PERCENT_OF_PEAK, at_80_percent)]
    {
        if let Some(ns) = curve.detail.get(key) {
            let from = format!("memory.loaded_latency detail.{}", key.name());
            let mut datum = Datum::derived(ns, None, "ns", from);
            datum.over = Some(text!("comparison-from-a-curve", "from a curve"));
            add_row(rows, NamedRow::new(Group::Latency, "memory.loaded_latency", order, name), datum);
        }
    }
}
