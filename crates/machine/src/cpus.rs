//! The present CPUs, and which of them are online.

use record::machine::Cpu;
use record::{Coverage, CpuList, Machine, text};

use crate::notes::Notes;
use crate::root::Root;
use crate::text::fields;

/// The directory of the CPUs.
pub(crate) const CPUS: &str = "/sys/devices/system/cpu";

/// Fills [`Machine::cpus`] with all present CPUs, their numbers and whether they are online.
pub(crate) fn read(root: &Root, machine: &mut Machine, coverage: &mut Vec<Coverage>) {
    let mut notes = Notes::default();
    let folders = root.numbered(CPUS, "cpu");
    let mut present = present(root, &folders, &mut notes);
    let online = online(root, &mut present, &folders, &mut notes);
    machine.cpus = present
        .iter()
        .map(|id| Cpu { id, online: online.contains(id), allowed: online.contains(id), ..Cpu::default() })
        .collect();
    if machine.cpus.is_empty() && root.is_live() {
        // Even in a sandbox that hides sysfs and procfs, a thread can query its affinity.
        let own = os::pin::allowed().unwrap_or_default();
        machine.cpus =
            own.iter().map(|id| Cpu { id, online: true, allowed: true, ..Cpu::default() }).collect();
        if !machine.cpus.is_empty() {
            coverage.push(
                Coverage::degraded(
                    "cpus",
                    text!("{folder} and /proc/cpuinfo are not readable: only the CPUs allowed for this process are known", folder = CPUS),
                )
                .with_remedy(text!("run where sysfs and procfs are mounted")),
            );
        }
    }
    if machine.cpus.is_empty() {
        coverage.push(
            Coverage::impossible(
                "cpus",
                text!("neither {folder} nor /proc/cpuinfo lists CPUs", folder = CPUS),
            )
            .with_remedy(text!(
                "run where sysfs and procfs are mounted, or include them in the captured tree"
            )),
        );
    }
    notes.finish(&mut machine.notes);
}

/// Fills in the counts after the topology of the CPUs and the limits are known. `allowed` remains absent for a captured tree without the
/// status of a process.
pub(crate) fn count(root: &Root, machine: &mut Machine) {
    let distinct = |of: fn(&Cpu) -> Option<u32>| {
        // If the package, die, cluster or core of any CPU is unknown, the number of packages, dies, clusters or cores is also unknown.
        let numbers: Option<Vec<u32>> = machine.cpus.iter().filter(|cpu| cpu.online).map(of).collect();
        let mut numbers = numbers?;
        numbers.sort_unstable();
        numbers.dedup();
        count_of(numbers.len())
    };
    let packages = distinct(|cpu| cpu.package);
    let dies = distinct(|cpu| cpu.die);
    let clusters = distinct(|cpu| cpu.cluster);
    let cores = distinct(|cpu| cpu.core);
    let online = machine.cpus.iter().filter(|cpu| cpu.online).count();
    let is_known = root.is_live() || !machine.limits.affinity.is_empty();
    let allowed = count_of(machine.allowed_cpus().len()).filter(|_| is_known);
    let counts = &mut machine.counts;
    (counts.packages, counts.dies, counts.clusters, counts.cores) = (packages, dies, clusters, cores);
    counts.cpus_present = count_of(machine.cpus.len());
    counts.cpus_online = count_of(online);
    counts.nodes = count_of(machine.nodes.len());
    counts.cpus_allowed = allowed;
}

/// A count; `None` if nothing was found, because that means that the number is unknown, not that it is 0.
fn count_of(number: usize) -> Option<u32> {
    u32::try_from(number).ok().filter(|number| *number > 0)
}

/// The online CPUs, ascending.
pub(crate) fn online_of(machine: &Machine) -> CpuList {
    machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect()
}

/// The CPU with this number, found by binary search: [`Machine::cpus`] is in ascending order.
pub(crate) fn cpu_mut(cpus: &mut [Cpu], id: u32) -> Option<&mut Cpu> {
    cpus.get_mut(cpus.binary_search_by_key(&id, |cpu| cpu.id).ok()?)
}

/// Sets a property of each of these CPUs.
pub(crate) fn set_each(cpus: &mut [Cpu], ids: &CpuList, set: impl Fn(&mut Cpu)) {
    for id in ids {
        if let Some(cpu) = cpu_mut(cpus, id) {
            set(cpu);
        }
    }
}

fn present(root: &Root, folders: &CpuList, notes: &mut Notes) -> CpuList {
    if root.is_excerpt() {
        let lists = ["present", "online", "offline"].map(|name| root.cpu_list(&format!("{CPUS}/{name}")));
        let listed = lists.iter().flatten().fold(CpuList::new(), |all, list| all.union(list));
        if !listed.is_empty() {
            return listed;
        }
    }
    let path = format!("{CPUS}/present");
    let mut present = notes.list(root, &path).filter(|list| !list.is_empty());
    // Arm guests list CPUs that can be hot-plugged as present, but not as enabled.
    if let (Some(list), Some(enabled)) = (&present, root.cpu_list(&format!("{CPUS}/enabled"))) {
        present = Some(list.intersection(&enabled)).filter(|list| !list.is_empty()).or(present);
    }
    match present {
        Some(listed) if folders.is_empty() => listed,
        Some(listed) => {
            let without = listed.difference(folders);
            if without.is_empty() {
                return listed;
            }
            // The kernel creates a directory for each present CPU, so a list with more CPUs is wrong.
            notes.add("lists CPUs that have no directory", &path);
            let both = listed.intersection(folders);
            if both.is_empty() { folders.clone() } else { both }
        }
        None if !folders.is_empty() => folders.clone(),
        None => cpus_in_cpuinfo(&root.text("/proc/cpuinfo").unwrap_or_default()),
    }
}

/// The online CPUs. An online CPU with a directory is present, even if the list of present CPUs does not contain it.
fn online(root: &Root, present: &mut CpuList, folders: &CpuList, notes: &mut Notes) -> CpuList {
    let path = format!("{CPUS}/online");
    if let Some(listed) = notes.list(root, &path) {
        let strange = listed.difference(present);
        if !strange.is_empty() && !present.is_empty() {
            notes.add("lists CPUs that are not present", &path);
        }
        *present = present.union(&strange.intersection(folders));
        let online = listed.intersection(present);
        if !online.is_empty() {
            return online;
        }
    }
    // Each CPU has its own file `online`, except a boot CPU that cannot be taken offline.
    let is_online = |cpu: &u32| root.text(&format!("{CPUS}/cpu{cpu}/online")).is_none_or(|text| text != "0");
    let online: CpuList = present.iter().filter(is_online).collect();
    if online.is_empty() && !present.is_empty() {
        notes.add("lists no CPU as online; all present CPUs are assumed to be online", &path);
        return present.clone();
    }
    online
}

/// The CPUs listed in `/proc/cpuinfo`, which are the online CPUs. This is the only source without sysfs.
fn cpus_in_cpuinfo(text: &str) -> CpuList {
    fields(text, "processor").filter_map(|value| value.parse::<u32>().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn procfs_alone_tells_the_cpus() {
        assert_eq!(cpus_in_cpuinfo("processor\t: 0\nmodel : x\n\nprocessor\t: 2\n").to_string(), "0,2");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,80}|(cpu|processor)[: 0-9\n]{0,40}") {
            let _ = cpus_in_cpuinfo(&text);
        }
    }
}
