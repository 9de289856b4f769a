//! Builds the main results of one record: each resource and workload is listed once, summarized over CPUs, CPU pairs and working sets, so
//! that different machines have the same rows.

use std::collections::{BTreeMap, HashMap};

use record::{Coverage, Label, Labels, Measurement, Record, Text, detail, metrics, text};

use super::commands::find_command;
use super::datum::{Datum, Size};
use super::derived_rows::{add_efficiency, add_loaded, add_miss_shares};
use super::method;
use super::row_names::{RowNames, shared_labels};
use super::rows::{Divisors, RowEntry, RowKey, RowKind, Rows};
use super::work::OnlySizes;
use crate::RecordIndex;

/// Results with the same labels that differ by more than this factor are not repetitions of one measurement.
const ONE_THING: f64 = 1.5;
/// Bandwidth operations that are also shown per core, CPU and package.
const DIVIDED: &[&str] = &["read", "triad"];

/// The rows of a record. `commands` is true if all compared records are of commands; `only` contains each block size that is the only size
/// in some record.
pub(super) fn build_rows(index: &RecordIndex, commands: bool, only: &OnlySizes) -> Rows {
    let record = index.record;
    let mut rows = measured_rows(record, commands, only);
    add_efficiency(&mut rows);
    add_miss_shares(&mut rows);
    add_loaded(record, &mut rows);
    super::level_rows::add_level_rows(index, &mut rows);
    super::nodes::add_node_rows(record, &mut rows);
    if record.machine.virtualization.emulated == Some(true) {
        for entry in rows.values_mut() {
            entry.datum.unfit = Some(text!(Coverage::EMULATED));
        }
    }
    rows
}

fn measured_rows(record: &Record, commands: bool, only: &OnlySizes) -> Rows {
    let names = RowNames::new(record, commands, only);
    let settings = recipe_settings(record);
    // If `commands` is false, rows are named after the commands instead.
    let command = find_command(record).filter(|_| commands);
    let mut all: BTreeMap<RowKey, (Labels, Vec<&Measurement>)> = BTreeMap::new();
    for m in record.measurements.iter().filter(|m| m.summary.n > 0 && m.value().is_finite()) {
        if let Some(key) = names.find_row(m) {
            all.entry(key).or_insert_with(|| (shared_labels(&m.labels), Vec::new())).1.push(m);
        }
    }
    let caches = record.machine.last_level_bytes();
    let mut rows = Rows::new();
    for (key, (place, mut figures)) in all {
        let of_places = retain_best(&key, &mut figures);
        let first = figures[0];
        let alike = figures.iter().all(|m| m.labels == first.labels);
        let datum = if first.is_mean() {
            Datum::mean_of(&figures)
        } else {
            Datum::from_several(&figures, if alike { "runs" } else { of_places })
        };
        let Some(mut datum) = datum else { continue };
        if alike && let Some(why) = find_spread(&figures, &datum.unit) {
            datum.unfit.get_or_insert(why);
        }
        if key.kind == RowKind::ThreadsNotReported && !method::takes_all(first) {
            datum
                .unfit
                .get_or_insert_with(|| text!("comparison-threads-unknown", "number of threads not recorded"));
        }
        if let Some(bytes) = first.detail.get(detail::ARRAY_BYTES) {
            let arrays = first.detail.get(detail::ARRAYS).unwrap_or(1);
            datum.size = Size::classify(bytes.saturating_mul(arrays), caches);
        }
        // Events counted while a command ran also belong to it.
        datum.command = command.clone().filter(|_| first.labels.get(Label::Workload).is_some());
        datum.settings = first.labels.word(Label::Workload).and_then(|name| settings.get(name).cloned());
        let parts = find_divisors(&key, first, record);
        rows.insert(key, RowEntry { datum, place, parts });
    }
    rows
}

/// The settings of each workload measured by a recipe: `exponent=999999`.
fn recipe_settings(record: &Record) -> HashMap<&str, String> {
    let mut settings = HashMap::new();
    for m in &record.measurements {
        let timed = matches!(m.metric, metrics::WORKLOAD_THROUGHPUT | metrics::WORKLOAD_TIME);
        let all = m.detail.get(detail::SETTINGS);
        let (Some(workload), Some(all)) = (m.labels.word(Label::Workload).filter(|_| timed), all) else {
            continue;
        };
        settings.entry(workload).or_insert_with(|| all.join(" "));
    }
    settings
}

/// Retains the results that represent a row, and returns the kind of place (such as CPUs) over which they are summarized.
fn retain_best(key: &RowKey, all: &mut Vec<&Measurement>) -> &'static str {
    match key.metric {
        metrics::CORE_IPC => {
            // Counts for the program precede system-wide counts; declared counts precede measured ones.
            let rank = |m: &&Measurement| {
                let scope = method::is_system_wide(m);
                (scope, m.labels.word(Label::Source) == Some("pmu"))
            };
            let best = all.iter().map(rank).min();
            all.retain(|m| Some(rank(m)) == best);
            "CPUs"
        }
        metrics::CORE_TO_CORE_LATENCY => "pairs of CPUs",
        metrics::SMT_YIELD => "cores",
        // A result over all CPUs represents the results of the individual CPUs.
        metric if metric.family() == "wakeup" => {
            if all.iter().any(|m| m.labels.get(Label::Cpu).is_none()) {
                all.retain(|m| m.labels.get(Label::Cpu).is_none());
            }
            "CPUs"
        }
        _ => "CPUs",
    }
}

/// The reason why several results with the same labels are not repetitions: they were run under different wrappers, or they differ too
/// much.
fn find_spread(all: &[&Measurement], unit: &str) -> Option<Text> {
    let values = || all.iter().map(|m| m.value()).filter(|value| value.is_finite());
    let (least, most) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    let shown = |value: f64| record::units::figure(value, unit);
    let under = |m: &Measurement| m.detail.get(detail::RUN_UNDER).map(str::to_owned);
    if all.windows(2).any(|pair| under(pair[0]) != under(pair[1])) {
        return Some(text!("comparison-several-wrappers", "one record has runs under different wrappers"));
    }
    (least > 0.0 && most / least > ONE_THING).then(|| {
        text!(
            "comparison-no-repetitions",
            "one record has {figures} different results for this row, from {least} to {most}",
            figures = all.len(),
            least = shown(least),
            most = shown(most)
        )
    })
}

/// The numbers by which multithreaded throughput can be divided.
fn find_divisors(key: &RowKey, m: &Measurement, record: &Record) -> Option<Divisors> {
    let of_stream = || m.labels.word(Label::BytesCounted) != Some("bus");
    let divided = match key.metric {
        _ if key.kind != RowKind::AllCpus => false,
        metrics::MEMORY_BANDWIDTH => {
            of_stream() && m.labels.word(Label::Op).is_some_and(|op| DIVIDED.contains(&op))
        }
        metric => metric == metrics::WORKLOAD_THROUGHPUT,
    };
    let threads = u32::try_from(m.labels.count(Label::Threads)?).ok().filter(|_| divided)?;
    let counts = &record.machine.counts;
    let whole = counts.cpus_online.is_none_or(|cpus| cpus == threads);
    Some(Divisors {
        cpus: threads,
        cores: counts.cores.map_or(0, |cores| cores.min(threads)),
        packages: if whole { counts.packages.unwrap_or(0) } else { 0 },
    })
}
