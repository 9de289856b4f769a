//! Experiments: alternatives that run alternately in rounds, so that drift favours none.
//!
//! [`rounds`] is the order of that and its runner. [`throughput`] runs a command, or one of the [`recipes`], from one CPU to
//! all; [`turns`] runs several commands; [`layouts`] runs copies of one as somebody planned them and unbound; [`prove`] shows what setting knobs gains,
//! which a [`proof_cache`] keeps and a [`fix`] does for one finding, and a [`noise_estimate`] says how much each can gain at most.

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
