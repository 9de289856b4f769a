//! What was read of a machine from one tool's output: its values, the first to be asked for first.

use record::import::{Origin, Output};
use record::phrase::count_noun;
use record::{Machine, Record, units};
use serde_json::Value;

use super::essentials::mitigations;
use super::memory;
use super::section::{Fact, listed};

/// Paths of the inventory by their beginnings, in the order in which they are told; the rest follows.
const ORDER: [&str; 12] = [
    "machine.counts.cpus_present",
    "machine.counts.packages",
    "machine.counts.",
    "machine.processor.firmware_name",
    "machine.processor.model_name",
    "machine.caches.",
    "machine.nodes",
    "machine.memory_devices",
    "machine.memory",
    "machine.processor.min_hz",
    "machine.processor.max_hz",
    "machine.virtualization.",
];

/// The inventory values of an output: `CPUs 104`, `2 packages`, `L3 35.8 MiB`.
pub(crate) fn values(record: &Record, output: &Output) -> Vec<String> {
    let Some(import) = &record.import else { return Vec::new() };
    let (first, last) = output.lines;
    let is_here = |of: &Origin| of.text == output.text && (first..=last).contains(&of.line);
    let mut paths: Vec<&str> =
        import.inventory.iter().filter(|(_, of)| is_here(of)).map(|(path, _)| path.as_str()).collect();
    paths.sort_by_key(|path| ORDER.iter().position(|start| path.starts_with(start)).unwrap_or(ORDER.len()));
    let json = serde_json::to_value(&record.machine).unwrap_or_default();
    let mut values: Vec<String> = Vec::new();
    for path in paths {
        // What several paths have in one phrase follows once.
        let value = value(&record.machine, &json, path);
        values.extend(value.filter(|value| values.iter().all(|other| other != value)));
    }
    values
}

/// What stands at a path; of several that are told together each has the same words.
fn value(machine: &Machine, json: &Value, path: &str) -> Option<String> {
    let path = path.strip_prefix("machine.")?;
    let counts = &machine.counts;
    let count = |of: Option<u32>, noun: &str| of.map(|of| count_noun(of, noun));
    Some(match path {
        "counts.cpus_present" => format!("CPUs {}", counts.cpus_present?),
        "counts.cpus_online" if counts.cpus_online == counts.cpus_present => return None,
        "counts.cpus_online" => format!("{} online", counts.cpus_online?),
        "counts.packages" => count(counts.packages, "package")?,
        "counts.cores" => count(counts.cores, "core")?,
        "counts.nodes" => count(counts.nodes, "node")?,
        "processor.features" => count_noun(machine.processor.features.len(), "feature"),
        _ if path.starts_with("caches.") => cache(machine, path.strip_prefix("caches.")?)?,
        _ if path.starts_with("nodes[") => nodes(machine, path),
        _ if path.starts_with("memory_devices[") => devices(machine),
        _ if path.starts_with("kernel.mitigations.") => match mitigations(machine) {
            open if open.is_empty() => "no vulnerabilities".to_owned(),
            state => format!("mitigations {state}"),
        },
        _ => plain(json, path)?,
    })
}

fn cache(machine: &Machine, name: &str) -> Option<String> {
    let cache = machine.caches.iter().find(|cache| memory::cache_name(cache) == name)?;
    Some(format!("{name} {}", units::bytes(cache.bytes?)))
}

/// All nodes at once: their CPUs, their memory, how far they are said to lie apart.
fn nodes(machine: &Machine, path: &str) -> String {
    let key = path.rsplit('.').next().unwrap_or_default();
    let all = || machine.nodes.iter();
    match key {
        "cpus" => listed(all().map(|node| Some(format!("node {} CPUs {}", node.id, node.cpus)))),
        "bytes" => listed(
            all().map(|node| node.bytes.map(|bytes| format!("node {} {}", node.id, units::bytes(bytes)))),
        ),
        "free_bytes" => listed(all().map(|node| {
            node.free_bytes.map(|bytes| format!("node {} {} free", node.id, units::bytes(bytes)))
        })),
        "distances" => {
            let row = |of: &Vec<u32>| of.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
            let rows: Vec<String> = all().map(|node| row(&node.distances)).collect();
            format!("distances {}", rows.join(" | "))
        }
        _ => count_noun(machine.nodes.len(), "node"),
    }
}

fn devices(machine: &Machine) -> String {
    let facts = memory::devices(machine, true);
    listed(facts.into_iter().map(|Fact { value, .. }| Some(value)))
}

/// A value with its name, in the unit that the name ends in.
fn plain(json: &Value, path: &str) -> Option<String> {
    let value = path.split('.').try_fold(json, |value, key| value.get(key))?;
    let key = path.rsplit('.').next().unwrap_or_default();
    let name = |ending: &str| key.strip_suffix(ending).unwrap_or(key).replace('_', " ");
    let (name, value) = match value {
        Value::Number(number) if key.ends_with("_bytes") => {
            (name("_bytes"), number.as_u64().map_or(number.to_string(), units::bytes))
        }
        Value::Number(number) if key.ends_with("_hz") => {
            (name("_hz"), number.as_f64().map_or(number.to_string(), |hz| units::figure(hz, "Hz")))
        }
        Value::Number(number) => (name(""), number.to_string()),
        Value::Bool(value) => (name(""), if *value { "yes" } else { "no" }.to_owned()),
        Value::String(text) => (name(""), text.clone()),
        Value::Array(all) => {
            let words = all.iter().map(|one| one.as_str().map_or(one.to_string(), str::to_owned));
            (name(""), words.collect::<Vec<_>>().join(" "))
        }
        Value::Null | Value::Object(_) => return None,
    };
    Some(format!("{name} {value}"))
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
}
