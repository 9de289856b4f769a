//! Imports the output of other tools into records. A text may contain several outputs, with prompts, comments and prose between
//! them.
//!
//! A text is processed in three stages, each linear in its length: `clean` produces plain numbered lines (without colors,
//! quoting, fences, entities, progress lines), `prompts` finds prompts, host names and command lines, and the readers of
//! `tools` accept the lines of their outputs. A new tool is one new file in `tools/` and a line in `tools::TOOLS`.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod archive;
mod assemble;
mod cache_size;
mod choose;
mod clean;
#[cfg(test)]
mod damaged;
mod error;
mod facts;
#[cfg(test)]
mod harmed;
mod importer;
#[cfg(test)]
mod inputs;
mod limits;
mod line;
mod numbers;
mod prompts;
mod reading;
#[cfg(test)]
mod real;
mod scan;
mod sections;
mod setting;
mod sink;
mod split;
mod table;
mod tool;
mod tools;

pub use assemble::Imported;
pub use choose::{NoSuchMachine, choose_machine, list_machines};
pub use error::{Clash, Error};
pub use importer::Importer;
pub use setting::{Setting, SettingError};
pub use split::{Split, SplitError};
pub use table::{Table, TableError};
pub use tools::tool_names;
