//! Tasks with a user-set CPU affinity. The affinity is recorded and restored because kernels before 6.2 forget it when
//! the CPUs of a v2 control group change (Linux commit 8f9ea86fdf99, "sched: Always preserve the user requested
//! cpumask").

use os::child::Stat;
use os::pin::affinity;
use os::procfs::numbers;
use record::CpuList;
use serde::{Deserialize, Serialize};

use crate::process_settings::process;

/// A task and its affinity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundTask {
    /// The task's TID.
    pub task: i32,
    /// The task's start time, clock ticks since boot, because another task may have reused the TID.
    pub started: u64,
    /// The CPUs on which the task may run.
    pub cpus: CpuList,
}

/// All tasks whose affinity excludes at least one of these CPUs.
pub fn find_bound_tasks(cpus: &CpuList) -> Vec<BoundTask> {
    let tasks = numbers("/proc").flat_map(|process| numbers(format!("/proc/{process}/task")));
    let bound = |task: i32| {
        let own = affinity(task).filter(|own| !cpus.is_subset(own))?;
        Some(BoundTask { task, started: started(task)?, cpus: own })
    };
    tasks.filter_map(bound).collect()
}

/// The start time of a task, clock ticks since boot (proc_pid_stat(5), field 22).
fn started(task: i32) -> Option<u64> {
    Some(Stat::read(task)?.started)
}

impl BoundTask {
    /// Restricts the task to its other CPUs while the `taken` CPUs are reserved; returns whether any CPU remains.
    pub fn keep_off(&self, taken: &CpuList) -> bool {
        let left = self.cpus.difference(taken);
        if left.is_empty() {
            return false;
        }
        if self.is_there() && affinity(self.task).is_some_and(|now| now != left) {
            // Per-CPU kernel threads refuse this, but they were not moved in the first place.
            let _ = process::set_affinity(self.task, &left);
        }
        true
    }

    /// Restores the task's affinity, unless another process has changed it since. An affinity that the kernel has
    /// widened, or that our reservation of CPUs has reduced, does not count as changed by another process.
    pub fn give_back(&self, taken: &CpuList) {
        let (was, contents) = (&self.cpus, self.cpus.difference(taken));
        let ours = |now: CpuList| now != *was && (now == contents || was.is_subset(&now));
        if self.is_there() && affinity(self.task).is_some_and(ours) {
            // The task may have just ended.
            let _ = process::set_affinity(self.task, &self.cpus);
        }
    }

    /// Whether the TID still belongs to the same task.
    fn is_there(&self) -> bool {
        started(self.task) == Some(self.started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_bound_is_bound_again_and_what_somebody_bound_since_is_left() {
        let online = machine::Root::live().cpu_list("/sys/devices/system/cpu/online").unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let task = child.id() as i32;
        let now = || affinity(task).unwrap();
        let (first, last): (CpuList, CpuList) =
            (online.iter().take(1).collect(), online.iter().last().into_iter().collect());
        process::set_affinity(task, &last).unwrap();
        let bound = BoundTask { task, started: started(task).unwrap(), cpus: last.clone() };
        if first != last {
            assert!(find_bound_tasks(&online).contains(&bound));
            process::set_affinity(task, &online).unwrap();
            bound.give_back(&last);
            assert_eq!(now(), last, "the kernel has widened the affinity");
            process::set_affinity(task, &first).unwrap();
            bound.give_back(&last);
            assert_eq!(now(), first, "another process has changed the affinity");
            let both = BoundTask { cpus: online.clone(), ..bound.clone() };
            process::set_affinity(task, &online).unwrap();
            assert!(both.keep_off(&last) && !bound.keep_off(&last));
            assert!(now().intersection(&last).is_empty());
            both.give_back(&last);
            assert_eq!(now(), online, "linespeed has kept the task off these CPUs");
            let another = BoundTask { started: bound.started + 1, ..bound };
            another.give_back(&last);
            assert_eq!(now(), online, "another task has its TID");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
