//! The measurements, one file each.

pub mod bandwidth;
pub mod clock;
pub mod core_to_core;
pub mod costs;
pub mod latency;
pub mod loaded_latency;
pub mod numa;
pub mod parallelism;
pub mod scaling;
pub mod smt_yield;
pub mod stolen;
pub mod wakeup;
pub mod workloads;

/// Measurements that hand arrays on to each other; before any other the memory is given back.
pub(crate) const USE_KEPT_ARRAYS: &[&str] =
    &["loaded-latency", "bandwidth", "workloads", "scaling", "smt-yield"];
