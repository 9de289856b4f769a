//! Common parts of the readers of all formats: `label: value`, words in columns, values with a unit, and JSON documents.

use std::collections::BTreeMap;
use std::sync::RwLock;

use record::{Label, Labels, Measurement, metrics};
use serde_json::Value;

use crate::line::{Line, PendingLine};
use crate::numbers;
use crate::tool::Fit;

/// Longest accepted JSON document.
const LONGEST_JSON: usize = 64 << 20;

/// `label: value`, both without blanks around them.
pub(crate) fn pair(text: &str) -> Option<(&str, &str)> {
    text.split_once(':').map(|(label, value)| (label.trim(), value.trim()))
}

/// The label of a line that sdiff printed beside the same line of another file: `CPU(s): 8   | CPU(s): 16`.
pub(crate) fn doubled_label(text: &str) -> Option<&str> {
    let (label, value) = pair(text)?;
    let (front, rest) = value.split_once(label).filter(|_| label.len() > 2)?;
    (["\t", "  ", " | "].iter().any(|mark| front.ends_with(mark)) && rest.trim_start().starts_with(':'))
        .then_some(label)
}

/// Whether a text begins with one of several strings, given as a list separated by bars: `Threads started|Doing `.
pub(crate) fn begins(text: &str, starts: &str) -> bool {
    // Most texts differ in the first character.
    let text = text.as_bytes();
    let alike = |start: &[u8]| start.first() == text.first() && text.starts_with(start);
    starts.as_bytes().split(|b| *b == b'|').any(alike)
}

/// Whether a word is in a list, given as words separated by bars.
pub(crate) fn is_one_of(word: &str, words: &str) -> bool {
    // A quick check that excludes most words.
    words.contains(word) && words.split('|').any(|known| known == word)
}

/// Whether a line is an ellipsis for omitted lines.
pub(crate) fn is_elision(text: &str) -> bool {
    let bare = text.trim().trim_matches(['[', ']', '<', '>', '(', ')', ' ', '-', '/', '*', '#', ':']);
    is_one_of(
        bare.to_ascii_lowercase().as_str(),
        "...|....|.....|…|……|snip|snipped|cut|omitted|truncated|etc|etc.|..|⋮",
    )
}

/// The rows of a table: their cells, separated by bars. Lines that begin with # are comments.
pub(crate) fn rows<const CELLS: usize>(table: &'static str) -> impl Iterator<Item = [&'static str; CELLS]> {
    // Each table is split only once, because millions of lines are compared with it.
    static DIVIDED: RwLock<BTreeMap<usize, &[Vec<&str>]>> = RwLock::new(BTreeMap::new());
    let known = DIVIDED.read().ok().and_then(|known| known.get(&(table.as_ptr() as usize)).copied());
    let rows = known.unwrap_or_else(|| {
        let rows = table.lines().filter(|line| !line.starts_with('#'));
        let rows: Vec<Vec<&str>> = rows.map(|row| row.splitn(CELLS, '|').collect()).collect();
        let rows: &'static [Vec<&str>] = rows.leak();
        DIVIDED.write().ok().map(|mut known| known.insert(table.as_ptr() as usize, rows));
        rows
    });
    rows.iter().filter_map(|row| row.as_slice().try_into().ok())
}

/// The name used in records for a word, from a list of pairs: `cs=context-switches|faults=page-faults`.
pub(crate) fn renamed(names: &'static str, word: &str) -> Option<&'static str> {
    names.split('|').find_map(|name| name.strip_prefix(word)?.strip_prefix('='))
}

/// The entry for a word in a table.
pub(crate) fn find<T: Copy>(table: &[(&str, T)], word: &str) -> Option<T> {
    table.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
}

/// The table entry for the beginning of a text, and the rest of the text.
pub(crate) fn find_start<'t, T: Copy>(table: &[(&str, T)], text: &'t str) -> Option<(T, &'t str)> {
    table.iter().find_map(|(start, value)| Some((*value, text.strip_prefix(start)?)))
}

/// The words of a text, each parsed in the same way; `None` if a word cannot be parsed.
pub(crate) fn all<'a, T>(
    words: impl IntoIterator<Item = &'a str>,
    read: impl Fn(&'a str) -> Option<T>,
) -> Option<Vec<T>> {
    words.into_iter().map(read).collect()
}

/// The first 4096 words of a text; no line printed in columns has more words.
pub(crate) fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().take(4096).collect()
}

/// A value and the unit after it, scaled by the unit's power of ten from the table: `101.3 ms`, `0.92 millis`.
pub(crate) fn quantity(text: &str, units: &[(&str, i32)]) -> Option<f64> {
    let mut words = text.split_whitespace();
    let number = words.next()?;
    let unit = words.next()?.trim_end_matches([',', ']']);
    numbers::parse_scaled(number, find(units, unit)?)
}

/// A run time: wall time, or CPU time in one state.
pub(crate) fn run_time(workload: Option<&str>, state: Option<&'static str>, seconds: f64) -> Measurement {
    let place = Labels::new().with_known(Label::Workload, workload).with_known(Label::State, state);
    let metric = if state.is_some() { metrics::WORKLOAD_CPU_TIME } else { metrics::WORKLOAD_TIME };
    Measurement::exact(metric, place, vec![seconds])
}

/// A JSON document collected from successive lines, up to its closing bracket.
#[derive(Debug, Default)]
pub(crate) struct Document {
    text: String,
    depth: i64,
    in_string: bool,
    /// The document's first line.
    pub first: PendingLine,
    /// The lines on which entries begin.
    entries: Vec<PendingLine>,
}

impl Document {
    /// Adds a line; `key` begins each entry. Text after the end belongs to another output.
    pub(crate) fn take(&mut self, line: Line, text: &str, key: &str) -> Fit {
        if self.text.is_empty() {
            self.first = line.into();
        } else if self.depth <= 0 || self.text.len() + text.len() > LONGEST_JSON {
            // This line ends the object that contains the list.
            return if self.depth <= 0 && text.trim() == "}" { Fit::Taken } else { Fit::Over };
        }
        if text.trim_start_matches([' ', '\t', '{', '[', ',']).starts_with(key) {
            self.entries.push(line.into());
        }
        let mut escaped = false;
        for byte in text.bytes() {
            match byte {
                _ if std::mem::take(&mut escaped) => {}
                b'\\' if self.in_string => escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth -= 1,
                _ => {}
            }
        }
        self.text.push_str(text);
        self.text.push('\n');
        Fit::Taken
    }

    /// Whether a document has begun.
    pub(crate) fn begun(&self) -> bool {
        !self.text.is_empty()
    }

    /// The document's value; `None` if the document is truncated or damaged.
    pub(crate) fn value(&self) -> Option<Value> {
        serde_json::Deserializer::from_str(&self.text).into_iter().next()?.ok()
    }

    /// The line of each of `count` entries. If entries share lines, the first line of the document is used for each of them.
    pub(crate) fn lines(&self, count: usize) -> impl Iterator<Item = Line<'_>> {
        let own = self.entries.len() == count;
        (0..count).map(move |at| if own { self.entries[at].line() } else { self.first.line() })
    }
}
