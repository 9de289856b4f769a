//! Statistics of the samples of one measurement. The result is usually the median, with an exact interval; the mean is
//! used only for additive metrics.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::JsonSchema;

/// The allowed probability of error for all intervals of one report together.
pub const WRONG: f64 = 0.05;

/// Factor that turns the median absolute deviation into an estimate of the standard deviation of a normal distribution.
pub const MAD_SCALE: f64 = 1.4826;

/// The summary of the samples of one measurement.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Summary {
    /// Number of samples.
    pub n: u64,
    /// Minimum.
    pub min: f64,
    /// Median.
    pub median: f64,
    /// Median absolute deviation × 1.4826.
    pub mad: f64,
    /// Maximum.
    pub max: f64,
    /// 95 % CI of the median by order statistics; absent for fewer than 6 samples.
    pub interval: Option<(f64, f64)>,
    /// 95th percentile; requires at least 20 samples.
    pub p95: Option<f64>,
    /// 99th percentile; requires at least 100 samples.
    pub p99: Option<f64>,
    /// 99.9th percentile; requires at least 1000 samples.
    pub p999: Option<f64>,
    /// Mean. It is the result of additive metrics, and is also contained in cyclictest's output and published tables.
    pub mean: Option<f64>,
    /// Standard deviation ÷ mean, included because published tables use it.
    pub variation: Option<f64>,
}

impl Summary {
    /// Summarizes samples. Values that are not finite are ignored.
    pub fn from_samples(samples: &[f64]) -> Self {
        // Most results from other tools are a single value, which needs no sorting.
        if let [one] = *samples
            && one.is_finite()
        {
            return Self { n: 1, min: one, median: one, max: one, mean: Some(one), ..Self::default() };
        }
        let mut sorted: Vec<f64> = samples.iter().copied().filter(|v| v.is_finite()).collect();
        if sorted.is_empty() {
            return Self::default();
        }
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let median = median_of_sorted(&sorted);
        let mut deviations: Vec<f64> = sorted.iter().map(|v| (v - median).abs()).collect();
        deviations.sort_by(f64::total_cmp);
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let variation = (n > 1 && mean != 0.0).then(|| {
            let variance = sorted.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
            variance.sqrt() / mean.abs()
        });
        let at = |share: f64, least: usize| (n >= least).then(|| percentile_of_sorted(&sorted, share));
        Self {
            n: n as u64,
            min: sorted[0],
            median,
            mad: median_of_sorted(&deviations) * MAD_SCALE,
            max: sorted[n - 1],
            interval: median_interval(&sorted),
            p95: at(0.95, 20),
            p99: at(0.99, 100),
            p999: at(0.999, 1000),
            mean: Some(mean),
            variation,
        }
    }

    /// Half the interval's width relative to the median; `None` for fewer than 6 samples.
    pub fn relative_half_width(&self) -> Option<f64> {
        let (low, high) = self.interval?;
        (self.median != 0.0).then(|| (high - low) / 2.0 / self.median.abs())
    }
}

/// Whether a value is effectively unknown because its interval is wider than ±100 %. A value of 0 counts as known,
/// because it may be an exact count.
pub fn is_unknown(figure: f64, (low, high): (f64, f64)) -> bool {
    figure != 0.0 && (high - low) / 2.0 > figure.abs()
}

/// The median of values in ascending order; 0 if there are none.
pub fn median_of_sorted(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    match n {
        0 => 0.0,
        _ if n % 2 == 1 => sorted[n / 2],
        _ => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// The percentile of values in ascending order by the nearest-rank method; `share` is 0.99 for the 99th percentile. 0 if
/// there are no values.
pub fn percentile_of_sorted(sorted: &[f64], share: f64) -> f64 {
    if sorted.is_empty() {
        return 0.0;
    }
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// The 95 % CI of the median from order statistics: exact for any distribution (binomial with p = ½). `None` for fewer than 6
/// samples, which cannot enclose the median with 95 % confidence.
pub fn median_interval(sorted: &[f64]) -> Option<(f64, f64)> {
    let rank = interval_rank(sorted.len(), 1)?;
    Some((sorted[rank], sorted[sorted.len() - 1 - rank]))
}

/// With at least this many samples, the normal approximation of an interval's rank has an error of far less than one
/// rank.
const MANY: usize = 1000;

/// The largest r (from 0) for which the interval from the r-th lowest to the r-th highest of n samples encloses the
/// median with sufficient probability; `None` if there is none. The probability is 95 % for all `intervals`
/// together (Bonferroni), computed from a binomial distribution with p = ½, which is exact for samples of any
/// distribution.
pub(crate) fn interval_rank(n: usize, intervals: usize) -> Option<usize> {
    if n > MANY && intervals <= 1 {
        let n = n as f64;
        return Some(((n / 2.0 - 1.96 * n.sqrt() / 2.0).floor() as usize).saturating_sub(1));
    }
    let allowed = WRONG / intervals.max(1) as f64;
    let mut tail = 0.0;
    let mut log_choose = 0.0;
    let mut rank = None;
    for k in 0..n / 2 {
        tail += (log_choose - n as f64 * std::f64::consts::LN_2).exp();
        if 2.0 * tail > allowed {
            break;
        }
        rank = Some(k);
        log_choose += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn six_samples_are_the_fewest_with_an_interval() {
        assert_eq!(Summary::from_samples(&[1.0, 2.0, 3.0, 4.0, 5.0]).interval, None);
        assert_eq!(Summary::from_samples(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).interval, Some((1.0, 6.0)));
    }

    #[test]
    fn ranks_agree_with_the_published_table() {
        // Conover, Practical Nonparametric Statistics, table of the binomial with p = ½: 2.5 % ranks from 1.
        for (n, rank_from_1) in [(6, 1), (9, 2), (12, 3), (15, 4), (20, 6), (30, 10), (50, 18), (100, 40)] {
            assert_eq!(interval_rank(n, 1).map(|rank| rank + 1), Some(rank_from_1), "n = {n}");
        }
    }

    #[test]
    fn the_approximation_meets_the_exact_rank() {
        assert!(interval_rank(1000, 1).unwrap().abs_diff(interval_rank(1001, 1).unwrap()) <= 2);
    }

    #[test]
    fn percentiles_need_enough_samples() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        let summary = Summary::from_samples(&hundred);
        assert_eq!(
            (summary.median, summary.p95, summary.p99, summary.p999),
            (50.5, Some(95.0), Some(99.0), None)
        );
        assert_eq!(Summary::from_samples(&hundred[..19]).p95, None);
    }

    #[test]
    fn values_that_are_not_numbers_are_left_out() {
        assert_eq!(Summary::from_samples(&[f64::NAN, 1.0, f64::INFINITY]).n, 1);
        assert_eq!(Summary::from_samples(&[]), Summary::default());
    }

    proptest! {
        #[test]
        fn order_holds(samples in proptest::collection::vec(-1e12f64..1e12, 1..300)) {
            let s = Summary::from_samples(&samples);
            prop_assert!(s.min <= s.median && s.median <= s.max && s.mad >= 0.0);
            if let Some((low, high)) = s.interval {
                prop_assert!(s.min <= low && low <= s.median && s.median <= high && high <= s.max);
            }
        }
    }
}
