//! Runs one routine (`kernels::primes`) in each layer of a machine (user mode, kernel, guest), pinned to a CPU or not,
//! and with or without interrupts. Identical code runs in all layers, so that the difference in time between two layers
//! is due only to the layers themselves.
//!
//! A pass is divided into slices. The layers run their slices alternately, changing every few milliseconds, so that
//! drift affects all layers equally.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![warn(unreachable_pub)]

mod figures;
pub mod first_process;
pub mod images;
pub mod kernel_module;
pub mod kvm_guest;
mod layer;
mod layer_thread;
mod observer;
mod rounds;
mod session;
mod ticks;
mod user;
pub mod whole_guest;

/// The remedy if there is only one CPU.
const MORE_CPUS: &str = "allow more than one CPU (taskset, --cpus, the container's cpuset)";

pub use layer::{AGAIN, Disturbed, Layer, LayerName, Layers, Pass, REAL_TIME, page_offset};
pub use observer::Observer;
pub use record::Unavailable;
pub use rounds::{Effort, LayerPasses, MOST_ROUNDS, Mismatch, PORTIONS, Timings, portions, run_rounds};
pub use session::{Event, Guests, Outcome, Request, check_quota, run};
pub use ticks::Ticks;
pub use user::{User, UserMode};
pub use wire::crc32;
