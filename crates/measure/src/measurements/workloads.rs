//! Measures each built-in workload on one CPU: throughput, the time of a pass, IPC and the clock, all at the same time.

use std::time::{Duration, Instant};

use record::text::Value;
use record::{Label, Labels, Unavailable, metrics, text};

use crate::budget::{Budget, Depth};
use crate::context::{Context, Halt};
use crate::counters::{self, Set};
use crate::measure::{Measure, NO_OBSTACLE};
use crate::workloads::figures::Seen;
use crate::workloads::session::{Session, Turn, array_bytes, array_seconds};
use crate::workloads::worker_pool::{SliceLength, TimeBudget};

/// The workloads of a quick run: one for the width of the core, and one for its arithmetic.
const QUICK: [&str; 2] = ["nop", "flops"];

/// Workloads without vectors.
const PLAIN: [&str; 3] = ["nop", "cpu-bound", "primes"];

/// Number of slices for a loop, or of passes for a workload that is timed per pass.
const SLICES: usize = 7;

pub(crate) const WORKLOADS: Measure = Measure {
    name: NAME,
    metrics: &[
        metrics::WORKLOAD_THROUGHPUT,
        metrics::WORKLOAD_TIME,
        metrics::CORE_IPC,
        metrics::COUNTER_COUNT,
        metrics::COUNTER_SHARE,
    ],
    obstacle: NO_OBSTACLE,
    budget: |machine, _, depth| Budget {
        seconds: depth.pick_named(0.2, 1.1, 14.0, 40.0) + array_seconds(depth),
        bytes: array_bytes(machine, depth),
    },
    uses_arrays: true,
    run,
};

const NAME: &str = "workloads";

fn run(context: &mut Context) -> Result<(), Halt> {
    let lead = context.lead()?;
    let depth = context.depth;
    let mut session = Session::begin(context, NAME, &[1], |workload| match depth {
        Depth::Quick => QUICK.contains(&workload.name()),
        // Several complete passes, which take a few tenths of a second each.
        Depth::Normal => !workload.definition().indivisible,
        _ => true,
    })?;
    session.report_counters(context);
    let count = session.chosen.len();
    for index in 0..count {
        let share = 1.0 / (count - index) as f64;
        session.measure(context, index, share, |context, turn| measure_cpu(context, turn, lead))?;
        context.look_between(false);
        context.advance((index + 1) as f64 / count as f64);
    }
    context.check()
}

/// Measures one workload on one CPU.
fn measure_cpu(context: &mut Context, turn: &Turn, cpu: u32) -> Result<(), Unavailable> {
    let definition = turn.workload.definition();
    if definition.bytes > context.memory_allowance() {
        return Err(text!(
            "requires {needed} of memory; at most {allowed} is available",
            needed = Value::Bytes(definition.bytes),
            allowed = Value::Bytes(context.memory_allowance())
        )
        .into());
    }
    let workers = turn.start_workers(context.machine, &[cpu])?;
    // In the default run, there is no time for complete passes.
    let by_the_pass = definition.pass && context.depth > Depth::Normal;
    let seconds = turn.seconds_left();
    let longest = context.depth.pick_named(0.02, 0.03, 0.1, 0.3);
    let slice = (seconds * 0.8 / SLICES as f64).clamp(0.004, longest);
    // The events to count during one thread's work.
    let set = if context.depth > Depth::Normal { Set::Full } else { Set::Core };
    let budget = TimeBudget {
        length: if by_the_pass { SliceLength::Work(1.0) } else { SliceLength::Seconds(slice) },
        least: if by_the_pass { 1 } else { 6 },
        most: if by_the_pass { context.depth.pick(SLICES, SLICES, 30) } else { SLICES },
        deadline: Instant::now() + Duration::from_secs_f64(seconds),
        counted: counters::availability().pmu.then_some(set),
    };
    let cpus = [cpu];
    let mut seen = Seen::new(turn.workload, cpus.to_vec(), turn.walked(&cpus));
    seen.add(workers.run_group(&cpus, budget, turn.incidents, context.stop));
    if context.stop.signal().is_some() && seen.run.slices.is_empty() || !seen.passes_checks(context, NAME) {
        return Ok(());
    }
    // With vectors, a core may run at a different clock.
    if PLAIN.contains(&definition.name) {
        context.clocks_seen.extend(seen.run.slices.iter().map(|slice| slice.clock_hz));
    }
    let place = Labels::new().with_label(Label::Workload, definition.name);
    let together = place.clone().with_label(Label::Threads, 1u32).with_label(Label::Placement, "cores-first");
    context.push(seen.throughput(context.machine, together));
    let alone = place.clone().with_label(Label::Cpu, cpu);
    if by_the_pass {
        context.push(seen.time(context.machine, alone.clone()));
    }
    for m in seen.instructions(context.machine, alone, place) {
        context.push(m);
    }
    Ok(())
}
