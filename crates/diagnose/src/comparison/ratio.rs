//! The ratio of two results with its interval, and the verdict on the difference.

use record::comparison::Cell;
use record::difference::{LEAST_SAMPLES, Verdict, join_ratio, judge_ratio, resample_ratio};
use record::{Better, text};

use super::datum::Datum;

/// Unreliable results count as different only if the interval of their ratio is further from 1 than this, because their samples scatter
/// more than the interval of the median shows.
const DOUBTFUL: f64 = 1.5;

/// Compares one result with the baseline's: the ratio and the verdict.
pub(super) fn compare(this: &Datum, base: &Datum, better: Option<Better>) -> Cell {
    // For shares of lost time, compare the remaining time: a loss of 0.2 % instead of 0.1 % does not halve the speed. A ratio of the shares
    // would be misleading, so it is omitted.
    if this.is_share() && base.is_share() {
        let better = better.map(|_| Better::Higher);
        let [this, base] = [this, base].map(|share| share.mapped(|taken| 1.0 - taken));
        let left = compare_values(&this, &base, better);
        return Cell { ratio: None, interval: None, ..left };
    }
    compare_values(this, base, better)
}

fn compare_values(this: &Datum, base: &Datum, better: Option<Better>) -> Cell {
    if !(this.value > 0.0 && base.value > 0.0 && this.value.is_finite() && base.value.is_finite()) {
        let reason = text!("no ratio: one result is 0");
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
    let samples = this.n.min(base.n);
    let Some((low, high)) = interval else {
        let reason = match (this.n <= 1, base.n <= 1) {
            (false, false) => {
                let missing = (LEAST_SAMPLES as u64).saturating_sub(samples).max(1);
                return (Verdict::TooNoisy { rounds_needed: Some(missing) }, None);
            }
            (true, true) => text!("single samples"),
            _ => text!("single sample on one side"),
        };
        return (Verdict::NotMeasurable { reason }, None);
    };
    // Converts rates to times, so that a ratio above 1 means that this result is slower.
    let (ratio, low, high) = match better {
        Better::Higher => (1.0 / ratio, 1.0 / high, 1.0 / low),
        Better::Lower => (ratio, low, high),
    };
    let verdict = judge_ratio(ratio, (low, high), samples);
    let doubtful = this.doubt.is_some() || base.doubt.is_some();
    if verdict.is_resolved() && doubtful && low < DOUBTFUL && high > 1.0 / DOUBTFUL {
        return (Verdict::TooNoisy { rounds_needed: None }, None);
    }
    verdict.of_slower()
}

/// The 95 % CI of the ratio; `None` if one side has too few samples and no interval of its own.
fn find_interval(this: &Datum, base: &Datum) -> Option<(f64, f64)> {
    let exact = match (this.interval, base.interval) {
        (None, None) => resample_ratio(&this.samples, &base.samples),
        _ => None,
    };
    // Distributions and long lists of samples already include the intervals of their medians.
    exact.or_else(|| join_ratio((this.value, this.own_interval()?), (base.value, base.own_interval()?)))
}

/// Whether samples show that the ratio differs from 1; single results have no interval, so only their values count.
pub(super) fn differs_from_1(this: &Datum, base: &Datum) -> bool {
    find_interval(this, base).is_none_or(|(low, high)| !(low..=high).contains(&1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn datum_of(samples: &[f64]) -> Datum {
        Datum::from_samples(samples.to_vec())
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
        assert_eq!(said.verdict, Some(Verdict::NotMeasurable { reason: "single samples".into() }));
    }

    #[test]
    fn a_ratio_differs_from_1_by_its_interval_or_by_nobody() {
        let wide = datum_of(&[90.0, 110.0, 100.0, 95.0, 105.0, 100.0, 98.0, 102.0, 93.0]);
        let (near, far) = (wide.mapped(|ns| ns * 1.01), wide.mapped(|ns| ns / 0.5));
        assert!(!differs_from_1(&near, &wide) && differs_from_1(&far, &wide));
        assert!(
            differs_from_1(&datum_of(&[101.0]), &datum_of(&[100.0])),
            "single results are compared by their values"
        );
        let cost = |factor: f64| wide.mapped(|ns| ns * factor).over_another(&wide, 1.0, "");
        assert!(!differs_from_1(&cost(1.05), &cost(1.0)) && differs_from_1(&cost(2.0), &cost(1.0)));
        let of_one = wide.over_another(&datum_of(&[100.0]), 1.05, "");
        assert!(differs_from_1(&of_one, &cost(1.0)));
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
            // A difference whose interval contains 1 has no slower side.
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
