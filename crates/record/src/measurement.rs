//! A measurement: one metric with its labels, the samples and their summary.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use crate::JsonSchema;
use crate::detail::{self, Detail, DetailKey};
use crate::doubt::Doubt;
use crate::import::Origin;
use crate::label::Label;
use crate::metrics::{Better, Metric, Statistic};
use crate::statistics::Summary;

/// A value of a label: a number, a word, or a switch (true or false).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, strum::Display, JsonSchema)]
#[schemars(!try_from)]
#[serde(untagged, try_from = "Value")]
pub enum Key {
    /// `corrected: true`.
    #[strum(to_string = "{0}")]
    Switch(bool),
    /// `cpu: 3`, `bytes: 4096`.
    #[strum(to_string = "{0}")]
    Count(u64),
    /// `share_of_peak: 0.5`.
    #[strum(to_string = "{0}")]
    Number(f64),
    /// `op: "triad"`.
    #[strum(to_string = "{0}")]
    Word(String),
}

/// Selects the variant by the value's type: trying one variant after the other, as serde does for untagged enums, took
/// a third of the time needed to read a record.
impl TryFrom<Value> for Key {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        match value {
            Value::Bool(value) => Ok(Key::Switch(value)),
            Value::String(value) => Ok(Key::Word(value)),
            Value::Number(value) => {
                value.as_u64().map(Key::Count).or(value.as_f64().map(Key::Number)).ok_or("no number")
            }
            _ => Err("a label must be a number, a word, true or false"),
        }
    }
}

macro_rules! keys {
    ($($type:ty => $key:ident,)+) => {
        $(impl From<$type> for Key {
            fn from(value: $type) -> Self {
                Key::$key(value as _)
            }
        })+
    };
}
keys! { bool => Switch, u64 => Count, u32 => Count, usize => Count, f64 => Number, }

impl From<String> for Key {
    fn from(value: String) -> Self {
        Key::Word(value)
    }
}

impl From<&str> for Key {
    fn from(value: &str) -> Self {
        Key::Word(value.to_owned())
    }
}

/// Where and how a metric was measured: cpu, node, bytes, page, threads… Contains only the keys that apply. Two measurements are comparable
/// if their metrics and labels are equal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "Where")]
pub struct Labels(pub BTreeMap<String, Key>);

impl Labels {
    /// No labels.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a label.
    pub fn with_label(mut self, label: Label, value: impl Into<Key>) -> Self {
        self.0.insert(label.name().to_owned(), value.into());
        self
    }

    /// Adds a label if its value is known.
    pub fn with_known(self, label: Label, value: Option<impl Into<Key>>) -> Self {
        let Some(value) = value else { return self };
        self.with_label(label, value)
    }

    /// The value of a label.
    pub fn get(&self, label: Label) -> Option<&Key> {
        self.0.get(label.name())
    }

    /// The value of the label with this name, which may be a label from another version.
    pub fn named(&self, name: &str) -> Option<&Key> {
        self.0.get(name)
    }

    /// The value of a label as a word.
    pub fn word(&self, label: Label) -> Option<&str> {
        if let Some(Key::Word(word)) = self.get(label) { Some(word) } else { None }
    }

    /// The value of a label as a whole number.
    pub fn count(&self, label: Label) -> Option<u64> {
        match self.0.get(label.name()) {
            Some(Key::Count(count)) => Some(*count),
            Some(Key::Number(number)) if *number >= 0.0 && number.fract() == 0.0 => Some(*number as u64),
            _ => None,
        }
    }

    /// The value of a label as a number.
    pub fn number(&self, label: Label) -> Option<f64> {
        match self.0.get(label.name()) {
            Some(Key::Count(count)) => Some(*count as f64),
            Some(Key::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// The value of a label as a switch.
    pub fn switch(&self, label: Label) -> Option<bool> {
        if let Some(Key::Switch(switch)) = self.get(label) { Some(*switch) } else { None }
    }
}

/// A known event during a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// The core clocks before and after the sample differed by more than 1 %.
    ClockMoved,
    /// The kernel ran something else on the CPU (involuntary context switch).
    Switched,
    /// The thread was moved to another CPU.
    Migrated,
    /// Steal time occurred.
    Stolen,
    /// Temperature or a power limit lowered the clock.
    Throttled,
    /// The quota of the cgroup throttled the process.
    Quota,
}

/// One marked sample. Marked samples are saved and counted, never hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SampleMark {
    /// Index into the samples.
    pub sample: u32,
    /// The event.
    pub mark: Mark,
}

/// One bin of a distribution: the number of samples in `[from, to)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bucket {
    /// Lower bound, in the measurement's unit.
    pub from: f64,
    /// Upper bound, in the measurement's unit.
    pub to: f64,
    /// Number of samples in the bin.
    pub count: u64,
}

/// The number of significant digits of a saved sample. This limit halves the size of the text, and the digits are still
/// more precise than any clock used here.
const DIGITS: i32 = 7;

/// A number as saved in a record: rounded to this many significant digits.
pub fn significant(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(digits - 1 - value.abs().log10().floor() as i32);
    if !scale.is_finite() || scale == 0.0 { value } else { (value * scale).round() / scale }
}

/// One metric with one set of labels.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// The metric's name; the definition of a name never changes.
    pub metric: Metric,
    /// Unit of all values of the measurement.
    pub unit: String,
    /// Whether higher or lower values are better; absent if neither is.
    pub better: Option<Better>,
    /// Where and how the metric was measured.
    #[serde(rename = "where")]
    pub labels: Labels,
    /// The summary of the samples.
    pub summary: Summary,
    /// All samples in order; empty if a distribution is saved instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<f64>,
    /// Samples affected by a known event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<SampleMark>,
    /// The number of placement checks made before each sample; a single number if it is the same for all samples; empty
    /// if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<u32>,
    /// The distribution, if there are too many samples to save them individually (wake-up latency, gaps).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distribution: Vec<Bucket>,
    /// Why the result is unreliable; absent if nothing is wrong.
    #[serde(flatten)]
    pub doubt: Option<Doubt>,
    /// Details of the method: kernel, variant, verified placement, counts.
    #[serde(default, skip_serializing_if = "Detail::is_empty")]
    pub detail: Detail,
    /// The method of another tool, if it restricts comparisons: `lmbench lat_mem_rd -t`, `Intel MLC`, `STREAM`, `cyclictest`. Absent for
    /// linespeed's own methods. Results of two methods are comparable only if the metric's definition is the same for both.
    pub method: Option<String>,
    /// The line of another tool's output from which the result was read; absent for linespeed's own results.
    pub origin: Option<Origin>,
}

/// The result with its unit and as many digits as its interval justifies.
impl From<&Measurement> for crate::text::Value {
    fn from(m: &Measurement) -> Self {
        match m.metric.definition().filter(|metric| metric.unit == m.unit) {
            Some(metric) => {
                let digits = crate::units::digits_within(m.value(), m.interval());
                let figure = match metric.share_of() {
                    Some(_) => Self::Share(m.value()),
                    None => Self::Figure(m.value(), metric.unit),
                };
                Self::Rounded(Box::new(figure), digits)
            }
            None => crate::units::figure(m.value(), &m.unit).into(),
        }
    }
}

impl Measurement {
    /// A measurement of a metric in [`metrics::all`](crate::metrics::all), which defines the unit and the direction.
    pub fn new(metric: impl Into<Metric>, labels: Labels, samples: Vec<f64>) -> Self {
        let metric = metric.into();
        let definition = metric.definition();
        let samples: Vec<f64> = samples.into_iter().map(|sample| significant(sample, DIGITS)).collect();
        debug_assert!(definition.is_some(), "unknown metric: {metric}");
        Self {
            metric,
            unit: definition.map_or("", |m| m.unit).to_owned(),
            better: definition.and_then(|m| m.better),
            labels,
            summary: Summary::from_samples(&samples),
            samples,
            ..Self::default()
        }
    }

    /// Like [`Measurement::new`], but without rounding the samples; for numbers printed by another tool, so that they
    /// are displayed as in its output.
    pub fn exact(metric: impl Into<Metric>, labels: Labels, samples: Vec<f64>) -> Self {
        let mut exact = Self::new(metric, labels, Vec::new());
        exact.summary = Summary::from_samples(&samples);
        exact.samples = samples;
        exact
    }

    /// Adds the number of placement checks made before each sample, unless there were none.
    pub fn with_looks(mut self, mut looks: Vec<u32>) -> Self {
        if looks.windows(2).all(|pair| pair[0] == pair[1]) {
            looks.truncate(1);
        }
        self.looks = if looks == [0] { Vec::new() } else { looks };
        self
    }

    /// Adds a detail.
    pub fn with_detail<T: ?Sized>(mut self, key: DetailKey<T>, value: impl Into<Value>) -> Self {
        self.detail.set(key, value);
        self
    }

    /// Adds a detail if its value is known.
    pub fn with_known_detail<T: ?Sized>(self, key: DetailKey<T>, value: Option<impl Into<Value>>) -> Self {
        let Some(value) = value else { return self };
        self.with_detail(key, value)
    }

    /// The value that represents the measurement: the median, or the mean of an additive metric ([`Self::is_mean`]),
    /// because a median does not show the time lost in bursts.
    pub fn value(&self) -> f64 {
        self.mean().unwrap_or(self.summary.median)
    }

    /// The 95 % CI of [`Self::value`]; `None` for fewer than 6 samples.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let Some(mean) = self.mean() else { return self.summary.interval };
        let Summary { n, min, max, variation, .. } = self.summary;
        let half = 1.96 * variation.filter(|_| n >= 6)? * mean / (n as f64).sqrt();
        Some(((mean - half).max(min.min(mean)), (mean + half).min(max.max(mean))))
    }

    /// The separate results of the odd-numbered and the even-numbered samples, which are comparable to two alternating measurements. `None`
    /// if there are fewer than four samples, or if neither the samples nor [`detail::HALVES`] were saved.
    pub fn halves(&self) -> Option<[f64; 2]> {
        if let Some(kept) = self.detail.get(detail::HALVES) {
            return kept.iter().all(|half| half.is_finite()).then_some(kept);
        }
        let half = |first: usize| {
            let samples: Vec<f64> = self.samples.iter().skip(first).step_by(2).copied().collect();
            let summary = Summary::from_samples(&samples);
            if self.is_mean() { summary.mean } else { Some(summary.median) }.filter(|half| half.is_finite())
        };
        (self.samples.len() >= 4).then_some(())?;
        Some([half(0)?, half(1)?])
    }

    /// Whether the result is the mean of the samples.
    pub fn is_mean(&self) -> bool {
        self.metric.definition().is_some_and(|metric| metric.figure == Statistic::Mean)
    }

    fn mean(&self) -> Option<f64> {
        let mean = || self.detail.get(detail::SHARE_OF_ALL).or(self.summary.mean);
        (self.is_mean() && self.summary.n > 0).then(mean).flatten().filter(|mean| mean.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_read_by_what_it_is() {
        let read = |json: &str| serde_json::from_str::<Key>(json).ok();
        for (json, key) in [
            ("true", Key::Switch(true)),
            ("3", Key::Count(3)),
            ("18446744073709551615", Key::Count(u64::MAX)),
            ("3.0", Key::Number(3.0)),
            ("-1", Key::Number(-1.0)),
            ("\"\\u0041\"", Key::Word("A".to_owned())),
        ] {
            assert_eq!(read(json), Some(key), "{json}");
        }
        assert!(["null", "[1]", "{}"].into_iter().all(|json| read(json).is_none()));
    }
}
