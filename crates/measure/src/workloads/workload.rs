//! What a workload is, and what a thread of it does.

use std::sync::Arc;

use record::{Template, Text, Unavailable};

use super::array_pool::{ArrayPool, Group};
use crate::watch::time_ns;

/// What a workload declares of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition {
    /// The name in a record: `primes`.
    pub name: &'static str,
    /// What one unit of work is: "primes below 1,000,000 counted", or "B" of bytes. Throughput is these a second, and
    /// records of the same work compare.
    pub work: Template,
    /// Whether people tell the time of a unit: a natural pass.
    pub pass: bool,
    /// Memory of one thread, bytes, without the [`ArrayPool`].
    pub bytes: u64,
    /// Whether it walks the arrays of the [`ArrayPool`].
    pub streams: bool,
    /// Whether its round is a whole pass, which may take a second and cannot be cut short.
    pub indivisible: bool,
}

impl Definition {
    /// Of a loop that is in registers and can be cut short.
    pub(crate) fn new(name: &'static str, work: Template) -> Self {
        Self { name, work, pass: false, bytes: 0, streams: false, indivisible: false }
    }
}

/// Something with a known amount of work that can be run on any number of CPUs.
pub(crate) trait Workload: Sync {
    /// What it is.
    fn definition(&self) -> Definition;

    /// Its name.
    fn name(&self) -> &'static str {
        self.definition().name
    }

    /// Instructions of one unit of work as the kernel declares them; `None` where a compiler chose them.
    fn instructions(&self) -> Option<f64> {
        None
    }

    /// Whether it can run here; the error says why not.
    fn usable(&self) -> Result<(), Unavailable> {
        Ok(())
    }

    /// Makes what a thread needs. It is called on that thread, pinned, so that its memory lies on its node.
    fn prepare(&self, site: &Site) -> Result<Box<dyn Worker>, Unavailable>;
}

/// Where a worker will work.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// Its CPU, to which the thread is pinned.
    pub cpu: u32,
    /// The arrays, for a workload that streams.
    pub pool: Option<Arc<ArrayPool>>,
}

/// A result that is not what it must be: this machine computes wrongly.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WrongResult(pub Text);

/// One thread's share of a workload.
pub(crate) trait Worker: Send {
    /// Takes its place in a group, before the timed window. The group may be another each time.
    fn join(&mut self, group: Group) {
        let _ = group;
    }

    /// Does a short portion of work, well below 1 ms where the work can be split, and returns how much it did.
    fn round(&mut self) -> f64;

    /// Checks what was computed so far by its known result, outside the timed window. An error means that this
    /// machine computes wrongly.
    fn verify(&mut self) -> Result<(), WrongResult>;
}

/// How long a round of a loop should take: long beside what stands between two rounds (reading the clock, 25 ns, and
/// some hundred instructions), short beside a slice.
const ROUND_SECONDS: f64 = 500e-6;

/// The number of iterations of `run` that make a round, by trials.
pub(super) fn iterations_a_round(mut run: impl FnMut(u64)) -> u64 {
    let mut time = |n: u64| time_ns(|| run(n)) / 1e9;
    let mut n = 16;
    while time(n) < ROUND_SECONDS / 10.0 && n < 1 << 32 {
        n *= 4;
    }
    // The least of three: an interruption in a single trial would make rounds of next to nothing.
    let least = (0..3).map(|_| time(n)).fold(f64::INFINITY, f64::min);
    ((n as f64 * ROUND_SECONDS / least.max(1e-9)) as u64).max(1)
}
