//! A line that is kept until the output is over.

use crate::tools::Line;

/// A line of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    number: u64,
    text: String,
}

/// The longest part of a line that is kept, in bytes; an origin quotes less.
const LONGEST: usize = 1024;

impl From<Line<'_>> for Held {
    fn from(line: Line) -> Self {
        let mut end = line.text.len().min(LONGEST);
        while !line.text.is_char_boundary(end) {
            end -= 1;
        }
        Self { number: line.number, text: line.text[..end].to_owned() }
    }
}

impl Held {
    /// It, as a reader was given it.
    pub fn line(&self) -> Line<'_> {
        Line { number: self.number, text: &self.text }
    }
}
