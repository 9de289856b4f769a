//! Memory bandwidth of read, write, copy, scale, add, triad and mixes, with regular and with streaming stores, on one
//! thread, one package and all CPUs. Each thread works on its own part of the arrays, which it touched first. Bytes are
//! summed over the interval in which all threads worked. If other tasks run on the CPUs, their share of the bandwidth
//! is also measured.

mod beside;
mod walk;
mod write_allocate;

use kernels::stream::{self, Op, Stores, Stream};
use record::text::Value;
use record::{Coverage, CpuList, Doubt, Label, Labels, Machine, Measurement, detail, metrics, text};

use beside::Taken;
use walk::Group;

use crate::array_setup;
use crate::arrays::{ARRAYS, Part};
use crate::budget::{Budget, Depth, beyond_caches, last_level_of, memory_allowance_at_start};
use crate::context::{Context, Halt};
use crate::measure::Measure;
use crate::reasons::MORE_MEMORY;
use crate::repeat::{Rates, judged, there_and_back};

const NAME: &str = "bandwidth";

/// Maximum half-width of the 95 % CI; a bandwidth with a wider interval is too noisy.
const TARGET: f64 = 0.05;

/// Minimum total size of the arrays that a loop uses, as a multiple of the size of the last-level caches. Each array is created with four
/// times the size of these caches, but rounding to complete chunks leaves slightly less.
const LEAST_TIMES: f64 = 3.5;

/// Maximum time for creating the arrays in a normal run, seconds.
pub(crate) const TOUCH_SECONDS: f64 = 7.0;

pub(crate) const BANDWIDTH: Measure = Measure {
    name: NAME,
    metrics: &[
        metrics::MEMORY_BANDWIDTH,
        metrics::MEMORY_WRITE_ALLOCATE_AVOIDED,
        metrics::STREAM_NS_PER_ELEMENT,
    ],
    obstacle: |machine, snapshot, _| {
        let wanted = beyond_caches(machine);
        let allowed = memory_allowance_at_start(machine, snapshot) / ARRAYS as u64;
        let why = text!(
            "arrays are limited to {allowed} each, less than four times the last-level caches ({wanted}); some accesses may hit caches",
            allowed = Value::Bytes(allowed),
            wanted = Value::Bytes(wanted)
        );
        (allowed < wanted).then(|| Coverage::degraded(NAME, why).with_remedy(MORE_MEMORY))
    },
    // The time includes the first touch of many gigabytes on many CPUs, and starting hundreds of threads for each result.
    budget: |machine, cpus, depth| Budget {
        seconds: depth.pick(1.7, 11.0, 90.0) + cpus.len() as f64 * depth.pick(0.1e-3, 20e-3, 75e-3),
        bytes: beyond_caches(machine).saturating_mul(ARRAYS as u64),
    },
    uses_arrays: true,
    run,
};

fn run(context: &mut Context) -> Result<(), Halt> {
    let cpus: Vec<u32> = context.cpus.iter().collect();
    let lead = context.lead()?;
    // Arrays that another measurement had to make too small for lack of time are created again: streams through a cache
    // do not measure memory.
    if context.kept_arrays.as_ref().is_some_and(|kept| kept.slow) {
        context.kept_arrays = None;
    }
    let ready = array_setup::prepare(context, NAME, context.depth.pick(1.5, TOUCH_SECONDS - 2.0, 60.0))?;
    let ready = array_setup::with_third(context, ready)?;
    if ready.slow {
        let why = text!(
            "first touch is slow: arrays reached {ready} each instead of {wanted} (four times the last-level caches)",
            ready = Value::Bytes(ready.bytes()),
            wanted = Value::Bytes(beyond_caches(context.machine))
        );
        context.degrade_with_remedy(NAME, why, "linespeed run bandwidth --full");
    }
    let groups = groups(context.machine, &cpus, lead);
    let ended = plan_and_run(context, &groups, &ready.parts);
    // The streaming workloads walk the same arrays.
    context.kept_arrays = Some(ready);
    ended
}

/// The groups: one thread, each package if there are several, all CPUs.
fn groups(machine: &Machine, cpus: &[u32], lead: u32) -> Vec<Group> {
    let own = |group: &[u32]| -> Vec<Vec<usize>> {
        group.iter().filter_map(|cpu| cpus.iter().position(|c| c == cpu)).map(|index| vec![index]).collect()
    };
    let node = |cpu: u32| machine.cpu(cpu).and_then(|c| c.node);
    // One thread walks the parts of all CPUs of its node, because its own part would fit in a large last-level cache.
    let near = (0..cpus.len()).filter(|index| node(cpus[*index]) == node(lead)).collect();
    let mut groups = vec![Group { cpus: vec![lead], parts: vec![near], node: node(lead) }];
    let package = |cpu: u32| machine.cpu(cpu).and_then(|c| c.package);
    let of_lead: Vec<u32> = cpus.iter().copied().filter(|cpu| package(*cpu) == package(lead)).collect();
    if of_lead.len() > 1 && of_lead.len() < cpus.len() {
        groups.push(Group { parts: own(&of_lead), cpus: of_lead, node: None });
    }
    if cpus.len() > 1 {
        groups.push(Group { parts: own(cpus), cpus: cpus.to_vec(), node: None });
    }
    groups
}

/// Runs every loop on every group, alternately with regular and with streaming stores.
fn plan_and_run(context: &mut Context, groups: &[Group], parts: &[Part]) -> Result<(), Halt> {
    let ops: Vec<Op> = match context.depth {
        Depth::Quick => vec![Op::Read, Op::Copy, Op::Triad],
        _ => Op::ALL.to_vec(),
    };
    let rounds = context.depth.pick(1, 2, 6);
    // The next two measurements are made before the remaining time is divided, because the first one takes long if other tasks run.
    let taken = beside::measure_taken(context, groups.last(), parts)?;
    write_allocate::measure_avoided(context, groups, parts)?;
    let runs: usize = groups.len() * ops.iter().map(|op| variants(*op).len()).sum::<usize>() * rounds;
    // Most of the budget is spent in the runs; starting threads uses the rest.
    let seconds = (context.seconds_left() * 0.8 / runs as f64).clamp(0.02, 0.5);
    let mut done = 0usize;
    for group in groups.iter().rev() {
        // The fastest vector width differs between machines and operations; a short trial of triad finds it.
        let width = best_width(context, group, parts);
        for &op in &ops {
            let kinds = variants(op);
            let mut taken_of: Vec<Rates> = vec![Rates::default(); kinds.len()];
            for round in 0..rounds {
                for index in there_and_back(round, kinds.len()) {
                    context.check()?;
                    if context.out_of_time() && !taken_of[index].samples.is_empty() {
                        continue;
                    }
                    let Some(stream) = stream::find(op, kinds[index], width) else { continue };
                    let (new, moved) = walk::run(group, parts, stream, seconds);
                    taken_of[index].add(new, context.next_look(), moved);
                    context.look(group.cpus.len() == context.cpus.len());
                    done += 1;
                    context.advance(done as f64 / runs as f64);
                }
            }
            for (rates, stores) in taken_of.into_iter().zip(kinds) {
                if let Some(stream) = stream::find(op, stores, width) {
                    let of_this = |taken: &&Taken| taken.is_with(group.cpus.len(), stream);
                    push(context, group, parts, stream, &rates, taken.as_ref().filter(of_this));
                }
            }
        }
    }
    Ok(())
}

fn variants(op: Op) -> Vec<Stores> {
    if op == Op::Read { vec![Stores::Regular] } else { vec![Stores::Regular, Stores::Streaming] }
}

/// The usable vector width at which triad is fastest on this group. Each width is judged by its faster kind of stores.
fn best_width(context: &Context, group: &Group, parts: &[Part]) -> kernels::Variant {
    let mut widths: Vec<kernels::Variant> =
        stream::all().iter().filter(|s| s.op == Op::Triad && s.variant.usable()).map(|s| s.variant).collect();
    widths.sort_by_key(|variant| variant.bits());
    widths.dedup();
    let widest = widths.last().copied().unwrap_or(kernels::Variant::Scalar);
    if context.depth == Depth::Quick || widths.len() < 2 {
        return widest;
    }
    let seconds = context.depth.pick(0.0, 0.04, 0.2);
    let mut best = (widest, 0.0);
    for variant in widths.into_iter().rev() {
        for stores in [Stores::Regular, Stores::Streaming] {
            let Some(stream) = stream::find(Op::Triad, stores, variant) else { continue };
            let (rates, _) = walk::run(group, parts, stream, seconds);
            let rate = record::Summary::from_samples(&rates).median * f64::from(counted(stream, false));
            // A narrower width is chosen only if it is clearly faster; if the difference is within the noise, the widest one is used.
            if rate > best.1 * 1.02 {
                best = (variant, rate);
            }
        }
    }
    best.0
}

/// Bytes per iteration: either as counted by STREAM, or with an additional read of every stored line.
fn counted(stream: &Stream, bus: bool) -> u32 {
    if bus { stream.bus_bytes() } else { stream.stream_bytes() }
}

/// The doubt about arrays that together are smaller than [`LEAST_TIMES`] times the last-level caches of the loop's
/// CPUs.
fn maybe_cached(machine: &Machine, cpus: &[u32], m: &Measurement) -> Option<Doubt> {
    let caches = last_level_of(machine, cpus);
    let array: u64 = m.detail.get(detail::ARRAY_BYTES)?;
    let arrays: u64 = m.detail.get(detail::ARRAYS)?;
    let walked = array.saturating_mul(arrays);
    ((walked as f64) < LEAST_TIMES * caches as f64).then(|| {
        text!(
            "bandwidth-partly-cached",
            "the arrays ({walked} in total) may fit in the last-level caches ({caches})",
            walked = Value::Bytes(walked),
            caches = Value::Bytes(caches)
        )
        .into()
    })
}

fn push(
    context: &mut Context,
    group: &Group,
    parts: &[Part],
    stream: &Stream,
    rates: &Rates,
    taken: Option<&Taken>,
) {
    let list: CpuList = group.cpus.iter().copied().collect();
    let walked: usize =
        group.parts.iter().flatten().filter_map(|index| parts.get(*index)).map(|part| part.bytes).sum();
    let place = Labels::new().with_label(Label::Op, stream.op.name()).with_known(Label::Node, group.node);
    for bus in [false, true] {
        let bytes = f64::from(counted(stream, bus));
        let place = place
            .clone()
            .with_label(Label::Stores, stream.stores.name())
            .with_label(Label::BytesCounted, if bus { "bus" } else { "stream" })
            .with_label(Label::Threads, group.cpus.len())
            .with_label(Label::Cpus, list.to_string());
        let mut m = rates
            .measurement(metrics::MEMORY_BANDWIDTH, place, bytes)
            .with_detail(detail::VECTORS, stream.variant.name())
            .with_detail(detail::ARRAY_BYTES, walked)
            .with_detail(detail::ARRAYS, stream.arrays);
        if let Some(taken) = taken {
            taken.add_details(bytes, &mut m);
        }
        m = judged(m, TARGET);
        let doubt = maybe_cached(context.machine, &group.cpus, &m);
        m.doubt = doubt.or(m.doubt);
        context.push(m);
    }
    // lmbench's stream prints the time per element as "latency", and many older tables use this unit.
    let stream_op = matches!(stream.op, Op::Copy | Op::Scale | Op::Add | Op::Triad);
    if stream_op && stream.stores == Stores::Regular && group.cpus.len() == 1 {
        // Each iteration processes the same number of elements of every array.
        let elements = f64::from(counted(stream, false) / u32::from(stream.arrays)) / 8.0;
        let place = place.with_label(Label::Cpu, group.cpus[0]);
        let samples = rates.samples.iter().map(|rate| 1e9 / (rate * elements)).collect();
        context.push(judged(Measurement::new(metrics::STREAM_NS_PER_ELEMENT, place, samples), TARGET));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_of_arrays_that_caches_hold_is_in_doubt() {
        let cache = |cpus: [u32; 2]| record::machine::Cache {
            level: 3,
            kind: record::machine::CacheKind::Unified,
            bytes: Some(32 << 20),
            line: Some(64),
            ways: None,
            cpus: cpus.into_iter().collect(),
        };
        let machine = Machine { caches: vec![cache([0, 1]), cache([2, 3])], ..Default::default() };
        let doubt = |cpus: &[u32], bytes: u64, arrays: u64| {
            let m = Measurement::new("memory.bandwidth", Labels::new(), vec![2e10; 8])
                .with_detail(detail::ARRAY_BYTES, bytes)
                .with_detail(detail::ARRAYS, arrays);
            maybe_cached(&machine, cpus, &m)
        };
        assert_eq!(doubt(&[0, 1], 21 << 20, 3).unwrap().code(), Some("bandwidth-partly-cached"));
        assert!(doubt(&[0, 1], 127 << 20, 1).is_none());
        // Both caches are shared by all CPUs.
        assert!(doubt(&[0, 1, 2, 3], 127 << 20, 1).is_some() && doubt(&[0, 1, 2, 3], 127 << 20, 3).is_none());
    }

    #[test]
    fn one_thread_walks_its_nodes_parts_and_each_of_many_its_own() {
        let mut machine = Machine::default();
        for id in 0..4u32 {
            machine.cpus.push(record::machine::Cpu {
                id,
                online: true,
                allowed: true,
                core: Some(id),
                package: Some(id / 2),
                node: Some(id / 2),
                ..Default::default()
            });
        }
        let groups = groups(&machine, &[0, 1, 2, 3], 1);
        assert_eq!(groups.len(), 3);
        assert_eq!((groups[0].cpus.clone(), groups[0].parts.clone()), (vec![1], vec![vec![0, 1]]));
        assert_eq!(groups[1].cpus, [0, 1]);
        assert_eq!(groups[2].parts, [[0], [1], [2], [3]]);
    }
}
