//! `nop`: instructions that do nothing. Its IPC is the number of instructions that a core takes in a cycle.

use kernels::chain::NOPS;
use record::Unavailable;

use super::workload::{Site, Worker, Workload, WrongResult, iterations_a_round};

/// See the module.
pub(crate) struct Nop;

impl Workload for Nop {
    fn name(&self) -> &'static str {
        "nop"
    }

    fn work(&self) -> &'static str {
        "nop"
    }

    fn instructions(&self) -> Option<f64> {
        Some(f64::from(NOPS.work.instructions) / f64::from(NOPS.work.operations))
    }

    fn prepare(&self, _: &Site) -> Result<Box<dyn Worker>, Unavailable> {
        Ok(Box::new(Loop { iterations: iterations_a_round(NOPS.run) }))
    }
}

struct Loop {
    iterations: u64,
}

impl Worker for Loop {
    fn round(&mut self) -> f64 {
        (NOPS.run)(self.iterations);
        self.iterations as f64 * f64::from(NOPS.work.operations)
    }

    /// It computes nothing.
    fn verify(&mut self) -> Result<(), WrongResult> {
        Ok(())
    }
}
