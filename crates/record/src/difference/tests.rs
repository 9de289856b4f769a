use proptest::prelude::*;

use super::*;

const SHARE: Scale = Scale::Difference { worth: 0.01 };

#[test]
fn more_comparisons_take_more_rounds() {
    // 2 · 2^-n ≤ 0.05 ÷ m.
    assert_eq!((least_rounds(1), least_rounds(4), least_rounds(36)), (6, 8, 11));
    assert_eq!((interval_rank(6, 1), interval_rank(5, 1), interval_rank(14, 9)), (Some(0), None, Some(1)));
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
    let rounds = [(1.0, 0.95); 8];
    let within = compare_pairs(&rounds, Scale::Ratio, 1, Some(0.08));
    assert_eq!(within.verdict, Verdict::NotResolved { smaller_than: 0.08 });
    assert_eq!((within.floor, within.is_less()), (Some(0.08), None));
    assert_eq!(compare_pairs(&rounds, Scale::Ratio, 1, Some(0.04)).is_less(), Some(true));
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
    // The scatter is 43 points, and a difference of 1 is relevant: this would require too many rounds.
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
}

/// A pseudo-random sequence (xorshift64*).
struct Chance(u64);

impl Chance {
    fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Uniform between 0 and 1, both excluded.
    fn even(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// A synthetic time with small noise, occasional large delays, and slow drift.
    fn time(&mut self, drift: &mut f64) -> f64 {
        *drift = 0.95 * *drift + 0.1 * (self.even() - 0.5);
        let burst = if self.even() < 0.1 { self.even().powf(-0.8) - 1.0 } else { 0.0 };
        drift.exp() * (1.0 + 0.05 * self.even() + burst)
    }
}

/// Simulates one proof: compares the unchanged state with itself, then each cause, by this number of results each. Returns
/// the number of resolved differences. `effect` is the cost of each cause, as a share.
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
                    // The second run finds warm caches.
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

/// The number of simulated proofs: fewer unless LINESPEED_TEST_EVERYTHING is set.
fn proofs() -> u64 {
    let everything = std::env::var_os("LINESPEED_TEST_EVERYTHING").is_some_and(|value| !value.is_empty());
    if everything { 1000 } else { 300 }
}

#[test]
fn where_nothing_changed_proofs_resolve_something_no_more_often_than_is_allowed() {
    for (causes, figures, rounds) in [(1, 1, 6), (3, 5, 14), (12, 5, 16)] {
        assert!(rounds >= least_rounds(causes * figures));
        let proofs = proofs();
        let wrong = (0..proofs).filter(|seed| proof(*seed, causes, figures, rounds, 0.0) > 0).count() as u64;
        assert!(wrong <= proofs / 20, "{wrong} of {proofs} at 5 %, {causes} causes, {figures} figures");
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
        // 50 are expected; 70 is three standard deviations of the binomial distribution above this.
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

/// Slices that scatter by up to 1 % and occasionally take twice as long.
fn portions(seed: u64, count: usize, bursts: bool) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut chance = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let one = |_| (1.0 + 0.01 * chance()) * if bursts && chance() < 0.2 { 2.0 } else { 1.0 };
    (0..count).map(one).collect()
}

#[test]
fn bursts_that_no_median_sees_are_in_the_total() {
    let (calm, disturbed) = (portions(1, 160, false), portions(2, 160, true));
    let found = compare_totals(&[&calm], &[&disturbed], 1, None);
    assert!((-0.3..-0.1).contains(&found.less_by) && found.is_less() == Some(false), "{found:?}");
    let total = |portions: &[f64]| portions.iter().sum::<f64>();
    assert!((found.less_by - (1.0 - total(&disturbed) / total(&calm))).abs() < 1e-9);
    let back = compare_totals(&[&disturbed], &[&calm], 1, None);
    assert!(((1.0 - back.less_by) * (1.0 - found.less_by) - 1.0).abs() < 1e-9);
    let (loss, slower) = found.verdict.of_slower();
    assert_eq!(slower, Some(true));
    assert!(
        matches!(loss, Verdict::Costs { share, .. } if (share - back.less_by).abs() < 1e-9),
        "{loss:?} {back:?}"
    );
}

#[test]
fn intervals_miss_as_seldom_as_they_say() {
    let missed = (0..400).filter(|seed| {
        let (one, other) = (portions(*seed, 96, true), portions(seed + 1000, 96, true));
        compare_totals(&[&one], &[&other], 1, None).is_less().is_some()
    });
    let missed = missed.count();
    // 5 % of 400, plus three standard deviations of the binomial distribution.
    assert!(missed <= 33, "{missed}");
}

#[test]
fn nothing_inside_the_floor_is_resolved_or_called_smaller_than_it() {
    let (calm, slower) =
        (portions(1, 96, false), portions(2, 96, false).iter().map(|p| p * 1.03).collect::<Vec<_>>());
    let with = |floor| compare_totals(&[&slower], &[&calm], 1, floor).verdict;
    assert!(with(None).is_resolved());
    assert_eq!(with(Some(0.06)), Verdict::NotResolved { smaller_than: 0.06 });
    // More rounds do not make a machine quieter.
    assert_eq!(with(Some(0.4)), Verdict::TooNoisy { rounds_needed: None });
}

#[test]
fn too_few_turns_and_figures_that_are_none_say_nothing() {
    let few = compare_totals(&[&[1.0; 3]], &[&[2.0; 3]], 1, None);
    assert_eq!(few.verdict, Verdict::TooNoisy { rounds_needed: Some(5) });
    for odd in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
        let with = [odd, odd, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(compare_totals(&[&with], &[&[1.0; 8]], 1, None).rounds, 6);
    }
    let vast = compare_totals(&[&[f64::MAX; 16]], &[&[f64::MIN_POSITIVE; 16]], 1, None);
    assert!(matches!(vast.verdict, Verdict::TooNoisy { .. } | Verdict::Costs { .. }), "{vast:?}");
}

#[test]
fn one_round_far_off_asks_for_few_more() {
    // A file server was busy for a moment.
    let before = [0.388, 0.39, 0.385, 0.39, 0.74, 0.388];
    let after = [0.505, 0.51, 0.50, 0.505, 0.50, 0.505];
    let mut rounds: Vec<(f64, f64)> = before.into_iter().zip(after).collect();
    let told = |rounds: &[(f64, f64)]| compare_pairs(rounds, Scale::Ratio, 1, None).verdict;
    let Verdict::TooNoisy { rounds_needed: Some(more) } = told(&rounds) else {
        panic!("{:?}", told(&rounds))
    };
    assert!((1..=20).contains(&more), "{more}");
    rounds.extend((0..more).map(|_| (0.388, 0.505)));
    assert!(told(&rounds).is_resolved());
}

#[test]
fn records_differ_where_all_of_the_interval_is_worth_telling() {
    assert!(matches!(judge_ratio(1.25, (1.2, 1.3), 9), Verdict::Costs { share, .. } if share < -0.24));
    assert_eq!(judge_ratio(0.5, (0.5, 0.5), 9).of_slower().1, Some(false));
    assert!(
        matches!(judge_ratio(1.02, (1.005, 1.04), 9), Verdict::NotResolved { smaller_than } if smaller_than < 0.04)
    );
    assert!(matches!(judge_ratio(1.1, (0.9, 1.4), 9), Verdict::TooNoisy { rounds_needed: Some(300..500) }));
}
