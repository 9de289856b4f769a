//! Long numbers in decimal limbs. `bignum-power`: 7 to the power of 999,999, as in `echo "7^999999" | bc`, which
//! consists of long products. `pi`: 5,000 digits of π from the arctangent series, as in `bc`'s `4*a(1)`, which consists
//! of short products and divisions.

use kernels::bignum::{self, Limb, PI_CHECK, PI_DIGITS, POWER, POWER_CHECK};
use record::{Template, Unavailable, text};

use super::loops::checked;
use super::workload::{Definition, Site, Worker, Workload};

/// A computed long number, and its known properties.
#[derive(Clone, Copy)]
pub(super) struct LongNumber {
    name: &'static str,
    work: Template,
    /// Limbs of the result, and of the scratch space.
    limbs: fn() -> (usize, usize),
    /// Computes the number; returns its number of limbs.
    compute: fn(&mut [Limb], &mut [Limb]) -> usize,
    /// The number's remainder modulo 2^61 - 1.
    rest: u64,
    wrong: Template,
}

pub(super) static LONG_NUMBERS: [LongNumber; 2] = [
    LongNumber {
        name: "bignum-power",
        work: Template::new("work-bignum-power", "7^999999 computed"),
        limbs: bignum::power_limbs,
        compute: |result, scratch| bignum::power(POWER.0, POWER.1, result, scratch),
        rest: POWER_CHECK,
        wrong: Template::new("workload-power-wrong", "7^999999 modulo 2^61 - 1 is {rest}, expected {right}"),
    },
    LongNumber {
        name: "pi",
        work: Template::new("work-pi", "5,000 digits of pi computed"),
        limbs: || bignum::pi_limbs(PI_DIGITS),
        compute: |result, scratch| bignum::pi(PI_DIGITS, result, scratch),
        rest: PI_CHECK,
        wrong: Template::new(
            "workload-pi-wrong",
            "5,000 digits of pi modulo 2^61 - 1 are {rest}, expected {right}",
        ),
    },
];

impl Workload for LongNumber {
    fn definition(&self) -> Definition {
        let (result, scratch) = (self.limbs)();
        let bytes = ((result + scratch) * size_of::<Limb>()) as u64;
        Definition { pass: true, bytes, indivisible: true, ..Definition::new(self.name, self.work) }
    }

    fn prepare(&self, _: &Site) -> Result<Box<dyn Worker>, Unavailable> {
        let (number, (result, scratch)) = (*self, (self.limbs)());
        // The memory is written, not only reserved, so that its pages are on this thread's node.
        let (mut result, mut scratch) = (vec![1; result], vec![1; scratch]);
        Ok(checked(move || {
            let limbs = (number.compute)(&mut result, &mut scratch);
            // The check sums up the limbs once, which is 0.05 % of the work.
            let rest = bignum::check(&result[..limbs]);
            let (wrong, right) = (number.wrong, number.rest);
            (1.0, (rest != right).then(|| text!(wrong, rest, right)))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_product_is_reported() {
        let wrong = LongNumber { rest: LONG_NUMBERS[0].rest - 1, ..LONG_NUMBERS[0] };
        for right in [true, false] {
            let number = if right { LONG_NUMBERS[0] } else { wrong };
            let mut worker = number.prepare(&Site { cpu: 0, pool: None }).unwrap();
            assert_eq!(worker.round(), 1.0);
            assert_eq!(worker.verify().is_ok(), right);
        }
    }
}
