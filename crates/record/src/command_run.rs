//! What was observed while a command ran. These are the types of the details of `workload.time` in records of `linespeed
//! stat`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::JsonSchema;
/// How one run ended; in JSON `{"code": 0}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// The command exited with this code.
    Code(i64),
    /// This signal killed the command.
    Signal(i64),
    /// The command reached its time limit.
    TimedOut(bool),
    /// linespeed received this signal and killed the command.
    Stopped(i64),
}

/// How many samples of a command's threads were taken, and what they showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Looks {
    /// Number of samples.
    pub all: u64,
    /// Number of samples in which all threads were waiting.
    pub idle: u64,
    /// Number of active threads, summed over the samples.
    pub active: u64,
    /// Maximum number of simultaneously active threads; 0 if unknown.
    pub most_active: u64,
    /// Number of waiting threads whose reason for waiting could not be read, summed over the samples.
    pub unread: u64,
}

/// The threads that waited for the same reason, summed over the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Waits {
    /// Number of threads that waited for this reason.
    pub threads: u64,
    /// Number of these threads that had run on a CPU since the previous sample. Such threads wait repeatedly, not once
    /// for a long time.
    pub again: u64,
    /// For locks: the waits of the process whose threads waited longest. Only one process is considered, because
    /// unrelated processes do not wait for the same lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locks: Option<LockWaits>,
}

/// The time for which the threads of one process waited for locks or for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LockWaits {
    /// Total time that threads were blocked on locks, s. A wait after which the thread did not run is excluded, because the thread
    /// may be waiting for work.
    pub blocked: f64,
    /// The part of `blocked` that is certainly due to a mutex: the arguments of the futex call show that the thread expected
    /// a locked mutex with waiters.
    pub mutex: f64,
    /// Total time that the process's threads were running or ready to run, s.
    pub active: f64,
    /// Number of threads that waited for a mutex in all samples and never ran.
    pub stuck: u64,
}

/// The reasons why threads waited, over all samples, whether or not other threads ran.
pub type ThreadWaits = BTreeMap<String, Waits>;

/// A changed condition whose effect shows which resource the command depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeKind {
    /// The command's memory was allocated from huge pages.
    HugePages,
    /// The command ran next to a program that uses memory bandwidth.
    Bandwidth,
    /// The command ran next to a program that fills the last-level cache.
    Cache,
    /// The command ran on fewer CPUs; the effect refers to its wall time.
    FewerCpus,
    /// The command ran on fewer CPUs; the effect refers to its CPU time.
    FewerCpusTime,
}

/// The effect of a changed condition on a command, from alternating runs with and without the change.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// What was changed.
    pub kind: ProbeKind,
    /// The command's time with the change divided by its time without the change (CPU time, except for `fewer-cpus`).
    pub ratio: f64,
    /// The interval of the ratio, at 95 % confidence for all probes together; absent if there are too few rounds.
    pub interval: Option<(f64, f64)>,
    /// Number of rounds.
    pub rounds: u64,
    /// If the command ran on fewer CPUs: the CPUs that it could use.
    pub cpus: Option<String>,
}

/// The threads observed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadsSeen {
    /// Maximum number of simultaneous threads.
    #[serde(default)]
    pub most: u64,
    /// Number of threads observed.
    #[serde(default)]
    pub seen: u64,
    /// Total CPU time of the observed threads, s.
    pub seen_seconds: f64,
    /// Number of processes that the user did not specify: with `stat -p`, these are the descendants of the specified
    /// processes.
    #[serde(default)]
    pub below: u64,
}

/// What happened on the entire machine while a command ran; values that Linux does not report are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Around {
    /// Length of the observation, s.
    pub seconds: Option<f64>,
    /// Steal time of all CPUs, s.
    pub stolen_seconds: Option<f64>,
    /// CPU time of all tasks, s.
    pub busy_seconds: Option<f64>,
    /// Time during which the command was throttled by its cgroup's quota, s.
    pub throttled_seconds: Option<f64>,
    /// Share of the time in which some task waited for a CPU.
    pub pressure_cpu: Option<f64>,
    /// Share of the time in which some task waited for a disk.
    pub pressure_io: Option<f64>,
    /// Share of the time in which some task waited for memory.
    pub pressure_memory: Option<f64>,
}

/// The best earlier results of this machine; results not yet measured are absent.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ceilings {
    /// Instructions per cycle of the built-in workloads, by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ipc: BTreeMap<String, f64>,
    /// The core clock, Hz.
    pub clock_hz: Option<f64>,
    /// The core clock while all CPUs are busy, Hz: the median over CPUs.
    pub clock_all_hz: Option<f64>,
    /// Memory bandwidth of one CPU, B/s.
    pub bandwidth_one: Option<f64>,
    /// Memory bandwidth of all CPUs, B/s.
    pub bandwidth_all: Option<f64>,
    /// Latency of memory, ns.
    pub latency_ns: Option<f64>,
    /// The latency curve: load latency by working-set size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<CurvePoint>,
    /// The memory probe's latency under increasing load; the first point is without load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub probe: Vec<ProbePoint>,
    /// The day on which each value was measured, by the value's field name in this struct; for a workload's IPC, the
    /// name is `ipc.` followed by the workload.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub days: BTreeMap<String, String>,
    /// The record file that contains each value, by the same names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub records: BTreeMap<String, String>,
}

/// A point of a latency curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// The size of the memory accessed at random, bytes.
    pub bytes: u64,
    /// The latency of a load from this memory, ns.
    pub ns: f64,
}

/// A reading of the memory probe at one load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbePoint {
    /// The memory bandwidth, B/s.
    pub bandwidth: f64,
    /// The probe's latency, ns per load.
    pub ns: f64,
}

impl Ceilings {
    /// Workloads that consist of nops. They show the width of the core but do not resemble programs.
    pub const NOPS: [&str; 2] = ["nop", "cpu-bound"];

    /// Instructions per cycle of the workloads that resemble programs.
    pub fn programs_ipc(&self) -> impl Iterator<Item = (&str, f64)> {
        let programs = self.ipc.iter().filter(|(n, ipc)| !Self::NOPS.contains(&n.as_str()) && **ipc > 0.0);
        programs.map(|(name, ipc)| (name.as_str(), *ipc))
    }

    /// The expected clock in Hz if this share of the CPUs is busy, and whether this is the all-core clock rather than
    /// the clock of a single busy core, which is higher.
    pub fn clock_at(&self, busy: f64) -> Option<(f64, bool)> {
        let all = self.clock_all_hz.filter(|_| busy >= 0.5).map(|hz| (hz, true));
        all.or(self.clock_hz.map(|hz| (hz, false))).filter(|(hz, _)| *hz > 0.0)
    }

    /// The name under which `days` and `records` list a workload's IPC.
    pub fn ipc_name(workload: &str) -> String {
        format!("ipc.{workload}")
    }

    /// The workload with the most instructions per cycle; `None` if there is only one workload, because a single
    /// workload does not show a ceiling.
    pub fn best_ipc(&self) -> Option<(&str, f64)> {
        let best = self.programs_ipc().max_by(|a, b| a.1.total_cmp(&b.1));
        best.filter(|_| self.programs_ipc().count() > 1)
    }
}

/// The reasons why threads waited off-CPU, and the number of samples with each reason.
pub type Waiting = BTreeMap<String, u64>;
