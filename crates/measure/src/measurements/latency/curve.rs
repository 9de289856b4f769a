//! A load-latency curve during measurement, and the samples of its points.

use crate::context::Context;
use crate::cycle::Cycle;
use crate::repeat::Effort;
use crate::watch::{Watch, Watched, steal_ticks};
use os::mapping::Page;
use record::Mark;
use std::time::Instant;

/// Maximum half-width of the 95 % CI; a point with a wider interval is too noisy.
pub(super) const TARGET: f64 = 0.03;

/// Growth of a working set between two time checks, bytes.
const GROWTH: usize = 16 << 20;

/// Duration of a sample: long compared with a clock reading, a quarter of the shortest timer tick.
pub(super) const SAMPLE_NS: f64 = 300_000.0;

/// The curve of one kind of page during measurement.
pub(super) struct Curve {
    pub(super) page: Page,
    pub(super) cycle: Cycle,
    pub(super) points: Vec<Point>,
    /// The estimated cost of the remaining points.
    pub(super) estimate: TimeEstimate,
}

impl Curve {
    pub(super) fn new(page: Page, cycle: Cycle) -> Self {
        Self { page, cycle, points: Vec::new(), estimate: TimeEstimate::default() }
    }

    /// Grows the set to `bytes`; returns whether the time sufficed.
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
    /// For each set of pages, the index at which its samples end.
    pub(super) draws: Vec<usize>,
}

/// Takes samples of this many hops each in a warm set.
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

/// The steal time before sampling. It is not read on machines with more than 64 CPUs, where reading /proc/stat may take
/// milliseconds. There, only the conditions of the run show the steal time.
fn steal_before(context: &Context, cpu: u32) -> Option<u64> {
    (context.machine.cpus.len() <= 64).then(|| steal_ticks(cpu)).flatten()
}

/// Marks samples well above the median: the kernel counts steal time in ticks of 10 ms, which do not identify the
/// affected sample.
fn mark_stolen(samples: &mut [Watched]) {
    let median = record::Summary::from_samples(&samples.iter().map(|s| s.ns).collect::<Vec<_>>()).median;
    for sample in samples.iter_mut().filter(|sample| sample.ns > 1.1 * median) {
        sample.marks.push(Mark::Stolen);
    }
}

/// The time for the samples and clock readings of a point, s; the time for creating and warming its memory is extra.
const POINT_SECONDS: f64 = 0.012;

/// The cost of one curve's memory, in seconds per byte, as last observed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct TimeEstimate {
    grow: f64,
    warm: f64,
    /// Accumulated growth that is still too small for an estimate: bytes and seconds.
    growing: (usize, f64),
}

/// Minimum growth for an estimate: the time of a smaller growth depends on individual page faults and does not show a rate. The same limit
/// applies to warming a set.
const TELLING: usize = 4 << 20;

impl TimeEstimate {
    /// Records that the working set grew.
    pub(crate) fn grew(&mut self, bytes: usize, seconds: f64) {
        self.growing.0 += bytes;
        self.growing.1 += seconds;
        if self.growing.0 >= TELLING {
            self.grow = self.growing.1 / self.growing.0 as f64;
            self.growing = (0, 0.0);
        }
    }

    /// Records that a working set was warmed.
    pub(crate) fn warmed(&mut self, bytes: usize, seconds: f64) {
        if bytes >= TELLING {
            self.warm = seconds / bytes as f64;
        }
    }

    /// Seconds needed for working sets of the sizes in `rest`, in ascending order, if the current set has `from` bytes.
    pub(crate) fn seconds(&self, from: usize, rest: impl Iterator<Item = usize>) -> f64 {
        let (mut largest, mut sum, mut points) = (from, 0.0, 0.0);
        for bytes in rest {
            largest = largest.max(bytes);
            sum += bytes as f64;
            points += 1.0;
        }
        self.grow * (largest - from) as f64 + self.warm * sum + POINT_SECONDS * points
    }
}

/// The sizes in `rest` that are measured with this `stride`, always including the last.
pub(super) fn thin(rest: &[usize], stride: usize) -> impl Iterator<Item = usize> + '_ {
    let last = rest.len().saturating_sub(1);
    rest.iter()
        .enumerate()
        .filter(move |(index, _)| index % stride == 0 || *index == last)
        .map(|(_, bytes)| *bytes)
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

#[cfg(test)]
mod time_estimate_tests {
    use super::*;

    #[test]
    fn growing_counts_once_and_warming_at_each_size() {
        let estimate = TimeEstimate { grow: 2.0, warm: 1.0, ..TimeEstimate::default() };
        let seconds = estimate.seconds(100, [150, 200].into_iter());
        assert!((seconds - (200.0 + 350.0 + 2.0 * POINT_SECONDS)).abs() < 1e-9);
        assert_eq!(estimate.seconds(100, std::iter::empty()), 0.0);
    }

    #[test]
    fn one_page_fault_is_no_estimate() {
        let mut estimate = TimeEstimate::default();
        estimate.grew(448, 0.005);
        estimate.warmed(4096, 1.0);
        assert_eq!(estimate.seconds(0, std::iter::once(1 << 30)), POINT_SECONDS);
        estimate.grew(TELLING, 1.0);
        assert!(estimate.seconds(0, std::iter::once(1 << 30)) > 100.0);
    }

    #[test]
    fn thinning_keeps_the_largest() {
        let rest = [1, 2, 3, 4, 5, 6];
        assert_eq!(thin(&rest, 4).collect::<Vec<_>>(), [1, 5, 6]);
        assert_eq!(thin(&rest, 1).count(), 6);
        assert_eq!(thin(&[], 2).count(), 0);
    }
}
