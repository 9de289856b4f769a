//! Nodes with CPUs but without memory: all memory accesses of their CPUs are remote.

use record::machine::Node;

use super::numa_off::REMOTE;
use super::prelude::*;

/// Nodes without memory on a machine with other nodes that have memory.
///
/// The model assumes that programs on the CPUs of these nodes wait 1.5 to 1.8 times as long for memory, which is the published ratio for
/// two packages. In a guest, the host may have placed the memory on any node.
pub(super) const RULE: Rule = Rule { name: "memoryless-nodes", find };

fn find(case: &Case) -> Option<Vec<Finding>> {
    let machine = &case.record.machine;
    let has_memory = |node: &Node| node.bytes.is_some_and(|bytes| bytes > 0);
    let is_empty = |node: &&Node| node.bytes == Some(0) && !node.cpus.is_empty();
    let empty: Vec<&Node> = machine.nodes.iter().filter(is_empty).collect();
    if empty.is_empty() || !machine.nodes.iter().any(has_memory) {
        return None;
    }
    let cpus: CpuList = empty.iter().flat_map(|node| node.cpus.iter()).collect();
    let all: usize = machine.nodes.iter().map(|node| node.cpus.len()).sum();
    let share = |factor: f64| (1.0 - 1.0 / factor) * cpus.len() as f64 / all.max(1) as f64;
    let loss = verdict(share((REMOTE.0 + REMOTE.1) / 2.0), (share(REMOTE.0), share(REMOTE.1)));
    let nodes: CpuList = empty.iter().map(|node| node.id).collect();
    let what = text!("the CPUs of nodes without memory ({nodes}) use only remote memory", nodes = &nodes);
    let finding = match machine.is_virtual() {
        true => RULE.report_fact(Severity::Note, what),
        false => RULE.report_model(loss, what),
    };
    // The nodes may have memory that the kernel was told not to use.
    let cut = machine.kernel.options.iter().find(|option| option.starts_with("mem=")).map(String::as_str);
    let finding = finding
        .locate_cpus(&cpus)
        .cite(text!("no memory on nodes {nodes}"), "machine.nodes[].bytes and .cpus")
        .cite_some(cut, "machine.kernel.options", |option| text!("kernel command line: {option}", option));
    Some(vec![if cut.is_some() { finding.mend_as("memoryless-nodes kernel") } else { finding }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::nodes;

    #[test]
    fn cpus_whose_node_has_no_memory_are_found_and_memory_without_cpus_is_no_fault() {
        let mut record =
            nodes(2, |a, b| if a == b { 10 } else { 21 }, |a, b| if a == b { 100.0 } else { 150.0 });
        let set = |record: &mut record::Record, sizes: [Option<u64>; 2]| {
            for (node, bytes) in record.machine.nodes.iter_mut().zip(sizes) {
                node.bytes = bytes;
            }
        };
        set(&mut record, [Some(64 << 30), Some(0)]);
        let finding = &found(&record, RULE)[0];
        assert!((crate::figures::share_of(&finding.loss) - 0.197).abs() < 0.01, "{finding:?}");
        record.machine.virtualization.hypervisor = Some("kvm".to_owned());
        assert_eq!(found(&record, RULE)[0].severity, Severity::Note);
        record.machine.virtualization.hypervisor = None;
        record.machine.kernel.options.push("mem=64G".to_owned());
        assert_eq!(
            crate::samples::code_of(&found(&record, RULE)[0].remedy[0]),
            "memoryless-nodes-boot-option"
        );
        record.machine.kernel.options.clear();
        // Memory of accelerators and CXL devices, then nodes with unknown sizes.
        let cpus = std::mem::take(&mut record.machine.nodes[1].cpus);
        assert_eq!(found(&record, RULE), []);
        record.machine.nodes[1].cpus = cpus;
        set(&mut record, [Some(64 << 30), None]);
        assert_eq!(found(&record, RULE), []);
        set(&mut record, [None, None]);
        assert_eq!(missing(&record, RULE), Some("the memory of each node"));
    }
}
