//! One result of one record, as needed for a comparison: the value, its sources, and reasons for doubt.

use record::metrics::{Definition, Metric, Whole};
use record::statistics::{Summary, is_unknown};
use record::{Doubt, Label, Measurement, Text, detail, text};

use super::method;
use crate::figures::locate_figure;

/// Maximum number of samples in a comparison; if there are more, only the interval is used.
pub(crate) const MOST_SAMPLES: usize = 24;
/// The z value of a 95 % CI.
const Z: f64 = 1.959_964;
/// If there are at least this many measurements, their medians are used as samples; otherwise, all samples are pooled.
const MANY: usize = 5;

/// One result.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Datum {
    /// The value: the median, or the mean for additive values.
    pub value: f64,
    /// The underlying samples, or the medians of several places, up to [`MOST_SAMPLES`]; if there are more, only the
    /// interval is stored.
    pub samples: Vec<f64>,
    /// The interval of the median, if it is not derived from the samples.
    pub interval: Option<(f64, f64)>,
    /// Number of samples.
    pub n: u64,
    /// The summarized results, if there is more than one.
    pub over: Option<Text>,
    /// The path in the record.
    pub from: String,
    /// The reason why the result is unreliable.
    pub doubt: Option<Doubt>,
    /// Another tool's method; `None` for linespeed's own method or an equivalent one.
    pub method: Option<String>,
    /// Unit.
    pub unit: String,
    /// The reason why the result is not comparable with any other.
    pub unfit: Option<Text>,
    /// The recipe's settings; results with different settings are not comparable.
    pub settings: Option<String>,
    /// The command; results of different commands are not comparable.
    pub command: Option<String>,
    /// The location of the working set, if it determines which resource was measured.
    pub size: Option<Size>,
    /// Whether the result was calculated from a program's declared work and its time, rather than counted.
    pub declared: bool,
    /// Whether the result is a share of time.
    share: bool,
}

/// The location of a working set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// Within the last-level caches.
    Cached,
    /// Partly in the caches: less than twice their size.
    Between,
    /// In memory, beyond the caches.
    Memory,
}

impl Size {
    /// The location of a working set of this size, given the size of the caches; `None` if either is unknown.
    pub(crate) fn classify(bytes: u64, caches: u64) -> Option<Self> {
        (bytes > 0 && caches > 0).then(|| match bytes as f64 / caches as f64 {
            share if share <= 1.0 => Size::Cached,
            share if share < 2.0 => Size::Between,
            _ => Size::Memory,
        })
    }

    /// Describes the location.
    pub(crate) fn describe(self) -> Text {
        match self {
            Size::Cached => text!("comparison-size-cached", "within the caches"),
            Size::Between => text!("partly in the caches"),
            Size::Memory => text!("comparison-size-memory", "beyond the caches"),
        }
    }
}

impl Datum {
    /// Converts a single measurement.
    pub(crate) fn from_measurement(m: &Measurement) -> Self {
        let bytes = m.unit == "work/s" && m.detail.get(detail::WORK) == Some("B");
        // Samples are needed only for a median.
        let few = m.samples.len() <= MOST_SAMPLES && !m.is_mean();
        let samples =
            if few { m.samples.iter().copied().filter(|v| v.is_finite()).collect() } else { Vec::new() };
        Self {
            value: m.value(),
            n: m.summary.n,
            interval: m.interval().filter(|_| samples.is_empty()),
            samples,
            from: locate_figure(m),
            doubt: m.doubt.clone(),
            method: m.method.as_deref().and_then(|method| method::find_foreign(m.metric, method)),
            unit: if bytes { "B/s".to_owned() } else { m.unit.to_string() },
            unfit: method::remark_scope(m),
            declared: m.labels.word(Label::Source) == Some("declared"),
            share: is_share(m.metric, &m.unit),
            ..Self::default()
        }
    }

    /// The mean of additive values, such as shares of time, over several places, with the mean of their intervals as its interval. `None`
    /// without any value.
    pub(crate) fn mean_of(all: &[&Measurement]) -> Option<Self> {
        let mut datum = Self::from_several(all, "CPUs")?;
        if all.len() < 2 {
            return Some(datum);
        }
        datum.over = Some(text!("comparison-mean-of-cpus", "mean of {count} CPUs", count = all.len()));
        let mean = |f: &dyn Fn(&Measurement) -> f64| all.iter().map(|m| f(m)).sum::<f64>() / all.len() as f64;
        datum.value = Some(mean(&Measurement::value)).filter(|value| value.is_finite())?;
        let own: Vec<(f64, f64)> = all.iter().filter_map(|m| m.interval()).collect();
        datum.interval = (own.len() == all.len()).then(|| {
            let end = |of: fn(&(f64, f64)) -> f64| own.iter().map(of).sum::<f64>() / own.len() as f64;
            (end(|interval| interval.0), end(|interval| interval.1))
        });
        // Differences between places do not make the mean uncertain.
        datum.samples = Vec::new();
        datum.from = locate_all(all);
        Some(datum)
    }

    /// Summarizes measurements of one quantity at several places. `over` is the kind of place, such as `CPUs`. `None` if there are no
    /// measurements.
    pub(crate) fn from_several(all: &[&Measurement], over: &str) -> Option<Self> {
        let (first, rest) = all.split_first()?;
        let mut datum = Self::from_measurement(first);
        if rest.is_empty() {
            return Some(datum);
        }
        let medians = || all.iter().map(|m| m.value()).filter(|value| value.is_finite());
        // Sums of implausibly large values would overflow.
        datum.value = crate::figures::median(medians()).filter(|value| value.is_finite())?;
        let is_pooled = |m: &&Measurement| !m.samples.is_empty() && !m.is_mean();
        let pooled: Vec<f64> = if all.len() < MANY && all.iter().all(is_pooled) {
            all.iter().flat_map(|m| m.samples.iter().copied()).filter(|v| v.is_finite()).collect()
        } else {
            medians().collect()
        };
        // The path of the result itself.
        let nearest = all.iter().min_by(|a, b| {
            let far = |m: &Measurement| (m.value() - datum.value).abs();
            far(a).total_cmp(&far(b))
        });
        // A median computed from two results is not the result of either place.
        let held = nearest.filter(|m| m.value() == datum.value);
        datum.from = held.map_or_else(|| locate_all(all), |m| locate_figure(m));
        datum.n = pooled.len() as u64;
        let few = pooled.len() <= MOST_SAMPLES;
        let own: Vec<(f64, f64)> = all.iter().filter_map(|m| m.interval()).collect();
        datum.interval = match (few, own.len() == all.len() && all.len() < MANY && pooled.len() == all.len())
        {
            // There are too few medians to derive an interval from them, so use the union of their intervals.
            (_, true) => own.into_iter().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
            (true, false) => None,
            (false, false) => Summary::from_samples(&pooled).interval,
        };
        // The median of the medians may lie outside the interval of all samples.
        datum.interval = datum.interval.map(|(low, high)| (low.min(datum.value), high.max(datum.value)));
        datum.samples = if few { pooled } else { Vec::new() };
        datum.over = Some(format!("median of {} {over}", all.len()).into());
        let doubtful = all.iter().filter(|m| m.doubt.is_some()).count();
        datum.doubt = (doubtful * 2 > all.len())
            .then(|| text!("{doubtful} of {all} unreliable", all = all.len()).into());
        if let Some(other) = all.iter().find(|m| m.method != first.method) {
            datum.unfit = Some(text!(
                "measured by {one} and by {other} in the same record",
                one = method::describe_method(first.method.as_deref()),
                other = method::describe_method(other.method.as_deref())
            ));
        }
        Some(datum)
    }

    /// A result derived from others, with a standard deviation on the logarithmic scale if known.
    pub(crate) fn derived(value: f64, deviation: Option<f64>, unit: &str, from: impl Into<String>) -> Self {
        Self {
            value,
            interval: deviation.map(|one| (value * (-Z * one).exp(), value * (Z * one).exp())),
            n: if deviation.is_some() { 2 } else { 1 },
            unit: unit.to_owned(),
            from: from.into(),
            ..Self::default()
        }
    }

    /// Divides this result by another and multiplies by a factor, with the combined deviation; the quotient is
    /// unreliable if either result is.
    pub(crate) fn over_another(&self, other: &Datum, times: f64, unit: &str) -> Self {
        let deviation = self.log_deviation().zip(other.log_deviation()).map(|(a, b)| a.hypot(b));
        Self {
            doubt: self.doubt.clone().or_else(|| other.doubt.clone()),
            unfit: self.unfit.clone().or_else(|| other.unfit.clone()),
            method: self.method.clone(),
            command: self.command.clone(),
            ..Self::derived(self.value / other.value * times, deviation, unit, self.from.clone())
        }
    }

    /// A result that consists only of samples.
    #[cfg(test)]
    pub(crate) fn from_samples(samples: Vec<f64>) -> Self {
        let summary = Summary::from_samples(&samples);
        Self { value: summary.median, n: summary.n, interval: summary.interval, samples, ..Self::default() }
    }

    /// Converts the result with a monotonic function.
    pub(crate) fn mapped(&self, to: impl Fn(f64) -> f64) -> Self {
        let mut datum = self.clone();
        datum.value = to(datum.value);
        datum.samples.iter_mut().for_each(|sample| *sample = to(*sample));
        let ends = datum.interval.map(|(low, high)| (to(low), to(high)));
        datum.interval = ends.map(|(one, other)| (one.min(other), one.max(other)));
        datum
    }

    /// Whether the result is a share of time.
    pub(crate) fn is_share(&self) -> bool {
        self.share && (0.0..=1.0).contains(&self.value)
    }

    /// The 95 % CI of the median, computed from order statistics if no interval is known.
    pub(crate) fn own_interval(&self) -> Option<(f64, f64)> {
        self.interval.or_else(|| Summary::from_samples(&self.samples).interval)
    }

    /// Whether the result is hidden because its uncertainty is as large as its value. Shares of time, which are often near 0, are always
    /// shown.
    pub(crate) fn is_withheld(&self) -> bool {
        !self.share && self.own_interval().is_some_and(|interval| is_unknown(self.value, interval))
    }

    /// The standard deviation on the logarithmic scale for derived results, from the median's interval.
    pub(crate) fn log_deviation(&self) -> Option<f64> {
        let (low, high) = self.own_interval()?;
        (low > 0.0).then(|| (high / low).ln() / (2.0 * Z)).filter(|deviation| deviation.is_finite())
    }

    /// Whether there is a result.
    pub(crate) fn is_some(&self) -> bool {
        self.value.is_finite() && self.n > 0
    }
}

/// The common part of the paths of several results.
fn locate_all(all: &[&Measurement]) -> String {
    let Some((first, rest)) = all.split_first() else { return String::new() };
    let mut shared = (*first).clone();
    shared.labels.0.retain(|name, value| rest.iter().all(|m| m.labels.0.get(name) == Some(value)));
    locate_figure(&shared)
}

/// Whether a metric is a share of time, for which a difference in percentage points is more useful than a ratio.
fn is_share(metric: Metric, unit: &str) -> bool {
    let share = metric.definition().and_then(Definition::share_of);
    unit == "ratio" && share == Some(Whole::Time)
}
