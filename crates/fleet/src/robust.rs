//! Median and scale of results that include outliers, and the probability that a value occurs by chance.

use record::difference::normal_quantile;
use record::statistics::{MAD_SCALE, median_of_sorted};

/// Maximum number of machines for which the scale is computed from all pairs (Qn, 82 % efficient compared with 37 % for the MAD).
const ALL_PAIRS: usize = 200;
/// Factor by which Qn is multiplied to estimate the standard deviation of a normal distribution (Rousseeuw and Croux, 1993).
const QN: f64 = 2.2219;
/// The additional factor for 2 to 9 values (ibid.).
const QN_SMALL: [f64; 8] = [0.399, 0.994, 0.512, 0.844, 0.611, 0.857, 0.669, 0.872];

/// The median of values; 0 if there are none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    median_of_sorted(&values)
}

/// The robust standard deviation, computed from Qn or, for many values, from the MAD. `None` for fewer than 2 values.
pub(crate) fn scale(values: &[f64]) -> Option<f64> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    if n > ALL_PAIRS {
        let middle = median(values.to_vec());
        return Some(median(values.iter().map(|value| (value - middle).abs()).collect()) * MAD_SCALE);
    }
    let mut apart: Vec<f64> = Vec::with_capacity(n * (n - 1) / 2);
    for (at, one) in values.iter().enumerate() {
        apart.extend(values.iter().skip(at + 1).map(|other| (one - other).abs()));
    }
    let half = n / 2 + 1;
    let rank = half * (half - 1) / 2 - 1;
    let (_, least, _) = apart.select_nth_unstable_by(rank, f64::total_cmp);
    let count = n as f64;
    let factor = match QN_SMALL.get(n - 2) {
        Some(factor) => *factor,
        None if n % 2 == 1 => count / (count + 1.4),
        None => count / (count + 3.8),
    };
    Some(*least * QN * factor)
}

/// The joint probability of several tests of one hypothesis (Simes, 1986): valid if the tests are positively dependent, as for results
/// with shared causes.
pub(crate) fn simes(mut chances: Vec<f64>) -> f64 {
    chances.sort_by(f64::total_cmp);
    let count = chances.len() as f64;
    let each = chances.iter().enumerate().map(|(at, chance)| chance * count / (at + 1) as f64);
    each.fold(1.0, f64::min)
}

/// The threshold up to which tests can be accepted if at most the share `wrong` of the accepted tests is to be wrong (Benjamini and
/// Hochberg, 1995).
pub(crate) fn taken_up_to(mut chances: Vec<f64>, wrong: f64) -> f64 {
    chances.sort_by(f64::total_cmp);
    let count = chances.len() as f64;
    let held = |(at, chance): (usize, &f64)| {
        let bound = wrong * (at + 1) as f64 / count;
        (*chance <= bound).then_some(bound)
    };
    chances.iter().enumerate().filter_map(held).next_back().unwrap_or(0.0)
}

/// The expected distance from the median of n values to the r-th fastest of them, as a multiple of the scale.
pub(crate) fn expected_fastest(rank: f64, n: usize) -> f64 {
    normal_quantile(((rank - 0.375) / (n as f64 + 0.25)).min(0.5))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_third_of_wrong_values_does_not_carry_the_scale_away() {
        let mut values: Vec<f64> = (0..70).map(|n| f64::from(n % 7) - 3.0).collect();
        let clean = scale(&values).unwrap();
        values.extend([1e6; 30]);
        assert!(scale(&values).unwrap() < 3.0 * clean);
        assert_eq!((scale(&[1.0]), scale(&[1.0; 9])), (None, Some(0.0)));
    }

    #[test]
    fn as_many_tests_are_taken_as_leave_one_in_twenty_wrong() {
        // Three of five tests are accepted, up to 0.05 × 3 ÷ 5.
        assert!((taken_up_to(vec![0.5, 0.01, 0.02, 0.03, 0.9], 0.05) - 0.03).abs() < 1e-12);
        assert_eq!(taken_up_to(vec![0.2, 0.9], 0.05), 0.0);
        assert_eq!(simes(vec![0.04, 0.02]), 0.04);
    }

    proptest! {
        #[test]
        fn scales_follow_their_values(values in proptest::collection::vec(-1e3f64..1e3, 2..300), by in 0.1f64..10.0) {
            let one = scale(&values).unwrap();
            let larger: Vec<f64> = values.iter().map(|value| value * by + 5.0).collect();
            prop_assert!(one >= 0.0 && (scale(&larger).unwrap() - one * by).abs() < 1e-6 * (1.0 + one * by));
        }

        #[test]
        fn a_joined_chance_is_no_less_than_the_least_and_no_more_than_all_of_them(chances in proptest::collection::vec(0.0f64..1.0, 1..20)) {
            let least = chances.iter().copied().fold(1.0, f64::min);
            let most = chances.iter().copied().fold(0.0, f64::max);
            let joined = simes(chances);
            prop_assert!(least <= joined && joined <= most.max(least) + 1e-12);
        }
    }
}
