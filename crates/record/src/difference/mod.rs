//! Determines whether one result is slower than another, and by how much. Samples, whether paired or not, and the noise
//! floor lead to a [`Verdict`].
//!
//! All comparisons use this module. Rounds of (before, after) are compared using the exact interval of the median of their effects
//! ([`compare_pairs`]). If the sum of the times matters, their totals are compared ([`compare_totals`]). Results of two records are
//! compared using the ratio of their medians ([`judge_ratio`], with [`resample_ratio`] for its interval), and averages over time using
//! blocks ([`Estimate`]). No method draws random numbers: the same samples always yield the same verdict.

mod estimate;
mod medians;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::statistics::{interval_rank, median_of_sorted};

use crate::JsonSchema;
pub use crate::statistics::WRONG;
use crate::text::Text;

pub use estimate::{Estimate, normal_quantile, student_tail};
pub use medians::{LEAST_SAMPLES, join_ratio, resample_ratio};

/// The smallest difference worth reporting, as a share: runs on an idle machine may differ by up to this share.
pub const WORTH_TELLING: f64 = 0.01;
/// A large difference, as a share; smaller differences hardly affect decisions.
pub const MUCH: f64 = 0.05;
/// If the interval does not exclude a difference of this multiple of [`MUCH`], noise may hide relevant differences.
const HIDDEN: f64 = 2.0;
/// The smallest difference in events worth reporting.
const EVENTS: f64 = 1.0;
/// Maximum number of rounds: more would take too long.
const MOST_ROUNDS: usize = 10_000;
/// Slices per block: a burst of other work affects several consecutive slices.
const BLOCK: usize = 4;

/// The verdict on a difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// A loss of speed by this share, with the interval of the share.
    Costs {
        /// Share lost (0.1 is 10 %).
        share: f64,
        /// 95 % CI of the share.
        interval: (f64, f64),
    },
    /// No difference was resolved. If there is a difference, it is smaller than this share.
    NotResolved {
        /// The largest difference that is consistent with the results, as a share.
        smaller_than: f64,
    },
    /// Too noisy for a verdict.
    TooNoisy {
        /// The number of additional rounds needed, if it can be estimated.
        rounds_needed: Option<u64>,
    },
    /// Not measurable here.
    NotMeasurable {
        /// Why.
        reason: Text,
    },
}

impl Verdict {
    /// Whether a difference is resolved.
    pub fn is_resolved(&self) -> bool {
        matches!(self, Verdict::Costs { .. })
    }

    /// The verdict with the two states exchanged, as a share of the new reference: a negative cost of one state becomes the cost of the
    /// other state.
    fn exchanged(self) -> Self {
        let other = |share: f64| 1.0 - 1.0 / (1.0 - share);
        match self {
            Verdict::Costs { share, interval: (low, high) } => {
                Verdict::Costs { share: other(share), interval: (other(high), other(low)) }
            }
            verdict => verdict,
        }
    }

    /// For the verdict on two times (before, after), returns the share of speed lost in the slower state, and whether
    /// the slower state is the one after the change (`None` if no difference is resolved).
    pub fn of_slower(self) -> (Self, Option<bool>) {
        match self {
            Verdict::Costs { share, .. } if share < 0.0 => (self.exchanged(), Some(true)),
            Verdict::Costs { .. } => (self, Some(false)),
            verdict => (verdict, None),
        }
    }
}

/// How the two values of a round are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// By the logarithm of the values' ratio, for times and clocks.
    Ratio,
    /// By the values' difference in the result's own unit, for shares, which may be 0.
    Difference {
        /// The difference worth reporting.
        worth: f64,
    },
    /// By the values' difference, for whole numbers of events, which may be 0.
    Count,
}

/// The outcome of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Number of rounds that had both values.
    pub rounds: usize,
    /// The median before.
    pub before: f64,
    /// The median after.
    pub after: f64,
    /// The decrease, as a share of the value before (for ratios) or in the result's own unit; negative for an increase.
    pub less_by: f64,
    /// The interval of the decrease; absent if there are too few rounds.
    pub interval: Option<(f64, f64)>,
    /// The noise floor in the unit of `less_by`, that is, the difference that was measured between a state and itself;
    /// absent if unknown.
    pub floor: Option<f64>,
    /// The verdict on the difference, as the cost of the state before the change: a share for ratios, otherwise an
    /// amount in the result's unit.
    pub verdict: Verdict,
}

impl Difference {
    /// Whether the value is lower afterwards; `None` if no difference was resolved.
    pub fn is_less(&self) -> Option<bool> {
        self.verdict.is_resolved().then_some(self.less_by > 0.0)
    }

    /// The outcome as an increase, for cases in which the state after the change has the cost: the signs of `less_by`
    /// and of the verdict change.
    pub fn as_more(mut self) -> Self {
        let negated = |(low, high): (f64, f64)| (-high, -low);
        self.less_by = -self.less_by;
        self.interval = self.interval.map(negated);
        if let Verdict::Costs { share, interval } = &mut self.verdict {
            (*share, *interval) = (-*share, negated(*interval));
        }
        self
    }

    /// The outcome of comparing a state with itself: the difference is the noise floor, and nothing is resolved, since nothing changed.
    pub fn as_floor(mut self) -> Self {
        self.floor = self.interval.map(|(low, high)| high.abs().max(low.abs()));
        if let (true, Some(smaller_than)) = (self.verdict.is_resolved(), self.floor) {
            self.verdict = Verdict::NotResolved { smaller_than };
        }
        self
    }
}

/// The decrease from before to after, with its interval; ratios are stored as logarithms.
struct Effect {
    at: f64,
    interval: Option<(f64, f64)>,
    is_ratio: bool,
}

impl Effect {
    /// The effect as a share of the value before, so that "less by 60 %" is literally true.
    fn report(&self, effect: f64) -> f64 {
        if self.is_ratio { 1.0 - (-effect).exp() } else { effect }
    }

    fn report_interval(&self) -> Option<(f64, f64)> {
        self.interval.map(|(low, high)| (self.report(low), self.report(high)))
    }

    /// The verdict: the difference is resolved if the entire interval is beyond `min` and the effect exceeds the floor.
    /// `worth` is a large difference, `more` the number of additional samples needed to resolve it.
    fn judge(&self, worth: f64, min: f64, floor: Option<f64>, more: impl FnOnce() -> Option<u64>) -> Verdict {
        let Some((low, high)) = self.interval else { return Verdict::TooNoisy { rounds_needed: more() } };
        let is_clear = low > min || high < -min;
        let share = self.report(self.at);
        if is_clear && floor.is_none_or(|floor| share.abs() > floor) {
            return Verdict::Costs { share, interval: (self.report(low), self.report(high)) };
        }
        let reach = self.report(low.abs().max(high.abs()).max(min));
        let smaller_than = reach.max(floor.unwrap_or(0.0));
        if smaller_than <= HIDDEN * worth {
            return Verdict::NotResolved { smaller_than };
        }
        // Additional rounds do not lower the floor.
        Verdict::TooNoisy { rounds_needed: (!is_clear).then(more).flatten() }
    }
}

/// The minimum number of rounds that yields an interval if this many comparisons are made simultaneously.
pub fn least_rounds(comparisons: usize) -> usize {
    (1..64).find(|rounds| interval_rank(*rounds, comparisons).is_some()).unwrap_or(64)
}

/// Compares rounds of (before, after). Rounds with values that are not finite are left out; for ratios, also rounds with values that are
/// not above 0. `tests` is the number of simultaneous comparisons, over all results: the allowed error of each interval is reduced
/// accordingly (Bonferroni). `floor` is the noise floor, that is, the difference measured between a state and itself
/// ([`Difference::as_floor`]): no smaller difference is resolved.
pub fn compare_pairs(rounds: &[(f64, f64)], scale: Scale, tests: usize, floor: Option<f64>) -> Difference {
    let is_ratio = scale == Scale::Ratio;
    let usable = |value: f64| value.is_finite() && (!is_ratio || value > 0.0);
    let pairs: Vec<(f64, f64)> =
        rounds.iter().copied().filter(|(before, after)| usable(*before) && usable(*after)).collect();
    let sorted = |of: &dyn Fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = pairs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let effects = sorted(&|(before, after)| if is_ratio { (before / after).ln() } else { before - after });
    let [before, after] = [sorted(&|pair| pair.0), sorted(&|pair| pair.1)].map(|all| median_of_sorted(&all));
    let worth = match scale {
        Scale::Ratio => MUCH,
        Scale::Difference { worth } => worth,
        Scale::Count => (before * MUCH).max(EVENTS),
    };
    let interval = sign_interval(&effects, tests);
    let effect = Effect { at: median_of_sorted(&effects), interval, is_ratio };
    let verdict = effect.judge(worth, 0.0, floor, || more_rounds(&effect, &effects, worth, tests));
    Difference {
        rounds: pairs.len(),
        before,
        after,
        less_by: effect.report(effect.at),
        interval: effect.report_interval(),
        floor,
        verdict,
    }
}

/// The interval of the median of effects in ascending order, from order statistics.
fn sign_interval(effects: &[f64], comparisons: usize) -> Option<(f64, f64)> {
    let rank = interval_rank(effects.len(), comparisons)?;
    Some((*effects.get(rank)?, *effects.get(effects.len() - 1 - rank)?))
}

/// The approximate number of additional rounds needed to resolve a difference of `worth` at the same scatter: each of
/// the existing values is assumed to represent the same number of later values. `None` if the rounds would take too
/// long.
fn more_rounds(effect: &Effect, effects: &[f64], worth: f64, comparisons: usize) -> Option<u64> {
    let mut rounds = effects.len().max(least_rounds(comparisons) - 1);
    while rounds < MOST_ROUNDS {
        // At first, the number of rounds grows by one at a time, because there may be too few rounds for an interval.
        rounds = (rounds + (rounds / 16).max(1)).min(MOST_ROUNDS);
        let more = (rounds - effects.len()) as u64;
        if effect.interval.is_none() {
            return Some(more);
        }
        let rank = interval_rank(rounds, comparisons)?;
        let (low, high) = (stretched(effects, rank, rounds), stretched(effects, rounds - 1 - rank, rounds));
        if low > 0.0 || high < 0.0 || effect.report(low.abs().max(high.abs())) <= worth {
            return Some(more);
        }
    }
    None
}

/// The estimated value at this index among `count` ascending values with the same scatter as `sorted`.
fn stretched(sorted: &[f64], index: usize, count: usize) -> f64 {
    let at = |index: usize| sorted.get(index).or(sorted.last()).copied().unwrap_or(0.0);
    let place = ((index as f64 + 0.5) / count as f64 * sorted.len() as f64 - 0.5).max(0.0);
    let below = place.floor();
    at(below as usize) + (place - below) * (at(below as usize + 1) - at(below as usize))
}

/// The product of the totals of all series in `before`, divided by the product of the totals of all series in `after`. A total covers only
/// the rounds that all series completed. Totals include bursts, which a median does not show.
///
/// The logarithm of the ratio is a sum of logarithms of totals. A block's contribution to the error is therefore the
/// sum of its slices' deviations, each relative to the mean of its series. The interval follows from the blocks'
/// scatter and Student's t (Fieller, to first order).
pub fn compare_totals(before: &[&[f64]], after: &[&[f64]], tests: usize, floor: Option<f64>) -> Difference {
    let all = || before.iter().map(|one| (1.0, *one)).chain(after.iter().map(|one| (-1.0, *one)));
    let turns = all().map(|(_, portions)| portions.len()).min().unwrap_or(0);
    let usable = |at: &usize| all().all(|(_, portions)| portions[*at] > 0.0 && portions[*at].is_finite());
    let used: Vec<usize> = (0..turns).filter(usable).collect();
    let count = used.len() as f64;
    let means: Vec<(f64, f64, &[f64])> = all()
        .map(|(sign, portions)| (sign, used.iter().map(|turn| portions[*turn] / count).sum(), portions))
        .collect();
    let log = means.iter().map(|(sign, mean, _)| sign * mean.ln()).sum();
    let part = |turn: &usize| means.iter().map(|(sign, mean, parts)| sign * parts[*turn] / mean).sum::<f64>();
    let blocks = used.chunks(BLOCK);
    // If the last block is shorter, its weight is proportionally lower.
    let weight = blocks.len() as f64 / count;
    let blocks: Vec<f64> = blocks.map(|block| weight * block.iter().map(part).sum::<f64>()).collect();
    let interval = Estimate::of_blocks(log, &blocks).interval(tests);
    let interval = interval.filter(|(low, high)| low.is_finite() && high.is_finite());
    let effect = Effect { at: log, interval, is_ratio: true };
    let verdict = effect.judge(MUCH, 0.0, floor, || match interval {
        None => (2 * BLOCK).checked_sub(used.len()).map(|more| more as u64),
        Some((low, high)) => more_samples((high - low) / 2.0, used.len() as u64),
    });
    let product = |sign: f64| means.iter().filter(|one| one.0 == sign).map(|one| one.1).product();
    Difference {
        rounds: used.len(),
        before: product(1.0),
        after: product(-1.0),
        less_by: effect.report(log),
        interval: effect.report_interval(),
        floor,
        verdict,
    }
}

/// Judges the ratio of two times from records without a known noise floor: a difference is resolved only if the entire
/// interval of the ratio is beyond [`WORTH_TELLING`]. `samples` is the number of samples on the side that has fewer.
pub fn judge_ratio(ratio: f64, interval: (f64, f64), samples: u64) -> Verdict {
    let (low, high) = (-interval.1.ln(), -interval.0.ln());
    let effect = Effect { at: -ratio.ln(), interval: Some((low, high)), is_ratio: true };
    effect.judge(MUCH, WORTH_TELLING.ln_1p(), None, || more_samples(low.abs().max(high.abs()), samples))
}

/// The number of additional samples needed to narrow an interval of this width to [`MUCH`]: the width is inversely
/// proportional to the square root of the number of samples.
fn more_samples(reach: f64, samples: u64) -> Option<u64> {
    let more = samples as f64 * ((reach / MUCH).powi(2) - 1.0);
    (1.0..=MOST_ROUNDS as f64).contains(&more).then_some(more.ceil() as u64)
}
