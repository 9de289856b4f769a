//! Observations of a command's run in addition to its results: the types of the details of `workload.time` in a record of `linespeed stat`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
/// How one run ended; in JSON `{"code": 0}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// With this exit code.
    Code(i64),
    /// By this signal.
    Signal(i64),
    /// Its time limit was reached.
    TimedOut(bool),
    /// linespeed received this signal, and ended it.
    Stopped(i64),
}

/// Number of times the threads of a command were sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Looks {
    /// Samples of a thread.
    pub all: u64,
    /// Number of samples in which all threads were waiting.
    pub idle: u64,
    /// Active threads, summed over samples.
    pub active: u64,
    /// Maximum number of simultaneously active threads; 0 if unknown.
    pub most_active: u64,
    /// Waiting threads whose cause of waiting could not be read, summed.
    pub unread: u64,
}

/// Threads that waited for one thing, summed over samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Waits {
    /// All of them.
    pub threads: u64,
    /// Threads that had been on a CPU since the previous sample: they wait repeatedly, not once for a long time.
    pub again: u64,
    /// For locks: the process whose threads waited longest. Waits of unrelated processes are not waits for one lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locks: Option<LockWaits>,
}

/// Waits of one process's threads for locks, or for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LockWaits {
    /// Time that threads were blocked in futexes between two runs, s, summed; threads that never ran are waiting for work.
    pub blocked: f64,
    /// The part that is certainly a mutex: the kernel shows that the futex is expected to be locked with waiters.
    pub mutex: f64,
    /// Time that its threads were on a CPU or ready for one, s, summed.
    pub active: f64,
    /// Threads that were in a mutex in all samples and never ran.
    pub stuck: u64,
}

/// What threads waited for in all samples, whether or not others ran.
pub type ThreadWaits = BTreeMap<String, Waits>;

/// A change that shows what a command needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeKind {
    /// Its memory came from huge pages.
    HugePages,
    /// Next to a program that uses memory bandwidth.
    Bandwidth,
    /// Next to a program that fills the last-level cache.
    Cache,
    /// On fewer CPUs: its time.
    FewerCpus,
    /// On fewer CPUs: its CPU time.
    FewerCpusTime,
}

/// The effect of a change on a command, from runs alternating with and without it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// What was changed.
    pub kind: ProbeKind,
    /// Its time with the change divided by that without it (CPU time, except for `fewer-cpus`).
    pub ratio: f64,
    /// Its interval, which holds for all probes together; absent if there are too few rounds.
    pub interval: Option<(f64, f64)>,
    /// Rounds.
    pub rounds: u64,
    /// The CPUs left to the command, if there were fewer.
    pub cpus: Option<String>,
}

/// The threads seen.
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
    /// Unnamed processes among them: with `stat -p`, those started by the named ones.
    #[serde(default)]
    pub below: u64,
}

/// The whole machine while a command ran; values that Linux does not report are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Around {
    /// For how long, s.
    pub seconds: Option<f64>,
    /// Steal time of all CPUs, s.
    pub stolen_seconds: Option<f64>,
    /// CPU time of all tasks, s.
    pub busy_seconds: Option<f64>,
    /// Time during which the cgroup's quota throttled it, s.
    pub throttled_seconds: Option<f64>,
    /// Share of the time in which some task waited for a CPU.
    pub pressure_cpu: Option<f64>,
    /// The same for the disk.
    pub pressure_io: Option<f64>,
    /// The same for memory.
    pub pressure_memory: Option<f64>,
}

/// The best results of this machine, measured before; those not measured are absent.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ceilings {
    /// Instructions per cycle of the built-in workloads, by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ipc: BTreeMap<String, f64>,
    /// The core clock, Hz.
    pub clock_hz: Option<f64>,
    /// The core clock while all CPUs work, Hz: the median CPU's.
    pub clock_all_hz: Option<f64>,
    /// Memory bandwidth of one CPU, B/s.
    pub bandwidth_one: Option<f64>,
    /// That of all CPUs, B/s.
    pub bandwidth_all: Option<f64>,
    /// Latency of memory, ns.
    pub latency_ns: Option<f64>,
    /// The latency curve: the latency of loads by size of memory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<CurvePoint>,
    /// The memory probe's latency under increasing load, unloaded first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub probe: Vec<ProbePoint>,
    /// The day of each measurement, by its name here; for a workload's IPC, `ipc.` and the workload.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub days: BTreeMap<String, String>,
    /// The record file of each.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub records: BTreeMap<String, String>,
}

/// A point of a latency curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// The size of the memory accessed at random, bytes.
    pub bytes: u64,
    /// The latency of a load from it, ns.
    pub ns: f64,
}

/// The memory probe at one load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbePoint {
    /// The memory bandwidth, B/s.
    pub bandwidth: f64,
    /// The probe's latency, ns per load.
    pub ns: f64,
}

impl Ceilings {
    /// Workloads of nops, which show the width of the core: no program resembles them.
    pub const NOPS: [&str; 2] = ["nop", "cpu-bound"];

    /// Instructions per cycle of the workloads that resemble programs.
    pub fn programs_ipc(&self) -> impl Iterator<Item = (&str, f64)> {
        let programs =
            self.ipc.iter().filter(|(name, ipc)| !Self::NOPS.contains(&name.as_str()) && **ipc > 0.0);
        programs.map(|(name, ipc)| (name.as_str(), *ipc))
    }

    /// The expected clock when this share of the CPUs is busy, Hz, and whether it is the all-core clock: a single core runs faster.
    pub fn clock_at(&self, busy: f64) -> Option<(f64, bool)> {
        let all = self.clock_all_hz.filter(|_| busy >= 0.5).map(|hz| (hz, true));
        all.or(self.clock_hz.map(|hz| (hz, false))).filter(|(hz, _)| *hz > 0.0)
    }

    /// The name of a workload's IPC in `days` and `records`.
    pub fn ipc_name(workload: &str) -> String {
        format!("ipc.{workload}")
    }

    /// The workload with the most instructions per cycle. A single workload gives no ceiling.
    pub fn best_ipc(&self) -> Option<(&str, f64)> {
        let best = self.programs_ipc().max_by(|a, b| a.1.total_cmp(&b.1));
        best.filter(|_| self.programs_ipc().count() > 1)
    }
}

/// What threads waited for while off a CPU, and how many times each was seen.
pub type Waiting = BTreeMap<String, u64>;
