//! How much more time one layer takes than another in all the portions that both ran in turn: the ratio of their totals, in
//! which bursts of other work count, with an interval from blocks of turns.

use record::paired_comparison::normal_quantile;
use record::statistics::Verdict;

/// Turns that make a block: a burst of other work touches several that follow each other.
const BLOCK: usize = 4;
/// The share of cases in which an interval may miss, of all that are told together.
const WRONG: f64 = 0.05;
/// Where a difference of so much could not have been seen, it is too noisy to tell.
const NOISY: f64 = 0.1;
/// A difference that is worth knowing.
const WORTH: f64 = 0.05;
/// Nobody waits for more turns than that.
const MOST_TURNS: f64 = 16_000.0;

/// What a comparison is made beside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Together {
    /// So many comparisons are made together: the intervals hold for all of them (Bonferroni).
    pub comparisons: usize,
    /// How much a layer differs from itself: no smaller difference is resolved.
    pub floor: Option<f64>,
}

/// What comes of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    /// Portions that were run in turn.
    pub turns: usize,
    /// How much more time it takes: a share of the other's.
    pub share: f64,
    /// The interval of that; `None` where there are too few turns for one.
    pub interval: Option<(f64, f64)>,
    /// The same as a verdict.
    pub verdict: Verdict,
}

impl Difference {
    /// The end of the interval that is farther from no difference.
    pub(super) fn bound(&self) -> Option<f64> {
        self.interval.map(|(low, high)| low.abs().max(high.abs()))
    }
}

/// The product of the totals of `with`, divided by those of `without`, over the turns that all of them made.
///
/// The logarithm of the ratio is a sum of logarithms of totals, so a block's part in its error is the sum of what each portion
/// deviates by, relative to its layer's mean; Student's t of the blocks' scatter is the interval (Fieller, to first order).
pub(super) fn compare_totals(with: &[&[f64]], without: &[&[f64]], together: Together) -> Difference {
    let layers = || with.iter().map(|layer| (1.0, *layer)).chain(without.iter().map(|layer| (-1.0, *layer)));
    let turns = layers().map(|(_, portions)| portions.len()).min().unwrap_or(0);
    let usable =
        |turn: &usize| layers().all(|(_, portions)| portions[*turn] > 0.0 && portions[*turn].is_finite());
    let used: Vec<usize> = (0..turns).filter(usable).collect();
    let count = used.len() as f64;
    let means: Vec<(f64, f64, &[f64])> = layers()
        .map(|(sign, portions)| (sign, used.iter().map(|turn| portions[*turn] / count).sum(), portions))
        .collect();
    let log: f64 = means.iter().map(|(sign, mean, _)| sign * mean.ln()).sum();
    let part =
        |turn: &usize| means.iter().map(|(sign, mean, portions)| sign * portions[*turn] / mean).sum::<f64>();
    let blocks: Vec<f64> = used.chunks(BLOCK).map(|block| block.iter().map(part).sum()).collect();
    let half = half_width(&blocks, count, together.comparisons).filter(|half| half.is_finite());
    let share = log.exp_m1();
    let interval = half.map(|half| ((log - half).exp_m1(), (log + half).exp_m1()));
    let verdict = judge(share, interval, half, used.len(), together.floor);
    Difference { turns: used.len(), share, interval, verdict }
}

/// Half the interval's width on the scale of logarithms.
fn half_width(blocks: &[f64], turns: f64, comparisons: usize) -> Option<f64> {
    let freedom = blocks.len().checked_sub(1).filter(|freedom| *freedom > 0)? as f64;
    let scatter = blocks.iter().map(|block| block * block).sum::<f64>() * (freedom + 1.0) / freedom;
    Some(student_quantile(WRONG / comparisons.max(1) as f64 / 2.0, freedom) * scatter.sqrt() / turns)
}

fn judge(
    share: f64,
    interval: Option<(f64, f64)>,
    half: Option<f64>,
    turns: usize,
    floor: Option<f64>,
) -> Verdict {
    let Some((interval @ (low, high), half)) = interval.zip(half) else {
        return Verdict::TooNoisy { rounds_needed: (2 * BLOCK).checked_sub(turns).map(|more| more as u64) };
    };
    if (low > 0.0 || high < 0.0) && floor.is_none_or(|floor| share.abs() > floor) {
        return Verdict::Costs { share, interval };
    }
    let smaller_than = low.abs().max(high.abs()).max(floor.unwrap_or(0.0));
    if smaller_than <= NOISY {
        return Verdict::NotResolved { smaller_than };
    }
    let more = turns as f64 * ((half / WORTH).powi(2) - 1.0);
    let rounds_needed = (1.0..=MOST_TURNS).contains(&more).then_some(more.ceil() as u64);
    Verdict::TooNoisy { rounds_needed }
}

/// The value that Student's t of so many degrees of freedom exceeds with the probability `tail`: Abramowitz and Stegun 26.7.5,
/// within 2 % from three degrees on where `tail` is above 0.001.
pub(crate) fn student_quantile(tail: f64, freedom: f64) -> f64 {
    let z = normal_quantile(tail);
    let square = z * z;
    let terms = [
        (square + 1.0) / 4.0,
        ((5.0 * square + 16.0) * square + 3.0) / 96.0,
        (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0,
        ((((79.0 * square + 776.0) * square + 1482.0) * square - 1920.0) * square - 945.0) / 92_160.0,
    ];
    z * terms.iter().rev().fold(0.0, |sum, term| (sum + term) / freedom) + z
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Together = Together { comparisons: 1, floor: None };

    /// Portions that scatter by up to 1 % and, every so often, take twice as long.
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
        let found = compare_totals(&[&disturbed], &[&calm], ALONE);
        assert!(
            matches!(found.verdict, Verdict::Costs { share, .. } if (0.1..0.3).contains(&share)),
            "{found:?}"
        );
        let total = |portions: &[f64]| portions.iter().sum::<f64>();
        assert!((found.share - (total(&disturbed) / total(&calm) - 1.0)).abs() < 1e-9);
        let back = compare_totals(&[&calm], &[&disturbed], ALONE);
        assert!((back.share + 1.0 - 1.0 / (found.share + 1.0)).abs() < 1e-9);
    }

    #[test]
    fn intervals_miss_as_seldom_as_they_say() {
        let missed = (0..400).filter(|seed| {
            let same =
                compare_totals(&[&portions(*seed, 96, true)], &[&portions(seed + 1000, 96, true)], ALONE);
            matches!(same.verdict, Verdict::Costs { .. })
        });
        let missed = missed.count();
        // 5 % of 400, and three deviations of the binomial.
        assert!(missed <= 33, "{missed}");
    }

    #[test]
    fn nothing_inside_the_floor_is_resolved_or_called_smaller_than_it() {
        let (calm, slower) =
            (portions(1, 96, false), portions(2, 96, false).iter().map(|p| p * 1.03).collect::<Vec<_>>());
        let within = Together { floor: Some(0.06), ..ALONE };
        assert!(matches!(compare_totals(&[&slower], &[&calm], ALONE).verdict, Verdict::Costs { .. }));
        assert_eq!(
            compare_totals(&[&slower], &[&calm], within).verdict,
            Verdict::NotResolved { smaller_than: 0.06 }
        );
        let noisy = Together { floor: Some(0.4), ..ALONE };
        assert!(matches!(compare_totals(&[&slower], &[&calm], noisy).verdict, Verdict::TooNoisy { .. }));
    }

    #[test]
    fn too_few_turns_and_figures_that_are_none_say_nothing() {
        let few = compare_totals(&[&[1.0; 3]], &[&[2.0; 3]], ALONE);
        assert_eq!(few.verdict, Verdict::TooNoisy { rounds_needed: Some(5) });
        for odd in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
            let with = [odd, odd, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
            assert_eq!(compare_totals(&[&with], &[&[1.0; 8]], ALONE).turns, 6);
        }
        let vast = compare_totals(&[&[f64::MAX; 16]], &[&[f64::MIN_POSITIVE; 16]], ALONE);
        assert!(matches!(vast.verdict, Verdict::TooNoisy { .. } | Verdict::Costs { .. }), "{vast:?}");
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (tail, freedom, t) in
            [(0.025, 3.0, 3.182), (0.025, 10.0, 2.228), (0.005, 5.0, 4.032), (0.001, 15.0, 3.733)]
        {
            assert!((student_quantile(tail, freedom) / t - 1.0).abs() < 0.02, "{tail} {freedom}");
        }
    }
}
