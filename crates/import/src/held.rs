//! A line that is kept until the output is over.

use crate::sink::said;
use crate::tools::Line;

/// A line of its own, as far as an origin quotes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    number: u64,
    text: String,
}

impl From<Line<'_>> for Held {
    fn from(line: Line) -> Self {
        Self { number: line.number, text: said(line.text).to_owned() }
    }
}

impl Held {
    /// It, for an origin.
    pub fn line(&self) -> Line<'_> {
        Line { number: self.number, text: &self.text }
    }
}
