//! A stream of bytes into lines of UTF-8: line ends of every system, UTF-16 turned into UTF-8, lines of any length.

use std::io::{self, Read};

use crate::limits::LONGEST_LINE;

const CHUNK: usize = 1 << 16;

/// How the bytes are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16 { big_endian: bool },
}

/// One line as it stands in the text, without its line end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RawLine<'a> {
    Text(&'a [u8]),
    /// Longer than [`LONGEST_LINE`]; it is not kept.
    TooLong,
}

/// Reads lines out of a stream.
pub(super) struct Chunks<R> {
    source: R,
    /// What was read and not yet turned into UTF-8.
    raw: Vec<u8>,
    encoding: Option<Encoding>,
    /// A high surrogate that waits for its other half.
    surrogate: Option<u16>,
    /// UTF-8 text; what lies before `at` is used up.
    text: Vec<u8>,
    at: usize,
    line: Vec<u8>,
    bytes: u64,
    ended: bool,
    /// Lines end with CR alone, as on Macs of old: there is no LF in the text's first piece.
    carriage_returns: bool,
    /// The last line had no line end.
    unfinished: bool,
}

impl<R: Read> Chunks<R> {
    pub(super) fn new(source: R) -> Self {
        Self {
            source,
            raw: Vec::new(),
            encoding: None,
            surrogate: None,
            text: Vec::new(),
            at: 0,
            line: Vec::new(),
            bytes: 0,
            ended: false,
            carriage_returns: false,
            unfinished: false,
        }
    }

    /// Bytes read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the text ended within the last line that was given, with no line end.
    pub(super) fn unfinished(&self) -> bool {
        self.unfinished
    }

    /// The next line; `None` at the end.
    pub(super) fn next_line(&mut self) -> io::Result<Option<RawLine<'_>>> {
        self.line.clear();
        let mut too_long = false;
        let mut any = false;
        loop {
            if self.at == self.text.len() {
                if !self.fill()? {
                    break;
                }
                continue;
            }
            let rest = &self.text[self.at..];
            let end = if self.carriage_returns { b'\r' } else { b'\n' };
            let (piece, ended) = match rest.iter().position(|byte| *byte == end) {
                Some(length) => (&rest[..length], true),
                None => (rest, false),
            };
            // Most lines lie whole in one piece, and stay where they are.
            if ended && !any {
                let (from, to) = (self.at, self.at + piece.len());
                self.at = to + 1;
                self.unfinished = false;
                return Ok(Some(RawLine::Text(without_returns(&self.text[from..to]))));
            }
            any = true;
            if self.line.len() + piece.len() > LONGEST_LINE {
                too_long = true;
                self.line.clear();
            } else if !too_long {
                self.line.extend_from_slice(piece);
            }
            self.at += piece.len() + usize::from(ended);
            self.unfinished = !ended;
            if ended {
                break;
            }
        }
        if !any {
            return Ok(None);
        }
        if too_long {
            return Ok(Some(RawLine::TooLong));
        }
        Ok(Some(RawLine::Text(without_returns(&self.line))))
    }

    /// Reads a piece and turns it into UTF-8; `false` at the end.
    fn fill(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        self.raw.reserve(CHUNK);
        let read = self.source.by_ref().take(CHUNK as u64).read_to_end(&mut self.raw)?;
        self.ended = read < CHUNK;
        self.bytes += read as u64;
        self.text.clear();
        self.at = 0;
        match self.encoding {
            None => self.begin(),
            Some(encoding) => self.decode(encoding),
        }
        Ok(true)
    }

    fn begin(&mut self) {
        let encoding = match self.raw.as_slice() {
            [0xef, 0xbb, 0xbf, ..] => {
                self.raw.drain(..3);
                Encoding::Utf8
            }
            [0xff, 0xfe, ..] => {
                self.raw.drain(..2);
                Encoding::Utf16 { big_endian: false }
            }
            [0xfe, 0xff, ..] => {
                self.raw.drain(..2);
                Encoding::Utf16 { big_endian: true }
            }
            raw => without_mark(raw),
        };
        self.encoding = Some(encoding);
        self.decode(encoding);
        self.carriage_returns = self.text.contains(&b'\r') && !self.text.contains(&b'\n');
    }

    fn decode(&mut self, encoding: Encoding) {
        let Encoding::Utf16 { big_endian } = encoding else {
            std::mem::swap(&mut self.text, &mut self.raw);
            self.raw.clear();
            return;
        };
        let pairs = self.raw.chunks_exact(2);
        let rest = pairs.remainder().to_vec();
        let units = pairs.map(|pair| {
            let pair = [pair[0], pair[1]];
            if big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
        });
        let units: Vec<u16> = self.surrogate.take().into_iter().chain(units).collect();
        let (whole, waiting) = match units.split_last() {
            Some((last, before)) if (0xd800..0xdc00).contains(last) && !self.ended => (before, Some(*last)),
            _ => (units.as_slice(), None),
        };
        let mut utf8 = [0; 4];
        for character in char::decode_utf16(whole.iter().copied()) {
            let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
            self.text.extend_from_slice(character.encode_utf8(&mut utf8).as_bytes());
        }
        self.surrogate = waiting;
        self.raw = rest;
    }
}

/// CR LF, and CR CR LF as some mail gateways leave it.
fn without_returns(line: &[u8]) -> &[u8] {
    let kept = line.iter().rposition(|byte| *byte != b'\r').map_or(0, |last| last + 1);
    &line[..kept]
}

/// UTF-16 that does not say so: Latin letters with a zero byte on the same side of each.
fn without_mark(raw: &[u8]) -> Encoding {
    let sample = &raw[..raw.len().min(64)];
    let pairs = sample.chunks_exact(2);
    let all = |zero: usize| sample.len() >= 8 && pairs.clone().all(|p| p[zero] == 0 && p[1 - zero] != 0);
    if all(1) {
        Encoding::Utf16 { big_endian: false }
    } else if all(0) {
        Encoding::Utf16 { big_endian: true }
    } else {
        Encoding::Utf8
    }
}
