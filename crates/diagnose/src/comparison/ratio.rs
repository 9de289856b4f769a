//! The ratio of two medians with its interval by the bootstrap, and what can be said of the difference.
//!
//! The bootstrap is exact: the chance of each median that resampling could draw is computed from the binomial and
//! multinomial distributions, which is where a simulation with ever more draws would end. So there is no seed, and the
//! same records always give the same interval.

use std::sync::OnceLock;

use record::comparison::Cell;
use record::statistics::Verdict;
use record::{Better, text};

use super::datum::{Datum, MOST_SAMPLES, interval_around};
use crate::figures::RESOLUTION;

/// Samples below which there is no interval: the design of a measurement asks for at least so many.
const LEAST: usize = 5;
/// Chances below this do not reach the 2.5 % tails.
const NEGLIGIBLE: f64 = 1e-7;
/// Where an interval that holds 1 reaches further than this share, noise hides what people would care about.
const NOISY: f64 = 0.1;
/// Figures in doubt differ when their interval does not reach nearer to 1 than this: their samples lie further apart than
/// an interval of the median tells.
const DOUBTFUL: f64 = 1.5;

/// Holds one figure against the baseline's: the ratio and what can be said of it.
pub(super) fn compare(this: &Datum, base: &Datum, better: Option<Better>) -> Cell {
    // Of a share of time that is taken, what is left decides: 0.2 % against 0.1 % is not half the speed. Its ratio is not that of
    // the shares, so there is none.
    if this.is_share() && base.is_share() {
        let better = better.map(|_| Better::Higher);
        let left = compare_values(&this.complement(), &base.complement(), better);
        return Cell { ratio: None, interval: None, ..left };
    }
    compare_values(this, base, better)
}

fn compare_values(this: &Datum, base: &Datum, better: Option<Better>) -> Cell {
    if !(this.value > 0.0 && base.value > 0.0 && this.value.is_finite() && base.value.is_finite()) {
        let reason = text!("comparison-zero", "no ratio: one figure is 0");
        let verdict = better.map(|_| Verdict::NotMeasurable { reason });
        return Cell { verdict, ..Cell::default() };
    }
    let ratio = this.value / base.value;
    let interval = find_interval(this, base);
    let Some(better) = better else {
        return Cell { ratio: Some(ratio), interval, ..Cell::default() };
    };
    let (verdict, slower) = judge_difference(ratio, interval, better, this, base);
    Cell { ratio: Some(ratio), interval, verdict: Some(verdict), slower, ..Cell::default() }
}

fn judge_difference(
    ratio: f64,
    interval: Option<(f64, f64)>,
    better: Better,
    this: &Datum,
    base: &Datum,
) -> (Verdict, Option<bool>) {
    let Some((low, high)) = interval else {
        let reason = match (this.n <= 1, base.n <= 1) {
            (false, false) => {
                let missing = (LEAST as u64).saturating_sub(this.n.min(base.n)).max(1);
                return (Verdict::TooNoisy { rounds_needed: Some(missing) }, None);
            }
            (true, true) => text!("comparison-single-figures", "single figures"),
            _ => text!("comparison-single-figure", "single figure on one side"),
        };
        return (Verdict::NotMeasurable { reason }, None);
    };
    // Speeds: above 1 this one is the faster.
    let (speed, slow, fast) = match better {
        Better::Higher => (ratio, low, high),
        Better::Lower => (1.0 / ratio, 1.0 / high, 1.0 / low),
    };
    let doubtful = this.doubt.is_some() || base.doubt.is_some();
    if doubtful && fast > 1.0 / DOUBTFUL && slow < DOUBTFUL && !(slow..=fast).contains(&1.0) {
        return (Verdict::TooNoisy { rounds_needed: None }, None);
    }
    if fast < 1.0 - RESOLUTION || slow > 1.0 + RESOLUTION {
        let slower = speed < 1.0;
        // What the slower one loses.
        let (speed, slow, fast) =
            if slower { (speed, slow, fast) } else { (1.0 / speed, 1.0 / fast, 1.0 / slow) };
        return (Verdict::Costs { share: 1.0 - speed, interval: (1.0 - fast, 1.0 - slow) }, Some(slower));
    }
    let reach = (1.0 - slow).max(1.0 - 1.0 / fast).max(RESOLUTION);
    if reach <= NOISY {
        return (Verdict::NotResolved { smaller_than: reach }, None);
    }
    // Intervals narrow with the root of the number of samples.
    let more = (reach / NOISY).powi(2) * this.n.min(base.n) as f64 - this.n.min(base.n) as f64;
    let rounds_needed = (more.is_finite() && (1.0..1e6).contains(&more)).then_some(more.ceil() as u64);
    (Verdict::TooNoisy { rounds_needed }, None)
}

/// The 95 % interval of the ratio; `None` where a side has too few samples and no interval of its own.
fn find_interval(this: &Datum, base: &Datum) -> Option<(f64, f64)> {
    let exact =
        |datum: &Datum| datum.interval.is_none() && (LEAST..=MOST_SAMPLES).contains(&datum.samples.len());
    if exact(this) && exact(base) {
        return resample_ratio(&list_medians(&this.samples)?, &list_medians(&base.samples)?);
    }
    // Distributions and long lists: both medians' own intervals, joined on the scale of logarithms.
    let half = |datum: &Datum| {
        let (low, high) = datum.own_interval()?;
        (low > 0.0 && high >= low)
            .then(|| ((datum.value / low).ln().max(0.0), (high / datum.value).ln().max(0.0)))
    };
    let ((a_below, a_above), (b_below, b_above)) = (half(this)?, half(base)?);
    let ratio = (this.value / base.value).ln();
    let low = (ratio - a_below.hypot(b_above)).exp();
    let high = (ratio + a_above.hypot(b_below)).exp();
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

/// Medians that resampling may draw, ascending, each with its chance.
type Medians = Vec<(f64, f64)>;

/// The medians of samples under resampling; `None` where a sample is no positive number.
fn list_medians(samples: &[f64]) -> Option<Medians> {
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

/// For `n` samples in ascending order: the chance that the two middle values of a resample (one for odd n) are these two.
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
            // The lower half ends at i, and the upper begins at a later j.
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
fn resample_ratio(this: &Medians, base: &Medians) -> Option<(f64, f64)> {
    let (this_least, this_most) = (this.first()?.0, this.last()?.0);
    let (base_least, base_most) = (base.first()?.0, base.last()?.0);
    let ends = ((this_least / base_most).ln(), (this_most / base_least).ln());
    let whole: f64 = this.iter().map(|m| m.1).sum::<f64>() * base.iter().map(|m| m.1).sum::<f64>();
    // How likely the ratio is at most e^log: both lists ascend, so one walk does.
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

/// Whether samples tell the ratio of two figures from 1; single figures, which have no interval, are taken as they are.
pub(super) fn differs_from_1(this: &Datum, base: &Datum) -> bool {
    find_interval(this, base).is_none_or(|(low, high)| !(low..=high).contains(&1.0))
}

/// The same of a ratio that is made of several figures: its value, and the medians that it was made of.
pub(super) fn medians_differ_from_1(ratio: f64, medians: &[&Datum]) -> bool {
    let deviations: Option<Vec<f64>> = medians.iter().map(|datum| datum.log_deviation()).collect();
    deviations.is_none_or(|all| {
        let (low, high) = interval_around(ratio, all.iter().map(|one| one * one).sum::<f64>().sqrt());
        !(low..=high).contains(&1.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn datum_of(samples: &[f64]) -> Datum {
        Datum::from_samples(samples.to_vec())
    }

    #[test]
    fn chances_are_those_of_resampling() {
        for n in LEAST..=MOST_SAMPLES {
            let sum: f64 = find_chances(n).iter().map(|(_, _, chance)| chance).sum();
            assert!((sum - 1.0).abs() < 1e-4, "{n}: {sum}");
        }
        // By hand for n = 5: the median is the least sample when at least 3 of 5 draws hit it.
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
                    record::statistics::median_of_sorted(&one)
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

    #[test]
    fn a_clear_difference_costs_the_slower_one_whichever_it_is() {
        let (slow, fast) = (
            datum_of(&[200.0, 201.0, 199.0, 200.5, 200.0, 199.5]),
            datum_of(&[100.0, 100.2, 99.9, 100.0, 100.1, 99.8]),
        );
        let one = compare(&slow, &fast, Some(Better::Lower));
        assert_eq!(one.slower, Some(true));
        let Some(Verdict::Costs { share, interval }) = one.verdict else { panic!("{one:?}") };
        assert!(
            (share - 0.5).abs() < 0.01 && interval.0 < share && share < interval.1,
            "{share} {interval:?}"
        );
        let other = compare(&fast, &slow, Some(Better::Lower));
        assert_eq!(other.slower, Some(false));
        let Some(Verdict::Costs { share, .. }) = other.verdict else { panic!("{other:?}") };
        assert!((share - 0.5).abs() < 0.01);
        assert_eq!(compare(&fast, &slow, Some(Better::Higher)).slower, Some(true));
        assert_eq!(compare(&fast, &slow, None).verdict, None);
    }

    #[test]
    fn what_may_be_noise_is_no_difference() {
        let a = datum_of(&[100.0, 101.0, 99.0, 100.5, 99.5, 100.0, 100.2]);
        let b = datum_of(&[100.4, 101.2, 99.2, 100.6, 99.9, 100.1, 100.0]);
        let said = compare(&a, &b, Some(Better::Higher));
        assert!(
            matches!(said.verdict, Some(Verdict::NotResolved { smaller_than }) if smaller_than < 0.03),
            "{said:?}"
        );
        assert_eq!(said.slower, None);
        let wild = datum_of(&[50.0, 100.0, 180.0, 60.0, 140.0, 99.0]);
        let said = compare(&wild, &b, Some(Better::Higher));
        assert!(matches!(said.verdict, Some(Verdict::TooNoisy { .. })), "{said:?}");
    }

    #[test]
    fn figures_in_doubt_differ_by_much_or_not_at_all() {
        let doubtful = |value: f64| {
            let mut datum = datum_of(&[1.0, 1.01, 0.99, 1.0, 1.005, 0.995].map(|factor| factor * value));
            datum.doubt = Some("too noisy: its samples spread by 30 %".into());
            datum
        };
        let said = compare(
            &doubtful(122.0),
            &datum_of(&[100.0, 100.1, 99.9, 100.0, 100.2, 99.8]),
            Some(Better::Lower),
        );
        assert_eq!((said.slower, said.verdict), (None, Some(Verdict::TooNoisy { rounds_needed: None })));
        let said = compare(&doubtful(300.0), &doubtful(100.0), Some(Better::Lower));
        assert_eq!(said.slower, Some(true));
    }

    #[test]
    fn one_figure_each_has_a_ratio_and_no_interval() {
        let said = compare(&datum_of(&[55.0]), &datum_of(&[11.0]), Some(Better::Lower));
        assert_eq!((said.ratio, said.interval, said.slower), (Some(5.0), None, None));
        assert_eq!(said.verdict, Some(Verdict::NotMeasurable { reason: "single figures".into() }));
    }

    #[test]
    fn a_ratio_differs_from_1_by_its_interval_or_by_nobody() {
        let wide = datum_of(&[90.0, 110.0, 100.0, 95.0, 105.0, 100.0, 98.0, 102.0, 93.0]);
        let (near, far) = (wide.divided_by(1.0 / 1.01), wide.divided_by(0.5));
        assert!(!differs_from_1(&near, &wide) && differs_from_1(&far, &wide));
        assert!(
            differs_from_1(&datum_of(&[101.0]), &datum_of(&[100.0])),
            "single figures are taken as they are"
        );
        let four = [&wide, &wide, &wide, &wide];
        assert!(!medians_differ_from_1(1.05, &four) && medians_differ_from_1(2.0, &four));
        assert!(medians_differ_from_1(1.05, &[&wide, &datum_of(&[100.0])]));
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_ratio_and_turns_with_it(
            a in proptest::collection::vec(1e-3f64..1e6, 1..60),
            b in proptest::collection::vec(1e-3f64..1e6, 1..60),
        ) {
            let (a, b) = (datum_of(&a), datum_of(&b));
            let one = compare(&a, &b, Some(Better::Lower));
            let other = compare(&b, &a, Some(Better::Lower));
            let ratio = one.ratio.unwrap();
            prop_assert!((ratio * other.ratio.unwrap() - 1.0).abs() < 1e-9);
            prop_assert_eq!(one.interval.is_some(), other.interval.is_some());
            if let (Some((low, high)), Some((low_back, high_back))) = (one.interval, other.interval) {
                prop_assert!(low <= ratio * 1.001 && ratio <= high * 1.001, "{low} {ratio} {high}");
                prop_assert!(low > 0.0 && high.is_finite() && low_back > 0.0 && high_back.is_finite());
            }
            // No difference whose interval holds 1 has a slower side.
            if let (Some(_), Some((low, high))) = (one.slower, one.interval) {
                prop_assert!(low > 1.0 || high < 1.0);
            }
            prop_assert_eq!(one.slower.is_some(), matches!(one.verdict, Some(Verdict::Costs { .. })));
        }

        #[test]
        fn no_value_panics(a in proptest::collection::vec(any::<f64>(), 0..20), b in proptest::collection::vec(any::<f64>(), 0..20)) {
            let _ = compare(&datum_of(&a), &datum_of(&b), Some(Better::Higher));
        }
    }
}
