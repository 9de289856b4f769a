//! A machine's memory: its NUMA nodes and its slots.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::CpuList;
use crate::JsonSchema;

/// One NUMA node.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Node {
    /// The kernel's node number; numbers may have gaps.
    pub id: u32,
    /// Online CPUs of the node; empty for a memory-only node.
    pub cpus: CpuList,
    /// Memory in bytes; 0 for a node without memory, absent if the kernel does not report it.
    pub bytes: Option<u64>,
    /// Free memory in bytes at the time of reading.
    pub free_bytes: Option<u64>,
    /// The firmware's distances (SLIT) to every node in this list, in the same order; 10 is local.
    pub distances: Vec<u32>,
    /// Whether this process may allocate memory on the node.
    pub allowed: bool,
    /// Size of the memory-side cache in front of the node's memory, bytes.
    pub memory_side_cache_bytes: Option<u64>,
    /// The kernel's tier for the node's memory. A lower number means faster memory; DRAM is usually in tier 4. Absent
    /// before Linux 6.1.
    pub memory_tier: Option<u32>,
    /// Total size of the DAX devices (CXL or persistent memory) that the kernel uses as memory of this node, bytes.
    pub dax_bytes: Option<u64>,
    /// Latency and bandwidth of the node's memory from the nearest CPUs, according to the firmware (HMAT).
    pub access: Option<Access>,
}

/// Latency and bandwidth of a node's memory from the nearest CPUs, according to the firmware (HMAT).
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Access {
    /// The nodes of the nearest CPUs; empty if the kernel does not report them.
    pub initiators: CpuList,
    /// Latency of a read, ns.
    pub read_latency_ns: Option<u64>,
    /// Bandwidth of reads, B/s.
    pub read_bytes_per_second: Option<u64>,
}

/// One memory slot from SMBIOS type 17.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MemoryDevice {
    /// Slot name, for instance `CPU0_DIMMA0`.
    pub locator: Option<String>,
    /// Bank, for instance `P0 CHANNEL A`.
    pub bank: Option<String>,
    /// Size in bytes; absent for an empty slot.
    pub bytes: Option<u64>,
    /// `DDR4`, `DDR5`, `HBM2`…
    pub kind: Option<String>,
    /// Form factor: `DIMM`, `SODIMM`…
    pub form: Option<String>,
    /// Maximum supported speed, MT/s.
    pub rated_mt_s: Option<u32>,
    /// Configured speed, MT/s.
    pub configured_mt_s: Option<u32>,
    /// Data width in bits, usually 64.
    pub data_bits: Option<u32>,
    /// Ranks.
    pub ranks: Option<u32>,
    /// Manufacturer.
    pub vendor: Option<String>,
    /// Part number.
    pub part: Option<String>,
    /// Channel, if the locators show it; all devices on a channel have the same text.
    pub channel: Option<String>,
    /// NUMA node or package, if the locators show it.
    pub node: Option<u32>,
}
