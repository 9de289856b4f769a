//! A line of a cleaned text, and an owned copy of such a line for use at the end of the output.

/// A line of a cleaned text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// The line's number in the text, from 1.
    pub number: u64,
    /// The line's content, without the line end, colors, quoting and Markdown decoration; indentation remains.
    pub text: &'a str,
}

/// Maximum length of the part of a line that an origin saves, in characters.
const LONGEST_QUOTE: usize = 200;

/// The part of a line that an origin saves.
pub(crate) fn quote(line: &str) -> &str {
    let line = line.trim();
    line.char_indices().nth(LONGEST_QUOTE).map_or(line, |(end, _)| &line[..end])
}

/// An owned copy of the part of a line that an origin quotes, for results that are combined at the end of the output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PendingLine {
    number: u64,
    text: String,
}

impl From<Line<'_>> for PendingLine {
    fn from(line: Line) -> Self {
        Self { number: line.number, text: quote(line.text).to_owned() }
    }
}

impl PendingLine {
    /// The line, for an origin.
    pub(crate) fn line(&self) -> Line<'_> {
        Line { number: self.number, text: &self.text }
    }
}

/// Whether a text seems to be truncated: it ends within a word or a number.
pub(crate) fn ends_open(text: &str) -> bool {
    match text.as_bytes().last() {
        Some(last) if last.is_ascii() => last.is_ascii_alphanumeric() || b".,-_/:=+".contains(last),
        _ => text.ends_with(char::is_alphanumeric),
    }
}

/// A command line without its continuation backslash, and whether there was one.
pub(crate) fn continued(command: &str) -> (&str, bool) {
    match command.strip_suffix('\\') {
        Some(command) => (command.trim_end(), true),
        None => (command, false),
    }
}
