//! Experiments: alternatives run alternately in rounds, so that drift favors none of them.
//!
//! [`rounds`] determines the order of runs and executes them. [`throughput`] runs a command, or one of the [`recipes`],
//! on one to all CPUs; [`turns`] runs several commands; [`layouts`] runs copies of a command as planned and unpinned.
//! [`prove`] measures the gain of knobs, [`proof_cache`] stores it, [`fix`] proves the fix of one finding, and
//! [`noise_estimate`] shows the maximum possible gain of each knob.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod copies;
pub mod failure;
pub mod fix;
pub mod layouts;
pub mod noise_estimate;
pub mod probe;
pub mod proof_cache;
pub mod prove;
pub mod recipes;
pub mod rounds;
pub mod throughput;
pub mod turns;
