//! One figure of one record, as a comparison needs it: its value, what it was taken from, and what stands against it.

use record::metrics::{Definition, Metric, Whole};
use record::statistics::{Summary, is_unknown};
use record::{Doubt, Label, Measurement, Text, detail, text};

use super::method;
use crate::figures::locate_figure;

/// Samples up to which a comparison draws from them; of more the interval is kept instead.
pub(crate) const MOST_SAMPLES: usize = 24;
/// The z of 95 %.
const Z: f64 = 1.959_964;
/// Measurements from which their medians are the samples: below, the samples themselves are taken together.
const MANY: usize = 5;

/// One figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Datum {
    /// What stands for it: the median, or the mean of what adds up.
    pub value: f64,
    /// The samples behind it, or the medians over places, up to [`MOST_SAMPLES`]; of more the interval is kept instead.
    pub samples: Vec<f64>,
    /// The interval of the median, where it is known otherwise than by the samples.
    pub interval: Option<(f64, f64)>,
    /// How many samples.
    pub n: u64,
    /// What it was taken from, where that is more than one figure.
    pub over: Option<Text>,
    /// Its place in the record.
    pub from: String,
    /// Why it should not be leaned on.
    pub doubt: Option<Doubt>,
    /// How another tool measured it; `None` for linespeed's own way, or one that is defined alike.
    pub method: Option<String>,
    /// Unit.
    pub unit: String,
    /// Why it is comparable with nothing.
    pub unfit: Option<Text>,
    /// The settings of the recipe that it is a run of: with others it is other work.
    pub settings: Option<String>,
    /// The command that it is of: another one is other work.
    pub command: Option<String>,
    /// Working set relative to the last-level caches, where that decides what was measured.
    pub size: Option<Size>,
    /// Whether it follows from what was declared of a program and from its time, and was not counted.
    pub declared: bool,
    /// Whether it is a share of time taken.
    share: bool,
}

/// Where a working set lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// Within the last-level caches.
    Cached,
    /// Partly in them: under twice their size.
    Between,
    /// In memory.
    Memory,
}

impl Size {
    /// Where a working set of so many bytes lies with so large caches; `None` where either is unknown.
    pub(crate) fn classify(bytes: u64, caches: u64) -> Option<Self> {
        (bytes > 0 && caches > 0).then(|| match bytes as f64 / caches as f64 {
            share if share <= 1.0 => Size::Cached,
            share if share < 2.0 => Size::Between,
            _ => Size::Memory,
        })
    }

    /// In words.
    pub(crate) fn describe(self) -> Text {
        match self {
            Size::Cached => text!("comparison-size-cached", "within the caches"),
            Size::Between => text!("partly in the caches"),
            Size::Memory => text!("comparison-size-memory", "beyond the caches"),
        }
    }
}

impl Datum {
    /// One measurement.
    pub(crate) fn from_measurement(m: &Measurement) -> Self {
        // Samples are drawn from for a median.
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
            unit: find_unit(m),
            unfit: method::remark_scope(m),
            declared: m.labels.word(Label::Source) == Some("declared"),
            share: is_share(m.metric, &m.unit),
            ..Self::default()
        }
    }

    /// The mean over places of what adds up, as shares of time do, between the means of the ends of their intervals. `None` for none.
    pub(crate) fn mean_of(all: &[&Measurement]) -> Option<Self> {
        let mut datum = Self::from_several(all, "CPUs")?;
        if all.len() < 2 {
            return Some(datum);
        }
        datum.over = Some(text!("comparison-mean-of-cpus", "mean of {count} CPUs", count = all.len()));
        let mean =
            |of: &dyn Fn(&Measurement) -> f64| all.iter().map(|m| of(m)).sum::<f64>() / all.len() as f64;
        datum.value = Some(mean(&Measurement::value)).filter(|value| value.is_finite())?;
        let own: Vec<(f64, f64)> = all.iter().filter_map(|m| m.interval()).collect();
        datum.interval = (own.len() == all.len()).then(|| {
            let end = |of: fn(&(f64, f64)) -> f64| own.iter().map(of).sum::<f64>() / own.len() as f64;
            (end(|interval| interval.0), end(|interval| interval.1))
        });
        // Their scatter over places is no noise of the mean.
        datum.samples = Vec::new();
        datum.from = locate_all(all);
        Some(datum)
    }

    /// Several measurements of the same thing at different places, which `over` names: `CPUs`. `None` for none.
    pub(crate) fn from_several(all: &[&Measurement], over: &str) -> Option<Self> {
        let (first, rest) = all.split_first()?;
        let mut datum = Self::from_measurement(first);
        if rest.is_empty() {
            return Some(datum);
        }
        let medians = || all.iter().map(|m| m.value()).filter(|value| value.is_finite());
        // Beyond any figure that was measured, sums overflow.
        datum.value = crate::figures::median(medians()).filter(|value| value.is_finite())?;
        let is_pooled = |m: &&Measurement| !m.samples.is_empty() && !m.is_mean();
        let pooled: Vec<f64> = if all.len() < MANY && all.iter().all(is_pooled) {
            all.iter().flat_map(|m| m.samples.iter().copied()).filter(|v| v.is_finite()).collect()
        } else {
            medians().collect()
        };
        // The place of the figure itself.
        let nearest = all.iter().min_by(|a, b| {
            let far = |m: &Measurement| (m.value() - datum.value).abs();
            far(a).total_cmp(&far(b))
        });
        // A middle of two stands at neither.
        let held = nearest.filter(|m| m.value() == datum.value);
        datum.from = held.map_or_else(|| locate_all(all), |m| locate_figure(m));
        datum.n = pooled.len() as u64;
        let few = pooled.len() <= MOST_SAMPLES;
        let own: Vec<(f64, f64)> = all.iter().filter_map(|m| m.interval()).collect();
        datum.interval = match (few, own.len() == all.len() && all.len() < MANY && pooled.len() == all.len())
        {
            // Too few medians for an interval of their own: as wide as those of all together.
            (_, true) => own.into_iter().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
            (true, false) => None,
            (false, false) => Summary::from_samples(&pooled).interval,
        };
        // The middle of the medians may lie beside that of all samples together.
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

    /// A figure that follows from others, with a standard deviation on the scale of logarithms where it is known.
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

    /// This over another, so many times, with the deviation of both; what stands against one of them stands against it.
    pub(crate) fn over_another(&self, other: &Datum, times: f64, unit: &str) -> Self {
        let deviation =
            self.log_deviation().zip(other.log_deviation()).map(|(this, other)| this.hypot(other));
        Self {
            doubt: self.doubt.clone().or_else(|| other.doubt.clone()),
            unfit: self.unfit.clone().or_else(|| other.unfit.clone()),
            method: self.method.clone(),
            command: self.command.clone(),
            ..Self::derived(self.value / other.value * times, deviation, unit, self.from.clone())
        }
    }

    /// Samples alone.
    #[cfg(test)]
    pub(crate) fn from_samples(samples: Vec<f64>) -> Self {
        let summary = Summary::from_samples(&samples);
        Self { value: summary.median, n: summary.n, interval: summary.interval, samples, ..Self::default() }
    }

    /// The same over a number of equal parts.
    pub(crate) fn divided_by(&self, parts: f64) -> Self {
        let mut datum = self.clone();
        datum.value /= parts;
        datum.samples.iter_mut().for_each(|sample| *sample /= parts);
        datum.interval = datum.interval.map(|(low, high)| (low / parts, high / parts));
        datum
    }

    /// Whether it is a share of time taken.
    pub(crate) fn is_share(&self) -> bool {
        self.share && (0.0..=1.0).contains(&self.value)
    }

    /// What a share leaves.
    pub(crate) fn complement(&self) -> Self {
        let mut datum = self.clone();
        datum.value = 1.0 - datum.value;
        datum.samples.iter_mut().for_each(|sample| *sample = 1.0 - *sample);
        datum.interval = datum.interval.map(|(low, high)| (1.0 - high, 1.0 - low));
        datum
    }

    /// The 95 % interval of the median, by order statistics where nothing else is known.
    pub(crate) fn own_interval(&self) -> Option<(f64, f64)> {
        self.interval.or_else(|| Summary::from_samples(&self.samples).interval)
    }

    /// Whether it is known to no better than its own size; shares of time, which lie about 0, are told however small.
    pub(crate) fn is_withheld(&self) -> bool {
        !self.share && self.own_interval().is_some_and(|interval| is_unknown(self.value, interval))
    }

    /// The half width of the median's interval on the scale of logarithms as a standard deviation, for figures made of several.
    pub(crate) fn log_deviation(&self) -> Option<f64> {
        let (low, high) = self.own_interval()?;
        (low > 0.0).then(|| (high / low).ln() / (2.0 * Z)).filter(|deviation| deviation.is_finite())
    }

    /// Whether there is a figure.
    pub(crate) fn is_some(&self) -> bool {
        self.value.is_finite() && self.n > 0
    }
}

/// What the places of several figures have in common.
fn locate_all(all: &[&Measurement]) -> String {
    let Some((first, rest)) = all.split_first() else { return String::new() };
    let mut shared = (*first).clone();
    shared.labels.0.retain(|name, value| rest.iter().all(|m| m.labels.0.get(name) == Some(value)));
    locate_figure(&shared)
}

/// The unit: of work that is bytes, bytes.
fn find_unit(m: &Measurement) -> String {
    let bytes = m.unit == "work/s" && m.detail.get(detail::WORK) == Some("B");
    if bytes { "B/s".to_owned() } else { m.unit.to_string() }
}

/// Whether it is a share of a time, of which a difference in points tells more than a ratio.
fn is_share(metric: Metric, unit: &str) -> bool {
    let share = metric.definition().and_then(Definition::share_of);
    unit == "ratio" && share == Some(Whole::Time)
}
