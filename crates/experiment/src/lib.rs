//! Experiments: alternatives that run alternately in rounds, so that drift favours none.
//!
//! [`rounds`] has the order of runs and their runner. [`throughput`] runs a command, or one of the [`recipes`], on one CPU up to all;
//! [`turns`] runs several commands; [`layouts`] runs copies of one as planned and unpinned. [`prove`] shows what setting knobs gains, a
//! [`proof_cache`] stores that, a [`fix`] does it for one finding, and a [`noise_estimate`] shows how much each can gain at most.

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
