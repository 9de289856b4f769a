//! Where the figures of an imported record came from: which tool's output, in which text, on which line.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The tool that a list of published figures is called: nobody can run it.
pub const PUBLISHED_FIGURES: &str = "published figures";

/// The line of a tool's output that a figure was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// The tool: `lscpu`, `perf stat`, `cyclictest`, `openssl speed`; `published figures` for a table of an article.
    pub tool: String,
    /// The text: a file's name, `standard input`, `reference:kunpeng-920-4826`.
    pub text: String,
    /// Line in that text, from 1.
    pub line: u64,
    /// The line as it stands there, without colours and quoting, cut at 200 characters.
    pub says: String,
}

/// What a record was made of that no linespeed measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Import {
    /// What the texts call the machine: a host name, a heading; absent where nothing names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The texts that were read.
    pub texts: Vec<Text>,
    /// The outputs that were recognised in them, in order.
    pub outputs: Vec<Output>,
    /// Where each part of the inventory came from, by its path: `machine.counts.packages`.
    pub inventory: BTreeMap<String, Origin>,
    /// Figures that are kept as text only, because they cannot be true.
    pub withheld: Vec<Withheld>,
    /// What the texts say in two ways.
    pub contradictions: Vec<Contradiction>,
    /// Lines that belong to no output that is known.
    pub not_understood: NotUnderstood,
}

/// A text that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Text {
    /// Its name, as in [`Origin::text`].
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its lines.
    pub lines: u64,
}

/// One tool's output within a text.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// The tool.
    pub tool: String,
    /// Its version, where the output tells.
    pub version: Option<String>,
    /// The command line above it, where there is one.
    pub command: Option<String>,
    /// The text that it stands in.
    pub text: String,
    /// Its first and last line there, from 1.
    pub lines: (u64, u64),
    /// Figures and inventory facts that were taken from it.
    pub taken: u32,
}

/// A figure that cannot be true: its text is kept, no value is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Withheld {
    /// What it would have been: a metric's name or an inventory path.
    pub what: String,
    /// Why it cannot be true, one sentence.
    pub why: String,
    /// Where it stands.
    pub origin: Origin,
}

/// Two statements of the texts that cannot both be true.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contradiction {
    /// What contradicts what, and which of them the record follows, one or two sentences.
    pub says: String,
    /// Where the statements stand.
    pub origins: Vec<Origin>,
}

/// Lines that belong to no output that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NotUnderstood {
    /// How many, blank ones left out.
    pub lines: u64,
    /// The first few; their tool is empty.
    pub examples: Vec<Origin>,
}
