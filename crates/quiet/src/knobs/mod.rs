//! All knobs, a file each, but for those that are alike: one file of the kernel with one value, words of the clock's policies,
//! what concerns the CPUs that are to be quiet, and what is found and not set.

mod boost;
mod clock_range;
mod found;
mod idle_states;
mod kernel_settings;
mod power_limit;
mod preferences;
mod priority;
mod quiet_cpus;
mod smt;
mod swap;

pub(crate) use boost::NO_TURBO;
pub(crate) use idle_states::NOT_A_GUESTS;
pub use priority::{lowest_nice_value, nice_scope_limit};

use crate::knob::Knob;

const COMMAND_UNKNOWN: &str = "a captured tree does not show what a command would have";
const CGROUP_UNKNOWN: &str = "a captured tree does not show the cgroup of a command";

/// In the order in which they are written: setting a governor resets `no_turbo`, so boost comes after it; without boost the
/// upper end of the clocks' range cannot be read or put back as it was, so the range comes before it. They are put back in
/// reverse.
pub const KNOBS: &[Knob] = &[
    preferences::GOVERNOR,
    preferences::EPP,
    preferences::EPB,
    clock_range::KNOB,
    boost::KNOB,
    power_limit::KNOB,
    idle_states::KNOB,
    idle_states::GUEST_HALT,
    quiet_cpus::INTERRUPTS,
    quiet_cpus::WORKQUEUES,
    smt::KNOB,
    kernel_settings::NMI_WATCHDOG,
    kernel_settings::TIMER_MIGRATION,
    kernel_settings::STAT_INTERVAL,
    kernel_settings::NUMA_BALANCING,
    kernel_settings::KSM,
    kernel_settings::THP,
    kernel_settings::COMPACTION,
    kernel_settings::PERF_SAMPLE_RATE,
    kernel_settings::PERF_CPU_TIME,
    kernel_settings::RT_RUNTIME,
    quiet_cpus::SHIELD,
    quiet_cpus::AFFINITY,
    priority::NICE,
    priority::FIFO,
    priority::IONICE,
    kernel_settings::ASLR,
    quiet_cpus::ISOLATION,
    found::IRQBALANCE,
    found::OTHERS,
    found::QUOTA,
    found::STEAL,
    found::THROTTLING,
    found::POWER,
    swap::KNOB,
];

/// What knobs are, in the form of [`record::glossary`]; those of them that the inventory explains are left out.
pub const GLOSSARY: &str = include_str!("glossary.md");

/// The knob with this name.
pub fn find(name: &str) -> Option<&'static Knob> {
    KNOBS.iter().find(|knob| knob.name == name)
}

#[cfg(test)]
mod tests;
