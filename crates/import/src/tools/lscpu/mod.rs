//! lscpu: its list in any language, `--json` (flat and nested), and the tables of `-e`, `-p` and `-C`.

mod json;
pub mod labels;
mod table;
mod values;

use std::collections::HashMap;
use std::sync::OnceLock;

pub use json::LscpuJson;
pub use table::{LscpuCaches, LscpuExtended, LscpuParsable};

use super::{Command, Fit, Line, Reader, Tool};
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

/// Labels as lines are looked up by them.
struct Index {
    /// Those without a part.
    exact: HashMap<&'static str, Key>,
    /// Text before and behind the part; those that begin with the part stand last.
    patterns: Vec<(&'static str, &'static str, Key)>,
}

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut index = Index { exact: HashMap::new(), patterns: Vec::new() };
        for (key, labels) in LABELS {
            for label in *labels {
                match label.split_once("%s").or_else(|| label.split_once("%d")) {
                    Some((before, behind)) => index.patterns.push((before, behind, *key)),
                    // The first one counts.
                    None => {
                        index.exact.entry(label).or_insert(*key);
                    }
                }
            }
        }
        index.patterns.sort_by_key(|(before, ..)| before.is_empty());
        index
    })
}

/// The longest label, in bytes.
const LONGEST_LABEL: usize = 120;

/// What the text before the colon means.
pub fn label(text: &str) -> Option<Label<'_>> {
    let text = text.trim();
    if text.is_empty() || text.len() > LONGEST_LABEL {
        return None;
    }
    if crate::facts::cache_name(text).is_some() {
        return Some(Label { key: Key::Cache, part: text });
    }
    let index = index();
    if let Some(key) = index.exact.get(text) {
        return Some(Label { key: *key, part: "" });
    }
    index.patterns.iter().find_map(|(before, behind, key)| {
        let part = text.strip_prefix(before)?.strip_suffix(behind)?.trim();
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
    let line = line.trim();
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
    Some((label(name)?, value.trim()))
}

/// Where the first colon of a text is, of any writing, and its length.
fn colon(text: &str) -> Option<(usize, usize)> {
    let (at, colon) = text.char_indices().find(|(_, c)| matches!(c, ':' | '：' | '︰'))?;
    Some((at, colon.len_utf8()))
}

impl Tool for Lscpu {
    fn name(&self) -> &'static str {
        "lscpu"
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
            let text = line.text.trim();
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
