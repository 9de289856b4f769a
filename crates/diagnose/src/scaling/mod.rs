//! Scaling of workloads: a fit of the Universal Scalability Law to each workload and placement, the speedup, the efficiency, and the thread
//! count beyond which more threads are not worthwhile.

mod meaning;

use std::collections::{BTreeMap, HashMap};

use record::diagnosis::{Scaling, Step};
use record::{Label, Mark, Measurement, detail, metrics};

use crate::figures::{RESOLUTION, median};
use crate::record_index::RecordIndex;
use crate::usl::{Fit, FitDoubt, Point, fit};

/// The placement that uses one CPU of each core before any sibling.
const CORES_FIRST: &str = "cores-first";
/// Minimum share of a single thread's throughput that an additional thread must add to be worthwhile.
const WORTH: f64 = 0.5;
/// The assumed relative uncertainty of an unreliable result.
const DOUBTFUL: f64 = 0.05;
/// A fit with a larger residual does not describe the steps, because the noise of any step should be below 5 %.
pub(crate) const POOR: f64 = 0.05;
/// Maximum number of steps read for one workload and placement; real records have about twenty.
const MOST_STEPS: usize = 4096;

/// One entry for each workload and placement with at least two steps.
pub fn scaling(index: &RecordIndex) -> Vec<Scaling> {
    let mut workloads: Vec<(&str, Vec<Line>)> = Vec::new();
    // The indexes of workloads and placements are looked up by name, because a record may contain any number of workloads.
    let mut places: HashMap<(&str, Option<&str>), usize> = HashMap::new();
    for m in index.figures_of(metrics::WORKLOAD_THROUGHPUT) {
        let (Some(workload), Some(placement)) =
            (m.labels.word(Label::Workload), m.labels.word(Label::Placement))
        else {
            continue;
        };
        let Some(point) = Point::from_measurement(m) else { continue };
        let number = *places.entry((workload, None)).or_insert(workloads.len());
        workloads.extend((number == workloads.len()).then(|| (workload, Vec::new())));
        let lines = &mut workloads[number].1;
        let at = *places.entry((workload, Some(placement))).or_insert(lines.len());
        lines.extend((at == lines.len()).then(|| Line { placement, points: Vec::new() }));
        if lines[at].points.len() < MOST_STEPS {
            lines[at].points.push(point);
        }
    }
    let cores = index.record.machine.counts.cores;
    let mut all = Vec::new();
    for (workload, mut lines) in workloads {
        share_the_first(&mut lines);
        all.extend(lines.iter().filter_map(|line| entry(workload, line, cores)));
    }
    all
}

/// The steps of one placement.
struct Line<'a> {
    placement: &'a str,
    points: Vec<Point>,
}

impl Point {
    fn from_measurement(m: &Measurement) -> Option<Self> {
        let threads =
            m.labels.count(Label::Threads).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0)?;
        let throughput = m.value();
        // The run time of work with a fixed duration shows neither throughput nor speedup.
        if m.detail.get(detail::FIXED_TIME) == Some(true) || !(throughput > 1e-30 && throughput < 1e30) {
            return None;
        }
        let (low, high) = crate::figures::spread(&m.summary);
        let half = m.summary.relative_half_width().filter(|half| half.is_finite()).unwrap_or(0.0);
        let doubt = if m.doubt.is_some() { DOUBTFUL } else { 0.0 };
        let error = half.max(doubt).max(RESOLUTION);
        Some(Self {
            threads,
            throughput,
            low,
            high,
            error,
            doubt: doubt_of(m),
            has_interval: m.interval().is_some(),
        })
    }
}

/// The reason why a step allows no conclusion.
fn doubt_of(m: &Measurement) -> Option<FitDoubt> {
    let marked = |mark: Mark| m.marks.iter().filter(|one| one.mark == mark).count() as u64 * 2 > m.summary.n;
    let marks = [
        (Mark::Quota, FitDoubt::Quota),
        (Mark::Switched, FitDoubt::Switched),
        (Mark::Stolen, FitDoubt::Stolen),
    ];
    let marks = marks.into_iter().find_map(|(mark, doubt)| marked(mark).then_some(doubt));
    let other = m.doubt.is_some().then_some(FitDoubt::Noisy);
    marks.or(other).or((m.summary.n < 2).then_some(FitDoubt::Once))
}

/// With one thread, all placements are the same, so a placement that lacks this step uses the step of another placement. The steps are then
/// sorted.
fn share_the_first(lines: &mut [Line]) {
    let first = |line: &Line| line.points.iter().find(|point| point.threads == 1).copied();
    let shared = lines.iter().find_map(first);
    for line in lines {
        if first(line).is_none() {
            line.points.extend(shared);
        }
        line.points.sort_by_key(|point| point.threads);
    }
}

fn entry(workload: &str, line: &Line, cores: Option<u32>) -> Option<Scaling> {
    let points = &line.points;
    let mut distinct: Vec<u32> = points.iter().map(|point| point.threads).collect();
    distinct.dedup();
    let last = *distinct.last()?;
    if distinct.len() < 2 {
        return None;
    }
    let (fit, fitted, residual) = chosen(points, &distinct, line.placement, cores)?;
    let at = |threads| median(points.iter().filter(|p| p.threads == threads).map(|p| p.throughput));
    let one = at(1).unwrap_or(fit.rate);
    let steps: Vec<Step> = distinct
        .iter()
        .filter_map(|threads| {
            let throughput = at(*threads)?;
            let speedup = throughput / one;
            Some(Step { threads: *threads, throughput, speedup, efficiency: speedup / f64::from(*threads) })
        })
        .collect();
    let speedup = steps.last()?.speedup;
    // The first and last step, from which the speedup is computed.
    let ends = || points.iter().filter(|p| p.threads == 1 || p.threads == last);
    let doubt = ends().filter_map(|p| p.doubt).min();
    let has_interval = ends().all(|p| p.has_interval);
    let mut scaling = Scaling {
        workload: workload.to_owned(),
        placement: line.placement.to_owned(),
        points: u32::try_from(distinct.iter().filter(|n| (fitted.0..=fitted.1).contains(*n)).count())
            .unwrap_or(u32::MAX),
        fitted: Some(fitted),
        rate: fit.rate,
        contention: fit.contention,
        coherency: fit.coherency,
        residual,
        speedup,
        speedup_interval: interval(points, &fit),
        threads: last,
        knee: if doubt.is_some() { None } else { knee(points, one) },
        meaning: record::Text::default(),
        disturbed: false,
        steps,
    };
    scaling.disturbed = (doubt.is_some() || scaling.is_too_noisy())
        && scaling.steps.iter().any(|step| step.efficiency > 1.0 + POOR);
    scaling.meaning = meaning::meaning(&scaling, one, cores, doubt, has_interval);
    Some(scaling)
}

/// The lowest and highest speedup that the intervals of the first and last step allow.
fn interval(points: &[Point], fit: &Fit) -> Option<(f64, f64)> {
    let last = points.last()?;
    let one = points
        .iter()
        .find(|point| point.threads == 1)
        .map_or((fit.rate, fit.rate), |one| (one.low, one.high));
    let between = (last.low / one.1, last.high / one.0);
    (between.0.is_finite() && between.1.is_finite()).then_some(between)
}

/// The fit, the smallest and largest number of threads of the steps on which it is based, and the median distance of these steps from the
/// fit.
///
/// A sibling adds less than a core, but this is not contention. If the placement uses cores first, the law is therefore fitted only to the
/// steps with cores. If the placement uses siblings first, the step with one thread, which has an idle sibling, is omitted if it does not
/// fit.
fn chosen(points: &[Point], counts: &[u32], how: &str, cores: Option<u32>) -> Option<(Fit, (u32, u32), f64)> {
    let between = |low: u32, high: u32| {
        let within: Vec<Point> =
            points.iter().filter(|point| (low..=high).contains(&point.threads)).copied().collect();
        let steps = counts.iter().filter(|threads| (low..=high).contains(*threads)).count();
        let fit = fit(&within, steps)?;
        let residual =
            median(within.iter().map(|p| (p.throughput / fit.throughput_at(p.threads) - 1.0).abs()))?;
        Some((fit, (low, high), residual))
    };
    let (first, last) = (*counts.first()?, *counts.last()?);
    if how == CORES_FIRST {
        let on_cores = counts.iter().filter(|threads| cores.is_some_and(|cores| **threads <= cores));
        if on_cores.clone().count() >= 3 {
            return between(first, *on_cores.max()?);
        }
    }
    let all = between(first, last)?;
    match counts {
        [1, second, ..] if how != CORES_FIRST && all.2 > POOR && counts.len() > 4 => {
            between(*second, last).filter(|beyond| beyond.2 <= POOR).or(Some(all))
        }
        _ => Some(all),
    }
}

/// The step after which every later step adds less than [`WORTH`] of a thread's throughput per additional thread, beyond the spread of both
/// steps. This is based on the steps and not on the fit, because a smooth law misses the corner at which siblings begin.
fn knee(points: &[Point], one: f64) -> Option<u32> {
    let last = points.last()?.threads;
    let poor = |from: &Point, to: &Point| {
        to.high.max(to.throughput) - from.low.min(from.throughput)
            < WORTH * one * f64::from(to.threads - from.threads)
    };
    let steps: BTreeMap<u32, &Point> = points.iter().map(|point| (point.threads, point)).collect();
    steps
        .iter()
        .filter(|(threads, _)| **threads < last)
        .find(|(threads, from)| steps.range(*threads + 1..).all(|(_, to)| poor(from, to)))
        .map(|(threads, _)| *threads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{machine, measured};
    use crate::usl::throughput;
    use proptest::prelude::*;
    use record::text::Value;
    use record::{Labels, Record, Text};

    fn scaling(record: &Record) -> Vec<Scaling> {
        super::scaling(&RecordIndex::new(record))
    }

    /// The codes of a line's sentences.
    fn codes(fit: &Scaling) -> Vec<&str> {
        fit.meaning.sentences().iter().filter_map(Text::code).collect()
    }

    fn shown(fit: &Scaling, name: &str) -> Option<String> {
        fit.meaning.value(name).map(Value::to_string)
    }

    fn add(record: &mut Record, workload: &str, placement: &str, threads: u32, value: f64) {
        let place = Labels::new()
            .with_label(Label::Workload, workload)
            .with_label(Label::Threads, threads)
            .with_label(Label::Placement, placement);
        record.measurements.push(measured("workload.throughput", place, value));
    }

    fn by_law(steps: &[u32], rate: f64, contention: f64, coherency: f64) -> Record {
        let mut record = machine(4);
        for n in steps {
            add(&mut record, "w", "cores-first", *n, throughput(rate, contention, coherency, f64::from(*n)));
        }
        record
    }

    fn near(a: f64, b: f64, by: f64) -> bool {
        (a - b).abs() <= by * b.abs().max(1e-9)
    }

    #[test]
    fn data_that_follow_the_law_give_back_its_parameters() {
        let record = by_law(&[1, 2, 4, 8, 16, 32, 52, 64, 104], 9.4e7, 0.02, 1.5e-4);
        let all = scaling(&record);
        assert_eq!(all.len(), 1);
        let fit = &all[0];
        assert!(near(fit.rate, 9.4e7, 1e-5), "{fit:?}");
        assert!(near(fit.contention, 0.02, 1e-4) && near(fit.coherency, 1.5e-4, 1e-4), "{fit:?}");
        assert!(fit.residual < 1e-5 && fit.points == 9 && fit.threads == 104, "{fit:?}");
        assert_eq!(codes(fit), ["scaling-speed-up", "scaling-fit-both", "scaling-peak", "scaling-knee"]);
        assert_eq!(fit.meaning.value("peak"), Some(&Value::Count(81)));
        let step = fit.steps.last().unwrap();
        assert!(near(step.speedup / 104.0, step.efficiency, 1e-12) && step.speedup == fit.speedup);
    }

    #[test]
    fn linear_work_has_no_contention_and_no_knee() {
        let fit = scaling(&by_law(&[1, 2, 4, 8, 16], 3.0, 0.0, 0.0)).remove(0);
        assert_eq!((fit.contention, fit.coherency, fit.knee), (0.0, 0.0, None));
        assert!(near(fit.speedup, 16.0, 1e-9), "{fit:?}");
        assert_eq!(codes(&fit), ["scaling-speed-up", "scaling-fit-linear"]);
        assert_eq!(shown(&fit, "speedup").as_deref(), Some("16.0×"));
    }

    #[test]
    fn work_that_grows_more_than_linearly_is_held_at_zero_contention() {
        let mut record = machine(8);
        for (n, value) in [(1, 1.0), (2, 2.2), (4, 4.6), (8, 9.6)] {
            add(&mut record, "w", "cores-first", n, value);
        }
        let fit = scaling(&record).remove(0);
        assert_eq!((fit.contention, fit.coherency), (0.0, 0.0));
        assert!(codes(&fit).contains(&"scaling-superlinear"), "{}", fit.meaning);
    }

    #[test]
    fn siblings_that_add_a_third_make_the_knee_at_the_cores() {
        let mut record = machine(104);
        record.machine.counts.cores = Some(52);
        for n in [1u32, 2, 4, 8, 16, 26, 32, 52, 64, 104] {
            let (n, cores) = (f64::from(n), f64::from(n.min(52)));
            add(&mut record, "primes", "cores-first", n as u32, cores + (n - cores) * 0.3);
        }
        let fit = scaling(&record).remove(0);
        assert_eq!(fit.knee, Some(52));
        // The corner at the number of cores is due to neither contention nor coherency.
        assert_eq!((fit.points, fit.contention, fit.coherency), (8, 0.0, 0.0));
        let said =
            ["scaling-speed-up", "scaling-fit-linear", "scaling-fitted-to-cores", "scaling-knee-at-siblings"];
        assert_eq!(codes(&fit), said);
        assert_eq!(fit.meaning.value("cores"), Some(&Value::Count(52)));
    }

    #[test]
    fn a_placement_without_a_first_step_takes_the_others() {
        let mut record = by_law(&[1, 2, 4, 8], 10.0, 0.05, 0.0);
        add(&mut record, "w", "node-spread", 4, 35.0);
        add(&mut record, "w", "node-spread", 8, 60.0);
        add(&mut record, "lonely", "cores-first", 4, 1.0);
        let all = scaling(&record);
        assert_eq!(all.len(), 2, "{all:?}");
        let spread = all.iter().find(|fit| fit.placement == "node-spread").unwrap();
        assert_eq!((spread.points, spread.steps[0].threads), (3, 1));
        assert!(near(spread.speedup, 6.0, 1e-6) && spread.coherency == 0.0, "{spread:?}");
    }

    #[test]
    fn one_disturbed_step_does_not_bend_the_fit() {
        let mut record = by_law(&[1, 2, 4, 8, 16, 32, 64], 1.0, 0.01, 0.0);
        let disturbed = &mut record.measurements[3];
        *disturbed = measured("workload.throughput", disturbed.labels.clone(), disturbed.value() * 0.6);
        disturbed.doubt = Some("too noisy".into());
        let fit = scaling(&record).remove(0);
        assert!((fit.contention - 0.01).abs() < 0.003, "{fit:?}");
        assert!(fit.residual < 0.02, "{fit:?}");
    }

    #[test]
    fn nothing_is_concluded_from_one_run_or_from_steps_in_doubt() {
        let reported = |change: &dyn Fn(&mut Measurement)| {
            let mut record = by_law(&[1, 2], 1.0, 0.9, 0.0);
            record.measurements.iter_mut().for_each(change);
            let fit = scaling(&record).remove(0);
            assert_eq!(fit.knee, None);
            codes(&fit).join(" ")
        };
        let once = |m: &mut Measurement| {
            m.samples.truncate(1);
            m.summary = record::Summary::from_samples(&m.samples);
        };
        assert_eq!(reported(&once), "scaling-speed-up scaling-run-once");
        // A doubt that concerns both steps does not hide a doubt about one step.
        let beside_others = |m: &mut Measurement| {
            once(m);
            if m.labels.count(Label::Threads) == Some(2) {
                m.marks = vec![record::SampleMark { sample: 0, mark: Mark::Switched }];
            }
        };
        assert_eq!(reported(&beside_others), "scaling-speed-up scaling-other-programs");
        let noisy = |m: &mut Measurement| m.doubt = Some("too noisy".into());
        assert_eq!(reported(&noisy), "scaling-speed-up scaling-in-doubt");
        let quota = |m: &mut Measurement| {
            m.marks = (0..m.summary.n as u32)
                .map(|sample| record::SampleMark { sample, mark: Mark::Quota })
                .collect();
        };
        assert_eq!(reported(&quota), "scaling-speed-up scaling-throttled");
    }

    #[test]
    fn what_runs_for_a_fixed_time_has_no_speed_up() {
        let mut record = by_law(&[1, 2], 1.0, 0.9, 0.0);
        for m in &mut record.measurements {
            m.detail.set(detail::FIXED_TIME, true);
        }
        assert_eq!(scaling(&record), []);
    }

    #[test]
    fn two_steps_are_reported_as_two_steps() {
        let fit = scaling(&by_law(&[1, 2], 1.0, 0.25, 0.0)).remove(0);
        assert!(near(fit.contention, 0.25, 1e-3), "{fit:?}");
        assert_eq!(fit.knee, None);
        assert_eq!(codes(&fit), ["scaling-speed-up", "scaling-two-steps"]);
    }

    #[test]
    fn siblings_first_says_that_a_thread_is_not_alone() {
        let mut record = machine(16);
        add(&mut record, "w", "siblings-first", 1, 1.0);
        for n in [2u32, 4, 8, 16] {
            add(&mut record, "w", "siblings-first", n, f64::from(n) * 0.65);
        }
        let fit = scaling(&record).remove(0);
        assert_eq!(codes(&fit)[1], "scaling-from-shared-core");
        assert_eq!(shown(&fit, "share").as_deref(), Some("65.0 %"));
    }

    #[test]
    fn noise_is_not_taken_for_contention() {
        let mut record = machine(2);
        for (threads, samples) in
            [(1u32, [50.0, 90.0, 100.0, 110.0, 150.0, 160.0]), (2, [60.0, 80.0, 90.0, 95.0, 200.0, 210.0])]
        {
            let place = Labels::new()
                .with_label(Label::Workload, "w")
                .with_label(Label::Threads, threads)
                .with_label(Label::Placement, "cores-first");
            record.measurements.push(Measurement::new("workload.throughput", place, samples.to_vec()));
        }
        let fit = scaling(&record).remove(0);
        assert!(fit.is_too_noisy() && fit.contention <= 1.0 && fit.knee.is_none(), "{fit:?}");
        assert_eq!(codes(&fit), ["scaling-speed-up", "scaling-too-noisy"]);
        assert_eq!(["low", "high"].map(|name| shown(&fit, name).unwrap()), ["0.375×", "4.20×"]);
    }

    #[test]
    fn more_than_all_threads_can_do_is_no_speed_up() {
        let mut record = machine(2);
        for (threads, samples) in [(1u32, [11.0, 12.0, 13.0, 90.0, 12.0, 50.0]), (2, [98.0; 6])] {
            let place = Labels::new()
                .with_label(Label::Workload, "w")
                .with_label(Label::Threads, threads)
                .with_label(Label::Placement, "cores-first");
            record.measurements.push(Measurement::new("workload.throughput", place, samples.to_vec()));
        }
        let fit = scaling(&record).remove(0);
        assert!(fit.disturbed && !fit.is_possible(&fit.steps[1]), "{fit:?}");
        assert!(fit.is_possible(&fit.steps[0]) && codes(&fit) == ["scaling-disturbed"], "{}", fit.meaning);
        // The range of three runs is not an interval: they may differ by 5 %.
        let few = |runs: [[f64; 3]; 2]| {
            let mut record = machine(2);
            for (threads, samples) in [1u32, 2].into_iter().zip(runs) {
                let place = Labels::new()
                    .with_label(Label::Workload, "w")
                    .with_label(Label::Threads, threads)
                    .with_label(Label::Placement, "cores-first");
                record.measurements.push(Measurement::new("workload.throughput", place, samples.to_vec()));
            }
            codes(&scaling(&record).remove(0)).contains(&"scaling-superlinear")
        };
        assert!(!few([[1.0, 1.01, 1.02], [2.08, 2.13, 2.15]]), "2.11× of 2.04× to 2.15×");
        assert!(few([[1.0, 1.01, 1.02], [2.4, 2.42, 2.43]]));
        // Two threads with a cache each can do more than twice the work, if both steps are reliable.
        let mut record = machine(2);
        add(&mut record, "w", "cores-first", 1, 10.0);
        add(&mut record, "w", "cores-first", 2, 25.0);
        let fit = scaling(&record).remove(0);
        assert!(!fit.disturbed && codes(&fit).contains(&"scaling-superlinear"), "{}", fit.meaning);
    }

    proptest! {
        #[test]
        fn exact_data_of_any_parameters_are_found_again(
            rate in 1e-6f64..1e12, contention in 0.0f64..0.5, coherency in 0.0f64..0.01, last in 4u32..9
        ) {
            let steps: Vec<u32> = (0..last).map(|i| 1 << i).collect();
            let fit = scaling(&by_law(&steps, rate, contention, coherency)).remove(0);
            // Samples have seven digits, so a step has a relative error of up to 5e-8, and the parameters may shift the steps by as much.
            prop_assert!(near(fit.rate, rate, 1e-4), "{fit:?}");
            prop_assert!((fit.contention - contention).abs() < 1e-4, "{fit:?}");
            prop_assert!((fit.coherency - coherency).abs() < 1e-4, "{fit:?}");
            prop_assert!(fit.residual < 1e-4, "{fit:?}");
        }

        #[test]
        fn any_figures_give_finite_entries(
            steps in proptest::collection::vec((any::<u32>(), proptest::num::f64::ANY), 0..12)
        ) {
            let mut record = machine(2);
            for (threads, value) in steps {
                add(&mut record, "w", "cores-first", threads, value);
            }
            for fit in scaling(&record) {
                for value in [fit.rate, fit.contention, fit.coherency, fit.speedup] {
                    prop_assert!(value.is_finite() && value >= 0.0, "{fit:?}");
                }
            }
        }
    }
}
