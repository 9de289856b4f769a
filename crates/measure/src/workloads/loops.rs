//! `nop` and `cpu-bound`: loops of nops. Also contains workers for loops without results, and for work with a check
//! after each round.
//!
//! The IPC of `nop` is the number of instructions that a core can issue per cycle. `cpu-bound` is the loop of three
//! nops that published comparisons use to show a core's speed without any waiting.

use kernels::Work;
use kernels::chain::{Chain, NOPS};
use kernels::cpu_bound::CPU_BOUND;
use record::{Template, Text, Unavailable};

use super::workload::{Definition, Site, Worker, Workload, WrongResult, iterations_a_round};

/// A loop of nops.
pub(super) struct NopLoop {
    name: &'static str,
    work: Template,
    chain: Chain,
}

pub(super) static LOOPS: [NopLoop; 2] = [
    NopLoop { name: "nop", work: Template::new("work-nop", "nop"), chain: NOPS },
    NopLoop {
        name: "cpu-bound",
        work: Template::new("work-cpu-bound", "round of a loop of three nops"),
        chain: CPU_BOUND,
    },
];

impl Workload for NopLoop {
    fn definition(&self) -> Definition {
        Definition::new(self.name, self.work)
    }

    fn instructions(&self) -> Option<f64> {
        Some(instructions_each(&self.chain.work))
    }

    fn prepare(&self, _: &Site) -> Result<Box<dyn Worker>, Unavailable> {
        Ok(repeat(&self.chain.work, self.chain.run, || Ok(())))
    }
}

/// Instructions per operation of a loop.
pub(super) fn instructions_each(work: &Work) -> f64 {
    f64::from(work.instructions) / f64::from(work.operations)
}

/// A worker that repeatedly executes the loop `run` and verifies its result with `verify`.
pub(super) fn repeat(
    work: &Work,
    run: impl Fn(u64) + Send + 'static,
    verify: impl Fn() -> Result<(), WrongResult> + Send + 'static,
) -> Box<dyn Worker> {
    Box::new(Loop { iterations: iterations_a_round(&run), run, verify, operations: work.operations })
}

struct Loop<R, V> {
    run: R,
    verify: V,
    iterations: u64,
    operations: u32,
}

impl<R: Fn(u64) + Send, V: Fn() -> Result<(), WrongResult> + Send> Worker for Loop<R, V> {
    fn round(&mut self) -> f64 {
        (self.run)(self.iterations);
        self.iterations as f64 * f64::from(self.operations)
    }

    fn verify(&mut self) -> Result<(), WrongResult> {
        (self.verify)()
    }
}

/// A worker whose rounds return their amount of work and any error in the result. The first error is kept.
pub(super) fn checked(round: impl FnMut() -> (f64, Option<Text>) + Send + 'static) -> Box<dyn Worker> {
    Box::new(Checked { round, wrong: None })
}

struct Checked<R> {
    round: R,
    wrong: Option<Text>,
}

impl<R: FnMut() -> (f64, Option<Text>) + Send> Worker for Checked<R> {
    fn round(&mut self) -> f64 {
        let (done, wrong) = (self.round)();
        if self.wrong.is_none() {
            self.wrong = wrong;
        }
        done
    }

    fn verify(&mut self) -> Result<(), WrongResult> {
        self.wrong.clone().map_or(Ok(()), |wrong| Err(WrongResult(wrong)))
    }
}
