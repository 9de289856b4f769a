//! What happened to the CPUs of a step while it ran, as the kernel counts it: the figures before and after.

use std::collections::BTreeMap;

use machine::Root;
use os::child::USER_HZ;
use record::Mark;

/// Share of the CPUs' time that somebody else may take before a run is marked. Housekeeping threads stay below.
const OTHERS: f64 = 0.01;

/// Ticks in which /proc/stat counts are of no weight: its resolution.
const TICKS: f64 = 3.0;

/// The counts at one time.
#[derive(Debug)]
pub(crate) struct Incidents {
    /// By CPU: ticks in which it did something, and ticks that the hypervisor took.
    ticks: BTreeMap<u32, (u64, u64)>,
    throttled: Option<u64>,
    quota: Option<u64>,
}

impl Incidents {
    /// The counts now.
    pub(crate) fn read(root: &Root) -> Self {
        let snapshot = machine::snapshot(root);
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        Self { ticks: read_ticks(&stat), throttled: snapshot.throttled, quota: snapshot.quota_throttled }
    }

    /// What happened on `cpus` from then to `after`, while the commands used `cpu_seconds` of CPU.
    pub(crate) fn marks_until(
        &self,
        after: &Incidents,
        cpus: &[u32],
        cpu_seconds: f64,
        wall: f64,
    ) -> Vec<Mark> {
        let mut marks = Vec::new();
        let (mut busy, mut stolen) = (0u64, 0u64);
        for cpu in cpus {
            if let (Some(before), Some(after)) = (self.ticks.get(cpu), after.ticks.get(cpu)) {
                busy += after.0.saturating_sub(before.0);
                stolen += after.1.saturating_sub(before.1);
            }
        }
        let allowed = OTHERS * wall * cpus.len() as f64 * USER_HZ + TICKS * cpus.len() as f64;
        // Those of us who wait for the commands are among the others; they hardly run.
        if busy as f64 - cpu_seconds * USER_HZ > allowed {
            marks.push(Mark::Switched);
        }
        if stolen as f64 > allowed {
            marks.push(Mark::Stolen);
        }
        let more = |before: Option<u64>, after: Option<u64>| before.zip(after).is_some_and(|(a, b)| b > a);
        if more(self.throttled, after.throttled) {
            marks.push(Mark::Throttled);
        }
        if more(self.quota, after.quota) {
            marks.push(Mark::Quota);
        }
        marks
    }
}

/// Busy and stolen ticks by CPU.
fn read_ticks(stat: &str) -> BTreeMap<u32, (u64, u64)> {
    let each = os::procfs::ticks_of_each(stat).into_iter();
    each.map(|(cpu, ticks)| (cpu, (ticks.busy(), ticks.stolen.unwrap_or(0)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(stat: &str, quota: u64) -> Incidents {
        Incidents { ticks: read_ticks(stat), throttled: Some(0), quota: Some(quota) }
    }

    #[test]
    fn what_others_took_on_the_steps_cpus_marks_it() {
        let before =
            at("cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 0 0 50 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\n", 1);
        let after =
            at("cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 200 0 0 50 0 0 0 0 0 0\ncpu1 90 0 0 0 0 0 0 40 0 0\n", 2);
        let wall = 100.0 / USER_HZ;
        // CPU 0 did the commands' own work only.
        assert_eq!(before.marks_until(&before, &[0], 0.0, wall), []);
        assert_eq!(before.marks_until(&after, &[0], wall, wall), [Mark::Quota]);
        let both = before.marks_until(&after, &[0, 1], wall, wall);
        assert_eq!(both, [Mark::Switched, Mark::Stolen, Mark::Quota]);
    }
}
