//! The budget of a measurement, in seconds and bytes, determined before it starts.

use record::{Machine, Snapshot};

/// The thoroughness of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// The run takes about 10 seconds in total.
    Quick,
    /// The run takes about a minute in total.
    Normal,
    /// The user requested this measurement by name. Parts that grow with the machine (matrices, scaling) get the time
    /// that they need; the rest is as in a normal run.
    Named,
    /// The run takes several minutes.
    Full,
}

impl Depth {
    /// Chooses one of three values, by depth.
    pub fn pick<T>(self, quick: T, normal: T, full: T) -> T {
        match self {
            Depth::Quick => quick,
            Depth::Normal | Depth::Named => normal,
            Depth::Full => full,
        }
    }

    /// Chooses one of four values, by depth.
    pub fn pick_named<T>(self, quick: T, normal: T, named: T, full: T) -> T {
        match self {
            Depth::Named => named,
            _ => self.pick(quick, normal, full),
        }
    }
}

/// The limits of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Wall-clock time, seconds.
    pub seconds: f64,
    /// Bytes of arrays allocated at the same time.
    pub bytes: u64,
}

impl Budget {
    /// The budget of an omitted measurement.
    pub(crate) const NONE: Self = Self { seconds: 0.0, bytes: 0 };
}

/// Share of the available memory that arrays may use, to avoid triggering the kernel's out-of-memory killer and
/// affecting other processes.
const SHARE_OF_AVAILABLE: f64 = 0.5;

/// Bytes subtracted before taking the share: for linespeed itself, its threads' stacks and page tables.
const SET_ASIDE: u64 = 48 << 20;

/// Total bytes for arrays: a share of the kernel's available memory or of the cgroup's remaining memory, whichever is
/// smaller. If neither is known, the total is 64 MiB.
pub fn memory_allowance(available: Option<u64>, cgroup_available: Option<u64>) -> u64 {
    let Some(least) = available.into_iter().chain(cgroup_available).min() else { return 64 << 20 };
    (least.saturating_sub(SET_ASIDE) as f64 * SHARE_OF_AVAILABLE) as u64
}

/// [`memory_allowance`] before any measurement.
pub(crate) fn memory_allowance_at_start(machine: &Machine, snapshot: &Snapshot) -> u64 {
    memory_allowance(snapshot.memory_available_bytes, machine.limits.memory_available_bytes)
}

/// Whether this machine's instructions are emulated. Results then do not show hardware speed, and the emulated CPUs may
/// share a few host threads.
pub(crate) fn is_emulated(machine: &Machine) -> bool {
    machine.virtualization.emulated == Some(true)
}

/// Total size of the last-level caches used by any of `cpus`, bytes.
pub(crate) fn last_level_of(machine: &Machine, cpus: &[u32]) -> u64 {
    let caches = machine.data_caches(machine.last_level());
    let near = caches.filter(|cache| cpus.iter().any(|cpu| cache.cpus.contains(*cpu)));
    near.filter_map(|cache| cache.bytes).fold(0, u64::saturating_add)
}

/// The size of a working set beyond all caches: four times the sum of the last-level caches (STREAM's rule), and at
/// least 64 MiB if caches are small or unknown.
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
