//! The limiting factor of a command, that is, what the command's speed depends on.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::evidence::Evidence;
use crate::text;
use crate::text::Text;

/// What limited a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BoundBy {
    /// Only the speed of the CPUs.
    Cpu,
    /// Loads that missed all caches.
    MemoryLatency,
    /// Memory bandwidth.
    MemoryBandwidth,
    /// Instruction fetch and decode.
    Frontend,
    /// Mispredicted branches.
    Branches,
    /// Waiting for something other than a CPU: a disk, the network, a lock.
    Waiting,
    /// Other tasks on the command's CPUs.
    CpuContention,
    /// More runnable threads than CPUs.
    TooFewCpus,
    /// Time in the kernel.
    Kernel,
    /// The cgroup's CPU quota.
    Quota,
    /// One thread, while other CPUs are idle.
    OneThread,
    /// The busiest thread of the command: the other threads have less work.
    Imbalance,
    /// Steal time.
    Stolen,
    /// The command's threads wait for locks or for each other.
    Lock,
    /// The capacity of the caches that the command can use.
    Cache,
    /// The command's own threads slow each other down: they share cache lines or spin on a lock.
    OwnThreads,
    /// A reduced clock, because of heat, a power limit or a setting.
    Clock,
    /// Nothing: the command has no work to do.
    Idle,
    /// No visible cause.
    Unknown,
    /// A cause written by another version.
    #[serde(untagged)]
    Other(String),
}

/// A more detailed kind of the limiting factor, if known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::EnumString)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum BoundKind {
    /// Loads from a core's own caches.
    L2,
    /// Loads from the last-level cache.
    L3,
    /// Loads from memory.
    Dram,
    /// Loads from another node's memory.
    Remote,
    /// Loads from beyond a core's own caches; the level is unknown.
    CachesOrMemory,
    /// Loops that wait for another thread.
    Spinning,
    /// Cache lines that several threads write.
    SharedLines,
    /// Process creation and exit.
    ProcessCreation,
    /// Page faults.
    PageFaults,
    /// Waiting for locks, and other wake-ups between threads.
    Futex,
    /// Sockets.
    Network,
    /// Reading and writing files.
    FileIo,
    /// Opening files, and looking up file names and attributes.
    PathLookups,
    /// Sending and handling signals.
    Signals,
    /// Sleeps and timers.
    Timers,
    /// Mapping, unmapping and protecting memory.
    MemoryMapping,
    /// Switches between threads and processes.
    ContextSwitches,
    /// `syscall-` followed by the name of a system call that belongs to no kind above, or a kind written by another version.
    #[serde(untagged)]
    #[strum(default)]
    Other(String),
}

impl BoundBy {
    /// The limiting factor in words.
    pub fn name(&self) -> Text {
        match self {
            BoundBy::Cpu => text!("the CPU"),
            BoundBy::MemoryLatency => text!("memory latency"),
            BoundBy::MemoryBandwidth => text!("memory bandwidth"),
            BoundBy::Frontend => text!("the core's front end"),
            BoundBy::Branches => text!("branches"),
            BoundBy::Waiting => text!("waiting"),
            BoundBy::CpuContention => text!("other processes on the CPUs"),
            BoundBy::TooFewCpus => text!("too few CPUs for its threads"),
            BoundBy::Kernel => text!("the kernel"),
            BoundBy::Quota => text!("its quota"),
            BoundBy::Stolen => text!("the hypervisor"),
            BoundBy::OneThread => text!("one thread"),
            BoundBy::Imbalance => text!("its slowest thread"),
            BoundBy::Lock => text!("a lock"),
            BoundBy::Cache => text!("the caches"),
            BoundBy::OwnThreads => text!("its own threads"),
            BoundBy::Clock => text!("a reduced clock"),
            BoundBy::Idle => text!("a lack of work"),
            BoundBy::Unknown => text!("an unknown cause"),
            BoundBy::Other(word) => text!("{word}", word = word.clone()),
        }
    }

    /// The code of the limiting factor, as in JSON.
    pub fn code(&self) -> String {
        serde_json::to_value(self)
            .ok()
            .and_then(|value| value.as_str().map(str::to_owned))
            .unwrap_or_default()
    }
}

/// The limiting factor of a command, with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bound {
    /// `cpu`, `memory-latency`, `memory-bandwidth`, `frontend`, `branches`, `waiting`, `cpu-contention`, `too-few-cpus`, `kernel`,
    /// `quota`, `one-thread`, `imbalance`, `stolen`, `lock`, `cache`, `own-threads`, `clock`, `idle`, `unknown`.
    pub by: BoundBy,
    /// The kind of the limiting factor. For `memory-latency`, it is `l2`, `l3`, `dram`, `remote` or `caches-or-memory`.
    /// For `own-threads`, it is `spinning` or `shared-lines`. For `kernel`, it is `process-creation`, `page-faults`,
    /// `futex`, `network`, `file-io`, `path-lookups`, `signals`, `timers`, `memory-mapping`, `context-switches`, or
    /// `syscall-` and the name of a system call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<BoundKind>,
    /// The answer in words.
    pub says: Text,
    /// The results on which the verdict is based.
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
