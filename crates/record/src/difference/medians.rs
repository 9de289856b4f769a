//! Computes the interval of the ratio of two medians with the bootstrap method.
//!
//! The bootstrap is exact: the probability of each median that resampling could draw is computed from the binomial and multinomial
//! distributions, so the result equals the limit of a simulation with infinitely many draws. No random seed is needed.

use std::sync::OnceLock;

/// Minimum number of samples for an interval; each measurement is designed for at least this many.
pub const LEAST_SAMPLES: usize = 5;
/// Maximum number of samples for which all possible medians are listed.
const MOST_SAMPLES: usize = 24;
/// Probabilities below this are ignored, because they do not affect the 2.5 % tails.
const NEGLIGIBLE: f64 = 1e-7;

/// The 95 % CI of the ratio of the medians of two lists of samples; `None` if a list has fewer than [`LEAST_SAMPLES`]
/// or more than 24 samples, or contains a sample that is not a positive number.
pub fn resample_ratio(this: &[f64], base: &[f64]) -> Option<(f64, f64)> {
    find_points(&list_medians(this)?, &list_medians(base)?)
}

/// The interval of the ratio of two results, from both intervals, combined on a logarithmic scale; `None` if any value
/// is not above 0.
pub fn join_ratio(
    (this, of_this): (f64, (f64, f64)),
    (base, of_base): (f64, (f64, f64)),
) -> Option<(f64, f64)> {
    let half = |value: f64, (low, high): (f64, f64)| {
        (low > 0.0 && high >= low).then(|| ((value / low).ln().max(0.0), (high / value).ln().max(0.0)))
    };
    let ((this_below, this_above), (base_below, base_above)) = (half(this, of_this)?, half(base, of_base)?);
    let ratio = (this / base).ln();
    let low = (ratio - this_below.hypot(base_above)).exp();
    let high = (ratio + this_above.hypot(base_below)).exp();
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

/// Medians that resampling may draw, ascending, each with its probability.
type Medians = Vec<(f64, f64)>;

/// The medians that resampling these samples may draw, with their probabilities.
fn list_medians(samples: &[f64]) -> Option<Medians> {
    if !(LEAST_SAMPLES..=MOST_SAMPLES).contains(&samples.len()) {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    if !(sorted.first().is_some_and(|least| *least > 0.0)
        && sorted.last().is_some_and(|most| most.is_finite()))
    {
        return None;
    }
    let mut medians: Medians = find_chances(sorted.len())
        .iter()
        .map(|(low, high, chance)| ((sorted[usize::from(*low)] + sorted[usize::from(*high)]) / 2.0, *chance))
        .collect();
    medians.sort_by(|a, b| a.0.total_cmp(&b.0));
    Some(medians)
}

/// For `n` samples in ascending order: the indices of two samples, and the probability that these are the two middle values of a
/// resample (for odd `n`, both indices are those of the single middle value).
fn find_chances(n: usize) -> &'static [(u8, u8, f64)] {
    static KNOWN: [OnceLock<Vec<(u8, u8, f64)>>; MOST_SAMPLES + 1] =
        [const { OnceLock::new() }; MOST_SAMPLES + 1];
    KNOWN[n.min(MOST_SAMPLES)].get_or_init(|| compute_chances(n.min(MOST_SAMPLES)))
}

fn compute_chances(n: usize) -> Vec<(u8, u8, f64)> {
    let count = n as f64;
    // The chance that at least `least` of n draws are among the first k.
    let at_least = |least: usize, k: usize| -> f64 {
        let p = k as f64 / count;
        (least..=n)
            .map(|hits| count_choices(n, hits) * p.powi(hits as i32) * (1.0 - p).powi((n - hits) as i32))
            .sum()
    };
    let mut all = Vec::new();
    let middle = n / 2;
    if n % 2 == 1 {
        for i in 0..n {
            all.push((i as u8, i as u8, at_least(middle + 1, i + 1) - at_least(middle + 1, i)));
        }
    } else {
        let power = |k: usize| (k as f64 / count).powi(middle as i32);
        for i in 0..n {
            // The lower half of the resample ends with sample i, and the upper half begins with a later sample j.
            let lower = count_choices(n, middle) * (power(i + 1) - power(i));
            let mut apart = 0.0;
            for j in i + 1..n {
                let chance = lower * (power(n - j) - power(n - j - 1));
                apart += chance;
                all.push((i as u8, j as u8, chance));
            }
            let ends_here = at_least(middle, i + 1) - at_least(middle, i);
            all.push((i as u8, i as u8, ends_here - apart));
        }
    }
    all.retain(|(_, _, chance)| *chance > NEGLIGIBLE);
    all
}

fn count_choices(n: usize, k: usize) -> f64 {
    (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product()
}

/// The 2.5 % and 97.5 % points of the ratio of two independent medians.
fn find_points(this: &Medians, base: &Medians) -> Option<(f64, f64)> {
    let (this_least, this_most) = (this.first()?.0, this.last()?.0);
    let (base_least, base_most) = (base.first()?.0, base.last()?.0);
    let ends = ((this_least / base_most).ln(), (this_most / base_least).ln());
    let whole: f64 = this.iter().map(|m| m.1).sum::<f64>() * base.iter().map(|m| m.1).sum::<f64>();
    // The probability that the ratio is at most e^log: both lists are ascending, so a single pass is enough.
    let at_most = |log: f64| -> f64 {
        let ratio = log.exp();
        let (mut at, mut below, mut sum) = (0, 0.0, 0.0);
        for (base, chance) in base {
            while at < this.len() && this[at].0 <= base * ratio * (1.0 + 1e-12) {
                below += this[at].1;
                at += 1;
            }
            sum += chance * below;
        }
        sum / whole
    };
    let point = |share: f64| {
        let (mut low, mut high) = ends;
        if at_most(low) >= share {
            return low;
        }
        for _ in 0..60 {
            if high - low < 1e-7 {
                break;
            }
            let middle = (low + high) / 2.0;
            if at_most(middle) >= share { high = middle } else { low = middle }
        }
        high
    };
    let (low, high) = (point(0.025).exp(), point(0.975).exp());
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_those_of_resampling() {
        for n in LEAST_SAMPLES..=MOST_SAMPLES {
            let sum: f64 = find_chances(n).iter().map(|(_, _, chance)| chance).sum();
            assert!((sum - 1.0).abs() < 1e-4, "{n}: {sum}");
        }
        // By hand for n = 5: the median is the smallest sample if at least 3 of 5 draws select it.
        let least = 10.0 * 0.2f64.powi(3) * 0.8f64.powi(2) + 5.0 * 0.2f64.powi(4) * 0.8 + 0.2f64.powi(5);
        assert!((find_chances(5)[0].2 - least).abs() < 1e-12);
    }

    #[test]
    fn exact_chances_agree_with_drawing() {
        // A simple generator; 40,000 resamples of 6 and 9 samples.
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = move |n: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as usize % n
        };
        for samples in
            [vec![1.0, 2.0, 4.0, 7.0, 11.0, 16.0], vec![1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 9.0, 12.0, 20.0]]
        {
            let n = samples.len();
            let mut drawn: Vec<f64> = (0..40_000)
                .map(|_| {
                    let mut one: Vec<f64> = (0..n).map(|_| samples[random(n)]).collect();
                    one.sort_by(f64::total_cmp);
                    crate::statistics::median_of_sorted(&one)
                })
                .collect();
            drawn.sort_by(f64::total_cmp);
            let exact = list_medians(&samples).unwrap();
            for share in [0.1, 0.25, 0.5, 0.75, 0.9] {
                let value = drawn[(drawn.len() as f64 * share) as usize];
                let below: f64 = exact.iter().filter(|m| m.0 < value - 1e-9).map(|m| m.1).sum();
                let up_to: f64 = exact.iter().filter(|m| m.0 <= value + 1e-9).map(|m| m.1).sum();
                assert!(below - 0.01 <= share && share <= up_to + 0.01, "{n} {share}: {below} {up_to}");
            }
        }
    }
}
