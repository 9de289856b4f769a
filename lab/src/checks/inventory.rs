//! Checks the properties declared by every shape: CPUs, cores, packages, nodes, distances, memory devices.

use record::{CpuList, Record};

use super::verdicts::Verdicts;
use crate::shape::Shape;

/// Compares the inventory with the shape.
pub fn check(shape: &Shape, record: &Record, verdicts: &mut Verdicts) {
    let machine = &record.machine;
    let (cpus, online) = (shape.cpus, shape.online());
    let counts = &machine.counts;
    verdicts.equal("architecture", shape.architecture.name(), machine.architecture.as_str());
    verdicts.equal("emulated", Some(true), machine.virtualization.emulated);
    verdicts.equal("CPUs present", Some(cpus.count()), counts.cpus_present);
    let found: CpuList = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    verdicts.equal("CPUs online", online.to_string(), found.to_string());
    // CPUs are numbered thread by thread, core by core.
    let parts = |cpus_each: u32| {
        let parts: std::collections::BTreeSet<u32> = online.iter().map(|cpu| cpu / cpus_each).collect();
        Some(parts.len() as u32)
    };
    verdicts.equal("cores", parts(cpus.threads), counts.cores);
    verdicts.equal("packages", parts(cpus.count() / cpus.packages), counts.packages);
    for cpu in machine.cpus.iter().filter(|cpu| cpu.online) {
        let first = cpu.id - cpu.id % cpus.threads;
        let siblings: CpuList = (first..first + cpus.threads).filter(|id| online.contains(*id)).collect();
        verdicts.equal(
            &format!("siblings of CPU {}", cpu.id),
            siblings.to_string(),
            cpu.siblings.to_string(),
        );
    }
    nodes(shape, &online, record, verdicts);
    memory_devices(shape, record, verdicts);
}

fn nodes(shape: &Shape, online: &CpuList, record: &Record, verdicts: &mut Verdicts) {
    let nodes = &record.machine.nodes;
    verdicts.equal("nodes", shape.nodes.len().max(1), nodes.len());
    for (id, node) in shape.nodes.iter().enumerate() {
        let Some(found) = nodes.iter().find(|found| found.id as usize == id) else {
            verdicts.hold(false, format!("there is a node {id}"), || "none".to_owned());
            continue;
        };
        let cpus = node.cpus.intersection(online);
        verdicts.equal(&format!("CPUs of node {id}"), cpus.to_string(), found.cpus.to_string());
        // The kernel reserves some memory; a node with memory must not lose most of it.
        let bytes = found.bytes.unwrap_or(0);
        let whole = if node.bytes == 0 { bytes == 0 } else { bytes <= node.bytes && bytes > node.bytes / 2 };
        let reported = record::units::bytes(node.bytes);
        verdicts
            .hold(whole, format!("memory of node {id} is about {reported}"), || record::units::bytes(bytes));
        if let Some(row) = shape.distances.get(id) {
            verdicts.equal(&format!("distances from node {id}"), row, &found.distances);
        }
    }
}

fn memory_devices(shape: &Shape, record: &Record, verdicts: &mut Verdicts) {
    let devices = &record.machine.memory_devices;
    if shape.memory_devices.is_empty() {
        return;
    }
    verdicts.equal("memory devices", shape.memory_devices.len(), devices.len());
    for (device, found) in shape.memory_devices.iter().zip(devices) {
        let slot = &device.locator;
        verdicts.equal("slot", Some(slot), found.locator.as_ref());
        verdicts.equal(&format!("bank of {slot}"), Some(&device.bank), found.bank.as_ref());
        verdicts.equal(&format!("size of {slot}"), device.mib().map(|mib| mib << 20), found.bytes);
        let speeds = [device.rated_mt_s, device.configured_mt_s].map(|speed| speed.map(u32::from));
        verdicts.equal(
            &format!("rated and configured speed of {slot}"),
            speeds,
            [found.rated_mt_s, found.configured_mt_s],
        );
        verdicts.equal(&format!("vendor of {slot}"), &device.vendor, &found.vendor);
        verdicts.equal(&format!("part number of {slot}"), &device.part, &found.part);
    }
}
