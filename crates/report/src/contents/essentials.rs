//! The inventory on one screen: what lscpu tells, what limits this process, and what is set up, a fact a line.

use record::machine::Node;
use record::{CpuList, Machine, Record, units};

use super::conditions::smt;
use super::inventory::{hz, identity, kinds, threads};
use super::section::{Section, listed};
use super::{memory, placement};
use crate::text::range;
use record::phrase::count_noun;

/// Facts of a kind that have a line each.
const MOST: usize = 2;
/// Kinds of caches that do.
const CACHES: usize = 7;

/// The facts, always in the same order; what the machine does not tell is left out.
pub(crate) fn facts(record: &Record) -> Section {
    let machine = &record.machine;
    let mut section = Section::new("");
    let p = &machine.processor;
    section.add(
        "Processor",
        listed([
            Some(identity(p)),
            p.microcode.as_ref().map(|version| format!("microcode {version}")),
            p.vendor.clone(),
        ]),
    );
    section.add("Clock", clock(record));
    section.add("Hypervisor", hypervisor(machine));
    section.add("CPUs", cpus(machine));
    section.add("Limits", limits(machine));
    for (kind, cpus) in kinds(machine).into_iter().take(MOST) {
        section.add(format!("Kind {kind}"), cpus);
    }
    let number = |key: &str| key.rsplit(' ').next().unwrap_or_default().to_owned();
    let packages = placement::packages(machine).into_iter().map(|fact| (number(&fact.key), fact.value));
    numbered(&mut section, "Package", packages.collect());
    section.facts.extend(memory::caches(machine, false).into_iter().take(CACHES));
    section.facts.extend(memory::devices(machine, record.import.is_some()).into_iter().take(1 + MOST));
    if machine.nodes.len() > 1 {
        numbered(&mut section, "Node", machine.nodes.iter().map(node).collect());
    }
    section.add("Settings", settings(record));
    section.add("Kernel", kernel(machine));
    section.add("Mitigations", mitigations(machine));
    section.add("Idle", idle(machine));
    section.add("Boot options", machine.kernel.options.join(" "));
    section
}

/// A line for each of a few, one for many.
fn numbered(section: &mut Section, what: &str, all: Vec<(String, String)>) {
    if all.len() > MOST {
        let all: Vec<String> = all.iter().map(|(number, says)| format!("{number}: {says}")).collect();
        return section.add(format!("{what}s"), all.join("; "));
    }
    all.iter().for_each(|(number, says)| section.add(format!("{what} {number}"), says));
}

fn idle(machine: &Machine) -> String {
    let states: Vec<&str> = machine.idle_states.iter().map(|idle| idle.name.as_str()).collect();
    listed([
        machine.idle.driver.clone(),
        machine.idle.governor.as_ref().map(|governor| format!("governor {governor}")),
        (!states.is_empty()).then(|| format!("states {}", states.join(" "))),
    ])
}

fn clock(record: &Record) -> String {
    let p = &record.machine.processor;
    let counter = p.counter_hz.map(|rate| format!("cycle counter {}", hz(rate)));
    let before = &record.conditions.before;
    let setting = before.clocks.first();
    listed([
        p.base_hz.map(|base| format!("base {}", hz(base))),
        p.min_hz.zip(p.max_hz).map(|(low, high)| range(&hz(low), &hz(high))),
        counter,
        setting.and_then(|clock| clock.driver.clone()),
        setting.and_then(|clock| clock.governor.as_ref()).map(|governor| format!("governor {governor}")),
        before.boost.map(|on| if on { "boost on" } else { "boost off" }.to_owned()),
    ])
}

fn hypervisor(machine: &Machine) -> String {
    let container = machine.virtualization.container.as_ref().filter(|name| *name != "none");
    listed([machine.virtualization.hypervisor.clone(), container.map(|name| format!("container {name}"))])
}

fn cpus(machine: &Machine) -> String {
    let online: CpuList = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    let all: CpuList = machine.cpus.iter().map(|cpu| cpu.id).collect();
    let offline = all.difference(&online);
    let threads = threads(machine);
    listed([
        (!online.is_empty()).then(|| format!("{online} online")),
        (!offline.is_empty()).then(|| format!("{offline} offline")),
        (!threads.is_empty()).then(|| format!("{threads} per core")),
        machine
            .counts
            .dies
            .filter(|dies| Some(*dies) != machine.counts.packages)
            .map(|n| count_noun(n, "die")),
        machine.counts.clusters.map(|clusters| count_noun(clusters, "cluster")),
    ])
}

fn node(node: &Node) -> (String, String) {
    let cpus =
        if node.cpus.is_empty() { "no CPUs of its own".to_owned() } else { format!("CPUs {}", node.cpus) };
    (node.id.to_string(), listed([Some(cpus), node.bytes.map(units::bytes)]))
}

fn kernel(machine: &Machine) -> String {
    let kernel = &machine.kernel;
    let named = |what: &str, cpus: &CpuList| (!cpus.is_empty()).then(|| format!("{what} {cpus}"));
    listed([
        kernel.preemption.as_ref().map(|kind| format!("preemption {kind}")),
        kernel.hz.map(|rate| format!("tick {rate} Hz")),
        named("isolated", &kernel.isolated),
        named("tickless", &kernel.nohz_full),
        kernel.page_bytes.map(|bytes| format!("{} pages", units::bytes(bytes))),
        kernel.distribution.clone(),
    ])
}

fn settings(record: &Record) -> String {
    let before = &record.conditions.before;
    let named = |what: &str, value: &Option<String>| value.as_ref().map(|value| format!("{what} {value}"));
    let numa = before.numa_balancing.map(|level| if level == 0 { "off" } else { "on" });
    listed([
        named("THP", &before.thp),
        numa.map(|numa| format!("NUMA balancing {numa}")),
        before.swap_bytes.map(|swap| match swap {
            0 => "no swap".to_owned(),
            bytes => format!("swap {}", units::bytes(bytes)),
        }),
        named("clock source", &before.clocksource),
        before.smt.as_deref().map(|control| format!("SMT {}", smt(control))),
    ])
}

/// How many are on, and what is open, in the kernel's words.
pub(crate) fn mitigations(machine: &Machine) -> String {
    let all = &machine.kernel.mitigations;
    let begin = |with: &'static str| all.iter().filter(move |(_, state)| state.starts_with(with));
    let open: Vec<&str> = begin("Vulnerable").map(|(name, _)| name.as_str()).collect();
    let on = begin("Mitigation").count();
    listed([
        (on > 0).then(|| format!("{on} on")),
        (!open.is_empty()).then(|| format!("vulnerable: {}", open.join(", "))),
    ])
}

/// What this process may not have, or only so much of.
fn limits(machine: &Machine) -> String {
    let limits = &machine.limits;
    let online: CpuList = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    let nodes: CpuList = machine.nodes.iter().map(|node| node.id).collect();
    let fewer = |what: &str, of: &CpuList, all: &CpuList| {
        (!of.is_empty() && !all.difference(of).is_empty()).then(|| format!("{what} {of}"))
    };
    listed([
        fewer("affinity", &limits.affinity, &online),
        fewer("cpuset", &limits.cpuset, &online),
        fewer("memory nodes", &limits.memory_nodes, &nodes),
        limits.cpu_quota.map(|quota| format!("quota {} CPUs", units::significant(quota))),
        limits.memory_bytes.map(|bytes| format!("memory {}", units::bytes(bytes))),
        limits.rt_priority.map(|priority| match priority {
            0 => "no real-time priority".to_owned(),
            most => format!("real-time priority to {most}"),
        }),
        limits
            .locked_bytes
            .filter(|bytes| *bytes < u64::MAX)
            .map(|b| format!("locked memory {}", units::bytes(b))),
        limits.root.map(|root| if root { "root" } else { "not root" }.to_owned()),
    ])
}
