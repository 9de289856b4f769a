//! The types for the results of one machine over time; `diagnose` finds the changes.

use std::path::PathBuf;

use serde::Serialize;

use crate::comparison::Difference;
use crate::document::Tool;
use crate::fleet::Remark;
use crate::{Better, JsonSchema, Template, Text};

/// The version of the history format.
pub const HISTORY_VERSION: u32 = 1;

/// The template for the name of a line that shows a headline.
pub const HEADLINE: Template = Template::new("history-headline", "{name}");

/// The records of a machine in chronological order, and how its results developed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct History {
    /// [`HISTORY_VERSION`] of the program that wrote the history.
    pub history: u32,
    /// The program that wrote the history.
    pub tool: Tool,
    /// The host's name.
    pub machine: String,
    /// The records, oldest first.
    pub records: Vec<Moment>,
    /// One line per result.
    pub lines: Vec<Line>,
    /// The CPU placement, and the date of the first record that shows it; empty if no earlier record shows a different
    /// placement.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Text>,
    /// Number of skipped records of other machines.
    pub others: usize,
    /// Number of skipped older records of this machine.
    pub older: usize,
    /// Notes and omissions.
    pub remarks: Vec<Remark>,
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Moment {
    /// The record's file.
    pub record: PathBuf,
    /// The start of the record's run, RFC 3339 in UTC.
    pub started: String,
    /// `started` in seconds since 1970.
    #[serde(skip)]
    pub at: u64,
}

/// A result and its values in the records.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Line {
    /// The result.
    pub what: Text,
    /// The name that selects the line: that of a headline or a metric.
    pub name: String,
    /// Unit.
    pub unit: String,
    /// Which direction is better.
    pub better: Option<Better>,
    /// The values of the result, oldest first.
    pub points: Vec<Point>,
    /// The changes, oldest first.
    pub changes: Vec<Change>,
    /// The minimum number of records required to detect a change; present only if there are fewer records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<usize>,
}

/// A result in one record.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Index in [`History::records`].
    pub record: usize,
    /// The value.
    pub value: f64,
    /// The 95 % CI of the value, if it has one.
    pub interval: Option<(f64, f64)>,
    /// Whether the value is unreliable.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_doubt: bool,
}

/// A change of a result between two records.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The last record before the change, by index in [`History::records`].
    pub before: usize,
    /// The first record after the change.
    pub after: usize,
    /// The result's level between the previous change and this one.
    pub from: f64,
    /// The result's level between this change and the next one.
    pub to: f64,
    /// The level after the change divided by the level before it.
    pub ratio: f64,
    /// The 95 % CI of the ratio, derived from the scatter between records.
    pub interval: Option<(f64, f64)>,
    /// The probability that chance alone produces a change this clear among these records.
    pub chance: f64,
    /// Whether the machine became slower; absent if neither direction is better.
    pub slower: Option<bool>,
    /// The differences of inventory and settings between the two records.
    pub differences: Vec<Difference>,
}
