//! The types of a linespeed record: a machine's inventory and state, its results, and the measurements that are
//! missing. This crate neither reads from the system nor prints.
//!
//! A record is one JSON file. A value not reported by the machine is `None` (absent in JSON), never 0.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod baseline;
mod bound;
mod bus_bytes;
pub mod check;
pub mod clock_holders;
pub mod command_line;
pub mod command_run;
pub mod comparison;
pub mod conditions;
pub mod coverage;
pub mod cpu_list;
mod credible;
pub mod date;
pub mod detail;
pub mod diagnosis;
pub mod difference;
pub mod document;
pub mod doubt;
mod evidence;
mod extent;
pub mod fail_on;
pub mod file_name;
mod finding;
pub mod fleet;
pub mod gate;
pub mod glossary;
pub mod handover;
pub mod history;
pub mod import;
pub mod in_turn;
pub mod json;
pub mod label;
pub mod live;
pub mod long_gap;
pub mod loss_breakdown;
pub mod machine;
pub mod measurement;
pub mod metrics;
mod mode;
pub mod phrase;
pub mod plan;
pub mod redaction;
pub mod regular_file;
mod remedy;
pub mod schema;
pub mod shape;
mod share;
pub mod source;
pub mod statistics;
pub mod store;
pub mod text;
pub mod turns;
mod unavailable;
pub mod units;
pub mod watch;

#[doc(hidden)]
pub use captures::with_captured;

pub use bus_bytes::{bus_bytes, write_allocate_avoided};
pub use comparison::Comparison;
pub use conditions::{Conditions, Knob, Snapshot};
pub use coverage::{Coverage, State};
pub use cpu_list::CpuList;
pub use detail::{Detail, DetailKey};
pub use diagnosis::{Diagnosis, Level};
pub use difference::Verdict;
pub use document::{Ended, Misfit, ReadError, Record, SCHEMA_VERSION, Tool};
pub use doubt::{Doubt, DoubtKind};
pub use extent::LongList;
pub use handover::Handover;
pub use label::Label;
pub use machine::Machine;
pub use measurement::{Bucket, Key, Labels, Mark, Measurement, SampleMark, significant};
pub use metrics::{Better, Metric};
pub use mode::RunMode;
pub use remedy::{KnobName, KnobValue, Remedy};
pub use statistics::Summary;
pub use text::{Template, Text};
pub use unavailable::Unavailable;
pub use watch::Watch;

// Only tests generate JSON Schemas.
#[cfg(not(test))]
use no_schema::JsonSchema;
#[cfg(test)]
use schemars::JsonSchema;
