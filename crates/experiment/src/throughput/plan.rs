//! Which steps are measured: numbers of CPUs over placements, each set of CPUs once.

use record::{CpuList, Machine};

use measure::fill_order::{self, FillOrder};

/// One step: so many CPUs, and the placements that take just these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The CPUs in the order in which they are taken.
    pub cpus: Vec<u32>,
    /// The placements whose first CPUs these are.
    pub placements: Vec<FillOrder>,
}

impl Step {
    /// The CPUs as a set.
    pub fn set(&self) -> CpuList {
        self.cpus.iter().copied().collect()
    }
}

/// The steps, by rising number of CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The steps.
    pub steps: Vec<Step>,
    /// The placements that are told apart.
    pub placements: Vec<FillOrder>,
}

impl Plan {
    /// The steps on `cpus`: for `placements` (those that differ here when none is named) at `counts` CPUs (1, 2, 4 … all and
    /// where something begins when none is named). One CPU alone is always among them: everything is told against it.
    ///
    /// `Err` with a sentence when a count is none that `cpus` allow.
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
            return Err(format!(
                "--steps: {wrong} CPUs are not available; CPUs {cpus} are {most}: write 1 to {most}"
            ));
        }
        if counts.is_some_and(CpuList::is_empty) {
            return Err("--steps: the list is empty; write for instance --steps 1,2,4-8".to_owned());
        }
        let placements = if placements.is_empty() {
            fill_order::distinct_orders(machine, cpus)
        } else {
            placements.to_vec()
        };
        let mut steps: Vec<Step> = Vec::new();
        for order in &placements {
            let sequence = order.cpus(machine, cpus);
            let mut numbers = match counts {
                Some(counts) => counts.iter().map(|count| count as usize).collect(),
                None => fill_order::steps(*order, machine, cpus, None),
            };
            if numbers.first() != Some(&1) && !sequence.is_empty() {
                numbers.insert(0, 1);
            }
            for number in numbers {
                let taken = sequence[..number.min(sequence.len())].to_vec();
                let set: CpuList = taken.iter().copied().collect();
                match steps.iter_mut().find(|step| step.cpus.len() == taken.len() && step.set() == set) {
                    Some(step) if step.placements.contains(order) => {}
                    Some(step) => step.placements.push(*order),
                    None => steps.push(Step { cpus: taken, placements: vec![*order] }),
                }
            }
        }
        steps.sort_by_key(|step| step.cpus.len());
        Ok(Self { steps, placements })
    }

    /// The step on one CPU.
    pub fn single_cpu_step(&self) -> Option<&Step> {
        self.steps.first().filter(|step| step.cpus.len() == 1)
    }
}
