//! Limbs, the digits of long numbers.

/// 18 decimal digits.
pub type Limb = u64;

/// The base of a limb: 10¹⁸, so that a sum of 340 products of two limbs fits in 128 bits.
pub const BASE: Limb = 1_000_000_000_000_000_000;

/// Decimal digits of a limb.
pub const LIMB_DIGITS: usize = 18;
