//! What a command's run showed beside its figures: the types of the details of `workload.time` in a record of `linespeed stat`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::detail::DetailValue;

/// How one run ended; in JSON `{"code": 0}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// With this exit code.
    Code(i64),
    /// By this signal.
    Signal(i64),
    /// Its time was up.
    TimedOut(bool),
    /// linespeed was ended by this signal, and ended it.
    Stopped(i64),
}

/// How often a command's threads were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Looks {
    /// Looks at a thread.
    pub all: u64,
    /// Those that found all threads waiting.
    pub idle: u64,
    /// Those that found one at work.
    pub active: u64,
}

/// The threads that were seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadsSeen {
    /// The most at once.
    #[serde(default)]
    pub most: u64,
    /// How many.
    #[serde(default)]
    pub seen: u64,
    /// Their CPU time together, s.
    pub seen_seconds: f64,
}

/// The whole machine while a command ran; what Linux does not say is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Around {
    /// For how long, s.
    pub seconds: Option<f64>,
    /// Steal time of all CPUs, s.
    pub stolen_seconds: Option<f64>,
    /// CPU time of all tasks, s.
    pub busy_seconds: Option<f64>,
    /// Time for which the cgroup's quota held it back, s.
    pub throttled_seconds: Option<f64>,
    /// Share of the time in which some task waited for a CPU.
    pub pressure_cpu: Option<f64>,
    /// The same for the disk.
    pub pressure_io: Option<f64>,
    /// The same for memory.
    pub pressure_memory: Option<f64>,
}

/// What threads waited for while off a CPU, and how often each was seen.
pub type Waiting = BTreeMap<String, u64>;

macro_rules! read_by_serde {
    ($($type:ty),+) => {
        $(impl DetailValue for $type {
            type Read<'a> = $type;

            fn read(value: &Value) -> Option<Self> {
                <$type>::deserialize(value).ok()
            }
        })+
    };
}
read_by_serde!(Looks, ThreadsSeen, Around, Waiting, Vec<RunEnd>, Vec<String>, Vec<f64>);
