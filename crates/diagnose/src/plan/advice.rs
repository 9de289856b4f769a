//! What else to set beside the layout: memory, huge pages, interrupts.

use record::Label;
use std::collections::BTreeMap;

use record::plan::{Advice, Policy, Process, Purpose};
use record::statistics::Verdict;
use record::units::{bytes, percent};
use record::{Better, CpuList, Record};

use super::available_resources::AvailableResources;
use crate::figures::{evidence, loss, pasteable, write_command};
use crate::record_index::RecordIndex;
use crate::resources;

/// Transparent huge pages' switch.
const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// From so many CPUs on it matters where interrupts go on a machine of one node.
const MANY: usize = 16;
/// Cores that a node must have for one of them to be kept for interrupts.
pub(super) const CORES_TO_SPARE_ONE: usize = 4;

/// How memory is taken; `None` on one node.
pub(super) fn memory(available: &AvailableResources, processes: &[Process]) -> Option<Advice> {
    let says = match processes.first()?.policy {
        Policy::Default => return None,
        Policy::Interleave => "One process over all nodes: its memory is spread over them page by page, so that no node's \
                               channels carry it all. A program that can be split into a process a node gains more."
            .to_owned(),
        Policy::Bind => {
            let most = room(available, processes).map_or(String::new(), |room| format!(", at most {} each", bytes(room)));
            format!(
                "Each process takes memory from its own nodes only{most}. One that needs more fails for want of \
                 memory, whatever other nodes have free: then --preferred=NODE instead of --membind."
            )
        }
    };
    Some(Advice { about: "memory".to_owned(), says: says.into(), ..Advice::default() })
}

/// Bytes that each process has at least, when those that share a node share its memory evenly.
fn room(available: &AvailableResources, processes: &[Process]) -> Option<u64> {
    let mut shares: BTreeMap<u32, (Option<u64>, u64)> = BTreeMap::new();
    for seat in &available.seats {
        shares.insert(seat.memory, (seat.bytes, 0));
    }
    for node in processes.iter().flat_map(|process| process.memory.iter()) {
        shares.entry(node).or_default().1 += 1;
    }
    let of = |process: &Process| -> Option<u64> {
        let nodes = process.memory.iter();
        nodes.map(|node| shares.get(&node).and_then(|(bytes, count)| Some((*bytes)? / (*count).max(1)))).sum()
    };
    processes.iter().map(of).min().flatten()
}

/// Huge pages; `None` where nothing was measured (which [`super::unknown`] tells).
pub(super) fn huge_pages(index: &RecordIndex) -> Option<Advice> {
    let (small, huge) = resources::memory_pages(index)?;
    let size = small.labels.count(Label::Bytes).map_or_else(String::new, bytes);
    let evidence = vec![
        evidence(small, &format!("a load from {size} on 4 KiB pages takes")),
        evidence(huge, "on 2 MiB pages"),
    ];
    let thp = index.record.conditions.before.thp.as_deref();
    let mut advice = Advice { about: "huge pages".to_owned(), evidence, ..Advice::default() };
    match loss(&small.summary, &huge.summary, Better::Lower) {
        Verdict::Costs { share, interval } => {
            let gain = format!(
                "Loads scattered over much memory take {} less time on 2 MiB pages ({} to {})",
                percent(share),
                percent(interval.0.max(0.0)),
                percent(interval.1)
            );
            if thp == Some("always") {
                advice.says =
                    format!("{gain}, and programs have them already (transparent huge pages: always).")
                        .into();
                return Some(advice);
            }
            advice.says = format!("{gain}.").into();
            if thp == Some("never") {
                advice.commands.push(write_command("madvise", ENABLED));
                advice.undo.extend(pasteable("never").map(|old| write_command(old, ENABLED)));
            }
            advice.commands.push("GLIBC_TUNABLES=glibc.malloc.hugetlb=1 COMMAND".to_owned());
        }
        Verdict::NotResolved { smaller_than } => {
            advice.says = format!(
                "They make no difference to scattered loads here that was resolved (smaller than {}).",
                percent(smaller_than)
            )
            .into();
        }
        _ => return None,
    }
    Some(advice)
}

/// Where interrupts should go; `None` where there is no room to choose. `kept` are the CPUs kept for them.
pub(super) fn interrupts(
    record: &Record,
    available: &AvailableResources,
    purpose: Purpose,
    reserved: &CpuList,
) -> Option<Advice> {
    let mut advice = Advice { about: "interrupts".to_owned(), ..Advice::default() };
    let cpus = available.cpus();
    if reserved.is_empty() {
        if available.seats.len() < 2 && cpus.len() < MANY {
            return None;
        }
        if available.seats.len() < 2 || purpose == Purpose::Latency {
            return None;
        }
        advice.says = "Leave irqbalance on: it keeps a device's interrupts on the device's own node. The process that uses \
                       a network card or disk most belongs on that node, too."
            .into();
        advice
            .commands
            .push("grep -H . /sys/class/net/*/device/numa_node /sys/block/*/device/numa_node".to_owned());
        return Some(advice);
    }
    let contained = record.machine.virtualization.container.as_deref().is_some_and(|name| name != "none");
    let host = if contained { " This is a container: that is set on its host." } else { "" };
    advice.says = format!(
        "CPUs {reserved} are kept for interrupts and housekeeping, the program's are kept clear of them. Older versions of \
         irqbalance take a mask (IRQBALANCE_BANNED_CPUS); on Red Hat the file is /etc/sysconfig/irqbalance; interrupts that \
         belong to one CPU cannot be moved.{host}"
    ).into();
    advice.commands = vec![
        format!("echo IRQBALANCE_BANNED_CPULIST={cpus} | sudo tee -a /etc/default/irqbalance"),
        "sudo systemctl restart irqbalance".to_owned(),
        format!("for irq in /proc/irq/[0-9]*; do echo {reserved} | sudo tee $irq/smp_affinity_list; done"),
    ];
    advice.undo = vec![
        "sudo sed -i /^IRQBALANCE_BANNED_CPULIST=/d /etc/default/irqbalance".to_owned(),
        "sudo systemctl restart irqbalance".to_owned(),
    ];
    Some(advice)
}

/// Takes a core of each node away for interrupts, where every node has enough of them.
pub(super) fn reserve_cores(available: &mut AvailableResources) -> CpuList {
    let enough =
        available.cpus_known && available.seats.iter().all(|seat| seat.cores.len() >= CORES_TO_SPARE_ONE);
    let mut reserved = CpuList::new();
    if enough {
        for seat in &mut available.seats {
            let core = seat.cores.remove(0);
            seat.whole = false;
            reserved = reserved.union(&core.into_iter().collect());
            for domain in &mut seat.domains {
                *domain = domain.difference(&reserved);
            }
            seat.domains.retain(|domain| !domain.is_empty());
        }
    }
    reserved
}
