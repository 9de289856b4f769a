//! The declaration of a measurement.

use record::{Coverage, CpuList, Machine, Metric, Snapshot};

use crate::budget::{Budget, Depth};
use crate::context::{Context, Halt};

/// A measurement, defined as a constant in its file.
pub struct Measure {
    /// The name used on the command line, such as `latency`.
    pub name: &'static str,
    /// The metrics of the measurement's results.
    pub metrics: &'static [Metric],
    /// The coverage entry if a part of the measurement is unavailable or the measurement is impossible; `None` if there is no obstacle.
    pub(crate) obstacle: fn(&Machine, &Snapshot, &CpuList) -> Option<Coverage>,
    pub(crate) budget: fn(&Machine, &CpuList, Depth) -> Budget,
    /// Whether the measurement uses the arrays that are passed between measurements; their memory is freed before a measurement that does
    /// not use them.
    pub(crate) uses_arrays: bool,
    /// Runs the measurement. Results are pushed into the context as soon as they are ready.
    pub(crate) run: fn(&mut Context) -> Result<(), Halt>,
}

impl Measure {
    /// The expected coverage on `cpus` of this machine, before anything runs: [`Coverage::measured`], degraded with the
    /// missing parts, or impossible.
    pub fn outlook(&self, machine: &Machine, snapshot: &Snapshot, cpus: &CpuList) -> Coverage {
        (self.obstacle)(machine, snapshot, cpus).unwrap_or_else(|| Coverage::measured(self.name))
    }

    /// The maximum time and memory that the measurement needs on `cpus` of this machine.
    pub fn budget(&self, machine: &Machine, cpus: &CpuList, depth: Depth) -> Budget {
        (self.budget)(machine, cpus, depth)
    }
}

/// [`Measure::obstacle`] for a measurement that is possible everywhere.
pub(crate) const NO_OBSTACLE: fn(&Machine, &Snapshot, &CpuList) -> Option<Coverage> = |_, _, _| None;
