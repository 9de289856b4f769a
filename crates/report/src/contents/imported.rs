//! What was read of a machine from one tool's output: its values, the first to be asked for first.

use record::import::{Origin, Output};
use record::machine::Node;
use record::phrase::count_noun;
use record::{Machine, Record, units};
use serde_json::Value;

use super::essentials::mitigations;
use super::memory;
use super::section::{Fact, listed};

/// Where paths begin that are told first, in this order; the others follow in their own.
const FIRST: [&str; 11] = [
    "counts.cpus_present",
    "counts.packages",
    "counts.",
    "processor.firmware_name",
    "processor.model_name",
    "caches",
    "nodes[",
    "memory_",
    "processor.min_hz",
    "processor.max_hz",
    "virtualization.",
];

/// The inventory values of an output: `CPUs 104`, `2 packages`, `L3 35.8 MiB`.
pub(crate) fn values(record: &Record, output: &Output) -> Vec<String> {
    let Some(import) = &record.import else { return Vec::new() };
    let (first, last) = output.lines;
    let is_here = |of: &Origin| of.text == output.text && (first..=last).contains(&of.line);
    let here = import.inventory.iter().filter(|(_, of)| is_here(of));
    let mut paths: Vec<&str> = here.filter_map(|(path, _)| path.strip_prefix("machine.")).collect();
    paths.sort_by_key(|path| FIRST.iter().position(|begin| path.starts_with(begin)).unwrap_or(FIRST.len()));
    let machine = serde_json::to_value(&record.machine).unwrap_or_default();
    let mut values: Vec<String> = Vec::new();
    for value in paths.into_iter().filter_map(|path| tell(&record.machine, &machine, path)) {
        // What several paths have in one phrase follows once.
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// What stands at a path, in words; of several that are told together each has the same.
fn tell(machine: &Machine, json: &Value, path: &str) -> Option<String> {
    let counts = &machine.counts;
    match path {
        "counts.cpus_present" => counts.cpus_present.map(|cpus| format!("CPUs {cpus}")),
        // Told only where some are not.
        "counts.cpus_online" if counts.cpus_online == counts.cpus_present => None,
        "counts.cpus_online" => counts.cpus_online.map(|online| format!("{online} online")),
        "cpus" => Some(format!("list of {}", units::cpus(machine.cpus.len() as u32))),
        "processor.features" => Some(count_noun(machine.processor.features.len(), "feature")),
        "caches" => {
            let mut names: Vec<String> = machine.caches.iter().map(memory::cache_name).collect();
            names.dedup();
            Some(listed(names.iter().map(|name| cache(machine, name))))
        }
        _ if path.starts_with("kernel.mitigations") => Some(vulnerabilities(machine)),
        _ if path.starts_with("memory_devices") => {
            let facts = memory::devices(machine, true);
            Some(listed(facts.into_iter().map(|Fact { value, .. }| Some(value))))
        }
        _ => match path.split_once(['.', '[']) {
            Some(("caches", name)) => cache(machine, name),
            Some(("nodes", rest)) => Some(nodes(machine, rest.rsplit('.').next().unwrap_or_default())),
            _ => field(json, path),
        },
    }
}

/// A field by its name; a name that ends in a unit has it behind its figure.
fn field(machine: &Value, path: &str) -> Option<String> {
    let value = path.split('.').try_fold(machine, |value, key| value.get(key))?;
    let name = path.rsplit('.').next().unwrap_or_default().replace('_', " ");
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let figure = |name: &str, unit: &str| Some((name.strip_suffix(unit)?.to_owned(), value.as_u64()?));
    if let Some((name, bytes)) = figure(&name, " bytes") {
        return Some(format!("{name} {}", units::bytes(bytes)));
    }
    if let Some((name, hz)) = figure(&name, " hz") {
        return Some(format!("{name} {}", units::figure(hz as f64, "Hz")));
    }
    match value {
        Value::Null => None,
        Value::Bool(is) => Some(format!("{name} {}", if *is { "yes" } else { "no" })),
        Value::Number(count) if path.starts_with("counts.") && !name.contains(' ') => {
            Some(count_noun(count.as_u64()? as usize, name.trim_end_matches('s')))
        }
        Value::Array(all) => Some(format!("{name} {}", all.iter().map(word).collect::<Vec<_>>().join(" "))),
        other => Some(format!("{name} {}", word(other))),
    }
}

fn cache(machine: &Machine, name: &str) -> Option<String> {
    let cache = machine.caches.iter().find(|cache| memory::cache_name(cache) == name)?;
    Some(format!("{name} {}", units::bytes(cache.bytes?)))
}

/// What all nodes have, those of which it is known.
fn nodes(machine: &Machine, what: &str) -> String {
    let of_nodes = |of: &dyn Fn(&Node) -> Option<String>| {
        listed(machine.nodes.iter().map(|node| Some(format!("node {} {}", node.id, of(node)?))))
    };
    match what {
        "bytes" => of_nodes(&|node| node.bytes.map(units::bytes)),
        "cpus" => of_nodes(&|node| Some(format!("CPUs {}", node.cpus))),
        "free_bytes" => {
            of_nodes(&|node| node.free_bytes.map(|bytes| format!("{} free", units::bytes(bytes))))
        }
        // How far all of them are said to lie apart.
        "distances" => {
            let row = |of: &Node| of.distances.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
            format!("distances {}", machine.nodes.iter().map(row).collect::<Vec<_>>().join(" | "))
        }
        _ => count_noun(machine.nodes.len(), "node"),
    }
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

    fn origin(line: u64) -> Origin {
        Origin { line, ..Origin::default() }
    }

    #[test]
    fn an_inventory_is_printed_as_values_without_those_of_another_output() {
        let mut record = Record::new("0", String::new(), Vec::new());
        record.machine.counts.cpus_present = Some(104);
        record.machine.counts.packages = Some(2);
        record.machine.processor.max_hz = Some(2_600_000_000);
        record.machine.processor.address_bits = Some((46, 57));
        record.machine.limits.root = Some(true);
        record.machine.processor.model_name = Some("Xeon".to_owned());
        let of = |path: &str, line| (path.to_owned(), origin(line));
        record.import = Some(Import {
            inventory: [
                of("machine.counts.packages", 3),
                of("machine.counts.cpus_present", 2),
                of("machine.processor.max_hz", 4),
                of("machine.processor.address_bits", 4),
                of("machine.limits.root", 4),
                of("machine.counts.moons", 4),
                of("machine.processor.model_name", 9),
            ]
            .into(),
            ..Import::default()
        });
        let output = Output { lines: (1, 5), ..Output::default() };
        assert_eq!(
            values(&record, &output),
            ["CPUs 104", "2 packages", "max 2.60 GHz", "root yes", "address bits 46 57"]
        );
    }
}
