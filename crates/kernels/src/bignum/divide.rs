//! Division of a two-word number by a constant word, by multiplication with its reciprocal. It yields the carries
//! between limbs in a decimal base. The corresponding division instructions are slow, or absent on aarch64.

/// A divisor with its reciprocal (Möller and Granlund, "Improved division by invariant integers", IEEE
/// Transactions on Computers 60, 2011, algorithm 4).
#[derive(Clone, Copy)]
pub(super) struct Divider {
    /// The divisor, shifted so that its highest bit is set.
    divisor: u64,
    shift: u32,
    /// ⌊(2¹²⁸ − 1) ÷ divisor⌋ − 2⁶⁴.
    reciprocal: u64,
}

impl Divider {
    /// Prepares this divisor, which must not be 0.
    pub(super) const fn new(divisor: u64) -> Divider {
        let shift = divisor.leading_zeros();
        let divisor = divisor << shift;
        Divider { divisor, shift, reciprocal: (u128::MAX / divisor as u128) as u64 }
    }

    /// The quotient and the remainder of a dividend that is less than the divisor × 2⁶⁴.
    #[inline(always)]
    pub(super) fn divide(&self, dividend: u128) -> (u64, u64) {
        let dividend = dividend << self.shift;
        let (high, low) = ((dividend >> 64) as u64, dividend as u64);
        let estimate = (u128::from(self.reciprocal) * u128::from(high)).wrapping_add(dividend);
        let mut quotient = ((estimate >> 64) as u64).wrapping_add(1);
        let mut rest = low.wrapping_sub(quotient.wrapping_mul(self.divisor));
        if rest > estimate as u64 {
            quotient = quotient.wrapping_sub(1);
            rest = rest.wrapping_add(self.divisor);
        }
        if rest >= self.divisor {
            quotient = quotient.wrapping_add(1);
            rest -= self.divisor;
        }
        (quotient, rest >> self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_those_of_plain_division() {
        let divisors =
            [1, 2, 3, 5, 7, 25, 2116, 7001, 1 << 32, 999_999_999_999_999_999, 1_000_000_000_000_000_000];
        for divisor in divisors.into_iter().chain([(1 << 63) - 1, 1 << 63, u64::MAX]) {
            let divider = Divider::new(divisor);
            // Dividends at both ends, and with every number of bits in between.
            let most = (u128::from(divisor) << 64) - 1;
            let between = (0..128).map(|bits| (0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834u128 >> bits) % most);
            for dividend in
                between.chain([0, 1, u128::from(divisor) - 1, u128::from(divisor), most - 1, most])
            {
                let plain =
                    ((dividend / u128::from(divisor)) as u64, (dividend % u128::from(divisor)) as u64);
                assert_eq!(divider.divide(dividend), plain, "{dividend} by {divisor}");
            }
        }
    }
}
