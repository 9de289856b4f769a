//! The state of a machine before and after its measurements.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::JsonSchema;
use crate::clock_holders::ClockHolders;
use crate::live::Process;

/// The state of the machine before and after the measurements, and what else ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Conditions {
    /// The state at the start of the run.
    pub before: Snapshot,
    /// The state at the end; absent if only the inventory was recorded or the run was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Snapshot>,
    /// Other active processes, busiest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Process>,
    /// Knobs that linespeed set for the run and restored afterwards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub knobs: Vec<Knob>,
}

/// A knob set for the run.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Knob {
    /// The knob's name, as in `linespeed quiet`.
    pub name: String,
    /// The knob's value before the run.
    pub was: String,
    /// The knob's value during the run; absent if it could not be set.
    pub set_to: Option<String>,
    /// Why the knob could not be set.
    pub not_set: Option<String>,
}

/// The state at one point in time.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Snapshot {
    /// Clock settings, one entry per group of CPUs with the same settings.
    pub clocks: Vec<ClockSetting>,
    /// Whether clocks above nominal are allowed: Intel turbo, AMD and acpi-cpufreq boost, cppc.
    pub boost: Option<bool>,
    /// The file from which `boost` was read.
    pub boost_source: Option<String>,
    /// SMT control: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`.
    pub smt: Option<String>,
    /// Current clock source of the kernel.
    pub clocksource: Option<String>,
    /// Clock sources available.
    pub clocksources: Vec<String>,
    /// Transparent huge pages: `always`, `madvise`, `never`.
    pub thp: Option<String>,
    /// The setting for defragmentation when transparent huge pages are allocated: `always`, `defer`, `madvise`…
    pub thp_defrag: Option<String>,
    /// Reserved huge pages by page size.
    pub huge_pages: Vec<HugePages>,
    /// Automatic NUMA balancing: 0 off.
    pub numa_balancing: Option<u32>,
    /// Address-space randomization: 0, 1, 2.
    pub aslr: Option<u32>,
    /// perf_event_paranoid.
    pub perf_event_paranoid: Option<i32>,
    /// Kernel same-page merging: 0 off.
    pub ksm: Option<u32>,
    /// zone_reclaim_mode.
    pub zone_reclaim: Option<u32>,
    /// Load averages over 1, 5 and 15 minutes.
    pub load: Option<[f64; 3]>,
    /// Tasks that are runnable at this moment, including this one.
    pub running: Option<u32>,
    /// Pressure stall information for `cpu`, `memory` and `io`: the share of the last 10 s in which some task waited;
    /// `memory_full`: the share in which all tasks that had work waited for memory.
    pub pressure: BTreeMap<String, f64>,
    /// CPU time since boot in seconds, over all CPUs: `user`, `nice`, `system`, `idle`, `iowait`, `irq`,
    /// `softirq`, `steal`.
    pub cpu_seconds: BTreeMap<String, f64>,
    /// CPU time used by this process, its exited children and its kernel threads since the process started, seconds.
    pub own_cpu_seconds: Option<f64>,
    /// Time that this process's measuring threads spent waiting in run queues since the process started, seconds.
    pub own_ready_seconds: Option<f64>,
    /// This process's nice value, -20 to 19.
    pub own_nice: Option<i32>,
    /// This process's scheduling policy: `other`, `fifo`, `rr`, `batch`, `idle`, `deadline`, `ext`.
    pub own_policy: Option<String>,
    /// The lowest CPU weight of this process's cgroup and its ancestors, relative to the kernel's default (cpu.weight 100, cpu.shares
    /// 1024).
    pub own_cpu_weight: Option<f64>,
    /// Share of CPU time stolen by the hypervisor. The state before the run contains the share since boot; the state after
    /// the run contains the share during the run.
    pub steal_share: Option<f64>,
    /// Available memory in bytes, as estimated by the kernel.
    pub memory_available_bytes: Option<u64>,
    /// Used swap space, bytes.
    pub swap_used_bytes: Option<u64>,
    /// Total swap space, bytes.
    pub swap_bytes: Option<u64>,
    /// Pages swapped in and out since boot.
    pub swapped_pages: Option<(u64, u64)>,
    /// Temperatures in °C by sensor.
    pub temperatures: BTreeMap<String, f64>,
    /// Number of thermal throttling events since boot, summed over cores and packages.
    pub throttled: Option<u64>,
    /// Corrected and uncorrected memory errors since boot, by memory module or, if the module is unknown, by memory controller; without
    /// modules that had none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub memory_errors: BTreeMap<String, [u64; 2]>,
    /// Number of periods in which the cgroup was throttled by its quota since the cgroup was created.
    pub quota_throttled: Option<u64>,
    /// Total number of quota periods of the cgroup, if the kernel reports it.
    pub quota_periods: Option<u64>,
    /// Possible reasons for limited clocks, other than the settings of cpufreq.
    #[serde(skip_serializing_if = "ClockHolders::is_empty")]
    pub clock_holders: ClockHolders,
    /// Power supply, `mains` or `battery`; absent if none is reported.
    pub power_supply: Option<String>,
    /// Uptime in seconds.
    pub uptime_seconds: Option<f64>,
}

/// Clock settings of a group of CPUs.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClockSetting {
    /// The CPUs.
    pub cpus: crate::CpuList,
    /// Scaling driver: `intel_pstate`, `amd-pstate-epp`, `acpi-cpufreq`, `cppc_cpufreq`…
    pub driver: Option<String>,
    /// Governor: `performance`, `powersave`, `schedutil`…
    pub governor: Option<String>,
    /// Energy-performance preference.
    pub epp: Option<String>,
    /// Energy-performance bias, 0 (performance) to 15.
    pub epb: Option<u32>,
    /// Configured lower limit, Hz.
    pub min_hz: Option<u64>,
    /// Configured upper limit, Hz.
    pub max_hz: Option<u64>,
    /// Upper limit set by the firmware (`bios_limit`), Hz.
    pub bios_hz: Option<u64>,
    /// The only clock, set by a program (`scaling_setspeed`, with the governor `userspace`), Hz.
    pub set_hz: Option<u64>,
    /// Range of the current clocks of these CPUs in Hz, as reported by the kernel.
    pub current_hz: Option<(u64, u64)>,
}

/// Reserved huge pages of one size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HugePages {
    /// Page size in bytes.
    pub page_bytes: u64,
    /// Pages reserved.
    pub total: u64,
    /// Pages free.
    pub free: u64,
}
