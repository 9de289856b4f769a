//! What was read of a machine from one tool's output: its values, the first to be asked for first.

use std::fmt::Display;

use record::import::{Origin, Output};
use record::machine::Node;
use record::phrase::count_noun;
use record::{Machine, Record, units};

use super::essentials::mitigations;
use super::memory;
use super::section::{Fact, listed};

/// A part of the inventory, and what is told of it; of several that are told together each has the same words.
struct Part {
    /// Where it stands: a field's own path, of lists with `[]` for any number; of what [`Part::tells`] is below it, the beginning.
    path: &'static str,
    tells: Tells,
}

/// How a part is told.
enum Tells {
    /// A field.
    Field(fn(&Machine) -> Option<String>),
    /// Whatever lies below a path, by what follows there.
    Below(fn(&Machine, &str) -> Option<String>),
}

/// A field, in words for its kind. Its path is that of the field itself, so that none can be misspelt.
macro_rules! field {
    ($($key:ident).+, $tell:ident, $name:literal) => {
        Part {
            path: concat!("machine" $(, ".", stringify!($key))+),
            tells: Tells::Field(|machine| $tell($name, &machine.$($key).+)),
        }
    };
    ($($key:ident).+, $tell:expr) => {
        Part { path: concat!("machine" $(, ".", stringify!($key))+), tells: Tells::Field($tell) }
    };
}

/// The parts in the order in which they are told.
const PARTS: &[Part] = &[
    field!(counts.cpus_present, named, "CPUs"),
    field!(counts.packages, counted, "package"),
    field!(counts.books, named, "books"),
    field!(counts.clusters, named, "clusters"),
    field!(counts.cores, counted, "core"),
    field!(counts.cpus_allowed, named, "cpus allowed"),
    field!(counts.cpus_online, online),
    field!(counts.dies, named, "dies"),
    field!(counts.drawers, named, "drawers"),
    field!(counts.nodes, counted, "node"),
    field!(processor.firmware_name, named, "firmware name"),
    field!(processor.model_name, named, "model name"),
    Part { path: "machine.caches.", tells: Tells::Below(cache) },
    field!(caches, sizes),
    Part { path: "machine.nodes[].bytes", tells: Tells::Field(node_sizes) },
    Part { path: "machine.nodes[].cpus", tells: Tells::Field(node_cpus) },
    Part { path: "machine.nodes[].distances", tells: Tells::Field(distances) },
    Part { path: "machine.nodes[].free_bytes", tells: Tells::Field(node_free) },
    Part {
        path: "machine.nodes[",
        tells: Tells::Below(|machine, _| Some(count_noun(machine.nodes.len(), "node"))),
    },
    Part { path: "machine.memory_devices[", tells: Tells::Below(|machine, _| Some(devices(machine))) },
    field!(memory_bytes, size, "memory"),
    field!(memory_slots, named, "memory slots"),
    field!(processor.min_hz, clock, "min"),
    field!(processor.max_hz, clock, "max"),
    field!(virtualization.container, named, "container"),
    field!(virtualization.emulated, switch, "emulated"),
    field!(virtualization.hypervisor, named, "hypervisor"),
    field!(architecture, text, "architecture"),
    field!(cpus, |machine| Some(format!("list of {}", units::cpus(machine.cpus.len() as u32)))),
    field!(hostname, named, "hostname"),
    field!(idle.driver, named, "driver"),
    field!(idle.governor, named, "governor"),
    field!(kernel.distribution, named, "distribution"),
    field!(kernel.hz, named, "hz"),
    field!(kernel.isolated, text, "isolated"),
    Part {
        path: "machine.kernel.mitigations.",
        tells: Tells::Below(|machine, _| Some(vulnerabilities(machine))),
    },
    field!(kernel.nohz_full, text, "nohz full"),
    field!(kernel.options, words, "options"),
    field!(kernel.page_bytes, size, "page"),
    field!(kernel.preemption, named, "preemption"),
    field!(kernel.release, named, "release"),
    field!(kernel.version, named, "version"),
    field!(limits.affinity, text, "affinity"),
    field!(limits.cgroup_version, named, "cgroup version"),
    field!(limits.cpu_quota, named, "cpu quota"),
    field!(limits.cpuset, text, "cpuset"),
    field!(limits.locked_bytes, size, "locked"),
    field!(limits.memory_available_bytes, size, "memory available"),
    field!(limits.memory_bytes, size, "memory"),
    field!(limits.memory_nodes, text, "memory nodes"),
    field!(limits.root, switch, "root"),
    field!(limits.rt_priority, named, "rt priority"),
    field!(processor.address_bits, pair, "address bits"),
    field!(processor.base_hz, clock, "base"),
    field!(processor.counter_hz, clock, "counter"),
    field!(processor.counter_invariant, switch, "counter invariant"),
    field!(processor.family, named, "family"),
    field!(processor.features, |machine| Some(count_noun(machine.processor.features.len(), "feature"))),
    field!(processor.implementer, named, "implementer"),
    field!(processor.microarchitecture, named, "microarchitecture"),
    field!(processor.microcode, named, "microcode"),
    field!(processor.model, named, "model"),
    field!(processor.revision, named, "revision"),
    field!(processor.stepping, named, "stepping"),
    field!(processor.vector_bits, named, "vector bits"),
    field!(processor.vendor, named, "vendor"),
    field!(system.board, named, "board"),
    field!(system.firmware, named, "firmware"),
    field!(system.product, named, "product"),
    field!(system.vendor, named, "vendor"),
];

/// The inventory values of an output: `CPUs 104`, `2 packages`, `L3 35.8 MiB`.
pub(crate) fn values(record: &Record, output: &Output) -> Vec<String> {
    let Some(import) = &record.import else { return Vec::new() };
    let (first, last) = output.lines;
    let is_here = |of: &Origin| of.text == output.text && (first..=last).contains(&of.line);
    let here = import.inventory.iter().filter(|(_, of)| is_here(of));
    let mut parts: Vec<(usize, &str)> = here.filter_map(|(path, _)| find(path)).collect();
    parts.sort_by_key(|(at, _)| *at);
    let mut values: Vec<String> = Vec::new();
    for (at, rest) in parts {
        let value = match PARTS[at].tells {
            Tells::Field(tell) => tell(&record.machine),
            Tells::Below(tell) => tell(&record.machine, rest),
        };
        // What several paths have in one phrase follows once.
        values.extend(value.filter(|value| values.iter().all(|other| other != value)));
    }
    values
}

/// Which part stands at a path, and what follows below it.
fn find(path: &str) -> Option<(usize, &str)> {
    let any = any_number(path);
    let is_field = |part: &Part| matches!(part.tells, Tells::Field(_)) && part.path == any;
    let below = |part: &Part| match part.tells {
        Tells::Below(_) => path.strip_prefix(part.path),
        Tells::Field(_) => None,
    };
    let field = PARTS.iter().position(is_field).map(|at| (at, ""));
    field.or_else(|| PARTS.iter().enumerate().find_map(|(at, part)| Some((at, below(part)?))))
}

/// `machine.nodes[].cpus` for `machine.nodes[1].cpus`.
fn any_number(path: &str) -> String {
    match path.split_once('[').and_then(|(list, rest)| Some((list, rest.split_once(']')?.1))) {
        Some((list, rest)) => format!("{list}[]{rest}"),
        None => path.to_owned(),
    }
}

fn named(name: &str, value: &Option<impl Display>) -> Option<String> {
    value.as_ref().map(|value| format!("{name} {value}"))
}

fn counted(noun: &str, value: &Option<u32>) -> Option<String> {
    value.map(|value| count_noun(value, noun))
}

fn text(name: &str, value: &impl Display) -> Option<String> {
    Some(format!("{name} {value}"))
}

fn words(name: &str, values: &[String]) -> Option<String> {
    text(name, &values.join(" "))
}

fn size(name: &str, value: &Option<u64>) -> Option<String> {
    value.map(|value| format!("{name} {}", units::bytes(value)))
}

fn clock(name: &str, value: &Option<u64>) -> Option<String> {
    value.map(|value| format!("{name} {}", units::figure(value as f64, "Hz")))
}

fn switch(name: &str, value: &Option<bool>) -> Option<String> {
    value.map(|value| format!("{name} {}", if value { "yes" } else { "no" }))
}

fn pair(name: &str, value: &Option<(u32, u32)>) -> Option<String> {
    value.map(|(one, other)| format!("{name} {one} {other}"))
}

/// Told only where some are not.
fn online(machine: &Machine) -> Option<String> {
    let counts = &machine.counts;
    let online = counts.cpus_online.filter(|_| counts.cpus_online != counts.cpus_present);
    online.map(|online| format!("{online} online"))
}

fn cache(machine: &Machine, name: &str) -> Option<String> {
    let cache = machine.caches.iter().find(|cache| memory::cache_name(cache) == name)?;
    Some(format!("{name} {}", units::bytes(cache.bytes?)))
}

/// The size of one of each kind.
fn sizes(machine: &Machine) -> Option<String> {
    let mut names: Vec<String> = machine.caches.iter().map(memory::cache_name).collect();
    names.dedup();
    Some(listed(names.iter().map(|name| cache(machine, name))))
}

/// What all nodes have, those of which it is known.
fn of_nodes(machine: &Machine, of: fn(&Node) -> Option<String>) -> Option<String> {
    Some(listed(machine.nodes.iter().map(|node| Some(format!("node {} {}", node.id, of(node)?)))))
}

fn node_sizes(machine: &Machine) -> Option<String> {
    of_nodes(machine, |node| node.bytes.map(units::bytes))
}

fn node_cpus(machine: &Machine) -> Option<String> {
    of_nodes(machine, |node| Some(format!("CPUs {}", node.cpus)))
}

fn node_free(machine: &Machine) -> Option<String> {
    of_nodes(machine, |node| node.free_bytes.map(|bytes| format!("{} free", units::bytes(bytes))))
}

/// How far all nodes are said to lie apart.
fn distances(machine: &Machine) -> Option<String> {
    let row = |of: &Vec<u32>| of.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    let rows: Vec<String> = machine.nodes.iter().map(|node| row(&node.distances)).collect();
    Some(format!("distances {}", rows.join(" | ")))
}

fn devices(machine: &Machine) -> String {
    let facts = memory::devices(machine, true);
    listed(facts.into_iter().map(|Fact { value, .. }| Some(value)))
}

fn vulnerabilities(machine: &Machine) -> String {
    match mitigations(machine) {
        open if open.is_empty() => "no vulnerabilities".to_owned(),
        state => format!("mitigations {state}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::import::Import;
    use serde_json::Value;

    fn origin(line: u64) -> Origin {
        Origin { line, ..Origin::default() }
    }

    #[test]
    fn an_inventory_is_printed_as_values_without_those_of_another_output() {
        let mut record = Record::new("0", String::new(), Vec::new());
        record.machine.counts.cpus_present = Some(104);
        record.machine.counts.packages = Some(2);
        record.machine.processor.max_hz = Some(2_600_000_000);
        record.machine.processor.model_name = Some("Xeon".to_owned());
        let of = |path: &str, line| (path.to_owned(), origin(line));
        record.import = Some(Import {
            inventory: [
                of("machine.counts.packages", 3),
                of("machine.counts.cpus_present", 2),
                of("machine.processor.max_hz", 4),
                of("machine.processor.model_name", 9),
            ]
            .into(),
            ..Import::default()
        });
        let output = Output { lines: (1, 5), ..Output::default() };
        assert_eq!(values(&record, &output), ["CPUs 104", "2 packages", "max 2.60 GHz"]);
    }

    /// What is read and told nowhere is lost to whoever looks at what was imported.
    #[test]
    fn every_field_of_the_inventory_has_a_part() {
        let schema: Value =
            serde_json::from_str(include_str!("../../../record/src/schema/record.json")).unwrap();
        let properties = |name: &str| schema["$defs"][name]["properties"].as_object().unwrap().clone();
        let mut paths = Vec::new();
        for (key, of) in properties("Machine") {
            let parts = of["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")).map(properties);
            match parts {
                Some(parts) => paths.extend(parts.keys().map(|part| format!("machine.{key}.{part}"))),
                None => paths.push(format!("machine.{key}")),
            }
        }
        let lists = ["nodes", "memory_devices", "kernel.mitigations"].map(|key| format!("machine.{key}"));
        // No tool's output fills these.
        let none = ["idle_states", "notes"].map(|key| format!("machine.{key}"));
        for path in paths.iter().filter(|path| !none.contains(path)) {
            let below = lists.contains(path).then(|| [format!("{path}.x"), format!("{path}[1].x")]);
            let has_part = find(path).is_some() || below.iter().flatten().any(|path| find(path).is_some());
            assert!(has_part, "{path} is told by no part");
        }
    }

    #[test]
    fn a_list_has_one_part_and_what_nobody_knows_none() {
        assert_eq!(find("machine.nodes[12].cpus"), find("machine.nodes[0].cpus"));
        assert_ne!(find("machine.nodes[0].cpus"), find("machine.nodes[0].bytes"));
        assert_eq!(find("machine.nodes[0].cpus").map(|(at, _)| PARTS[at].path), Some("machine.nodes[].cpus"));
        assert_eq!(find("machine.caches.L3").map(|(_, name)| name), Some("L3"));
        for path in ["machine.cpus[1]", "machine.counts.moons", "", "machine.nodes"] {
            assert_eq!(find(path), None, "{path}");
        }
    }
}
