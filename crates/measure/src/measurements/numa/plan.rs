//! Which nodes.
use record::{CpuList, Machine};

/// Emulated machines.
pub const EMULATED: f64 = 20.0;

/// The nodes whose memory this process may use.
pub fn memory_nodes(machine: &Machine) -> CpuList {
    let limit = &machine.limits.memory_nodes;
    machine
        .nodes
        .iter()
        .filter(|node| node.bytes != Some(0) && (limit.is_empty() || limit.contains(node.id)))
        .map(|node| node.id)
        .collect()
}
