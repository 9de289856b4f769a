//! Each built-in workload on one CPU: throughput, the time of a pass, IPC with the clock beside it.

use record::Label;
use std::time::{Duration, Instant};

use machine::Root;
use record::text::Value;
use record::{Coverage, CpuList, Labels, Machine, Unavailable, text};

use crate::arrays;
use crate::budget::{Budget, Depth, beyond_caches};
use crate::context::{Context, Halt};
use crate::counters::{self, Set};
use crate::list::Measure;
use crate::workloads::array_pool::ArrayPool;
use crate::workloads::array_supply::ArraySupply;
use crate::workloads::figures::Seen;
use crate::workloads::incidents::Incidents;
use crate::workloads::worker_pool::{SliceLength, TimeBudget, WorkerPool};
use crate::workloads::{self, Workload};

/// See the module.
pub(crate) struct Workloads;

/// What a run in a hurry looks at: the width of the core, and its arithmetic.
const QUICK: [&str; 2] = ["nop", "flops"];

/// What has no vectors in it.
const PLAIN: [&str; 3] = ["nop", "cpu-bound", "primes"];

/// Slices of a loop, and passes of what is timed by the pass.
const SLICES: usize = 7;

impl Measure for Workloads {
    fn name(&self) -> &'static str {
        "workloads"
    }

    fn glossary(&self) -> &'static str {
        "
            How fast does one CPU do known work: nops, primes, AES, big numbers, digits of pi, flushes,
            multiply-adds, triad? Each is checked by its result. `linespeed list` says how long it takes. It
            needs nothing.
            How: See `workload.time`, `workload.throughput`, `core.ipc`.
        "
    }

    fn metrics(&self) -> &'static [&'static str] {
        &["workload.throughput", "workload.time", "core.ipc", "counter.count", "counter.share"]
    }

    fn budget(&self, machine: &Machine, _: &CpuList, depth: Depth) -> Budget {
        Budget {
            seconds: depth.pick_named(0.2, 1.1, 14.0, 40.0) + ArraySupply::seconds(depth),
            bytes: if depth == Depth::Quick { 0 } else { arrays_bytes(machine) },
        }
    }

    fn run(&self, context: &mut Context) -> Result<(), Halt> {
        let lead = context
            .lead_cpu()
            .ok_or_else(|| Halt::Impossible(text!("no-cpu-allowed", "no CPU may be used")))?;
        let here: fn(&dyn Workload) -> bool = match context.depth {
            Depth::Quick => |workload| QUICK.contains(&workload.name()),
            // Whole passes of some tenths of a second, several of them.
            Depth::Normal => |workload| !workload.indivisible(),
            _ => |_| true,
        };
        let chosen = chosen(context, self.name(), here)?;
        say_what_counts(context, self.name());
        let incidents = Incidents::new(Root::live(), context.machine.cpus.len());
        let mut supply = ArraySupply::new(context);
        let count = chosen.len();
        for (index, &workload) in chosen.iter().enumerate() {
            context.check()?;
            let reserved = supply.reserved(context, &chosen[index..]);
            let share = (context.seconds_left() - reserved).max(0.0) / (count - index) as f64;
            let pool = supply.arrays_for(context, self.name(), workload)?;
            if let Err(why) = measure_cpu(context, workload, lead, &pool, share, &incidents) {
                context.coverage.push(why.into_degraded(format!("workloads {}", workload.name())));
            }
            context.advance((index + 1) as f64 / count as f64);
        }
        context.check()
    }
}

/// Bytes of the arrays of workloads that stream.
pub(crate) fn arrays_bytes(machine: &Machine) -> u64 {
    beyond_caches(machine).saturating_mul(arrays::ARRAYS as u64)
}

/// The workloads that can run here and are `wanted` at this depth; says in the coverage which are not.
pub(crate) fn chosen(
    context: &mut Context,
    measurement: &str,
    wanted: impl Fn(&dyn Workload) -> bool,
) -> Result<Vec<&'static dyn Workload>, Halt> {
    let mut chosen = Vec::new();
    let mut others = Vec::new();
    for workload in workloads::all() {
        if let Err(why) = workload.usable(context.machine) {
            let what = format!("{measurement} {}", workload.name());
            context.coverage.push(why.into_impossible(what));
        } else if wanted(workload) {
            chosen.push(workload);
        } else {
            others.push(workload.name());
        }
    }
    if !others.is_empty() {
        let why = match context.depth {
            Depth::Quick => text!("workloads-not-in-quick-run", "left out of a quick run"),
            _ => text!("workloads-no-time", "no time left in this run"),
        };
        context.coverage.push(
            Coverage::skipped(format!("{measurement} {}", others.join(", ")), why)
                .with_remedy(context.at_more_length(measurement)),
        );
    }
    if chosen.is_empty() {
        Err(Halt::Impossible(text!("no-workload", "no workload can run here")))
    } else {
        Ok(chosen)
    }
}

/// Measures one workload on one CPU in about `seconds`.
fn measure_cpu(
    context: &mut Context,
    workload: &dyn Workload,
    cpu: u32,
    pool: &Option<std::sync::Arc<ArrayPool>>,
    seconds: f64,
    incidents: &Incidents,
) -> Result<(), Unavailable> {
    if workload.bytes(context.machine) > context.memory_allowance() {
        return Err(text!(
            "workloads-memory-short",
            "requires {needed} of memory, at most {allowed} may be used",
            needed = Value::Bytes(workload.bytes(context.machine)),
            allowed = Value::Bytes(context.memory_allowance())
        )
        .into());
    }
    let begun = Instant::now();
    let workers = WorkerPool::start(workload, context.machine, &[cpu], pool.as_ref())?;
    // In the main job there is no time for whole passes.
    let by_the_pass = workload.pass().filter(|_| context.depth > Depth::Normal);
    let seconds = (seconds - begun.elapsed().as_secs_f64()).max(0.0);
    let length = match by_the_pass {
        Some(pass) => SliceLength::Work(pass),
        None => {
            let most = context.depth.pick_named(0.02, 0.03, 0.1, 0.3);
            SliceLength::Seconds((seconds * 0.8 / SLICES as f64).clamp(0.004, most))
        }
    };
    let budget = TimeBudget {
        length,
        least: if by_the_pass.is_some() { 1 } else { 6 },
        most: if by_the_pass.is_some() { context.depth.pick(SLICES, SLICES, 30) } else { SLICES },
        deadline: Instant::now() + Duration::from_secs_f64(seconds),
        counted: counted(context.depth),
    };
    let cpus = [cpu];
    let mut seen = Seen::new(workload, cpus.to_vec(), walked(workload, pool, &cpus));
    seen.add(workers.run_group(&cpus, budget, incidents, context.stop));
    if context.stop.signal().is_some() && seen.slices.is_empty() || !seen.sound(context, "workloads") {
        return Ok(());
    }
    // Beside vectors a core may run at another clock than its own.
    if PLAIN.contains(&workload.name()) {
        context.clocks_seen.extend(seen.slices.iter().map(|slice| slice.clock_hz));
    }
    let place = Labels::new().with_label(Label::Workload, workload.name());
    let together = place.clone().with_label(Label::Threads, 1u32).with_label(Label::Placement, "cores-first");
    context.push(seen.throughput(context.machine, together));
    let alone = place.clone().with_label(Label::Cpu, cpu);
    if let Some(pass) = by_the_pass {
        context.push(seen.time(context.machine, alone.clone(), pass));
    }
    for m in seen.instructions(context.machine, alone, place) {
        context.push(m);
    }
    Ok(())
}

/// What to count beside one thread's work.
fn counted(depth: Depth) -> Option<Set> {
    let set = if depth > Depth::Normal { Set::Full } else { Set::Core };
    counters::availability().pmu.then_some(set)
}

/// Says once in a run why IPC is declared and not counted too.
pub(crate) fn say_what_counts(context: &mut Context, measurement: &str) {
    let available = counters::availability();
    if available.pmu || context.coverage.iter().any(Coverage::is_about_counters) {
        return;
    }
    let refusal = available.refusal.clone().unwrap_or_else(|| Unavailable::new(counters::NO_COUNTERS));
    context.coverage.push(refusal.into_impossible(Coverage::counters_of(measurement)));
}

/// Bytes of each array that these CPUs walk in a workload that streams.
pub(crate) fn walked(
    workload: &dyn Workload,
    pool: &Option<std::sync::Arc<ArrayPool>>,
    cpus: &[u32],
) -> Option<u64> {
    pool.as_ref().filter(|_| workload.streams()).map(|pool| pool.walked(cpus))
}
