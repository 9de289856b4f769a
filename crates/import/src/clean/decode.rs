//! A stream of bytes into lines of UTF-8: line ends of every system, UTF-16 turned into UTF-8, lines of any length.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use crate::limits::LONGEST_LINE;

/// Bytes that are read at once.
const PIECE: u64 = 1 << 16;

/// How the bytes are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16 { big_endian: bool },
}

/// One line as it stands in the text, without its line end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RawLine {
    Text(Vec<u8>),
    /// Longer than [`LONGEST_LINE`]; it is not kept.
    TooLong,
}

/// Reads lines out of a stream.
pub(super) struct RawLines<R> {
    source: BufReader<Chain<Cursor<Vec<u8>>, R>>,
    encoding: Encoding,
    bytes: u64,
    unfinished: bool,
}

impl<R: Read> RawLines<R> {
    pub(super) fn new(mut source: R) -> io::Result<Self> {
        let mut sample = Vec::new();
        source.by_ref().take(3).read_to_end(&mut sample)?;
        let (encoding, mark) = match sample.as_slice() {
            [0xef, 0xbb, 0xbf, ..] => (Encoding::Utf8, 3),
            [0xff, 0xfe, ..] => (Encoding::Utf16 { big_endian: false }, 2),
            [0xfe, 0xff, ..] => (Encoding::Utf16 { big_endian: true }, 2),
            _ => (Encoding::Utf8, 0),
        };
        let mut sample = Cursor::new(sample);
        sample.set_position(mark);
        let source = BufReader::new(sample.chain(source));
        Ok(Self { source, encoding, bytes: mark, unfinished: false })
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
    pub(super) fn next_line(&mut self) -> io::Result<Option<RawLine>> {
        let (mut line, ended) = match self.encoding {
            Encoding::Utf8 => self.read_utf8()?,
            Encoding::Utf16 { big_endian } => self.read_utf16(big_endian)?,
        };
        if !ended && line.is_empty() {
            return Ok(None);
        }
        self.unfinished = !ended;
        if line.len() > LONGEST_LINE {
            return Ok(Some(RawLine::TooLong));
        }
        // CR LF, and CR CR LF as some mail gateways leave it.
        line.truncate(line.iter().rposition(|byte| *byte != b'\r').map_or(0, |last| last + 1));
        Ok(Some(RawLine::Text(line)))
    }

    /// A line, of which no more than can be told to be too long is kept, and whether its end was there.
    fn read_utf8(&mut self) -> io::Result<(Vec<u8>, bool)> {
        let mut line = Vec::new();
        let mut piece = Vec::new();
        loop {
            piece.clear();
            let read = self.source.by_ref().take(PIECE).read_until(b'\n', &mut piece)?;
            self.bytes += read as u64;
            let ended = piece.pop_if(|last| *last == b'\n').is_some();
            if line.len() <= LONGEST_LINE {
                line.extend_from_slice(&piece);
            }
            if ended || read == 0 {
                return Ok((line, ended));
            }
        }
    }

    fn read_utf16(&mut self, big_endian: bool) -> io::Result<(Vec<u8>, bool)> {
        let mut units = Vec::new();
        let mut pair = Vec::new();
        let ended = loop {
            pair.clear();
            let read = self.source.by_ref().take(2).read_to_end(&mut pair)?;
            self.bytes += read as u64;
            if read < 2 {
                break false;
            }
            let unit = unit(&pair, big_endian);
            if unit == u16::from(b'\n') {
                break true;
            }
            if units.len() <= LONGEST_LINE {
                units.push(unit);
            }
        };
        Ok((String::from_utf16_lossy(&units).into_bytes(), ended))
    }
}

fn unit(pair: &[u8], big_endian: bool) -> u16 {
    let pair = [pair[0], pair[1]];
    if big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
}

/// A line of a mail that is quoted-printable, and whether it goes on in the next.
pub(super) fn quoted_printable(line: &[u8]) -> (Vec<u8>, bool) {
    let line = line.trim_ascii_end();
    let (line, goes_on) = line.strip_suffix(b"=").map_or((line, false), |line| (line, true));
    let mut text = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((first, after)) = rest.split_first() {
        let digits =
            after.get(..2).filter(|_| *first == b'=').and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                text.push(byte);
                rest = &after[2..];
            }
            None => {
                text.push(*first);
                rest = after;
            }
        }
    }
    (text, goes_on)
}
