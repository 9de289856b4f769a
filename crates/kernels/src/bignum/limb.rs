//! Limbs, the digits of long numbers.

/// 18 decimal digits.
pub type Limb = u64;

/// The base of a limb: 10¹⁸, because 340 products of two limbs then fit a sum of 128 bits.
pub const BASE: Limb = 1_000_000_000_000_000_000;

/// Decimal digits of a limb.
pub const LIMB_DIGITS: usize = 18;
