//! The longest gaps of busy loops and the latest wake-ups, and who took that time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// A gap in a busy loop, or a wake-up that came late.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LongGap {
    /// The CPU.
    pub cpu: u32,
    /// The policy of a thread that woke up late: `other`, `fifo`; absent for a gap in a busy loop.
    pub woken: Option<String>,
    /// When it began, seconds since boot (CLOCK_MONOTONIC), as `dmesg` has them.
    pub at_seconds: f64,
    /// How long it was, ns.
    pub ns: f64,
    /// By what its takers are known.
    pub witness: Witness,
    /// Who took it, the most first.
    #[serde(default)]
    pub takers: Vec<Taker>,
}

/// By what takers are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Witness {
    /// The kernel's trace: each event with its time.
    Trace,
    /// What counts and run times grew by around the gap: others may have been there too.
    Counts,
}

/// Somebody who took time.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Taker {
    /// What it is.
    pub kind: TakerKind,
    /// Its name: `45 eth0-TxRx-3`, `NET_RX`, `kworker/3:1H`; absent for what has none.
    pub name: Option<String>,
    /// A task's process.
    pub pid: Option<i32>,
    /// A task's real-time priority, 1 to 99.
    pub priority: Option<u32>,
    /// What it took, ns; absent where counts alone tell.
    pub ns: Option<f64>,
    /// How often it came; absent where only its time is known.
    pub times: Option<u64>,
}

/// What somebody is who took time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TakerKind {
    /// An interrupt.
    Irq,
    /// Work that interrupts leave for later.
    Softirq,
    /// A thread.
    Task,
    /// Other threads, by the time for which this one was ready and had no CPU.
    RunQueue,
    /// The CPU left an idle state.
    Idle,
    /// No event: hypervisor or firmware.
    Below,
    /// The timer came late: idle state, disabled interrupts, hypervisor or firmware.
    LateTimer,
}

impl Taker {
    /// Somebody of whom only the kind is known.
    pub fn new(kind: TakerKind) -> Self {
        Self { kind, name: None, pid: None, priority: None, ns: None, times: None }
    }
}
