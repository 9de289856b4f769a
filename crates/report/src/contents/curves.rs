//! The charts of a report: latency by working set, latency under load, and the tail of wake-up latency.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use record::diagnosis::CurvePlace;
use record::{Label, Measurement, Metric, Record, metrics, units};

use super::conditions;
use crate::chart::{Axis, Band, Chart, SUBJECTS, Scale, Series, bounds};
use record::phrase::count_noun;

/// Every chart for which the record has results, each with its metric.
pub(crate) fn charts(record: &Record) -> Vec<(Metric, Chart)> {
    [
        (metrics::LOAD_LATENCY, latency(record)),
        (metrics::MEMORY_LOADED_LATENCY, loaded(record)),
        (metrics::WAKEUP_LATENCY, wakeups(record)),
    ]
    .into_iter()
    .filter_map(|(metric, chart)| chart.map(|chart| (metric, chart)))
    .collect()
}

/// The latency curves and wake-up tails of several records, overlaid: one color per record, and one dash pattern for each kind of line that
/// several records share.
pub(crate) fn overlaid(records: &[(String, &Record)]) -> Vec<Chart> {
    let overlay = |chart: fn(&Record) -> Option<Chart>, title: &str| {
        let charts: Vec<(usize, &str, Chart)> = records
            .iter()
            .enumerate()
            .filter_map(|(number, (name, record))| Some((number, name.as_str(), chart(record)?)))
            .collect();
        let all = || charts.iter().flat_map(|(_, _, chart)| &chart.series);
        let mut kinds: Vec<&str> = Vec::new();
        for series in all() {
            let shared = all().filter(|other| other.name == series.name).count() > 1;
            if shared && !kinds.contains(&series.name.as_str()) {
                kinds.push(&series.name);
            }
        }
        // More than two lines per record would be unreadable, so only the first and last kind are shown: for wake-ups,
        // the unchanged and the tuned machine.
        if kinds.len() > 2 {
            kinds.drain(1..kinds.len() - 1);
        }
        let lines = kinds.iter().enumerate().flat_map(|(dashes, kind)| {
            charts.iter().flat_map(move |(number, name, chart)| {
                let of_kind = chart.series.iter().filter(move |series| series.name == *kind);
                of_kind.map(move |series| Series {
                    name: format!("{name}, {kind}"),
                    ink: Some((SUBJECTS[*number % SUBJECTS.len()], dashes)),
                    ..series.clone()
                })
            })
        });
        let (_, _, first) = charts.first()?;
        let series = lines.collect();
        // The levels are shaded only if they are the same on all machines.
        let alike = charts.iter().all(|(_, _, chart)| chart.bands == first.bands);
        let bands = if alike { first.bands.clone() } else { Vec::new() };
        Chart { title: title.to_owned(), series, bands, ..first.clone() }.checked()
    };
    let latencies = overlay(latency, "Load latency by working set");
    latencies.into_iter().chain(overlay(wakeups, "Tail of wake-up latency")).collect()
}

/// Load latency by working set: one line per page size, on the CPU and node that the diagnosis chose, with bands for the cache levels.
pub(crate) fn latency(record: &Record) -> Option<Chart> {
    let place = diagnose::latency_curve(record)?;
    let here = |m: &&Measurement| CurvePlace::of_figure(&m.labels) == place;
    let mut pages: BTreeMap<(u64, String), Vec<(f64, f64)>> = BTreeMap::new();
    for m in record.measurements_of(metrics::LOAD_LATENCY).filter(here).filter(|m| m.summary.n > 0) {
        let Some(bytes) = m.labels.number(Label::Bytes) else { continue };
        let page = m.labels.word(Label::Page).unwrap_or("unknown");
        let size = units::parse_bytes(page);
        // `4KiB` as `4 KiB`.
        let spaced = size.clone().map_or_else(|_| page.to_owned(), units::bytes);
        pages.entry((size.unwrap_or(u64::MAX), spaced)).or_default().push((bytes, m.value()));
    }
    let series: Vec<Series> =
        pages.into_iter().map(|((_, page), points)| Series::line(format!("{page} pages"), points)).collect();
    let all = series.iter().flat_map(|series| &series.points).map(|point| point.0);
    let bands = bounds(all).map(|ends| levels(record, place.cpu, ends)).unwrap_or_default();
    let at = place.cpu.map(|cpu| format!(" on CPU {cpu}")).unwrap_or_default();
    let node = place.node.map(|node| format!(", memory of node {node}")).unwrap_or_default();
    let title = format!("Load latency by working set{at}{node}");
    let (x, y) =
        (Axis::new("working set", Scale::Binary, "B"), Axis::new("load latency", Scale::Decades, "ns"));
    Some(Chart { bands, ..Chart::of_lines(&title, x, y, series)? })
}

/// The ranges of working sets that fit in each cache (by the sizes in sysfs) or only in memory. The tooltip shows the working set at
/// which the latency rises, unless other processes used part of the caches.
fn levels(record: &Record, cpu: Option<u64>, (from, to): (f64, f64)) -> Vec<Band> {
    let cpu = cpu.and_then(|cpu| u32::try_from(cpu).ok());
    let disturbed = conditions::is_disturbed(record);
    let mut bands: Vec<Band> = Vec::new();
    let mut below = from;
    for level in 1..=record.machine.last_level().min(8) {
        let cache = cpu.and_then(|cpu| record.machine.data_cache_of(cpu, level));
        let Some(bytes) = cache.and_then(|cache| cache.bytes) else { continue };
        let name = format!("L{level}");
        let measured = record.diagnosis.levels.iter().find(|of| of.name == name && !disturbed);
        let measured = measured.and_then(|of| of.measured_bytes).map(units::bytes);
        let measured = measured.map_or(String::new(), |bytes| format!(", latency rises at {bytes}"));
        let end = (bytes as f64).clamp(below, to);
        if end > below {
            let says = format!("{name}: {} in sysfs{measured}", units::bytes(bytes));
            bands.push(Band { ends: (below, end), name, says });
        }
        below = end;
    }
    if below < to && !bands.is_empty() {
        bands.push(Band { ends: (below, to), name: "DRAM".to_owned(), says: "DRAM".to_owned() });
    }
    bands
}

/// Minimum number of points for a curve.
const LEAST_POINTS: usize = 3;

/// Latency by the bandwidth of the loaders: one line per CPU, at most eight.
pub(crate) fn loaded(record: &Record) -> Option<Chart> {
    let mut cpus: BTreeMap<Option<u64>, Vec<(f64, f64)>> = BTreeMap::new();
    let all: Vec<&Measurement> =
        record.measurements_of(metrics::MEMORY_LOADED_LATENCY).filter(|m| m.summary.n > 0).collect();
    let sound: Vec<&Measurement> = all.iter().copied().filter(|m| m.doubt.is_none()).collect();
    // Unreliable points would show the load of other processes; they are drawn only if there are no other points.
    let left_out = if sound.len() < LEAST_POINTS { 0 } else { all.len() - sound.len() };
    let shown = match left_out {
        0 => "load latency".to_owned(),
        _ => format!("latency; {left_out} of {} points (?) not drawn", all.len()),
    };
    for m in if sound.len() < LEAST_POINTS { all } else { sound } {
        if let Some(bandwidth) = m.labels.number(Label::Bandwidth) {
            cpus.entry(m.labels.count(Label::Cpu)).or_default().push((bandwidth, m.value()));
        }
    }
    let series = cpus.into_iter().take(8).map(|(cpu, points)| {
        Series::line(cpu.map_or("latency".to_owned(), |cpu| format!("CPU {cpu}")), points)
    });
    let (x, y) = (
        Axis::new("bandwidth of the other threads", Scale::Linear, "B/s"),
        Axis::new(&shown, Scale::Linear, "ns"),
    );
    Chart::of_lines("Memory latency under load", x, y, series.collect())
}

/// The share of wake-ups that are later than a given time: one line per setting and policy, combining the CPUs'
/// distributions.
pub(crate) fn wakeups(record: &Record) -> Option<Chart> {
    // Order: the unchanged machine before the tuned one, and the ordinary policy before the others.
    type Kinds<'a> = BTreeMap<(String, Reverse<String>), (Vec<&'a Measurement>, u64)>;
    let mut kinds = Kinds::new();
    for m in record
        .measurements_of(metrics::WAKEUP_LATENCY)
        .filter(|m| m.labels.switch(Label::Corrected) != Some(true))
    {
        let word = |name| m.labels.word(name).unwrap_or("").to_owned();
        let kind = kinds.entry((word(Label::Setting), Reverse(word(Label::Policy)))).or_default();
        kind.0.push(m);
        kind.1 = kind.1.saturating_add(m.distribution.iter().map(|b| b.count).fold(0, u64::saturating_add));
    }
    let series: Vec<Series> = kinds
        .into_iter()
        .filter_map(|((setting, Reverse(policy)), (measurements, wakeups))| {
            let policy = match policy.as_str() {
                "other" => "SCHED_OTHER",
                "fifo" => "SCHED_FIFO",
                other => other,
            };
            let name = format!("{policy} {setting}");
            (wakeups > 0).then(|| Series::steps(name.trim().to_owned(), later_than(&measurements, wakeups)))
        })
        .collect();
    let cpus = record.measurements_of(metrics::WAKEUP_LATENCY).map(|m| m.labels.count(Label::Cpu));
    let cpus: BTreeSet<Option<u64>> = cpus.collect();
    let title = format!("Wake-up latency distribution, {}", count_noun(cpus.len(), "CPU"));
    let x = Axis::new("wake-up latency", Scale::Decades, "ns");
    Chart::of_lines(&title, x, Axis::new("share of slower wake-ups", Scale::Decades, "share"), series)
}

/// For the upper bound of each bucket, the share of wake-ups with a longer latency.
fn later_than(measurements: &[&Measurement], wakeups: u64) -> Vec<(f64, f64)> {
    let mut buckets: Vec<(f64, u64)> =
        measurements.iter().flat_map(|m| &m.distribution).map(|b| (b.to, b.count)).collect();
    buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut points: Vec<(f64, f64)> = Vec::new();
    if let Some(first) =
        measurements.iter().flat_map(|m| &m.distribution).map(|b| b.from).min_by(f64::total_cmp)
    {
        points.push((first, 1.0));
    }
    let mut above = wakeups;
    for (to, count) in buckets {
        above = above.saturating_sub(count);
        let share = above as f64 / wakeups as f64;
        match points.last_mut() {
            Some(last) if last.0 == to => last.1 = share,
            _ => points.push((to, share)),
        }
    }
    // No wake-up is later than the upper bound of the last bucket, and a logarithmic axis cannot show 0, so the line ends at that bound.
    if let [.., before, last] = points.as_mut_slice()
        && last.1 == 0.0
    {
        last.1 = before.1;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Bucket, Labels};

    #[test]
    fn the_share_of_late_wake_ups_falls_from_all_to_the_last() {
        let mut m = Measurement::new("wakeup.latency", Labels::new(), Vec::new());
        m.distribution = vec![
            Bucket { from: 1e3, to: 2e3, count: 90 },
            Bucket { from: 2e3, to: 3e3, count: 9 },
            Bucket { from: 9e3, to: 1e4, count: 1 },
        ];
        assert_eq!(later_than(&[&m], 100), [(1e3, 1.0), (2e3, 0.1), (3e3, 0.01), (1e4, 0.01)]);
    }

    #[test]
    fn each_page_size_has_its_line_and_each_level_is_shaded() {
        let mut record = Record::new("0.1.0", String::new(), Vec::new());
        for page in ["2MiB", "4KiB"] {
            for bytes in [4096u64, 65536] {
                let place = Labels::new()
                    .with_label(Label::Cpu, 0u32)
                    .with_label(Label::Bytes, bytes)
                    .with_label(Label::Page, page);
                record.measurements.push(Measurement::new("load.latency", place, vec![1.0, 2.0]));
            }
        }
        record.machine.caches.push(record::machine::Cache {
            level: 1,
            kind: record::machine::CacheKind::Data,
            bytes: Some(32768),
            line: None,
            ways: None,
            cpus: [0].into_iter().collect(),
        });
        record.diagnosis.levels = serde_json::from_value(serde_json::json!([
            { "name": "L1", "latency_ns": 1.0, "measured_bytes": 24 << 10, "judgement": "" }
        ]))
        .unwrap();
        let chart = latency(&record).unwrap();
        assert_eq!(
            chart.series.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(),
            ["4 KiB pages", "2 MiB pages"]
        );
        // Pages of two sizes that are no numbers are two lines.
        for (m, page) in record.measurements.iter_mut().zip(["huge", "huge"]) {
            m.labels = std::mem::take(&mut m.labels).with_label(Label::Page, page);
        }
        for m in record.measurements.iter_mut().skip(2) {
            m.labels = Labels::new()
                .with_label(Label::Cpu, 0u32)
                .with_label(Label::Bytes, m.labels.count(Label::Bytes).unwrap());
        }
        let names: Vec<String> =
            latency(&record).unwrap().series.into_iter().map(|series| series.name).collect();
        assert_eq!(names, ["huge pages", "unknown pages"]);
        let bands: Vec<(&str, &str)> =
            chart.bands.iter().map(|band| (band.name.as_str(), band.says.as_str())).collect();
        assert_eq!(bands, [("L1", "L1: 32 KiB in sysfs, latency rises at 24 KiB"), ("DRAM", "DRAM")]);
    }
}
