//! Load latency by level: L1, L2, L3 and memory, regardless of their sizes on each machine.

use record::{Label, Labels, Level, Measurement, Record, metrics, units};

use super::datum::{Datum, Size};
use super::nodes::{Nodes, last_level_cache};
use super::rows::{RowEntry, RowKey, RowKind, Rows, add_row};
use crate::RecordIndex;
use crate::resources::{MEMORY, memory_pages};

/// Working sets whose latency is this close to that of the level form its plateau.
const ON_PLATEAU: f64 = 0.08;
/// Minimum number of working sets for their medians to serve as samples.
const ENOUGH: usize = 5;

/// Adds the rows of a record's latency curve, or of single points if there is no curve.
pub(super) fn add_level_rows(index: &RecordIndex, rows: &mut Rows) {
    let (record, levels) = (index.record, index.levels());
    let points: Vec<&Measurement> = record
        .measurements_of(metrics::LOAD_LATENCY)
        .filter(|m| m.summary.n > 0 && m.value().is_finite() && m.labels.count(Label::Bytes).is_some())
        .collect();
    if levels.is_empty() {
        add_single_points(record, &points, rows);
        add_points_of_levels(record, &points, rows);
        return;
    }
    let mut from = 0;
    for level in levels {
        let order = find_order(&level.name);
        let to = level.measured_bytes.unwrap_or(u64::MAX);
        let datum = find_plateau(&points, level, from, to);
        let kind = if level.name == MEMORY { RowKind::Memory } else { RowKind::Other };
        let name = &level.name;
        let doubt = datum.doubt.clone();
        add_row(rows, name_level(order, kind, name), datum);
        if let Some(cycles) = level.latency_cycles.filter(|_| level.name != MEMORY) {
            let mut datum = Datum::derived(cycles, None, "cycles", format!("diagnosis.levels {name}"));
            datum.doubt = doubt;
            let what = format!("load from {name}, cycles");
            add_row(rows, RowKey::new(metrics::LOAD_LATENCY_CYCLES, order + 1, what), datum);
        }
        if let Some(bytes) = level.measured_bytes {
            from = bytes;
        }
    }
    add_headlines(index, rows);
}

/// Replaces the medians over working sets with the memory latency in the record's headline, on ordinary pages and on huge pages.
fn add_headlines(index: &RecordIndex, rows: &mut Rows) {
    let Some((small, huge)) = memory_pages(index) else { return };
    for (order, kind, m) in [(30, RowKind::Memory, huge), (40, RowKind::MemoryOnBasePages, small)] {
        let Some(page) = m.labels.word(Label::Page).map(str::to_owned) else { continue };
        // The row for memory is not named after the page size, because other tools do not report the page size for a level.
        let pages = if kind == RowKind::Memory { String::new() } else { format!(", {page} pages") };
        let name = format!("load from {MEMORY}{pages}");
        let key = RowKey::new(metrics::LOAD_LATENCY, order, name).of_kind(kind, MEMORY);
        let (mut datum, place) = (Datum::from_measurement(m), Labels::new().with_label(Label::Page, page));
        // The doubt is that of the level: a clock change during the measurement of one working set does not affect the others.
        if let Some(around) = rows.get(&key) {
            datum.doubt = around.datum.doubt.clone();
        }
        rows.insert(key, RowEntry { datum, place, parts: None });
    }
}

/// A level's position among the rows, by name, because machines differ in the number of levels.
fn find_order(level: &str) -> u32 {
    let number = level.strip_prefix('L').and_then(|number| number.parse::<u32>().ok());
    number.map_or(30, |number| number.clamp(1, 14) * 2)
}

/// The row of a level's latency.
fn name_level(order: u32, kind: RowKind, level: &str) -> RowKey {
    RowKey::new(metrics::LOAD_LATENCY, order, format!("load from {level}")).of_kind(kind, level)
}

/// A level's latency, with the working sets on its plateau as samples.
fn find_plateau(points: &[&Measurement], level: &Level, from: u64, to: u64) -> Datum {
    let on: Vec<&Measurement> = points
        .iter()
        .filter(|m| m.labels.count(Label::Bytes).is_some_and(|bytes| bytes > from && bytes <= to))
        .filter(|m| (m.value() / level.latency_ns - 1.0).abs() <= ON_PLATEAU)
        .copied()
        .collect();
    let off = |m: &Measurement| (m.value() - level.latency_ns).abs();
    let near = on.iter().min_by(|a, b| off(a).total_cmp(&off(b)));
    let of_plateau = Datum::from_several(&on, "working sets").filter(|_| on.len() >= ENOUGH);
    let mut datum =
        of_plateau.or_else(|| near.map(|near| Datum::from_measurement(near))).unwrap_or_else(|| {
            Datum::derived(level.latency_ns, None, "ns", format!("diagnosis.levels {}", level.name))
        });
    // The latency is the one in the record's report; only the spread is taken from the plateau.
    let factor = level.latency_ns / datum.value;
    if factor.is_finite() && factor > 0.0 {
        datum = datum.mapped(|ns| ns * factor);
        datum.value = level.latency_ns;
        datum.from = format!("diagnosis.levels {}", level.name);
    }
    // If the plateau has enough working sets, the level has no doubt; the row for the clock covers clock changes during the measurement.
    datum.doubt = datum.doubt.filter(|_| on.len() < ENOUGH);
    datum
}

/// Adds points of records that have no curve: each size gets a row for local memory and one for other nodes' memory. Which results are
/// comparable depends on the size relative to this machine's caches.
fn add_single_points(record: &Record, points: &[&Measurement], rows: &mut Rows) {
    let (nodes, (_, cache)) = (Nodes::from_record(record), last_level_cache(&record.machine));
    let mut sizes: Vec<u64> = points.iter().filter_map(|m| m.labels.count(Label::Bytes)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for (order, bytes) in sizes.into_iter().enumerate() {
        let here = |m: &&&Measurement| m.labels.count(Label::Bytes) == Some(bytes);
        for (number, own) in [true, false].into_iter().enumerate() {
            // Memory on an unknown node is assumed to be local.
            let is = |m: &&&Measurement| nodes.is_own(m).unwrap_or(true) == own;
            let all: Vec<&Measurement> = points.iter().filter(here).filter(is).copied().collect();
            if let Some(mut datum) = Datum::from_several(&all, "places") {
                datum.size = Size::classify(bytes, cache);
                let whose = if own { "" } else { ", other nodes' memory" };
                let what = format!("load from {}{whose}", units::bytes(bytes));
                add_row(rows, RowKey::new(metrics::LOAD_LATENCY, (order * 2 + number) as u32, what), datum);
            }
        }
    }
}

/// Adds points without a curve that are well within a cache or well beyond all caches. They form the row of a level, as the points of a
/// curve do. Results of methods other than the curve's have rows only by size.
fn add_points_of_levels(record: &Record, points: &[&Measurement], rows: &mut Rows) {
    let nodes = Nodes::from_record(record);
    let bytes_of = |level| record.machine.data_caches(level).filter_map(|cache| cache.bytes).max();
    let Some(caches) = (1..=record.machine.last_level()).map(bytes_of).collect::<Option<Vec<u64>>>() else {
        return;
    };
    if caches.is_empty() {
        return;
    }
    for order in 0..=caches.len() {
        let from = order.checked_sub(1).map_or(0, |inner| caches[inner].saturating_mul(2));
        let to = caches.get(order).map_or(u64::MAX, |bytes| bytes / 4 * 3);
        let is_within = |m: &&Measurement| {
            let bytes = m.labels.count(Label::Bytes);
            bytes.is_some_and(|bytes| bytes >= from && bytes <= to)
                && m.labels.word(Label::Page) != Some("4KiB")
                && nodes.is_own(m).unwrap_or(true)
        };
        let within: Vec<&Measurement> = points.iter().copied().filter(is_within).collect();
        let Some(datum) = Datum::from_several(&within, "working sets") else { continue };
        if datum.method.is_some() {
            continue;
        }
        let is_memory = order == caches.len();
        let name = if is_memory { MEMORY.to_owned() } else { format!("L{}", order + 1) };
        let kind = if is_memory { RowKind::Memory } else { RowKind::Other };
        add_row(rows, name_level(find_order(&name), kind, &name), datum);
    }
}
