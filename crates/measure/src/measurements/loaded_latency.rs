//! Measures load latency while the other CPUs read memory at an increasing rate.

use record::text::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kernels::chain;
use kernels::stream::{Op, Stream};
use record::{Coverage, CpuList, Label, Labels, Measurement, Template, Text, detail, metrics, text};
use serde_json::json;

use crate::array_setup;
use crate::arrays::{CHUNK, Part, widest_stream};
use crate::budget::{Budget, beyond_caches};
use crate::common_interval::{self, WorkLog};
use crate::context::{Context, Halt};
use crate::cycle::Cycle;
use crate::measure::Measure;
use crate::measurements::bandwidth::TOUCH_SECONDS;
use crate::measurements::parallelism::memory_cycle;
use crate::memory_probe::MemoryProbe;
use crate::reasons::{MORE_CPUS, NO_READ_KERNEL, THREAD_NOT_STARTED};
use crate::repeat::{judged, mark_migrated};
use crate::thread_group::{self, Member};
use crate::watch::ns_since;

const NAME: &str = "loaded-latency";

/// Cycles (chained adds) that a loader waits after each 16 KiB. The longest wait leaves the machine almost idle, and the last value means
/// no wait. Each value is smaller than the previous one by a factor of two to three; the factor is smallest around the usual knee of the
/// curve.
const WAITS: [u64; 10] = [120_000, 40_000, 16_000, 8_000, 4_000, 2_000, 1_000, 500, 200, 0];

/// Number of load rates: one without load, and one for each wait.
const RATES: usize = 1 + WAITS.len();

/// Bytes that a loader reads between waits.
const BURST: usize = 16 << 10;

/// Hops per latency sample: about 50 µs from memory.
const HOPS: u64 = 512;

/// The reason if there is only one CPU, so that none is left for loaders.
const NEEDS_LOADERS: Template =
    Template::new("needs-two-cpus-to-load", "needs two CPUs: one to measure, another to generate load");

const ONE_LOADER: Template =
    Template::new("one-cpu-to-load", "only one CPU generates load, and may not saturate memory");

pub(crate) const LOADED_LATENCY: Measure = Measure {
    name: NAME,
    metrics: &[metrics::MEMORY_LOADED_LATENCY, metrics::PROBE_LATENCY],
    obstacle: |_, _, cpus| match cpus.len() {
        0 | 1 => Some(Coverage::impossible(NAME, NEEDS_LOADERS).with_remedy(MORE_CPUS)),
        2 => Some(Coverage::degraded(NAME, ONE_LOADER)),
        _ => None,
    },
    budget: |machine, cpus, depth| Budget {
        seconds: depth.pick(1.0, 9.0, 80.0) + cpus.len() as f64 * RATES as f64 * 0.06e-3,
        bytes: beyond_caches(machine).saturating_mul(2),
    },
    uses_arrays: true,
    run,
};

fn run(context: &mut Context) -> Result<(), Halt> {
    let lead = context.lead()?;
    let loaders: Vec<u32> = context.cpus.iter().filter(|cpu| *cpu != lead).collect();
    let cycle = memory_cycle(context, lead, NAME)?;
    let ready = array_setup::prepare(context, NAME, context.depth.pick(0.4, TOUCH_SECONDS - 1.0, 60.0))?;
    let read_from = ready.bytes() * 2 * loaders.len() as u64 / context.cpus.len() as u64;
    if read_from < context.machine.last_level_bytes() {
        let size = Value::Bytes(read_from);
        context.degrade_with_remedy(
            NAME,
            text!("the load covers only {size}, which fits in the caches"),
            text!("use linespeed run loaded-latency --full, or free memory"),
        );
    }
    let index_of = |cpu: &u32| context.cpus.iter().position(|c| c == *cpu);
    let parts: Vec<Part> =
        loaders.iter().filter_map(|cpu| ready.parts.get(index_of(cpu)?).cloned()).collect();
    let read = widest_stream(Op::Read).ok_or(NO_READ_KERNEL)?;

    let cpus: Vec<u32> = std::iter::once(lead).chain(loaders.iter().copied()).collect();
    // Time saved when creating the arrays is only partly used, because a longer window does not improve the result.
    let most = context.depth.pick(0.05, 0.3, 1.5);
    let seconds = (context.seconds_left() / RATES as f64 * 0.8).clamp(0.03, most);
    let probe = Mutex::new(MemoryProbe::new(None).ok().flatten());
    let (mut points, mut starved): (Vec<Point>, usize) = (Vec::new(), 0);
    for (step, wait) in std::iter::once(None).chain(WAITS.map(Some)).enumerate() {
        context.check()?;
        if context.out_of_time() && points.len() > 2 {
            context.degrade(NAME, text!(Coverage::TIME_ENDED, when = "before the highest rates"));
            break;
        }
        let over = AtomicBool::new(false);
        let logs = thread_group::run(&cpus, |member| {
            let end = member.start + Duration::from_secs_f64(seconds);
            if member.index == 0 {
                // The chase continues until its window ends; loaders continue until the chase has ended.
                let taken = chase_samples(&cycle, member, end, &probe);
                over.store(true, Ordering::Relaxed);
                return (WorkLog::default(), taken, member.has_moved());
            }
            (load(read, &parts[member.index - 1], wait, member, &over), Samples::default(), false)
        });
        let mut all: Vec<_> = logs.into_iter().collect::<Option<_>>().ok_or(THREAD_NOT_STARTED)?;
        let (_, samples, moved) = all.remove(0);
        let logs: Vec<WorkLog> = all.into_iter().map(|(log, _, _)| log).collect();
        let loaded = record::Summary::from_samples(&common_interval::rates(&logs, 6)).median;
        match Point::new(loaded, samples, moved) {
            Some(point) => points.push(Point { look: context.next_look(), ..point }),
            None => starved += 1,
        }
        context.look(true);
        context.advance((step + 1) as f64 / RATES as f64);
    }
    if starved > 0 {
        context.degrade_with_remedy(
            NAME,
            text!(
                "{starved} of {all} load rates are excluded, because other processes occupied the CPU",
                all = RATES
            ),
            text!("stop other processes, or run: linespeed run loaded-latency --full"),
        );
    }
    // The points are sorted by bandwidth: if two waits differ only slightly, the shorter one may result in the lower bandwidth.
    points.sort_by(|a, b| a.bandwidth.total_cmp(&b.bandwidth));
    push_all(context, lead, &points, &loaders);
    context.kept_cycle = Some(cycle);
    context.kept_arrays = Some(ready);
    Ok(())
}

/// The samples of one window, ns per load.
#[derive(Debug, Default)]
struct Samples {
    /// Samples of the chase.
    chase: Vec<f64>,
    /// Samples of the memory probe, taken between the samples of the chase.
    probe: Vec<f64>,
}

/// Number of chases between two readings of the probe.
const PROBED: usize = 6;

/// Takes latency samples of a chase until `end`.
fn chase_samples(cycle: &Cycle, member: Member, end: Instant, probe: &Mutex<Option<MemoryProbe>>) -> Samples {
    let mut samples = Samples::default();
    let mut at = 0;
    // Only this thread uses the probe.
    let mut probe = probe.lock().unwrap_or_else(PoisonError::into_inner);
    member.wait();
    // The first tenth of the window lets the loaders reach their rate.
    let settle = member.start + (end - member.start) / 10;
    while Instant::now() < end {
        let from = Instant::now();
        at = cycle.chase(at, HOPS);
        let ns = ns_since(from) / HOPS as f64;
        if from > settle {
            samples.chase.push(ns);
            if samples.chase.len() % PROBED == 0 {
                samples.probe.extend(probe.as_mut().and_then(MemoryProbe::read));
            }
        }
    }
    samples
}

fn load(read: &Stream, part: &Part, wait: Option<u64>, member: Member, over: &AtomicBool) -> WorkLog {
    let mut log = WorkLog::with_capacity(1 << 16);
    member.wait();
    log.note(member.start, 0.0);
    // `place` is the index of an array and the offset in it; the loader reads the arrays alternately.
    let (mut done, mut place) = (0.0, (0usize, 0usize));
    let adds = u64::from(chain::ADD.work.operations);
    while !over.load(Ordering::Relaxed) {
        if let Some(cycles) = wait {
            let from = part.array(place.0, place.1 / CHUNK * CHUNK).wrapping_byte_add(place.1 % CHUNK);
            // SAFETY: the burst is within a chunk of the part's array (bursts divide chunks), which was touched and is
            // only read.
            unsafe { (read.run)(from, from, from, BURST) };
            place.1 += BURST;
            if place.1 >= part.bytes {
                place = (1 - place.0, 0);
            }
            done += BURST as f64;
            if cycles > 0 {
                (chain::ADD.run)(cycles / adds + 1);
            }
        } else {
            (chain::ADD.run)(100);
        }
        log.note(member.start, done);
    }
    log
}

/// Latency at one rate of load.
struct Point {
    /// Bytes per second read by the loaders and by the chase.
    bandwidth: f64,
    /// Latencies of the chase, ns.
    samples: Vec<f64>,
    /// The probe's latency, ns.
    probe: Vec<f64>,
    summary: record::Summary,
    /// Whether the chase ran on a different CPU.
    moved: bool,
    /// The number of placement checks before these samples.
    look: u32,
}

impl Point {
    /// `None` if the chase had no CPU time.
    fn new(loaded: f64, Samples { chase: samples, probe }: Samples, moved: bool) -> Option<Self> {
        let summary = record::Summary::from_samples(&samples);
        // The lines of the chase also count as traffic.
        let bandwidth = loaded + 64.0 / summary.median * 1e9;
        (bandwidth.is_finite() && summary.median > 0.0).then_some(Self {
            bandwidth,
            samples,
            probe,
            summary,
            moved,
            look: 0,
        })
    }

    /// Whether another point shows that this point's latency was not caused by the load: the other point has the same
    /// or a higher bandwidth, but its latency is lower by more than the scatter of both points.
    fn is_refuted_by(&self, other: &Point) -> bool {
        let (Some((low, _)), Some((_, high))) = (self.summary.interval, other.summary.interval) else {
            return false;
        };
        other.bandwidth >= self.bandwidth && high < low * (1.0 - FELL)
    }
}

/// If latency falls by this share while the load rises, the higher latency was not caused by the load.
const FELL: f64 = 0.05;

fn push_all(context: &mut Context, cpu: u32, points: &[Point], loaders: &[u32]) {
    let peak = points.iter().map(|point| point.bandwidth).fold(0.0, f64::max);
    let refuted = |point: &Point| points.iter().any(|other| point.is_refuted_by(other));
    let curve: Vec<(f64, f64)> = points
        .iter()
        .filter(|point| !refuted(point))
        .map(|point| (point.bandwidth, point.summary.median))
        .collect();
    let list: CpuList = loaders.iter().copied().collect();
    for point in points {
        let place = Labels::new()
            .with_label(Label::Cpu, cpu)
            .with_label(Label::Bandwidth, point.bandwidth.round())
            .with_label(Label::ShareOfPeak, (point.bandwidth / peak * 1e4).round() / 1e4);
        let m = Measurement::new(metrics::MEMORY_LOADED_LATENCY, place, point.samples.clone())
            .with_detail(detail::LOADERS, list.to_string())
            .with_detail(detail::LOAD, "read")
            .with_detail(detail::IDLE_NS, curve.first().map_or(json!(null), |first| json!(first.1)))
            .with_detail(detail::KNEE_BYTES_PER_SECOND, json!(knee(&curve)))
            .with_detail(detail::NS_AT_HALF_OF_PEAK, json!(value_at(&curve, peak * 0.5)))
            .with_detail(detail::NS_AT_80_PERCENT_OF_PEAK, json!(value_at(&curve, peak * 0.8)));
        let marks = if point.moved { mark_migrated(point.samples.len()) } else { Vec::new() };
        let mut m = judged(Measurement { marks, ..m }.with_looks(vec![point.look]), 0.05);
        // The doubt about a refuted point replaces any other doubt, because it also explains that doubt.
        if refuted(point) {
            m.doubt = Some(Text::from(REFUTED).into());
        }
        let (place, doubt) = (m.labels.clone(), m.doubt.clone());
        context.push(m);
        if !point.probe.is_empty() {
            let probe = Measurement::new(metrics::PROBE_LATENCY, place, point.probe.clone());
            let mut heard = judged(probe.with_looks(vec![point.look]), 0.05);
            heard.doubt = doubt.filter(|_| refuted(point)).or(heard.doubt);
            context.push(heard);
        }
    }
}

/// The doubt about a point that is refuted by another point.
const REFUTED: Template = Template::new(
    "loaded-latency-refuted",
    "latency fell at a higher load: other processes probably used memory or caches",
);

/// The bandwidth at which latency first reaches twice the idle latency, interpolated linearly; `None` if it never does.
fn knee(curve: &[(f64, f64)]) -> Option<f64> {
    let by_latency: Vec<(f64, f64)> = curve.iter().map(|(bandwidth, ns)| (*ns, *bandwidth)).collect();
    value_at(&by_latency, by_latency.first()?.0 * 2.0)
}

/// The second coordinate of a curve at the point where the first one reaches `wanted`.
fn value_at(curve: &[(f64, f64)], wanted: f64) -> Option<f64> {
    curve.windows(2).find(|w| w[0].0 < wanted && w[1].0 >= wanted).map(|w| {
        let share = (wanted - w[0].0) / (w[1].0 - w[0].0);
        w[0].1 + (w[1].1 - w[0].1) * share
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_is_where_latency_is_twice_idle() {
        let curve = [(1.0, 100.0), (10.0, 120.0), (20.0, 280.0), (21.0, 600.0)];
        assert_eq!(knee(&curve), Some(15.0));
        assert_eq!(knee(&curve[..2]), None);
        assert_eq!(knee(&[]), None);
    }

    #[test]
    fn a_chase_that_had_no_time_is_no_point() {
        assert!(Point::new(1e9, Samples::default(), false).is_none());
        let chase = Samples { chase: vec![100.0; 9], probe: Vec::new() };
        let point = Point::new(1e9, chase, false).unwrap();
        assert!((point.bandwidth - 1.64e9).abs() < 1.0);
    }

    #[test]
    fn latency_that_falls_while_the_load_rises_was_not_the_loads() {
        let at = |bandwidth: f64, ns: f64| {
            let chase = (0..40).map(|n| ns + f64::from(n % 5) * 0.1).collect();
            Point::new(bandwidth, Samples { chase, probe: Vec::new() }, false).unwrap()
        };
        let (idle, noisy, loaded) = (at(1e9, 100.0), at(2e9, 170.0), at(4e9, 130.0));
        assert!(noisy.is_refuted_by(&loaded) && !loaded.is_refuted_by(&noisy));
        assert!(!idle.is_refuted_by(&loaded) && !at(1e9, 103.0).is_refuted_by(&at(2e9, 100.0)));
        // The idle point has a lower rate, so its lower latency refutes nothing.
        assert!(!noisy.is_refuted_by(&idle));
    }

    #[test]
    fn shares_of_peak_lie_on_the_curve() {
        let curve = [(0.0, 100.0), (10.0, 120.0), (20.0, 300.0)];
        assert_eq!(value_at(&curve, 10.0), Some(120.0));
        assert_eq!(value_at(&curve, 16.0), Some(228.0));
    }
}
