//! Repetition: how many samples, when to stop, and what to say when they never agree.

use record::doubt::{too_few_samples, too_noisy};
use record::{Labels, Mark, Measurement, SampleMark};

use crate::watch::Watched;

/// How long to go on sampling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Effort {
    /// Samples at least.
    pub least: usize,
    /// Samples at most.
    pub most: usize,
    /// Half the 95 % interval relative to the median at which sampling may stop.
    pub target: f64,
}

impl Effort {
    /// Whether `values` are enough: the most, or at least the least and within the target.
    pub(crate) fn satisfied(&self, values: &[f64]) -> bool {
        values.len() >= self.most
            || (values.len() >= self.least
                && record::Summary::from_samples(values)
                    .relative_half_width()
                    .is_some_and(|width| width <= self.target))
    }

    /// Takes samples until they agree, the budget ends (`out_of_time`), or somebody asks to stop.
    pub(crate) fn samples(
        &self,
        out_of_time: impl Fn() -> bool,
        mut sample: impl FnMut() -> Watched,
    ) -> Vec<Watched> {
        let mut taken: Vec<Watched> = Vec::with_capacity(self.least);
        let mut values = Vec::with_capacity(self.least);
        loop {
            let watched = sample();
            values.push(watched.ns);
            taken.push(watched);
            // Looking at the interval sorts: only now and then.
            let look = values.len() >= self.least && (values.len() - self.least).is_multiple_of(5);
            if (look && self.satisfied(&values)) || values.len() >= self.most || out_of_time() {
                return taken;
            }
        }
    }
}

/// A measurement from watched samples: `value` turns each into the metric's unit.
pub(crate) fn measurement(
    metric: &'static str,
    place: Labels,
    samples: &[Watched],
    value: impl Fn(&Watched) -> f64,
) -> Measurement {
    let mut measurement = Measurement::new(metric, place, samples.iter().map(value).collect());
    measurement.marks = marks(samples);
    measurement
}

/// The marks of all samples.
fn marks(samples: &[Watched]) -> Vec<SampleMark> {
    let mut all = Vec::new();
    for (index, sample) in samples.iter().enumerate() {
        all.extend(sample.marks.iter().map(|mark| SampleMark { sample: index as u32, mark: *mark }));
    }
    all
}

/// Says "too noisy", and why as far as the marks tell, when the interval is wider than `target`; and that the
/// figure belongs to another CPU when most samples were taken off their own.
pub(crate) fn judge(measurement: &mut Measurement, target: f64) {
    let n = measurement.summary.n;
    let count = |mark: Mark| measurement.marks.iter().filter(|m| m.mark == mark).count() as u64;
    let migrated = count(Mark::Migrated);
    if migrated * 2 > n {
        measurement.doubt = Some(format!(
            "{migrated} of {n} samples were taken on another CPU: this one went offline, or pinning is not allowed"
        ));
        return;
    }
    let Some(width) = measurement.summary.relative_half_width() else {
        if n > 0 {
            measurement.doubt = Some(too_few_samples(n));
        }
        return;
    };
    // A clock that jumps between two values has a median known to a hair, and the next run's may be the other.
    let scatter = if measurement.summary.median == 0.0 {
        0.0
    } else {
        measurement.summary.mad / measurement.summary.median.abs()
    };
    if width <= target && scatter <= 2.0 * target {
        return;
    }
    let mut causes = Vec::new();
    for (mark, words) in [
        (Mark::ClockMoved, "the clock moved"),
        (Mark::Switched, "something else ran on the CPU"),
        (Mark::Stolen, "the hypervisor took time"),
        (Mark::Migrated, "the thread was moved"),
        (Mark::Throttled, "the CPU was throttled"),
        (Mark::Quota, "the cgroup's quota stopped it"),
    ] {
        let seen = count(mark);
        if seen > 0 {
            causes.push(format!("{words} in {seen} of {n} samples"));
        }
    }
    let cause = (!causes.is_empty()).then(|| causes.join(", "));
    let how = if width > target {
        format!("the median is known to ±{} only", record::units::percent(width))
    } else {
        format!("samples scatter by ±{} about the median", record::units::percent(scatter))
    };
    measurement.doubt = Some(too_noisy(&how, cause.as_deref()));
}

/// How far some clocks lie apart, all but the outermost fiftieth on either side, relative to their median, with their ends in Hz; `None`
/// below 10.
pub(crate) fn clock_range(clocks: &[f64]) -> Option<(f64, f64, f64)> {
    if clocks.len() < 10 {
        return None;
    }
    let mut sorted = clocks.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share| record::statistics::percentile_of_sorted(&sorted, share);
    let (low, high) = (at(0.02), at(0.98));
    Some(((high - low) / record::statistics::median_of_sorted(&sorted), low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(ns: f64, marks: &[Mark]) -> Watched {
        Watched { ns, clock_hz: 1e9, marks: marks.to_vec() }
    }

    #[test]
    fn sampling_stops_early_when_the_samples_agree_and_at_the_most_when_not() {
        let effort = Effort { least: 7, most: 30, target: 0.01 };
        assert_eq!(effort.samples(|| false, || watched(5.0, &[])).len(), 7);
        let mut n = 0.0;
        let scattered = effort.samples(
            || false,
            || {
                n += 1.0;
                watched(n, &[])
            },
        );
        assert_eq!(scattered.len(), 30);
        assert_eq!(effort.samples(|| true, || watched(5.0, &[])).len(), 1);
    }

    #[test]
    fn noise_is_said_with_its_cause() {
        let samples: Vec<Watched> =
            (1..=8).map(|n| watched(f64::from(n), if n > 6 { &[Mark::Switched] } else { &[] })).collect();
        let mut m = measurement("cost.syscall", Labels::new(), &samples, |s| s.ns);
        judge(&mut m, 0.05);
        let doubt = m.doubt.unwrap();
        assert!(doubt.contains("too noisy") && doubt.contains("ran on the CPU in 2 of 8 samples"), "{doubt}");
        let steady: Vec<Watched> = (0..8).map(|_| watched(3.0, &[])).collect();
        let mut m = measurement("cost.syscall", Labels::new(), &steady, |s| s.ns);
        judge(&mut m, 0.05);
        assert_eq!(m.doubt, None);
    }

    #[test]
    fn a_clock_between_two_values_is_not_steady() {
        let samples: Vec<Watched> =
            (0..41).map(|n| watched(if n % 2 == 0 { 3.6 } else { 4.0 }, &[Mark::ClockMoved])).collect();
        let mut m = measurement("cost.syscall", Labels::new(), &samples, |s| s.ns);
        m.summary.interval = Some((3.6, 3.6));
        m.summary.mad = 0.3;
        judge(&mut m, 0.01);
        assert!(m.doubt.unwrap().contains("scatter"));
    }

    #[test]
    fn the_range_of_clocks_leaves_single_outliers_out() {
        let mut clocks = vec![4.0; 100];
        clocks[3] = 1.0;
        assert_eq!(clock_range(&clocks), Some((0.0, 4.0, 4.0)));
        clocks[..15].fill(3.6);
        assert!(clock_range(&clocks).unwrap().0 > 0.09);
        assert_eq!(clock_range(&[1.0]), None);
    }

    #[test]
    fn samples_taken_elsewhere_are_said() {
        let samples: Vec<Watched> = (0..8).map(|_| watched(3.0, &[Mark::Migrated])).collect();
        let mut m = measurement("cost.syscall", Labels::new(), &samples, |s| s.ns);
        judge(&mut m, 0.05);
        assert!(m.doubt.unwrap().contains("another CPU"));
    }
}
