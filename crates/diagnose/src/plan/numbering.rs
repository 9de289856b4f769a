//! Which CPUs share a core where a record tells how many there are of both, and no CPU's core: as lists of other tools do.

use std::collections::{BTreeMap, BTreeSet};

use record::CpuList;
use record::machine::Machine;

/// What is known of the cores' CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Numbering {
    /// The record tells them, or a core has one CPU.
    #[default]
    Recorded,
    /// Taken as Linux numbers them: CPUs so far apart, so many, are one core's.
    Assumed { step: u32, per_core: u32 },
    /// A core has several CPUs, and nothing says which.
    Unknown,
}

impl Numbering {
    /// What a reader has to know of it; `first` is a CPU there.
    pub(super) fn says(self, first: u32) -> Option<String> {
        let file = format!("cat /sys/devices/system/cpu/cpu{first}/topology/thread_siblings_list");
        match self {
            Self::Recorded => None,
            Self::Assumed { step, per_core } => {
                let further: Vec<String> =
                    (1..per_core).map(|part| format!("n+{}", u64::from(part) * u64::from(step))).collect();
                let others = match further.split_last() {
                    Some((last, [])) => format!(" and {last}"),
                    Some((last, before)) => format!(", {} and {last}", before.join(", ")),
                    None => String::new(),
                };
                let here: CpuList = (0..per_core).map(|part| first.saturating_add(part * step)).collect();
                Some(format!(
                    "The record does not tell which CPUs are siblings: CPUs n{others} are taken for those of one core, as \
                     Linux numbers them. To check on the machine: {file} (it says {here} if so)."
                ))
            }
            Self::Unknown => Some(format!(
                "The record tells that a core has several CPUs but not which they are: two processes, or a process and the \
                 CPUs that it leaves free, may share cores. To see it on the machine: {file}. A record by linespeed inspect tells \
                 them."
            )),
        }
    }
}

/// The core of each CPU, and how it is known. A core that is not told has the number of its first CPU.
pub(super) fn cores(machine: &Machine, on_node: &BTreeMap<u32, u32>) -> (BTreeMap<u32, u32>, Numbering) {
    let reported: BTreeMap<u32, u32> =
        machine.cpus.iter().filter_map(|cpu| Some((cpu.id, cpu.core?))).collect();
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

/// Linux numbers a CPU of each core first, then the second ones in the same order: then each node's list is that many equal
/// parts, all the same step apart.
fn assumed(
    all: &BTreeSet<u32>,
    on_node: &BTreeMap<u32, u32>,
    count: u32,
    cores: u32,
) -> Option<(BTreeMap<u32, u32>, u32)> {
    let per_core = (count / cores) as usize;
    if !count.is_multiple_of(cores) || all.len() != count as usize {
        return None;
    }
    let mut by_node: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for cpu in all {
        by_node.entry(on_node.get(cpu).copied().unwrap_or(0)).or_default().push(*cpu);
    }
    let mut core_of = BTreeMap::new();
    let mut common = None;
    for cpus in by_node.values() {
        if !cpus.len().is_multiple_of(per_core) {
            return None;
        }
        let (first, further) = cpus.split_at(cpus.len() / per_core);
        let step = further.first()?.checked_sub(*first.first()?)?;
        // One range may as well be of cores whose CPUs are neighbours, unless it is a single core's.
        let is_one_range = cpus.windows(2).all(|two| matches!(two, [a, b] if *b == a + 1));
        if (is_one_range && first.len() > 1) || *common.get_or_insert(step) != step {
            return None;
        }
        for (part, list) in (0u32..).zip(cpus.chunks(first.len())) {
            for (cpu, core) in list.iter().zip(first) {
                if *cpu != core.checked_add(part.checked_mul(step)?)? {
                    return None;
                }
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

    /// A machine of which only its nodes' lists are told, and how many cores it has.
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
        let on_node = machine.cpus.iter().filter_map(|cpu| Some((cpu.id, cpu.node?))).collect();
        cores(machine, &on_node)
    }

    #[test]
    fn equal_ranges_are_taken_as_linux_numbers_them() {
        let (core_of, numbering) = find_numbering(&lists(&["0-15,32-47", "16-31,48-63"], 32));
        assert_eq!(numbering, Numbering::Assumed { step: 32, per_core: 2 });
        assert_eq!((core_of[&0], core_of[&32], core_of[&47], core_of[&63]), (0, 0, 15, 31));
        let (core_of, numbering) = find_numbering(&lists(&["0-1,4-5,8-9,12-13", "2-3,6-7,10-11,14-15"], 4));
        assert_eq!(numbering, Numbering::Assumed { step: 4, per_core: 4 });
        assert_eq!((core_of[&13], core_of[&14]), (1, 2));
        let says = numbering.says(2).unwrap();
        assert!(says.contains("n, n+4, n+8 and n+12") && says.contains("cpu2/"), "{says}");
        assert!(says.contains("it says 2,6,10,14 if so"), "{says}");
        // Nodes in turn, as some firmware numbers packages.
        let (core_of, _) = find_numbering(&lists(&["0,2,4,6", "1,3,5,7"], 4));
        assert_eq!((core_of[&4], core_of[&5], core_of[&7]), (0, 1, 3));
        // A core alone on its node needs no numbering.
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
        assert!(Numbering::Unknown.says(0).unwrap().contains("may share cores"));
    }

    #[test]
    fn what_is_reported_or_single_stays() {
        assert_eq!(find_numbering(&lists(&["0-15"], 16)), (BTreeMap::new(), Numbering::Recorded));
        let mut machine = lists(&["0-3"], 2);
        for cpu in &mut machine.cpus {
            cpu.core = Some(cpu.id / 2);
        }
        let (core_of, numbering) = find_numbering(&machine);
        assert_eq!((core_of[&3], numbering, numbering.says(0)), (1, Numbering::Recorded, None));
    }
}
