//! What turning something gained, from runs before and after in turn: round by round, with an interval that holds for as many
//! comparisons as are made together.

use record::statistics::{Verdict, median_of_sorted};

/// How two values of a round are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// By the logarithm of their ratio: times, clocks.
    Ratio,
    /// By their difference: shares, counts, which may be 0.
    Difference,
}

/// What came of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// Rounds that had both values.
    pub rounds: usize,
    /// Median before.
    pub before: f64,
    /// Median after.
    pub after: f64,
    /// What is less afterwards: a share of the value before ([`Scale::Ratio`]), or as much in the figure's own unit
    /// ([`Scale::Difference`]); below 0 it is more.
    pub less_by: f64,
    /// The interval of that; absent where the rounds are too few for one.
    pub interval: Option<(f64, f64)>,
    /// The same as one of the four verdicts: what the state before costs. A share for ratios, otherwise in the figure's unit.
    pub verdict: Verdict,
}

impl Gain {
    /// Whether it is less afterwards, the whole interval on that side; `None` where no difference was resolved.
    pub fn is_less(&self) -> Option<bool> {
        let (low, high) = self.interval?;
        if low > 0.0 {
            Some(true)
        } else if high < 0.0 {
            Some(false)
        } else {
            None
        }
    }
}

/// The share of comparisons that may be wrong together.
const WRONG: f64 = 0.05;

/// Where less than this share could have been resolved, nothing was.
const TOO_NOISY: f64 = 0.25;
/// What further rounds should be able to resolve, for the number that would do.
const WORTH: f64 = 0.05;

/// The least number of rounds with an interval when so many comparisons are made together.
pub fn least_rounds(comparisons: usize) -> usize {
    (1..64).find(|rounds| rank(*rounds, comparisons).is_some()).unwrap_or(64)
}

/// Compares rounds of (before, after). Values that are not finite are left out, and those of a ratio that are not above 0.
/// `comparisons` are made together, so that each may be wrong in so much fewer cases (Bonferroni).
pub fn gain(rounds: &[(f64, f64)], scale: Scale, comparisons: usize) -> Gain {
    let usable = |value: f64| value.is_finite() && (scale == Scale::Difference || value > 0.0);
    let pairs: Vec<(f64, f64)> =
        rounds.iter().copied().filter(|(before, after)| usable(*before) && usable(*after)).collect();
    let middle = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        median_of_sorted(&values)
    };
    let mut effects: Vec<f64> = pairs
        .iter()
        .map(|(before, after)| match scale {
            Scale::Ratio => (before / after).ln(),
            Scale::Difference => before - after,
        })
        .collect();
    effects.sort_by(f64::total_cmp);
    // A share of the value before, so that "less by 60 %" is what is meant.
    let told = |effect: f64| match scale {
        Scale::Ratio => 1.0 - (-effect).exp(),
        Scale::Difference => effect,
    };
    let interval = rank(effects.len(), comparisons)
        .map(|rank| (told(effects[rank]), told(effects[effects.len() - 1 - rank])));
    let less_by = told(median_of_sorted(&effects));
    let verdict = match interval {
        None => Verdict::TooNoisy {
            rounds_needed: Some(least_rounds(comparisons).saturating_sub(effects.len()) as u64),
        },
        Some((low, high)) if low > 0.0 || high < 0.0 => {
            Verdict::Costs { share: less_by, interval: (low, high) }
        }
        Some((low, high)) => {
            let smaller_than = high.max(-low);
            if scale == Scale::Ratio && smaller_than > TOO_NOISY {
                // The interval narrows with the root of the number of rounds.
                let times = (smaller_than / WORTH).powi(2).min(1000.0);
                let more = (effects.len() as f64 * (times - 1.0)).ceil();
                Verdict::TooNoisy { rounds_needed: Some(more as u64) }
            } else {
                Verdict::NotResolved { smaller_than }
            }
        }
    };
    Gain {
        rounds: pairs.len(),
        before: middle(pairs.iter().map(|pair| pair.0).collect()),
        after: middle(pairs.iter().map(|pair| pair.1).collect()),
        less_by,
        interval,
        verdict,
    }
}

/// The largest r (from 0) such that the r-th lowest and r-th highest of n enclose the median often enough (binomial with
/// p = ½: exact, whatever the values' distribution); `None` where none does.
fn rank(n: usize, comparisons: usize) -> Option<usize> {
    let allowed = WRONG / comparisons.max(1) as f64;
    let mut tail = 0.0;
    let mut log_choose = 0.0;
    let mut found = None;
    for k in 0..n / 2 {
        tail += (log_choose - n as f64 * std::f64::consts::LN_2).exp();
        if 2.0 * tail > allowed {
            break;
        }
        found = Some(k);
        log_choose += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn more_comparisons_take_more_rounds() {
        // 2 · 2^-n ≤ 0.05 ÷ m.
        assert_eq!((least_rounds(1), least_rounds(4), least_rounds(36)), (6, 8, 11));
        assert_eq!((rank(6, 1), rank(5, 1), rank(14, 9)), (Some(0), None, Some(1)));
    }

    #[test]
    fn what_became_less_is_told_as_a_share_of_what_it_was() {
        let rounds: Vec<(f64, f64)> = (0..8).map(|n| (100.0 + f64::from(n), 40.0)).collect();
        let gain = gain(&rounds, Scale::Ratio, 4);
        assert_eq!(gain.is_less(), Some(true));
        assert!((gain.less_by - 0.614).abs() < 0.01, "{gain:?}");
        assert!(matches!(gain.verdict, Verdict::Costs { .. }));
    }

    #[test]
    fn shares_that_are_zero_are_compared_by_their_difference() {
        let rounds: Vec<(f64, f64)> = (0..10).map(|n| (0.01 * f64::from(n % 3), 0.0)).collect();
        let gain = gain(&rounds, Scale::Difference, 1);
        assert_eq!((gain.rounds, gain.after), (10, 0.0));
        assert_eq!(gain.is_less(), None, "some rounds show no difference: {gain:?}");
    }

    #[test]
    fn too_few_rounds_say_how_many_more_would_do() {
        let gain = gain(&[(2.0, 1.0); 5], Scale::Ratio, 1);
        assert_eq!((gain.interval, gain.is_less()), (None, None));
        assert_eq!(gain.verdict, Verdict::TooNoisy { rounds_needed: Some(1) });
    }

    #[test]
    fn equal_states_differ_only_as_often_as_is_allowed() {
        // A sequence that looks like chance; both sides are drawn alike.
        let mut state = 9u64;
        let mut draw = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            1.0 + (state % 1000) as f64 / 1000.0
        };
        let resolved = (0..2000)
            .filter(|_| {
                let rounds: Vec<(f64, f64)> = (0..12).map(|_| (draw(), draw())).collect();
                gain(&rounds, Scale::Ratio, 1).is_less().is_some()
            })
            .count();
        assert!(resolved <= 120, "{resolved} of 2000 at 5 %");
    }

    proptest! {
        #[test]
        fn whatever_the_values_the_interval_encloses_the_median(
            rounds in proptest::collection::vec((-1e9f64..1e9, -1e9f64..1e9), 0..60),
            comparisons in 0usize..100,
            ratio: bool,
        ) {
            let scale = if ratio { Scale::Ratio } else { Scale::Difference };
            let gain = gain(&rounds, scale, comparisons);
            if let Some((low, high)) = gain.interval {
                prop_assert!(low <= gain.less_by && gain.less_by <= high, "{gain:?}");
            }
        }
    }
}
