//! Memory-level parallelism: the number of loads that one core keeps in flight, measured with 1 to 16 simultaneous
//! chases.

use record::text::Value;
use std::time::{Duration, Instant};

use record::{Label, Labels, Measurement, detail, metrics, text};

use crate::budget::{Budget, beyond_caches};
use crate::context::{Context, Halt};
use crate::cycle::Cycle;
use crate::measure::{Measure, NO_OBSTACLE};
use crate::reasons::{NO_MEMORY, NOT_MAPPED, OWN_THREAD_NOT_STARTED};
use crate::repeat::judged;
use crate::thread_group;
use crate::watch::{reading_cost_ns, time_ns};
use os::mapping::Page;

/// Numbers of chases; the first, 1, is the reference for the others.
const CHAINS: [usize; 9] = [1, 2, 3, 4, 6, 8, 10, 12, 16];

/// Growth of a new cycle between two time checks, bytes.
const STEP: usize = 16 << 20;

/// Hops of each chase in a sample: about 0.4 ms from memory.
const HOPS: u64 = 4_096;

pub(crate) const PARALLELISM: Measure = Measure {
    name: "parallelism",
    metrics: &[metrics::LOAD_PARALLELISM],
    obstacle: NO_OBSTACLE,
    budget: |machine, _, depth| Budget { seconds: depth.pick(0.5, 1.2, 10.0), bytes: beyond_caches(machine) },
    uses_arrays: false,
    run,
};

fn run(context: &mut Context) -> Result<(), Halt> {
    let lead = context.lead()?;
    let mut cycle = memory_cycle(context, lead, "parallelism")?;
    let (inside, shared) = (&mut *context, &mut cycle);
    let ended = thread_group::run_on(lead, move |_| rounds(inside, lead, shared));
    context.kept_cycle = Some(cycle);
    ended.ok_or(OWN_THREAD_NOT_STARTED)?
}

/// The cycle that the latency measurement kept, or a new one that exceeds all caches and is on huge pages if available.
pub(crate) fn memory_cycle(context: &mut Context, cpu: u32, what: &str) -> Result<Cycle, Halt> {
    let allowed = usize::try_from(context.memory_allowance()).unwrap_or(usize::MAX);
    if let Some(cycle) = context.kept_cycle.take() {
        return Ok(cycle);
    }
    let wanted = usize::try_from(beyond_caches(context.machine)).unwrap_or(usize::MAX).min(allowed / 2);
    if wanted < 1 << 20 {
        return Err(NO_MEMORY.into());
    }
    let node = context.node_of(cpu);
    // Creating the cycle may use at most half of the budget, because some machines provide memory slowly.
    let until = Instant::now() + Duration::from_secs_f64(context.seconds_left() / 2.0);
    let built = thread_group::run_on(cpu, move |_| {
        let (mut cycle, _) =
            Cycle::new(wanted, Page::Huge, node).or_else(|_| Cycle::new(wanted, Page::Base, node))?;
        let mut bytes = 0;
        while bytes < wanted.min(cycle.capacity()) && (bytes == 0 || Instant::now() < until) {
            bytes += STEP;
            cycle.grow_to(bytes.min(wanted));
        }
        Ok::<_, std::io::Error>(cycle)
    });
    let cycle = built.ok_or(OWN_THREAD_NOT_STARTED)?.map_err(|error| text!(NOT_MAPPED, error))?;
    if cycle.mapping().page() == Page::Base {
        context.degrade(what, text!("measured on base pages, because no huge pages are available"));
    }
    if (cycle.bytes() as f64) < 0.97 * wanted as f64 {
        let why = text!(
            "first touch is slow: the working set is {size} instead of {wanted}",
            size = Value::Bytes(cycle.bytes() as u64),
            wanted = Value::Bytes(wanted as u64)
        );
        context.degrade_with_remedy(what, why, format!("linespeed run {what} --full"));
    }
    Ok(cycle)
}

/// Runs interleaved rounds over all numbers of chases. In each round, the other results are compared with
/// the result of the single chase.
fn rounds(context: &mut Context, cpu: u32, cycle: &mut Cycle) -> Result<(), Halt> {
    let least = context.depth.pick(7, 15, 40);
    let cost = reading_cost_ns();
    let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); CHAINS.len()];
    let mut round = 0;
    while round < least || (round < 4 * least && context.seconds_left() > 0.3 && !settled(&ratios)) {
        if context.check().is_err() || (context.out_of_time() && round >= 6) {
            break;
        }
        let mut single = 0.0;
        for (index, &chains) in CHAINS.iter().enumerate() {
            let mut pointers = cycle.starts(chains);
            // SAFETY: each pointer is the address of a line in the cycle, and every line contains the address of a line in the cycle.
            let chase = || unsafe { kernels::chase::chase_parallel(&mut pointers, HOPS) };
            let ns = (time_ns(chase) - cost).max(1.0);
            if chains == 1 {
                single = ns;
            }
            ratios[index].push(single * chains as f64 / ns);
        }
        round += 1;
        context.advance((round as f64 / least as f64).min(1.0));
    }
    for (index, &chains) in CHAINS.iter().enumerate() {
        let place = Labels::new()
            .with_label(Label::Cpu, cpu)
            .with_label(Label::Bytes, cycle.bytes())
            .with_label(Label::Chains, chains);
        let m = Measurement::new(metrics::LOAD_PARALLELISM, place, ratios[index].clone())
            .with_detail(detail::PAGE, cycle.mapping().page().word());
        context.push(if chains > 1 { judged(m, 0.05) } else { m });
    }
    context.check()
}

/// Whether the ratio for the largest number of chases is known to within 2 %.
fn settled(ratios: &[Vec<f64>]) -> bool {
    ratios.last().is_some_and(|values| {
        record::Summary::from_samples(values).relative_half_width().is_some_and(|width| width < 0.02)
    })
}
