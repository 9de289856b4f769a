//! A record as people read it: terminal text, one HTML page, and cyclictest's own formats. Pure functions of a
//! [`record::Record`] whose diagnosis is filled in already: what is printed here is written there, and nothing
//! is computed that a record should hold.
//!
//! What a report shows stands in `contents`, once, whatever it is printed on; `terminal` and `page` only lay it
//! out. A measurement is data, so one of a metric that this version does not know is printed too, as a table.

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
