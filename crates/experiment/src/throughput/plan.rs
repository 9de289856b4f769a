//! Plans the steps to measure: the numbers of CPUs for each placement. Each set of CPUs is measured once.

use record::{CpuList, Machine};

use measure::fill_order::{self, FillOrder, Step, shared_steps};

/// The steps, in order of increasing number of CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The steps.
    pub steps: Vec<Step>,
}

impl Plan {
    /// The steps on `cpus`. There is one for each of `placements` (by default, those that differ on this machine) and
    /// each number of CPUs in `counts` (by default, 1, 2, 4 … all, and the boundaries of each placement). A single CPU
    /// is always included as the reference.
    ///
    /// Returns a message if a count is invalid for `cpus`.
    pub fn new(
        machine: &Machine,
        cpus: &CpuList,
        placements: &[FillOrder],
        counts: Option<&CpuList>,
    ) -> Result<Self, String> {
        if let Some(counts) = counts
            && let Some(wrong) = counts.iter().find(|count| *count == 0 || *count as usize > cpus.len())
        {
            let most = cpus.len();
            return Err(format!("--steps {wrong}: {most} CPUs are available ({cpus}); use 1 to {most}"));
        }
        if counts.is_some_and(CpuList::is_empty) {
            return Err("the list of --steps is empty; use, for example, --steps 1,2,4-8".to_owned());
        }
        let placements = if placements.is_empty() {
            fill_order::distinct_orders(machine, cpus)
        } else {
            placements.to_vec()
        };
        let numbers = |order| {
            let mut numbers = match counts {
                Some(counts) => counts.iter().map(|count| count as usize).collect(),
                None => fill_order::steps(order, machine, cpus, None),
            };
            if numbers.first() != Some(&1) && !cpus.is_empty() {
                numbers.insert(0, 1);
            }
            numbers
        };
        Ok(Self { steps: shared_steps(machine, cpus, &placements, numbers) })
    }

    /// The step on one CPU.
    pub fn single_cpu_step(&self) -> Option<&Step> {
        self.steps.first().filter(|step| step.cpus.len() == 1)
    }
}
