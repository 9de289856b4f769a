//! Reference machines: published tool output and figures, one text a machine in `machines/`, which `linespeed import`'s
//! readers turn into a record that says of each figure where it stood.
//!
//! A new machine is one new text and its line in `machines.list`.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod claims;

use std::fmt;

use import::{Error, Importer, Split};
use miniz_oxide::inflate::decompress_to_vec;
use record::Record;

/// What begins the name of a reference machine where a record's file may stand, too.
pub const PREFIX: &str = "reference:";

/// One reference machine.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Its name, as in `reference:NAME`.
    pub name: &'static str,
    /// What it is, in one line.
    pub title: &'static str,
    /// The published output and figures, deflated.
    packed: &'static [u8],
    /// Why a default run here makes no figure that could be held against it, and what would; `None` where it makes one.
    pub apart: Option<&'static str>,
    /// When the figures were published, RFC 3339; empty where the text does not tell.
    published: &'static str,
}

/// Every reference machine.
pub const MACHINES: &[Machine] = include!(concat!(env!("OUT_DIR"), "/machines.rs"));

/// The machine of this name, with or without `reference:` before it.
pub fn find(name: &str) -> Option<&'static Machine> {
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    MACHINES.iter().find(|machine| machine.name == name)
}

/// The machines that may have been meant by a name that none has: the one a slip away, else those that begin with it, then those
/// that have it within.
pub fn find_meant(name: &str) -> Vec<&'static str> {
    let names = || MACHINES.iter().map(|machine| machine.name);
    let word = name.trim().to_lowercase();
    match record::glossary::find_nearest(name, names()) {
        Some(near) => vec![near],
        None if word.is_empty() => Vec::new(),
        None => {
            let with_word = names().filter(|of| of.contains(&word));
            let (first, within): (Vec<_>, Vec<_>) = with_word.partition(|of| of.starts_with(&word));
            [first, within].concat()
        }
    }
}

/// The records of all machines but the one of this name, each with its own, as `reference:NAME`.
pub fn records_but(name: &str, version: &str) -> Vec<(String, Record)> {
    let others = MACHINES.iter().map(|machine| (format!("{PREFIX}{}", machine.name), machine));
    let others = others.filter(|(other, _)| other != name);
    others.filter_map(|(other, machine)| Some((other, machine.record(version).ok()?))).collect()
}

/// Why a text that ships with linespeed made no record; a test holds that it does not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The import refused it.
    Refused(Error),
    /// It is of so many machines.
    Machines(usize),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Refused(refusal) => write!(f, "{refusal}"),
            Trouble::Machines(count) => write!(f, "the text is of {count} machines"),
        }
    }
}

impl std::error::Error for Trouble {}

impl Machine {
    /// The published output and figures.
    pub fn text(&self) -> String {
        // What the build packed is whole: a test reads every text.
        String::from_utf8(decompress_to_vec(self.packed).unwrap_or_default()).unwrap_or_default()
    }

    /// The record, without a diagnosis. `version` is the program's.
    pub fn record(&self, version: &str) -> Result<Record, Trouble> {
        let mut importer = Importer::new(Split::Files);
        let name = format!("{PREFIX}{}", self.name);
        importer.read(&name, self.text().as_bytes()).map_err(|_| Trouble::Machines(0))?;
        let mut machines = importer.finish().map_err(Trouble::Refused)?;
        let (Some(imported), true) = (machines.pop(), machines.is_empty()) else {
            return Err(Trouble::Machines(machines.len() + 1));
        };
        let command = vec!["linespeed".to_owned(), "reference".to_owned(), self.name.to_owned()];
        let mut record = imported.into_record(Record::new(version, self.published.to_owned(), command));
        // On a machine that was published nobody can run anything more.
        record.coverage.iter_mut().for_each(|of| of.remedy = None);
        Ok(record)
    }
}
