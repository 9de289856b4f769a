//! What a command was bound by.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;
use crate::text;
use crate::text::Text;

/// What held a command back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BoundBy {
    /// Nothing but the CPUs that it used.
    Cpu,
    /// Loads that missed all caches.
    MemoryLatency,
    /// The bytes that memory moves a second.
    MemoryBandwidth,
    /// Instruction fetch and decode.
    Frontend,
    /// Mispredicted branches.
    Branches,
    /// Something else than a CPU: a disk, the network, a lock.
    Waiting,
    /// Others on its CPUs.
    CpuContention,
    /// More runnable threads than CPUs.
    TooFewCpus,
    /// Time in the kernel.
    Kernel,
    /// The cgroup's CPU quota.
    Quota,
    /// One thread, beside idle CPUs.
    OneThread,
    /// The busiest of its threads.
    Imbalance,
    /// Steal time.
    Stolen,
    /// Locks that its threads wait for, or each other.
    Lock,
    /// What it has of the caches.
    Cache,
    /// Its own threads beside each other: lines that they share, a lock that they spin on.
    OwnThreads,
    /// Heat, power or a setting that holds the clock down.
    Clock,
    /// Nothing: there is no work.
    Idle,
    /// Nothing that shows.
    Unknown,
    /// What a record of another version says.
    #[serde(untagged)]
    Other(String),
}

/// What of it, where that is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BoundKind {
    /// Loads of a core's own caches.
    L2,
    /// Loads of the last cache.
    L3,
    /// Loads of memory.
    Dram,
    /// Loads of another node's memory.
    Remote,
    /// Loads beyond a core's own caches, of which nobody knows more.
    CachesOrMemory,
    /// Loops that wait for another thread.
    Spinning,
    /// Cache lines that several threads write.
    SharedLines,
    /// Processes that are started and end.
    ProcessCreation,
    /// Pages that are given to it.
    PageFaults,
    /// Locks and what else threads wake each other by.
    Futex,
    /// Sockets.
    Network,
    /// Files that are read and written.
    FileIo,
    /// Sleeps and timers.
    Timers,
    /// Memory that is mapped, unmapped and protected.
    MemoryMapping,
    /// Threads and processes that take turns.
    ContextSwitches,
    /// What a record of another version says.
    #[serde(untagged)]
    Other(String),
}

impl BoundBy {
    /// It in words.
    pub fn name(&self) -> Text {
        match self {
            BoundBy::Cpu => text!("the CPU"),
            BoundBy::MemoryLatency => text!("memory latency"),
            BoundBy::MemoryBandwidth => text!("memory bandwidth"),
            BoundBy::Frontend => text!("the core's front end"),
            BoundBy::Branches => text!("branches"),
            BoundBy::Waiting => text!("waiting"),
            BoundBy::CpuContention => text!("other work on the CPUs"),
            BoundBy::TooFewCpus => text!("too few CPUs for its threads"),
            BoundBy::Kernel => text!("the kernel"),
            BoundBy::Quota => text!("its quota"),
            BoundBy::Stolen => text!("the hypervisor"),
            BoundBy::OneThread => text!("one thread"),
            BoundBy::Imbalance => text!("its slowest thread"),
            BoundBy::Lock => text!("a lock"),
            BoundBy::Cache => text!("the caches"),
            BoundBy::OwnThreads => text!("its own threads"),
            BoundBy::Clock => text!("a clock held down"),
            BoundBy::Idle => text!("no work"),
            BoundBy::Unknown => text!("nothing that shows"),
            BoundBy::Other(word) => text!("{word}", word = word.clone()),
        }
    }

    /// Its code, as JSON has it.
    pub fn code(&self) -> String {
        serde_json::to_value(self)
            .ok()
            .and_then(|value| value.as_str().map(str::to_owned))
            .unwrap_or_default()
    }
}

/// What a command was bound by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bound {
    /// `cpu`, `memory-latency`, `memory-bandwidth`, `frontend`, `branches`, `waiting`, `cpu-contention`, `too-few-cpus`, `kernel`,
    /// `quota`, `one-thread`, `imbalance`, `stolen`, `lock`, `cache`, `own-threads`, `clock`, `idle`, `unknown`.
    pub by: BoundBy,
    /// What of it: of `memory-latency` `l2`, `l3`, `dram`, `remote`, `caches-or-memory`; of `own-threads` `spinning`, `shared-lines`; of
    /// `kernel` `process-creation`, `page-faults`, `futex`, `network`, `file-io`, `timers`, `memory-mapping`, `context-switches`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<BoundKind>,
    /// The answer in a person's words.
    pub says: Text,
    /// The figures behind it.
    pub evidence: Vec<Evidence>,
    /// What to try.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<Text>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_versions_are_kept() {
        let words = r#"["cpu-contention","one-thread","disk-bandwidth"]"#;
        let read: Vec<BoundBy> = serde_json::from_str(words).unwrap();
        assert_eq!(read[..2], [BoundBy::CpuContention, BoundBy::OneThread]);
        assert_eq!(read[2], BoundBy::Other("disk-bandwidth".to_owned()));
        assert_eq!(serde_json::to_string(&read).unwrap(), words);
    }
}
