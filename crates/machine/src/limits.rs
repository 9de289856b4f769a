//! The limits of this process: affinity, cpuset, cgroup quota and memory limit, real-time priority, locked memory. Only limits below the
//! machine's resources count.

use record::{Coverage, CpuList, Machine, text};

use crate::cgroups::{Cgroups, Version};
use crate::cpus::online_of;
use crate::root::Root;
use crate::text::{bytes_field, field, number};

/// Bits of the capability masks in `/proc/self/status` (capabilities(7), linux/capability.h).
const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_NICE: u32 = 23;
/// The highest priority of SCHED_FIFO (sched(7)).
const MAX_PRIORITY: u32 = 99;

/// Fills [`Machine::limits`], and marks the allowed CPUs and nodes.
pub fn read(root: &Root, machine: &mut Machine, coverage: &mut Vec<Coverage>) {
    let online = online_of(machine);
    let status = root.text("/proc/self/status").unwrap_or_default();
    let cgroups = Cgroups::read(root);
    let nodes: CpuList = machine.nodes.iter().map(|node| node.id).collect();
    let limits = &mut machine.limits;

    let listed = |key: &str| field(&status, key).and_then(|text| text.parse::<CpuList>().ok());
    let affinity = if root.is_live() { os::pin::allowed() } else { None };
    // The kernel lists possible CPUs, online or not.
    let affinity = affinity.or_else(|| listed("Cpus_allowed_list")).map(|list| list.intersection(&online));
    limits.affinity = affinity.filter(|list| !list.is_empty()).unwrap_or_default();
    let cpuset = effective(root, &cgroups, "cpus");
    limits.cpuset = cpuset.map(|list| list.intersection(&online)).unwrap_or_default();
    let mems = effective(root, &cgroups, "mems");
    let allowed_nodes = match (listed("Mems_allowed_list"), mems) {
        (Some(status), Some(cpuset)) => Some(status.intersection(&cpuset)),
        (status, cpuset) => status.or(cpuset),
    };
    limits.memory_nodes = allowed_nodes.map(|list| list.intersection(&nodes)).unwrap_or_default();

    let quota = tightest_quota(root, &cgroups);
    let quota = quota.filter(|(cpus, _)| *cpus < online.len() as f64 || online.is_empty());
    let machine_bytes = machine.memory_bytes.unwrap_or(u64::MAX);
    let memory = tightest_memory(root, &cgroups).filter(|memory| memory.limit < machine_bytes);
    limits.cpu_quota = quota.map(|(cpus, _)| cpus);
    limits.memory_bytes = memory.as_ref().map(|memory| memory.limit);
    limits.memory_available_bytes = memory.as_ref().and_then(|memory| memory.available);
    let version = quota.map(|(_, version)| version).or(memory.map(|memory| memory.version));
    limits.cgroup_version = version.map(|version| version as u32);

    let rlimits = root.text("/proc/self/limits").unwrap_or_default();
    let capabilities = field(&status, "CapEff").and_then(|mask| u64::from_str_radix(mask, 16).ok());
    let capable = |bit: u32| capabilities.is_some_and(|mask| mask & (1 << bit) != 0);
    // The fields of `Uid`: real, effective, saved, file system.
    limits.root =
        field(&status, "Uid").and_then(|ids| ids.split_ascii_whitespace().nth(1)).map(|id| id == "0");
    let any = capable(CAP_SYS_NICE).then_some(u64::MAX);
    let priority = any.or_else(|| soft_limit(&rlimits, "Max realtime priority"));
    limits.rt_priority = priority.map(|most| most.min(MAX_PRIORITY.into()) as u32);
    // No process can lock more than the available memory.
    limits.locked_bytes = match soft_limit(&rlimits, "Max locked memory") {
        limit if !capable(CAP_IPC_LOCK) && limit.is_none_or(|bytes| bytes < machine_bytes) => limit,
        _ => machine.memory_bytes,
    };

    if cgroups.hidden() && root.is_live() {
        coverage.push(
            Coverage::degraded(
                "cgroup limits",
                text!("no cgroup file system is mounted: CPU quotas and memory limits cannot be detected"),
            )
            .with_remedy(text!("mount /sys/fs/cgroup (in a container: read-only)")),
        );
    }
    allow(machine);
}

/// Marks the CPUs and nodes that affinity and cpuset permit.
fn allow(machine: &mut Machine) {
    let limits = &machine.limits;
    let within = |limit: &CpuList, id: u32| limit.is_empty() || limit.contains(id);
    for cpu in &mut machine.cpus {
        cpu.allowed = cpu.online && within(&limits.affinity, cpu.id) && within(&limits.cpuset, cpu.id);
    }
    for node in &mut machine.nodes {
        node.allowed = within(&limits.memory_nodes, node.id);
    }
}

/// The list in the first `cpus` or `mems` file that contains CPUs or nodes. The groups are searched from the process's
/// own group upwards, first in cgroup v2, then in cgroup v1.
fn effective(root: &Root, cgroups: &Cgroups, what: &str) -> Option<CpuList> {
    let names =
        [format!("cpuset.{what}.effective"), format!("cpuset.effective_{what}"), format!("cpuset.{what}")];
    cgroups
        .folders("cpuset")
        .flat_map(|(_, folder)| names.iter().map(move |name| format!("{folder}/{name}")))
        .find_map(|path| root.cpu_list(&path).filter(|list| !list.is_empty()))
}

/// Number of CPUs allowed by the tightest quota of this process's cgroups; `None` without a quota.
pub fn quota(root: &Root) -> Option<f64> {
    tightest_quota(root, &Cgroups::read(root)).map(|(cpus, _)| cpus)
}

/// The lowest quota in CPUs among the group and its parents.
fn tightest_quota(root: &Root, cgroups: &Cgroups) -> Option<(f64, Version)> {
    cgroups
        .folders("cpu")
        .filter_map(|(version, folder)| {
            let quota = match version {
                Version::V1 => {
                    let quota = root.text(&format!("{folder}/cpu.cfs_quota_us"))?;
                    quota_of(&quota, &root.text(&format!("{folder}/cpu.cfs_period_us"))?)
                }
                Version::V2 => {
                    let text = root.text(&format!("{folder}/cpu.max"))?;
                    let (quota, period) = text.split_once(' ')?;
                    quota_of(quota, period)
                }
            }?;
            Some((quota, version))
        })
        .min_by(|(a, _), (b, _)| a.total_cmp(b))
}

/// The quota in CPUs: the CPU time per period divided by the length of the period, both in microseconds. `max` and -1 mean no quota.
fn quota_of(quota: &str, period: &str) -> Option<f64> {
    let quota = quota.trim().parse::<i64>().ok().filter(|quota| *quota > 0)?;
    let period = period.trim().parse::<i64>().ok().filter(|period| *period > 0)?;
    Some(quota as f64 / period as f64)
}

/// Bytes of memory that this process may still allocate, given the tightest limit of its cgroups and the machine's
/// available memory. `None` if neither is known.
pub fn memory_left(root: &Root) -> Option<u64> {
    let text = root.text("/proc/meminfo").unwrap_or_default();
    let free = bytes_field(&text, "MemAvailable");
    let below = tightest_memory(root, &Cgroups::read(root)).map(|of| of.available.unwrap_or(of.limit));
    below.into_iter().chain(free).min()
}

/// A memory limit and the memory that remains within it.
#[derive(Debug, PartialEq)]
struct Memory {
    limit: u64,
    /// Unknown if a text quotes a limit, but not the use.
    available: Option<u64>,
    version: Version,
}

/// The lowest limit among the group and its parents, and the smallest amount of remaining memory among them. The two
/// may come from different groups, because other groups also use the memory of a parent.
fn tightest_memory(root: &Root, cgroups: &Cgroups) -> Option<Memory> {
    let mut tightest: Option<Memory> = None;
    for (version, folder) in cgroups.folders("memory") {
        let bytes = |name: &str| root.text(&format!("{folder}/{name}")).and_then(|text| limit_of(&text));
        // memory.high does not kill a process, but slows it down extremely, so it also limits measurements.
        let (limits, used, reclaimable) = match version {
            Version::V1 => (&["memory.limit_in_bytes"][..], "memory.usage_in_bytes", "total_inactive_file"),
            Version::V2 => (&["memory.max", "memory.high"][..], "memory.current", "inactive_file"),
        };
        let Some(limit) = limits.iter().filter_map(|name| bytes(name)).min() else { continue };
        let statistics = root.text(&format!("{folder}/memory.stat")).unwrap_or_default();
        let cache = statistics.lines().find_map(|line| line.strip_prefix(reclaimable)?.trim().parse().ok());
        let available = bytes(used).map(|used| limit.saturating_sub(used.saturating_sub(cache.unwrap_or(0))));
        tightest = Some(match tightest {
            Some(other) => Memory {
                available: available.zip(other.available).map(|(one, other)| one.min(other)),
                version: if limit < other.limit { version } else { other.version },
                limit: limit.min(other.limit),
            },
            None => Memory { limit, available, version },
        });
    }
    tightest
}

/// A limit in bytes. `max` means unlimited, and so does 2^63 minus one page, which cgroup v1 prints.
fn limit_of(text: &str) -> Option<u64> {
    text.trim().parse::<u64>().ok().filter(|bytes| *bytes < 1 << 60)
}

/// A soft limit from `/proc/self/limits`; the maximum integer if unlimited.
fn soft_limit(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?.split_ascii_whitespace().next()?;
    if value == "unlimited" { Some(u64::MAX) } else { number(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Tree;
    use proptest::prelude::*;

    #[test]
    fn quotas_are_cpus_and_no_quota_is_none() {
        assert_eq!(quota_of("50000", "100000"), Some(0.5));
        for none in [("max", "100000"), ("-1", "100000"), ("0", "100000"), ("5", "0"), ("", "")] {
            assert_eq!(quota_of(none.0, none.1), None);
        }
    }

    #[test]
    fn the_giant_of_version_1_is_no_limit() {
        assert_eq!(limit_of("9223372036854771712"), None);
        assert_eq!(limit_of("max"), None);
        assert_eq!(limit_of("268435456\n"), Some(256 << 20));
    }

    #[test]
    fn what_is_left_is_the_least_of_limit_and_machine() {
        let bare = || Tree::new().file("proc/meminfo", "MemTotal: 4096 kB\nMemAvailable:    2048 kB\n");
        assert_eq!(memory_left(&Tree::new().file("proc/version", "Linux\n").root()), None);
        assert_eq!(memory_left(&bare().root()), Some(2 << 20));
        let boxed = bare()
            .file("proc/self/cgroup", "0::/box\n")
            .file("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
            .file("sys/fs/cgroup/box/memory.max", "1048576\n")
            .file("sys/fs/cgroup/box/memory.current", "524288\n");
        assert_eq!(memory_left(&boxed.root()), Some(512 << 10));
    }

    #[test]
    fn soft_limits_are_the_first_column() {
        let text = "Limit  Soft Limit  Hard Limit Units\nMax locked memory  8388608  unlimited  bytes\n\
                    Max realtime priority  0  99\n";
        assert_eq!(soft_limit(text, "Max locked memory"), Some(8_388_608));
        assert_eq!(soft_limit(text, "Max realtime priority"), Some(0));
        assert_eq!(soft_limit(text, "Max nice priority"), None);
    }

    #[test]
    fn this_process_runs_somewhere() {
        // A sandbox may deny the call; otherwise, the result contains at least one CPU.
        assert!(os::pin::allowed().is_none_or(|cpus| !cpus.is_empty()));
    }

    proptest! {
        #[test]
        fn no_text_panics(a in "\\PC{0,40}|-?[0-9]{0,25}", b in "\\PC{0,40}|-?[0-9]{0,25}") {
            prop_assert!(quota_of(&a, &b).is_none_or(|cpus| cpus > 0.0 && cpus.is_finite()));
            let _ = (limit_of(&a), soft_limit(&a, &b));
        }
    }
}
