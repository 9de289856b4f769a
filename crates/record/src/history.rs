//! What became of one machine's figures from record to record: the types only; what changed, `diagnose` finds.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::comparison::Difference;
use crate::document::Tool;
use crate::fleet::Remark;
use crate::{Better, Template, Text};

/// The version of a history's form.
pub const HISTORY_VERSION: u32 = 1;

/// What a headline's line is.
pub const HEADLINE: Template = Template::new("history-headline", "{name}");

/// The records of a machine in the order of their times, and its figures over them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct History {
    /// [`HISTORY_VERSION`] of the program that made it.
    pub history: u32,
    /// The program that made it.
    pub tool: Tool,
    /// The host's name.
    pub machine: String,
    /// The records, the oldest first.
    pub records: Vec<Moment>,
    /// A line a figure.
    pub lines: Vec<Line>,
    /// Where the CPUs are, and since when, where that was otherwise in earlier records.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Text>,
    /// Records of other machines beside them, which were not read.
    pub others: usize,
    /// Older records of this machine, which were not read.
    pub older: usize,
    /// What was left out, and what is to be known.
    pub remarks: Vec<Remark>,
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Moment {
    /// Its file.
    pub record: PathBuf,
    /// When it was begun, RFC 3339 in UTC.
    pub started: String,
    /// The same in seconds since 1970.
    #[serde(skip)]
    pub at: u64,
}

/// A figure over the records.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Line {
    /// What it is.
    pub what: Text,
    /// The name that asks for it: a headline's, or a metric's.
    pub name: String,
    /// Unit.
    pub unit: String,
    /// Which direction is better.
    pub better: Option<Better>,
    /// Its values, the oldest first.
    pub points: Vec<Point>,
    /// Where it changed, the oldest first.
    pub changes: Vec<Change>,
    /// The fewest records in which a change could be told from chance, where there are fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<usize>,
}

/// A figure in one record.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Index in [`History::records`].
    pub record: usize,
    /// The figure.
    pub value: f64,
    /// Its 95 % interval, where it has one.
    pub interval: Option<(f64, f64)>,
    /// Whether something stands against it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_doubt: bool,
}

/// A change of a figure between two records.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The last record before, by index in [`History::records`].
    pub before: usize,
    /// The first record after.
    pub after: usize,
    /// The figure's level before, from the change before this one on.
    pub from: f64,
    /// Its level after, until the next change.
    pub to: f64,
    /// The level after over that before.
    pub ratio: f64,
    /// The 95 % interval of that, from the scatter of the records.
    pub interval: Option<(f64, f64)>,
    /// How often chance alone would make as clear a change among these records.
    pub chance: f64,
    /// Whether it became slower; absent where no direction is better.
    pub slower: Option<bool>,
    /// What of inventory and settings differs between the two records.
    pub differences: Vec<Difference>,
}

impl History {
    /// As JSON, with a line feed at its end.
    ///
    /// # Errors
    ///
    /// A value has no form in JSON.
    pub fn to_json(&self) -> std::io::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Its JSON Schema.
    pub fn json_schema() -> serde_json::Value {
        crate::schema::read(crate::schema::HISTORY)
    }
}
