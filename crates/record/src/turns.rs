//! Alternating commands: how their times differ, and the results of each. Types only; the `diagnose` crate computes the values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::bound::Bound;
use crate::difference::Verdict;
use crate::text::Text;

/// Commands run alternately, each once per round, with every other round in reverse order.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Turns {
    /// The commands, in the order given; the others are compared with the first.
    pub commands: Vec<CommandInTurn>,
    /// The difference caused by noise alone, as a share: each command compared with itself in consecutive runs. Absent if there are too few runs.
    pub floor: Option<f64>,
    /// The same in words.
    pub floor_says: Option<Text>,
}

/// One of the commands.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandInTurn {
    /// The `workload` of its results.
    pub workload: String,
    /// What limited it.
    pub bound: Option<Bound>,
    /// The comparison with the first; absent for the first itself, and if no round has both.
    pub against_first: Option<AgainstFirst>,
}

/// The time of a command compared with that of the first, round by round.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgainstFirst {
    /// Rounds with both.
    pub rounds: u64,
    /// Its time relative to the first: the median of the ratios of all rounds.
    pub ratio: f64,
    /// The interval of the ratio, which holds for all commands together at 95 %; absent if there are too few rounds.
    pub interval: Option<(f64, f64)>,
    /// The verdict on the difference; `costs` is the additional time of the first compared with this one (negative: less), as a share of the time
    /// of the first.
    pub verdict: Verdict,
    /// Whether it is the slower of the two; absent if no difference is resolved.
    pub slower: Option<bool>,
    /// The same in words.
    pub says: Text,
    /// Other differences, one sentence each: where the time went, and counted events. Only if a difference is resolved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explained: Vec<Text>,
}
