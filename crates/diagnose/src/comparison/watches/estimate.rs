//! The mean of a figure over a watch, and how well it is known: by blocks of moments (batch means; Schmeiser, Operations Research
//! 30, 1982: ten to thirty of them).

use record::watch::Moment;

use crate::overhead::student_quantile;

/// Blocks, the first number of which are hardly alike their neighbours; with fewer moments than two for each there is no interval.
const BLOCKS: [usize; 3] = [24, 12, 6];
/// The fewest moments with an interval.
pub(super) const FEWEST_MOMENTS: usize = 12;
/// From this correlation of neighbours on, blocks are too short.
const ALIKE: f64 = 0.3;
/// The share of cases in which one of a table's intervals may miss, and about how many rows a table has.
const WRONG: f64 = 0.05;
const ROWS: f64 = 16.0;

/// A figure of a watch.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Estimate {
    /// Its mean over all of the watch.
    pub(super) mean: f64,
    /// The variance of that, and its degrees of freedom; `None` where the watch is too short to tell.
    error: Option<(f64, f64)>,
}

/// Whether a watch has too few moments for intervals.
pub(super) fn is_short(moments: &[Moment]) -> bool {
    moments.len() < FEWEST_MOMENTS
}

impl Estimate {
    /// Of these moments; `None` where none tells the figure.
    pub(super) fn of(moments: &[Moment], of: &dyn Fn(&Moment) -> Option<(f64, f64)>) -> Option<Self> {
        let usable = |(value, weight): &(f64, f64)| value.is_finite() && weight.is_finite() && *weight > 0.0;
        let all: Vec<(f64, f64)> = moments.iter().filter_map(of).filter(usable).collect();
        let mean = mean(&all)?;
        let counts = BLOCKS.iter().filter(|count| all.len() >= 2 * **count);
        let blocks: Vec<Vec<f64>> = counts.map(|count| blocks(&all, *count)).collect();
        let apart = blocks.iter().find(|blocks| correlation(blocks) < ALIKE).or(blocks.last());
        let error = apart.filter(|blocks| blocks.len() > 1).map(|blocks| {
            let count = blocks.len() as f64;
            let middle = blocks.iter().sum::<f64>() / count;
            let scatter = blocks.iter().map(|block| (block - middle).powi(2)).sum::<f64>();
            (scatter / (count - 1.0) / count, count - 1.0)
        });
        Some(Self { mean, error })
    }

    /// The interval of this less the other.
    pub(super) fn difference_interval(&self, other: &Self) -> Option<(f64, f64)> {
        let half = half_width(self.error?, other.error?);
        let by = self.mean - other.mean;
        Some((by - half, by + half))
    }

    /// The interval of this divided by the other, on the scale of logarithms; both above 0.
    pub(super) fn ratio_interval(&self, other: &Self) -> Option<(f64, f64)> {
        let relative =
            |one: &Self| one.error.map(|(variance, freedom)| (variance / one.mean.powi(2), freedom));
        let half = half_width(relative(self)?, relative(other)?);
        let log = (self.mean / other.mean).ln();
        Some(((log - half).exp(), (log + half).exp()))
            .filter(|(low, high)| low.is_finite() && high.is_finite())
    }
}

/// Half the width of the interval of a difference of two means (Welch), which holds for a table of rows together (Bonferroni).
fn half_width((a, of_a): (f64, f64), (b, of_b): (f64, f64)) -> f64 {
    let variance = a + b;
    if variance <= 0.0 {
        return 0.0;
    }
    let freedom = variance.powi(2) / (a.powi(2) / of_a + b.powi(2) / of_b);
    student_quantile(WRONG / ROWS / 2.0, freedom.max(3.0)) * variance.sqrt()
}

fn mean(all: &[(f64, f64)]) -> Option<f64> {
    let weight: f64 = all.iter().map(|(_, weight)| weight).sum();
    (weight > 0.0).then(|| all.iter().map(|(value, weight)| value * weight).sum::<f64>() / weight)
}

/// So many blocks that follow one another, about as long: their means.
fn blocks(all: &[(f64, f64)], count: usize) -> Vec<f64> {
    let whole: f64 = all.iter().map(|(_, weight)| weight).sum();
    let mut blocks: Vec<Vec<(f64, f64)>> = vec![Vec::new(); count];
    let mut before = 0.0;
    for (value, weight) in all {
        // Where its middle lies.
        let at = ((before + weight / 2.0) / whole * count as f64) as usize;
        if let Some(block) = blocks.get_mut(at.min(count - 1)) {
            block.push((*value, *weight));
        }
        before += weight;
    }
    blocks.iter().filter_map(|block| mean(block)).collect()
}

/// How much blocks are like their neighbours: the correlation at a distance of one.
fn correlation(blocks: &[f64]) -> f64 {
    let middle = blocks.iter().sum::<f64>() / blocks.len().max(1) as f64;
    let scatter: f64 = blocks.iter().map(|block| (block - middle).powi(2)).sum();
    let together: f64 = blocks.windows(2).map(|pair| (pair[0] - middle) * (pair[1] - middle)).sum();
    if scatter > 0.0 { together / scatter } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::live::Interval;

    /// Moments of a second whose figure stands in the queue.
    fn of(values: &[f64]) -> Estimate {
        let moments: Vec<Moment> = values
            .iter()
            .map(|value| Moment {
                interval: Interval { seconds: 1.0, runnable: Some(*value), ..Interval::default() },
                ..Moment::default()
            })
            .collect();
        Estimate::of(&moments, &|moment| Some((moment.interval.runnable?, moment.interval.seconds))).unwrap()
    }

    #[test]
    fn what_lasts_for_minutes_counts_as_few_samples() {
        // The same values, mixed and in two long stretches: the second is known far worse.
        let mixed: Vec<f64> = (0..480).map(|n| f64::from((n * 7919) % 480 / 240)).collect();
        let mut sorted = mixed.clone();
        sorted.sort_by(f64::total_cmp);
        let (mixed, sorted) = (of(&mixed), of(&sorted));
        assert_eq!(mixed.mean, sorted.mean);
        assert!(sorted.error.unwrap().0 > 20.0 * mixed.error.unwrap().0, "{mixed:?} {sorted:?}");
        assert_eq!(sorted.error.unwrap().1, 5.0);
    }

    #[test]
    fn a_short_watch_has_a_mean_and_no_interval() {
        let short = of(&[1.0; 11]);
        assert_eq!((short.mean, short.error), (1.0, None));
        assert_eq!(short.difference_interval(&of(&[1.0; 100])), None);
        assert_eq!(
            of(&[2.0; 12]).ratio_interval(&of(&[1.0; 12])).map(|(low, high)| (low.round(), high.round())),
            Some((2.0, 2.0))
        );
    }

    /// Of a machine against itself hardly any interval leaves out no difference: of autocorrelated figures, too.
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
            let (low, high) = series().difference_interval(&series()).unwrap();
            low > 0.0 || high < 0.0
        });
        // One in 320 is what they promise.
        assert!(missed.count() <= 8);
    }
}
