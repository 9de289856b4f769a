//! The list of metrics. The definition of a metric name never changes.

/// A constant for each metric, and the list of their definitions.
macro_rules! metrics {
    ($($name:ident = $definition:expr,)+) => {
        $(
            /// A metric in [`all`](crate::metrics::all).
            pub const $name: Metric = Metric::named($definition.name);
        )+
        pub(super) const METRICS: &[Definition] = &[$($definition),+];
    };
}

mod list;

pub use list::*;

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{LazyLock, Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize};

use crate::JsonSchema;
use crate::label::Label;

/// Whether higher or lower values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is faster.
    Higher,
    /// Less is faster.
    Lower,
}

/// The statistic of the samples that serves as the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The typical value. It is used for times and rates.
    Median,
    /// The average over all samples. It is used for shares of time, and for passes whose total time matters.
    Mean,
}

/// The total of which a result is a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// The observed time.
    Time,
    /// The issue slots of the core.
    Slots,
    /// The cache lines that stores overwrite.
    Stores,
}

/// The quantity measured by a result. A metric that this version does not define is from another version or another
/// tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Metric(&'static str);

impl Metric {
    /// The metric with this name, even if it is not in [`all`].
    pub const fn named(name: &'static str) -> Self {
        Self(name)
    }

    /// The metric's name.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// The first part of its name: `wakeup` for `wakeup.latency`.
    pub fn family(self) -> &'static str {
        self.0.split_once('.').map_or(self.0, |(family, _)| family)
    }

    /// Whether this is the metric's name or the name of its family.
    pub fn is_called(self, name: &str) -> bool {
        self.0 == name || self.family() == name
    }

    /// The metric's definition, if [`all`] contains it. This function must be fast: it is called several times per
    /// result, and the records of a fleet contain millions of results.
    pub fn definition(self) -> Option<&'static Definition> {
        find(self.0)
    }

    /// Whether this value is possible for a result.
    pub fn is_plausible(self, value: f64) -> bool {
        let (low, high) = self.definition().map_or((f64::MIN, f64::MAX), |definition| definition.plausible);
        (low..=high).contains(&value)
    }

    /// The labels that the metric's results may have, in display order.
    pub fn keys(self) -> &'static [Label] {
        self.definition().map_or(&[], |definition| definition.keys)
    }
}

impl From<&str> for Metric {
    fn from(name: &str) -> Self {
        // Records contain few unknown names, so each is stored once and never freed.
        static OTHERS: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
        Self(find(name).map(|known| known.name).unwrap_or_else(|| {
            let mut others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
            others.get(name).copied().unwrap_or_else(|| {
                let kept: &str = name.to_owned().leak();
                others.insert(kept);
                kept
            })
        }))
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(|name| Self::from(name.as_str()))
    }
}

impl Borrow<str> for Metric {
    fn borrow(&self) -> &str {
        self.0
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> Self {
        metric.0.to_owned()
    }
}

impl PartialEq<&str> for Metric {
    fn eq(&self, name: &&str) -> bool {
        self.0 == *name
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

/// A metric's definition.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The metric's name.
    pub name: &'static str,
    /// The name of the metric's results: `Load latency`.
    pub title: &'static str,
    /// The metric's unit: `Hz`, `ns`, `cycles`, `B/s`, `ratio`.
    pub unit: &'static str,
    /// The total of which its results are a share, if any.
    pub part_of: Option<Whole>,
    /// Whether higher or lower values are better, if either is.
    pub better: Option<Better>,
    /// The labels that the metric's results may have, in display order.
    pub keys: &'static [Label],
    /// The plausible range; values outside it are withheld.
    pub plausible: (f64, f64),
    /// The statistic of the samples that serves as the result.
    pub figure: Statistic,
}

impl Definition {
    const fn new(
        name: &'static str,
        title: &'static str,
        unit: &'static str,
        better: Option<Better>,
        plausible: (f64, f64),
    ) -> Self {
        let (part_of, figure, keys) = (None, Statistic::Median, &[] as &[Label]);
        Self { name, title, unit, part_of, better, keys, plausible, figure }
    }

    const fn at(self, keys: &'static [Label]) -> Self {
        Self { keys, ..self }
    }

    const fn part_of(self, whole: Whole) -> Self {
        Self { part_of: Some(whole), ..self }
    }

    const fn added_up(self) -> Self {
        Self { figure: Statistic::Mean, ..self }
    }

    /// The metric.
    pub const fn metric(&self) -> Metric {
        Metric::named(self.name)
    }

    /// If the metric is a share: the total to which the share refers. Shares are displayed in percent, other ratios as factors.
    pub fn share_of(&self) -> Option<Whole> {
        self.part_of.filter(|_| self.unit == "ratio")
    }
}

const HIGHER: Option<Better> = Some(Better::Higher);
const LOWER: Option<Better> = Some(Better::Lower);

/// No machine exceeds this today: HBM processors reach about 1 TB/s per package, and there are at most 16 packages.
const MOST_BANDWIDTH: f64 = 1.6e13;
/// Ten seconds in nanoseconds: no single timed event lasts longer.
const TEN_SECONDS: f64 = 1e10;

/// The events that `perf stat` counts by default, in its order; most counts have one of these as their `event`.
pub const USUAL_EVENTS: [&str; 8] = [
    "task-clock",
    "context-switches",
    "cpu-migrations",
    "page-faults",
    "cycles",
    "instructions",
    "branches",
    "branch-misses",
];

/// All metrics written by this version, in display order.
pub fn all() -> impl Iterator<Item = &'static Definition> {
    list::METRICS.iter()
}

/// The definition of the metric with this name.
pub fn find(name: &str) -> Option<&'static Definition> {
    // With only about sixty metrics, a search is faster than computing a hash of the name.
    static BY_NAME: LazyLock<Vec<&Definition>> = LazyLock::new(|| {
        let mut metrics: Vec<&Definition> = all().collect();
        metrics.sort_by_key(|metric| by_length(metric.name));
        metrics
    });
    let at = BY_NAME.binary_search_by_key(&by_length(name), |metric| by_length(metric.name)).ok()?;
    BY_NAME.get(at).copied()
}

fn by_length(name: &str) -> (usize, &str) {
    (name.len(), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_metric_is_found_by_its_name_and_no_other() {
        for metric in all() {
            assert_eq!(find(metric.name).map(|found| found.name), Some(metric.name));
            assert!(find(&format!("{}.", metric.name)).is_none());
            assert!(find(&metric.name[1..]).is_none());
        }
        assert!(find("").is_none());
    }

    #[test]
    fn a_ratio_that_cannot_leave_nothing_to_all_is_a_share() {
        for metric in all().filter(|metric| metric.unit == "ratio" && metric.plausible.1 <= 1.0) {
            assert!(metric.share_of().is_some(), "{} reads as a factor", metric.name);
        }
        let time = find("workload.cpu_time").unwrap();
        assert_eq!((time.part_of, time.share_of()), (Some(Whole::Time), None), "seconds are no share");
    }

    #[test]
    fn names_are_unique_and_bounds_ordered() {
        for (i, metric) in all().enumerate() {
            assert!(all().take(i).all(|other| other.name != metric.name), "{} twice", metric.name);
            assert!(metric.plausible.0 < metric.plausible.1, "{}", metric.name);
        }
    }
}
