//! An average over time and its error. A moment is one value of a time series, with its weight. The error is computed
//! from blocks of consecutive moments, because neighboring moments are correlated (method of batch means; Schmeiser,
//! Operations Research 30, 1982, recommends ten to thirty blocks).

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::WRONG;

/// Numbers of blocks, tried in this order until neighboring blocks are hardly correlated. A number that leaves fewer
/// than two moments per block is skipped; if all are skipped, there is no interval.
const BLOCKS: [usize; 3] = [24, 12, 6];
/// Maximum correlation of neighboring blocks; if it is higher, the blocks are too short.
const ALIKE: f64 = 0.3;

/// A value, its variance, and the degrees of freedom of that variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// The variance of the value, with its degrees of freedom; `None` if there are too few samples.
    pub error: Option<(f64, f64)>,
}

impl Estimate {
    /// Minimum number of moments for an interval.
    pub const FEWEST_MOMENTS: usize = 2 * BLOCKS[BLOCKS.len() - 1];

    /// A value whose error is that of the mean of these independent blocks.
    pub fn of_blocks(value: f64, blocks: &[f64]) -> Self {
        let count = blocks.len() as f64;
        let middle = blocks.iter().sum::<f64>() / count;
        let scatter = blocks.iter().map(|block| (block - middle).powi(2)).sum::<f64>();
        Self { value, error: (blocks.len() > 1).then(|| (scatter / (count - 1.0) / count, count - 1.0)) }
    }

    /// The mean of consecutive moments, each of which has a value and a weight; `None` if the weights sum to zero.
    pub fn of_moments(moments: impl Iterator<Item = (f64, f64)>) -> Option<Self> {
        let usable = |(value, weight): &(f64, f64)| value.is_finite() && weight.is_finite() && *weight > 0.0;
        let all: Vec<(f64, f64)> = moments.filter(usable).collect();
        let value = mean(&all)?;
        let counts = BLOCKS.iter().filter(|count| all.len() >= 2 * **count);
        let blocks: Vec<Vec<f64>> = counts.map(|count| divide(&all, *count)).collect();
        let apart = blocks.iter().find(|blocks| correlation(blocks) < ALIKE).or(blocks.last());
        Some(Self::of_blocks(value, apart.map_or(&[], Vec::as_slice)))
    }

    /// The logarithm of the estimate.
    #[must_use]
    pub fn ln(self) -> Self {
        let relative = |(variance, freedom)| (variance / self.value.powi(2), freedom);
        Self { value: self.value.ln(), error: self.error.map(relative) }
    }

    /// The difference of two estimates (Welch).
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        let error = self.error.zip(other.error).map(|((a, of_a), (b, of_b))| {
            let freedom = (a + b).powi(2) / (a.powi(2) / of_a + b.powi(2) / of_b).max(f64::MIN_POSITIVE);
            (a + b, freedom.max(1.0))
        });
        Self { value: self.value - other.value, error }
    }

    /// The interval, corrected for the number of intervals reported together (Bonferroni).
    pub fn interval(self, together: usize) -> Option<(f64, f64)> {
        let (variance, freedom) = self.error?;
        let tail = WRONG / together.max(1) as f64 / 2.0;
        let half = if variance > 0.0 { student_quantile(tail, freedom)? * variance.sqrt() } else { 0.0 };
        Some((self.value - half, self.value + half))
    }
}

fn mean(all: &[(f64, f64)]) -> Option<f64> {
    let weight: f64 = all.iter().map(|(_, weight)| weight).sum();
    (weight > 0.0).then(|| all.iter().map(|(value, weight)| value * weight).sum::<f64>() / weight)
}

/// Divides the moments into this many consecutive blocks of about equal weight; returns the means of the blocks.
fn divide(all: &[(f64, f64)], count: usize) -> Vec<f64> {
    let whole: f64 = all.iter().map(|(_, weight)| weight).sum();
    let mut blocks: Vec<Vec<(f64, f64)>> = vec![Vec::new(); count];
    let mut before = 0.0;
    for (value, weight) in all {
        // The block that contains the middle of the moment.
        let at = ((before + weight / 2.0) / whole * count as f64) as usize;
        if let Some(block) = blocks.get_mut(at.min(count - 1)) {
            block.push((*value, *weight));
        }
        before += weight;
    }
    blocks.iter().filter_map(|block| mean(block)).collect()
}

/// Similarity of neighboring blocks: the autocorrelation at lag 1.
fn correlation(blocks: &[f64]) -> f64 {
    let middle = blocks.iter().sum::<f64>() / blocks.len().max(1) as f64;
    let scatter: f64 = blocks.iter().map(|block| (block - middle).powi(2)).sum();
    let together: f64 = blocks.windows(2).map(|pair| (pair[0] - middle) * (pair[1] - middle)).sum();
    if scatter > 0.0 { together / scatter } else { 0.0 }
}

/// The number of standard deviations that a normally distributed value exceeds with probability `tail`.
pub fn normal_quantile(tail: f64) -> f64 {
    -Normal::standard().inverse_cdf(tail)
}

/// The value that a t-distributed variable with this many degrees of freedom exceeds with probability `tail`.
fn student_quantile(tail: f64, freedom: f64) -> Option<f64> {
    StudentsT::new(0.0, 1.0, freedom).ok().map(|t| -t.inverse_cdf(tail))
}

/// The probability that a t-distributed variable with this many degrees of freedom exceeds `t`.
pub fn student_tail(t: f64, freedom: f64) -> f64 {
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok().filter(|_| !t.is_nan());
    distribution.map_or(1.0, |distribution| distribution.sf(t))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moments of one second each.
    fn of(values: &[f64]) -> Estimate {
        Estimate::of_moments(values.iter().map(|value| (*value, 1.0))).unwrap()
    }

    #[test]
    fn what_lasts_for_minutes_counts_as_few_samples() {
        // The same values, mixed and in two long runs: the second estimate is far less certain.
        let mixed: Vec<f64> = (0..480).map(|n| f64::from((n * 7919) % 480 / 240)).collect();
        let mut sorted = mixed.clone();
        sorted.sort_by(f64::total_cmp);
        let (mixed, sorted) = (of(&mixed), of(&sorted));
        assert_eq!(mixed.value, sorted.value);
        assert!(sorted.error.unwrap().0 > 20.0 * mixed.error.unwrap().0, "{mixed:?} {sorted:?}");
        assert_eq!(sorted.error.unwrap().1, 5.0);
    }

    #[test]
    fn few_moments_have_a_mean_and_no_interval() {
        let short = of(&[1.0; 11]);
        assert_eq!((short.value, short.error), (1.0, None));
        assert_eq!(short.minus(of(&[1.0; 100])).interval(1), None);
        let double = of(&[2.0; 12]).ln().minus(of(&[1.0; 12]).ln()).interval(1).unwrap();
        assert_eq!((double.0.exp().round(), double.1.exp().round()), (2.0, 2.0));
    }

    /// If a machine is compared with itself, hardly any interval excludes zero, even for autocorrelated results.
    #[test]
    fn a_machine_against_itself_shows_no_difference() {
        let mut state = 7u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1u32 << 31) - 0.5
        };
        let mut series = || {
            let mut at = 0.0;
            let next = |_| {
                at = 0.8 * at + random();
                10.0 + at
            };
            of(&(0..600).map(next).collect::<Vec<f64>>())
        };
        let missed = (0..400).filter(|_| {
            let (low, high) = series().minus(series()).interval(16).unwrap();
            low > 0.0 || high < 0.0
        });
        // For 16 simultaneous intervals at 95 %, one in 320 may exclude zero.
        assert!(missed.count() <= 8);
    }

    #[test]
    fn quantiles_and_tails_are_those_of_the_tables() {
        for (tail, freedom, t) in
            [(0.025, 3.0, 3.182), (0.025, 10.0, 2.228), (0.005, 5.0, 4.032), (0.001, 15.0, 3.733)]
        {
            assert!((student_quantile(tail, freedom).unwrap() / t - 1.0).abs() < 1e-3, "{tail} {freedom}");
        }
        for (tail, z) in [(0.025, 1.959_96), (0.005, 2.575_83), (0.000_5, 3.290_53)] {
            assert!((normal_quantile(tail) - z).abs() < 1e-4);
        }
        // Student's t, one-sided: NIST/SEMATECH e-Handbook 1.3.6.7.2.
        for (t, freedom, chance) in
            [(6.314, 1.0, 0.05), (2.015, 5.0, 0.05), (2.764, 10.0, 0.01), (3.090, 1e6, 0.001)]
        {
            assert!((student_tail(t, freedom) / chance - 1.0).abs() < 3e-3, "{t} {freedom}");
        }
        assert!((student_tail(-2.015, 5.0) - 0.95).abs() < 1e-3);
        assert_eq!((student_tail(f64::NAN, 5.0), student_tail(1.0, 0.0)), (1.0, 1.0));
    }
}
