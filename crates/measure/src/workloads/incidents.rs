//! The kernel's counts of lost CPU time and reduced clocks: steal time, thermal throttling, cgroup quota.

use std::collections::BTreeMap;

use machine::Root;
use machine::cgroups::Cgroups;
use os::procfs::{count_of, ticks_of_each};
use record::Mark;

/// Reads the counts of some CPUs before and after a measurement.
#[derive(Debug)]
pub(crate) struct Incidents {
    root: Root,
    /// The `cpu.stat` files of this process's cgroups.
    quotas: Vec<String>,
    /// Whether the kernel counts thermal throttling.
    heat: bool,
    /// Whether steal time is read. Reading `/proc/stat` takes milliseconds on machines with hundreds of CPUs.
    steal: bool,
}

/// Maximum number of CPUs at which `/proc/stat` can be read fast enough for every step.
const MOST_FOR_STEAL: usize = 256;

/// The counts at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Stolen ticks per CPU.
    stolen: BTreeMap<u32, u64>,
    throttled: u64,
    quota: u64,
}

impl Incidents {
    /// Finds the readable counts on a machine with `cpus` CPUs.
    pub(crate) fn new(root: Root, cpus: usize) -> Self {
        let quotas =
            Cgroups::read(&root).folders("cpu").map(|(_, folder)| format!("{folder}/cpu.stat")).collect();
        let heat = root.exists("/sys/devices/system/cpu/cpu0/thermal_throttle");
        Self { root, quotas, heat, steal: cpus <= MOST_FOR_STEAL }
    }

    /// The current counts of these CPUs.
    pub(crate) fn read(&self, cpus: &[u32]) -> Counts {
        let mut counts = Counts::default();
        if self.steal
            && let Some(stat) = self.root.text("/proc/stat")
        {
            let each = ticks_of_each(&stat).into_iter().filter(|(cpu, _)| cpus.contains(cpu));
            counts.stolen = each.filter_map(|(cpu, ticks)| Some((cpu, ticks.stolen?))).collect();
        }
        if self.heat {
            for cpu in cpus {
                for file in ["core_throttle_count", "package_throttle_count"] {
                    let path = format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{file}");
                    counts.throttled = counts.throttled.saturating_add(self.root.number(&path).unwrap_or(0));
                }
            }
        }
        for path in &self.quotas {
            let stat = self.root.text(path).unwrap_or_default();
            counts.quota = counts.quota.max(count_of(&stat, "nr_throttled").unwrap_or(0));
        }
        counts
    }
}

impl Counts {
    /// The events between `before` and now.
    pub(crate) fn since(&self, before: &Counts) -> Vec<Mark> {
        let more_stolen = |(cpu, now): (&u32, &u64)| before.stolen.get(cpu).is_some_and(|then| now > then);
        let mut marks = Vec::new();
        if self.stolen.iter().any(more_stolen) {
            marks.push(Mark::Stolen);
        }
        if self.throttled > before.throttled {
            marks.push(Mark::Throttled);
        }
        if self.quota > before.quota {
            marks.push(Mark::Quota);
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_grew_happened() {
        let before = Counts { stolen: BTreeMap::from([(0, 8), (1, 5)]), throttled: 3, quota: 1 };
        assert_eq!(before.since(&before), []);
        let mut after = before.clone();
        after.stolen.insert(1, 6);
        after.quota = 2;
        assert_eq!(after.since(&before), [Mark::Stolen, Mark::Quota]);
        // A CPU that came online in between has no count to compare with.
        let fresh = Counts { stolen: BTreeMap::from([(7, 900)]), ..before.clone() };
        assert_eq!(fresh.since(&before), []);
    }
}
