//! The measurements, one file each.

pub mod bandwidth;
pub mod clock;
pub mod costs;
pub mod latency;
pub mod loaded_latency;
pub mod parallelism;
pub mod stolen;
pub mod wakeup;
