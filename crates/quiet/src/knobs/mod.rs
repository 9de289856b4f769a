//! All knobs, a file each.

mod affinity;
mod aslr;
mod boost;
mod clock_range;
mod compaction;
mod epb;
mod epp;
mod governor;
mod guest_halt;
mod idle_states;
mod interrupts;
mod irqbalance;
mod isolation;
mod ksm;
mod nmi_watchdog;
mod numa_balancing;
mod others;
mod perf_cpu_time;
mod perf_sample_rate;
mod power;
mod priority;
mod quota;
mod rt_runtime;
mod shield;
mod smt;
mod stat_interval;
mod steal;
mod swap;
mod thp;
mod throttling;
mod timer_migration;
mod uniform;
mod workqueues;

pub(crate) use boost::NO_TURBO;
pub(crate) use guest_halt::NOT_A_GUESTS;
pub use priority::{lowest_nice_value, nice_scope_limit};
pub(crate) use uniform::inspect_words;

use crate::knob::Knob;
use record::Template;

const COMMAND_UNKNOWN: Template = Template {
    code: "quiet-command-unknown",
    words: "a captured tree does not show what a command would have",
};
const CGROUP_UNKNOWN: Template =
    Template { code: "quiet-cgroup-unknown", words: "a captured tree does not show the cgroup of a command" };

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
    nmi_watchdog::KNOB,
    timer_migration::KNOB,
    stat_interval::KNOB,
    numa_balancing::KNOB,
    ksm::KNOB,
    thp::KNOB,
    compaction::KNOB,
    perf_sample_rate::KNOB,
    perf_cpu_time::KNOB,
    rt_runtime::KNOB,
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

/// The knob with this name.
pub fn find(name: &str) -> Option<&'static Knob> {
    KNOBS.iter().find(|knob| knob.name == name)
}

#[cfg(test)]
mod tests;
