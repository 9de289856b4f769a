//! Reference machines: published tool output and results, one text per machine in `machines/`. The readers of `linespeed import` convert
//! each text into a record that contains the source line of each result.
//!
//! To add a machine, add a text and a line in `machines.list`.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod claims;

use std::fmt;

use import::{Error, Importer, Split};
use miniz_oxide::inflate::decompress_to_vec;
use record::Record;

/// The prefix of a reference machine's name, also accepted instead of a record's file.
pub const PREFIX: &str = "reference:";

/// One reference machine.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Its name, as in `reference:NAME`.
    pub name: &'static str,
    /// A one-line description.
    pub title: &'static str,
    /// The published output and results, deflated.
    packed: &'static [u8],
    /// Why none of a default run's results is comparable with this machine's results, and the command to run instead; `None` if at least
    /// one is comparable.
    pub apart: Option<&'static str>,
    /// When the results were published, RFC 3339; empty if the text has no date.
    published: &'static str,
}

/// Every reference machine.
pub const MACHINES: &[Machine] = include!(concat!(env!("OUT_DIR"), "/machines.rs"));

/// The machine with this name, with or without the prefix `reference:`.
pub fn find(name: &str) -> Option<&'static Machine> {
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    MACHINES.iter().find(|machine| machine.name == name)
}

/// Suggestions for an unknown name: the machine name that differs from it only by a typo or, if there is none, the names that begin with
/// it, followed by the names that contain it.
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

/// The records of all machines except the one with this name, each with its name in the form `reference:NAME`.
pub fn records_but(name: &str, version: &str) -> Vec<(String, Record)> {
    let others = MACHINES.iter().map(|machine| (format!("{PREFIX}{}", machine.name), machine));
    let others = others.filter(|(other, _)| other != name);
    others.filter_map(|(other, machine)| Some((other, machine.record(version).ok()?))).collect()
}

/// Why a text that ships with linespeed could not be converted into a record; a test ensures that this does not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The import refused the text.
    Refused(Error),
    /// The text describes this many machines.
    Machines(usize),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Refused(refusal) => write!(f, "{refusal}"),
            Trouble::Machines(count) => write!(f, "the text describes {count} machines"),
        }
    }
}

impl std::error::Error for Trouble {}

impl Machine {
    /// The published output and results.
    pub fn text(&self) -> String {
        // The packed text is valid, because a test reads every text.
        String::from_utf8(decompress_to_vec(self.packed).unwrap_or_default()).unwrap_or_default()
    }

    /// The record, without a diagnosis. `version`: linespeed's version.
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
        // No further commands can be run on a published machine.
        record.coverage.iter_mut().for_each(|of| of.remedy = None);
        Ok(record)
    }
}
