//! Computes π as `bc`'s library does for `4*a(1)`: the arctangent series at 9/46, plus three times the series at 1/5.

use super::divide::Divider;
use super::limb::{BASE, LIMB_DIGITS, Limb};
use super::multiply::{add, multiply, scratch_limbs, subtract};
use super::significant;

/// The usual benchmark: `scale=5000; 4*a(1)`.
pub const PI_DIGITS: usize = 5_000;

/// [`super::check`] of `⌊π × 10⁵⁰⁰⁰⌋`.
pub const PI_CHECK: u64 = 1_876_120_096_635_483_078;

/// Additional limbs of a fraction, for rounding errors that accumulate over thousands of terms.
const GUARD: usize = 2;

fn fraction_limbs(digits: usize) -> usize {
    digits.div_ceil(LIMB_DIGITS) + GUARD
}

/// The numbers of limbs that [`pi`] needs: for the result and for scratch space.
pub fn pi_limbs(digits: usize) -> (usize, usize) {
    let fraction = fraction_limbs(digits);
    (fraction + 1, 6 * fraction + scratch_limbs(fraction))
}

/// Sets `result` to ⌊π × 10^`digits`⌋, the digits of π without the decimal point, and returns its number of limbs.
///
/// `bc` reduces the argument of an arctangent below 1/5 by subtracting arctan(1/5). For 1, this is done three times and
/// leaves 9/46. Both arctangents are then computed with the plain series. Each power of the argument is computed from
/// the previous one with a full-length product, except for 1/5, whose square is short.
///
/// # Panics
/// If `result` or `scratch` is shorter than [`pi_limbs`] requires.
pub fn pi(digits: usize, result: &mut [Limb], scratch: &mut [Limb]) -> usize {
    let fraction = fraction_limbs(digits);
    let result = &mut result[..fraction + 1];
    let (sum, scratch) = scratch.split_at_mut(fraction);
    result.fill(0);
    for (numerator, denominator, weight) in [(1, 5, 12), (9, 46, 4)] {
        arctangent(numerator, denominator, sum, scratch);
        let over = scale(sum, weight);
        add(result, sum);
        result[fraction] += over;
    }
    // The guard limbs, and the excess digits of the last limb, are dropped.
    let surplus = fraction * LIMB_DIGITS - digits;
    result.copy_within(surplus / LIMB_DIGITS.., 0);
    let limbs = result.len() - surplus / LIMB_DIGITS;
    divide(&mut result[..limbs], 10u64.pow((surplus % LIMB_DIGITS) as u32));
    significant(&result[..limbs])
}

/// Sets `sum` to the fraction arctan(`numerator` ÷ `denominator`), for an argument below 1.
fn arctangent(numerator: Limb, denominator: Limb, sum: &mut [Limb], scratch: &mut [Limb]) {
    let fraction = sum.len();
    let (power, scratch) = scratch.split_at_mut(fraction);
    let (square, scratch) = scratch.split_at_mut(fraction);
    let (term, scratch) = scratch.split_at_mut(fraction);
    let (product, scratch) = scratch.split_at_mut(2 * fraction);
    ratio(power, numerator, denominator);
    ratio(square, numerator * numerator, denominator * denominator);
    // A square that ends in zeros needs few limbs.
    let short = square.iter().position(|limb| *limb != 0).unwrap_or(fraction);
    let square = &square[short..];
    sum.copy_from_slice(power);
    let mut limbs = fraction;
    let (mut divisor, mut negative) = (3, true);
    loop {
        // Drops as many of the product's lowest limbs as the square has.
        let product = &mut product[..limbs + square.len()];
        multiply(product, &power[..limbs], square, scratch);
        let product = &product[square.len()..];
        limbs = significant(product);
        power[..limbs].copy_from_slice(&product[..limbs]);
        let term = &mut term[..limbs];
        term.copy_from_slice(&power[..limbs]);
        divide(term, divisor);
        if significant(term) == 0 {
            return;
        }
        if negative {
            subtract(sum, term)
        } else {
            add(sum, term)
        }
        divisor += 2;
        negative = !negative;
    }
}

/// Sets `number` to the fraction `numerator` ÷ `denominator`, below 1.
fn ratio(number: &mut [Limb], numerator: Limb, denominator: Limb) {
    number.fill(0);
    divide_rest(number, numerator, denominator);
}

/// `number /= divisor`, rounded down.
fn divide(number: &mut [Limb], divisor: Limb) {
    divide_rest(number, 0, divisor);
}

/// `number = (rest × BASEⁿ + number) ÷ divisor`, rounded down, where n is the number of limbs of `number`. `rest` must
/// be less than `divisor`.
fn divide_rest(number: &mut [Limb], mut rest: Limb, divisor: Limb) {
    let divider = Divider::new(divisor);
    for limb in number.iter_mut().rev() {
        (*limb, rest) = divider.divide(u128::from(rest) * u128::from(BASE) + u128::from(*limb));
    }
}

/// `number *= factor`; returns the part of the product that does not fit in its limbs.
fn scale(number: &mut [Limb], factor: Limb) -> Limb {
    let mut carry = 0;
    for limb in number {
        let product = u128::from(*limb) * u128::from(factor) + u128::from(carry);
        carry = (product / u128::from(BASE)) as Limb;
        *limb = (product % u128::from(BASE)) as Limb;
    }
    carry
}

#[cfg(test)]
mod tests {
    use super::super::tests::text;
    use super::*;

    fn digits(digits: usize) -> String {
        let (limbs, scratch) = pi_limbs(digits);
        // Not zero at first, because the previous contents must not matter.
        let (mut result, mut scratch) = (vec![BASE - 1; limbs], vec![BASE - 1; scratch]);
        let used = pi(digits, &mut result, &mut scratch);
        text(&result[..used])
    }

    #[test]
    fn the_first_digits_are_known() {
        assert_eq!(digits(0), "3");
        assert_eq!(digits(1), "31");
        assert_eq!(digits(50), "314159265358979323846264338327950288419716939937510");
        // Six nines in a row end at the 767th digit, so rounding up would be visible.
        assert_eq!(&digits(767)[762..], "999999");
    }

    #[test]
    fn fewer_digits_are_the_beginning_of_more() {
        let most = digits(400);
        for fewer in [17, 18, 19, 35, 36, 37, 54, 399] {
            assert_eq!(digits(fewer), most[..fewer + 1], "{fewer} digits");
        }
    }

    #[test]
    fn the_digits_that_are_timed_have_the_check_that_they_are_held_against() {
        let (limbs, scratch) = pi_limbs(PI_DIGITS);
        let (mut result, mut scratch) = (vec![0; limbs], vec![0; scratch]);
        let used = pi(PI_DIGITS, &mut result, &mut scratch);
        assert_eq!(text(&result[..used]).len(), PI_DIGITS + 1);
        assert_eq!(super::super::check(&result[..used]), PI_CHECK, "every correct result would be rejected");
    }
}
