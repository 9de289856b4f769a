//! The budget of a measurement: seconds and bytes, known before it starts.

use record::{Machine, Snapshot};

/// How thorough a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// About 10 seconds in all.
    Quick,
    /// About a minute in all.
    Normal,
    /// The user named the measurement: parts that grow with the machine (matrices, scaling) get the time that they need; the rest is as in a
    /// normal run.
    Named,
    /// Minutes.
    Full,
}

impl Depth {
    /// One of three values, by depth.
    pub fn pick<T>(self, quick: T, normal: T, full: T) -> T {
        match self {
            Depth::Quick => quick,
            Depth::Normal | Depth::Named => normal,
            Depth::Full => full,
        }
    }

    /// One of four values, by depth.
    pub fn pick_named<T>(self, quick: T, normal: T, named: T, full: T) -> T {
        match self {
            Depth::Named => named,
            _ => self.pick(quick, normal, full),
        }
    }
}

/// The upper limit of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Bytes of arrays alive at once.
    pub bytes: u64,
}

impl Budget {
    /// The budget of an omitted measurement.
    pub(crate) const NONE: Self = Self { seconds: 0.0, bytes: 0 };
}

/// Arrays may use this share of the available memory, to avoid the kernel's out-of-memory killer and effects on other processes.
const SHARE_OF_AVAILABLE: f64 = 0.5;

/// Subtracted before the share: linespeed itself, its threads' stacks and page tables.
const SET_ASIDE: u64 = 48 << 20;

/// Total bytes for arrays, from the kernel's available memory and the cgroup's remaining memory. The smaller of the two counts; if neither is
/// known, a conservative 64 MiB.
pub fn memory_allowance(available: Option<u64>, cgroup_available: Option<u64>) -> u64 {
    let Some(least) = available.into_iter().chain(cgroup_available).min() else { return 64 << 20 };
    (least.saturating_sub(SET_ASIDE) as f64 * SHARE_OF_AVAILABLE) as u64
}

/// [`memory_allowance`] before anything runs.
pub(crate) fn memory_allowance_at_start(machine: &Machine, snapshot: &Snapshot) -> u64 {
    memory_allowance(snapshot.memory_available_bytes, machine.limits.memory_available_bytes)
}

/// Whether an emulator runs this machine's instructions: its results are not speeds, and its CPUs may be few threads.
pub(crate) fn is_emulated(machine: &Machine) -> bool {
    machine.virtualization.emulated == Some(true)
}

/// Bytes of the last-level caches used by some of `cpus`.
pub(crate) fn last_level_of(machine: &Machine, cpus: &[u32]) -> u64 {
    let caches = machine.data_caches(machine.last_level());
    let near = caches.filter(|cache| cpus.iter().any(|cpu| cache.cpus.contains(*cpu)));
    near.filter_map(|cache| cache.bytes).fold(0, u64::saturating_add)
}

/// A working set beyond all caches: four times the sum of the last-level caches (STREAM's rule), at least 64 MiB if
/// caches are small or unknown.
pub fn beyond_caches(machine: &Machine) -> u64 {
    machine.last_level_bytes().saturating_mul(4).max(64 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_cgroup_is_never_filled() {
        let all = memory_allowance(Some(64 << 30), Some(256 << 20));
        assert!(all <= 128 << 20, "{all}");
        assert_eq!(memory_allowance(Some(20 << 20), None), 0);
    }
}
