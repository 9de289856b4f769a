//! Sizes of caches as printed by lscpu: rounded to a tenth of a MiB, and often the sum over all caches of a kind.

use std::ops::RangeInclusive;

use crate::numbers::split_size;

/// Largest odd factors in the size of an L1 and of an L2 cache: for example, 48 KiB is 3 × 2^14, and 1.25 MiB is 5 × 2^18.
const LARGEST_FACTORS: [u64; 2] = [5, 15];

/// Sizes of last-level caches are multiples of this: Intel has slices of 1.375 MiB.
const SLICE: u64 = 128 << 10;

/// Possible sizes of a cache.
const SIZES: RangeInclusive<u64> = 256..=1 << 40;

/// A printed size, and the range of sizes in bytes that would be printed like this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Printed {
    printed: f64,
    /// Half a unit of the last digit.
    half: f64,
}

impl Printed {
    /// `1.3 MiB (40 instances)`, `1.3M`, `36608K`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (value, shift, _) = split_size(text)?;
        let unit = (1_u64 << shift) as f64;
        let half = if value.fract() == 0.0 && unit < 1_048_576.0 { 0.0 } else { 0.05 * unit };
        (value > 0.0 && value * unit < 2f64.powi(60)).then_some(Self { printed: value * unit, half })
    }

    /// Whether a cache of this many bytes would be printed as this size.
    fn fits(self, bytes: u64) -> bool {
        let (least, most) = self.bounds();
        (least..=most).contains(&(bytes as f64))
    }

    /// The size in bytes of each of `count` equal caches; `None` if no size, or more than one size, matches the printed sum.
    pub(crate) fn one(self, level: u32, count: u32) -> Option<u64> {
        let count = u64::from(count);
        let possible =
            |one: &u64| SIZES.contains(one) && count.checked_mul(*one).is_some_and(|all| self.fits(all));
        let even =
            (self.printed as u64).checked_div(count).filter(|one| possible(one) && is_size(level, *one));
        if even.is_some() {
            return even;
        }
        let mut found: Box<dyn Iterator<Item = u64>> = if level > 2 {
            let least = ((self.printed - self.half) / count as f64 / SLICE as f64).ceil() as u64;
            Box::new((least..least.saturating_add(3)).map(|slices| slices.saturating_mul(SLICE)))
        } else {
            let of = |factor: u64| (8..40).map(move |shift| factor << shift);
            Box::new((1..=LARGEST_FACTORS[usize::from(level > 1)]).step_by(2).flat_map(of))
        };
        let one = found.find(possible)?;
        found.all(|other| !possible(&other)).then_some(one)
    }

    /// The possible numbers of caches, each of `one` bytes; empty if there are none.
    pub(crate) fn counts(self, one: u64) -> RangeInclusive<u32> {
        let (least, most) = self.bounds();
        (least / one as f64).ceil() as u32..=(most / one as f64).floor() as u32
    }

    /// The smallest and the largest number of bytes that would be printed as this size: exact halves are rounded up, and a tenth cannot be
    /// represented exactly.
    fn bounds(self) -> (f64, f64) {
        if self.half == 0.0 {
            (self.printed, self.printed)
        } else {
            (self.printed - self.half - 0.5, self.printed + self.half - 1.0)
        }
    }
}

/// Whether this is a possible size for a cache of this level.
fn is_size(level: u32, bytes: u64) -> bool {
    let factor = || bytes >> bytes.trailing_zeros();
    if level > 2 { bytes.is_multiple_of(1024) } else { factor() <= LARGEST_FACTORS[usize::from(level > 1)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_rounded_sum_is_a_size_that_caches_have() {
        for (text, level, count, one) in [
            ("1.3 MiB (40 instances)", 1, 40, Some(32 << 10)),
            ("2.6 MiB (56 instances)", 1, 56, Some(48 << 10)),
            ("3.8 MiB (80 instances)", 1, 80, Some(48 << 10)),
            ("1 MiB (32 instances)", 1, 32, Some(32 << 10)),
            ("1.1 MiB (36 instances)", 1, 36, Some(32 << 10)),
            ("80 MiB (64 instances)", 2, 64, Some(5 << 18)),
            ("2097152 (2 instances)", 2, 2, Some(1 << 20)),
            ("71.5 MiB (2 instances)", 3, 2, Some(36_608 << 10)),
            ("35.8 MiB (1 instance)", 3, 1, Some(36_608 << 10)),
            ("1.3M", 2, 1, Some(5 << 18)),
            ("36608K", 3, 1, Some(36_608 << 10)),
            // Two kinds of core.
            ("544 KiB (14 instances)", 1, 14, None),
            ("11.5 MiB (8 instances)", 2, 8, None),
            ("14 MiB (10 instances)", 2, 10, None),
        ] {
            assert_eq!(Printed::read(text).and_then(|size| size.one(level, count)), one, "{text}");
        }
        let counts =
            |text: &str, one: u64| Printed::read(text).map(|size| size.counts(one).collect::<Vec<_>>());
        for (text, one, expected) in [
            ("11.5M", 5 << 18, &[][..]),
            ("704K", 48 << 10, &[]),
            ("2.6M", 48 << 10, &[55, 56]),
            ("1280K", 32 << 10, &[40]),
            ("24M", 8 << 20, &[3]),
        ] {
            assert_eq!(counts(text, one).as_deref(), Some(expected), "{text}");
        }
    }
}
