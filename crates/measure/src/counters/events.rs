//! The events that have the same name in every kernel, by perf's names, and the groups in which they are counted.
//!
//! A group is counted as a whole or not at all, so both sides of a ratio belong in one group. Each group must fit on the smallest PMU in
//! use (four counters, one of which may be used by a watchdog), so no group of hardware events has more than two.

use std::sync::LazyLock;

use serde::Deserialize;

use super::attr::{self, Code};

/// An event with one name on all machines.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// The name that perf uses for the event.
    pub name: &'static str,
    /// The kernel's numbers for the event.
    kind: u32,
    config: u64,
    /// The event's names on Arm PMUs.
    #[serde(default)]
    arm: Vec<&'static str>,
}

#[derive(Deserialize)]
#[serde(bound = "'de: 'static")]
struct Table {
    event: Vec<Event>,
}

/// All events that have one name on all machines.
pub static EVENTS: LazyLock<Vec<Event>> = LazyLock::new(|| {
    let table = toml::from_str(include_str!("events.toml"));
    table.map(|table: Table| table.event).unwrap_or_default()
});

/// Groups of hardware events, most important first.
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

/// The events from which IPC is computed.
pub(super) const CORE_GROUP: &[&str] = &["cycles", "instructions"];

/// Software events need no hardware counter, so they form one group with one read.
pub(super) const SOFTWARE_GROUP: &[&str] =
    &["task-clock", "context-switches", "cpu-migrations", "page-faults", "minor-faults", "major-faults"];

/// Software events that are missing from a process's accounting (`wait4`), or that the accounting counts even before the process's program
/// starts.
pub(super) const UNACCOUNTED_GROUP: &[&str] = &["task-clock", "cpu-migrations", "page-faults"];

/// The event with this name.
pub fn find(name: &str) -> Option<&'static Event> {
    EVENTS.iter().find(|event| event.name == name)
}

impl Event {
    /// The kernel's encoding on a machine with one kind of core.
    pub(super) fn code(&self) -> Code {
        Code { kind: self.kind, config: self.config, ..Code::default() }
    }

    /// The encoding for one of several units of an x86 machine: the unit's number is in the upper half of `config`
    /// (`PERF_PMU_TYPE_SHIFT`, since Linux 5.13).
    pub(super) fn on_unit(&self, unit: u32) -> Code {
        Code { config: self.config | u64::from(unit) << 32, ..self.code() }
    }

    /// Arm's names; the first one that a unit supports is used.
    pub(super) fn arm_names(&self) -> &[&'static str] {
        &self.arm
    }

    /// Whether the kernel counts the event on every machine. All other events need a PMU.
    pub(super) fn is_software(&self) -> bool {
        self.kind == attr::TYPE_SOFTWARE
    }

    /// Whether the event occurs only in the kernel, so that counting user mode would always show 0.
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
        for event in EVENTS.iter() {
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
        // The small cores of Alder Lake: unit 10.
        assert_eq!(find("instructions").unwrap().on_unit(10).config, 0xa_0000_0001);
    }
}
