//! A line that is kept until the output is over.

use record::Shared;

use crate::sink::said;
use crate::tools::Line;

/// A line of its own, as far as an origin quotes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    number: u64,
    text: Shared,
}

impl From<Line<'_>> for Held {
    fn from(line: Line) -> Self {
        Self { number: line.number, text: Shared::copied(said(line.text)) }
    }
}

impl Held {
    /// Its number and what of it is quoted.
    pub fn parts(&self) -> (u64, &Shared) {
        (self.number, &self.text)
    }

    /// It, for an origin.
    pub fn line(&self) -> Line<'_> {
        Line { number: self.number, text: &self.text }
    }
}
