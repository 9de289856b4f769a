//! The results of one machine over time: types only; `diagnose` finds the changes.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::comparison::Difference;
use crate::document::Tool;
use crate::fleet::Remark;
use crate::{Better, Template, Text};

/// The version of the history format.
pub const HISTORY_VERSION: u32 = 1;

/// The name of a headline's line.
pub const HEADLINE: Template = Template::new("history-headline", "{name}");

/// The records of a machine in chronological order, and its results over them.
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
    /// The CPU placement and the date of its first record, if earlier records show a different placement.
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
    /// When the record was measured, RFC 3339 in UTC.
    pub started: String,
    /// `started` in seconds since 1970.
    #[serde(skip)]
    pub at: u64,
}

/// A result over the records.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Line {
    /// The result.
    pub what: Text,
    /// The name for selecting it: a headline or a metric.
    pub name: String,
    /// Unit.
    pub unit: String,
    /// Which direction is better.
    pub better: Option<Better>,
    /// The values of the result, oldest first.
    pub points: Vec<Point>,
    /// The changes, oldest first.
    pub changes: Vec<Change>,
    /// The minimum number of records required to detect a change; only if there are fewer.
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
    /// The 95 % interval of the value, if it has one.
    pub interval: Option<(f64, f64)>,
    /// Whether the value is in doubt.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_doubt: bool,
}

/// A change of a result between two records.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The last record before, by index in [`History::records`].
    pub before: usize,
    /// The first record after.
    pub after: usize,
    /// The result's level before the change, since the previous change.
    pub from: f64,
    /// The result's level after the change, until the next change.
    pub to: f64,
    /// The level after the change divided by the level before it.
    pub ratio: f64,
    /// The 95 % interval of the ratio, from the scatter of the records.
    pub interval: Option<(f64, f64)>,
    /// The probability that such a clear change occurs among these records by chance.
    pub chance: f64,
    /// Whether the machine became slower; absent if neither direction is better.
    pub slower: Option<bool>,
    /// The differences of inventory and settings between the two records.
    pub differences: Vec<Difference>,
}
