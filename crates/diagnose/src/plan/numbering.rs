//! Determines which CPUs share a core if a record has only the numbers of CPUs and cores, as in other tools' output.

use std::collections::{BTreeMap, BTreeSet};

use record::machine::Machine;
use record::phrase::join_list;
use record::{CpuList, Text, text};

/// How the CPUs of each core are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Numbering {
    /// The record lists the CPUs of each core, or each core has one CPU.
    #[default]
    Recorded,
    /// Assumed from Linux's usual numbering: a core consists of `per_core` CPUs, whose numbers differ by `step`.
    Assumed { step: u32, per_core: u32 },
    /// Cores have several CPUs, but the record does not show which.
    Unknown,
}

impl Numbering {
    /// The caution for the user. `first` is one of the CPUs of the plan.
    pub(super) fn caution(self, first: u32) -> Option<Text> {
        let command = format!("cat /sys/devices/system/cpu/cpu{first}/topology/thread_siblings_list");
        match self {
            Self::Recorded => None,
            Self::Assumed { step, per_core } => {
                let mut cpus = vec!["n".to_owned()];
                cpus.extend((1..per_core).map(|part| format!("n+{}", u64::from(part) * u64::from(step))));
                let here: CpuList = (0..per_core).map(|part| first.saturating_add(part * step)).collect();
                Some(text!(
                    "plan-siblings-assumed",
                    "SMT siblings were not recorded. CPUs {cpus} are assumed to share a core, as in Linux's usual numbering. \
                     To check: {command} (prints {here} if so).",
                    cpus = join_list(&cpus)
                ))
            }
            Self::Unknown => Some(text!(
                "plan-siblings-unknown",
                "Each core has several CPUs, but the record does not show which. Two processes, or a process and idle CPUs, may \
                 share cores. To check: {command}, or record the machine with linespeed inspect."
            )),
        }
    }
}

/// The core of each CPU, and how it is known. A core without a number gets the number of its first CPU.
pub(super) fn cores(machine: &Machine, on_node: &BTreeMap<u32, u32>) -> (BTreeMap<u32, u32>, Numbering) {
    let reported: BTreeMap<_, _> = machine.cpus.iter().filter_map(|cpu| Some((cpu.id, cpu.core?))).collect();
    let all: BTreeSet<u32> = if machine.cpus.is_empty() {
        on_node.keys().copied().collect()
    } else {
        machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect()
    };
    let count = machine.counts.cpus_online.unwrap_or(all.len() as u32);
    let cores = machine.counts.cores.unwrap_or(count);
    if !reported.is_empty() || cores == 0 || count <= cores {
        return (reported, Numbering::Recorded);
    }
    match assumed(&all, on_node, count, cores) {
        Some((of_cpu, step)) => (of_cpu, Numbering::Assumed { step, per_core: count / cores }),
        None => (reported, Numbering::Unknown),
    }
}

/// Linux first numbers one CPU per core, then the second CPUs in the same order. Each node's list therefore consists of equal parts at
/// equal distances, one part per CPU of a core.
fn assumed(
    all: &BTreeSet<u32>,
    on_node: &BTreeMap<u32, u32>,
    count: u32,
    cores: u32,
) -> Option<(BTreeMap<u32, u32>, u32)> {
    let per_core = (count / cores) as usize;
    (count.is_multiple_of(cores) && all.len() == count as usize).then_some(())?;
    let mut by_node: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for cpu in all {
        by_node.entry(on_node.get(cpu).copied().unwrap_or(0)).or_default().push(*cpu);
    }
    let mut core_of = BTreeMap::new();
    let mut common = None;
    for cpus in by_node.values() {
        cpus.len().is_multiple_of(per_core).then_some(())?;
        let (first, further) = cpus.split_at(cpus.len() / per_core);
        let step = further.first()?.checked_sub(*first.first()?)?;
        // A single range of numbers is ambiguous unless it belongs to one core, because siblings may have adjacent numbers.
        let is_one_range = cpus.windows(2).all(|two| matches!(two, [a, b] if *b == a + 1));
        if (is_one_range && first.len() > 1) || *common.get_or_insert(step) != step {
            return None;
        }
        for (part, list) in (0u32..).zip(cpus.chunks(first.len())) {
            for (cpu, core) in list.iter().zip(first) {
                (*cpu == core.checked_add(part.checked_mul(step)?)?).then_some(())?;
                core_of.insert(*cpu, *core);
            }
        }
    }
    Some((core_of, common?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::machine::{Cpu, Node};
    use record::text::Value;

    /// A machine of which only the nodes' CPU lists and the number of cores are known.
    fn lists(nodes: &[&str], cores: u32) -> Machine {
        let mut machine = Machine::default();
        for (id, list) in (0u32..).zip(nodes) {
            let cpus: CpuList = list.parse().unwrap();
            machine.cpus.extend(cpus.iter().map(|cpu| Cpu {
                id: cpu,
                online: true,
                node: Some(id),
                ..Cpu::default()
            }));
            machine.nodes.push(Node { id, cpus, ..Node::default() });
        }
        machine.counts.cpus_online = Some(machine.cpus.len() as u32);
        machine.counts.cores = Some(cores);
        machine
    }

    fn find_numbering(machine: &Machine) -> (BTreeMap<u32, u32>, Numbering) {
        cores(machine, &machine.cpus.iter().filter_map(|cpu| Some((cpu.id, cpu.node?))).collect())
    }

    #[test]
    fn equal_ranges_are_taken_as_linux_numbers_them() {
        let (core_of, numbering) = find_numbering(&lists(&["0-15,32-47", "16-31,48-63"], 32));
        assert_eq!(numbering, Numbering::Assumed { step: 32, per_core: 2 });
        assert_eq!((core_of[&0], core_of[&32], core_of[&47], core_of[&63]), (0, 0, 15, 31));
        let (core_of, numbering) = find_numbering(&lists(&["0-1,4-5,8-9,12-13", "2-3,6-7,10-11,14-15"], 4));
        assert_eq!(numbering, Numbering::Assumed { step: 4, per_core: 4 });
        assert_eq!((core_of[&13], core_of[&14]), (1, 2));
        let caution = numbering.caution(2).unwrap();
        assert_eq!(caution.code(), Some("plan-siblings-assumed"));
        assert_eq!(caution.value("cpus"), Some(&Value::from("n, n+4, n+8 and n+12")));
        assert_eq!(caution.value("here"), Some(&Value::from("2,6,10,14")));
        assert!(caution.value("command").is_some_and(|command| command.to_string().contains("cpu2/")));
        // CPUs alternate between nodes, as some firmware numbers packages.
        let (core_of, _) = find_numbering(&lists(&["0,2,4,6", "1,3,5,7"], 4));
        assert_eq!((core_of[&4], core_of[&5], core_of[&7]), (0, 1, 3));
        // A single core on a node needs no numbering.
        assert_eq!(find_numbering(&lists(&["0-1", "2-3"], 2)).0[&3], 2);
    }

    #[test]
    fn what_does_not_fit_is_not_known() {
        for (nodes, cores) in [
            (&["0-15"][..], 8),
            (&["0-7", "8-15"], 8),
            (&["0-3,8-10", "4-7,11-15"], 8),
            (&["0-3,8-11", "4-7,16-19"], 8),
            (&["0-6,8-14"], 6),
        ] {
            let (core_of, numbering) = find_numbering(&lists(nodes, cores));
            assert!(core_of.is_empty() && numbering == Numbering::Unknown, "{nodes:?}: {numbering:?}");
        }
        assert_eq!(Numbering::Unknown.caution(0).unwrap().code(), Some("plan-siblings-unknown"));
    }

    #[test]
    fn what_is_reported_or_single_stays() {
        assert_eq!(find_numbering(&lists(&["0-15"], 16)), (BTreeMap::new(), Numbering::Recorded));
        let mut machine = lists(&["0-3"], 2);
        for cpu in &mut machine.cpus {
            cpu.core = Some(cpu.id / 2);
        }
        let (core_of, numbering) = find_numbering(&machine);
        assert_eq!((core_of[&3], numbering, numbering.caution(0)), (1, Numbering::Recorded, None));
    }
}
