//! The list of metrics. A metric's name means one definition for ever.

/// The metrics of a file: of each, a constant that is its name, and the list of all.
macro_rules! metrics {
    ($($name:ident = $metric:expr,)+) => {
        $(
            /// The name of a metric of [`all`](crate::metrics::all).
            pub const $name: &str = $metric.name;
        )+
        pub(super) const METRICS: &[Metric] = &[$($metric),+];
    };
}

mod clock;
mod memory;
mod nodes;
mod system;
mod work;

pub use clock::*;
pub use memory::*;
pub use nodes::*;
pub use system::*;
pub use work::*;

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::label::Label;

/// Which direction of a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is faster.
    Higher,
    /// Less is faster.
    Lower,
}

/// Which statistic of its samples stands for a metric where one figure does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// What is usual: of times and rates.
    Median,
    /// What it comes to: of shares of a time, and of passes that are judged by their total.
    Mean,
}

/// What a figure can be a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// Of the time that was looked at.
    Time,
    /// Of the slots in which a core issues.
    Slots,
    /// Of the lines that stores overwrite.
    Stores,
}

/// A metric's definition.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What its figures are called: `Load latency`.
    pub title: &'static str,
    /// Its unit: `Hz`, `ns`, `cycles`, `B/s`, `ratio`.
    pub unit: &'static str,
    /// What its figures are parts of, which may be none of it.
    pub part_of: Option<Whole>,
    /// Which direction is better.
    pub better: Option<Better>,
    /// The keys that its place may carry, in the order in which people read them.
    pub keys: &'static [Label],
    /// Values outside are physically implausible and are withheld.
    pub plausible: (f64, f64),
    /// What of its samples is its figure.
    pub figure: Statistic,
    /// What it is, for the glossary, in the form of [`crate::glossary`].
    pub glossary: &'static str,
}

impl Metric {
    const fn new(
        name: &'static str,
        title: &'static str,
        unit: &'static str,
        better: Option<Better>,
        plausible: (f64, f64),
    ) -> Self {
        let (part_of, figure, keys, glossary) = (None, Statistic::Median, &[] as &[Label], "");
        Self { name, title, unit, part_of, better, keys, plausible, figure, glossary }
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

    const fn explained(self, glossary: &'static str) -> Self {
        Self { glossary, ..self }
    }

    /// What its ratio is a share of; people read shares in percent, other ratios as factors.
    pub fn share_of(&self) -> Option<Whole> {
        self.part_of.filter(|_| self.unit == "ratio")
    }
}

const HIGHER: Option<Better> = Some(Better::Higher);
const LOWER: Option<Better> = Some(Better::Lower);

/// 1 TB/s a channel group is beyond any node today (HBM parts reach about 1 TB/s a package; 16 packages).
const MOST_BANDWIDTH: f64 = 1.6e13;
/// Ten seconds in nanoseconds: nothing timed as one event lasts longer.
const TEN_SECONDS: f64 = 1e10;

/// The events that `perf stat` counts by default, in its order: the `event` of most counts.
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

/// In the order in which people read them.
const GROUPS: [&[Metric]; 5] =
    [clock::METRICS, memory::METRICS, system::METRICS, nodes::METRICS, work::METRICS];

/// Every metric that this version writes, in the order in which people read them.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    GROUPS.into_iter().flatten()
}

/// Whether a figure of this metric can be true; taken so of a metric that is not known.
pub fn can_be(name: &str, value: f64) -> bool {
    find(name).is_none_or(|Metric { plausible: (low, high), .. }| (*low..=*high).contains(&value))
}

/// The metric with this name: asked several times of every figure, of which a fleet's records have millions.
pub fn find(name: &str) -> Option<&'static Metric> {
    // Some sixty: a search among them takes less than a hash of the name.
    static BY_NAME: LazyLock<Vec<&Metric>> = LazyLock::new(|| {
        let mut metrics: Vec<&Metric> = all().collect();
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
