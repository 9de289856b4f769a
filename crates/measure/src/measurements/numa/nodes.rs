//! What the inventory says about nodes: how far they are from each other, and whose memory may be used.

use std::collections::BTreeMap;

use record::{CpuList, Machine};

/// The nodes whose memory this process may use: the columns. A node whose size is not told may have some.
pub(crate) fn memory_nodes(machine: &Machine) -> CpuList {
    let limit = &machine.limits.memory_nodes;
    machine
        .nodes
        .iter()
        .filter(|node| node.bytes != Some(0) && (limit.is_empty() || limit.contains(node.id)))
        .map(|node| node.id)
        .collect()
}

/// The firmware's distances by (from, to).
pub(crate) fn distances(machine: &Machine) -> BTreeMap<(u32, u32), u32> {
    let ids = machine.nodes.iter().map(|node| node.id);
    let each = |node: &record::machine::Node| {
        let from = node.id;
        ids.clone().zip(node.distances.clone()).map(move |(to, distance)| ((from, to), distance))
    };
    machine.nodes.iter().flat_map(each).collect()
}
