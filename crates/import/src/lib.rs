//! Other tools' output, read into records: also several outputs in one text, with prompts, comments and prose between.
//!
//! A text goes through three stages, each linear in its length: `clean` makes plain numbered lines of it (colours,
//! quoting, fences, entities, progress lines gone), `session` finds prompts, host names and command lines, and the readers
//! of [`tools`] take the lines that are theirs. A new tool is one new file in `tools/` and its line in [`tools::TOOLS`].

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::todo,
        clippy::unimplemented
    )
)]

mod assemble;
pub mod clean;
pub mod command_line;
#[cfg(test)]
mod damaged;
mod devices;
mod dispatch;
pub mod facts;
mod held;
mod numbers;
mod parts;
mod refusal;
pub mod session;
pub mod sink;
pub mod tools;

pub use assemble::Imported;
pub use dispatch::Transcript;
pub use parts::Split;
pub use refusal::Refusal;
pub use sink::{Draft, Sink};
