//! A record: its results, findings and inventory.

use record::diagnosis::Severity;
use record::difference::Verdict;
use record::metrics::{self, Definition, Metric};
use record::{Ended, Label, Measurement, Record, date};

use super::Exposition;

/// Metrics that are renamed because their original names would contain a unit twice, or a suffix that Prometheus reserves for other metric
/// types.
const RENAMED: [(Metric, &str); 4] = [
    (metrics::CORE_IPC, "core_instructions_per_cycle"),
    (metrics::COUNTER_COUNT, "counter_events"),
    (metrics::LOAD_LATENCY_CYCLES, "load_latency_cycles"),
    (metrics::STREAM_NS_PER_ELEMENT, "stream_seconds_per_element"),
];

/// Labels with measured values. Results with such a label are omitted, because every run would create new time series.
const MEASURED: [Label; 2] = [Label::Bandwidth, Label::ShareOfPeak];

/// The name suffix for a unit, and the divisor that converts values from the record's unit to the base unit.
fn base_unit(unit: &str) -> (&str, f64) {
    match unit {
        "Hz" => ("_hertz", 1.0),
        "ns" => ("_seconds", 1e9),
        "s" => ("_seconds", 1.0),
        "B/s" => ("_bytes_per_second", 1.0),
        "cycles" => ("_cycles", 1.0),
        "ratio" => ("_ratio", 1.0),
        "W" => ("_watts", 1.0),
        "work/s" => ("_per_second", 1.0),
        _ => ("", 1.0),
    }
}

/// The Prometheus name of a metric, which ends with `part` and the base unit, and the divisor for the metric's results.
fn name(metric: &Definition, part: &str) -> (String, f64) {
    let (unit, divisor) = base_unit(metric.unit);
    let renamed = RENAMED.iter().find(|(name, _)| *name == metric.name);
    let name = match renamed {
        Some((_, renamed)) => format!("{renamed}{part}"),
        None => format!("{}{part}{unit}", metric.name.replace('.', "_")),
    };
    (name, divisor)
}

/// A record with its diagnosis. Unreliable results are counted, but their values are omitted. Results for single pairs of nodes or cores,
/// and results at a measured load, are also omitted.
pub fn record(record: &Record) -> String {
    let mut text = Exposition::default();
    about(&mut text, record);
    inventory(&mut text, record);
    findings(&mut text, record);
    for m in &record.measurements {
        if let Some(metric) = m.metric.definition().filter(|metric| metric.unit == m.unit) {
            figure(&mut text, m, metric);
        }
    }
    text.text()
}

/// The run.
fn about(text: &mut Exposition, record: &Record) {
    let began = date::seconds(&record.started).map(|seconds| seconds as f64);
    text.one("run_timestamp_seconds", began);
    text.one("run_duration_seconds", record.seconds);
    let whole = f64::from(u8::from(record.ended == Ended::Complete));
    text.one("run_complete", whole);
    let figures = || record.measurements.iter().filter(|m| m.summary.n > 0);
    let doubted = figures().filter(|m| m.doubt.is_some()).count();
    text.one("run_figures", figures().count() as f64);
    text.one("run_figures_in_doubt", doubted as f64);
}

/// The machine's inventory.
fn inventory(text: &mut Exposition, record: &Record) {
    let machine = &record.machine;
    let cpus = [("present", machine.counts.cpus_present), ("online", machine.counts.cpus_online)];
    text.add("machine_cpus", "state", cpus.map(|(state, count)| (state, count.map(f64::from))));
    text.one("machine_memory_bytes", machine.memory_bytes.map(|bytes| bytes as f64));
    let devices = machine.memory_devices.iter().filter(|device| device.bytes.is_some()).count();
    let devices = (devices > 0).then_some(devices as f64);
    text.one("machine_memory_devices", devices);
}

/// What costs speed.
fn findings(text: &mut Exposition, record: &Record) {
    let found = &record.diagnosis.findings;
    let levels = [("note", Severity::Note), ("warning", Severity::Warning), ("serious", Severity::Serious)];
    let counts = levels
        .map(|(name, level)| (name, found.iter().filter(|finding| finding.severity == level).count() as f64));
    text.add("findings", "severity", counts);
    let losses = found.iter().filter_map(|finding| match finding.loss {
        Verdict::Costs { share, .. } => Some((&finding.rule, share)),
        _ => None,
    });
    text.add("finding_loss_ratio", "finding", losses);
}

/// Adds a result and, if it is a distribution, its maximum.
fn figure(text: &mut Exposition, m: &Measurement, metric: &Definition) {
    let has = |label: Label| m.labels.get(label).is_some();
    let matrix = has(Label::From) && has(Label::To);
    if m.summary.n == 0 || m.doubt.is_some() || matrix || MEASURED.into_iter().any(has) {
        return;
    }
    let labels = m.labels.0.iter().map(|(name, key)| (label_name(name), key.to_string()));
    let method = m.method.iter().map(|method| ("method".to_owned(), method.clone()));
    let labels: Vec<(String, String)> = labels.chain(method).collect();
    let mut add = |part: &str, what: &str, value: f64| {
        let (name, divisor) = name(metric, part);
        let help = format!("{}{what}; linespeed explain {}.", metric.title, metric.name);
        text.explain(&name, &help, labels.clone(), value / divisor);
    };
    add("", "", m.value());
    if !m.distribution.is_empty() {
        add("_maximum", ", maximum", m.summary.max);
    }
}

/// A label's name in the form that Prometheus accepts; names from another version may contain any characters.
fn label_name(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if plain.starts_with(|c: char| c.is_ascii_alphabetic()) { plain } else { format!("label_{plain}") }
}
