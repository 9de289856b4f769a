//! A curve of load latency while it is taken, and the samples of its points.

use std::time::Instant;

use record::Mark;

use crate::context::Context;
use crate::cycle::Cycle;
use crate::repeat::Effort;
use crate::time_estimate::TimeEstimate;
use crate::watch::{Watch, Watched, steal_ticks};
use os::mapping::Page;

/// Half-width of the interval beyond which a point counts as too noisy.
pub(super) const TARGET: f64 = 0.03;

/// A set grows by this much between looks at the time.
const GROWTH: usize = 16 << 20;

/// A sample lasts this long: 30 times a look at the clock, a quarter of the shortest timer tick.
pub(super) const SAMPLE_NS: f64 = 300_000.0;

/// One kind of page's curve while it is taken.
pub(super) struct Curve {
    pub(super) page: Page,
    pub(super) cycle: Cycle,
    pub(super) points: Vec<Point>,
    /// What the rest of it will cost.
    pub(super) estimate: TimeEstimate,
}

impl Curve {
    pub(super) fn new(page: Page, cycle: Cycle) -> Self {
        Self { page, cycle, points: Vec::new(), estimate: TimeEstimate::default() }
    }

    /// Grows the set to `bytes`; whether that was done in time.
    pub(super) fn grow_to(&mut self, bytes: usize, context: &Context) -> bool {
        let (had, from) = (self.cycle.bytes(), Instant::now());
        while self.cycle.bytes() < bytes && !context.out_of_time() {
            self.cycle.grow_to(bytes.min(self.cycle.bytes() + GROWTH));
        }
        self.estimate.grew(self.cycle.bytes() - had, from.elapsed().as_secs_f64());
        self.cycle.bytes() >= bytes
    }
}

pub(super) struct Point {
    pub(super) bytes: usize,
    pub(super) hops: u64,
    pub(super) samples: Vec<Watched>,
    /// Where the samples of each set of pages end.
    pub(super) draws: Vec<usize>,
}

/// Samples of so many hops each, of a set that is warm.
pub(super) fn sample(
    curve: &mut Curve,
    hops: u64,
    effort: Effort,
    context: &mut Context,
    watch: &mut Watch,
) -> Vec<Watched> {
    let stolen = steal_before(context, watch.cpu);
    let mut samples = effort.samples(|| context.out_of_time(), || watch.sample(|| curve.cycle.walk(hops)));
    if let (Some(before), Some(after)) = (stolen, steal_before(context, watch.cpu))
        && after > before
    {
        mark_stolen(&mut samples);
    }
    let clocks: Vec<f64> = samples.iter().map(|sample| sample.clock_hz).collect();
    context.clocks_seen.push(record::Summary::from_samples(&clocks).median);
    samples
}

/// Reading /proc/stat takes milliseconds on hundreds of CPUs: there the run's own conditions tell the steal.
fn steal_before(context: &Context, cpu: u32) -> Option<u64> {
    (context.machine.cpus.len() <= 64).then(|| steal_ticks(cpu)).flatten()
}

/// The kernel counts stolen time by 10 ms ticks, so it cannot name the sample: those well above the median are taken.
fn mark_stolen(samples: &mut [Watched]) {
    let median = record::Summary::from_samples(&samples.iter().map(|s| s.ns).collect::<Vec<_>>()).median;
    for sample in samples.iter_mut().filter(|sample| sample.ns > 1.1 * median) {
        sample.marks.push(Mark::Stolen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_ticks_mark_the_slow_samples_alone() {
        let mut samples: Vec<Watched> = [10.0, 10.0, 10.0, 30.0]
            .iter()
            .map(|ns| Watched { ns: *ns, clock_hz: 1e9, marks: vec![], look: 0 })
            .collect();
        mark_stolen(&mut samples);
        assert_eq!(samples.iter().filter(|s| s.marks.contains(&Mark::Stolen)).count(), 1);
    }
}
