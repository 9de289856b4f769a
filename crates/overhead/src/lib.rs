//! One routine (`kernels::primes`) in each layer of a machine: user mode, kernel, guest; bound to a CPU or not, with
//! interrupts or without. The same bytes run everywhere, so that a step between two layers costs what differs between
//! them and nothing else.
//!
//! A layer makes a pass in portions, so that layers take turns every few milliseconds and whatever drifts touches all
//! alike.

mod beside;
mod crc;
mod figures;
pub mod kernel_module;
pub mod kvm_guest;
mod layer;
mod ticks;
mod turns;
mod user;
pub mod whole_guest;
mod worker;

pub use beside::{Beside, Watcher};
pub use crc::crc32;
pub use figures::{coverage, measurements};
pub use layer::{AGAIN, Bound, Disturbed, Layer, LayerName, Pass, REAL_TIME, page_offset};
pub use record::Unavailable;
pub use ticks::Ticks;
pub use turns::{Effort, MOST_ROUNDS, PORTIONS, Row, Taken, portions, take_turns};
pub use user::{How, User};
pub use worker::{Work, Worker};
