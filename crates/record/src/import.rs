//! The sources of an imported record's results. A source consists of a tool, a text and a line of this text.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::JsonSchema;

/// The name used as the tool if the results are from a published list instead of a program.
pub const PUBLISHED_FIGURES: &str = "published figures";

/// The line of a tool's output from which a result was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// The tool: `lscpu`, `perf stat`, `cyclictest`, `openssl speed`; `published figures` for a table in an article.
    pub tool: String,
    /// The name of the text: a file name, `standard input`, `reference:kunpeng-920-4826`.
    pub text: String,
    /// The line number in that text, counted from 1.
    pub line: u64,
    /// The line's original text, without colors and quoting, truncated to 200 characters.
    pub says: String,
}

/// The sources of a record not measured by linespeed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Import {
    /// The machine's name in the texts: a host name or a heading; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The texts.
    pub texts: Vec<Text>,
    /// The recognized outputs in the texts, in order.
    pub outputs: Vec<Output>,
    /// The source of each part of the inventory, by its path: `machine.counts.packages`.
    pub inventory: BTreeMap<String, Origin>,
    /// Impossible results, of which only the text is saved.
    pub withheld: Vec<Withheld>,
    /// Contradictory statements in the texts.
    pub contradictions: Vec<Contradiction>,
    /// Lines that belong to no known output.
    pub not_understood: NotUnderstood,
}

/// An imported text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Text {
    /// The name of the text, as in [`Origin::text`].
    pub name: String,
    /// The length of the text in bytes.
    pub bytes: u64,
    /// The number of lines in the text.
    pub lines: u64,
}

/// One tool's output within a text.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// The tool.
    pub tool: String,
    /// The tool's version, if the output contains it.
    pub version: Option<String>,
    /// The command line above the output, if there is one.
    pub command: Option<String>,
    /// The text that contains the output.
    pub text: String,
    /// The first and last line of the output in that text, counted from 1.
    pub lines: (u64, u64),
    /// Number of results and inventory facts read from the output.
    pub taken: u32,
}

/// An impossible result: its text is saved, but not its value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Withheld {
    /// The subject of the result: a metric's name or an inventory path.
    pub what: String,
    /// Why the result is impossible, in one sentence.
    pub why: String,
    /// The location of the result in the texts.
    pub origin: Origin,
}

/// Two statements in the texts that cannot both be true.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contradiction {
    /// One or two sentences: the contradiction, and which statement the record uses.
    pub says: String,
    /// The locations of the statements.
    pub origins: Vec<Origin>,
}

/// Lines that belong to no known output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NotUnderstood {
    /// Number of such lines, without blank ones.
    pub lines: u64,
    /// The first few of these lines; their `tool` field is empty.
    pub examples: Vec<Origin>,
}
