//! What a report says, once, whatever it is printed on: facts, tables, charts and the summary, all taken from a
//! record. The strings in it are the machine's own; whoever prints them makes them safe.

pub mod block;
pub mod blocks;
pub mod compare;
pub mod conditions;
pub mod core_to_core;
pub mod counters;
pub mod curves;
pub mod details;
pub mod extremes;
pub mod figures;
pub mod inventory;
pub mod latency;
pub mod layers;
pub mod loss_breakdown;
pub mod memory;
pub mod numa;
pub mod placement;
pub mod plan;
pub mod provenance;
pub mod rest;
pub mod scaling;
pub mod section;
pub mod shape;
pub mod summary;
pub mod workloads;

pub use block::{Block, Part};
pub use section::{Fact, Section, listed};
