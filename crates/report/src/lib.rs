//! Displays a record as terminal text, as an HTML page, or in cyclictest's formats. The functions are pure functions of a
//! [`record::Record`] with its diagnosis: all printed data comes from the record, and values that belong in a record are not computed here.
//!
//! The contents of a report are in `contents`, independent of the output format; `terminal` and `page` only lay them out. Measurements are
//! data, so unknown metrics are also printed, as a table.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod ascii;
mod chart;
pub mod claims_json;
mod contents;
pub mod csv;
pub mod cyclictest;
pub mod junit;
pub mod page;
mod paint;
pub mod perf_format;
pub mod prometheus;
mod shown;
mod table;
pub mod terminal;
mod text;
pub mod view;
