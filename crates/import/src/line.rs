//! A line of a cleaned text, and one that is kept until the output is over.

/// A line of a cleaned text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Its number in the text, from 1.
    pub number: u64,
    /// What it says, without line end, colours, quoting and Markdown decoration; indentation is kept.
    pub text: &'a str,
}

/// The longest part of a line that an origin keeps, in characters.
const LONGEST_QUOTE: usize = 200;

/// What an origin keeps of a line.
pub(crate) fn quote(line: &str) -> &str {
    let line = line.trim();
    line.char_indices().nth(LONGEST_QUOTE).map_or(line, |(end, _)| &line[..end])
}

/// A line of its own, as far as an origin quotes it: its figures are put together when the output is over.
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
    /// It, for an origin.
    pub(crate) fn line(&self) -> Line<'_> {
        Line { number: self.number, text: &self.text }
    }
}

/// Whether a text ends as one does that was cut: within a word or a number.
pub(crate) fn ends_open(text: &str) -> bool {
    match text.as_bytes().last() {
        Some(last) if last.is_ascii() => last.is_ascii_alphanumeric() || b".,-_/:=+".contains(last),
        _ => text.ends_with(char::is_alphanumeric),
    }
}

/// A command line without the backslash by which it goes on in the next line, and whether it does.
pub(crate) fn continued(command: &str) -> (&str, bool) {
    match command.strip_suffix('\\') {
        Some(command) => (command.trim_end(), true),
        None => (command, false),
    }
}
