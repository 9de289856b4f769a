//! All knobs, a file each, but for those that are one file of the kernel with one value.

mod affinity;
mod aslr;
mod boost;
mod clock_range;
mod epb;
mod epp;
mod governor;
mod guest_halt;
mod idle_states;
mod interrupts;
mod irqbalance;
mod isolation;
mod kernel_settings;
mod others;
mod power;
mod priority;
mod quota;
mod shield;
mod smt;
mod steal;
mod swap;
mod throttling;
mod workqueues;

pub(crate) use boost::NO_TURBO;
pub(crate) use guest_halt::NOT_A_GUESTS;
pub use priority::{lowest_nice_value, nice_scope_limit};

use crate::knob::Knob;

const COMMAND_UNKNOWN: &str = "a captured tree does not show what a command would have";
const CGROUP_UNKNOWN: &str = "a captured tree does not show the cgroup of a command";

/// In the order in which they are written: setting a governor resets `no_turbo`, so boost comes after it; without boost the
/// upper end of the clocks' range cannot be read or put back as it was, so the range comes before it. They are put back in
/// reverse.
pub const KNOBS: &[Knob] = &[
    governor::KNOB,
    epp::KNOB,
    epb::KNOB,
    clock_range::KNOB,
    boost::KNOB,
    idle_states::KNOB,
    guest_halt::KNOB,
    interrupts::KNOB,
    workqueues::KNOB,
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
    shield::KNOB,
    affinity::KNOB,
    priority::NICE,
    priority::FIFO,
    priority::IONICE,
    aslr::KNOB,
    isolation::KNOB,
    irqbalance::KNOB,
    others::KNOB,
    quota::KNOB,
    steal::KNOB,
    throttling::KNOB,
    power::KNOB,
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
