//! The machine inventory: hardware and configuration, independent of the current state.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{CpuList, JsonSchema, Text};

mod memory;

pub use memory::{Access, MemoryDevice, Node};

/// The inventory of a machine. Every list is in ascending order of ids.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Machine {
    /// Instruction set: `x86_64` or `aarch64`.
    pub architecture: String,
    /// The host name, if known.
    pub hostname: Option<String>,
    /// System vendor and product from the firmware, for instance `Dell Inc. PowerEdge R740`.
    pub system: System,
    /// Number of each kind of part.
    pub counts: Counts,
    /// The processor model.
    pub processor: Processor,
    /// All CPUs present, online or not.
    pub cpus: Vec<Cpu>,
    /// All caches; a cache shared by several CPUs is listed once.
    pub caches: Vec<Cache>,
    /// All NUMA nodes; exactly one on a machine without NUMA.
    pub nodes: Vec<Node>,
    /// All memory slots that the firmware lists, populated or empty.
    pub memory_devices: Vec<MemoryDevice>,
    /// Number of memory slots according to the board (SMBIOS type 16); an imported text may list fewer.
    pub memory_slots: Option<u32>,
    /// Memory managed by the kernel, in bytes.
    pub memory_bytes: Option<u64>,
    /// CPU idle states, deepest last.
    pub idle_states: Vec<IdleState>,
    /// The idle driver and governor.
    pub idle: Idle,
    /// The kernel, its build and its boot options.
    pub kernel: Kernel,
    /// The hypervisor and container in which linespeed runs.
    pub virtualization: Virtualization,
    /// The limits of this process.
    pub limits: Limits,
    /// Parts of the inventory that could not be read or that contradict each other: one sentence each, with the name of the file.
    pub notes: Vec<Text>,
}

/// Names from the firmware (DMI) or the device tree.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct System {
    /// Manufacturer of the machine.
    pub vendor: Option<String>,
    /// Product name.
    pub product: Option<String>,
    /// Firmware vendor, version and date.
    pub firmware: Option<String>,
    /// Board vendor and name.
    pub board: Option<String>,
}

/// Numbers of components. Packages, dies, clusters and cores without an online CPU are not counted.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Counts {
    /// Packages (sockets) with at least one CPU online.
    pub packages: Option<u32>,
    /// Dies in all packages; absent if the kernel does not report them.
    pub dies: Option<u32>,
    /// Clusters of cores (for instance with a shared L2) in all packages; absent if the kernel does not report them.
    pub clusters: Option<u32>,
    /// Physical cores in all packages.
    pub cores: Option<u32>,
    /// CPUs online.
    pub cpus_online: Option<u32>,
    /// CPUs present, online or not.
    pub cpus_present: Option<u32>,
    /// CPUs on which this process may run; absent if the inventory was read from another machine's captured files.
    pub cpus_allowed: Option<u32>,
    /// NUMA nodes online.
    pub nodes: Option<u32>,
}

/// The processor's model and features. On hybrid machines, these are the model and features of the boot CPU; [`Cpu::kind`]
/// distinguishes the kinds of core.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Processor {
    /// Vendor, by its common name: `GenuineIntel`, `AuthenticAMD`, `HygonGenuine`, `HiSilicon`, `Phytium`, `ARM`…
    pub vendor: Option<String>,
    /// Model name from CPUID, or derived from MIDR with the same tables as in lscpu.
    pub model_name: Option<String>,
    /// Model name from the firmware (SMBIOS type 4): on Arm it is the exact model (`Kunpeng 920-4826`), while MIDR identifies only the core
    /// design.
    pub firmware_name: Option<String>,
    /// x86 family.
    pub family: Option<u32>,
    /// x86 model, or Arm part number.
    pub model: Option<u32>,
    /// x86 stepping; for Arm, see `revision`.
    pub stepping: Option<u32>,
    /// Arm variant and revision: `r1p0`.
    pub revision: Option<String>,
    /// Arm implementer code.
    pub implementer: Option<u32>,
    /// Microcode revision, hexadecimal.
    pub microcode: Option<String>,
    /// Name of the core design, if known: `Skylake-X/Cascade Lake`, `Zen 2`, `Neoverse N1`…
    pub microarchitecture: Option<String>,
    /// Instruction-set features relevant to speed, in a fixed order: `avx2`, `avx512f`, `sve`, `atomics`…
    pub features: Vec<String>,
    /// Width of the widest usable vectors, in bits.
    pub vector_bits: Option<u32>,
    /// The cycle counter's rate in Hz (TSC on x86-64, CNTFRQ on aarch64), if the kernel or CPUID reports it.
    pub counter_hz: Option<u64>,
    /// Whether the cycle counter runs at the same rate in every clock and idle state.
    pub counter_invariant: Option<bool>,
    /// Physical and virtual address bits.
    pub address_bits: Option<(u32, u32)>,
    /// Nominal (base, sustained) clock in Hz.
    pub base_hz: Option<u64>,
    /// Highest clock advertised by any core, Hz.
    pub max_hz: Option<u64>,
    /// Lowest clock in Hz.
    pub min_hz: Option<u64>,
}

/// One CPU (hardware thread).
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cpu {
    /// The kernel's CPU number.
    pub id: u32,
    /// Whether the CPU is online.
    pub online: bool,
    /// Whether this process may run on the CPU.
    pub allowed: bool,
    /// Core number within the machine, from 0, in order of the core's lowest CPU; not the kernel's `core_id`, which repeats in every package.
    pub core: Option<u32>,
    /// Cluster number within the machine, from 0.
    pub cluster: Option<u32>,
    /// Die number within the machine, from 0.
    pub die: Option<u32>,
    /// Package number within the machine, from 0.
    pub package: Option<u32>,
    /// NUMA node, by the kernel's number.
    pub node: Option<u32>,
    /// The CPUs of the same core, including this one; empty if the CPU is offline.
    pub siblings: CpuList,
    /// Kind of core on a hybrid machine: `performance`, `efficiency`, or the name of the Arm core (`Cortex-A76`).
    pub kind: Option<String>,
    /// Highest clock in Hz.
    pub max_hz: Option<u64>,
    /// Lowest clock in Hz.
    pub min_hz: Option<u64>,
    /// Nominal clock in Hz.
    pub base_hz: Option<u64>,
    /// The kernel's relative capacity, 1024 for the fastest.
    pub capacity: Option<u32>,
}

/// The contents of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CacheKind {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Data and instructions.
    Unified,
}

/// One cache.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// The cache level; 1 is nearest to the core.
    pub level: u32,
    /// The contents of the cache.
    pub kind: CacheKind,
    /// Capacity in bytes; absent if the kernel does not report it.
    pub bytes: Option<u64>,
    /// Line size in bytes.
    pub line: Option<u32>,
    /// Associativity.
    pub ways: Option<u32>,
    /// The CPUs that share the cache; empty if an imported record does not list them, in which case the entry may
    /// represent several caches.
    pub cpus: CpuList,
}

/// One idle state of the boot CPU.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IdleState {
    /// `POLL`, `C1`, `C6`…
    pub name: String,
    /// Exit latency, ns.
    pub exit_ns: Option<u64>,
    /// Target residency: the shortest stay for which entering the state is worthwhile, ns.
    pub residency_ns: Option<u64>,
    /// Whether the idle state is disabled.
    pub disabled: Option<bool>,
}

/// Idle driver and governor.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Idle {
    /// `intel_idle`, `acpi_idle`, `haltpoll`, `none`…
    pub driver: Option<String>,
    /// `menu`, `teo`, `haltpoll`…
    pub governor: Option<String>,
}

/// The kernel, its build and its boot options.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Kernel {
    /// `6.1.0-18-amd64`.
    pub release: Option<String>,
    /// The kernel's build line.
    pub version: Option<String>,
    /// The distribution, from os-release.
    pub distribution: Option<String>,
    /// Options on the kernel command line that affect speed, as written.
    pub options: Vec<String>,
    /// Preemption model: `none`, `voluntary`, `full`, `lazy`, `rt`, or `dynamic` if the current model is unknown.
    pub preemption: Option<String>,
    /// Timer interrupts per second, if the kernel's configuration can be read.
    pub hz: Option<u32>,
    /// CPUs isolated at boot.
    pub isolated: CpuList,
    /// CPUs without a timer tick.
    pub nohz_full: CpuList,
    /// Each vulnerability with its mitigation, as the kernel reports it.
    pub mitigations: BTreeMap<String, String>,
    /// Base page size in bytes.
    pub page_bytes: Option<u64>,
}

/// The environment in which the run took place.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Virtualization {
    /// `kvm`, `xen`, `vmware`, `hyperv`…, `none`; absent if unknown.
    pub hypervisor: Option<String>,
    /// `docker`, `podman`, `kubernetes`, `lxc`, `systemd-nspawn`, `wsl`…, `none`.
    pub container: Option<String>,
    /// Whether another program emulates this machine's instructions (QEMU's TCG); measured times then do not show the
    /// speed of the hardware. Absent if there is no evidence of emulation.
    pub emulated: Option<bool>,
}

/// Limits that restrict this process to a part of the machine's resources.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Limits {
    /// CPUs of the affinity mask.
    pub affinity: CpuList,
    /// CPUs of the cpuset.
    pub cpuset: CpuList,
    /// Nodes whose memory may be used.
    pub memory_nodes: CpuList,
    /// The lowest CPU quota of this process's cgroups, in CPUs (0.5 is half a CPU).
    pub cpu_quota: Option<f64>,
    /// The lowest memory limit of this process's cgroups, bytes.
    pub memory_bytes: Option<u64>,
    /// Memory still available under that limit, bytes.
    pub memory_available_bytes: Option<u64>,
    /// Version of the cgroups that set these limits, `1` or `2`; absent without cgroups.
    pub cgroup_version: Option<u32>,
    /// Highest real-time priority allowed for this process; 0 if real-time scheduling is not allowed.
    pub rt_priority: Option<u32>,
    /// Maximum number of bytes that this process may lock in memory.
    pub locked_bytes: Option<u64>,
    /// Whether the effective user is root.
    pub root: Option<bool>,
}

impl Machine {
    /// Whether the machine is a virtual machine.
    pub fn is_virtual(&self) -> bool {
        self.virtualization.hypervisor.as_deref().is_some_and(|name| name != "none")
    }

    /// Whether the caches of this level belong to the host and are shared with other guests. In a guest, this applies
    /// to the last-level cache if it is L3 or higher; L1 and L2 caches are private to a core.
    pub fn has_hosts_cache(&self, level: u32) -> bool {
        self.is_virtual() && level >= 3 && level == self.last_level()
    }

    /// Whether two inventories are of the same hardware; the limits of a process may differ.
    pub fn is_same_hardware(&self, other: &Self) -> bool {
        let identity = |machine: &Self| {
            (
                machine.hostname.clone(),
                machine.architecture.clone(),
                machine.processor.model_name.clone(),
                machine.counts.cpus_present,
                machine.counts.nodes,
            )
        };
        identity(self) == identity(other)
    }

    /// The CPUs on which this process may run.
    pub fn allowed_cpus(&self) -> CpuList {
        self.cpus.iter().filter(|cpu| cpu.online && cpu.allowed).map(|cpu| cpu.id).collect()
    }

    /// The CPU with this number.
    pub fn cpu(&self, id: u32) -> Option<&Cpu> {
        self.cpus.iter().find(|cpu| cpu.id == id)
    }

    /// The data or unified caches of `level` in order of their lowest CPU.
    pub fn data_caches(&self, level: u32) -> impl Iterator<Item = &Cache> {
        self.caches.iter().filter(move |cache| cache.level == level && cache.kind != CacheKind::Instruction)
    }

    /// The data or unified cache of `level` that `cpu` uses.
    pub fn data_cache_of(&self, cpu: u32, level: u32) -> Option<&Cache> {
        self.data_caches(level).find(|cache| cache.cpus.contains(cpu))
    }

    /// The highest cache level; 0 if no cache is known.
    pub fn last_level(&self) -> u32 {
        self.caches
            .iter()
            .filter(|cache| cache.kind != CacheKind::Instruction)
            .map(|cache| cache.level)
            .max()
            .unwrap_or(0)
    }

    /// Total size of all last-level caches, bytes; 0 if no cache is known, or if the number of caches is unknown.
    pub fn last_level_bytes(&self) -> u64 {
        let mut last = self.data_caches(self.last_level());
        if let (Some(only), None) = (last.next(), last.next())
            && only.cpus.is_empty()
        {
            return 0;
        }
        self.data_caches(self.last_level()).filter_map(|cache| cache.bytes).fold(0, u64::saturating_add)
    }

    /// The lowest CPU of each core, considering only `cpus`.
    pub fn one_cpu_a_core(&self, cpus: &CpuList) -> CpuList {
        let mut seen = std::collections::BTreeSet::new();
        let core = |id| self.cpu(id).and_then(|cpu| cpu.core);
        cpus.iter().filter(|id| core(*id).is_none_or(|core| seen.insert(core))).collect()
    }
}
