//! Commands that were run in turn: how their times differ, and each by itself. The types only; the figures come from the
//! `diagnose` crate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::bound::Bound;
use crate::difference::Verdict;
use crate::text::Text;

/// Commands that were run in turn, each round once, every other round backwards.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Turns {
    /// The commands, in the order in which they were named; the others are held against the first.
    pub commands: Vec<CommandInTurn>,
    /// What noise alone makes of such a difference, as a share: commands held against themselves in neighbouring runs.
    /// Absent where the runs are too few to tell.
    pub floor: Option<f64>,
    /// The same in words.
    pub floor_says: Option<Text>,
}

/// One of the commands.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandInTurn {
    /// The `workload` of its figures.
    pub workload: String,
    /// What it was bound by.
    pub bound: Option<Bound>,
    /// How it stands against the first; absent for the first itself, and where no round had both.
    pub against_first: Option<AgainstFirst>,
}

/// A command's time against that of the first, round by round.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgainstFirst {
    /// Rounds that had both.
    pub rounds: u64,
    /// How many times as long it took: the median of the rounds' ratios.
    pub ratio: f64,
    /// The interval of that, which holds for all commands together at 95 %; absent where the rounds are too few.
    pub interval: Option<(f64, f64)>,
    /// What can be said of the difference; `costs` is what the first takes more (below 0: less) than this one, as a share
    /// of the first's time.
    pub verdict: Verdict,
    /// Whether it is the slower of the two; absent where no difference is resolved.
    pub slower: Option<bool>,
    /// The same in words.
    pub says: Text,
    /// What else differs, a sentence each: where the time went, what was counted beside it. Only where a difference is
    /// resolved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explained: Vec<Text>,
}
