//! Measures load latency by working-set size: a dependent pointer chase around one random cycle, on huge pages and on
//! base pages, interleaved size by size. The difference between the two curves is the page-walk overhead.

mod curve;
mod draws;
mod warm;

use record::text::Value;
use record::{Coverage, Doubt, Label, Labels, Measurement, Template, detail, metrics, text};
use serde_json::json;

use curve::{Curve, Point, SAMPLE_NS, sample, thin};

use crate::budget::{Budget, beyond_caches, memory_allowance_at_start};
use crate::context::{Context, Halt};
use crate::cycle::Cycle;
use crate::measure::Measure;
use crate::reasons::{
    ALLOW_MBIND, FREE_MEMORY, HUGE_PAGES, MORE_MEMORY, NO_MEMORY, NOT_MAPPED, OWN_THREAD_NOT_STARTED,
    PAGE_SIZE_NOT_VERIFIED, PLACEMENT_NOT_VERIFIED,
};
use crate::repeat::{Effort, clock_range, measurement};
use crate::thread_group;
use crate::watch::Watch;
use os::mapping::Page;
use os::placement::Placement;

const NAME: &str = "latency";

/// The command that allows more time for a curve.
const FULL: &str = "linespeed run latency --full";

/// The smallest working set: one base page, which fits in every L1 cache.
const SMALLEST: usize = 4096;

/// Minimum size at which the curve on base pages ends: beyond the caches and the TLB reach of nearly all machines.
const ENOUGH_FOR_BASE: usize = 640 << 20;

/// Maximum range of the clock during the curve. With a wider range, latencies in the core's caches are not comparable
/// between runs.
pub(crate) const CLOCK_RANGE: f64 = 0.01;

/// Minimum number of samples for a point.
const LEAST_SAMPLES: usize = 3;

/// Minimum share of huge pages for a working set to count as "on huge pages".
const LEAST_HUGE: f64 = 0.99;

pub(crate) const LATENCY: Measure = Measure {
    name: NAME,
    metrics: &[metrics::LOAD_LATENCY, metrics::LOAD_LATENCY_CYCLES],
    obstacle: |machine, snapshot, _| {
        let wanted = beyond_caches(machine);
        let allowed = memory_allowance_at_start(machine, snapshot) / 2;
        let why = text!(
            "latency-sets-small",
            "working sets are limited to {allowed}, less than four times the last-level caches ({wanted})",
            allowed = Value::Bytes(allowed),
            wanted = Value::Bytes(wanted)
        );
        (allowed < wanted).then(|| Coverage::degraded(NAME, why).with_remedy(MORE_MEMORY))
    },
    budget: |machine, _, depth| Budget {
        seconds: depth.pick(2.3, 18.2, 60.0),
        bytes: beyond_caches(machine).saturating_mul(2),
    },
    uses_arrays: false,
    run,
};

fn run(context: &mut Context) -> Result<(), Halt> {
    let lead = context.lead()?;
    // Two cycles exist side by side, so that each size is measured alternately on both kinds of page.
    let most = (context.memory_allowance() / 2).min(usize::MAX as u64) as usize;
    if most < SMALLEST * 2 {
        return Err(NO_MEMORY.into());
    }
    let largest = usize::try_from(beyond_caches(context.machine)).unwrap_or(most).min(most);
    let sizes = sizes(largest, context.depth.pick(2, 8, 8));
    let _lifted = HugePagesLifted::lift(context, NAME);
    let inside = &mut *context;
    let ended = thread_group::run_on(lead, move |member| take_curves(inside, lead, member.pinned, &sizes));
    ended.ok_or(OWN_THREAD_NOT_STARTED)?
}

/// Working sets from [`SMALLEST`] up to and including `largest`, with `steps` per octave, in whole lines.
pub(crate) fn sizes(largest: usize, steps: u32) -> Vec<usize> {
    let mut sizes = Vec::new();
    for step in 0.. {
        let size = SMALLEST as f64 * 2f64.powf(f64::from(step) / f64::from(steps));
        if size >= largest as f64 * 0.97 {
            break;
        }
        sizes.push((size as usize).next_multiple_of(crate::cycle::LINE));
    }
    sizes.push(largest / crate::cycle::LINE * crate::cycle::LINE);
    sizes.dedup();
    sizes
}

/// The kernel used no huge pages for the memory.
const HUGE_PAGES_REFUSED: Template =
    Template::new("latency-huge-pages-refused", "the kernel provided no huge pages");

fn open_curve(context: &mut Context, page: Page, largest: usize, node: Option<u32>) -> Option<Curve> {
    let what = Coverage::latency_on(&page.word());
    let (mut cycle, bound) = match Cycle::new(largest, page, node) {
        Ok(opened) => opened,
        Err(error) if page == Page::Huge => {
            let why = text!("no huge pages: {error}");
            context.coverage.push(Coverage::impossible(what, why).with_remedy(HUGE_PAGES));
            return None;
        }
        Err(error) => {
            context.coverage.push(Coverage::impossible(what, text!(NOT_MAPPED, error)));
            return None;
        }
    };
    if let Some(error) = bound
        && context.machine.nodes.len() > 1
    {
        let why = text!("mbind failed ({error}): memory is on the node of first touch");
        context.degrade_with_remedy(what.clone(), why, ALLOW_MBIND);
    }
    cycle.grow_to(SMALLEST);
    if page == Page::Huge && cycle.mapping().huge_share().is_some_and(|share| share < LEAST_HUGE) {
        context.coverage.push(Coverage::impossible(what, HUGE_PAGES_REFUSED).with_remedy(HUGE_PAGES));
        return None;
    }
    Some(Curve::new(page, cycle))
}

fn take_curves(context: &mut Context, cpu: u32, pinned: bool, sizes: &[usize]) -> Result<(), Halt> {
    if !pinned {
        context.degrade(NAME, text!("the thread cannot be pinned to CPU {cpu}"));
    }
    let node = context.node_of(cpu);
    let largest = sizes.last().copied().unwrap_or(SMALLEST);
    let depth = context.depth;
    let mut curves: Vec<Curve> = [Page::Huge, Page::Base]
        .into_iter()
        .filter_map(|page| open_curve(context, page, largest, node))
        .collect();
    let effort =
        Effort { least: context.depth.pick(6, 9, 25), most: context.depth.pick(12, 40, 120), target: 0.01 };
    let mut watch = Watch::new(cpu);
    let mut ended = Ok(());
    let mut reached = 0;
    let (mut next, mut passed_over) = (0, 0);
    'sizes: for (step, &bytes) in sizes.iter().enumerate() {
        if step < next && bytes != largest {
            passed_over += 1;
            continue;
        }
        if context.out_of_time() {
            break;
        }
        // The curve on huge pages has priority. If both curves together would exceed the time budget, the curve on base pages ends earlier,
        // and sizes are skipped.
        let left = context.seconds_left();
        let needs = |curves: &[Curve], stride: usize| -> f64 {
            let rest = || thin(&sizes[step..], stride);
            let needs = |curve: &Curve| {
                let settling: f64 =
                    rest().map(|bytes| warm::settling(bytes, curve.page.bytes(), depth)).sum();
                curve.estimate.seconds(curve.cycle.bytes(), rest()) + settling
            };
            curves.iter().map(needs).sum()
        };
        if curves.len() > 1
            && bytes > context.depth.pick(ENOUGH_FOR_BASE / 8, ENOUGH_FOR_BASE, ENOUGH_FOR_BASE)
            && needs(&curves, 1) > left
            && let Some(base) = curves.pop()
        {
            let why = text!(
                "the curve ends at {size}: larger working sets take too long to fill",
                size = Value::Bytes(base.cycle.bytes() as u64)
            );
            context.degrade_with_remedy(Coverage::latency_on(&base.page.word()), why, FULL);
            close_curve(context, base, cpu);
        }
        let stride = [1, 2, 4, 8].into_iter().find(|stride| needs(&curves, *stride) <= left).unwrap_or(8);
        next = step + stride;
        for curve in &mut curves {
            // The pool of reserved huge pages may contain less than requested.
            if bytes > curve.cycle.capacity() {
                continue;
            }
            if let Err(halt) = context.check() {
                ended = Err(halt);
                break 'sizes;
            }
            if !curve.grow_to(bytes, context) {
                break 'sizes;
            }
            context.look(false);
            watch.look = context.next_look();
            let had = curve.points.len();
            let warming = take_point(curve, effort, context, &mut watch);
            curve.estimate.warmed(curve.cycle.bytes(), warming);
            if curve.points.len() == had {
                break 'sizes;
            }
        }
        reached = bytes;
        context.advance((step + 1) as f64 / sizes.len() as f64);
    }
    if ended.is_ok() && reached == largest {
        let base = curves.iter().rfind(|curve| curve.page == Page::Base);
        let making = base.map_or(0.0, |curve| curve.estimate.seconds(0, std::iter::once(largest)));
        draws::sample_again(&mut curves, largest, making, context, &mut watch);
    }
    for curve in curves.iter().filter(|curve| curve.cycle.capacity() < largest) {
        let why = text!(
            "the curve ends at {size}: no more free huge pages",
            size = Value::Bytes(curve.cycle.capacity() as u64)
        );
        context.degrade_with_remedy(Coverage::latency_on(&curve.page.word()), why, HUGE_PAGES);
    }
    if ended.is_ok() && passed_over > 0 && reached == largest {
        let why = text!(
            "{skipped} of {all} sizes skipped for lack of time",
            skipped = passed_over as u64,
            all = sizes.len()
        );
        context.degrade_with_remedy(NAME, why, FULL);
    }
    if ended.is_ok() && reached < largest {
        let why = text!(
            "out of time at {reached}, before the planned {planned}",
            reached = Value::Bytes(reached as u64),
            planned = Value::Bytes(largest as u64)
        );
        context.degrade_with_remedy(NAME, why, FULL);
    }
    // The cycle on huge pages belongs to the first curve, and is the one that other measurements need.
    for curve in curves.into_iter().rev() {
        context.kept_cycle = close_curve(context, curve, cpu).or(context.kept_cycle.take());
    }
    ended
}

/// Measures a point of a curve; returns the part of the warm-up time that grows with the size of the working set, s.
fn take_point(curve: &mut Curve, effort: Effort, context: &mut Context, watch: &mut Watch) -> f64 {
    let out_of_time = || context.out_of_time();
    let warmed = warm::warm(&mut curve.cycle, curve.page.bytes(), context.depth, out_of_time);
    // A short chase determines how many hops fit into one sample.
    let trial = 2_048;
    watch.refresh();
    let taken = watch.sample(|| curve.cycle.walk(trial));
    let hops = ((SAMPLE_NS / (taken.ns / trial as f64).max(0.1)) as u64)
        .next_multiple_of(kernels::chase::UNROLL)
        .max(1_024);
    let samples = sample(curve, hops, effort, context, watch);
    // A point with too few samples is dropped: if the time had already expired when the point began, it could consist of a single disturbed
    // sample.
    if samples.len() >= LEAST_SAMPLES {
        let draws = vec![samples.len()];
        curve.points.push(Point { bytes: curve.cycle.bytes(), hops, samples, draws });
    }
    warmed
}

/// Converts a finished curve to measurements after checking its pages and their placement. Returns the cycle if other
/// measurements can use it.
fn close_curve(context: &mut Context, curve: Curve, cpu: u32) -> Option<Cycle> {
    let node = context.node_of(cpu);
    let word = curve.page.word();
    let what = Coverage::latency_on(&word);
    let huge = curve.cycle.mapping().huge_share();
    match (curve.page, huge) {
        (_, None) => context.degrade(what.clone(), PAGE_SIZE_NOT_VERIFIED),
        (Page::Huge, Some(share)) if share < LEAST_HUGE => context.degrade_with_remedy(
            what.clone(),
            text!("only {share} of the memory is on huge pages", share = Value::Share(share)),
            text!("echo 1 > /proc/sys/vm/compact_memory, or reserve huge pages with vm.nr_hugepages"),
        ),
        _ => {}
    }
    let mut proof = text!("not verified: no NUMA nodes");
    if let Some(node) = node {
        let placement = Placement::check(curve.cycle.mapping(), curve.cycle.bytes(), node);
        proof = placement.describe(node);
        if !placement.acceptable() {
            let why = text!("withheld: {placement}", placement = proof);
            context.coverage.push(Coverage::skipped(what, why).with_remedy(FREE_MEMORY));
            return None;
        }
        if let Placement::Unknown(why) = &placement
            && context.machine.nodes.len() > 1
        {
            context.degrade(what, text!(PLACEMENT_NOT_VERIFIED, why));
        }
    }
    let moved = clock_range(&context.clocks_seen);
    let core_bytes = context.machine.data_cache_of(cpu, 2).and_then(|cache| cache.bytes).unwrap_or(1 << 20);
    for point in &curve.points {
        let place = Labels::new()
            .with_label(Label::Cpu, cpu)
            .with_label(Label::Bytes, point.bytes)
            .with_label(Label::Page, word.as_str())
            .with_known(Label::Node, node);
        let hops = point.hops as f64;
        let mut ns: Measurement =
            measurement(metrics::LOAD_LATENCY, place.clone(), &point.samples, |s| s.ns / hops);
        let mut cycles = measurement(metrics::LOAD_LATENCY_CYCLES, place, &point.samples, |s| {
            s.ns / hops * s.clock_hz / 1e9
        });
        ns.doubt = draws::find_doubt(point, &ns);
        cycles.doubt = draws::find_doubt(point, &cycles);
        // In the core's private caches, latency in ns depends on the clock, but latency in cycles does not.
        if let Some((range, low, high)) = moved
            && ns.doubt.is_none()
            && range > CLOCK_RANGE
            && point.bytes as u64 <= core_bytes
        {
            let why = text!(
                "the core clock varied from {low} to {high}; use load.latency_cycles to compare runs",
                low = Value::Figure(low, "Hz"),
                high = Value::Figure(high, "Hz")
            );
            ns.doubt = Some(Doubt::too_noisy(why));
        }
        ns = ns
            .with_detail(detail::HOPS_PER_SAMPLE, point.hops)
            .with_detail(detail::PLACEMENT, proof.to_string())
            .with_detail(detail::HUGE_SHARE, json!(huge));
        if point.draws.len() > 1 {
            ns = ns.with_detail(detail::SETS_OF_PAGES, json!(draws::medians(point)));
        }
        context.push(ns);
        context.push(cycles);
    }
    Some(curve.cycle)
}

/// Allows transparent huge pages for the process until the value is dropped; afterwards, they are disabled as before.
#[derive(Debug)]
pub(crate) struct HugePagesLifted;

impl HugePagesLifted {
    /// Lifts the restriction, if any, and reports it in the coverage of `what`.
    pub(crate) fn lift(context: &mut Context, what: &str) -> Option<Self> {
        if !is_refused() || !set(false) {
            return None;
        }
        context.degrade_with_remedy(
            format!("{what} huge pages"),
            text!(
                "THP was disabled for this process (PR_SET_THP_DISABLE); linespeed enabled it for this measurement only"
            ),
            text!("start linespeed from a process without PR_SET_THP_DISABLE"),
        );
        Some(Self)
    }
}

impl Drop for HugePagesLifted {
    fn drop(&mut self) {
        set(true);
    }
}

/// Whether this process may not use huge pages even on request.
fn is_refused() -> bool {
    // SAFETY: the call only takes integers. Since Linux 6.18, bit 1 means that memory may still use huge pages if the program requests them
    // for that memory.
    unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1 }
}

fn set(refused: bool) -> bool {
    // SAFETY: the call only takes integers, and leaves existing pages unchanged.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, libc::c_ulong::from(refused), 0, 0, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_eight_an_octave_and_end_at_the_largest() {
        let sizes = sizes(64 << 20, 8);
        assert_eq!(sizes.first(), Some(&4096));
        assert_eq!(sizes.last(), Some(&(64 << 20)));
        assert_eq!(sizes.len(), 14 * 8 + 1);
        assert!(sizes.windows(2).all(|w| w[0] < w[1]));
        assert!(sizes.iter().all(|size| size % 64 == 0));
    }

    #[test]
    fn a_tiny_allowance_still_gives_sizes() {
        assert_eq!(sizes(8192, 2).last(), Some(&8192));
        assert_eq!(sizes(4096, 8), [4096]);
    }
}
