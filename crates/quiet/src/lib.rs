//! Reads, sets and restores the knobs that make a machine steady for measurements.
//!
//! This crate does not measure anything. `value_syntax` handles the formats of values; [`files`] reads and writes files
//! under any root; a [`change`] replaces one value; [`journal`] records old values on disk; [`apply`] writes and
//! restores values. [`process_settings`] have the lifetime of a process; a [`compound_change`] consists of more than a
//! value. [`audit`] inspects all [`knobs`]; a [`tuning_plan`] lists the planned changes; and a [`session`] takes the
//! lock, sets the values and restores them.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![warn(unreachable_pub)]

pub mod apply;
pub mod audit;
pub mod change;
pub mod compound_change;
pub mod error;
pub mod event;
pub mod files;
pub mod journal;
pub mod json;
pub mod knob;
pub mod knob_outcome;
pub mod knobs;
pub mod lock;
pub mod lock_holder;
pub mod page_cache;
pub mod process_settings;
pub mod session;
pub mod standing;
pub mod state_directory;
pub mod tuned_session;
pub mod tuning_plan;
mod value_syntax;
