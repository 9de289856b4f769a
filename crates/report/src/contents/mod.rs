//! The contents of a report, independent of the output format: facts, tables, charts and the summary, all from a record. Its strings may be
//! from an untrusted machine, so the code that prints them must make them safe.

#[cfg(test)]
mod agreement;
pub(crate) mod bandwidth;
pub(crate) mod block;
pub(crate) mod blocks;
pub(crate) mod claims;
pub(crate) mod command;
pub(crate) mod command_tables;
pub(crate) mod compare;
pub(crate) mod conditions;
pub(crate) mod core_to_core;
pub(crate) mod counters;
pub(crate) mod curves;
pub(crate) mod details;
pub(crate) mod essentials;
pub(crate) mod figures;
pub(crate) mod finding;
pub(crate) mod fleet;
pub(crate) mod gate;
pub(crate) mod history;
pub(crate) mod inventory;
pub(crate) mod latency;
pub(crate) mod layers;
pub(crate) mod loss_breakdown;
pub(crate) mod memory;
pub(crate) mod numa;
pub(crate) mod placement;
pub(crate) mod places;
pub(crate) mod plan;
pub(crate) mod provenance;
pub(crate) mod rest;
pub(crate) mod scaling;
pub(crate) mod section;
pub(crate) mod shape;
pub(crate) mod side_by_side;
pub(crate) mod stolen;
pub(crate) mod summary;
pub(crate) mod turns;
pub(crate) mod verdict;
pub(crate) mod wakeups;
pub(crate) mod watch;
pub(crate) mod workloads;

pub(crate) use block::{Block, Part};
pub(crate) use section::{Fact, Section, listed};
