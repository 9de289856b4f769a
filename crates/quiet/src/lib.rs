//! The knobs that make a machine steady for measurements: read, set, restored.
//!
//! Nothing here measures. `value_syntax` knows how files spell their values; [`files`] reads and writes them below any root; [`change`] is
//! one value from old to new; [`journal`] records old values on disk; [`apply`] writes and restores them. [`process_settings`] live with a
//! process; a [`compound_change`] is more than a value. [`audit`] inspects all [`knobs`]; a [`tuning_plan`] lists the planned changes; and
//! a [`session`] leads from the lock to the values and back.

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
