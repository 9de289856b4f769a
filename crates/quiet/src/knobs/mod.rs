//! All knobs, a file each.

mod affinity;
mod aslr;
mod boost;
mod clock_range;
mod epb;
mod epp;
mod file_knob;
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
mod workqueues;

pub(crate) use boost::NO_TURBO;
pub(crate) use guest_halt::NOT_A_GUESTS;
pub use priority::{lowest_nice_value, nice_scope_limit};

use crate::knob::Knob;

/// In the order in which they are written: setting a governor resets `no_turbo`, so boost comes after it; without boost the
/// upper end of the clocks' range cannot be read or put back as it was, so the range comes before it. They are put back in
/// reverse.
pub const KNOBS: &[&dyn Knob] = &[
    &governor::Governor,
    &epp::Epp,
    &epb::Epb,
    &clock_range::ClockRange,
    &boost::Boost,
    &idle_states::IdleStates,
    &guest_halt::GuestHalt,
    &interrupts::Interrupts,
    &workqueues::Workqueues,
    &smt::Smt,
    &nmi_watchdog::KNOB,
    &timer_migration::KNOB,
    &stat_interval::KNOB,
    &numa_balancing::KNOB,
    &ksm::KNOB,
    &thp::KNOB,
    &perf_sample_rate::KNOB,
    &perf_cpu_time::KNOB,
    &rt_runtime::KNOB,
    &shield::Shield,
    &affinity::Affinity,
    &priority::Nice,
    &priority::Fifo,
    &priority::IoPriority,
    &aslr::Aslr,
    &isolation::Isolation,
    &irqbalance::Irqbalance,
    &others::Others,
    &quota::Quota,
    &steal::Steal,
    &throttling::Throttling,
    &power::Power,
    &swap::Swap,
];

/// The knob with this name.
pub fn find(name: &str) -> Option<&'static dyn Knob> {
    KNOBS.iter().copied().find(|knob| knob.name() == name)
}
