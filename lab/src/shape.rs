//! A machine's shape: the machine that QEMU builds, and the expected contents of the record. It is a TOML file.

mod read;

use record::{CpuList, units};
use serde::Deserialize;

use read::{read_mib, usual_seconds};

/// Instruction sets supported by kernels and QEMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Architecture {
    /// x86-64 on QEMU's `q35`.
    #[serde(rename = "x86_64")]
    X86_64,
    /// 64-bit Arm on QEMU's `virt`.
    #[serde(rename = "aarch64")]
    Aarch64,
}

impl Architecture {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// The name used by the kernel, Rust and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }
}

/// The number of each in the preceding level; all default to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cpus {
    /// Packages (sockets).
    pub packages: u32,
    /// Dies of a package; x86-64 only.
    pub dies: u32,
    /// Clusters of a die; aarch64 only.
    pub clusters: u32,
    /// Cores of a cluster or die.
    pub cores: u32,
    /// Threads of a core, which have consecutive numbers.
    pub threads: u32,
}

impl Default for Cpus {
    fn default() -> Self {
        Self { packages: 1, dies: 1, clusters: 1, cores: 1, threads: 1 }
    }
}

impl Cpus {
    /// All CPUs.
    pub fn count(&self) -> u32 {
        [self.dies, self.clusters, self.cores, self.threads]
            .iter()
            .fold(self.packages, |count, more| count.saturating_mul(*more))
    }
}

/// One NUMA node.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its CPUs; empty for a memory-only node.
    #[serde(default)]
    pub cpus: CpuList,
    /// Its memory in bytes; 0 for a node without memory.
    #[serde(default, rename = "memory", deserialize_with = "read_mib")]
    pub bytes: u64,
}

/// A memory device listed by the firmware (SMBIOS type 17).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryDevice {
    /// Slot.
    pub locator: String,
    /// Bank.
    pub bank: String,
    /// Size, `32GiB`; absent for an empty slot.
    pub size: Option<String>,
    /// Rated speed, MT/s.
    pub rated_mt_s: Option<u16>,
    /// Configured speed, MT/s.
    pub configured_mt_s: Option<u16>,
    /// Ranks.
    pub ranks: Option<u8>,
    /// Manufacturer.
    pub vendor: Option<String>,
    /// Part number.
    pub part: Option<String>,
}

impl MemoryDevice {
    /// Size in MiB; `None` for an empty slot. Invalid sizes have already been refused.
    pub fn mib(&self) -> Option<u64> {
        units::parse_bytes(self.size.as_deref()?).ok().map(|bytes| bytes >> 20)
    }
}

/// The checks of `lab check` for a machine of this shape.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Check {
    /// linespeed's arguments.
    pub run: Vec<String>,
    /// Whether `lab check --quick` boots it.
    pub quick: bool,
    /// Rules that must have a finding, worst first, before all others: the machine's deliberate handicaps.
    pub finds: Vec<String>,
    /// The loss of the first of them, a share, as measured with and without the handicap.
    pub loss: Option<f64>,
    /// Rules that must not have a finding.
    pub silent: Vec<String>,
    /// A program that performs all checks itself, instead of a run: one of linespeed's crates, an example of it, and
    /// its arguments.
    pub trial: Vec<String>,
    /// Whether guests are run directly on KVM in the machine, instead of running linespeed.
    pub guests: bool,
    /// Whether linespeed's kernel module is built, loaded and tested, instead of a run.
    pub module: bool,
    /// Whether the kernel is booted by linespeed itself, as a whole guest with linespeed's module, instead of by the lab.
    pub whole_guest: bool,
    /// Whether `linespeed overhead --kernel` builds its module in the machine and runs it, instead of a run.
    pub overhead: bool,
}

impl Default for Check {
    fn default() -> Self {
        Self {
            run: vec!["inspect".to_owned()],
            quick: false,
            finds: Vec::new(),
            loss: None,
            silent: Vec::new(),
            trial: Vec::new(),
            guests: false,
            module: false,
            whole_guest: false,
            overhead: false,
        }
    }
}

/// A machine's shape.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// The file's name without its ending.
    #[serde(skip)]
    pub name: String,
    /// Description, one line.
    pub summary: String,
    /// Instruction set.
    pub architecture: Architecture,
    /// QEMU's `-cpu`.
    pub cpu: String,
    /// QEMU's `-icount`, with which time follows executed instructions.
    pub icount: Option<String>,
    /// Additional parameters for the kernel command line.
    #[serde(default)]
    pub kernel_parameters: Vec<String>,
    /// CPUs to be taken offline before linespeed starts.
    #[serde(default)]
    pub offline: CpuList,
    /// Whether its processors can run virtual machines.
    #[serde(default)]
    pub virtualization: bool,
    /// Time limit of a run including boot, seconds.
    #[serde(default = "usual_seconds")]
    pub seconds: u64,
    /// The CPUs.
    #[serde(default)]
    pub cpus: Cpus,
    /// The nodes; empty for a machine without NUMA.
    #[serde(default, rename = "node")]
    pub nodes: Vec<Node>,
    /// All memory in bytes.
    #[serde(default, rename = "memory", deserialize_with = "read_mib")]
    pub bytes: u64,
    /// The firmware's distances between nodes; empty for QEMU's own (10 and 20).
    #[serde(default)]
    pub distances: Vec<Vec<u32>>,
    /// The memory devices listed by the firmware; empty for QEMU's own.
    #[serde(default, rename = "memory_device")]
    pub memory_devices: Vec<MemoryDevice>,
    /// The checks.
    #[serde(default)]
    pub check: Check,
    /// Paths in the record and their expected values: see [`crate::checks`].
    #[serde(default)]
    pub expect: toml::Table,
}

impl Shape {
    /// The online CPUs.
    pub fn online(&self) -> CpuList {
        (0..self.cpus.count()).collect::<CpuList>().difference(&self.offline)
    }
}
