//! Finds the points at which a series of values changed its level.
//!
//! A series is cut at the point with the greatest weighted likelihood ratio of two levels to one level, unless this ratio may be due to
//! chance. Each part is then cut in the same way (hierarchical division, as in E-divisive: Matteson and James, JASA 109:334, 2014). A
//! level that returns to its old value is not seen by a single cut. Therefore, the values between two cuts are also compared with those
//! outside (circular binary segmentation: Olshen et al., Biostatistics 5:557, 2004); the two tests share the permitted probability. A
//! permutation test determines the probability that the ratio is due to chance: without a change, every order of the values is equally
//! likely, regardless of their distribution and the width of each interval. Therefore, a series without a change is cut in at most
//! [`WRONG`] of cases. A value's weight is the inverse of its variance. The variance is based on the value's own interval and on the
//! typical scatter of the series, because runs differ by more than a single run shows. Values that drift or depend on earlier values are
//! not exchangeable: for these, the test shows only that they changed.

use record::difference::WRONG;

/// Minimum number of records on each side of a change, because a single record may be an outlier.
const LEAST_SIDE: usize = 2;
/// Number of random orders.
const ORDERS: u32 = 3999;
/// Longer parts are first cut at single points, because the time for all segments grows with the square of the length.
const MOST_BETWEEN: usize = 150;
/// The seed of the random orders, which ensures that the same records always produce the same answer.
const SEED: u64 = 0x6c69_6e65_7370_6565;

/// A value with its standard deviation, 0 if unknown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) value: f64,
    pub(super) deviation: f64,
}

/// A cut of a series: the index of the first value of the later part, and the probability that this cut is due to chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cut {
    pub(super) at: usize,
    pub(super) chance: f64,
}

/// The smallest number of values in which a change can be detected if this many series are tested together. There are C(n, n ÷ 2) ways to
/// split n values into halves, and two of these show the clearest possible change.
pub(super) fn least_values(series: usize) -> usize {
    let halves = |n: usize| (0..n / 2).map(|i| (n - i) as f64 / (i + 1) as f64).product::<f64>();
    (2 * LEAST_SIDE..64).find(|n| 2.0 / halves(*n) <= WRONG / series.max(1) as f64).unwrap_or(64)
}

/// The cuts of a series, in order. `series` is the number of series that are tested together.
pub(super) fn find_cuts(values: &[Value], series: usize) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let mut chance = Chance(SEED);
    let most = WRONG / series.max(1) as f64;
    // Twice as many tests, and half of the values have up to about four times as many places between two cuts as beside one.
    let bounds = Bounds { least: least_values(series), least_between: least_values(8 * series), most };
    divide(&weigh(values), 0, bounds, &mut chance, &mut cuts);
    cuts.sort_by_key(|cut| cut.at);
    cuts
}

/// Values with their weights.
fn weigh(values: &[Value]) -> Vec<(f64, f64)> {
    let mut variances: Vec<f64> = values.iter().map(|value| value.deviation.powi(2)).collect();
    variances.sort_by(f64::total_cmp);
    let usual = variances.get(variances.len() / 2).copied().unwrap_or(0.0);
    let least = usual.max(f64::MIN_POSITIVE.sqrt());
    values.iter().map(|value| (value.value, least / (value.deviation.powi(2) + least))).collect()
}

/// The conditions for cutting a part. There is a minimum number of values, because with fewer values even the clearest order is too likely
/// to occur by chance; this number is greater for a segment between two cuts. There is also a maximum probability that the cut is due to
/// chance.
#[derive(Clone, Copy)]
struct Bounds {
    least: usize,
    least_between: usize,
    most: f64,
}

/// Consecutive values, and a measure of how clearly their level differs from that of the other values: the decrease of the weighted sum of
/// squares if two levels replace one. A segment that begins with the first value represents a single cut.
struct Segment {
    begin: usize,
    end: usize,
    clear: f64,
}

fn divide(values: &[(f64, f64)], begin: usize, bounds: Bounds, chance: &mut Chance, cuts: &mut Vec<Cut>) {
    if values.len() < bounds.least {
        return;
    }
    let between = (bounds.least_between..=MOST_BETWEEN).contains(&values.len());
    let kinds: &[bool] = if between { &[false, true] } else { &[false] };
    let most = bounds.most / kinds.len() as f64;
    let tested = kinds.iter().filter_map(|between| {
        let segment = clearest(values, *between)?;
        Some((test(values, &segment, most, chance)?, segment))
    });
    // The least probable; if both are as improbable as the test can show, the clearest.
    let found = tested.min_by(|(one, a), (other, b)| one.total_cmp(other).then(b.clear.total_cmp(&a.clear)));
    let Some((found, segment)) = found else { return };
    let ends = [segment.begin, segment.end].into_iter().filter(|at| *at > 0);
    cuts.extend(ends.map(|at| Cut { at: begin + at, chance: found }));
    for part in [0..segment.begin, segment.begin..segment.end, segment.end..values.len()] {
        let from = begin + part.start;
        divide(values.get(part).unwrap_or_default(), from, bounds, chance, cuts);
    }
}

/// The clearest segment: between two cuts, or else beside a single one.
fn clearest(values: &[(f64, f64)], between: bool) -> Option<Segment> {
    let last = values.len().checked_sub(LEAST_SIDE)?;
    let (all, weight) = values.iter().fold((0.0, 0.0), |(sum, all), (v, w)| (sum + v * w, all + w));
    let middle = all / weight;
    let mut sums = vec![(0.0, 0.0)];
    sums.extend(values.iter().scan((0.0, 0.0), |(sum, before), (value, w)| {
        *sum += (value - middle) * w;
        *before += w;
        Some((*sum, *before))
    }));
    let begins = if between { LEAST_SIDE..last } else { 0..1 };
    let mut best = Segment { begin: 0, end: 0, clear: 0.0 };
    for begin in begins {
        let Some((before, lighter)) = sums.get(begin) else { break };
        let ends = sums.get(begin + LEAST_SIDE..=last).unwrap_or_default();
        for (end, (sum, inside)) in (begin + LEAST_SIDE..).zip(ends) {
            let (sum, inside) = (sum - before, inside - lighter);
            let clear = sum * sum * weight / (inside * (weight - inside));
            // A smaller part of the weight is lost in the last digits of the sums.
            if clear > best.clear && inside.min(weight - inside) > weight * 1e-9 {
                best = Segment { begin, end, clear };
            }
        }
    }
    Some(best).filter(|best| best.clear > 0.0)
}

/// The share of random orders that have a segment of the same kind that is at least as clear; `None` if this share is too high.
fn test(values: &[(f64, f64)], segment: &Segment, most: f64, chance: &mut Chance) -> Option<f64> {
    let allowed = (most * f64::from(ORDERS + 1)) as u32;
    // The last digits of a sum depend on the order of its terms, so the same segment may appear to be slightly less clear.
    let clear = segment.clear * (1.0 - 1e-9);
    let mut order = values.to_vec();
    let mut as_clear = 0;
    for _ in 0..ORDERS {
        chance.shuffle(&mut order);
        as_clear += u32::from(clearest(&order, segment.begin > 0).is_some_and(|other| other.clear >= clear));
        if as_clear + 1 > allowed {
            return None;
        }
    }
    Some(f64::from(as_clear + 1) / f64::from(ORDERS + 1))
}

/// A pseudo-random sequence (SplitMix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            let other = ((self.next() >> 32) * (last as u64 + 1)) >> 32;
            values.swap(last, other as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Synthetic runs of one machine: the scatter is rarely large, and each run's interval covers only part of it.
    fn series(seed: u64, length: usize, level: impl Fn(usize) -> f64) -> Vec<Value> {
        let mut chance = Chance(seed.wrapping_mul(7919) + 1);
        let mut even = move || (chance.next() >> 11) as f64 / (1u64 << 53) as f64;
        let mut normal = move || (0..12).map(|_| even()).sum::<f64>() - 6.0;
        let mut one = |at: usize| {
            let deviation = 0.002 * (1.0 + normal().abs());
            let burst = if normal() > 1.6 { 0.05 * normal().abs() } else { 0.0 };
            Value { value: level(at) + deviation * normal() + 0.01 * normal() + burst, deviation }
        };
        (0..length).map(&mut one).collect()
    }

    /// The number of series of a test: `./test everything` tests five times as many.
    fn many(count: u64) -> u64 {
        let everything = std::env::var_os("LINESPEED_TEST_EVERYTHING").is_some_and(|value| !value.is_empty());
        if everything { 5 * count } else { count }
    }

    #[test]
    fn of_series_without_change_no_more_than_one_in_twenty_is_cut() {
        let of = many(80);
        // Three standard deviations of the binomial above one in twenty.
        let most = 0.05 * of as f64 + 3.0 * (of as f64 * 0.05 * 0.95).sqrt();
        for (length, together) in [(12, 1), (25, 4)] {
            let cut = |seed: &u64| {
                let of = |line: usize| series(seed * 16 + line as u64, length, |_| 0.0);
                (0..together).any(|line| !find_cuts(&of(line), together).is_empty())
            };
            let wrong = (0..of).filter(cut).count();
            assert!(wrong as f64 <= most, "{wrong} of {of}, {length} records, {together} together");
        }
    }

    #[test]
    fn changes_are_found_where_they_are() {
        let (mut found, mut exact) = (0, 0);
        let of = many(20) as usize;
        for seed in 0..of as u64 {
            let cuts = find_cuts(&series(seed, 30, |at| if at < 18 { 0.0 } else { -0.1 }), 4);
            found += usize::from(!cuts.is_empty());
            exact += usize::from(cuts.iter().any(|cut| cut.at == 18));
        }
        assert!(found * 20 >= of * 19 && exact * 5 >= of * 4, "{found} found, {exact} at its place, of {of}");
        let level = |at: usize| [0.0, -0.2, 0.05][at / 15];
        let places: Vec<usize> = find_cuts(&series(7, 45, level), 1).iter().map(|cut| cut.at).collect();
        assert_eq!(places, [15, 30]);
    }

    #[test]
    fn a_level_that_returns_has_two_cuts() {
        for (length, segment) in [(15, 5..10), (28, 10..18), (28, 20..26)] {
            let level = |at: usize| if segment.contains(&at) { -0.2 } else { 0.0 };
            let exact = |seed: &u64| {
                let cuts = find_cuts(&series(*seed, length, level), 4);
                cuts.iter().map(|cut| cut.at).eq([segment.start, segment.end])
            };
            let exact = (0..20).filter(exact).count();
            assert!(exact >= 16, "{exact} of 20, {length} records, {segment:?}");
        }
    }

    #[test]
    fn a_step_seldom_appears_to_return() {
        let level = |at: usize| if at < 18 { 0.0 } else { -0.1 };
        let returns = |seed: &u64| find_cuts(&series(*seed, 30, level), 4).len() > 1;
        let returns = (0..40).filter(returns).count();
        assert!(returns <= 2, "{returns} of 40");
    }

    #[test]
    fn values_without_weight_are_not_a_segment() {
        for begin in [10, 28] {
            let mut values: Vec<Value> =
                series(5, 30, |_| 0.0).iter().map(|value| Value { deviation: 0.0, ..*value }).collect();
            values[begin..begin + 2].iter_mut().for_each(|value| value.deviation = 0.01);
            assert_eq!(find_cuts(&values, 1), []);
        }
    }

    #[test]
    fn a_record_that_saw_much_noise_weighs_little() {
        let mut values = series(3, 20, |_| 0.0);
        for value in &mut values[16..] {
            *value = Value { value: value.value - 0.05, deviation: 0.5 };
        }
        assert_eq!(find_cuts(&values, 1), []);
    }

    #[test]
    fn few_or_equal_values_are_not_cut() {
        assert_eq!((least_values(1), least_values(4)), (8, 10));
        for length in 0..least_values(1) {
            assert_eq!(find_cuts(&series(1, length, |at| if at < length / 2 { 0.0 } else { 1.0 }), 1), []);
        }
        assert_eq!(find_cuts(&[Value { value: 1.0, deviation: 0.0 }; 50], 1), []);
        let mut steps = [Value { value: 1.0, deviation: 0.0 }; 16];
        steps[8..].iter_mut().for_each(|value| value.value = 2.0);
        assert_eq!(find_cuts(&steps, 4).len(), 1);
    }
}
