//! lscpu: its list in any language, `--json` (flat and nested), and the tables of `-e`, `-p` and `-C`.

mod json;
pub mod labels;
mod table;
mod values;

use std::sync::OnceLock;

pub use json::LscpuJson;
pub use table::{LscpuCaches, LscpuExtended, LscpuParsable};

use super::{Command, Fit, Line, Opening, Reader, Tool};
use crate::blanks::trimmed;
use crate::sink::Sink;
use labels::{Key, LABELS};
use values::Values;

/// lscpu's list.
pub struct Lscpu;

/// What a label says, with the number or name that it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label<'a> {
    /// What it is.
    pub key: Key,
    /// `L1d` of `L1d cache`, `3` of `NUMA node3 CPU(s)`.
    pub part: &'a str,
}

/// Labels where they are found at a glance: each line with a colon is looked up.
struct Index {
    /// Those without a part, by their [`slot`].
    exact: Vec<Vec<(&'static str, Key)>>,
    /// Text before and behind the part, by the first byte of what stands before it.
    by_first: Vec<Vec<Pattern>>,
    /// Those that begin with the part, by the last byte of what stands behind it.
    by_last: Vec<Vec<Pattern>>,
}

type Pattern = (&'static str, &'static str, Key);

/// Several for each label.
const SLOTS: usize = 2048;

/// Where a label without a part stands: by its length and three of its bytes.
fn slot(text: &str) -> usize {
    let bytes = text.as_bytes();
    let at = |at: usize| bytes.get(at).map_or(0, |byte| usize::from(*byte));
    let length = bytes.len();
    (length * 1009 + at(0) * 131 + at(length / 2) * 31 + at(length.saturating_sub(1)) * 7) % SLOTS
}

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut index = Index {
            exact: vec![Vec::new(); SLOTS],
            by_first: vec![Vec::new(); 256],
            by_last: vec![Vec::new(); 256],
        };
        for (key, labels) in LABELS {
            for label in *labels {
                match label.split_once("%s").or_else(|| label.split_once("%d")) {
                    Some((before, behind)) => {
                        let (first, last) = (before.bytes().next(), behind.bytes().next_back());
                        match (first, last) {
                            (Some(byte), _) => &mut index.by_first[usize::from(byte)],
                            (None, byte) => &mut index.by_last[usize::from(byte.unwrap_or(0))],
                        }
                        .push((before, behind, *key));
                    }
                    // The first one counts.
                    None => index.exact[slot(label)].push((label, *key)),
                }
            }
        }
        index
    })
}

/// The longest label, in bytes.
const LONGEST_LABEL: usize = 120;

/// What the text before the colon means.
pub fn label(text: &str) -> Option<Label<'_>> {
    let text = trimmed(text);
    if text.is_empty() || text.len() > LONGEST_LABEL {
        return None;
    }
    if crate::facts::cache_name(text).is_some() {
        return Some(Label { key: Key::Cache, part: text });
    }
    let index = index();
    if let Some((_, key)) = index.exact[slot(text)].iter().find(|(label, _)| *label == text) {
        return Some(Label { key: *key, part: "" });
    }
    let of = |patterns: &'static [Vec<Pattern>], byte: Option<u8>| {
        byte.map(|byte| &patterns[usize::from(byte)]).into_iter().flatten()
    };
    let mut patterns =
        of(&index.by_first, text.bytes().next()).chain(of(&index.by_last, text.bytes().next_back()));
    patterns.find_map(|(before, behind, key)| {
        let part = trimmed(text.strip_prefix(before)?.strip_suffix(behind)?);
        let fits = match key {
            Key::Cache => crate::facts::cache_name(part).is_some(),
            Key::NodeCpus => !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()),
            _ => !part.is_empty(),
        };
        fits.then_some(Label { key: *key, part })
    })
}

/// A line taken apart: what it tells, and the text of the value.
pub fn told(line: &str) -> Option<(Label<'_>, &str)> {
    let line = trimmed(line);
    // Lists in prose have the same names.
    let line = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).unwrap_or(line);
    // Further on no label ends.
    let mut end = line.len().min(LONGEST_LABEL + 4);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let (name, value) = match colon(&line[..end]) {
        Some((at, length)) => (&line[..at], &line[at + length..]),
        // A few translations forgot the colon.
        None => {
            let at = line[..end].find("  ")?;
            (&line[..at], &line[at + 2..])
        }
    };
    Some((label(name)?, trimmed(value)))
}

/// Where the first colon of a text is, of any writing, and its length.
fn colon(text: &str) -> Option<(usize, usize)> {
    // The wide ones begin with the same byte, as do other characters.
    memchr::memchr2_iter(b':', 0xef, text.as_bytes()).find_map(|at| {
        let c = text[at..].chars().next().filter(|c| matches!(c, ':' | '：' | '︰'))?;
        Some((at, c.len_utf8()))
    })
}

impl Tool for Lscpu {
    fn name(&self) -> &'static str {
        "lscpu"
    }

    fn opening(&self) -> Opening {
        Opening { first: |_| false, within: &[":", "  ", "：", "︰"] }
    }

    fn opens(&self, line: Line, command: Option<&Command>) -> bool {
        let Some((label, value)) = told(line.text) else { return false };
        let asked = command.is_some_and(|command| command.text.contains("lscpu"));
        let digits = value.starts_with(|c: char| c.is_ascii_digit());
        match label.key {
            Key::Architecture => values::is_architecture(value),
            Key::Cpus | Key::ThreadsPerCore | Key::CoresPerSocket | Key::Online => digits,
            Key::OpModes => value.contains("bit"),
            Key::NodeCpus => digits,
            _ => asked,
        }
    }

    fn reader(&self, _: Option<&Command>) -> Box<dyn Reader> {
        Box::new(List { values: Values::default(), flags: false })
    }
}

struct List {
    values: Values,
    /// The line before told flags, which go on where a terminal or a mail broke them.
    flags: bool,
}

impl Reader for List {
    fn line(&mut self, line: Line, sink: &mut Sink) -> Fit {
        let Some((label, value)) = told(line.text) else {
            let text = trimmed(line.text);
            let is_flag = |word: &str| {
                word.len() <= 24
                    && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            };
            if self.flags && !text.is_empty() && text.split(' ').all(is_flag) {
                self.values.more_flags(text);
                return Fit::Taken;
            }
            return Fit::Between;
        };
        // A second list begins: another machine, or the same one later.
        if matches!(label.key, Key::Architecture) && self.values.has_architecture() {
            return Fit::Over;
        }
        self.flags = label.key == Key::Flags;
        self.values.take(&label, value, line, sink);
        Fit::Taken
    }

    fn end(&mut self, sink: &mut Sink) {
        std::mem::take(&mut self.values).finish(sink);
    }
}

#[cfg(test)]
mod tests;
