//! Alternating commands: the differences between their times, and the results of each command. This module contains
//! only the types; the `diagnose` crate computes the values.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::JsonSchema;
use crate::bound::Bound;
use crate::difference::Verdict;
use crate::text::Text;

/// Commands run alternately, each once per round, with every other round in reverse order.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Turns {
    /// The commands, in the user's order; the others are compared with the first.
    pub commands: Vec<CommandInTurn>,
    /// The difference that noise alone causes, as a share of the run time. It is determined by comparing consecutive
    /// runs of the same command. Absent if there are too few runs.
    pub floor: Option<f64>,
    /// The noise in words.
    pub floor_says: Option<Text>,
}

/// One of the commands.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandInTurn {
    /// The `workload` of its results.
    pub workload: String,
    /// What limited the command.
    pub bound: Option<Bound>,
    /// The comparison with the first command; absent for the first command itself, or if no round has both times.
    pub against_first: Option<AgainstFirst>,
}

/// The time of a command compared with the first command's time, round by round.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgainstFirst {
    /// Number of rounds with both times.
    pub rounds: u64,
    /// The command's time relative to the first: the median of the ratios of all rounds.
    pub ratio: f64,
    /// The interval of the ratio, at 95 % confidence for all commands together; absent if there are too few rounds.
    pub interval: Option<(f64, f64)>,
    /// The verdict on the difference; `costs` is the time of the first command minus the time of this command, as a share of the first
    /// command's time.
    pub verdict: Verdict,
    /// Whether this command is the slower of the two; absent if no difference is resolved.
    pub slower: Option<bool>,
    /// The comparison in words.
    pub says: Text,
    /// Other differences, one sentence each: how the time was used, and counted events. Empty if no difference is
    /// resolved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explained: Vec<Text>,
}
