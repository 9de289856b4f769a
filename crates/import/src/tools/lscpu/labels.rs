//! An index of the labels in lscpu's list.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::facts::{key, parse_cache_name};

/// The labels of each value in all languages. The name of the value is followed by indented lines with its labels.
const LABELS: &str = include_str!("labels.txt");

/// All labels, each with the name of its value. A value has several labels.
pub(super) fn labels() -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut thing = "";
    LABELS.lines().filter(|line| !line.starts_with('#')).filter_map(move |line| {
        let label = line.strip_prefix('\t');
        if label.is_none() {
            thing = line.split(' ').next().unwrap_or_default();
        }
        Some((thing, label?))
    })
}

/// The owner of the value, its format, and its place in the record; `None` for a value that has dedicated code.
pub(super) fn form_of(key: &str) -> Option<[&'static str; 3]> {
    let form = LABELS.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?;
    form.split(' ').collect::<Vec<_>>().try_into().ok()
}

/// The meaning of a label, and the number or name that the label contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label<'a> {
    /// The value's key: one of [`key`].
    pub key: &'static str,
    /// The variable part of the label: `L1d` in `L1d cache`, `3` in `NUMA node3 CPU(s)`.
    pub part: &'a str,
    /// The entire label, as printed.
    pub text: &'a str,
}

/// The index of labels.
#[derive(Default)]
struct Index {
    /// Labels without a variable part; the first match is used.
    exact: HashMap<&'static str, &'static str>,
    /// The text before and after the variable part. Labels that begin with the variable part come last.
    patterns: Vec<(&'static str, &'static str, &'static str)>,
}

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut index = Index::default();
        for (key, label) in labels() {
            match label.split_once("%s").or_else(|| label.split_once("%d")) {
                Some((before, behind)) => index.patterns.push((before, behind, key)),
                None => drop(index.exact.entry(label).or_insert(key)),
            }
        }
        index.patterns.sort_by_key(|(before, ..)| before.is_empty());
        index
    })
}

/// Length of the longest label, in bytes.
const LONGEST_LABEL: usize = 120;

/// The meaning of the text before the colon.
pub(super) fn find_label(text: &str) -> Option<Label<'_>> {
    let text = text.trim();
    (1..=LONGEST_LABEL).contains(&text.len()).then_some(())?;
    if parse_cache_name(text).is_some() {
        return Some(Label { key: key::CACHE, part: text, text });
    }
    if let Some(key) = index().exact.get(text) {
        return Some(Label { key, part: "", text });
    }
    index().patterns.iter().find_map(|(before, behind, key)| {
        let part = text.strip_prefix(before)?.strip_suffix(behind)?.trim();
        let fits = match *key {
            key::CACHE => parse_cache_name(part).is_some(),
            key::NODE_CPUS => part.parse::<u32>().is_ok(),
            _ => !part.is_empty(),
        };
        fits.then_some(Label { key, part, text })
    })
}

/// A line split into its label and the text of its value. A few translations lack the colon.
pub(super) fn split_label(line: &str) -> Option<(Label<'_>, &str)> {
    let line = line.trim();
    // A document may print the output as a bulleted list.
    let line = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).unwrap_or(line);
    let (name, value) = line.split_once([':', '：', '︰']).or_else(|| line.split_once("  "))?;
    // On a terminal, lscpu prints the kernel's mitigations below a heading.
    let states = "Mitigation|Vulnerable|Not affected|KVM: |Unknown: |Processor vulnerable";
    let is_mitigated = !name.contains('/') && crate::scan::begins(value.trim(), states);
    let unnamed = || is_mitigated.then_some(Label { key: "vulnerability", part: name.trim(), text: name });
    Some((find_label(name).or_else(unnamed)?, value.trim()))
}

/// The meaning of a translated word for on or off.
pub(super) fn is_on(word: &str) -> Option<bool> {
    match *index().exact.get(word)? {
        "is_enabled" => Some(true),
        "is_disabled" => Some(false),
        _ => None,
    }
}
