//! `bignum-power`: 7 to the power of 999,999 in decimal limbs, the work of `echo "7^999999" | bc`: long products.

use kernels::bignum::{Limb, POWER, POWER_CHECK, check, power, power_limbs};
use record::{Machine, Unavailable, text};

use super::workload::{Site, Worker, Workload, WrongResult};

/// See the module.
pub(crate) struct BignumPower;

impl Workload for BignumPower {
    fn name(&self) -> &'static str {
        "bignum-power"
    }

    fn work(&self) -> &'static str {
        "7^999999 computed"
    }

    fn instructions(&self) -> Option<f64> {
        None
    }

    fn pass(&self) -> Option<f64> {
        Some(1.0)
    }

    fn bytes(&self, _: &Machine) -> u64 {
        let (result, scratch) = power_limbs();
        ((result + scratch) * size_of::<Limb>()) as u64
    }

    fn indivisible(&self) -> bool {
        true
    }

    fn prepare(&self, _: &Site) -> Result<Box<dyn Worker>, Unavailable> {
        let (result, scratch) = power_limbs();
        // Written, not only reserved: the pages shall be this thread's.
        Ok(Box::new(Power { result: vec![1; result], scratch: vec![1; scratch], wrong: None }))
    }
}

struct Power {
    result: Vec<Limb>,
    scratch: Vec<Limb>,
    wrong: Option<u64>,
}

impl Worker for Power {
    fn round(&mut self) -> f64 {
        let limbs = power(POWER.0, POWER.1, &mut self.result, &mut self.scratch);
        // One sum over the limbs: a two-thousandth of the power's own work.
        let rest = check(&self.result[..limbs]);
        if rest != POWER_CHECK {
            self.wrong = Some(rest);
        }
        1.0
    }

    fn verify(&mut self) -> Result<(), WrongResult> {
        match self.wrong {
            None => Ok(()),
            Some(rest) => Err(WrongResult(text!(
                "workload-power-wrong",
                "7^999999 is {rest} modulo 2^61 - 1 instead of {right}",
                rest,
                right = POWER_CHECK
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_product_is_reported() {
        let (result, scratch) = power_limbs();
        let mut worker = Power { result: vec![1; result], scratch: vec![1; scratch], wrong: None };
        assert_eq!(worker.round(), 1.0);
        assert_eq!(worker.verify(), Ok(()));
        worker.wrong = Some(5);
        assert_eq!(worker.verify().unwrap_err().0.value("rest"), Some(&5u64.into()));
    }
}
