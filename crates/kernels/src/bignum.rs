//! Long numbers in a decimal base, for two calculations that are common `bc` benchmarks: a power and π.
//!
//! A number is a slice of [`Limb`]s below [`BASE`], lowest first, in memory provided by the caller. Numbers are decimal
//! and use the same algorithms as in `bc` (Karatsuba multiplication, powers from the lowest bit up, the arctangent from
//! its library), but with 18 digits per limb instead of one. The code is therefore faster than `bc`. Nearly all of the
//! work is double-word multiplication and carries.

mod divide;
mod limb;
mod multiply;
mod pi;

pub use limb::{BASE, LIMB_DIGITS, Limb};
pub use pi::{PI_CHECK, PI_DIGITS, pi, pi_limbs};

use multiply::{multiply, scratch_limbs};

/// Base and exponent of the usual benchmark: `echo "7^999999" | bc`.
pub const POWER: (u32, u32) = (7, 999_999);

/// [`check`] of that power: 7⁹⁹⁹⁹⁹⁹ modulo 2⁶¹ − 1.
pub const POWER_CHECK: u64 = 1_551_305_960_039_184_760;

/// The numbers of limbs that [`power`] needs for [`POWER`]: for the result and for scratch space.
pub fn power_limbs() -> (usize, usize) {
    limbs_for_power(POWER.0, POWER.1)
}

/// The numbers of limbs that [`power`] needs for any power: for the result (a few more than necessary) and for scratch
/// space.
pub fn limbs_for_power(base: u32, exponent: u32) -> (usize, usize) {
    let digits = f64::from(base.max(1)).log10() * f64::from(exponent);
    let result = (digits / LIMB_DIGITS as f64) as usize + 3;
    (result, 2 * result + scratch_limbs(result))
}

/// Sets `result` to `base` to the power of `exponent` and returns its number of limbs (0⁰ is 1, as in `bc`).
/// Squares and multiplies from the lowest bit of the exponent upwards, as `bc` does.
///
/// # Panics
/// If `result` or `scratch` is shorter than [`limbs_for_power`] requires.
pub fn power(base: u32, exponent: u32, result: &mut [Limb], scratch: &mut [Limb]) -> usize {
    let (most, scratch_most) = limbs_for_power(base, exponent);
    let (result, scratch) = (&mut result[..most], &mut scratch[..scratch_most]);
    let (square, scratch) = scratch.split_at_mut(most);
    let (product, scratch) = scratch.split_at_mut(most);
    result[0] = 1;
    square[0] = Limb::from(base);
    let (mut limbs, mut square_limbs) = (1, 1);
    // The first factor is copied instead of being multiplied by 1, as in `bc`.
    let mut begun = false;
    let mut left = exponent;
    while left > 0 {
        if left & 1 == 1 {
            let factor = &square[..square_limbs];
            if begun {
                limbs = multiply_by(result, limbs, factor, product, scratch);
            } else {
                result[..square_limbs].copy_from_slice(factor);
                (limbs, begun) = (square_limbs, true);
            }
        }
        left >>= 1;
        if left > 0 {
            let product = &mut product[..2 * square_limbs];
            multiply(product, &square[..square_limbs], &square[..square_limbs], scratch);
            square_limbs = significant(product).max(1);
            square[..square_limbs].copy_from_slice(&product[..square_limbs]);
        }
    }
    limbs
}

/// Multiplies the number in the first `limbs` of `number` by `factor`; returns its new number of limbs.
fn multiply_by(
    number: &mut [Limb],
    limbs: usize,
    factor: &[Limb],
    product: &mut [Limb],
    scratch: &mut [Limb],
) -> usize {
    let product = &mut product[..limbs + factor.len()];
    multiply(product, &number[..limbs], factor, scratch);
    let limbs = significant(product).max(1);
    number[..limbs].copy_from_slice(&product[..limbs]);
    limbs
}

/// The number of limbs without leading zeros.
fn significant(number: &[Limb]) -> usize {
    number.iter().rposition(|limb| *limb != 0).map_or(0, |last| last + 1)
}

/// The number modulo the prime 2⁶¹ − 1, computed as one sum over its limbs, to verify a result. (A wrong result passes
/// with a probability of 1 in 2·10¹⁸.)
pub fn check(number: &[Limb]) -> u64 {
    const PRIME: u64 = (1 << 61) - 1;
    number.iter().rev().fold(0, |rest, limb| {
        // The sum is below 2¹²², so adding its upper bits to its lowest 61 bits yields less than 2 × PRIME + 1.
        let sum = u128::from(rest) * u128::from(BASE) + u128::from(*limb);
        let folded = (sum as u64 & PRIME) + (sum >> 61) as u64;
        if folded >= PRIME { folded - PRIME } else { folded }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn power_text(base: u32, exponent: u32) -> String {
        let (limbs, scratch) = limbs_for_power(base, exponent);
        // Not zero at first, because the previous contents must not matter.
        let (mut result, mut scratch) = (vec![BASE - 1; limbs], vec![BASE - 1; scratch]);
        let used = power(base, exponent, &mut result, &mut scratch);
        assert!(used <= limbs && (used == 1 || result[used - 1] != 0), "{base}^{exponent}: {used} limbs");
        text(&result[..used])
    }

    pub(super) fn text(number: &[Limb]) -> String {
        let digits: String = number.iter().rev().map(|limb| format!("{limb:018}")).collect();
        let text = digits.trim_start_matches('0').to_owned();
        if text.is_empty() { "0".to_owned() } else { text }
    }

    #[test]
    fn small_powers_are_right() {
        for base in [0, 1, 2, 3, 7, 10, 99, 65_536, u32::MAX] {
            for exponent in 0..=3u32 {
                let expected = u128::from(base).pow(exponent).to_string();
                assert_eq!(power_text(base, exponent), expected, "{base}^{exponent}");
            }
        }
        assert_eq!(power_text(2, 127), (1u128 << 127).to_string());
        assert_eq!(power_text(10, 36), format!("1{}", "0".repeat(36)));
        assert_eq!(power_text(1, u32::MAX), "1");
        assert_eq!(power_text(0, u32::MAX), "0");
    }

    #[test]
    fn the_power_that_is_timed_is_what_modular_arithmetic_says() {
        let modulus = (1u128 << 61) - 1;
        let (mut expected, mut square, mut left) = (1u128, u128::from(POWER.0), POWER.1);
        while left > 0 {
            if left & 1 == 1 {
                expected = expected * square % modulus;
            }
            square = square * square % modulus;
            left >>= 1;
        }
        assert_eq!(u128::from(POWER_CHECK), expected);
        let (limbs, scratch) = power_limbs();
        let (mut result, mut scratch) = (vec![0; limbs], vec![0; scratch]);
        let used = power(POWER.0, POWER.1, &mut result, &mut scratch);
        assert_eq!(check(&result[..used]), POWER_CHECK, "every correct result would be rejected");
        result[used / 2] ^= 1;
        assert_ne!(check(&result[..used]), POWER_CHECK, "a wrong digit would pass");
    }

    #[test]
    fn the_check_is_the_rest_of_a_division() {
        for number in
            [0, 1, (1u128 << 61) - 2, (1 << 61) - 1, 1 << 61, 987_654_321_987_654_321_987_654_321_987_654]
        {
            let limbs = [(number % u128::from(BASE)) as Limb, (number / u128::from(BASE)) as Limb];
            assert_eq!(u128::from(check(&limbs)), number % ((1 << 61) - 1), "{number}");
        }
    }
}
