//! The memory of the matrices' columns: on each node, a random cycle followed by further memory to read. The memory is
//! bound to the node, and the placement of its pages is verified.

use std::time::{Duration, Instant};

use record::text::Value;
use record::{Coverage, Machine, Unavailable, text};

use crate::budget::is_emulated;
use crate::context::Context;
use crate::cycle::{Cycle, LINE};
use crate::measurements::numa::node_coverage::NodeCoverage;
use crate::measurements::numa::plan::distances;
use crate::measurements::numa::plan::{MOST_CYCLE, Row};
use crate::reasons::{FREE_MEMORY, MORE_MEMORY, NOT_MAPPED, PAGE_SIZE_NOT_VERIFIED, THREAD_NOT_STARTED};
use crate::thread_group;
use os::Stop;
use os::mapping::{HUGE, Page, base_page, size_word};
use os::placement::{LEAST_SHARE, Placement};

/// Growth of memory between two time checks, bytes.
const STEP: usize = 4 << 20;

/// Minimum memory of a column: less memory would fit in the caches of a single core.
const LEAST: u64 = 8 << 20;

/// Maximum share of a node's available memory for a column.
const SHARE_OF_NODE: f64 = 0.5;

/// Number of columns that an emulated machine creates at the same time.
const EMULATED_AT_ONCE: usize = 2;

/// Minimum share of huge pages for memory to count as "on huge pages".
const LEAST_HUGE: f64 = 0.99;

/// Share of the time for creating memory that the cycle may use; the rest is for the additional memory that only the bandwidth measurement
/// uses.
const CYCLE_SHARE: f64 = 0.7;

/// One column during measurement.
#[derive(Debug)]
pub(crate) struct Column {
    /// The node of the memory.
    pub node: u32,
    /// The CPU that created the column's memory.
    pub builder: u32,
    /// The cycle, in the first part of the mapping.
    pub cycle: Cycle,
    /// Bytes written so far: the cycle and the memory after it.
    pub touched: usize,
    /// Lines loaded since all lines were last flushed from the caches.
    pub walked: u64,
    /// The column's page size, for the record: `2MiB`, `4KiB`, or `mixed`.
    pub page: String,
    /// The share of the memory that is on huge pages, if known.
    pub huge_share: Option<f64>,
    /// The last observed placement of the column's pages.
    pub placement: Placement,
}

impl Column {
    /// Flushes the cycle's lines from all caches, so that each is loaded from memory. Otherwise, readers would find
    /// lines in the caches of the writer.
    pub(crate) fn evict(&mut self) {
        if kernels::flush::available() {
            // SAFETY: the mapping is ours and has this many bytes; the availability of the instruction was just
            // checked.
            unsafe { kernels::evict::evict(self.cycle.mapping().start().cast_const(), self.cycle.bytes()) };
        }
        self.walked = 0;
    }

    /// Whether `lines` more lines can be loaded without repetition.
    pub(crate) fn has_fresh(&self, lines: u64) -> bool {
        self.walked + lines <= (self.cycle.bytes() / LINE) as u64
    }

    /// Verifies the placement of the pages again. The lowest of all observed shares counts.
    pub(crate) fn prove(&mut self) {
        let now = Placement::check(self.cycle.mapping(), self.touched, self.node);
        let worse = match (&self.placement, &now) {
            (Placement::Share { on_node: before, .. }, Placement::Share { on_node, .. }) => on_node < before,
            (Placement::Share { .. }, _) => true,
            _ => false,
        };
        if worse {
            self.placement = now;
        }
    }

    /// Loads one word of each huge page to cache the translations.
    pub(crate) fn walk_pages(&self) {
        for offset in (0..self.cycle.bytes()).step_by(HUGE) {
            // SAFETY: the address is within the written part of the mapping.
            std::hint::black_box(unsafe { self.cycle.mapping().start().add(offset).read_volatile() });
        }
    }
}

/// Memory that the kernel could provide on a node without swapping: free memory, and half of the page cache, which is
/// dropped on demand. `None` if unknown.
fn available_in(meminfo: &str) -> Option<u64> {
    let figure = |name: &str| {
        let line = meminfo.lines().find(|line| line.split_whitespace().nth(2) == Some(name))?;
        line.split_whitespace().nth(3)?.parse::<u64>().ok()?.checked_mul(1024)
    };
    let cache = figure("Active(file):").unwrap_or(0).saturating_add(figure("Inactive(file):").unwrap_or(0));
    Some(figure("MemFree:")?.saturating_add(cache / 2))
}

/// The CPU that creates the memory of each column: a CPU of the same node or, if there is none, a CPU of the nearest row. No CPU is used
/// twice while others are unused.
fn builders(machine: &Machine, rows: &[Row], columns: &[u32]) -> Vec<u32> {
    let table = distances(machine);
    let mut used: Vec<u32> = Vec::new();
    columns
        .iter()
        .filter_map(|column| {
            let far = |row: &&Row| {
                let distance = table.get(&(row.node, *column)).copied().unwrap_or(u32::MAX);
                (row.node != *column, distance, row.node)
            };
            let row = rows.iter().min_by_key(far)?;
            let free = row.cpus.iter().rev().find(|cpu| !used.contains(cpu));
            let cpu = if used.contains(&row.lead) { *free.unwrap_or(&row.lead) } else { row.lead };
            used.push(cpu);
            Some(cpu)
        })
        .collect()
}

/// The size of one column, or the reason why it gets no memory.
fn plan_size(context: &Context, node: u32, columns: usize, wanted: u64) -> Result<u64, Unavailable> {
    let reported = context.machine.nodes.iter().find(|n| n.id == node);
    let meminfo = std::fs::read_to_string(format!("/sys/devices/system/node/node{node}/meminfo")).ok();
    let free = meminfo.and_then(|text| available_in(&text)).or(reported.and_then(|node| node.free_bytes));
    let of_node = free.map_or(u64::MAX, |free| (free as f64 * SHARE_OF_NODE) as u64);
    let allowed = context.memory_allowance() / columns.max(1) as u64;
    let bytes = wanted.min(of_node).min(allowed) / STEP as u64 * STEP as u64;
    if bytes >= LEAST {
        return Ok(bytes);
    }
    Err(Unavailable::new(if of_node <= allowed {
        text!("only {free} of memory is free on the node", free = Value::Bytes(free.unwrap_or(0)))
    } else {
        text!("at most {allowed} may be used on each of {columns} nodes", allowed = Value::Bytes(allowed))
    }))
}

/// Creates one column's memory on the calling thread until `deadline` or a signal.
fn make(node: u32, builder: u32, bytes: u64, deadline: Instant, stop: &Stop) -> Result<Column, Unavailable> {
    let began = Instant::now();
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let open = |page| Cycle::new(bytes, page, Some(node));
    let (mut cycle, bound) = open(Page::Huge)
        .or_else(|_| open(Page::Base))
        .map_err(|error| text!(NOT_MAPPED, error).with_remedy(MORE_MEMORY))?;
    if let Some(error) = bound {
        let remedy = text!("allow mbind (a seccomp filter may block it), and add the node to cpuset.mems");
        return Err(text!("mbind failed: {error}").with_remedy(remedy));
    }
    let bytes = bytes.min(cycle.capacity());
    let for_cycle = bytes.min(usize::try_from(MOST_CYCLE).unwrap_or(usize::MAX));
    let until = began + deadline.saturating_duration_since(began).mul_f64(CYCLE_SHARE);
    let least = (LEAST as usize).min(for_cycle);
    let go_on = |until: Instant| Instant::now() < until && stop.signal().is_none();
    while cycle.bytes() < for_cycle && (cycle.bytes() < least || go_on(until)) {
        cycle.grow_to((cycle.bytes() / STEP + 1).saturating_mul(STEP).min(for_cycle));
    }
    let mut touched = cycle.bytes();
    // If the cycle is incomplete, no further memory follows it, because the time is used up.
    while touched >= for_cycle && touched < bytes && go_on(deadline) {
        let end = (touched + STEP).min(bytes);
        for offset in (touched..end).step_by(LINE) {
            // SAFETY: the address is within the mapping, which nothing else uses yet.
            unsafe { cycle.mapping().start().add(offset).cast::<u64>().write(1) };
        }
        touched = end;
    }
    let placement = Placement::check(cycle.mapping(), touched, node);
    let mut column =
        Column { node, builder, touched, walked: 0, page: String::new(), huge_share: None, placement, cycle };
    column.evict();
    Ok(column)
}

/// Creates all columns at the same time within `seconds`. Failed columns are reported in the coverage.
pub(crate) fn build(
    context: &mut Context,
    rows: &[Row],
    nodes: &[u32],
    wanted: u64,
    seconds: f64,
) -> Vec<Column> {
    let mut notes = NodeCoverage::default();
    let mut plans: Vec<(u32, u64, u32)> = Vec::new();
    for (node, builder) in nodes.iter().zip(builders(context.machine, rows, nodes)) {
        match plan_size(context, *node, nodes.len(), wanted) {
            Ok(bytes) => plans.push((*node, bytes, builder)),
            Err(why) => notes.add_skipped(*node, why.with_remedy(FREE_MEMORY)),
        }
    }
    // All columns are created at the same time. The exception is an emulated machine, whose many CPUs run on a few host
    // threads that would wait for each other's locks.
    let at_once = if is_emulated(context.machine) { EMULATED_AT_ONCE } else { plans.len() }.max(1);
    let turns = plans.len().div_ceil(at_once).max(1);
    let mut made = Vec::with_capacity(plans.len());
    for some in plans.chunks(at_once) {
        let cpus: Vec<u32> = some.iter().map(|(_, _, cpu)| *cpu).collect();
        let deadline = Instant::now() + Duration::from_secs_f64(seconds / turns as f64);
        made.extend(thread_group::run(&cpus, |member| {
            let (node, bytes, builder) = some[member.index];
            make(node, builder, bytes, deadline, context.stop)
        }));
    }
    let mut columns = Vec::with_capacity(made.len());
    for (&(node, bytes, _), column) in plans.iter().zip(made) {
        match column {
            Some(Ok(mut column)) => {
                check_pages(&mut notes, &mut column);
                if let Some(reported) = withheld(&column) {
                    context.coverage.push(reported);
                    continue;
                }
                if (column.touched as u64) < wanted {
                    notes.add_smaller(node, column.touched, (column.touched as u64) < bytes);
                }
                columns.push(column);
            }
            Some(Err(why)) => notes.add_skipped(node, why),
            None => notes.add_skipped(node, Unavailable::new(THREAD_NOT_STARTED)),
        }
    }
    context.coverage.extend(notes.into_entries(wanted, &context.at_more_length("numa")));
    columns
}

/// Determines the pages that back the column.
fn check_pages(notes: &mut NodeCoverage, column: &mut Column) {
    column.huge_share = column.cycle.mapping().huge_share();
    let (huge, base) = (size_word(HUGE as u64), size_word(base_page()));
    column.page = match column.huge_share {
        Some(share) if share >= LEAST_HUGE => huge,
        Some(share) if share > 1.0 - LEAST_HUGE => "mixed".to_owned(),
        Some(_) => base,
        None => column.cycle.mapping().page().word(),
    };
    match column.huge_share {
        Some(share) if share < LEAST_HUGE => notes.walks.push((column.node, share)),
        Some(_) => {}
        None => notes.add(column.node, Coverage::degraded("", PAGE_SIZE_NOT_VERIFIED)),
    }
}

/// The coverage entry if a column's pages are on a different node; `None` if their placement is correct or unknown.
pub(crate) fn withheld(column: &Column) -> Option<Coverage> {
    let Placement::Share { on_node, .. } = column.placement else { return None };
    let placement = column.placement.describe(column.node);
    let why = text!("cells discarded: {placement}");
    let what = format!("numa node {}", column.node);
    (on_node < LEAST_SHARE).then(|| Coverage::skipped(what, why).with_remedy(FREE_MEMORY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurements::core_to_core::topology_class::tests::made;
    use crate::measurements::numa::plan::rows;
    use proptest::prelude::*;

    #[test]
    fn a_node_can_give_what_is_free_and_half_of_its_page_cache() {
        let text = "Node 1 MemTotal:  1000 kB\nNode 1 MemFree:   100 kB\nNode 1 Active(file):  30 kB\n\
                    Node 1 Inactive(file):  10 kB\n";
        assert_eq!(available_in(text), Some(120 * 1024));
        assert_eq!(available_in("Node 1 MemFree: 7 kB"), Some(7 * 1024));
        assert_eq!(available_in(""), None);
    }

    #[test]
    fn memory_is_made_by_its_own_node_or_the_nearest() {
        // Node 3 has only memory, and is nearest to node 2.
        let mut machine = made(2, 2, 2, 1, 2);
        machine.cpus.retain(|cpu| cpu.node != Some(3));
        let rows = rows(&machine, &machine.allowed_cpus());
        let builders = builders(&machine, &rows, &[0, 1, 2, 3]);
        let nodes: Vec<u32> = builders.iter().map(|cpu| machine.cpu(*cpu).unwrap().node.unwrap()).collect();
        assert_eq!(nodes, [0, 1, 2, 2]);
        assert_ne!(builders[2], builders[3], "creating two columns on one CPU takes twice as long");
    }

    #[test]
    fn a_column_is_written_whole_and_proven() {
        let cpu = os::current_cpu().unwrap();
        let node =
            machine::inspect(&machine::Root::live()).machine.cpu(cpu).and_then(|cpu| cpu.node).unwrap_or(0);
        let deadline = Instant::now() + Duration::from_secs(20);
        match make(node, cpu, 16 << 20, deadline, &Stop::new()) {
            Ok(mut column) => {
                assert_eq!((column.touched, column.cycle.bytes()), (16 << 20, 16 << 20));
                column.prove();
                column.walk_pages();
                assert!(column.placement.acceptable(), "{:?}", column.placement);
                assert!(column.has_fresh(1 << 18) && !column.has_fresh((1 << 18) + 1));
                column.placement = Placement::Share { on_node: 0.98, pages: 100 };
                let reported = withheld(&column).and_then(|reported| reported.reason);
                let Some(Value::Sentence(placement)) =
                    reported.as_ref().and_then(|why| why.value("placement"))
                else {
                    panic!("{reported:?}")
                };
                assert_eq!(placement.value("share"), Some(&Value::Share(0.98)));
            }
            // In a sandbox without mbind, there are no columns.
            Err(why) => assert!(why.reason.to_string().starts_with("mbind failed: "), "{why:?}"),
        }
    }

    #[test]
    fn a_signal_ends_the_making_of_memory() {
        let cpu = os::current_cpu().unwrap();
        let node =
            machine::inspect(&machine::Root::live()).machine.cpu(cpu).and_then(|cpu| cpu.node).unwrap_or(0);
        let (deadline, stop) = (Instant::now() + Duration::from_secs(20), Stop::new());
        stop.ask(libc::SIGINT);
        if let Ok(column) = make(node, cpu, 1 << 30, deadline, &stop) {
            assert_eq!(column.touched as u64, LEAST);
        }
    }

    #[test]
    fn a_node_that_does_not_exist_is_refused_with_its_error() {
        let deadline = Instant::now() + Duration::from_millis(1);
        let refused = make(900, 0, 16 << 20, deadline, &Stop::new()).unwrap_err();
        assert!(refused.reason.to_string().starts_with("mbind failed: "), "{refused:?}");
    }

    proptest! {
        #[test]
        fn no_meminfo_panics(text in "[ -~\n]{0,300}") {
            let _ = available_in(&text);
        }
    }
}
