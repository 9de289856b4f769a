//! The rows of one record as plain results, used to compare thousands of records.

use std::collections::BTreeMap;

use record::fleet::Family;
use record::{Better, Label, Labels, Measurement, Metric, Record, Text, metrics, text};

use super::{row_builder, work};

/// The identity of a result, independent of its value in each record.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The family of results that have the same causes.
    pub family: Family,
    /// The result's name: `triad, all CPUs`.
    pub what: Text,
    /// The metric.
    pub metric: Metric,
    /// Unit.
    pub unit: String,
    /// Which direction is better.
    pub better: Option<Better>,
    /// The result's labels, without those that identify a place on one machine.
    pub labels: Labels,
}

/// A result of a record as it appears in a row of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct RowFigure {
    /// The result's identity.
    pub figure: Figure,
    /// The value.
    pub value: f64,
    /// The 95 % CI, if there is one.
    pub interval: Option<(f64, f64)>,
    /// Whether the result is unreliable.
    pub in_doubt: bool,
    /// The method, recipe settings or command, which must be equal for two results to be comparable.
    pub method: String,
    /// The CPU, if the result is for the slowest CPU.
    pub cpu: Option<u32>,
}

/// A row's name for display outside its group. It adds the metric if the row's name lacks it, as for wake-up latency (`median, fifo`).
pub(crate) fn name_alone(metric: Metric, row: &str) -> Text {
    match metric.family() {
        "core_to_core" => format!("core to core, {row}").into(),
        "wakeup" => format!("wake-up latency, {row}").into(),
        _ => row.into(),
    }
}

/// The main results of a record, as in `compare`, without results that cannot be compared with any others.
pub fn row_figures(record: &Record) -> Vec<RowFigure> {
    let index = crate::RecordIndex::new(record);
    let only = work::OnlySizes::default();
    let rows = row_builder::build_rows(&index, work::is_of_command(record), &only);
    let fit = rows.into_iter().filter(|(_, entry)| entry.datum.unfit.is_none() && entry.datum.is_some());
    let mut figures: Vec<RowFigure> = fit
        .map(|(key, entry)| {
            let datum = entry.datum;
            let method = [datum.method.as_ref(), datum.settings.as_ref(), datum.command.as_ref()];
            RowFigure {
                interval: datum.own_interval(),
                method: method.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(", "),
                figure: Figure {
                    family: key.family(),
                    better: key.better(),
                    what: name_alone(key.metric, &key.name),
                    metric: key.metric,
                    unit: datum.unit,
                    labels: entry.place,
                },
                value: datum.value,
                in_doubt: datum.doubt.is_some(),
                cpu: None,
            }
        })
        .collect();
    figures.extend(slowest_cpu(record));
    figures
}

/// Minimum number of CPUs for outlier detection.
const ENOUGH_CPUS: usize = 3;

/// The clock of the slowest CPU divided by the median clock. The other rows contain only the median of all CPUs, which one bad core does
/// not change.
fn slowest_cpu(record: &Record) -> Option<RowFigure> {
    let mut clocks: BTreeMap<u64, &Measurement> = BTreeMap::new();
    let plain = |m: &&Measurement| {
        m.labels.word(Label::Vector).is_none_or(|vector| vector == "scalar") && m.value() > 0.0
    };
    for m in record.measurements_of(metrics::CORE_CLOCK).filter(plain) {
        let Some(cpu) = m.labels.count(Label::Cpu) else { continue };
        let slower = |known: &&Measurement| known.value() > m.value();
        if clocks.get(&cpu).is_none_or(slower) {
            clocks.insert(cpu, m);
        }
    }
    if clocks.len() < ENOUGH_CPUS {
        return None;
    }
    let middle = crate::figures::median(clocks.values().map(|m| m.value()))?;
    let (cpu, slowest) = clocks.iter().min_by(|a, b| a.1.value().total_cmp(&b.1.value()))?;
    let cpu = u32::try_from(*cpu).ok();
    let over_middle = |hz: f64| hz / middle;
    Some(RowFigure {
        figure: Figure {
            family: Family::SlowestCpu,
            what: text!("clock of the slowest CPU / median CPU"),
            metric: metrics::CORE_CLOCK.to_owned(),
            unit: "ratio".to_owned(),
            better: Some(Better::Higher),
            labels: Labels::new().with_label(Label::Vector, "scalar"),
        },
        value: over_middle(slowest.value()),
        interval: slowest.interval().map(|(low, high)| (over_middle(low), over_middle(high))),
        in_doubt: slowest.doubt.is_some(),
        method: String::new(),
        cpu,
    })
}
