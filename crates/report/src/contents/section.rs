//! Facts, one per line below a heading.

use std::fmt::Display;

/// One fact: a word and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    /// The word.
    pub key: String,
    /// The value.
    pub value: String,
}

/// Facts that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    /// The heading of the section.
    pub title: String,
    /// The facts, always in the same order; facts that the machine does not report are omitted.
    pub facts: Vec<Fact>,
}

impl Section {
    /// An empty section.
    pub(crate) fn new(title: &str) -> Self {
        Self { title: title.to_owned(), facts: Vec::new() }
    }

    /// Adds a fact.
    pub(crate) fn add(&mut self, key: impl Display, value: impl Display) {
        let value = value.to_string();
        if !value.trim().is_empty() {
            self.facts.push(Fact { key: key.to_string(), value });
        }
    }

    /// Adds a fact if the machine reports it.
    pub(crate) fn add_some(&mut self, key: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.add(key, value);
        }
    }
}

/// The available parts, separated by commas.
pub(crate) fn listed(parts: impl IntoIterator<Item = Option<String>>) -> String {
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}
