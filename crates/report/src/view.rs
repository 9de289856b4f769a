//! What other crates build a view from, of data that this one does not know: lines, lists and tables on a [`Screen`], which draws
//! them for a terminal, as Markdown, or as tables alone.

pub use crate::contents::finding::{loss, severity};
pub use crate::paint::{Span, Tone};
pub use crate::table::{Column, Field, Table, Weight};
pub use crate::terminal::Screen;
pub use crate::text::{capitalized, cut, width};
