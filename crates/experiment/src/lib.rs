//! Experiments: alternatives that run alternately in rounds, so that drift favours none.
//!
//! [`rounds`] has the order of runs and their runner. [`throughput`] runs a command, or one of the [`recipes`], on one CPU up to all;
//! [`turns`] runs several commands; [`layouts`] runs copies of one as planned and unpinned. [`prove`] measures the gain of knobs, [`proof_cache`]
//! stores it, [`fix`] does it for one finding, and [`noise_estimate`] shows the maximum possible gain of each.

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
