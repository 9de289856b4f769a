//! Converts a text into plain numbered lines: encodings, colors, quoting and markup are removed.

mod hosts;
mod markup;
mod plain;
mod shared;

use crate::limits::LONGEST_LINE;
use crate::scan;
use crate::tools::{columns, lscpu};

/// The kind of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text, possibly blank.
    #[default]
    Text,
    /// A row of a Markdown table: [`Cleaned::text`] contains the cells, and [`Cleaned::label()`] returns the first of
    /// several cells.
    Row,
    /// Beginning or end of a code block.
    Frame,
    /// The separator line below the head of a Markdown table.
    Ruler,
    /// Not text: bytes of a binary file, or a line longer than [`LONGEST_LINE`].
    Unreadable,
}

/// A line without its line end, colors, quoting and markup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cleaned {
    /// The line's number in the text, from 1. Parts of one line (`<br>`) have the same number.
    pub number: u64,
    /// The line's content, with indentation.
    pub text: String,
    /// The length in bytes of the first cell, if a table row has several; [`Cleaned::text`] begins with this cell.
    pub label: Option<usize>,
    /// The cells of a row of a table.
    pub cells: Vec<String>,
    /// The kind of line.
    pub kind: Kind,
    /// Whether the line is in a code block.
    pub in_fence: bool,
}

impl Cleaned {
    /// The first of several cells in a table row, if it may name a machine: it is neither a number nor the name of a
    /// tool's column.
    pub(crate) fn label(&self) -> Option<&str> {
        let label = self.label.map(|length| &self.text[..length])?;
        let number = label.len() <= 3 && label.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        Some(label).filter(|label| !number && !scan::is_one_of(label, columns::IDS))
    }
}

/// Decodes a text in UTF-8, or in UTF-16 as written by Windows.
pub(crate) fn decode(bytes: &[u8]) -> String {
    let wide = |unit: fn([u8; 2]) -> u16| {
        let units = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    let text = match bytes {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, text @ ..] | text => String::from_utf8_lossy(text).into_owned(),
    };
    // Old systems use CR as the line end.
    if text.contains('\n') { text } else { text.replace('\r', "\n") }
}

/// The lines of a text, grouped by host if the text is from several hosts.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Cleaned> {
    let mut in_fence = false;
    let of_hosts = hosts::gather(text);
    let shared = match &of_hosts {
        Some(lines) => shared::Shared::find(lines.iter().map(|(_, line)| line.as_ref())),
        None => shared::Shared::find(text.lines()),
    };
    let plain = (1..).zip(text.lines().take(if of_hosts.is_some() { 0 } else { usize::MAX }));
    let all = of_hosts.into_iter().flatten().chain(plain.map(|(number, line)| (number, line.into())));
    all.flat_map(move |(number, raw)| clean(number, &raw, &shared, &mut in_fence))
}

/// Cleans a line. Splits it into several lines if it contains `<br>` or a string with line breaks.
fn clean(number: u64, raw: &str, shared: &shared::Shared, in_fence: &mut bool) -> Vec<Cleaned> {
    let line = |text: String, kind: Kind, in_fence: bool| Cleaned {
        number,
        text,
        kind,
        in_fence,
        ..Cleaned::default()
    };
    if raw.len() > LONGEST_LINE {
        return vec![line(format!("a line of over {} MiB", LONGEST_LINE >> 20), Kind::Unreadable, *in_fence)];
    }
    if plain::is_binary(raw) {
        let seen: String = raw.chars().filter(|c| !c.is_control() && *c != '\u{fffd}').take(40).collect();
        return vec![line(format!("binary data: {seen}"), Kind::Unreadable, *in_fence)];
    }
    let of_piece = |piece: std::borrow::Cow<str>| {
        let text = markup::without_quotes(plain::without_keys(&piece));
        let text = markup::ticked(text).map_or(text, shared::without_stamps);
        let stood = *in_fence;
        let kind = match markup::row(text) {
            _ if markup::is_fence(text) => {
                *in_fence = !stood;
                Kind::Frame
            }
            Some(cells) if markup::is_ruler(&cells) => Kind::Ruler,
            // A row with a single cell is a line of text with a box around it.
            Some(cells) if cells.len() == 1 => {
                return line(shared.strip(cells[0]).to_owned(), Kind::Text, stood);
            }
            // Values of several machines must not be read as a single value.
            Some(cells) if cells.get(2).is_some_and(|cell| !cell.is_empty()) && lscpu::is_label(cells[0]) => {
                return line(format!("| {}", cells.join(" | ")), Kind::Row, stood);
            }
            Some(cells) => {
                let label = cells.first().filter(|_| cells.len() > 1).map(|first| first.len());
                let all = cells.iter().map(|cell| (*cell).to_owned()).collect();
                return Cleaned { label, cells: all, ..line(cells.join("  "), Kind::Row, stood) };
            }
            None => Kind::Text,
        };
        // A fence may be on the same line as the first or last words of the code block.
        let glued =
            if stood { text.trim_end().strip_suffix("```") } else { text.trim_start().strip_prefix("```") };
        let glued = glued.filter(|rest| kind == Kind::Text && !rest.contains('`'));
        *in_fence ^= glued.is_some();
        line(glued.unwrap_or(text).trim_end().to_owned(), kind, stood || glued.is_some())
    };
    let strings = shared::without_escapes(raw);
    let raws = strings.as_ref().map_or(vec![raw], |strings| strings.iter().map(String::as_str).collect());
    let pieces: Vec<std::borrow::Cow<str>> = raws
        .into_iter()
        .flat_map(|raw| {
            let plain = plain::without_codes(raw);
            // The text that remains visible after carriage returns moved the cursor to the beginning of the line.
            let last = plain.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or_default();
            let pieces = markup::without_tags(last);
            pieces.into_iter().map(|piece| shared.strip(&piece).to_owned().into()).collect::<Vec<_>>()
        })
        .collect();
    pieces.into_iter().map(of_piece).collect()
}

#[cfg(test)]
mod tests;
