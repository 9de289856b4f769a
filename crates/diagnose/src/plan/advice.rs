//! Settings other than the layout: memory, huge pages, interrupts.

use std::collections::BTreeMap;

use record::difference::Verdict;
use record::plan::{Advice, Policy, Process};
use record::text::Value;
use record::units::digits_of_share;
use record::{Better, Label, Text, text, units};

use super::available_resources::AvailableResources;
use crate::figures::{cite_fact, loss, pasteable, write_command};
use crate::record_index::RecordIndex;
use crate::resources;

/// The switch for transparent huge pages.
const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// Advice on the memory policy; `None` with one node.
pub(super) fn memory(available: &AvailableResources, processes: &[Process]) -> Option<Advice> {
    let says = match processes.first()?.policy {
        Policy::Default => return None,
        Policy::Interleave => text!(
            "One process on all nodes: its memory is interleaved page by page, so traffic is spread over the channels of all \
             nodes. A program that can be split into one process per node gains more."
        ),
        Policy::Bind => {
            let limit = available.memory_limit;
            let is_less = |room: &u64| limit.is_none_or(|(all, _)| *room < all);
            let mut says = match room(available, processes).filter(is_less) {
                Some(room) => text!(
                    "plan-memory-of-own-nodes-at-most",
                    "Each process can allocate at most {room}, because it uses only memory of its own nodes.",
                    room = Value::Bytes(room)
                ),
                None => text!("Each process uses only the memory of its own nodes."),
            };
            says.push(text!(
                "A process that needs more is OOM-killed even if other nodes have free memory; --preferred=NODE instead of --membind \
                 avoids this."
            ));
            if let Some((limit, free)) = limit.map(|(all, free)| (Value::Bytes(all), Value::Bytes(free))) {
                let limit = text!("plan-memory-limit", "The cgroup's memory limit is {limit} ({free} free).");
                says = Text::sequence([limit, says]);
            }
            says
        }
    };
    Some(Advice { about: "memory".to_owned(), says, ..Advice::default() })
}

/// The amount of memory per process, in bytes, if the processes on a node share the node's memory evenly. If processes
/// get different amounts, this is the smallest amount.
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

/// Advice on huge pages; `None` without a measurement (reported by [`super::unknown`]).
pub(super) fn huge_pages(index: &RecordIndex) -> Option<Advice> {
    let (small, huge) = resources::memory_pages(index)?;
    let size = Value::Bytes(small.labels.count(Label::Bytes)?);
    let latency = text!("load latency over {size} on 4 KiB pages: {ns}", size = size.clone(), ns = small);
    let evidence = vec![cite_fact(latency, small), cite_fact(text!("on 2 MiB pages: {ns}", ns = huge), huge)];
    let thp = index.record.conditions.before.thp.as_deref();
    let mut advice = Advice { about: "huge pages".to_owned(), evidence, ..Advice::default() };
    match loss(&small.summary, &huge.summary, Better::Lower) {
        Verdict::Costs { share, interval } => {
            // The numbers are printed with as many digits as in the finding about page walks.
            let digits = digits_of_share(share, interval);
            let [share, low, high] = [share, interval.0.max(0.0), interval.1]
                .map(|share| Value::Rounded(Box::new(Value::Share(share)), digits));
            advice.says = text!(
                "plan-huge-pages-gain",
                "Random loads over {size} take {share} less time on 2 MiB pages ({low} to {high})."
            );
            if thp == Some("always") {
                advice.says.push(text!(
                    "plan-huge-pages-on",
                    "Programs already use huge pages: THP is set to always."
                ));
                return Some(advice);
            }
            if thp == Some("never") {
                advice.commands.push(write_command("madvise", ENABLED));
                advice.undo.extend(pasteable("never").map(|old| write_command(old, ENABLED)));
            }
            advice.commands.push("GLIBC_TUNABLES=glibc.malloc.hugetlb=1 COMMAND".to_owned());
        }
        Verdict::NotResolved { smaller_than } => {
            advice.says = text!(
                "Random loads show no measurable gain (< {smaller_than}).",
                smaller_than = Value::Share(units::bound(smaller_than))
            );
        }
        _ => return None,
    }
    Some(advice)
}

/// Advice on interrupt placement; `None` with one node.
pub(super) fn interrupts(available: &AvailableResources) -> Option<Advice> {
    let says = text!(
        "Leave irqbalance on: it keeps a device's IRQs on the device's node. Run the program that uses a \
         network card or disk most on the device's node."
    );
    let commands =
        vec!["grep -H . /sys/class/net/*/device/numa_node /sys/block/*/device/numa_node".to_owned()];
    let about = "interrupts".to_owned();
    (available.seats.len() > 1).then(|| Advice { about, says, commands, ..Advice::default() })
}
