//! Runs measurement loops under controlled conditions: pinning, page placement, start deadlines, clocks, repetition.
//! There is one file per measurement, below `measurements/`. This crate does not interpret results.
//!
//! Every measurement is a [`Measure`] in [`MEASUREMENTS`]. It declares its time and memory before it starts, pushes
//! [`record::Measurement`]s into its [`Context`] as soon as they are ready (so that an interrupted run preserves them),
//! and reports missing results in the coverage.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod accesses;
mod array_setup;
mod arrays;
pub mod budget;
pub mod busy;
pub mod command;
mod common_interval;
pub mod competitor;
pub mod context;
pub mod counters;
mod cycle;
pub mod fill_order;
pub mod interrupts;
mod kernel_trace;
pub mod list;
mod long_gaps;
mod measure;
mod measurements;
mod memory_probe;
pub mod os_noise;
mod reasons;
mod repeat;
pub mod run_queue_delay;
pub mod shape;
pub mod tasks;
mod thread_group;
mod wakeups;
pub mod watch;
mod workloads;

pub use budget::{Budget, Depth};
pub use context::{Context, Halt, Progress};
pub use list::{AllImpossible, find, find_offline};
pub use measure::Measure;
pub use measurements::MEASUREMENTS;
pub use memory_probe::MemoryProbe;
pub use repeat::{mark_samples, there_and_back};
pub use wakeups::Wakeups;

/// The explanation of each measurement, in the format of [`record::glossary`].
pub const GLOSSARY: &str = include_str!("glossary.md");
