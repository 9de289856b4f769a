//! What turning something gained, from runs before and after in turn: round by round, with an interval that holds for as many
//! comparisons as are made together.

use crate::statistics::{MAD_SCALE, Verdict, WRONG, interval_rank, median_of_sorted};

/// How two values of a round are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// By the logarithm of their ratio: times, clocks.
    Ratio,
    /// By their difference, in the figure's own unit: shares, which may be 0.
    Difference {
        /// The difference that is worth knowing.
        worth: f64,
    },
    /// By their difference: whole numbers of events, which may be 0.
    Count,
}

/// What came of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct PairedComparison {
    /// Rounds that had both values.
    pub rounds: usize,
    /// Median before.
    pub before: f64,
    /// Median after.
    pub after: f64,
    /// What is less afterwards: a share of the value before ([`Scale::Ratio`]), or as much in the figure's own unit;
    /// below 0 it is more.
    pub less_by: f64,
    /// The interval of that; absent where the rounds are too few for one.
    pub interval: Option<(f64, f64)>,
    /// How much a state differed from itself, in the same terms; absent where that is not known.
    pub floor: Option<f64>,
    /// The same as one of the four verdicts: what the state before costs. A share for ratios, otherwise in the figure's unit.
    pub verdict: Verdict,
}

impl PairedComparison {
    /// Whether it is less afterwards; `None` where no difference was resolved.
    pub fn is_less(&self) -> Option<bool> {
        match &self.verdict {
            Verdict::Costs { share, .. } => Some(*share > 0.0),
            _ => None,
        }
    }

    /// As the comparison of a state with itself: how far the two differed is the floor, and nothing was resolved, because
    /// nothing was changed.
    pub fn as_floor(mut self) -> Self {
        self.floor = self.bound();
        if let (Verdict::Costs { .. }, Some(bound)) = (&self.verdict, self.bound()) {
            self.verdict = Verdict::NotResolved { smaller_than: bound };
        }
        self
    }

    /// The end of the interval that is farther from no difference.
    fn bound(&self) -> Option<f64> {
        self.interval.map(|(low, high)| high.abs().max(low.abs()))
    }
}

/// A ratio that is worth knowing. Where not even five times as much could have been resolved, it is too noisy to tell.
const WORTH: f64 = 0.05;
const TOO_NOISY: f64 = 5.0;
/// The fewest events that are worth knowing.
const EVENTS: f64 = 1.0;
/// Nobody waits for more rounds than that.
const MOST_ROUNDS: f64 = 10_000.0;

/// The least number of rounds with an interval when so many comparisons are made together.
pub fn least_rounds(comparisons: usize) -> usize {
    (1..64).find(|rounds| interval_rank(*rounds, comparisons).is_some()).unwrap_or(64)
}

/// Compares rounds of (before, after). Values that are not finite are left out, and those of a ratio that are not above 0.
/// `comparisons` are made together, all figures counted, so that each may be wrong in so much fewer cases (Bonferroni).
/// `floor` is how much a state differs from itself ([`PairedComparison::as_floor`]): no smaller difference is resolved.
pub fn compare_pairs(
    rounds: &[(f64, f64)],
    scale: Scale,
    comparisons: usize,
    floor: Option<f64>,
) -> PairedComparison {
    let usable = |value: f64| value.is_finite() && (scale != Scale::Ratio || value > 0.0);
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
            Scale::Difference { .. } | Scale::Count => before - after,
        })
        .collect();
    effects.sort_by(f64::total_cmp);
    // A share of the value before, so that "less by 60 %" is what is meant.
    let reported = |effect: f64| match scale {
        Scale::Ratio => 1.0 - (-effect).exp(),
        Scale::Difference { .. } | Scale::Count => effect,
    };
    let interval = interval_rank(effects.len(), comparisons)
        .map(|rank| (reported(effects[rank]), reported(effects[effects.len() - 1 - rank])));
    let before = middle(pairs.iter().map(|pair| pair.0).collect());
    let worth = match scale {
        Scale::Ratio => WORTH,
        Scale::Difference { worth } => worth,
        Scale::Count => (before * WORTH).max(EVENTS),
    };
    let less_by = reported(median_of_sorted(&effects));
    let verdict = match interval {
        None => Verdict::TooNoisy {
            rounds_needed: Some(least_rounds(comparisons).saturating_sub(effects.len()) as u64),
        },
        Some(interval @ (low, high))
            if (low > 0.0 || high < 0.0) && floor.is_none_or(|floor| less_by.abs() > floor) =>
        {
            Verdict::Costs { share: less_by, interval }
        }
        Some((low, high)) => {
            let smaller_than = high.abs().max(low.abs());
            if smaller_than > worth * TOO_NOISY {
                Verdict::TooNoisy { rounds_needed: more_rounds(&effects, worth, comparisons) }
            } else {
                Verdict::NotResolved { smaller_than }
            }
        }
    };
    PairedComparison {
        rounds: pairs.len(),
        before,
        after: middle(pairs.iter().map(|pair| pair.1).collect()),
        less_by,
        interval,
        floor,
        verdict,
    }
}

/// About how many more rounds would show a difference of `worth`: half the interval of the median of effects that scatter as
/// these do (by their median absolute deviation) is z · √(π/2) · σ ÷ √n. `None` where that is more than anybody waits for, or
/// more than half of the effects are equal.
fn more_rounds(effects: &[f64], worth: f64, comparisons: usize) -> Option<u64> {
    let middle = median_of_sorted(effects);
    let mut deviations: Vec<f64> = effects.iter().map(|effect| (effect - middle).abs()).collect();
    deviations.sort_by(f64::total_cmp);
    let sigma = median_of_sorted(&deviations) * MAD_SCALE;
    let z = normal_quantile(WRONG / comparisons.max(1) as f64 / 2.0);
    let rounds = (z * std::f64::consts::FRAC_PI_2.sqrt() * sigma / worth).powi(2).ceil();
    let more = (rounds - effects.len() as f64).max(1.0);
    (sigma > 0.0 && more <= MOST_ROUNDS).then_some(more as u64)
}

/// How many standard deviations a normal value exceeds with the probability `tail`, for tails below a half: Abramowitz and
/// Stegun 26.2.23, wrong by less than 0.0005.
pub fn normal_quantile(tail: f64) -> f64 {
    let t = (-2.0 * tail.ln()).sqrt();
    t - (2.515_517 + 0.802_853 * t + 0.010_328 * t * t)
        / (1.0 + 1.432_788 * t + 0.189_269 * t * t + 0.001_308 * t * t * t)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SHARE: Scale = Scale::Difference { worth: 0.01 };

    #[test]
    fn more_comparisons_take_more_rounds() {
        // 2 · 2^-n ≤ 0.05 ÷ m.
        assert_eq!((least_rounds(1), least_rounds(4), least_rounds(36)), (6, 8, 11));
        assert_eq!(
            (interval_rank(6, 1), interval_rank(5, 1), interval_rank(14, 9)),
            (Some(0), None, Some(1))
        );
    }

    #[test]
    fn what_became_less_is_reported_as_a_share_of_what_it_was() {
        let rounds: Vec<(f64, f64)> = (0..8).map(|n| (100.0 + f64::from(n), 40.0)).collect();
        let gain = compare_pairs(&rounds, Scale::Ratio, 4, Some(0.1));
        assert_eq!(gain.is_less(), Some(true));
        assert!((gain.less_by - 0.614).abs() < 0.01, "{gain:?}");
        assert!(matches!(gain.verdict, Verdict::Costs { .. }));
    }

    #[test]
    fn shares_that_are_zero_are_compared_by_their_difference() {
        let rounds: Vec<(f64, f64)> = (0..10).map(|n| (0.01 * f64::from(n % 3), 0.0)).collect();
        let gain = compare_pairs(&rounds, SHARE, 1, None);
        assert_eq!((gain.rounds, gain.after), (10, 0.0));
        assert_eq!(gain.is_less(), None, "some rounds show no difference: {gain:?}");
    }

    #[test]
    fn too_few_rounds_say_how_many_more_would_do() {
        let gain = compare_pairs(&[(2.0, 1.0); 5], Scale::Ratio, 1, None);
        assert_eq!((gain.interval, gain.is_less()), (None, None));
        assert_eq!(gain.verdict, Verdict::TooNoisy { rounds_needed: Some(1) });
    }

    #[test]
    fn a_difference_inside_the_floor_is_not_resolved() {
        let rounds = [(1.0, 0.9); 8];
        assert_eq!(compare_pairs(&rounds, Scale::Ratio, 1, None).is_less(), Some(true));
        let within = compare_pairs(&rounds, Scale::Ratio, 1, Some(0.15));
        assert!(matches!(within.verdict, Verdict::NotResolved { smaller_than } if smaller_than < 0.11));
        assert_eq!((within.floor, within.is_less()), (Some(0.15), None));
        assert_eq!(compare_pairs(&rounds, Scale::Ratio, 1, Some(0.05)).is_less(), Some(true));
    }

    #[test]
    fn a_state_compared_with_itself_is_the_floor_whatever_chance_made_of_it() {
        let same = compare_pairs(&[(1.0, 0.9); 8], Scale::Ratio, 1, None).as_floor();
        assert!(matches!(same.verdict, Verdict::NotResolved { .. }), "{same:?}");
        assert!((same.floor.unwrap() - 0.1).abs() < 1e-9);
        let few = compare_pairs(&[(1.0, 0.9); 3], Scale::Ratio, 1, None).as_floor();
        assert_eq!(few.floor, None);
    }

    #[test]
    fn a_bound_that_says_nothing_is_too_noisy_with_the_rounds_that_would_do() {
        let wild = |n: u32| {
            (0..n).map(|n| if n.is_multiple_of(2) { (0.0, 0.3) } else { (0.28, 0.0) }).collect::<Vec<_>>()
        };
        let verdict = |rounds: &[(f64, f64)], scale| compare_pairs(rounds, scale, 1, None).verdict;
        // 43 points scatter, and 1 is worth knowing: nobody waits for that many.
        assert_eq!(verdict(&wild(12), SHARE), Verdict::TooNoisy { rounds_needed: None });
        let switches: Vec<(f64, f64)> =
            (0..12).map(|n| (336.0 + f64::from(n % 2) * 300.0, 336.0 + f64::from(n % 3) * 89.0)).collect();
        assert!(
            matches!(verdict(&switches, Scale::Count), Verdict::TooNoisy { rounds_needed: Some(50..2000) }),
            "{:?}",
            verdict(&switches, Scale::Count)
        );
        assert_eq!(
            verdict(&[(0.0, 1.0), (1.0, 0.0)].repeat(6), Scale::Count),
            Verdict::NotResolved { smaller_than: 1.0 }
        );
        // Tails of the normal distribution, from any table.
        for (tail, z) in [(0.025, 1.959_96), (0.005, 2.575_83), (0.000_5, 3.290_53)] {
            assert!((normal_quantile(tail) - z).abs() < 5e-4);
        }
    }

    /// A sequence that looks like chance (xorshift64*).
    struct Chance(u64);

    impl Chance {
        fn of(seed: u64) -> Self {
            Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
        }

        /// Even between 0 and 1, neither of them.
        fn even(&mut self) -> f64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        }

        /// What a machine does to a time: mostly little, now and then much, and slowly drifting.
        fn time(&mut self, drift: &mut f64) -> f64 {
            *drift = 0.95 * *drift + 0.1 * (self.even() - 0.5);
            let burst = if self.even() < 0.1 { self.even().powf(-0.8) - 1.0 } else { 0.0 };
            drift.exp() * (1.0 + 0.05 * self.even() + burst)
        }
    }

    /// One proof: causes of which each is compared in some figures, the state with itself first. How many differences were
    /// resolved. `effect` is what each cause takes, a share.
    fn proof(seed: u64, causes: usize, figures: usize, rounds: usize, effect: f64) -> usize {
        let mut chance = Chance::of(seed);
        let mut drift = 0.0;
        let comparisons = causes * figures;
        let mut floors = vec![None; figures];
        let mut resolved = 0;
        for cause in 0..=causes {
            for (figure, floor) in floors.iter_mut().enumerate() {
                let scale = if figure.is_multiple_of(2) { Scale::Ratio } else { SHARE };
                let pairs: Vec<(f64, f64)> = (0..rounds)
                    .map(|round| {
                        let first = chance.time(&mut drift);
                        // Whoever comes second finds the caches warm.
                        let second = 0.97 * chance.time(&mut drift);
                        let (before, after) =
                            if round.is_multiple_of(2) { (first, second) } else { (second, first) };
                        (before, if cause == 0 { after } else { after * (1.0 - effect) })
                    })
                    .collect();
                let gain = compare_pairs(&pairs, scale, comparisons, *floor);
                if cause == 0 {
                    *floor = gain.as_floor().floor;
                } else {
                    resolved += usize::from(gain.is_less().is_some());
                }
            }
        }
        resolved
    }

    #[test]
    fn where_nothing_changed_proofs_resolve_something_no_more_often_than_is_allowed() {
        for (causes, figures, rounds) in [(1, 1, 6), (3, 5, 14), (12, 5, 16)] {
            assert!(rounds >= least_rounds(causes * figures));
            let wrong = (0..1000).filter(|seed| proof(*seed, causes, figures, rounds, 0.0) > 0).count();
            assert!(wrong <= 50, "{wrong} of 1000 at 5 %, {causes} causes, {figures} figures");
        }
    }

    #[test]
    fn the_level_holds_without_a_floor_too() {
        for comparisons in [1usize, 5, 20] {
            let rounds = least_rounds(comparisons) + 4;
            let wrong = (0..1000u64)
                .filter(|seed| {
                    let (mut chance, mut drift) = (Chance::of(*seed), 0.0);
                    (0..comparisons).any(|_| {
                        let mut draw = || (chance.time(&mut drift), chance.time(&mut drift));
                        let pairs: Vec<(f64, f64)> = (0..rounds).map(|_| draw()).collect();
                        compare_pairs(&pairs, Scale::Ratio, comparisons, None).is_less().is_some()
                    })
                })
                .count();
            // Three standard deviations of the binomial above 50.
            assert!(wrong <= 70, "{wrong} of 1000 at 5 %, {comparisons} comparisons");
        }
    }

    #[test]
    fn what_is_well_above_the_floor_is_resolved() {
        let found: usize = (0..100).map(|seed| proof(seed, 3, 1, 40, 0.5)).sum();
        assert!(found >= 290, "{found} of 300");
    }

    proptest! {
        #[test]
        fn whatever_the_values_the_interval_encloses_the_median(
            rounds in proptest::collection::vec((-1e9f64..1e9, -1e9f64..1e9), 0..60),
            comparisons in 0usize..100,
            scale in prop_oneof![Just(Scale::Ratio), Just(SHARE), Just(Scale::Count)],
            floor in proptest::option::of(0.0f64..1.0),
        ) {
            let gain = compare_pairs(&rounds, scale, comparisons, floor);
            if let Some((low, high)) = gain.interval {
                prop_assert!(low <= gain.less_by && gain.less_by <= high, "{gain:?}");
            }
            if let (Some(_), Some(floor)) = (gain.is_less(), gain.floor) {
                prop_assert!(gain.less_by.abs() > floor);
            }
            prop_assert!(gain.as_floor().is_less().is_none());
        }
    }
}
