//! Measures the largest set again, alternately on different base pages.
//!
//! A process gets whichever base pages are free, and the page-walk overhead differs from one set of pages to the next:
//! it depends on which page-table lines share a cache set and, under a hypervisor, on the host's backing pages. Samples
//! on one set of pages still agree with each other, so an interval from one set alone would be too narrow to cover the
//! results of the next process. On huge pages, page walks hardly matter.
//!
//! Other tasks' use of a shared cache and of memory changes within tens of milliseconds, while sampling a point takes
//! only a few milliseconds. All sets, including the one on huge pages, are therefore sampled alternately, so that no
//! burst affects only one side of a comparison.

use std::ops::Range;

use record::{Doubt, Labels, Measurement, SampleMark, Summary, metrics};

use super::curve::{Curve, Point, SAMPLE_NS, TARGET, sample};
use super::warm;
use crate::context::Context;
use crate::cycle::Cycle;
use crate::repeat::{Effort, judged};
use crate::watch::{Watch, Watched};
use os::mapping::Page;
use os::placement::Placement;

/// Number of page sets in addition to the first. The total is odd, so that the median belongs to one set.
const MORE: usize = 2;

/// Rounds over all sets; the first set and the one on huge pages have already been sampled once.
const TURNS: usize = 4;

/// Maximum size: larger sets mix so many pages that all sets are similar, and would take long to create.
const LARGEST: usize = 256 << 20;

/// Measures the last points of the curves, of `bytes` each, also on other base pages if time and memory allow, with the
/// same number of samples for each set of pages. All sets are retained until the last one is done, because freed pages
/// would be reused. `making` is the time to create one set, s.
pub(super) fn sample_again(
    curves: &mut [Curve],
    bytes: usize,
    making: f64,
    context: &mut Context,
    watch: &mut Watch,
) {
    let reached = |curve: &Curve| curve.points.last().is_some_and(|point| point.bytes == bytes);
    let base = curves.iter_mut().filter(|curve| reached(curve)).find(|curve| curve.page == Page::Base);
    let Some(base) = base.and_then(|curve| curve.points.last()) else { return };
    let (hops, many) = (base.hops, base.samples.len());
    let visit = warm::settling(bytes, Page::Base.bytes(), context.depth) + many as f64 * SAMPLE_NS / 1e9;
    let needs = MORE as f64 * making + ((curves.len() + MORE) * TURNS) as f64 * visit;
    let room = context.memory_allowance() / 2 >= (MORE * bytes) as u64;
    if bytes > LARGEST || !room || context.seconds_left() < needs {
        return;
    }
    let Some(mut others) = (0..MORE).map(|_| make_set(bytes, watch.cpu, context)).collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let mut taken: Vec<Vec<Watched>> = others.iter().map(|_| Vec::new()).collect();
    for turn in 0..TURNS {
        for curve in curves.iter_mut().filter(|curve| turn > 0 && reached(curve)) {
            let hops = curve.points.last().map_or(hops, |point| point.hops);
            let samples = sample_set(curve, hops, many, context, watch);
            if let Some(point) = curve.points.last_mut() {
                point.samples.extend(samples);
                point.draws = vec![point.samples.len()];
            }
        }
        for (other, taken) in others.iter_mut().zip(&mut taken) {
            taken.extend(sample_set(other, hops, many, context, watch));
        }
        if context.out_of_time() || context.check().is_err() {
            break;
        }
    }
    let base = curves.iter_mut().filter(|curve| reached(curve)).find(|curve| curve.page == Page::Base);
    let Some(point) = base.and_then(|curve| curve.points.last_mut()) else { return };
    for samples in taken.into_iter().filter(|samples| samples.len() >= many) {
        point.samples.extend(samples);
        point.draws.push(point.samples.len());
    }
}

/// A set on separate base pages, read once. `None` if it cannot be created in time or is on another node, because samples
/// from other nodes would not belong to this point.
fn make_set(bytes: usize, cpu: u32, context: &mut Context) -> Option<Curve> {
    let node = context.node_of(cpu);
    let (cycle, _) = Cycle::new(bytes, Page::Base, node).ok()?;
    let mut other = Curve::new(Page::Base, cycle);
    other.grow_to(bytes, context);
    let here = |node| Placement::check(other.cycle.mapping(), bytes, node).acceptable();
    (!context.out_of_time() && context.check().is_ok() && node.is_none_or(here)).then_some(other)
}

/// Samples a set again after other sets were sampled in the meantime.
fn sample_set(
    curve: &mut Curve,
    hops: u64,
    many: usize,
    context: &mut Context,
    watch: &mut Watch,
) -> Vec<Watched> {
    warm::settle(&mut curve.cycle, curve.page.bytes(), context.depth, || context.out_of_time());
    let effort = Effort { least: many, most: many, target: 0.0 };
    context.look(false);
    watch.look = context.next_look();
    watch.refresh();
    sample(curve, hops, effort, context, watch)
}

/// The doubt about the point's result, determined from the samples of each set of pages separately. Differences between sets are not noise,
/// and are included in the interval over all sets.
pub(super) fn find_doubt(point: &Point, figure: &Measurement) -> Option<Doubt> {
    split_sets(point).find_map(|range| {
        let samples = figure.samples.get(range.clone())?.to_vec();
        let within = |mark: &&SampleMark| range.contains(&(mark.sample as usize));
        let marks = figure.marks.iter().filter(within).cloned().collect();
        let of_one = Measurement::new(metrics::LOAD_LATENCY, Labels::new(), samples);
        judged(Measurement { marks, ..of_one }, TARGET).doubt
    })
}

/// The ranges of the samples of each set of pages.
fn split_sets(point: &Point) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    point.draws.iter().map(move |&end| std::mem::replace(&mut from, end)..end)
}

/// The median of each of the point's sets of pages, ns per hop.
pub(super) fn medians(point: &Point) -> Vec<f64> {
    let hops = point.hops as f64;
    split_sets(point)
        .filter_map(|range| point.samples.get(range).filter(|samples| !samples.is_empty()))
        .map(|samples| {
            Summary::from_samples(&samples.iter().map(|sample| sample.ns / hops).collect::<Vec<_>>()).median
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Watched;
    use record::DoubtKind;

    fn point(sets: &[&[f64]]) -> Point {
        let mut point = Point { bytes: 128 << 20, hops: 2, samples: Vec::new(), draws: Vec::new() };
        for set in sets {
            let watched = |ns: &f64| Watched { ns: ns * 2.0, clock_hz: 1e9, marks: Vec::new(), look: 0 };
            point.samples.extend(set.iter().map(watched));
            point.draws.push(point.samples.len());
        }
        point
    }

    /// The point's result, with doubts raised only by its own samples.
    fn figure(point: &Point) -> Measurement {
        crate::repeat::measurement("load.latency", Labels::new(), &point.samples, |s| {
            s.ns / point.hops as f64
        })
    }

    #[test]
    fn sets_of_pages_that_differ_widen_the_interval_and_are_no_noise() {
        let sets =
            [165.0, 310.0, 230.0].map(|ns| (0..12).map(|i| ns + f64::from(i) / 10.0).collect::<Vec<_>>());
        let differs = point(&sets.each_ref().map(Vec::as_slice));
        assert_eq!(medians(&differs).iter().map(|ns| ns.round()).collect::<Vec<_>>(), [166.0, 311.0, 231.0]);
        let figure = figure(&differs);
        let interval = figure.summary.interval.unwrap();
        assert!(interval.0 < 170.0 && interval.1 > 300.0, "{interval:?}");
        assert_eq!(find_doubt(&differs, &figure), None);
    }

    #[test]
    fn noise_within_one_set_of_pages_is_reported() {
        let noisy: Vec<f64> = (0..12).map(|i| if i % 2 == 0 { 150.0 } else { 300.0 }).collect();
        let quiet = [165.0; 12];
        let point = point(&[&quiet, &noisy]);
        let doubt = find_doubt(&point, &figure(&point)).unwrap();
        assert_eq!(doubt.kind(), DoubtKind::TooNoisy, "{doubt}");
    }
}
