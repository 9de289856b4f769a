//! Long numbers in decimal limbs. `bignum-power`: 7 to the power of 999,999, the work of `echo "7^999999" | bc`: long
//! products. `pi`: 5,000 digits of π by the arctangent's series, the work of `bc`'s `4*a(1)`: short products and divisions.

use kernels::bignum::{self, Limb, PI_CHECK, PI_DIGITS, POWER, POWER_CHECK};
use record::{Template, Unavailable, text};

use super::workload::{Definition, Site, Worker, Workload, WrongResult};

/// A long number that is computed, and what is known of it.
#[derive(Clone, Copy)]
pub(super) struct LongNumber {
    name: &'static str,
    work: Template,
    /// Limbs of the result, and of what is needed beside it.
    limbs: fn() -> (usize, usize),
    /// Computes it; how many limbs it has.
    compute: fn(&mut [Limb], &mut [Limb]) -> usize,
    /// What is left of it modulo 2^61 - 1.
    rest: u64,
    wrong: Template,
}

pub(super) static LONG_NUMBERS: [LongNumber; 2] = [
    LongNumber {
        name: "bignum-power",
        work: Template { code: "work-bignum-power", words: "7^999999 computed" },
        limbs: bignum::power_limbs,
        compute: |result, scratch| bignum::power(POWER.0, POWER.1, result, scratch),
        rest: POWER_CHECK,
        wrong: Template {
            code: "workload-power-wrong",
            words: "7^999999 is {rest} modulo 2^61 - 1 instead of {right}",
        },
    },
    LongNumber {
        name: "pi",
        work: Template { code: "work-pi", words: "5,000 digits of pi computed" },
        limbs: || bignum::pi_limbs(PI_DIGITS),
        compute: |result, scratch| bignum::pi(PI_DIGITS, result, scratch),
        rest: PI_CHECK,
        wrong: Template {
            code: "workload-pi-wrong",
            words: "5,000 digits of pi are {rest} modulo 2^61 - 1 instead of {right}",
        },
    },
];

impl LongNumber {
    fn worker(self) -> Computing {
        let (result, scratch) = (self.limbs)();
        // Written, not only reserved: the pages shall be this thread's.
        Computing { number: self, result: vec![1; result], scratch: vec![1; scratch], wrong: None }
    }
}

impl Workload for LongNumber {
    fn definition(&self) -> Definition {
        let (result, scratch) = (self.limbs)();
        let bytes = ((result + scratch) * size_of::<Limb>()) as u64;
        Definition { pass: true, bytes, indivisible: true, ..Definition::new(self.name, self.work) }
    }

    fn prepare(&self, _: &Site) -> Result<Box<dyn Worker>, Unavailable> {
        Ok(Box::new(self.worker()))
    }
}

struct Computing {
    number: LongNumber,
    result: Vec<Limb>,
    scratch: Vec<Limb>,
    wrong: Option<u64>,
}

impl Worker for Computing {
    fn round(&mut self) -> f64 {
        let limbs = (self.number.compute)(&mut self.result, &mut self.scratch);
        // One sum over the limbs: a two-thousandth of the work.
        let rest = bignum::check(&self.result[..limbs]);
        if rest != self.number.rest {
            self.wrong = Some(rest);
        }
        1.0
    }

    fn verify(&mut self) -> Result<(), WrongResult> {
        let (wrong, right) = (self.number.wrong, self.number.rest);
        self.wrong.map_or(Ok(()), |rest| Err(WrongResult(text!(wrong, rest, right))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_product_is_reported() {
        let mut worker = LONG_NUMBERS[0].worker();
        assert_eq!(worker.round(), 1.0);
        assert_eq!(worker.verify(), Ok(()));
        worker.wrong = Some(5);
        assert_eq!(worker.verify().unwrap_err().0.value("rest"), Some(&5u64.into()));
    }
}
