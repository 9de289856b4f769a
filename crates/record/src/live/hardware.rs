//! The counters of cores, memory controllers and nodes in one interval.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::JsonSchema;

/// The cores' counters.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cores {
    /// Instructions per cycle, user mode and kernel together.
    pub ipc: Option<f64>,
    /// Instructions per cycle in user mode.
    pub ipc_user: Option<f64>,
    /// Instructions per cycle in the kernel.
    pub ipc_kernel: Option<f64>,
    /// Shares of the issue slots: `retiring`, `bad-speculation`, `frontend-bound`, `backend-bound`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub top_down: BTreeMap<String, f64>,
    /// The smallest share of time for which any of the events was counted (the kernel multiplexes counters).
    pub coverage: f64,
}

/// Memory traffic, as counted by memory controllers or caches.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Traffic {
    /// Bytes read and written, B/s.
    pub bytes_per_second: f64,
    /// Bytes read, if counted separately.
    pub read: Option<f64>,
    /// Bytes written.
    pub written: Option<f64>,
    /// Share of time for which the memory buses carried data, if this was counted.
    pub bus: Option<f64>,
    /// Source of the counts: `uncore_imc`, `amd_umc`…
    pub source: String,
    /// Whether the counts from this source are known to be inaccurate.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub doubtful: bool,
}

/// The use of memory on other nodes, as shares.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Remote {
    /// Of the pages allocated in the interval, the share on a node other than that of the allocating CPU.
    pub taken: Option<f64>,
    /// Of the accesses sampled by NUMA balancing (hinting faults), the share that went to another node's memory.
    pub touched: Option<f64>,
    /// Of the watched processes' pages, the share on nodes where none of their threads ran.
    pub held: Option<f64>,
}
