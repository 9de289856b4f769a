//! Bytes into plain numbered lines, a piece at a time: whatever the length of the text, no more of it is held than one
//! line.

mod decode;
mod markup;
mod plain;

use std::collections::VecDeque;
use std::io::{self, Read};

use decode::{RawLine, RawLines};

use crate::limits::LONGEST_LINE;

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text, perhaps blank.
    Text,
    /// A row of a Markdown table: [`Cleaned::text`] holds the cells, and [`Cleaned::label()`] tells the first where there are more.
    Row,
    /// The frame of a code block.
    Frame,
    /// The ruler below a Markdown table's head.
    Ruler,
    /// Not text: bytes of a binary file, or a line longer than [`LONGEST_LINE`].
    Unreadable,
}

/// A line without line end, colours, quoting and markup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cleaned {
    /// Its number in the text, from 1. Pieces of one line (`<br>`) have the same.
    pub number: u64,
    /// What it says, indentation kept.
    pub text: String,
    /// How long the first cell of a table row that has others is, in bytes: [`Cleaned::text`] begins with it.
    pub label: Option<usize>,
    /// What it is.
    pub kind: Kind,
    /// Whether it stands in a code block.
    pub in_fence: bool,
}

/// The lines of a text.
pub(crate) struct Lines<R> {
    raw: RawLines<R>,
    /// Further pieces of a line that has more than one.
    ready: VecDeque<Cleaned>,
    number: u64,
    in_fence: bool,
    /// The mail whose lines these are is quoted-printable, and what of a line was read so far, with its number.
    quoted_printable: bool,
    begun: Option<(u64, Vec<u8>)>,
}

impl<R: Read> Lines<R> {
    /// The lines of what `source` gives.
    pub(crate) fn new(source: R) -> io::Result<Self> {
        let raw = RawLines::new(source)?;
        let ready = VecDeque::new();
        Ok(Self { raw, ready, number: 0, in_fence: false, quoted_printable: false, begun: None })
    }

    /// The next line, `None` at the end.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Cleaned>> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Ok(Some(line));
            }
            let (raw, begun) = (self.raw.next_line()?, self.begun.take());
            let raw = match raw {
                Some(raw) => {
                    self.number += 1;
                    raw
                }
                None if begun.is_some() => RawLine::Text(Vec::new()),
                None => return Ok(None),
            };
            let RawLine::Text(bytes) = raw else {
                let lines = Piecewise { number: self.number, in_fence: &mut self.in_fence };
                return Ok(Some(lines.unreadable(format!("a line of over {} MiB", LONGEST_LINE >> 20))));
            };
            let Some((number, bytes)) = self.decoded(bytes, begun) else { continue };
            let mut lines = Piecewise { number, in_fence: &mut self.in_fence };
            lines.split(&String::from_utf8_lossy(&bytes), &mut self.ready);
        }
    }

    /// The line as it was before a mail's encoding, with the number of its first; `None` where it goes on in the next.
    fn decoded(&mut self, bytes: Vec<u8>, begun: Option<(u64, Vec<u8>)>) -> Option<(u64, Vec<u8>)> {
        const HEADER: &[u8] = b"content-transfer-encoding:";
        if bytes.get(..HEADER.len()).is_some_and(|start| start.eq_ignore_ascii_case(HEADER)) {
            self.quoted_printable =
                bytes[HEADER.len()..].trim_ascii().eq_ignore_ascii_case(b"quoted-printable");
        }
        if !self.quoted_printable {
            return Some((self.number, bytes));
        }
        let (decoded, goes_on) = decode::quoted_printable(&bytes);
        let (number, mut line) = begun.unwrap_or((self.number, Vec::new()));
        line.extend(decoded);
        if goes_on && line.len() <= LONGEST_LINE {
            self.begun = Some((number, line));
            return None;
        }
        Some((number, line))
    }

    /// Whether the text ended within the last line, with no line end.
    pub(crate) fn unfinished(&self) -> bool {
        self.raw.unfinished()
    }

    /// Bytes read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.raw.bytes()
    }

    /// Lines read so far.
    pub(crate) fn count(&self) -> u64 {
        self.number
    }
}

/// One line of the text, which may become several.
struct Piecewise<'a> {
    number: u64,
    in_fence: &'a mut bool,
}

impl Piecewise<'_> {
    fn unreadable(&self, text: String) -> Cleaned {
        Cleaned { text, kind: Kind::Unreadable, ..Cleaned::empty(self.number, *self.in_fence) }
    }

    fn split(&mut self, raw: &str, into: &mut VecDeque<Cleaned>) {
        if plain::is_binary(raw) {
            let seen: String = raw.chars().filter(|c| !c.is_control() && *c != '\u{fffd}').take(40).collect();
            into.push_back(self.unreadable(format!("binary data: {seen}")));
            return;
        }
        for segment in plain::segments(&plain::without_codes(raw)) {
            for piece in markup::without_tags(segment) {
                into.push_back(self.read(plain::without_keys(&piece)));
            }
        }
    }

    /// A line of a piece of text from which codes and tags are gone.
    fn read(&mut self, piece: &str) -> Cleaned {
        let text = markup::without_quotes(piece);
        let mut line = Cleaned::empty(self.number, *self.in_fence);
        if markup::is_fence(text) {
            line.kind = Kind::Frame;
            *self.in_fence = !*self.in_fence;
        } else if let Some(cells) = markup::row(text) {
            if markup::is_ruler(&cells) {
                line.kind = Kind::Ruler;
            } else {
                line.kind = Kind::Row;
                if let [first, _, ..] = cells.as_slice() {
                    line.label = Some(first.len());
                }
                line.text = cells.join("  ");
                return line;
            }
        }
        line.text = text.trim_end().to_owned();
        line
    }
}

impl Cleaned {
    /// The first cell of a table row that has others.
    pub(crate) fn label(&self) -> Option<&str> {
        self.label.map(|length| &self.text[..length])
    }

    fn empty(number: u64, in_fence: bool) -> Self {
        Self { number, text: String::new(), label: None, kind: Kind::Text, in_fence }
    }
}

#[cfg(test)]
mod tests;
