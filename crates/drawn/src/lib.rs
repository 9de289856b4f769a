//! Renders knobs, proofs, fixes and recipes from the data of the crates that set and measure them.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod audit;
pub mod audit_json;
mod busy;
pub mod fix;
pub mod knob_changes;
pub mod proof;
pub mod recipes;
