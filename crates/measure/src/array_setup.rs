//! Creates the arrays for bandwidth kernels.
//!
//! Memory is allocated once per run and reused. Some machines provide memory slowly: a virtual machine whose host backs memory only at
//! first touch took 3 s per GiB, a hundred times as long as it takes to measure the bandwidth of that memory.

use std::sync::Arc;
use std::time::Instant;

use record::text;
use record::text::Value;

use crate::arrays::{ARRAYS, Arrays, CHUNK, Part, SKEW, Slot};
use crate::budget::beyond_caches;
use crate::context::{Context, Halt};
use crate::reasons::{PLACEMENT_NOT_VERIFIED, THREAD_NOT_STARTED};
use crate::thread_group;
use os::placement::{LEAST_SHARE, Placement};

/// Creates two arrays for each CPU, each at least four times the cache size if memory and `seconds` allow.
pub(crate) fn prepare(context: &mut Context, what: &str, seconds: f64) -> Result<Arrays, Halt> {
    if let Some(arrays) = context.kept_arrays.take() {
        return Ok(arrays);
    }
    let cpus: Vec<u32> = context.cpus.iter().collect();
    context.lead()?;
    let wanted = beyond_caches(context.machine);
    // The third array uses the latency measurement's memory if it is large enough. Otherwise, that memory is freed.
    let two = wanted.min(context.memory_allowance() / (ARRAYS - 1) as u64);
    let new_arrays = if hands_on(context, two) { ARRAYS - 1 } else { ARRAYS } as u64;
    if new_arrays == ARRAYS as u64 {
        context.kept_cycle = None;
    }
    let allowed = wanted.min(context.memory_allowance() / new_arrays);
    let each = usize::try_from(allowed / cpus.len() as u64).unwrap_or(usize::MAX);
    if each < CHUNK {
        return Err(text!(
            "available memory allows arrays of {allowed}; each of the {cpus} CPUs needs {least}",
            allowed = Value::Bytes(allowed),
            least = Value::Bytes(CHUNK as u64),
            cpus = cpus.len()
        )
        .into());
    }
    let share = (ARRAYS - 1) as f64 / new_arrays as f64;
    let deadline = Instant::now() + std::time::Duration::from_secs_f64(seconds.max(0.0) * share);
    let mut parts = Vec::with_capacity(cpus.len());
    for part in thread_group::run(&cpus, |_| Part::two_arrays(each, deadline, context.stop)) {
        let part = part.ok_or(THREAD_NOT_STARTED)?;
        parts.push(part.map_err(|error| text!("cannot map the arrays: {error}"))?);
    }
    context.check()?;
    // All parts have the same size, so that all threads walk the same distance.
    let least = parts.iter().map(|part| part.bytes).min().unwrap_or(CHUNK);
    parts.iter_mut().for_each(|part| part.bytes = least);
    check_placement(context, what, &cpus, &parts)?;
    let mut arrays = Arrays { parts, slow: false };
    arrays.slow = (arrays.bytes() as f64) < 0.97 * allowed as f64;
    Ok(arrays)
}

/// Adds the third array: from the memory of the saved cycle on a machine with one node, otherwise newly touched by its
/// CPU.
pub(crate) fn with_third(context: &mut Context, mut arrays: Arrays) -> Result<Arrays, Halt> {
    if arrays.parts.first().is_some_and(|part| part.slots.len() == ARRAYS) {
        return Ok(arrays);
    }
    let cpus: Vec<u32> = context.cpus.iter().collect();
    let least = arrays.bytes().saturating_sub((2 * CHUNK * cpus.len()) as u64);
    let carved = if hands_on(context, least) { context.kept_cycle.take() } else { None };
    if let Some(cycle) = carved {
        let (mapping, touched) = cycle.into_mapping();
        let mapping = Arc::new(mapping);
        let room = (touched / cpus.len()).saturating_sub(CHUNK) / CHUNK * CHUNK;
        let bytes = arrays.parts.iter().map(|part| part.bytes).min().unwrap_or(0).min(room);
        // The other arrays shrink to the size of the third, unless it is much smaller: they might then fit in the caches.
        if bytes >= CHUNK && arrays.parts.iter().all(|part| part.bytes <= bytes + 2 * CHUNK) {
            for (index, part) in arrays.parts.iter_mut().enumerate() {
                part.bytes = bytes;
                let offset = index * (bytes + SKEW / 64 * 64) + SKEW / 64 * 32;
                part.slots.insert(0, Slot { mapping: mapping.clone(), offset: offset / 64 * 64 });
                part.fill_all(context.stop);
            }
            context.check()?;
            return Ok(arrays);
        }
    }
    context.kept_cycle = None;
    let parts = &arrays.parts;
    let slots = thread_group::run(&cpus, |member| Part::one_array(parts[member.index].bytes, context.stop));
    context.check()?;
    for (part, slot) in arrays.parts.iter_mut().zip(slots) {
        let unmapped = || text!("the third array could not be mapped");
        part.slots.insert(0, slot.and_then(Result::ok).ok_or_else(unmapped)?);
    }
    Ok(arrays)
}

/// Whether the latency measurement's memory can be reused as an array of this size. With several nodes, it cannot,
/// because each CPU needs memory of its own node.
fn hands_on(context: &Context, bytes: u64) -> bool {
    let least = bytes.max(4 * CHUNK as u64);
    context.machine.nodes.len() <= 1
        && context.kept_cycle.as_ref().is_some_and(|cycle| cycle.bytes() as u64 >= least)
}

/// Fails if less than 99 % of the pages are on their thread's node.
fn check_placement(context: &mut Context, what: &str, cpus: &[u32], parts: &[Part]) -> Result<(), Halt> {
    if context.machine.nodes.len() < 2 {
        return Ok(());
    }
    let (mut on_node, mut asked) = (0.0, 0usize);
    let mut unknown = None;
    let nodes: Vec<Option<u32>> = cpus.iter().map(|cpu| context.node_of(*cpu)).collect();
    // Each CPU queries its own part, because the query may read the part, and a read from another node could move it there.
    let reported = thread_group::run(cpus, |m| nodes[m.index].map(|node| parts[m.index].placement(node)));
    for placement in reported {
        match placement {
            Some(Some(Placement::Share { on_node: share, pages })) => {
                on_node += share * pages as f64;
                asked += pages;
            }
            Some(Some(Placement::Unknown(why))) => unknown = Some(why),
            // The node of this CPU is unknown, so its part cannot be checked.
            Some(None) => {}
            None => unknown = Some(THREAD_NOT_STARTED.into()),
        }
    }
    if let Some(why) = unknown {
        context.degrade(what, text!(PLACEMENT_NOT_VERIFIED, why));
    }
    if asked > 0 && on_node / (asked as f64) < LEAST_SHARE {
        return Err(text!(
            "only {share} of pages are on the node of the CPU that first touched them: a memory policy is set, or a node is full",
            share = Value::Share(on_node / asked as f64)
        )
        .into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Depth;
    use crate::context::tests::Silent;
    use crate::cycle::Cycle;
    use os::Stop;
    use os::mapping::Page;
    use record::{CpuList, Machine, Snapshot};

    /// Checks that the arrays of all parts do not overlap and are aligned to cache lines.
    fn apart(arrays: &Arrays) {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for part in &arrays.parts {
            for index in 0..part.slots.len() {
                let from = part.array(index, 0) as usize;
                let to = part.array(index, part.bytes - CHUNK) as usize + CHUNK;
                assert_eq!((from % 64, to - from), (0, part.bytes));
                let mapping = &part.slots[index].mapping;
                assert!(to <= mapping.start() as usize + mapping.len());
                ranges.push((from, to));
            }
        }
        ranges.sort_unstable();
        assert!(ranges.windows(2).all(|w| w[0].1 <= w[1].0), "{ranges:?}");
    }

    fn with_context(work: impl FnOnce(&mut Context)) {
        let cpu = os::current_cpu().unwrap();
        let mut machine = Machine::default();
        machine.cpus.push(record::machine::Cpu {
            id: cpu,
            online: true,
            allowed: true,
            ..Default::default()
        });
        let (snapshot, stop, mut silent) = (Snapshot::default(), Stop::new(), Silent);
        let cpus: CpuList = [cpu].into_iter().collect();
        work(&mut Context::new(&machine, &snapshot, Depth::Quick, cpus, &stop, &mut silent));
    }

    #[test]
    fn arrays_do_not_overlap_made_afresh() {
        with_context(|context| {
            let arrays = prepare(context, "bandwidth", 60.0).unwrap();
            let arrays = with_third(context, arrays).unwrap();
            assert_eq!(arrays.bytes(), 64 << 20);
            apart(&arrays);
        });
    }

    #[test]
    fn a_signal_ends_the_making_of_the_third_array() {
        let stop = Stop::new();
        stop.ask(2);
        // Nothing was touched; a touched page would not be zero.
        let slot = Part::one_array(4 * CHUNK, &stop).unwrap();
        // SAFETY: this is the first word of the mapping, which nothing else uses.
        assert_eq!(unsafe { slot.mapping.start().cast::<u64>().read() }, 0);
        with_context(|context| {
            let arrays = prepare(context, "bandwidth", 60.0).unwrap();
            context.stop.ask(2);
            assert_eq!(with_third(context, arrays).err(), Some(Halt::Interrupted));
        });
    }

    #[test]
    fn arrays_do_not_overlap_carved_from_the_cycle() {
        with_context(|context| {
            let (mut cycle, _) = Cycle::new(64 << 20, Page::Base, None).unwrap();
            cycle.grow_to(64 << 20);
            context.kept_cycle = Some(cycle);
            let arrays = prepare(context, "bandwidth", 60.0).unwrap();
            let arrays = with_third(context, arrays).unwrap();
            assert!(arrays.bytes() > 60 << 20 && arrays.bytes() <= 64 << 20);
            apart(&arrays);
        });
    }

    #[test]
    fn a_small_cycle_leaves_the_arrays_beyond_the_caches() {
        with_context(|context| {
            let (mut cycle, _) = Cycle::new(16 << 20, Page::Base, None).unwrap();
            cycle.grow_to(16 << 20);
            context.kept_cycle = Some(cycle);
            let arrays = prepare(context, "bandwidth", 60.0).unwrap();
            let arrays = with_third(context, arrays).unwrap();
            assert_eq!(arrays.bytes(), 64 << 20);
            apart(&arrays);
        });
    }

    #[test]
    fn memory_that_comes_too_slowly_gives_smaller_arrays() {
        with_context(|context| {
            let arrays = prepare(context, "bandwidth", 0.0).unwrap();
            assert_eq!(arrays.bytes(), CHUNK as u64);
            assert!(arrays.slow);
        });
    }
}
