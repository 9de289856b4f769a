//! What rules need of a record, each in the words in which a report says that it is missing.

use super::Case;

/// Memory devices with their size: the firmware's table, which guests and unprivileged users often do not see.
pub const DEVICES: &str = "memory devices (SMBIOS)";
/// The state of the machine when the run ended.
pub const AFTER: &str = "the state after a run";

/// `None` when a metric was measured.
pub fn metric(case: &Case, metric: &str, words: &'static str) -> Option<&'static str> {
    (!case.has(metric)).then_some(words)
}

/// `None` when a value is told.
pub fn told<T>(value: Option<T>, words: &'static str) -> Option<&'static str> {
    value.is_none().then_some(words)
}

/// `None` when a memory device is told.
pub fn devices(case: &Case) -> Option<&'static str> {
    case.record.machine.memory_devices.is_empty().then_some(DEVICES)
}

/// Clocks of the cores with plain work.
pub fn clock(case: &Case) -> Option<&'static str> {
    metric(case, "core.clock", "the core clock")
}

/// Load latency at any working set.
pub fn latency(case: &Case) -> Option<&'static str> {
    metric(case, "load.latency", "load latency")
}

/// Wake-up latency.
pub fn wakeup(case: &Case) -> Option<&'static str> {
    metric(case, "wakeup.latency", "wake-up latency")
}

/// Time stolen from a thread that never stops.
pub fn stolen(case: &Case) -> Option<&'static str> {
    metric(case, "stolen.share", "stolen time")
}
