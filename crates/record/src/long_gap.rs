//! The longest gaps of busy loops and the latest wake-ups, with their causes.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::JsonSchema;

/// A gap in a busy loop, or a late wake-up.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LongGap {
    /// The CPU.
    pub cpu: u32,
    /// The scheduling policy of the thread that woke up late (`other`, `fifo`); absent for a gap in a busy loop.
    pub woken: Option<String>,
    /// Start time, seconds since boot (CLOCK_MONOTONIC), as in `dmesg`.
    pub at_seconds: f64,
    /// Length of the gap or delay of the wake-up, ns.
    pub ns: f64,
    /// How the causes of the gap were determined.
    pub witness: Witness,
    /// The causes that used the time, largest share first.
    #[serde(default)]
    pub takers: Vec<Taker>,
}

/// How causes are determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Witness {
    /// The kernel's trace: each event with its time.
    Trace,
    /// Event counts and run times that increased around the gap; other causes are possible.
    Counts,
}

/// A cause that used time.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Taker {
    /// The kind of cause.
    pub kind: TakerKind,
    /// The name of the cause: `45 eth0-TxRx-3`, `NET_RX`, `kworker/3:1H`; absent if it has none.
    pub name: Option<String>,
    /// A task's process.
    pub pid: Option<i32>,
    /// A task's real-time priority, 1 to 99.
    pub priority: Option<u32>,
    /// Time used, ns; absent if only counts are known.
    pub ns: Option<f64>,
    /// Number of occurrences; absent if only the time is known.
    pub times: Option<u64>,
}

/// The kind of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TakerKind {
    /// An interrupt.
    Irq,
    /// Work that interrupts deferred.
    Softirq,
    /// A thread.
    Task,
    /// Other threads; the time is how long this thread waited in the run queue.
    RunQueue,
    /// Wake-up from an idle state.
    Idle,
    /// No event was recorded, so the cause is the hypervisor or the firmware.
    Below,
    /// System management interrupts, which run firmware.
    Smi,
    /// The timer interrupt came late: idle state, disabled interrupts, hypervisor or firmware.
    LateTimer,
}

impl Taker {
    /// A cause of which only the kind is known.
    pub fn new(kind: TakerKind) -> Self {
        Self { kind, name: None, pid: None, priority: None, ns: None, times: None }
    }
}
