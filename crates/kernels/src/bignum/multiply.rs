//! Products of long numbers: schoolbook multiplication for short numbers, Karatsuba multiplication for longer ones.

use super::divide::Divider;
use super::limb::{BASE, Limb};

/// If the shorter number has at least this many limbs, three half-length products are cheaper than four. In tests, 16 and
/// 56 were slower, and 24 and 40 equally fast. The columns of the schoolbook product have room for 340 limbs.
const KARATSUBA: usize = 32;

/// Divides by [`BASE`].
const BY_BASE: Divider = Divider::new(BASE);

/// The number of scratch limbs that [`multiply`] needs if the longer number has `limbs`.
///
/// Each level of the recursion halves the length n. It keeps 2 ⌈n ÷ 2⌉ limbs in use during the deeper levels, and needs one more limb after
/// them. The total is at most 2 n, plus a few limbs for each of at most 64 levels.
pub(super) const fn scratch_limbs(limbs: usize) -> usize {
    2 * limbs + 160
}

/// Sets `product` to `a` × `b`; its length must be the sum of both lengths.
pub(super) fn multiply(product: &mut [Limb], a: &[Limb], b: &[Limb], scratch: &mut [Limb]) {
    let (a, b) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let half = a.len().div_ceil(2);
    if b.len() < KARATSUBA {
        schoolbook(product, a, b);
    } else if b.len() <= half {
        unequal(product, a, b, scratch);
    } else {
        karatsuba(product, a, b, half, scratch);
    }
}

/// Splits the longer number into pieces of the shorter number's length.
fn unequal(product: &mut [Limb], a: &[Limb], b: &[Limb], scratch: &mut [Limb]) {
    product.fill(0);
    let (piece_product, scratch) = scratch.split_at_mut(2 * b.len());
    for (i, piece) in a.chunks(b.len()).enumerate() {
        let piece_product = &mut piece_product[..piece.len() + b.len()];
        multiply(piece_product, piece, b, scratch);
        add(&mut product[i * b.len()..], piece_product);
    }
}

/// With x the weight of the upper halves: (a₀ + a₁ x)(b₀ + b₁ x) = z₀ + (z₀ + z₂ − (a₀ − a₁)(b₀ − b₁)) x + z₂ x², z₀ =
/// a₀ b₀, z₂ = a₁ b₁. Unlike the sums of the halves, their differences need no additional digits.
fn karatsuba(product: &mut [Limb], a: &[Limb], b: &[Limb], half: usize, scratch: &mut [Limb]) {
    let ((a_low, a_high), (b_low, b_high)) = (a.split_at(half), b.split_at(half));
    let (cross, scratch) = scratch.split_at_mut(2 * half);
    let (a_difference, rest) = product.split_at_mut(half);
    let b_difference = &mut rest[..half];
    let a_negative = difference(a_difference, a_low, a_high);
    let b_negative = difference(b_difference, b_low, b_high);
    multiply(cross, a_difference, b_difference, scratch);

    let (low, high) = product.split_at_mut(2 * half);
    multiply(low, a_low, b_low, scratch);
    multiply(high, a_high, b_high, scratch);

    let middle = &mut scratch[..2 * half + 1];
    middle[..2 * half].copy_from_slice(low);
    middle[2 * half] = 0;
    add(middle, high);
    if a_negative == b_negative {
        subtract(middle, cross);
    } else {
        add(middle, cross);
    }
    // Any limbs of the sum that do not fit in the product are 0.
    let upper = &mut product[half..];
    let room = upper.len().min(middle.len());
    add(upper, &middle[..room]);
}

/// Multiplies column by column, with one division per column for the carry.
fn schoolbook(product: &mut [Limb], a: &[Limb], b: &[Limb]) {
    let mut carry = 0u128;
    for (column, limb) in product.iter_mut().enumerate() {
        // All products a[i] × b[column - i] whose factors both exist.
        let first = (column + 1).saturating_sub(b.len()).min(a.len());
        let last = (column + 1).min(a.len());
        let b_first = (column + 1 - last).min(b.len());
        let b_last = (column + 1 - first).min(b.len());
        let mut sum = carry;
        for (a, b) in a[first..last].iter().zip(b[b_first..b_last].iter().rev()) {
            // The sum stays below 340 × BASE², which is below 2¹²⁸.
            sum = sum.wrapping_add(u128::from(*a).wrapping_mul(u128::from(*b)));
        }
        (carry, *limb) = carried(sum);
    }
}

/// Splits a column's sum into the carry to the next column and the remaining limb.
#[inline(always)]
fn carried(sum: u128) -> (u128, Limb) {
    let high = (sum >> 64) as u64;
    let (above, rest) = (high / BASE, high % BASE);
    let (quotient, limb) = BY_BASE.divide(u128::from(rest) << 64 | u128::from(sum as u64));
    (u128::from(above) << 64 | u128::from(quotient), limb)
}

/// `number += addend`, which must fit.
pub(super) fn add(number: &mut [Limb], addend: &[Limb]) {
    let (low, high) = number.split_at_mut(addend.len());
    let mut carry = 0;
    for (limb, addend) in low.iter_mut().zip(addend) {
        let sum = *limb + *addend + carry;
        carry = Limb::from(sum >= BASE);
        *limb = sum - BASE * carry;
    }
    for limb in high {
        if carry == 0 {
            return;
        }
        carry = Limb::from(*limb == BASE - 1);
        *limb = if carry == 1 { 0 } else { *limb + 1 };
    }
    debug_assert_eq!(carry, 0, "the sum does not fit");
}

/// `number -= subtrahend`, which must not be larger.
pub(super) fn subtract(number: &mut [Limb], subtrahend: &[Limb]) {
    let (low, high) = number.split_at_mut(subtrahend.len());
    let mut borrow = 0;
    for (limb, subtrahend) in low.iter_mut().zip(subtrahend) {
        let difference = (*limb + BASE) - (*subtrahend + borrow);
        borrow = Limb::from(difference < BASE);
        *limb = difference - BASE * (1 - borrow);
    }
    for limb in high {
        if borrow == 0 {
            return;
        }
        borrow = Limb::from(*limb == 0);
        *limb = if borrow == 1 { BASE - 1 } else { *limb - 1 };
    }
    debug_assert_eq!(borrow, 0, "the difference is negative");
}

/// Sets `out` to |`a` − `b`| and returns whether `a` was smaller. `b` must not be longer than `a`, and `out` must be as
/// long as `a`.
fn difference(out: &mut [Limb], a: &[Limb], b: &[Limb]) -> bool {
    let (a_low, a_high) = a.split_at(b.len());
    let negative = a_high.iter().all(|limb| *limb == 0) && a_low.iter().rev().lt(b.iter().rev());
    if negative {
        let (low, high) = out.split_at_mut(b.len());
        low.copy_from_slice(b);
        high.fill(0);
        subtract(out, a_low);
    } else {
        out.copy_from_slice(a);
        subtract(out, b);
    }
    negative
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random limbs, with runs of the smallest and largest limb, which cause long carries.
    fn number(limbs: usize, seed: u64) -> Vec<Limb> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 3
        };
        (0..limbs)
            .map(|_| match next() % 5 {
                0 => 0,
                1 | 2 => BASE - 1,
                _ => next() % BASE,
            })
            .collect()
    }

    /// The product row by row, with immediate carries: slow, and different from the tested algorithm.
    fn plain(a: &[Limb], b: &[Limb]) -> Vec<Limb> {
        let mut product = vec![0; a.len() + b.len()];
        for (i, a) in a.iter().enumerate() {
            let mut carry = 0;
            for (j, b) in b.iter().enumerate() {
                let sum = u128::from(product[i + j]) + u128::from(*a) * u128::from(*b) + carry;
                product[i + j] = (sum % u128::from(BASE)) as Limb;
                carry = sum / u128::from(BASE);
            }
            product[i + b.len()] = carry as Limb;
        }
        product
    }

    #[test]
    fn products_of_every_shape_are_right_and_need_no_more_scratch_than_said() {
        let lengths = [0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 66, 67, 96, 97, 127, 128, 129, 200, 257, 400];
        for a_limbs in lengths {
            for b_limbs in lengths {
                let (a, b) = (number(a_limbs, 3 + b_limbs as u64), number(b_limbs, 1000 + a_limbs as u64));
                let mut product = vec![7; a_limbs + b_limbs];
                let mut scratch = vec![9; scratch_limbs(a_limbs.max(b_limbs))];
                multiply(&mut product, &a, &b, &mut scratch);
                assert!(product == plain(&a, &b), "{a_limbs} limbs by {b_limbs}");
            }
        }
        // All limbs have the largest value, so the sums of the columns are as large as possible.
        for limbs in [31, 32, 100, 1000] {
            let nines = vec![BASE - 1; limbs];
            let mut product = vec![0; 2 * limbs];
            multiply(&mut product, &nines, &nines, &mut vec![0; scratch_limbs(limbs)]);
            assert!(product == plain(&nines, &nines), "{limbs} limbs of nines");
        }
    }

    #[test]
    fn scratch_suffices_at_every_length() {
        // Scratch slices have exactly the declared length, so a length for which they are too short panics.
        for limbs in (1..2000).step_by(7).chain([4097, 24_611]) {
            let a = vec![1; limbs];
            for b_limbs in [limbs, limbs / 2 + 1, limbs / 2, limbs / 3] {
                let mut product = vec![0; limbs + b_limbs];
                multiply(&mut product, &a, &a[..b_limbs], &mut vec![0; scratch_limbs(limbs)]);
                // 11…1 × 11…1 has its largest digit at the columns to which all limbs of the shorter number contribute.
                assert_eq!(product.iter().max(), Some(&(b_limbs as Limb)), "{limbs} by {b_limbs}");
            }
        }
    }
}
