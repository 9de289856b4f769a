//! What rules need of a record.

use super::Case;
use record::metrics;

/// Something that a rule needs of a record.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// What it is, as a report names it if it is missing.
    pub what: &'static str,
    /// Whether the record has it, or this machine cannot have what the rule looks for: siblings are not missing on cores without SMT.
    is_met: fn(&Case) -> bool,
}

impl Need {
    pub(super) const fn new(what: &'static str, is_met: fn(&Case) -> bool) -> Self {
        Self { what, is_met }
    }

    /// Whether the record holds it.
    pub fn is_met(&self, case: &Case) -> bool {
        (self.is_met)(case)
    }
}

/// Memory devices with their size: the firmware's table, which unprivileged users often do not see. A guest's are made up.
pub(super) const MEMORY_DEVICES: Need = Need::new("memory devices (SMBIOS)", |case| {
    crate::memory_channels::are_made_up(&case.record.machine)
        || !case.record.machine.memory_devices.is_empty()
});
/// Checks of CPU placement; a single CPU needs none.
pub(super) const LOOKS: Need = Need::new("placement checks of the CPUs (linespeed run)", |case| {
    case.record.machine.allowed_cpus().len() < 2 || case.shape().is_some()
});
/// The state of the machine when the run ended.
pub(super) const STATE_AFTER: Need =
    Need::new("the machine's state after the run", |case| case.record.conditions.after.is_some());
/// Clocks of the cores with plain work.
pub(super) const CORE_CLOCK: Need = Need::new("core clock", |case| case.has(metrics::CORE_CLOCK));
/// Load latency at any working set.
pub(super) const LOAD_LATENCY: Need = Need::new("load latency", |case| case.has(metrics::LOAD_LATENCY));
/// Wake-up latency.
pub(super) const WAKE_UP: Need = Need::new("wake-up latency", |case| case.has(metrics::WAKEUP_LATENCY));
/// The size of a cache.
pub(super) const CACHE_SIZES: Need =
    Need::new("cache sizes", |case| case.record.machine.caches.iter().any(|cache| cache.bytes.is_some()));
