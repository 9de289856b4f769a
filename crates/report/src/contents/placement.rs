//! How CPU numbers lie on packages, cores, siblings and nodes.

use std::collections::BTreeMap;

use record::{CpuList, Machine, units};

use super::section::{Fact, listed};
use crate::table::Table;

/// One fact a package: `CPUs 0-15,32-47; first siblings 0-15, second siblings 32-47`.
pub(crate) fn packages(machine: &Machine) -> Vec<Fact> {
    let mut packages: BTreeMap<u32, CpuList> = BTreeMap::new();
    for cpu in machine.cpus.iter().filter(|cpu| cpu.online) {
        if let Some(package) = cpu.package {
            packages.entry(package).or_default().insert(cpu.id);
        }
    }
    packages
        .into_iter()
        .map(|(package, cpus)| {
            let ranks = siblings_by_rank(machine, &cpus);
            let mut value = format!("CPUs {cpus}");
            if ranks.len() > 1 {
                let named =
                    ranks.iter().enumerate().map(|(rank, cpus)| Some(format!("{} {cpus}", nth(rank))));
                value = format!("{value}; {}", listed(named));
            } else if !ranks.is_empty() {
                value.push_str("; 1 CPU per core");
            }
            Fact { key: format!("package {package}"), value }
        })
        .collect()
}

fn nth(rank: usize) -> String {
    match rank {
        0 => "first siblings".to_owned(),
        1 => "second siblings".to_owned(),
        2 => "third siblings".to_owned(),
        _ => format!("siblings number {}", rank + 1),
    }
}

/// The CPUs that are the first of their core, those that are the second, and so on.
fn siblings_by_rank(machine: &Machine, cpus: &CpuList) -> Vec<CpuList> {
    let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
    let mut ranks: Vec<CpuList> = Vec::new();
    for cpu in machine.cpus.iter().filter(|cpu| cpus.contains(cpu.id)) {
        let Some(core) = cpu.core else { continue };
        let rank = seen.entry(core).or_default();
        if ranks.len() <= *rank {
            ranks.push(CpuList::new());
        }
        ranks[*rank].insert(cpu.id);
        *rank += 1;
    }
    ranks
}

/// Nodes with their CPUs, memory and distances: to each in the order of the rows, or in words for over 8 nodes.
pub(crate) fn nodes(machine: &Machine) -> Table {
    let mut table = Table::new("Nodes", Some("node"), ["node", "CPUs", "#memory", "?#free", "distances"]);
    let memory_reported = !machine.limits.memory_nodes.is_empty();
    for node in &machine.nodes {
        let distances = match machine.nodes.len() {
            0..=1 => String::new(),
            2..=8 => node.distances.iter().map(u32::to_string).collect::<Vec<_>>().join(" "),
            _ => distances(machine, &node.distances),
        };
        let row = vec![
            node.id.to_string(),
            if node.cpus.is_empty() { "none".to_owned() } else { node.cpus.to_string() },
            node.bytes.map_or(String::new(), units::bytes),
            node.free_bytes.map_or(String::new(), units::bytes),
            distances,
        ];
        if memory_reported && !node.allowed {
            table.note_row(["this process may take no memory from it"]);
        }
        table.row(row);
    }
    table.finished()
}

/// `10 to 0, 12 to 1-3, 32 to 4-7`.
fn distances(machine: &Machine, distances: &[u32]) -> String {
    let mut to: BTreeMap<u32, CpuList> = BTreeMap::new();
    for (node, distance) in machine.nodes.iter().zip(distances) {
        to.entry(*distance).or_default().insert(node.id);
    }
    listed(to.into_iter().map(|(distance, nodes)| Some(format!("{distance} to {nodes}"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::machine::Cpu;

    #[test]
    fn siblings_that_lie_32_apart_are_reported_apart() {
        let cpu = |id: u32| Cpu {
            id,
            online: true,
            core: Some(id % 32),
            package: Some(id % 32 / 16),
            ..Cpu::default()
        };
        let machine = Machine { cpus: (0..64).map(cpu).collect(), ..Machine::default() };
        let facts = packages(&machine);
        assert_eq!(facts.len(), 2);
        assert_eq!(facts[0].key, "package 0");
        assert_eq!(facts[0].value, "CPUs 0-15,32-47; first siblings 0-15, second siblings 32-47");
    }
}
