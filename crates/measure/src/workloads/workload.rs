//! Defines workloads and the work of their threads.

use std::sync::Arc;

use record::{Template, Text, Unavailable};

use super::array_pool::{ArrayPool, Group};
use crate::watch::time_ns;

/// The declaration of a workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition {
    /// The name in a record: `primes`.
    pub name: &'static str,
    /// One unit of work: "primes below 1,000,000 counted", or "B" for bytes. Throughput is units per second, and records
    /// of the same work are comparable.
    pub work: Template,
    /// Whether a unit of work is a complete pass, whose time is reported.
    pub pass: bool,
    /// Memory per thread, bytes, excluding the arrays of the [`ArrayPool`].
    pub bytes: u64,
    /// Whether the workload walks the arrays of the [`ArrayPool`].
    pub streams: bool,
    /// Whether a round is a whole pass, which may take a second and cannot be interrupted.
    pub indivisible: bool,
}

impl Definition {
    /// The definition of an interruptible loop that uses only registers.
    pub(crate) fn new(name: &'static str, work: Template) -> Self {
        Self { name, work, pass: false, bytes: 0, streams: false, indivisible: false }
    }
}

/// A known amount of work that can be run on any number of CPUs.
pub(crate) trait Workload: Sync {
    /// The workload's definition.
    fn definition(&self) -> Definition;

    /// The workload's name.
    fn name(&self) -> &'static str {
        self.definition().name
    }

    /// Instructions per unit of work, as declared by the loop; `None` if a compiler chose the instructions.
    fn instructions(&self) -> Option<f64> {
        None
    }

    /// Whether the workload can run here; if not, the error contains the reason.
    fn usable(&self) -> Result<(), Unavailable> {
        Ok(())
    }

    /// Creates a thread's data. Called on that thread after it was pinned, so that the memory is on its node.
    fn prepare(&self, site: &Site) -> Result<Box<dyn Worker>, Unavailable>;
}

/// The CPU and the memory of a worker.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// The worker's CPU, to which the thread is pinned.
    pub cpu: u32,
    /// The arrays, if the workload streams.
    pub pool: Option<Arc<ArrayPool>>,
}

/// A wrong result: this machine computes incorrectly.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WrongResult(pub Text);

/// One thread's share of a workload.
pub(crate) trait Worker: Send {
    /// Joins a group, before timing starts. The group may be a different one each time.
    fn join(&mut self, group: Group) {
        let _ = group;
    }

    /// Does a short piece of work, well below 1 ms if the work can be split, and returns its amount.
    fn round(&mut self) -> f64;

    /// Compares the results so far with the known results, outside the timed window. An error means that this machine computes incorrectly.
    fn verify(&mut self) -> Result<(), WrongResult>;
}

/// Duration of a round of a loop: long compared with the overhead between two rounds (reading the clock, 25 ns, and
/// some hundred instructions), short compared with a slice.
const ROUND_SECONDS: f64 = 500e-6;

/// Determines the number of iterations of `run` per round by trial.
pub(super) fn iterations_a_round(mut run: impl FnMut(u64)) -> u64 {
    let mut time = |n: u64| time_ns(|| run(n)) / 1e9;
    let mut n = 16;
    while time(n) < ROUND_SECONDS / 10.0 && n < 1 << 32 {
        n *= 4;
    }
    // Runs three trials and uses the minimum, because an interruption in a single trial would make rounds far too short.
    let least = (0..3).map(|_| time(n)).fold(f64::INFINITY, f64::min);
    ((n as f64 * ROUND_SECONDS / least.max(1e-9)) as u64).max(1)
}
