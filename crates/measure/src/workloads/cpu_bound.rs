//! `cpu-bound`: the loop of three nops by which published comparisons tell what a core does with nothing to wait for.

use kernels::cpu_bound::CPU_BOUND;
use record::Unavailable;

use super::workload::{Site, Worker, Workload, WrongResult, iterations_a_round};

/// See the module.
pub(crate) struct CpuBound;

impl Workload for CpuBound {
    fn name(&self) -> &'static str {
        "cpu-bound"
    }

    fn work(&self) -> &'static str {
        "round of a loop of three nops"
    }

    fn instructions(&self) -> Option<f64> {
        Some(f64::from(CPU_BOUND.work.instructions) / f64::from(CPU_BOUND.work.operations))
    }

    fn prepare(&self, _: &Site) -> Result<Box<dyn Worker>, Unavailable> {
        Ok(Box::new(Loop { iterations: iterations_a_round(CPU_BOUND.run) }))
    }
}

struct Loop {
    iterations: u64,
}

impl Worker for Loop {
    fn round(&mut self) -> f64 {
        (CPU_BOUND.run)(self.iterations);
        self.iterations as f64 * f64::from(CPU_BOUND.work.operations)
    }

    /// It computes nothing.
    fn verify(&mut self) -> Result<(), WrongResult> {
        Ok(())
    }
}
