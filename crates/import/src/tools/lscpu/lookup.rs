//! Labels of lscpu's list as lines are looked up by them.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::labels::{Key, LABELS};
use crate::facts::parse_cache_name;

/// What a label says, with the number or name that it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label<'a> {
    /// What it is.
    pub key: Key,
    /// `L1d` of `L1d cache`, `3` of `NUMA node3 CPU(s)`.
    pub part: &'a str,
    /// As it stands.
    pub text: &'a str,
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
pub(super) fn find_label(text: &str) -> Option<Label<'_>> {
    let text = text.trim();
    if text.is_empty() || text.len() > LONGEST_LABEL {
        return None;
    }
    if parse_cache_name(text).is_some() {
        return Some(Label { key: Key::Cache, part: text, text });
    }
    let index = index();
    if let Some(key) = index.exact.get(text) {
        return Some(Label { key: *key, part: "", text });
    }
    index.patterns.iter().find_map(|(before, behind, key)| {
        let part = text.strip_prefix(before)?.strip_suffix(behind)?.trim();
        let fits = match key {
            Key::Cache => parse_cache_name(part).is_some(),
            Key::NodeCpus => !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()),
            _ => !part.is_empty(),
        };
        fits.then_some(Label { key: *key, part, text })
    })
}

/// A line taken apart: what it tells, and the text of the value.
pub(super) fn split_label(line: &str) -> Option<(Label<'_>, &str)> {
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
    Some((find_label(name)?, value.trim()))
}

/// Where the first colon of a text is, of any writing, and its length.
fn colon(text: &str) -> Option<(usize, usize)> {
    let (at, colon) = text.char_indices().find(|(_, c)| matches!(c, ':' | '：' | '︰'))?;
    Some((at, colon.len_utf8()))
}
