//! Experiments: alternatives that are run in rounds, each in turn, so that what drifts favours none.
//!
//! [`rounds`] is the order of that and its runner. [`throughput`] runs a command, or one of the [`recipes`], from one CPU to
//! all; [`layouts`] runs copies of a command as somebody planned them and unbound.

#![warn(unreachable_pub)]

mod incidents;
pub mod layouts;
pub mod recipes;
pub mod rounds;
pub mod throughput;
