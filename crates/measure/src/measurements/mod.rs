//! The measurements, one file each.

pub(crate) mod bandwidth;
pub(crate) mod clock;
pub(crate) mod core_to_core;
pub(crate) mod costs;
pub(crate) mod latency;
pub(crate) mod loaded_latency;
pub(crate) mod numa;
pub(crate) mod parallelism;
pub(crate) mod scaling;
pub(crate) mod smt_yield;
pub(crate) mod time_taken;
pub(crate) mod wakeup;
pub(crate) mod workloads;
