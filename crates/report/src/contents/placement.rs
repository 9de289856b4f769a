//! The mapping of CPU numbers to packages, cores and siblings.

use std::collections::BTreeMap;

use record::machine::Cpu;
use record::{CpuList, Machine};

use super::{Fact, listed};

/// The online CPUs, grouped by a number such as that of their package.
pub(crate) fn online_by(machine: &Machine, number: fn(&Cpu) -> Option<u32>) -> BTreeMap<u32, CpuList> {
    let mut groups: BTreeMap<u32, CpuList> = BTreeMap::new();
    for cpu in machine.cpus.iter().filter(|cpu| cpu.online) {
        if let Some(number) = number(cpu) {
            groups.entry(number).or_default().insert(cpu.id);
        }
    }
    groups
}

/// One fact per package: `CPUs 0-15,32-47; first siblings 0-15, second siblings 32-47`.
pub(crate) fn packages(machine: &Machine) -> Vec<Fact> {
    online_by(machine, |cpu| cpu.package)
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

/// The first CPUs of all cores, the second CPUs of all cores, and so on.
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
