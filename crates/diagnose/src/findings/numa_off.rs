//! Several packages that appear as one node: memory is interleaved over all packages, and programs cannot use only
//! local memory.

use std::collections::BTreeSet;

use record::machine::Processor;

use super::prelude::*;
use crate::memory_channels;

/// One node and at least two packages, on a physical machine.
///
/// The model assumes that with p packages, (p − 1) ÷ p of the accesses go to another package, at 1.5 to 1.8 times the local latency
/// (published results for two Xeon packages). With separate nodes, all accesses of a program could be local.
pub(super) const RULE: Rule = Rule { name: "numa-off", find };

/// Latency to another package divided by the local latency: the lowest and highest published ratios for two packages.
pub(super) const REMOTE: (f64, f64) = (1.5, 1.8);

/// Whether all packages reach all memory over one bus. Processors before AMD's K8 (family 15) and Intel's Nehalem (family 6, model 26), as
/// well as Dunnington (model 29), have no memory controllers, and therefore no nodes to disable.
fn share_a_bus(processor: &Processor) -> bool {
    match (processor.vendor.as_deref(), processor.family, processor.model) {
        (Some("GenuineIntel"), Some(0..=5 | 15), _) => true,
        (Some("GenuineIntel"), Some(6), Some(model)) => model < 26 || model == 29,
        (Some("AuthenticAMD"), Some(family), _) => family < 15,
        _ => false,
    }
}

/// Whether the packages shown by Linux are separate processors. On x86, they are. On other architectures, older versions of the kernel and
/// lscpu show clusters as packages, so there must also be memory devices of several packages.
fn are_sockets(machine: &Machine) -> bool {
    let vendors = ["GenuineIntel", "AuthenticAMD", "HygonGenuine"];
    let is_x86 = machine.architecture.starts_with("x86")
        || machine.processor.vendor.as_deref().is_some_and(|vendor| vendors.contains(&vendor));
    let packages: BTreeSet<_> = memory_channels::populated(machine).filter_map(|d| d.node).collect();
    is_x86 || packages.len() > 1
}

fn find(case: &Case) -> Option<Vec<Finding>> {
    let machine = &case.record.machine;
    let packages = machine.counts.packages.filter(|packages| *packages > 1)?;
    if machine.counts.nodes != Some(1)
        || machine.is_virtual()
        || share_a_bus(&machine.processor)
        || !are_sockets(machine)
    {
        return None;
    }
    let remote = 1.0 - 1.0 / f64::from(packages);
    let share = |factor: f64| 1.0 - 1.0 / (1.0 + remote * (factor - 1.0));
    let loss = verdict(share((REMOTE.0 + REMOTE.1) / 2.0), (share(REMOTE.0), share(REMOTE.1)));
    let remote = Value::Share(remote);
    let by_kernel = machine.kernel.options.iter().any(|option| option == "numa=off");
    let (what, section) = if by_kernel {
        let what =
            text!("the kernel command line disables NUMA: {remote} of memory accesses go to another socket");
        (what, "numa-off kernel")
    } else {
        let what = text!(
            "numa-off-firmware",
            "the firmware disables NUMA: {remote} of memory accesses go to another socket"
        );
        (what, RULE.name)
    };
    let counts = text!("{packages} sockets, 1 NUMA node");
    let finding = RULE
        .report_model(loss, what)
        .felt_by(Relevance::Some)
        .cite(counts, "machine.counts.packages and .nodes")
        .mend_as(section)
        .cite_some(by_kernel.then_some(()), "machine.kernel.options", |()| {
            text!("kernel command line: numa=off")
        });
    Some(vec![finding])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::invariants::{found, missing};
    use crate::samples::{code_of, device, machine};

    #[test]
    fn two_packages_in_one_node_are_found() {
        let mut record = machine(8);
        record.machine.architecture = "x86_64".to_owned();
        record.machine.counts.packages = Some(2);
        assert_eq!(missing(&record, RULE), Some("counts of packages and nodes"));
        record.machine.counts.nodes = Some(1);
        let finding = &found(&record, RULE)[0];
        assert_eq!(finding.what.code(), Some("numa-off-firmware"));
        assert_eq!(finding.what.value("remote"), Some(&Value::Share(0.5)));
        let record::Verdict::Costs { share, interval } = finding.loss else { panic!("{finding:?}") };
        assert!((share - 0.245).abs() < 0.001 && interval.0 < share && share < interval.1, "{finding:?}");
        record.machine.kernel.options.push("numa=off".to_owned());
        assert!(code_of(&found(&record, RULE)[0].remedy[0]) == "numa-off-remove");
    }

    #[test]
    fn packages_on_one_bus_have_no_nodes_to_switch_off() {
        let mut record = machine(8);
        (record.machine.counts.packages, record.machine.counts.nodes) = (Some(4), Some(1));
        let mut findings_on = |vendor: &str, family, model| {
            let processor = &mut record.machine.processor;
            (processor.vendor, processor.family, processor.model) =
                (Some(vendor.to_owned()), Some(family), Some(model));
            found(&record, RULE).len()
        };
        assert_eq!(
            (
                findings_on("GenuineIntel", 15, 6),
                findings_on("GenuineIntel", 6, 29),
                findings_on("AuthenticAMD", 6, 8)
            ),
            (0, 0, 0)
        );
        assert_eq!(
            (
                findings_on("GenuineIntel", 6, 85),
                findings_on("GenuineIntel", 19, 1),
                findings_on("AuthenticAMD", 25, 1)
            ),
            (1, 1, 1)
        );
    }

    /// Older lscpu counts clusters of an Arm chip as sockets.
    #[test]
    fn clusters_are_no_sockets_unless_memory_of_several_shows_it() {
        let mut record = machine(6);
        record.machine.architecture = "aarch64".to_owned();
        (record.machine.counts.packages, record.machine.counts.nodes) = (Some(2), Some(1));
        assert_eq!(found(&record, RULE), []);
        record.machine.memory_devices = vec![device("A0", "A", 32), device("A1", "A", 32)];
        record.machine.memory_devices[1].node = Some(1);
        assert_eq!(found(&record, RULE).len(), 1);
    }

    #[test]
    fn a_node_a_package_one_package_or_a_guest_are_silence() {
        let mut record = machine(8);
        record.machine.counts.packages = Some(2);
        record.machine.counts.nodes = Some(2);
        assert_eq!(found(&record, RULE), []);
        record.machine.counts.nodes = Some(1);
        record.machine.virtualization.hypervisor = Some("kvm".to_owned());
        assert_eq!(found(&record, RULE), []);
    }
}
