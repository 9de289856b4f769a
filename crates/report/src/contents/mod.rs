//! What a report says, once, whatever it is printed on: facts, tables, charts and the summary, all taken from a
//! record. The strings in it are the machine's own; whoever prints them makes them safe.

pub mod blocks;
pub mod compare;
pub mod conditions;
pub mod core_to_core;
pub mod counters;
pub mod curves;
pub mod details;
pub mod extremes;
pub mod figures;
pub mod inventory;
pub mod ladder;
pub mod latency;
pub mod layers;
pub mod memory;
pub mod numa;
pub mod placement;
pub mod plan;
pub mod provenance;
pub mod rest;
pub mod scaling;
pub mod shape;
pub mod summary;
pub mod workloads;

use std::fmt::Display;

pub use blocks::{Block, Part};

/// One fact: a word and what stands behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The word.
    pub key: String,
    /// What is so.
    pub value: String,
}

/// Facts that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// Their heading.
    pub title: String,
    /// The facts, always in the same order; what the machine does not tell is left out.
    pub facts: Vec<Fact>,
}

impl Section {
    /// An empty section.
    pub fn new(title: &str) -> Self {
        Self { title: title.to_owned(), facts: Vec::new() }
    }

    /// Adds a fact.
    pub fn add(&mut self, key: impl Into<String>, value: impl Display) {
        let value = value.to_string();
        if !value.trim().is_empty() {
            self.facts.push(Fact { key: key.into(), value });
        }
    }

    /// Adds a fact where the machine tells it.
    pub fn add_some(&mut self, key: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.add(key, value);
        }
    }
}

/// The parts that there are, with commas between.
pub fn listed(parts: impl IntoIterator<Item = Option<String>>) -> String {
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}
