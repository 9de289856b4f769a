//! How kernels are run honestly: pinning, page placement, start deadlines, clocks, repetition. One file a
//! measurement, below `measurements/`; nothing here interprets a figure.
//!
//! Every measurement is a [`Measure`] in [`list::MEASUREMENTS`]. It declares its time and memory before it starts,
//! pushes [`record::Measurement`]s into its [`Context`] as they are ready (so that an interrupted run keeps them)
//! and says in the coverage what it could not do.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::todo,
        clippy::unimplemented
    )
)]

pub mod array_setup;
pub mod arrays;
pub mod budget;
pub mod busy;
pub mod command;
pub mod common_interval;
pub mod context;
pub mod counters;
pub mod cycle;
pub mod file_trace;
pub mod fill_order;
pub mod interrupts;
pub mod list;
pub mod measurements;
pub mod noise;
mod refusal;
pub mod repeat;
pub mod run_queue_delay;
pub mod thread_group;
pub mod time_estimate;
pub mod watch;
pub mod workloads;

pub use budget::{Budget, Depth};
pub use context::{Context, Halt, Progress};
pub use list::{MEASUREMENTS, Measure, find};
