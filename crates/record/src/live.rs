//! The types of `linespeed live`: the activity of a machine in one interval.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::JsonSchema;
use crate::command_run::{Looks, ThreadWaits};
use crate::shape::Shape;

mod hardware;
mod said;
mod sampled;

pub use crate::share::Share;
pub use hardware::{Cores, Remote, Traffic};
pub use said::Said;
pub use sampled::{KernelTime, MemoryLevel, Sampled};

/// One interval of a recording. Values not reported by Linux are absent.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Interval {
    /// The length of the interval, s.
    pub seconds: f64,
    /// How long the machine was suspended during the interval, s; `seconds` does not include this time.
    pub suspended: Option<f64>,
    /// CPUs online at the end of the interval.
    pub cpus: u64,
    /// The CPU times.
    pub times: CpuTimes,
    /// Time that threads waited in run queues, s, summed over threads.
    pub run_queue_delay: Option<f64>,
    /// Average number of running and ready threads, from samples of `procs_running`.
    pub runnable: Option<f64>,
    /// Average number of threads in uninterruptible sleep, from samples of `procs_blocked`.
    pub blocked: Option<f64>,
    /// Shares of time in which at least one task waited: `cpu`, `io`, `memory` (pressure stall information).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pressure: BTreeMap<String, f64>,
    /// Events per second: `context-switches`, `interrupts`, `forks`, `page-faults`, `major-faults`, `page-migrations`,
    /// `reclaimed-pages` (by direct reclaim), `softirqs`, and each kind of softirq, such as `softirqs-net-rx`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rates: BTreeMap<String, f64>,
    /// The core clock.
    pub clock: Option<Clock>,
    /// The probe's readings.
    pub probe: Option<Probe>,
    /// The sensors' values.
    #[serde(skip_serializing_if = "Sensors::is_empty")]
    pub sensors: Sensors,
    /// The cores' hardware counters, for all running tasks.
    pub cores: Option<Cores>,
    /// The hardware counters for the selected cgroup.
    pub cores_of_group: Option<Cores>,
    /// Samples of all running tasks in user mode.
    pub sampled: Option<Sampled>,
    /// Memory traffic.
    pub traffic: Option<Traffic>,
    /// How much memory of other nodes was used; only on machines with several nodes.
    pub remote: Option<Remote>,
    /// The cgroup most throttled by its quota.
    pub throttled: Option<Throttled>,
    /// Results of the placement checks made so far, without the state in each check; absent if there was no check.
    pub shape: Option<Box<Shape>>,
    /// The processes with the most CPU time, busiest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<Process>,
    /// The threads of the selected processes with the most CPU time; empty if no processes were selected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<Thread>,
    /// The time covered by `processes`, s: if there are many processes, they are not read in every interval.
    pub processes_seconds: Option<f64>,
    /// What the threads of these processes waited for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub waits: ThreadWaits,
    /// How often threads were sampled.
    pub looks: Looks,
    /// The times and waits of the selected processes; absent if no processes were selected.
    pub service: Option<Service>,
    /// CPU time of linespeed itself, s.
    pub own_seconds: f64,
}

/// CPU time, s, summed over CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CpuTimes {
    /// Time in user mode, including nice and guest time.
    pub user: f64,
    /// Time in the kernel on behalf of processes.
    pub system: f64,
    /// Time in interrupts.
    pub irq: f64,
    /// Time in softirqs.
    pub softirq: f64,
    /// Idle time of a CPU during which a task that last ran on this CPU waits for a disk.
    pub iowait: f64,
    /// Other idle time.
    pub idle: f64,
    /// Steal time.
    pub steal: f64,
}

impl std::ops::AddAssign for CpuTimes {
    fn add_assign(&mut self, more: Self) {
        self.user += more.user;
        self.system += more.system;
        self.irq += more.irq;
        self.softirq += more.softirq;
        self.iowait += more.iowait;
        self.idle += more.idle;
        self.steal += more.steal;
    }
}

impl CpuTimes {
    /// Busy time.
    pub fn busy(&self) -> f64 {
        self.user + self.kernel()
    }

    /// Time in the kernel, including interrupts.
    pub fn kernel(&self) -> f64 {
        self.system + self.irq + self.softirq
    }

    /// The total time.
    pub fn all(&self) -> f64 {
        self.busy() + self.iowait + self.idle + self.steal
    }

    /// This CPU time as a share of the total.
    pub fn share(&self, seconds: f64) -> f64 {
        if self.all() > 0.0 { seconds / self.all() } else { 0.0 }
    }
}

/// The core clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// The median clock of the sampled CPUs, Hz.
    pub hz: f64,
    /// Source of the clock: `cppc`, `cpufreq`.
    pub source: String,
}

/// The memory probe's readings in one interval.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Probe {
    /// Latency of loads from memory by node, ns: the median of the readings.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub latency_ns: BTreeMap<u32, f64>,
    /// The 95 % CI of that median; absent if there are fewer than 6 readings.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub latency_interval_ns: BTreeMap<u32, (f64, f64)>,
    /// The core's clock, measured with dependent adds, Hz.
    pub clock_hz: Option<f64>,
    /// The median delay of the probe's timer, µs.
    pub late_us: Option<f64>,
}

impl Probe {
    /// The node with the highest load latency, and that latency, ns.
    pub fn slowest(&self) -> Option<(u32, f64)> {
        self.latency_ns.iter().map(|(node, ns)| (*node, *ns)).max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Values of sensors.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Sensors {
    /// The highest temperature, °C.
    pub celsius: Option<f64>,
    /// Speed of the fastest fan, revolutions per minute.
    pub fan_rpm: Option<f64>,
    /// Power from hwmon, or from RAPL as the sum over packages, W.
    pub watts: Option<f64>,
    /// Share of time for which the most affected package or core was thermally throttled.
    pub heat_throttled: Option<f64>,
}

impl Sensors {
    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The CPU times of selected processes, and what their threads waited for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Service {
    /// How long the processes were observed, s.
    pub seconds: f64,
    /// Time of their threads by state, s: `user`, `system`, `runnable` (ready but without a CPU), `blocked` (neither
    /// running nor ready), each summed over threads. `off-cpu` is the time in which no thread was running or ready.
    pub states: BTreeMap<String, f64>,
    /// What the threads waited for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub waits: ThreadWaits,
    /// How often their threads were sampled.
    pub looks: Looks,
    /// Conclusions from samples of the processes in user mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
    /// Number of processes that the selected processes started; the values here include them.
    pub below: u64,
    /// Number of observed threads.
    pub threads: u64,
    /// Number of processes selected by PID, if all of them have exited; `seconds` is then the time until the last exit.
    #[serde(skip_serializing_if = "is_none")]
    pub ended: u64,
}

impl Service {
    /// The average number of threads that waited for each cause, and whether sampling overestimated these numbers; if
    /// so, they are corrected. Taking a sample preempts one of the threads, and a thread that waits for the preempted
    /// one is then counted as waiting. The correction uses the kernel's accounting of blocked time, which is exact.
    pub fn waiting(&self) -> (BTreeMap<&str, f64>, bool) {
        let looks = self.looks.all.max(1) as f64;
        let found = self.waits.iter().map(|(what, waits)| (what.as_str(), waits.threads as f64 / looks));
        let found: BTreeMap<&str, f64> = found.collect();
        let all: f64 = found.values().sum();
        let blocked = self.states.get("blocked").filter(|_| self.seconds > 0.0);
        let part = blocked.map_or(1.0, |blocked| blocked.max(0.0) / self.seconds / all.max(1e-9));
        if part >= 1.0 {
            return (found, false);
        }
        (found.into_iter().map(|(what, threads)| (what, threads * part)).collect(), true)
    }
}

/// Whether the count is 0 and therefore omitted.
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// A cgroup throttled by its quota.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Throttled {
    /// The cgroup's path in the kernel.
    pub group: String,
    /// Time for which its threads were throttled, s, summed over CPUs.
    pub seconds: f64,
    /// Share of the quota's periods in which it was throttled.
    pub periods: f64,
    /// CPU time used by the cgroup, s.
    pub used: f64,
}

/// A process and its CPU time in an interval.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Process {
    /// The process ID.
    pub pid: i32,
    /// The process's name in the kernel, without control characters.
    pub name: String,
    /// CPU time, s.
    pub cpu: f64,
    /// The part of `cpu` spent in the kernel, s.
    pub system: f64,
    /// Threads.
    pub threads: u64,
    /// Whether the process has a real-time policy.
    pub real_time: bool,
    /// The process's scheduling class, if not the default: `SCHED_FIFO`.
    pub class: Option<String>,
    /// The process's priority, if its class has one.
    pub priority: Option<u64>,
    /// The process's nice value, if not 0.
    pub nice: Option<i32>,
    /// The process's unit or container.
    pub within: Option<String>,
    /// What the process waits for, if it was sampled.
    pub sampled: Option<Box<Sampled>>,
    /// Whether the process has exited; its times are then the last values read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
}

/// A thread of a watched process, and its times in an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Thread {
    /// The thread's process ID.
    pub pid: i32,
    /// The thread ID.
    pub tid: i32,
    /// The thread's name in the kernel, without control characters.
    pub name: String,
    /// CPU time, s.
    pub cpu: f64,
    /// Time waiting in a run queue, s.
    pub runnable: f64,
    /// Time blocked, neither on a CPU nor ready for one, s.
    pub blocked: f64,
    /// The thread's state when last read: R running or ready, S waiting, D waiting for a disk.
    pub state: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_run::Waits;

    #[test]
    fn no_more_threads_wait_than_are_blocked() {
        let wait = |threads| Waits { threads, ..Waits::default() };
        let service = |blocked: Option<f64>| Service {
            seconds: 2.0,
            states: blocked.map(|blocked| ("blocked".to_owned(), blocked)).into_iter().collect(),
            waits: [("lock".to_owned(), wait(9)), ("disk".to_owned(), wait(3))].into(),
            looks: Looks { all: 10, ..Looks::default() },
            ..Service::default()
        };
        let waiting = |blocked| {
            let service = service(blocked);
            let (threads, held) = service.waiting();
            (threads["lock"], threads["disk"], held)
        };
        // Samples found 1.2 waiting threads; 0.8 were blocked.
        let (lock, disk, held) = waiting(Some(1.6));
        assert!((lock - 0.6).abs() < 1e-9 && (disk - 0.2).abs() < 1e-9 && held, "{lock} {disk}");
        // Idle threads of a pool are also blocked but were not sampled; some kernels have no such accounting.
        assert_eq!((waiting(Some(40.0)), waiting(None)), ((0.9, 0.3, false), (0.9, 0.3, false)));
        assert_eq!(waiting(Some(0.0)), (0.0, 0.0, true));
    }
}
