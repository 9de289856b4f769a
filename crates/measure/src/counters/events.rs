//! The events that every kernel names alike, by the names that perf prints, and the groups in which they are counted.
//!
//! A group is counted as a whole or not at all, so the two sides of a ratio belong into one; and it must fit the
//! smallest PMU in use (four counters, of which a watchdog may hold one), so no group is larger than a pair.

use super::attr::{self, Code};

/// An event that has one name on all machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// perf's name.
    pub name: &'static str,
    /// The kernel's number.
    code: Code,
    /// What Arm's PMUs call it in sysfs, the kernel's choice first: with several kinds of core each has to be asked by
    /// itself.
    arm: &'static [&'static str],
}

const fn hardware(name: &'static str, config: u64, arm: &'static [&'static str]) -> Event {
    let code = Code { kind: attr::TYPE_HARDWARE, config, config1: 0, config2: 0 };
    Event { name, code, arm }
}

/// `PERF_COUNT_HW_CACHE_*`: the cache, then reads (0), then accesses (0) or misses (1).
const fn cache(name: &'static str, cache: u64, misses: bool, arm: &'static [&'static str]) -> Event {
    let config = cache | (misses as u64) << 16;
    let code = Code { kind: attr::TYPE_HW_CACHE, config, config1: 0, config2: 0 };
    Event { name, code, arm }
}

const fn software(name: &'static str, config: u64) -> Event {
    let code = Code { kind: attr::TYPE_SOFTWARE, config, config1: 0, config2: 0 };
    Event { name, code, arm: &[] }
}

/// Every such event. Numbers: `enum perf_hw_id`, `perf_hw_cache_id`, `perf_sw_ids` of `linux/perf_event.h`; Arm's
/// names: `drivers/perf/arm_pmuv3.c`.
pub const EVENTS: &[Event] = &[
    hardware("cycles", 0, &["cpu_cycles"]),
    hardware("instructions", 1, &["inst_retired"]),
    hardware("branches", 4, &["pc_write_retired", "br_retired"]),
    hardware("branch-misses", 5, &["br_mis_pred"]),
    hardware("cache-references", 2, &["l1d_cache"]),
    hardware("cache-misses", 3, &["l1d_cache_refill"]),
    hardware("stalled-cycles-frontend", 7, &["stall_frontend"]),
    hardware("stalled-cycles-backend", 8, &["stall_backend"]),
    cache("L1-dcache-loads", 0, false, &["l1d_cache"]),
    cache("L1-dcache-load-misses", 0, true, &["l1d_cache_refill"]),
    cache("LLC-loads", 2, false, &["ll_cache_rd"]),
    cache("LLC-load-misses", 2, true, &["ll_cache_miss_rd"]),
    cache("dTLB-loads", 3, false, &["l1d_tlb"]),
    cache("dTLB-load-misses", 3, true, &["l1d_tlb_refill"]),
    cache("iTLB-load-misses", 4, true, &["l1i_tlb_refill"]),
    cache("node-loads", 6, false, &[]),
    cache("node-load-misses", 6, true, &[]),
    software("task-clock", 1),
    software("context-switches", 3),
    software("cpu-migrations", 4),
    software("page-faults", 2),
    software("minor-faults", 5),
    software("major-faults", 6),
];

/// Groups of hardware events, the most wanted first.
pub(super) const HARDWARE_GROUPS: &[&[&str]] = &[
    CORE_GROUP,
    &["branches", "branch-misses"],
    &["cache-references", "cache-misses"],
    &["L1-dcache-loads", "L1-dcache-load-misses"],
    &["LLC-loads", "LLC-load-misses"],
    &["dTLB-loads", "dTLB-load-misses"],
    &["iTLB-load-misses"],
    &["node-loads", "node-load-misses"],
    &["stalled-cycles-frontend", "stalled-cycles-backend"],
];

/// What IPC is made of.
pub(super) const CORE_GROUP: &[&str] = &["cycles", "instructions"];

/// Software events need no counter: one group, one read.
pub(super) const SOFTWARE_GROUP: &[&str] =
    &["task-clock", "context-switches", "cpu-migrations", "page-faults", "minor-faults", "major-faults"];

/// Software events that a process's accounts (`wait4`) do not tell since the start of its program.
pub(super) const UNACCOUNTED_GROUP: &[&str] = &["task-clock", "cpu-migrations", "page-faults"];

/// The event with this name.
pub fn find(name: &str) -> Option<&'static Event> {
    EVENTS.iter().find(|event| event.name == name)
}

impl Event {
    /// The kernel's number on a machine with one kind of core.
    pub(super) fn code(&self) -> Code {
        self.code
    }

    /// The number on one of several units of an x86 machine: the unit's in the upper half of `config`
    /// (`PERF_PMU_TYPE_SHIFT`, since Linux 5.13).
    pub(super) fn on_unit(&self, unit: u32) -> Code {
        Code { config: self.code.config | u64::from(unit) << 32, ..self.code }
    }

    /// Arm's own names, the first that a unit has counts.
    pub(super) fn arm_names(&self) -> &'static [&'static str] {
        self.arm
    }

    /// Whether the kernel counts it, on every machine; the others need a PMU.
    pub(super) fn is_software(&self) -> bool {
        self.code.kind == attr::TYPE_SOFTWARE
    }

    /// Whether it happens in the kernel, so that counting user mode alone would always show 0.
    pub(super) fn in_kernel_only(&self) -> bool {
        matches!(self.name, "context-switches" | "cpu-migrations")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_group_is_of_known_events() {
        for (i, event) in EVENTS.iter().enumerate() {
            assert!(EVENTS[..i].iter().all(|other| other.name != event.name), "{} twice", event.name);
        }
        let mut grouped: Vec<&str> = HARDWARE_GROUPS.concat();
        grouped.extend(SOFTWARE_GROUP);
        for event in EVENTS {
            let times = grouped.iter().filter(|name| **name == event.name).count();
            assert_eq!(times, 1, "{} is in {times} groups", event.name);
        }
        assert!(grouped.iter().all(|name| find(name).is_some()));
        assert!(
            HARDWARE_GROUPS.iter().all(|group| group.len() <= 2),
            "a group that a small PMU cannot count"
        );
    }

    #[test]
    fn numbers_are_the_kernels() {
        let config = |name| find(name).unwrap().code().config;
        assert_eq!(config("LLC-load-misses"), 0x1_0002);
        assert_eq!(config("iTLB-load-misses"), 0x1_0004);
        assert_eq!(config("branch-misses"), 5);
        // An Alder Lake's small cores: unit 10.
        assert_eq!(find("instructions").unwrap().on_unit(10).config, 0xa_0000_0001);
    }
}
