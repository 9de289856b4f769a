//! The text of a record before it is parsed: what of it is wanted, and how much memory it asks for. Every byte of thousands of
//! records goes through here, so that this crate alone is compiled for speed, not for size.

#![warn(unreachable_pub)]
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

mod extent;
mod marks;
mod part;
mod reader;

pub use extent::{LongList, MOST_ITEMS, memory_of};
pub use part::{Part, skim};
pub use reader::{Open, Reader};
