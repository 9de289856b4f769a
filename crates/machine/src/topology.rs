//! The distribution of CPUs over packages, dies, clusters and cores, from the sibling lists of `/sys/devices/system/cpu/cpuN/topology`
//! (Documentation/admin-guide/cputopology.rst of the kernel), or from `/proc/cpuinfo` if they are missing.
//!
//! The kernel's ids of packages and cores have gaps and repeat, so they are only used to recognize "unknown". Groups
//! are numbered over the whole machine from 0, in order of their lowest CPU.

use std::collections::{BTreeMap, HashMap};

use record::machine::Cpu;
use record::{Coverage, CpuList, Machine, text};

use crate::cpuinfo::architecture;
use crate::cpus::{CPUS, online_of, set_each};
use crate::notes::Notes;
use crate::root::Root;
use crate::text::field;

/// A level of the hierarchy: the files that list the CPUs of one group, the newer name first, and the file with the kernel's id of the
/// group.
struct Level {
    lists: [&'static str; 2],
    id: Option<&'static str>,
}

const CORE: Level = Level { lists: ["core_cpus_list", "thread_siblings_list"], id: None };
const CLUSTER: Level = Level { lists: ["cluster_cpus_list", "cluster_cpus_list"], id: Some("cluster_id") };
const DIE: Level = Level { lists: ["die_cpus_list", "die_cpus_list"], id: Some("die_id") };
const PACKAGE: Level =
    Level { lists: ["package_cpus_list", "core_siblings_list"], id: Some("physical_package_id") };

/// Maximum plausible number of threads of a core, far above real ones: POWER has 8, and SPARC had 8.
const MOST_SIBLINGS: usize = 64;

const ABSURD: &str = "lists more CPUs than a core can have; each CPU counts as its own core";

/// Number of CPUs to check for data about a level. If none of them has such data, the kernel does not support the level.
const ENOUGH_MISSES: usize = 8;

/// Fills in the topology of all online CPUs. Offline CPUs have none.
pub(crate) fn read(root: &Root, machine: &mut Machine, coverage: &mut Vec<Coverage>) {
    let online = online_of(machine);
    if online.is_empty() {
        return;
    }
    let mut notes = Notes::default();
    let mut reader = Reader { root, online: &online, notes: &mut notes };
    let mut cores = reader.groups(&CORE, true);
    let mut packages = reader.packages(&cores);
    let dies = reader.groups(&DIE, false);
    let mut clusters = reader.groups(&CLUSTER, false);
    // A kernel without cluster support returns the core's siblings as the cluster.
    if clusters == cores {
        clusters.clear();
    }
    if cores.is_empty() {
        let text = root.text("/proc/cpuinfo").unwrap_or_default();
        let listed = groups_in_cpuinfo(&text, &online);
        cores = listed.1;
        coverage.push(missing(&packages, &cores));
        if packages.is_empty() {
            packages = listed.0;
        }
    }
    for core in &cores {
        if !packages.is_empty() && !packages.iter().any(|package| core.is_subset(package)) {
            let first = core.first().unwrap_or_default();
            notes.add("places a core on two sockets", &format!("{CPUS}/cpu{first}/topology"));
        }
    }
    place(&mut machine.cpus, &packages, |cpu, number| cpu.package = Some(number));
    place(&mut machine.cpus, &dies, |cpu, number| cpu.die = Some(number));
    place(&mut machine.cpus, &clusters, |cpu, number| cpu.cluster = Some(number));
    place(&mut machine.cpus, &cores, |cpu, number| cpu.core = Some(number));
    for core in &cores {
        set_each(&mut machine.cpus, core, |cpu| cpu.siblings = core.clone());
    }
    notes.finish(&mut machine.notes);
}

/// The coverage entry if `topology` directories are missing or contain only packages.
fn missing(packages: &[CpuList], cores: &[CpuList]) -> Coverage {
    let coverage = if !packages.is_empty() && cores.is_empty() {
        let reason =
            text!("{folder}/cpuN/topology lists no thread_siblings: cores are unknown", folder = CPUS);
        Coverage::degraded("topology", reason)
    } else if cores.is_empty() {
        let reason = text!(
            "{folder}/cpuN/topology is not readable, and /proc/cpuinfo lists no cores and sockets",
            folder = CPUS
        );
        Coverage::impossible("topology", reason)
    } else {
        let reason = text!(
            "{folder}/cpuN/topology is not readable; cores and sockets are from /proc/cpuinfo",
            folder = CPUS
        );
        Coverage::degraded("topology", reason)
    };
    coverage.with_remedy(text!(
        "run where sysfs is mounted, or include {folder} in the captured tree",
        folder = CPUS
    ))
}

/// Numbers the groups in order.
fn place(cpus: &mut [Cpu], groups: &[CpuList], set: impl Fn(&mut Cpu, u32)) {
    for (number, group) in (0u32..).zip(groups) {
        set_each(cpus, group, |cpu| set(cpu, number));
    }
}

struct Reader<'a> {
    root: &'a Root,
    online: &'a CpuList,
    notes: &'a mut Notes,
}

impl Reader<'_> {
    /// The groups of a level in order of their lowest CPU, without CPUs whose topology is unknown. The list of one CPU
    /// contains the whole group; with `verify`, the other CPUs' lists are compared with it.
    fn groups(&mut self, level: &Level, verify: bool) -> Vec<CpuList> {
        let mut partition = Partition::default();
        let mut misses = 0;
        for cpu in self.online {
            if partition.is_empty() && misses >= ENOUGH_MISSES {
                break;
            }
            let placed = partition.group_of(cpu).is_some();
            if placed && !verify {
                continue;
            }
            if let Some(file) = level.id
                && !self.is_known(cpu, file)
            {
                misses += 1;
                continue;
            }
            let Some((list, path)) = self.list(cpu, level) else {
                misses += 1;
                continue;
            };
            if verify && list.len() > MOST_SIBLINGS {
                self.notes.add(ABSURD, &path);
                if !placed {
                    let _ = partition.add(cpu, &[cpu].into_iter().collect(), self.online);
                }
                continue;
            }
            if let Err(complaint) = partition.add(cpu, &list, self.online) {
                self.notes.add(complaint, &path);
            }
        }
        partition.groups
    }

    /// The packages. If the kernel's id is -1, the sibling lists still show the packages (s390, SPARC, older POWER);
    /// without such lists, the affected CPUs are one package. Empty if no file contains packages.
    fn packages(&mut self, cores: &[CpuList]) -> Vec<CpuList> {
        let mut packages = self.groups(&PACKAGE, false);
        let placed = packages.iter().fold(CpuList::new(), |all, package| all.union(package));
        let rest = self.online.difference(&placed);
        let Some(first) = rest.first() else { return packages };
        let mut unnumbered = Reader { root: self.root, online: &rest, notes: self.notes };
        let listed = unnumbered.groups(&Level { id: None, ..PACKAGE }, false);
        if self.are_packages(&listed, cores) {
            packages.extend(listed);
        } else if !packages.is_empty() || PACKAGE.id.is_some_and(|id| !self.is_known(first, id)) {
            packages.push(rest);
        }
        packages.sort_by_key(CpuList::first);
        packages
    }

    /// Whether lists without an id are packages. Until a CPU's topology is known, Arm and RISC-V kernels list it as a
    /// separate package (`reset_cpu_topology` in drivers/base/arch_topology.c). A list with only part of a core is not
    /// a package.
    fn are_packages(&self, packages: &[CpuList], cores: &[CpuList]) -> bool {
        let crosses = |core: &CpuList| {
            packages.iter().any(|package| {
                let both = core.intersection(package);
                !both.is_empty() && both != *core
            })
        };
        let alone = || packages.iter().all(|package| package.len() == 1);
        !packages.is_empty() && !cores.iter().any(crosses) && (!alone() || !self.starts_alone())
    }

    fn starts_alone(&self) -> bool {
        let cpuinfo = self.root.text("/proc/cpuinfo").unwrap_or_default();
        matches!(
            architecture(self.root, &cpuinfo).as_str(),
            "" | "aarch64" | "arm" | "armv7l" | "riscv64" | "riscv32"
        )
    }

    /// Whether the kernel's id of a group is valid: -1 (Arm) and 65535 (x86) mean unknown. A missing id indicates an
    /// older kernel, for which the lists are used.
    fn is_known(&self, cpu: u32, file: &str) -> bool {
        match self.root.text(&format!("{CPUS}/cpu{cpu}/topology/{file}")) {
            Some(text) => text.parse::<i64>().is_ok_and(|id| id >= 0 && id != 65_535),
            None => true,
        }
    }

    /// The list of a level for one CPU, with the path from which it was read.
    fn list(&mut self, cpu: u32, level: &Level) -> Option<(CpuList, String)> {
        level.lists.into_iter().find_map(|name| {
            let path = format!("{CPUS}/cpu{cpu}/topology/{name}");
            Some((self.notes.list(self.root, &path)?, path))
        })
    }
}

/// Disjoint sets of CPUs.
#[derive(Debug, Default)]
struct Partition {
    groups: Vec<CpuList>,
    of: HashMap<u32, usize>,
}

impl Partition {
    fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    fn group_of(&self, cpu: u32) -> Option<&CpuList> {
        self.of.get(&cpu).and_then(|index| self.groups.get(*index))
    }

    /// Adds the group of `cpu`, restricted to CPUs that are online and in no group yet. The error describes a
    /// contradiction with earlier groups.
    fn add(&mut self, cpu: u32, list: &CpuList, online: &CpuList) -> Result<(), &'static str> {
        let mut members = list.intersection(online);
        let mut complaint = if members.contains(cpu) { Ok(()) } else { Err("does not list its own CPU") };
        members.insert(cpu);
        match self.group_of(cpu) {
            Some(group) if *group == members => {}
            Some(_) => complaint = complaint.and(Err("contradicts the lists of those CPUs")),
            None => {
                let taken: CpuList = members.iter().filter(|cpu| self.of.contains_key(cpu)).collect();
                if !taken.is_empty() {
                    members = members.difference(&taken);
                    complaint = Err("lists CPUs of another group");
                }
                let index = self.groups.len();
                self.of.extend(members.iter().map(|cpu| (cpu, index)));
                self.groups.push(members);
            }
        }
        complaint
    }
}

/// Packages and cores from the `physical id` and `core id` lines of x86 kernels.
fn groups_in_cpuinfo(text: &str, online: &CpuList) -> (Vec<CpuList>, Vec<CpuList>) {
    let mut packages: BTreeMap<u32, CpuList> = BTreeMap::new();
    let mut cores: BTreeMap<(u32, u32), CpuList> = BTreeMap::new();
    let mut seen = CpuList::new();
    for block in text.split("\n\n") {
        let field = |name: &str| field(block, name)?.parse::<u32>().ok();
        let Some(cpu) = field("processor").filter(|cpu| online.contains(*cpu) && !seen.contains(*cpu)) else {
            continue;
        };
        if let (Some(package), Some(core)) = (field("physical id"), field("core id")) {
            seen.insert(cpu);
            packages.entry(package).or_default().insert(cpu);
            cores.entry((package, core)).or_default().insert(cpu);
        }
    }
    let ordered = |mut groups: Vec<CpuList>| {
        groups.sort_by_key(CpuList::first);
        groups
    };
    (ordered(packages.into_values().collect()), ordered(cores.into_values().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(text: &str) -> CpuList {
        text.parse().unwrap()
    }

    #[test]
    fn lists_that_chase_each_other_end_in_one_core_a_cpu() {
        // CPU 0 lists 0-1, CPU 1 lists 1-2, CPU 2 lists 2,0.
        let online = list("0-2");
        let mut partition = Partition::default();
        assert!(partition.add(0, &list("0-1"), &online).is_ok());
        assert!(partition.add(1, &list("1-2"), &online).is_err());
        assert!(partition.add(2, &list("0,2"), &online).is_err());
        assert_eq!(partition.groups, [list("0-1"), list("2")]);
    }

    #[test]
    fn a_core_of_all_cpus_of_a_large_machine_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        for cpu in 0..100 {
            let topology = folder.path().join(format!("sys/devices/system/cpu/cpu{cpu}/topology"));
            std::fs::create_dir_all(&topology).unwrap();
            std::fs::write(topology.join("thread_siblings_list"), "0-65535\n").unwrap();
        }
        std::fs::write(folder.path().join("sys/devices/system/cpu/online"), "0-99\n").unwrap();
        let machine = crate::inspect(&Root::captured(folder.path()).unwrap()).machine;
        assert_eq!(machine.counts.cores, Some(100));
        let absurd = |note: &record::Text| note.value("what") == Some(&ABSURD.into());
        assert!(machine.notes.iter().any(absurd), "{:?}", machine.notes);
    }

    #[test]
    fn cpuinfo_of_old_kernels_tells_cores_whose_ids_repeat() {
        let text = "processor: 0\nphysical id: 0\ncore id: 0\n\nprocessor: 1\nphysical id: 3\ncore id: 0\n\n\
                    processor: 2\nphysical id: 0\ncore id: 0\n";
        let (packages, cores) = groups_in_cpuinfo(text, &list("0-2"));
        assert_eq!(packages, [list("0,2"), list("1")]);
        assert_eq!(cores, [list("0,2"), list("1")]);
    }

    proptest! {
        #[test]
        fn whatever_the_lists_say_each_cpu_is_in_one_group(
            lists in proptest::collection::vec(proptest::collection::btree_set(0u32..24, 0..6), 1..20),
        ) {
            let online: CpuList = (0..lists.len() as u32).collect();
            let mut partition = Partition::default();
            for (cpu, said) in (0u32..).zip(&lists) {
                let _ = partition.add(cpu, &said.iter().copied().collect(), &online);
            }
            let total: usize = partition.groups.iter().map(CpuList::len).sum();
            let union = partition.groups.iter().fold(CpuList::new(), |all, group| all.union(group));
            prop_assert_eq!(total, union.len());
            prop_assert_eq!(union, online);
        }

        #[test]
        fn no_cpuinfo_panics(text in "((processor|physical id|core id)[ \t]*: -?[0-9]{0,11}\n{1,2}){0,12}|\\PC{0,60}") {
            let online: CpuList = (0..8).collect();
            let (packages, cores) = groups_in_cpuinfo(&text, &online);
            prop_assert_eq!(packages.iter().map(CpuList::len).sum::<usize>(), cores.iter().map(CpuList::len).sum::<usize>());
        }
    }
}
