//! The summary of a record: its headline results, its facts and its machine. Names and values shared by many records are stored only
//! once.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use diagnose::{Figure, Kind, RowFigure, facts, row_figures, tell_facts};
use record::comparison::FactKind;
use record::metrics::{Definition, Whole};
use record::store::OF_A_WHOLE_RUN;
use record::{Better, Ended, Metric, Record, date, metrics};

/// Metrics that are not used to compare machines because other metrics cover them or because they form a curve. Up to a third of a record's
/// results are of these metrics.
const NOT_HELD: [Metric; 2] = [metrics::LOAD_LATENCY_CYCLES, metrics::PROBE_LATENCY];

/// Whether machines are compared by results of this metric.
pub(crate) fn is_held(metric: Metric) -> bool {
    !NOT_HELD.contains(&metric)
}

/// Whether machines are compared by a result: it must be known whether lower or higher values are better, and the result must be neither a
/// share of time nor one of [`NOT_HELD`].
pub(crate) fn is_judged(figure: &Figure) -> bool {
    let share = figure.metric.definition().and_then(Definition::share_of);
    figure.better.is_some() && share != Some(Whole::Time) && is_held(figure.metric)
}

/// A result's value as the logarithm of a speed.
pub(crate) fn log_speed(figure: &Figure, value: f64) -> f64 {
    match figure.better {
        Some(Better::Lower) => -value.ln(),
        _ => value.ln(),
    }
}

/// Values shared by many records. Each value is stored once, and records refer to it by its number.
#[derive(Debug)]
struct Shared<T> {
    all: Vec<T>,
    by_name: HashMap<String, u32>,
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self { all: Vec::new(), by_name: HashMap::new() }
    }
}

impl<T> Shared<T> {
    fn get(&self, number: u32) -> Option<&T> {
        self.all.get(number as usize)
    }

    fn number(&mut self, name: String, make: impl FnOnce(&str) -> T) -> u32 {
        let next = self.all.len() as u32;
        *self.by_name.entry(name).or_insert_with_key(|name| {
            self.all.push(make(name));
            next
        })
    }
}

/// Results and values that records share.
#[derive(Debug, Default)]
pub struct Known {
    figures: Shared<Figure>,
    values: Shared<String>,
}

impl Known {
    /// A result by its number.
    pub fn figure(&self, number: u32) -> Option<&Figure> {
        self.figures.get(number)
    }

    /// A result's value as a speed: larger is faster; `None` if machines are not compared by it.
    pub fn speed(&self, number: u32, value: f64) -> Option<f64> {
        let figure = self.figure(number).filter(|figure| is_judged(figure) && value > 0.0)?;
        Some(log_speed(figure, value).exp())
    }

    /// The fact value that has this number.
    pub fn value(&self, number: u32) -> &str {
        self.values.get(number).map_or("", String::as_str)
    }
}

/// A result of one record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The value.
    pub value: f64,
    /// The 95 % CI of the value, if it has one.
    pub interval: Option<(f64, f64)>,
}

/// The results of a record by their numbers.
pub type Figures = BTreeMap<u32, Point>;

/// The summary of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Brief {
    /// The file.
    pub path: PathBuf,
    /// The record's displayed path.
    pub called: PathBuf,
    /// The machine's name: the host name, with a number if several machines have it, or the file name if there is no host name.
    pub machine: String,
    /// The host name, as commands need it.
    pub host: Option<String>,
    /// The start time of the run, as in the record.
    pub started: String,
    /// The start time of the run in seconds since 1970.
    pub begun: Option<u64>,
    /// The duration of the run, s.
    pub seconds: Option<f64>,
    /// Whether the run completed all requested measurements.
    pub complete: bool,
    /// Whether the record has the metrics of a complete run.
    pub whole: bool,
    /// Whether the record was written by an older version of linespeed.
    pub older: bool,
    /// The kind of machine.
    pub kind: Kind,
    /// A short description of the machine.
    pub machine_is: String,
    /// For each of [`facts`], in order, the number of its shared value; temporary states have none here.
    pub facts: Vec<Option<u32>>,
    /// The record's headline results.
    pub figures: Figures,
    /// The slowest CPU, if its clock was compared with the others'.
    pub slowest_cpu: Option<u32>,
    /// Share of all CPUs that other processes used during the run.
    pub others: Option<f64>,
    /// Share of CPU time that the hypervisor stole during the run.
    pub steal: Option<f64>,
    /// Number of thermal throttling events of cores during the run.
    pub throttled: Option<u64>,
}

impl Brief {
    /// The number of the record's value for the fact with this number.
    pub(crate) fn fact(&self, number: usize) -> Option<u32> {
        self.facts.get(number).copied().flatten()
    }

    /// Creates the summary of a record in this file, with the given display name. Samples are not needed
    /// ([`Record::keep_summaries`]).
    pub fn from_record(
        record: &Record,
        path: PathBuf,
        called: PathBuf,
        known: &std::sync::Mutex<Known>,
    ) -> Self {
        let rows = row_figures(record);
        let values = tell_facts(record);
        let slowest_cpu = rows.iter().find_map(|row| row.cpu);
        let cpus = f64::from(record.machine.counts.cpus_online.unwrap_or(1).max(1));
        let after = record.conditions.after.as_ref();
        let throttled = record.conditions.before.throttled.zip(after.and_then(|after| after.throttled));
        let host = record.machine.hostname.clone().filter(|name| !matches!(name.as_str(), "" | "(none)"));
        let stem = || called.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let kind = Kind::from_facts(&values);
        let usable = rows.iter().filter(|row| row.value.is_finite());
        let name = |RowFigure { figure, method, .. }: &RowFigure| {
            format!("{}\n{}\n{}\n{method}", figure.metric, figure.what, figure.unit)
        };
        let named: Vec<(String, &RowFigure)> = usable.map(|row| (name(row), row)).collect();
        // From here on, this thread holds the lock, so other threads must wait.
        let mut known = known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut figures = Figures::new();
        for (name, row) in named {
            let number = known.figures.number(name, |_| row.figure.clone());
            figures.entry(number).or_insert(Point { value: row.value, interval: row.interval });
        }
        let is_kept = facts().iter().map(|fact| fact.kind != FactKind::State);
        let number = |(value, kept): (Option<String>, bool)| {
            value.filter(|_| kept).map(|value| known.values.number(value, str::to_owned))
        };
        Self {
            machine: host.clone().unwrap_or_else(stem),
            host,
            begun: date::seconds(&record.started),
            started: record.started.clone(),
            seconds: record.seconds,
            complete: record.ended == Ended::Complete,
            whole: OF_A_WHOLE_RUN.iter().all(|metric| record.measurements_of(*metric).next().is_some()),
            older: record.tool.version != env!("CARGO_PKG_VERSION"),
            kind,
            machine_is: diagnose::describe_machine(&record.machine),
            facts: values.into_iter().zip(is_kept).map(number).collect(),
            figures,
            slowest_cpu,
            others: diagnose::used_by_others(record).map(|used| used / cpus),
            steal: after.and_then(|after| after.steal_share),
            throttled: throttled.map(|(before, after)| after.saturating_sub(before)),
            path,
            called,
        }
    }
}
