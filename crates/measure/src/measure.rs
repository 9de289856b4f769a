//! The declaration of a measurement.

use record::{Coverage, CpuList, Machine, Metric, Snapshot};

use crate::budget::{Budget, Depth};
use crate::context::{Context, Halt};

/// A measurement: a constant in its file.
pub struct Measure {
    /// The name that users type: `latency`.
    pub name: &'static str,
    /// The metrics that it writes.
    pub metrics: &'static [Metric],
    /// What will be missing, or makes it impossible; `None` without an obstacle.
    pub(crate) obstacle: fn(&Machine, &Snapshot, &CpuList) -> Option<Coverage>,
    pub(crate) budget: fn(&Machine, &CpuList, Depth) -> Budget,
    /// Whether it works on the arrays that measurements pass on to each other; before any other measurement their memory is
    /// freed.
    pub(crate) uses_arrays: bool,
    /// Measures. Results are pushed into the context as they are ready.
    pub(crate) run: fn(&mut Context) -> Result<(), Halt>,
}

impl Measure {
    /// What it can measure on `cpus` of this machine, before anything runs: [`Coverage::measured`], degraded with what
    /// will be missing, or impossible.
    pub fn outlook(&self, machine: &Machine, snapshot: &Snapshot, cpus: &CpuList) -> Coverage {
        (self.obstacle)(machine, snapshot, cpus).unwrap_or_else(|| Coverage::measured(self.name))
    }

    /// The most memory that it needs on `cpus` of this machine.
    pub fn budget(&self, machine: &Machine, cpus: &CpuList, depth: Depth) -> Budget {
        (self.budget)(machine, cpus, depth)
    }
}

/// [`Measure::obstacle`] of a measurement that is possible everywhere.
pub(crate) const NO_OBSTACLE: fn(&Machine, &Snapshot, &CpuList) -> Option<Coverage> = |_, _, _| None;
