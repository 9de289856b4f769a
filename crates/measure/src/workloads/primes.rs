//! `primes`: counts primes below 1,000,000 by trial division, the same work as in the comparison of kernel and user mode.

use record::{Template, Text, Unavailable, text};
use std::sync::LazyLock;

use kernels::primes::{KNOWN, LIMIT, count, instructions};

use super::workload::{Definition, Site, Worker, Workload, WrongResult};

/// The workload that this module describes.
pub(crate) struct Primes;

/// Numbers per chunk: 0.1 to 1 ms on any current core, because a number needs 68 divisions on average.
const PORTION: u64 = 1_000;

/// The expected result of a chunk, and its share of a pass's instructions.
struct Portion {
    primes: u64,
    share: f64,
}

/// The chunks of a pass, and their total number of instructions. Computing them takes about half a pass.
static PORTIONS: LazyLock<(Vec<Portion>, f64)> = LazyLock::new(|| {
    let starts = || (0..LIMIT).step_by(PORTION as usize);
    let each: Vec<f64> = starts().map(|from| instructions(from, from + PORTION) as f64).collect();
    let all: f64 = each.iter().sum();
    let sieve = sieve(LIMIT as usize);
    let primes = |from: u64| sieve[from as usize..(from + PORTION) as usize].iter().filter(|p| **p).count();
    let portions = starts()
        .zip(&each)
        .map(|(from, instructions)| Portion { primes: primes(from) as u64, share: instructions / all })
        .collect();
    (portions, all)
});

/// Uses the sieve of Eratosthenes to determine which numbers below `limit` are prime. The sieve is independent of the method
/// that it verifies.
fn sieve(limit: usize) -> Vec<bool> {
    let mut prime = vec![true; limit];
    prime.iter_mut().take(2).for_each(|p| *p = false);
    for number in (2..).take_while(|number| number * number < limit) {
        if prime[number] {
            (number * number..limit).step_by(number).for_each(|multiple| prime[multiple] = false);
        }
    }
    prime
}

impl Workload for Primes {
    fn definition(&self) -> Definition {
        let work = Template::new("work-primes", "primes below 1,000,000 counted");
        Definition { pass: true, ..Definition::new("primes", work) }
    }

    fn instructions(&self) -> Option<f64> {
        Some(PORTIONS.1)
    }

    fn prepare(&self, _: &Site) -> Result<Box<dyn Worker>, Unavailable> {
        // The chunks are computed here, so that this is not part of the first timed slice.
        LazyLock::force(&PORTIONS);
        Ok(Box::new(Counting { next: 0, found: 0, passes: 0, wrong: None }))
    }
}

struct Counting {
    next: usize,
    found: u64,
    passes: u64,
    wrong: Option<Text>,
}

impl Worker for Counting {
    fn round(&mut self) -> f64 {
        let portion = &PORTIONS.0[self.next];
        let from = self.next as u64 * PORTION;
        let found = count(from, from + PORTION);
        if found != portion.primes && self.wrong.is_none() {
            let below = from + PORTION;
            self.wrong = Some(text!(
                "{found} primes from {from} to {below}, expected {right}",
                right = portion.primes
            ));
        }
        self.found += found;
        self.next += 1;
        if self.next == PORTIONS.0.len() {
            self.next = 0;
            self.passes += 1;
        }
        portion.share
    }

    fn verify(&mut self) -> Result<(), WrongResult> {
        if let Some(wrong) = &self.wrong {
            return Err(WrongResult(wrong.clone()));
        }
        // Complete passes are compared with the published number, the rest with the sieve.
        let rest: u64 = PORTIONS.0[..self.next].iter().map(|portion| portion.primes).sum();
        let expected = self.passes * KNOWN + rest;
        if self.found == expected {
            Ok(())
        } else {
            Err(WrongResult(text!(
                "{found} primes in {passes} complete passes and part of another, expected {expected}",
                found = self.found,
                passes = self.passes
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting() -> Counting {
        Counting { next: 0, found: 0, passes: 0, wrong: None }
    }

    #[test]
    fn portions_are_a_pass() {
        let (portions, all) = &*PORTIONS;
        assert_eq!(portions.iter().map(|portion| portion.primes).sum::<u64>(), KNOWN);
        let shares: f64 = portions.iter().map(|portion| portion.share).sum();
        assert!((shares - 1.0).abs() < 1e-9);
        // The calls of a thousand chunks are negligible compared with the divisions.
        assert!((all / kernels::primes::INSTRUCTIONS as f64 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn a_prime_too_few_is_noticed() {
        let mut worker = counting();
        (0..1_000).for_each(|_| {
            worker.round();
        });
        assert_eq!((worker.passes, worker.found, worker.verify()), (1, KNOWN, Ok(())));
        worker.found -= 1;
        assert_eq!(worker.verify().unwrap_err().0.value("found"), Some(&78_497u64.into()));
    }
}
