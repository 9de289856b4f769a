//! How throughput and IPC grow from one CPU to all of them: the workloads on ever more CPUs, in each order of CPUs that
//! differs here.

use record::Label;
use record::text::Value;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use machine::Root;
use record::{Coverage, CpuList, Labels, Machine, Unavailable, text};

use super::workloads::{arrays_bytes, chosen, say_what_counts, walked};
use crate::budget::{Budget, Depth};
use crate::context::{Context, Halt, MORE_MEMORY};
use crate::counters::{self, Set};
use crate::fill_order::{self, FillOrder};
use crate::list::Measure;
use crate::workloads::Workload;
use crate::workloads::array_pool::ArrayPool;
use crate::workloads::array_supply::ArraySupply;
use crate::workloads::figures::Seen;
use crate::workloads::incidents::Incidents;
use crate::workloads::worker_pool::{SliceLength, TimeBudget, WorkerPool};

/// See the module.
pub(crate) struct Scaling;

/// What the main job scales: arithmetic, memory, and tables in the first cache.
const NORMAL: [&str; 3] = ["primes", "aes-256-ige", "triad"];

/// Steps of the main job; and of a workload that cannot be split.
const FEW_STEPS: usize = 5;

/// Visits of a step, in the order of the steps and back (twice that in a full run), so that a drift falls on all alike.
const VISITS: usize = 2;

/// Slices of a visit.
const SLICES: usize = 4;

/// On a machine so busy that steps take longer than they should, seconds beyond the budget in which another workload may
/// still begin.
const OVERTIME: f64 = 3.0;

/// Slices that a visit has even where time is short.
const LEAST: usize = 3;

/// Seconds that a visit costs beside its slices, and for each of its threads.
const VISIT_SECONDS: (f64, f64) = (5e-3, 0.2e-3);

/// One group of CPUs, and under which orders it comes up.
#[derive(Clone, Debug, PartialEq)]
struct Step {
    cpus: Vec<u32>,
    orders: Vec<FillOrder>,
}

impl Measure for Scaling {
    fn name(&self) -> &'static str {
        "scaling"
    }

    fn glossary(&self) -> &'static str {
        "
            How does throughput grow from one CPU to all of them, with the cores first, the siblings first,
            one node after the other and nodes in turn? `linespeed list` says how long it takes. It needs two
            CPUs.
            How: See `workload.throughput`. A fit of the Universal Scalability Law tells what is serialized
            and what is spent on coherency.
        "
    }

    fn metrics(&self) -> &'static [&'static str] {
        &["workload.throughput", "core.ipc", "counter.count"]
    }

    fn outlook(&self, _: &Machine, _: &record::Snapshot, cpus: &CpuList) -> Coverage {
        if cpus.len() < 2 {
            return Coverage::impossible(self.name(), text!("needs-two-cpus", "it needs two CPUs"))
                .with_remedy(crate::list::MORE_CPUS);
        }
        Coverage::measured(self.name())
    }

    fn budget(&self, machine: &Machine, cpus: &CpuList, depth: Depth) -> Budget {
        let few = steps(machine, cpus, Depth::Normal).len() as f64;
        let all = steps(machine, cpus, Depth::Named).len() as f64;
        let threads = cpus.len() as f64;
        let seconds = match depth {
            Depth::Quick => 0.0,
            Depth::Normal => 0.3 * few + threads * 2e-3,
            Depth::Named => (8.0 + 2.0 * all).min(46.0),
            Depth::Full => (10.0 + 6.0 * all).min(240.0),
        };
        let seconds = seconds + ArraySupply::seconds(depth);
        Budget { seconds, bytes: if depth == Depth::Quick { 0 } else { arrays_bytes(machine) } }
    }

    fn run(&self, context: &mut Context) -> Result<(), Halt> {
        if context.depth == Depth::Quick {
            context
                .coverage
                .push(Coverage::skipped(self.name(), text!("not-in-quick-run", "not in a quick run")));
            return Ok(());
        }
        if context.cpus.len() < 2 {
            return Err(Halt::Impossible(text!("needs-two-cpus", "it needs two CPUs")));
        }
        let normal = context.depth == Depth::Normal;
        let mut chosen =
            chosen(context, self.name(), |workload| !normal || NORMAL.contains(&workload.name()))?;
        say_what_counts(context, self.name());
        let incidents = Incidents::new(Root::live(), context.machine.cpus.len());
        let latest = Instant::now() + Duration::from_secs_f64(context.seconds_left() + OVERTIME);
        let mut supply = ArraySupply::new(context);
        let all = steps(context.machine, &context.cpus, context.depth);
        let few = steps(context.machine, &context.cpus, Depth::Normal);
        say_what_is_one(context);
        // What takes whole passes comes last, since it is what may take too long.
        chosen.sort_by_key(|workload| workload.indivisible());
        let count = chosen.len();
        let mut too_late = Vec::new();
        for (index, &workload) in chosen.iter().enumerate() {
            context.check()?;
            if Instant::now() >= latest {
                too_late.push(workload.name());
                continue;
            }
            let reserved = supply.reserved(context, &chosen[index..]);
            let rest: f64 = chosen[index..].iter().map(|workload| weight(*workload)).sum();
            let share = (context.seconds_left() - reserved).max(0.0) * weight(workload) / rest;
            let pool = supply.arrays_for(context, self.name(), workload)?;
            // Passes of some tenths of a second would take minutes on every step.
            let steps = if workload.indivisible() && context.depth < Depth::Full { &few } else { &all };
            if let Err(why) = measure_steps(context, workload, steps, &pool, share, &incidents) {
                context.coverage.push(why.into_degraded(format!("scaling {}", workload.name())));
            }
            context.advance((index + 1) as f64 / count as f64);
        }
        if !too_late.is_empty() {
            let what = format!("scaling {}", too_late.join(", "));
            let entry = Coverage::skipped(what, text!("time-ended-before", "the time ended before it"));
            context.coverage.push(entry.with_remedy("linespeed run scaling --full"));
        }
        context.check()
    }
}

/// A workload's part of the time: whole passes take more of it.
fn weight(workload: &dyn Workload) -> f64 {
    if workload.indivisible() { 3.0 } else { 1.0 }
}

/// Every group of CPUs to measure, by number of CPUs; orders that take the same CPUs share it.
fn steps(machine: &Machine, cpus: &CpuList, depth: Depth) -> Vec<Step> {
    let normal = depth <= Depth::Normal;
    let orders =
        if normal { vec![FillOrder::CoresFirst] } else { fill_order::distinct_orders(machine, cpus) };
    let most = normal.then_some(FEW_STEPS);
    let mut steps: Vec<(BTreeSet<u32>, Step)> = Vec::new();
    for order in orders {
        let sequence = order.cpus(machine, cpus);
        for threads in fill_order::steps(order, machine, cpus, most) {
            let group: Vec<u32> = sequence.iter().take(threads).copied().collect();
            let set: BTreeSet<u32> = group.iter().copied().collect();
            match steps.iter_mut().find(|(known, _)| *known == set) {
                Some((_, step)) => step.orders.push(order),
                None => steps.push((set, Step { cpus: group, orders: vec![order] })),
            }
        }
    }
    let mut steps: Vec<Step> = steps.into_iter().map(|(_, step)| step).collect();
    steps.sort_by_key(|step| step.cpus.len());
    steps
}

/// Orders of CPUs that are the same here are measured once, which is said.
fn say_what_is_one(context: &mut Context) {
    if context.depth <= Depth::Normal {
        return;
    }
    let distinct = fill_order::distinct_orders(context.machine, &context.cpus);
    let same: Vec<&str> = fill_order::FILL_ORDERS
        .into_iter()
        .filter(|order| !distinct.contains(order))
        .map(FillOrder::name)
        .collect();
    if !same.is_empty() {
        let measured: Vec<&str> = distinct.into_iter().map(FillOrder::name).collect();
        context.coverage.push(Coverage::skipped(
            "scaling placements",
            text!(
                "scaling-same-placements",
                "{same}: same order of CPUs here as {measured}",
                same = same.join(", "),
                measured = measured.join(", ")
            ),
        ));
    }
}

/// Measures one workload at every step in about `seconds`.
fn measure_steps(
    context: &mut Context,
    workload: &dyn Workload,
    steps: &[Step],
    pool: &Option<std::sync::Arc<ArrayPool>>,
    seconds: f64,
    incidents: &Incidents,
) -> Result<(), Unavailable> {
    let begun = Instant::now();
    let steps = affordable(context, workload, steps)?;
    let cpus: BTreeSet<u32> = steps.iter().flat_map(|step| step.cpus.iter().copied()).collect();
    if cpus.is_empty() {
        return Err(text!("scaling-no-memory", "not enough memory for one thread").into());
    }
    let cpus: Vec<u32> = cpus.into_iter().collect();
    let workers = WorkerPool::start(workload, context.machine, &cpus, pool.as_ref())?;
    let mut seen: Vec<Seen> = steps
        .iter()
        .map(|step| Seen::new(workload, step.cpus.clone(), walked(workload, pool, &step.cpus)))
        .collect();
    let seconds = (seconds - begun.elapsed().as_secs_f64()).max(0.0);
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let most = context.depth.pick_named(0.02, 0.06, 0.1, 0.4);
    let visits = context.depth.pick(VISITS, VISITS, 2 * VISITS);
    let length = slice_seconds(&steps, visits, seconds).min(most);
    for visit in 0..visits {
        let mut order: Vec<usize> = (0..steps.len()).collect();
        if visit % 2 == 1 {
            order.reverse();
        }
        for (done, at) in order.iter().enumerate() {
            if context.stop.signal().is_some() {
                break;
            }
            let left = ((visits - visit) * steps.len() - done) as f64;
            let now = Instant::now();
            let budget = TimeBudget {
                length: SliceLength::Seconds(length),
                least: if workload.indivisible() { 1 } else { LEAST },
                most: SLICES,
                deadline: now + end.saturating_duration_since(now).div_f64(left),
                counted: counters::availability().pmu.then_some(Set::Core),
            };
            seen[*at].add(workers.run_group(&steps[*at].cpus, budget, incidents, context.stop));
        }
    }
    for (step, seen) in steps.iter().zip(seen) {
        // An interrupted run keeps the steps that it has, and does not complain of the others.
        if seen.slices.is_empty() && context.stop.signal().is_some() || !seen.sound(context, "scaling") {
            continue;
        }
        for order in &step.orders {
            let place = Labels::new()
                .with_label(Label::Workload, workload.name())
                .with_label(Label::Threads, step.cpus.len())
                .with_label(Label::Placement, order.name());
            let throughput = seen.throughput(context.machine, place.clone());
            // One figure a place: this one was measured beside the other steps.
            context.measurements.retain(|m| m.metric != throughput.metric || m.labels != throughput.labels);
            context.push(throughput);
            for m in seen.instructions(context.machine, place.clone(), place) {
                context.push(m);
            }
        }
    }
    Ok(())
}

/// The steps for which there is memory; the others are named in the coverage.
fn affordable(
    context: &mut Context,
    workload: &dyn Workload,
    steps: &[Step],
) -> Result<Vec<Step>, Unavailable> {
    let each = workload.bytes(context.machine);
    let allowed = context.memory_allowance();
    let threads = allowed.checked_div(each).map_or(usize::MAX, |n| n as usize);
    // Each CPU keeps its memory from its first step to the last.
    let mut cpus = BTreeSet::new();
    let (mut some, mut left_out) = (Vec::new(), Vec::new());
    for step in steps {
        let with: BTreeSet<u32> = cpus.iter().chain(&step.cpus).copied().collect();
        if with.len() <= threads {
            cpus = with;
            some.push(step.clone());
        } else {
            left_out.push(step.cpus.len());
        }
    }
    if let (Some(least), Some(most)) = (left_out.first(), left_out.last()) {
        let steps = if least == most { least.to_string() } else { format!("{least} to {most}") };
        context.coverage.push(
            Coverage::degraded(
                format!("scaling {}", workload.name()),
                text!(
                    "scaling-memory-short",
                    "memory suffices for {threads} threads ({each} each): {missing} steps of {steps} threads are left out",
                    threads,
                    each = Value::Bytes(each),
                    missing = left_out.len(),
                    steps
                ),
            )
            .with_remedy(MORE_MEMORY),
        );
    }
    Ok(some)
}

/// Length of a slice so that all visits of all steps fit into `seconds`; 5 ms at least.
fn slice_seconds(steps: &[Step], visits: usize, seconds: f64) -> f64 {
    let (each, thread) = VISIT_SECONDS;
    let around: f64 = steps.iter().map(|step| each + thread * step.cpus.len() as f64).sum();
    let slices = (steps.len() * visits * SLICES) as f64;
    ((seconds * 0.9 - around * visits as f64) / slices).max(5e-3)
}

#[cfg(test)]
mod tests;
