//! Measures how throughput and IPC scale from one CPU to all CPUs: the workloads run on an increasing number of CPUs,
//! in each distinct order of CPUs.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use record::text::Value;
use record::{Coverage, CpuList, Label, Labels, Machine, Unavailable, metrics, text};

use crate::budget::{Budget, Depth};
use crate::context::{Context, Halt};
use crate::counters::{self, Set};
use crate::fill_order::{self, FillOrder, Step, shared_steps};
use crate::measure::Measure;
use crate::reasons::{MORE_CPUS, MORE_MEMORY, NEEDS_TWO_CPUS};
use crate::repeat::there_and_back;
use crate::workloads::Workload;
use crate::workloads::figures::Seen;
use crate::workloads::session::{Session, Turn, array_bytes, array_seconds};
use crate::workloads::worker_pool::{SliceLength, TimeBudget};

const NAME: &str = "scaling";

/// The workloads of the default run: arithmetic, and tables in the L1 cache. The bandwidth measurement shows the scaling
/// of memory.
const NORMAL: [&str; 2] = ["primes", "aes-256-ige"];

/// Maximum number of steps in the default run, and for a workload that cannot be split.
const FEW_STEPS: usize = 5;

/// Number of visits to each step, in ascending and then descending order (twice as many in a full run), so that drift
/// affects all steps equally.
const VISITS: usize = 2;

/// Slices of a visit.
const SLICES: usize = 4;

/// Seconds beyond the budget in which another workload may still begin, on a machine so busy that steps take longer
/// than planned.
const OVERTIME: f64 = 3.0;

/// Minimum number of slices per visit if time is short.
const LEAST: usize = 3;

/// Seconds that a visit takes in addition to its slices, and additional seconds for each of its threads.
const VISIT_SECONDS: (f64, f64) = (5e-3, 0.2e-3);

pub(crate) const SCALING: Measure = Measure {
    name: NAME,
    metrics: &[metrics::WORKLOAD_THROUGHPUT, metrics::CORE_IPC, metrics::COUNTER_COUNT],
    obstacle: |_, _, cpus| {
        (cpus.len() < 2).then(|| Coverage::impossible(NAME, NEEDS_TWO_CPUS).with_remedy(MORE_CPUS))
    },
    budget: |machine, cpus, depth| {
        let few = steps(machine, cpus, Depth::Normal).len() as f64;
        let all = steps(machine, cpus, Depth::Named).len() as f64;
        let seconds = match depth {
            Depth::Quick => 0.0,
            Depth::Normal => 0.2 * few + cpus.len() as f64 * 2e-3,
            Depth::Named => (8.0 + 2.0 * all).min(46.0),
            Depth::Full => (10.0 + 6.0 * all).min(240.0),
        };
        match depth {
            Depth::Quick | Depth::Normal => Budget { seconds, bytes: 0 },
            _ => Budget { seconds: seconds + array_seconds(depth), bytes: array_bytes(machine, depth) },
        }
    },
    uses_arrays: true,
    run,
};

fn run(context: &mut Context) -> Result<(), Halt> {
    let normal = context.depth == Depth::Normal;
    let latest = Instant::now() + Duration::from_secs_f64(context.seconds_left() + OVERTIME);
    let all = steps(context.machine, &context.cpus, context.depth);
    let few = steps(context.machine, &context.cpus, Depth::Normal);
    let threads: Vec<usize> = all.iter().map(|step| step.cpus.len()).collect();
    let wanted = |workload: &dyn Workload| !normal || NORMAL.contains(&workload.name());
    let mut session = Session::begin(context, NAME, &threads, wanted)?;
    session.report_counters(context);
    report_same_orders(context);
    // Workloads that run only in complete passes are run last, because they may take too long.
    session.chosen.sort_by_key(|workload| workload.definition().indivisible);
    let count = session.chosen.len();
    let mut too_late = Vec::new();
    for index in 0..count {
        context.check()?;
        let workload = session.chosen[index];
        if Instant::now() >= latest {
            too_late.push(workload.name());
            continue;
        }
        let rest: f64 = session.chosen[index..].iter().map(|workload| weight(*workload)).sum();
        // Passes that take a few tenths of a second each would take minutes for all steps.
        let few_enough = workload.definition().indivisible && context.depth < Depth::Full;
        let steps = if few_enough { &few } else { &all };
        session.measure(context, index, weight(workload) / rest, |context, turn| {
            measure_steps(context, turn, steps)
        })?;
        context.look_between(true);
        context.advance((index + 1) as f64 / count as f64);
    }
    if !too_late.is_empty() {
        let what = format!("scaling {}", too_late.join(", "));
        let entry = Coverage::skipped(what, text!("out of time before this step"));
        context.coverage.push(entry.with_remedy("linespeed run scaling --full"));
    }
    context.check()
}

/// A workload's weight for dividing the time: workloads that run in complete passes need more.
fn weight(workload: &dyn Workload) -> f64 {
    if workload.definition().indivisible { 3.0 } else { 1.0 }
}

/// All groups of CPUs to measure, by number of CPUs; orders with the same CPUs share a group.
fn steps(machine: &Machine, cpus: &CpuList, depth: Depth) -> Vec<Step> {
    let normal = depth <= Depth::Normal;
    let orders =
        if normal { vec![FillOrder::CoresFirst] } else { fill_order::distinct_orders(machine, cpus) };
    let most = normal.then_some(FEW_STEPS);
    shared_steps(machine, cpus, &orders, |order| fill_order::steps(order, machine, cpus, most))
}

/// Reports that identical orders of CPUs are measured only once.
fn report_same_orders(context: &mut Context) {
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
        let why = text!(
            "{same}: same CPU order as {measured} on this machine",
            same = same.join(", "),
            measured = measured.join(", ")
        );
        context.coverage.push(Coverage::skipped("scaling placements", why));
    }
}

/// Measures one workload at every step.
fn measure_steps(context: &mut Context, turn: &Turn, steps: &[Step]) -> Result<(), Unavailable> {
    let workload = turn.workload;
    let steps = affordable(context, workload, steps);
    let cpus: BTreeSet<u32> = steps.iter().flat_map(|step| step.cpus.iter().copied()).collect();
    if cpus.is_empty() {
        return Err(text!("not enough memory for one thread").into());
    }
    let cpus: Vec<u32> = cpus.into_iter().collect();
    let workers = turn.start_workers(context.machine, &cpus)?;
    let mut seen: Vec<Seen> =
        steps.iter().map(|step| Seen::new(workload, step.cpus.clone(), turn.walked(&step.cpus))).collect();
    let most = context.depth.pick_named(0.02, 0.06, 0.1, 0.4);
    let visits = context.depth.pick(VISITS, VISITS, 2 * VISITS);
    let length = slice_seconds(&steps, visits, turn.seconds_left()).min(most);
    for visit in 0..visits {
        for (done, at) in there_and_back(visit, steps.len()).enumerate() {
            if context.stop.signal().is_some() {
                break;
            }
            let left = ((visits - visit) * steps.len() - done) as f64;
            let now = Instant::now();
            let budget = TimeBudget {
                length: SliceLength::Seconds(length),
                least: if workload.definition().indivisible { 1 } else { LEAST },
                most: SLICES,
                deadline: now + turn.end.saturating_duration_since(now).div_f64(left),
                counted: counters::availability().pmu.then_some(Set::Core),
            };
            seen[at].add(workers.run_group(&steps[at].cpus, budget, turn.incidents, context.stop));
        }
    }
    for (step, seen) in steps.iter().zip(seen) {
        // An interrupted run preserves its completed steps, and does not report the missing steps.
        if seen.run.slices.is_empty() && context.stop.signal().is_some() || !seen.passes_checks(context, NAME)
        {
            continue;
        }
        for order in &step.orders {
            let place = Labels::new()
                .with_label(Label::Workload, workload.name())
                .with_label(Label::Threads, step.cpus.len())
                .with_label(Label::Placement, order.name());
            let throughput = seen.throughput(context.machine, place.clone());
            // There is one result per set of labels. The new result was measured together with the other steps, so it replaces any earlier
            // one.
            context.measurements.retain(|m| m.metric != throughput.metric || m.labels != throughput.labels);
            context.push(throughput);
            if let (FillOrder::CoresFirst, [cpu]) = (order, &step.cpus[..]) {
                replace_time(context, &seen, *cpu);
            }
            for m in seen.instructions(context.machine, place.clone(), place) {
                context.push(m);
            }
        }
    }
    Ok(())
}

/// Replaces the time of a pass: the time is reported together with the throughput of one thread, so both results must be from the same
/// slices.
fn replace_time(context: &mut Context, seen: &Seen, cpu: u32) {
    let place = Labels::new().with_label(Label::Workload, seen.workload.name());
    let before = context.measurements.len();
    context.measurements.retain(|m| {
        m.metric != metrics::WORKLOAD_TIME || m.labels.word(Label::Workload) != place.word(Label::Workload)
    });
    if context.measurements.len() < before {
        context.push(seen.time(context.machine, place.with_label(Label::Cpu, cpu)));
    }
}

/// The steps for which there is enough memory; the others are listed in the coverage.
fn affordable(context: &mut Context, workload: &dyn Workload, steps: &[Step]) -> Vec<Step> {
    let each = workload.definition().bytes;
    let threads = context.memory_allowance().checked_div(each).map_or(usize::MAX, |n| n as usize);
    // Each CPU keeps its memory from its first step to the last step.
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
        let why = text!(
            "skipped steps: {missing} ({steps} threads), because memory allows only {threads} × {each}",
            each = Value::Bytes(each),
            missing = left_out.len()
        );
        context.degrade_with_remedy(format!("scaling {}", workload.name()), why, MORE_MEMORY);
    }
    some
}

/// The length of a slice with which all visits to all steps fit into `seconds`, but at least 5 ms.
fn slice_seconds(steps: &[Step], visits: usize, seconds: f64) -> f64 {
    let (each, thread) = VISIT_SECONDS;
    let around: f64 = steps.iter().map(|step| each + thread * step.cpus.len() as f64).sum();
    let slices = (steps.len() * visits * SLICES) as f64;
    ((seconds * 0.9 - around * visits as f64) / slices).max(5e-3)
}

#[cfg(test)]
mod tests;
