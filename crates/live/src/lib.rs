//! Observes a running machine: the activity of its CPUs in each interval, from data that Linux exposes without root or
//! counters, and from a probe of memory latency. This crate does not interpret the results.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod beside;
mod coverage;
mod hardware;
mod keeping;
mod kept_files;
mod look;
#[cfg(test)]
mod made_up;
mod pace;
mod probes;
mod processes;
mod selection;
mod service;
mod sources;
mod watch;

pub use beside::Beside;
pub use keeping::Keeping;
pub use selection::{Selection, SelectionError};
pub use service::{Service, ServiceError};
pub use watch::Watch;
