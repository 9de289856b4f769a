//! The machine inventory as facts, always in the same order.

use std::collections::{BTreeMap, BTreeSet};

use record::machine::{Access, Processor};
use record::{CpuList, Machine, Record, units};

use super::{Section, conditions, listed, memory, placement, places};
use crate::text::capitalized;
use record::phrase::count_noun;

/// Every section of `linespeed inspect`; empty sections are omitted.
pub(crate) fn sections(record: &Record) -> Vec<Section> {
    let machine = &record.machine;
    let mut sections = vec![
        system(machine),
        processor(machine),
        cpus(record),
        caches(machine),
        memory_section(machine, record.import.is_some()),
        idle(machine),
        kernel(machine),
        vulnerabilities(machine),
        limits(machine),
        conditions::section(&record.conditions),
        notes(machine),
    ];
    sections.retain(|section| !section.facts.is_empty());
    sections
}

fn hz(value: u64) -> String {
    units::figure(value as f64, "Hz")
}

fn system(machine: &Machine) -> Section {
    let mut section = Section::new("Machine");
    let system = &machine.system;
    section.add_some("Host name", super::summary::host_name(machine));
    let words = [&system.vendor, &system.product].into_iter().flatten().cloned().collect::<Vec<_>>();
    section.add("System", words.join(" "));
    section.add_some("Board", system.board.as_ref());
    section.add_some("Firmware", system.firmware.as_ref());
    section.add_some("Hypervisor", machine.virtualization.hypervisor.as_ref());
    section.add_some("Container", machine.virtualization.container.as_ref());
    section
}

fn processor(machine: &Machine) -> Section {
    let mut section = Section::new("Processor");
    let p = &machine.processor;
    section.add("Architecture", &machine.architecture);
    section.add_some("Vendor", p.vendor.as_ref());
    section.add_some("Model name", p.model_name.as_ref());
    section.add_some("Microarchitecture", p.microarchitecture.as_ref());
    section.add("Identity", identity(p));
    section.add_some("Microcode", p.microcode.as_ref());
    let addresses =
        |(physical, virtual_): (u32, u32)| format!("{physical} bits physical, {virtual_} bits virtual");
    section.add_some("Addresses", p.address_bits.map(addresses));
    section.add_some("Base clock", p.base_hz.map(hz));
    section.add_some("Highest clock", p.max_hz.map(hz));
    section.add_some("Lowest clock", p.min_hz.map(hz));
    let counter = p.counter_hz.map(|rate| match p.counter_invariant {
        Some(true) => format!("{}, constant rate", hz(rate)),
        Some(false) => format!("{}, variable rate", hz(rate)),
        None => hz(rate),
    });
    section.add_some("Cycle counter", counter);
    section.add_some("Vectors", p.vector_bits.map(|bits| format!("{bits} bits")));
    section.add("Features", p.features.join(" "));
    section
}

/// `family 6, model 85, stepping 7`, or `implementer 0x48, part 0xd01, revision r1p0`.
fn identity(p: &Processor) -> String {
    if p.implementer.is_some() {
        return listed([
            p.implementer.map(|code| format!("implementer {code:#04x}")),
            p.model.map(|part| format!("part {part:#05x}")),
            p.revision.as_ref().map(|revision| format!("revision {revision}")),
        ]);
    }
    listed([
        p.family.map(|family| format!("family {family}")),
        p.model.map(|model| format!("model {model}")),
        p.stepping.map(|stepping| format!("stepping {stepping}")),
        p.revision.as_ref().map(|revision| format!("revision {revision}")),
    ])
}

fn cpus(record: &Record) -> Section {
    let machine = &record.machine;
    let mut section = Section::new("CPUs");
    let with = |test: &dyn Fn(&record::machine::Cpu) -> bool| -> CpuList {
        machine.cpus.iter().filter(|cpu| test(cpu)).map(|cpu| cpu.id).collect()
    };
    let counted = |count: Option<u32>, list: &CpuList| {
        count.map(|count| if list.is_empty() { count.to_string() } else { format!("{count} ({list})") })
    };
    let (all, online) = (with(&|_| true), with(&|cpu| cpu.online));
    section.add_some("CPUs present", counted(machine.counts.cpus_present, &all));
    section.add_some("CPUs online", counted(machine.counts.cpus_online, &online));
    let offline = all.difference(&online);
    if !offline.is_empty() {
        section.add("CPUs offline", format!("{} ({offline})", offline.len()));
    }
    section.add_some("CPUs allowed", counted(machine.counts.cpus_allowed, &with(&|cpu| cpu.allowed)));
    let moves = record.diagnosis.shape.as_ref().map(|shape| places::brief(shape, &record.started));
    section.add_some("CPUs move", moves);
    section.add_some("Packages", machine.counts.packages);
    section.add_some("Dies", machine.counts.dies);
    section.add_some("Clusters", machine.counts.clusters);
    section.add_some("Cores", machine.counts.cores);
    section.add("CPUs per core", threads(machine));
    for (kind, cpus) in kinds(machine) {
        section.add(format!("Kind {kind}"), cpus);
    }
    section.facts.extend(placement::packages(machine).into_iter().map(|mut fact| {
        fact.key = fact.key.replacen("package", "Package", 1);
        fact
    }));
    section
}

/// `2`, or `1 or 2` if cores differ.
fn threads(machine: &Machine) -> String {
    let online = machine.cpus.iter().filter(|cpu| cpu.online);
    let counts: BTreeSet<usize> = online.map(|cpu| cpu.siblings.len()).filter(|n| *n > 0).collect();
    counts.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ")
}

/// The kinds of cores of a hybrid machine, each with its CPUs and highest clock.
fn kinds(machine: &Machine) -> Vec<(String, String)> {
    let mut kinds: BTreeMap<&str, (CpuList, Option<u64>)> = BTreeMap::new();
    for cpu in &machine.cpus {
        if let Some(kind) = &cpu.kind {
            let entry = kinds.entry(kind).or_default();
            entry.0.insert(cpu.id);
            entry.1 = entry.1.max(cpu.max_hz);
        }
    }
    kinds
        .into_iter()
        .map(|(kind, (cpus, clock))| {
            let clock = clock.map(|clock| format!("up to {}", hz(clock)));
            (kind.to_owned(), listed([Some(format!("{} ({cpus})", count_noun(cpus.len(), "CPU"))), clock]))
        })
        .collect()
}

fn caches(machine: &Machine) -> Section {
    Section { title: "Caches".to_owned(), facts: memory::caches(machine, true) }
}

fn memory_section(machine: &Machine, excerpt: bool) -> Section {
    let mut section = Section::new("Memory");
    section.add_some("Memory", machine.memory_bytes.map(units::bytes));
    section.facts.extend(memory::devices(machine, excerpt));
    section.add_some("Nodes", machine.counts.nodes);
    let tiers = machine.nodes.iter().filter_map(|node| node.memory_tier).collect::<BTreeSet<_>>().len();
    for node in &machine.nodes {
        let cpus = if node.cpus.is_empty() && machine.cpus.is_empty() {
            "CPUs unknown".to_owned()
        } else if node.cpus.is_empty() {
            "no CPUs".to_owned()
        } else {
            format!("CPUs {}", node.cpus)
        };
        let bytes = |all| if all == 0 { "no memory".to_owned() } else { units::bytes(all) };
        let memory = node.bytes.map(bytes);
        let distances = (machine.nodes.len() > 1 && !node.distances.is_empty())
            .then(|| node.distances.iter().map(u32::to_string).collect::<Vec<_>>().join(" "))
            .map(|distances| format!("distances {distances}"));
        let free = node.free_bytes.map(|free| format!("{} free", units::bytes(free)));
        let cache = node.memory_side_cache_bytes;
        let cache = cache.map(|bytes| format!("{} memory-side cache", units::bytes(bytes)));
        let access = node.access.as_ref().and_then(reported_access);
        let tier = node.memory_tier.filter(|_| tiers > 1).map(|tier| format!("memory tier {tier}"));
        let dax = node.dax_bytes.map(|bytes| format!("{} of DAX devices", units::bytes(bytes)));
        let facts = [Some(cpus), memory, free, tier, dax, cache, access, distances];
        section.add(format!("Node {}", node.id), listed(facts));
    }
    section
}

/// `HMAT 110 ns, 90.0 GB/s from node 0`.
fn reported_access(access: &Access) -> Option<String> {
    let figure = |value: Option<u64>, unit: &str| value.map(|value| units::figure(value as f64, unit));
    let latency = figure(access.read_latency_ns, "ns");
    let bandwidth = figure(access.read_bytes_per_second, "B/s");
    let figures: Vec<String> = latency.into_iter().chain(bandwidth).collect();
    let nodes = &access.initiators;
    let from = if nodes.is_empty() { String::new() } else { format!(" from node {nodes}") };
    (!figures.is_empty()).then(|| format!("HMAT {}{from}", figures.join(", ")))
}

fn idle(machine: &Machine) -> Section {
    let mut section = Section::new("Idle");
    section.add_some("Idle driver", machine.idle.driver.as_ref());
    section.add_some("Idle governor", machine.idle.governor.as_ref());
    for state in &machine.idle_states {
        let ns = |ns: u64| units::figure(ns as f64, "ns");
        let value = listed([
            state.exit_ns.map(|exit| format!("exit latency {}", ns(exit))),
            state.residency_ns.map(|stay| format!("target residency {}", ns(stay))),
            state.disabled.map(|disabled| if disabled { "disabled" } else { "on" }.to_owned()),
        ]);
        let value = if value.is_empty() { "present".to_owned() } else { value };
        section.add(format!("Idle state {}", state.name), value);
    }
    section
}

fn kernel(machine: &Machine) -> Section {
    let mut section = Section::new("Kernel");
    let kernel = &machine.kernel;
    section.add_some("Kernel", kernel.release.as_ref());
    section.add_some("Build", kernel.version.as_ref());
    section.add_some("Distribution", kernel.distribution.as_ref());
    section.add("Boot options", kernel.options.join(", "));
    section.add_some("Preemption", kernel.preemption.as_ref());
    section.add_some("Tick", kernel.hz.map(|rate| format!("{rate} Hz")));
    section.add("Isolated CPUs", kernel.isolated.to_string());
    section.add("Tickless CPUs", kernel.nohz_full.to_string());
    section.add_some("Page size", kernel.page_bytes.map(units::bytes));
    section
}

fn vulnerabilities(machine: &Machine) -> Section {
    let mut section = Section::new("Vulnerabilities");
    for (name, state) in &machine.kernel.mitigations {
        section.add(capitalized(&name.replace('_', " ")), state);
    }
    section
}

fn limits(machine: &Machine) -> Section {
    let mut section = Section::new("Limits on this process");
    let limits = &machine.limits;
    let online: CpuList = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    let nodes: CpuList = machine.nodes.iter().map(|node| node.id).collect();
    for (key, of, all) in [
        ("Affinity", &limits.affinity, &online),
        ("Cpuset", &limits.cpuset, &online),
        ("Memory nodes", &limits.memory_nodes, &nodes),
    ] {
        // If all are allowed, there is no limit.
        if all.is_empty() || !all.difference(of).is_empty() {
            section.add(key, of.to_string());
        }
    }
    section
        .add_some("CPU quota", limits.cpu_quota.map(|quota| format!("{} CPUs", units::significant(quota))));
    section.add_some("Memory limit", limits.memory_bytes.map(units::bytes));
    section.add_some("Memory left", limits.memory_available_bytes.map(units::bytes));
    section.add_some("Cgroup", limits.cgroup_version.map(|version| format!("version {version}")));
    let priority = |p: u32| if p == 0 { "none allowed".to_owned() } else { format!("up to {p}") };
    section.add_some("Real-time priority", limits.rt_priority.map(priority));
    let locked = |bytes: u64| if bytes == u64::MAX { "unlimited".to_owned() } else { units::bytes(bytes) };
    section.add_some("Locked memory", limits.locked_bytes.map(locked));
    section.add_some("Root", limits.root.map(|root| if root { "yes" } else { "no" }));
    section
}

fn notes(machine: &Machine) -> Section {
    let mut section = Section::new("Notes");
    for (number, note) in machine.notes.iter().enumerate() {
        section.add((number + 1).to_string(), note);
    }
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_machine_does_not_tell_is_left_out() {
        let record = Record::new("0.1.0", String::new(), Vec::new());
        assert_eq!(sections(&record), Vec::new());
    }

    #[test]
    fn an_arm_part_is_named_in_hexadecimal_as_its_manual_does() {
        let p = Processor {
            implementer: Some(0x48),
            model: Some(0xd01),
            revision: Some("r1p0".to_owned()),
            ..Processor::default()
        };
        assert_eq!(identity(&p), "implementer 0x48, part 0xd01, revision r1p0");
    }
}
