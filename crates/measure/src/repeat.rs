//! Repetition: the number of samples, the stopping rule, and the report if the samples do not converge.

use record::text::Value;
use record::{Doubt, Labels, Mark, Measurement, Metric, SampleMark, Template, text};

use crate::watch::Watched;

/// The stopping rule for sampling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Effort {
    /// Minimum number of samples.
    pub least: usize,
    /// Maximum number of samples.
    pub most: usize,
    /// Half-width of the 95 % CI relative to the median at which sampling may stop.
    pub target: f64,
}

impl Effort {
    /// Whether there are enough `values`: the maximum number, or at least the minimum number if the target is reached.
    pub(crate) fn satisfied(&self, values: &[f64]) -> bool {
        values.len() >= self.most
            || (values.len() >= self.least
                && record::Summary::from_samples(values)
                    .relative_half_width()
                    .is_some_and(|width| width <= self.target))
    }

    /// Takes samples until they converge, the budget is used up (`out_of_time`), or a stop is requested.
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
            // Computing the interval requires sorting, so it is done only occasionally.
            let look = values.len() >= self.least && (values.len() - self.least).is_multiple_of(5);
            if (look && self.satisfied(&values)) || values.len() >= self.most || out_of_time() {
                return taken;
            }
        }
    }
}

/// The numbers below `n`, forwards in one round and backwards in the next, so that drift affects early and late numbers
/// equally.
pub fn there_and_back(round: usize, n: usize) -> impl Iterator<Item = usize> {
    (0..n).map(move |step| if round.is_multiple_of(2) { step } else { n - 1 - step })
}

/// Builds a measurement from observed samples; `value` converts each to the metric's unit.
pub(crate) fn measurement(
    metric: impl Into<Metric>,
    place: Labels,
    samples: &[Watched],
    value: impl Fn(&Watched) -> f64,
) -> Measurement {
    let marks = mark_samples(samples.iter().map(|sample| sample.marks.iter().copied()));
    let m = Measurement { marks, ..Measurement::new(metric, place, samples.iter().map(value).collect()) };
    m.with_looks(samples.iter().map(|sample| sample.look).collect())
}

/// The marks of all samples in one list, each mark with the number of its sample. `each` yields the marks of the samples, one sample after
/// another.
pub fn mark_samples<M: IntoIterator<Item = Mark>>(each: impl IntoIterator<Item = M>) -> Vec<SampleMark> {
    let numbered = (0u32..).zip(each);
    numbered
        .flat_map(|(sample, marks)| marks.into_iter().map(move |mark| SampleMark { sample, mark }))
        .collect()
}

/// One `Migrated` mark for each of these samples, whose thread ran on a different CPU.
pub(crate) fn mark_migrated(samples: usize) -> Vec<SampleMark> {
    mark_samples(std::iter::repeat_n([Mark::Migrated], samples))
}

/// Rates of the slices of several runs; slices are marked if a thread migrated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rates {
    pub samples: Vec<f64>,
    pub marks: Vec<SampleMark>,
    looks: Vec<u32>,
}

impl Rates {
    /// Adds the rates of a run, the number of placement checks before it, and whether a thread ran on a different CPU.
    pub(crate) fn add(&mut self, run: Vec<f64>, look: u32, moved: bool) {
        self.looks.extend(std::iter::repeat_n(look, run.len()));
        if moved {
            let first = self.samples.len() as u32;
            let numbers = first..first + run.len() as u32;
            self.marks.extend(numbers.map(|sample| SampleMark { sample, mark: Mark::Migrated }));
        }
        self.samples.extend(run);
    }

    /// The measurement of the rates, each multiplied by `each`.
    pub(crate) fn measurement(&self, metric: Metric, place: Labels, each: f64) -> Measurement {
        let samples = self.samples.iter().map(|rate| rate * each).collect();
        let m = Measurement { marks: self.marks.clone(), ..Measurement::new(metric, place, samples) };
        m.with_looks(self.looks.clone())
    }
}

/// The causes of noise, as shown by marks.
const NOISE: [(Mark, Template); 6] = [
    (Mark::ClockMoved, Template::new("noise-clock-moved", "clock changed in {seen} of {n} samples")),
    (Mark::Switched, Template::new("noise-switched", "another task ran on the CPU in {seen} of {n} samples")),
    (Mark::Stolen, Template::new("noise-stolen", "steal time in {seen} of {n} samples")),
    (Mark::Migrated, Template::new("noise-migrated", "the thread migrated in {seen} of {n} samples")),
    (Mark::Throttled, Template::new("noise-throttled", "the CPU was throttled in {seen} of {n} samples")),
    (
        Mark::Quota,
        Template::new("noise-quota", "throttled by the cgroup's CPU quota in {seen} of {n} samples"),
    ),
];

/// Adds the doubt "too noisy" if the interval is wider than `target`, with the cause if the marks show it. If
/// most samples were taken on a different CPU, adds the doubt that the result belongs to that CPU.
pub(crate) fn judged(mut measurement: Measurement, target: f64) -> Measurement {
    measurement.doubt = doubt(&measurement, target).or(measurement.doubt);
    measurement
}

fn doubt(measurement: &Measurement, target: f64) -> Option<Doubt> {
    let n = measurement.summary.n;
    let count = |mark: Mark| measurement.marks.iter().filter(|m| m.mark == mark).count() as u64;
    let migrated = count(Mark::Migrated);
    if migrated * 2 > n {
        let why = text!(
            "samples-on-another-cpu",
            "{migrated} of {n} samples were taken on another CPU: this CPU went offline, or pinning is not allowed"
        );
        return Some(why.into());
    }
    let Some(width) = measurement.summary.relative_half_width() else {
        return (n > 0).then(|| Doubt::too_few_samples(n));
    };
    // A clock that alternates between two values has a precisely known median, but the median of the next run may be the
    // other value.
    let median = measurement.summary.median.abs();
    let scatter = if median == 0.0 { 0.0 } else { measurement.summary.mad / median };
    if width <= target && scatter <= 2.0 * target {
        return None;
    }
    let seen = |(mark, words)| Some((count(mark), words)).filter(|(seen, _)| *seen > 0);
    let causes = NOISE.into_iter().filter_map(seen).map(|(seen, words)| text!(words, seen, n)).collect();
    let extent = if width > target {
        text!("the median is known only to ±{width}", width = Value::Share(width))
    } else {
        let scatter = Value::Share(scatter);
        text!("noise-scatter", "samples scatter by ±{scatter} around the median")
    };
    Some(Doubt::too_noisy_for(extent, causes))
}

/// The range of these clocks relative to their median, without the lowest and the highest 2 %, and the ends of the
/// range in Hz; `None` for fewer than 10 clocks.
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
    use record::DoubtKind;

    fn watched(ns: f64, marks: &[Mark]) -> Watched {
        Watched { ns, clock_hz: 1e9, marks: marks.to_vec(), look: 0 }
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
        let m = judged(measurement("cost.syscall", Labels::new(), &samples, |s| s.ns), 0.05);
        let doubt = m.doubt.unwrap();
        assert_eq!(doubt.kind(), DoubtKind::TooNoisy);
        let Some(Value::List(causes)) = doubt.value("cause") else { panic!("{doubt}") };
        assert!(causes.len() == 1 && causes[0].is(&NOISE[1].1), "{doubt}");
        assert_eq!(
            (causes[0].value("seen"), causes[0].value("n")),
            (Some(&Value::Count(2)), Some(&Value::Count(8)))
        );
        let steady: Vec<Watched> = (0..8).map(|_| watched(3.0, &[])).collect();
        let m = judged(measurement("cost.syscall", Labels::new(), &steady, |s| s.ns), 0.05);
        assert_eq!(m.doubt, None);
    }

    #[test]
    fn a_clock_between_two_values_is_not_steady() {
        let samples: Vec<Watched> =
            (0..41).map(|n| watched(if n % 2 == 0 { 3.6 } else { 4.0 }, &[Mark::ClockMoved])).collect();
        let mut m = measurement("cost.syscall", Labels::new(), &samples, |s| s.ns);
        m.summary.interval = Some((3.6, 3.6));
        m.summary.mad = 0.3;
        let doubt = judged(m, 0.01).doubt.unwrap();
        assert_eq!(doubt.kind(), DoubtKind::TooNoisy);
        let Some(Value::Sentence(extent)) = doubt.value("extent") else { panic!("{doubt}") };
        assert_eq!(extent.code(), Some("noise-scatter"));
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
        let m = judged(measurement("cost.syscall", Labels::new(), &samples, |s| s.ns), 0.05);
        assert_eq!(m.doubt.unwrap().code(), Some("samples-on-another-cpu"));
    }
}
