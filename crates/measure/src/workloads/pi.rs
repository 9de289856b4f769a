//! `pi`: 5,000 digits of π by the arctangent's series, the work of `bc`'s `4*a(1)`: short products and divisions.

use kernels::bignum::{Limb, PI_CHECK, PI_DIGITS, check, pi, pi_limbs};
use record::{Machine, Unavailable, text};

use super::workload::{Site, Worker, Workload, WrongResult};

/// See the module.
pub(crate) struct Pi;

impl Workload for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn work(&self) -> &'static str {
        "5,000 digits of pi computed"
    }

    fn instructions(&self) -> Option<f64> {
        None
    }

    fn pass(&self) -> Option<f64> {
        Some(1.0)
    }

    fn bytes(&self, _: &Machine) -> u64 {
        let (result, scratch) = pi_limbs(PI_DIGITS);
        ((result + scratch) * size_of::<Limb>()) as u64
    }

    fn indivisible(&self) -> bool {
        true
    }

    fn prepare(&self, _: &Site) -> Result<Box<dyn Worker>, Unavailable> {
        let (result, scratch) = pi_limbs(PI_DIGITS);
        Ok(Box::new(Digits { result: vec![1; result], scratch: vec![1; scratch], wrong: None }))
    }
}

struct Digits {
    result: Vec<Limb>,
    scratch: Vec<Limb>,
    wrong: Option<u64>,
}

impl Worker for Digits {
    fn round(&mut self) -> f64 {
        let limbs = pi(PI_DIGITS, &mut self.result, &mut self.scratch);
        let rest = check(&self.result[..limbs]);
        if rest != PI_CHECK {
            self.wrong = Some(rest);
        }
        1.0
    }

    fn verify(&mut self) -> Result<(), WrongResult> {
        match self.wrong {
            None => Ok(()),
            Some(rest) => Err(WrongResult(text!(
                "workload-pi-wrong",
                "5,000 digits of pi are {rest} modulo 2^61 - 1 instead of {right}",
                rest,
                right = PI_CHECK
            ))),
        }
    }
}
