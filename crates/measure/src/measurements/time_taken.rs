//! Time stolen from a busy thread: each CPU spins on the cycle counter, and a gap is time used by something else. A gap
//! without an interrupt or context switch is caused below the kernel, by firmware or hypervisor. So is a long gap with a
//! few interrupts, if the kernel did not count it as this thread's CPU time: the interrupts arrived while the vCPU was
//! stopped.

use std::time::{Duration, Instant};

use kernels::counter;
use machine::Root;
use record::long_gap::{Taker, TakerKind};
use record::{Bucket, Label, Labels, Measurement, detail, metrics, text};

use crate::budget::Budget;
use crate::context::{Context, Halt};
use crate::interrupts::Interrupts;
use crate::kernel_trace::KernelTrace;
use crate::long_gaps::{Held, Longest, RunTimes, monotonic_ns, smi_count};
use crate::measure::{Measure, NO_OBSTACLE};
use crate::repeat::{judged, mark_migrated};
use crate::{thread_group, watch};
use os::Stop;

/// Minimum gap. Shorter gaps are caused by the loop itself, a cache miss or an SMT sibling. rtla's osnoise uses 5 µs,
/// oslat 1 µs.
const THRESHOLD_NS: f64 = 1_000.0;

/// Length of the slices over which the share is computed; each slice is a sample.
const PART: Duration = Duration::from_millis(50);

/// If a gap is longer than this time multiplied by the number of interrupts during the gap, the interrupts are not its cause: Linux ends
/// the deferred work of interrupts after 2 ms (`MAX_SOFTIRQ_TIME` in kernel/softirq.c) and leaves the rest to a thread. Kernels that
/// account the time of interrupts separately (CONFIG_IRQ_TIME_ACCOUNTING) do not count this work as CPU time either.
const MOST_PER_INTERRUPT_NS: f64 = 2_500_000.0;

/// If one reading of /proc/interrupts takes longer than this (hundreds of CPUs), the file is read once per slice, not after each gap.
const SLOW_READING: Duration = Duration::from_micros(300);

/// Maximum share of the time that may be spent on scanning the run times of all threads.
const SCANNED: f64 = 0.1;

/// Share of the time during which the kernel's trace is active. Because tracing slows down the observed threads, gaps
/// during the trace are listed with their causes but do not count towards the share of stolen time.
const TRACED: f64 = 0.4;

/// Maximum number of gaps saved per CPU; further gaps still count towards the share of stolen time.
const MOST_GAPS: usize = 200_000;

/// Maximum number of CPUs for which each gap distribution is saved separately.
const DISTRIBUTIONS: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Os,
    Below,
    Unknown,
}

#[derive(Clone, Copy, Debug)]
struct Gap {
    ns: f64,
    cause: Cause,
}

/// The result of spinning for one slice.
#[derive(Clone, Debug, Default)]
struct Part {
    watched_ns: f64,
    gaps: Vec<Gap>,
}

impl Part {
    /// The lengths of the gaps due to `cause`, or of all gaps if `cause` is `None`.
    fn taken(&self, cause: Option<Cause>) -> impl Iterator<Item = f64> {
        self.gaps.iter().filter(move |gap| cause.is_none_or(|c| gap.cause == c)).map(|gap| gap.ns)
    }
}

#[derive(Clone, Debug, Default)]
struct Seen {
    parts: Vec<Part>,
    causes_reported: bool,
    pinned: bool,
    moved: bool,
    thread: i32,
    longest: Longest,
}

pub(crate) const TIME_TAKEN: Measure = Measure {
    name: "stolen",
    metrics: &[metrics::STOLEN_SHARE, metrics::STOLEN_GAP],
    obstacle: NO_OBSTACLE,
    budget: |_, cpus, depth| Budget {
        seconds: depth.pick(0.5, 2.8, 30.0) + cpus.len() as f64 * 0.1e-3,
        bytes: 0,
    },
    uses_arrays: false,
    run,
};

fn run(context: &mut Context) -> Result<(), Halt> {
    context.lead()?;
    let cpus: Vec<u32> = context.cpus.iter().collect();
    let rate = watch::ticks_a_second() / 1e9;
    let duration = Duration::from_secs_f64(context.depth.pick(0.4, 2.7, 30.0));
    let trace = KernelTrace::start(&cpus);
    let (duration, traced) = match &trace {
        Some(_) => (duration.mul_f64(1.0 - TRACED), duration.mul_f64(TRACED)),
        None => (duration, Duration::ZERO),
    };
    let mut named = Vec::new();
    if let Some(trace) = trace {
        let seen = spin_all(&cpus, rate, (traced, Duration::ZERO), context.stop);
        let own = seen.iter().flatten().map(|seen| seen.thread).collect();
        let longest: Longest = seen.into_iter().flatten().map(|seen| seen.longest).collect();
        named = longest.named(Some((&trace.end(), &own)));
    }
    let scan = named.is_empty() && cpus.len() <= DISTRIBUTIONS;
    let scanned = duration.mul_f64(if scan { SCANNED } else { 0.0 });
    let mut seen = spin_all(&cpus, rate, (duration, scanned), context.stop);
    if named.is_empty() {
        let taken = seen.iter_mut().flatten().map(|seen| std::mem::take(&mut seen.longest));
        named = taken.collect::<Longest>().named(None);
    }
    context.long_gaps.extend(named);
    context.advance(1.0);
    if seen.iter().flatten().any(|seen| !seen.causes_reported) {
        context.degrade_with_remedy(
            "stolen",
            text!(
                "the causes of gaps are unknown: /proc/interrupts is not readable, or does not list the CPU"
            ),
            text!("make /proc/interrupts readable (a sandbox or container hides it)"),
        );
    }
    if seen.iter().flatten().any(|seen| !seen.pinned || seen.moved) {
        context.degrade("stolen", text!("threads did not stay on their CPUs"));
    }
    for (cpu, seen) in cpus.iter().zip(seen) {
        if let Some(seen) = seen {
            publish(context, *cpu, &seen, cpus.len() <= DISTRIBUTIONS);
        }
    }
    context.check()
}

/// The spin time, and the total time limit for scans that detect which threads ran on a CPU.
type Durations = (Duration, Duration);

/// Spins on all CPUs at the same time.
fn spin_all(cpus: &[u32], rate: f64, durations: Durations, stop: &Stop) -> Vec<Option<Seen>> {
    thread_group::run(cpus, |member| spin(member, rate, durations, stop))
}

fn spin(member: thread_group::Member, rate: f64, (duration, scanned): Durations, stop: &Stop) -> Seen {
    let mut seen = Seen { pinned: member.pinned, thread: os::thread_id(), ..Seen::default() };
    let mut interrupts = Interrupts::of_cpu(member.cpu);
    let timed = Instant::now();
    let mut events = count_events(interrupts.as_mut());
    let each_gap = timed.elapsed() < SLOW_READING;
    seen.causes_reported = events.is_some();
    let threshold = (THRESHOLD_NS * rate) as u64;
    let mut run_times = RunTimes::new(member.cpu, scanned);
    let mut gaps_kept = 0;
    member.wait();
    let root = Root::live();
    let mut smis = smi_count(&root, member.cpu);
    // The CPU time of a thread excludes steal time (CONFIG_PARAVIRT_TIME_ACCOUNTING).
    let off_cpu_ns = || Some(monotonic_ns() as f64 - os::thread_cpu_ns()?);
    let mut off_cpu = off_cpu_ns();
    let end = member.start + duration;
    // At least one slice is measured: a thread that had no CPU until the end has lost more time than any other, and must not be left
    // without a result.
    while (seen.parts.is_empty() || Instant::now() < end) && stop.signal().is_none() {
        let mut part = Part::default();
        let until = counter::ticks() + (PART.as_nanos() as f64 * rate) as u64;
        let mut last = counter::ticks();
        let mut from = last;
        loop {
            let (before, after) = counter::next_gap(last, threshold, until);
            // If a thread is moved to a CPU whose counter lags, time goes backwards, which is not a gap.
            if after.saturating_sub(before) > threshold && gaps_kept < MOST_GAPS {
                gaps_kept += 1;
                let ns = after.saturating_sub(before) as f64 / rate;
                let mut cause = Cause::Unknown;
                part.watched_ns += after.saturating_sub(from) as f64 / rate;
                let ago = counter::ticks().saturating_sub(after) as f64 / rate;
                let to = monotonic_ns() - ago as i64;
                let mut switched = false;
                if each_gap && seen.causes_reported {
                    let now = count_events(interrupts.as_mut());
                    let happened = events.zip(now).map(|(before, now)| now != before);
                    cause = happened.map_or(cause, |any| if any { Cause::Os } else { Cause::Below });
                    switched = now.map(|now| now.1) > events.map(|before| before.1);
                    let counts = events.zip(now);
                    let interrupts = counts.map_or(0, |(before, now)| now.0.saturating_sub(before.0));
                    let off = off_cpu_ns();
                    let lost = off.zip(off_cpu).map_or(0.0, |(now, before)| now - before);
                    if !switched && is_stopped(ns, interrupts, lost) {
                        cause = Cause::Below;
                    }
                    (events, off_cpu) = (now, off);
                }
                let smi = smis.and_then(|before| smi_count(&root, member.cpu)?.checked_sub(before));
                smis = smis.zip(smi).map(|(before, more)| before + more);
                if seen.longest.takes(ns as i64) {
                    let mut counted =
                        count_takers(cause, interrupts.as_ref(), switched.then_some(&mut run_times));
                    if smi.is_some_and(|times| times > 0) {
                        counted.retain(|taker| taker.kind != TakerKind::Below);
                        counted.insert(0, Taker { times: smi, ..Taker::new(TakerKind::Smi) });
                    }
                    let from = to - ns as i64;
                    seen.longest.add(Held { cpu: member.cpu, woken: None, from, to, counted });
                }
                part.gaps.push(Gap { ns, cause });
                // The time for reading the counts is excluded.
                from = counter::ticks();
                last = from;
            } else {
                last = after;
            }
            if after >= until {
                part.watched_ns += after.saturating_sub(from) as f64 / rate;
                break;
            }
        }
        if !each_gap && seen.causes_reported {
            let now = count_events(interrupts.as_mut());
            if let (Some(before), Some(now)) = (events, now) {
                let grown = (now.0 + now.1).saturating_sub(before.0 + before.1);
                attribute_gaps(&mut part.gaps, grown);
            }
            events = now;
        }
        seen.moved |= member.has_moved();
        seen.parts.push(part);
    }
    seen
}

/// Whether the CPU was stopped during most of a gap without a context switch, given the number of interrupts and the
/// time that the kernel did not count as CPU time of this thread.
fn is_stopped(ns: f64, interrupts: u64, lost: f64) -> bool {
    lost > ns / 2.0 && ns > interrupts as f64 * MOST_PER_INTERRUPT_NS
}

/// Time stolen from a thread that never sleeps, as shares of its time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Shares {
    /// Stolen by any cause.
    pub all: f64,
    /// Stolen by the kernel, its interrupts and other tasks; `None` if the causes of gaps are unknown.
    pub os: Option<f64>,
    /// Stolen below the kernel, by the hypervisor or the firmware.
    pub below: Option<f64>,
}

/// The shares stolen from threads that spin on all of these CPUs at the same time, for this long; `None` for a CPU on
/// which no thread ran.
pub(crate) fn sample_shares(cpus: &[u32], duration: Duration, stop: &Stop) -> Vec<Shares> {
    spin_all(cpus, watch::ticks_a_second() / 1e9, (duration, Duration::ZERO), stop)
        .into_iter()
        .flatten()
        .filter_map(|seen| seen.shares())
        .collect()
}

impl Seen {
    fn watched_ns(&self) -> f64 {
        self.parts.iter().map(|part| part.watched_ns).sum()
    }

    /// Whether the cause of every gap is known.
    fn is_attributed(&self) -> bool {
        self.causes_reported
            && self.parts.iter().all(|part| part.taken(Some(Cause::Unknown)).next().is_none())
    }

    fn shares(&self) -> Option<Shares> {
        let watched = self.watched_ns();
        let taken = |cause| {
            let ns: f64 = self.parts.iter().flat_map(|part| part.taken(cause)).sum();
            (ns / watched).min(1.0)
        };
        let taken_by = |cause| self.is_attributed().then(|| taken(Some(cause)));
        let [os, below] = [Cause::Os, Cause::Below].map(taken_by);
        (watched > 0.0).then(|| Shares { all: taken(None), os, below })
    }
}

/// Interrupts of this CPU and involuntary switches of this thread so far.
fn count_events(interrupts: Option<&mut Interrupts>) -> Option<(u64, u64)> {
    let (involuntary, _) = os::switches()?;
    Some((interrupts?.read()?, involuntary))
}

/// The possible causes of a gap: interrupts since the previous reading and, if another thread had the CPU, the threads
/// that ran since the last scan.
fn count_takers(cause: Cause, interrupts: Option<&Interrupts>, tasks: Option<&mut RunTimes>) -> Vec<Taker> {
    let switched = tasks.is_some();
    match cause {
        Cause::Below => return vec![Taker::new(TakerKind::Below)],
        Cause::Unknown => return Vec::new(),
        Cause::Os => {}
    }
    let irq = |(name, times)| Taker { name: Some(name), times: Some(times), ..Taker::new(TakerKind::Irq) };
    let mut takers = tasks.map(RunTimes::grown).unwrap_or_default();
    if switched && takers.is_empty() {
        takers.push(Taker::new(TakerKind::Task));
    }
    takers.extend(interrupts.map(Interrupts::grown).unwrap_or_default().into_iter().map(irq));
    takers
}

/// Attributes gaps to causes if only the number of events in a slice is known. That many of the shortest gaps are
/// attributed to the kernel, because an interrupt takes microseconds, whereas a preempted vCPU is stopped for
/// milliseconds; the rest are attributed to causes below the kernel.
fn attribute_gaps(gaps: &mut [Gap], events: u64) {
    let mut order: Vec<usize> = (0..gaps.len()).collect();
    order.sort_by(|a, b| gaps[*a].ns.total_cmp(&gaps[*b].ns));
    for (rank, index) in order.into_iter().enumerate() {
        gaps[index].cause = if (rank as u64) < events { Cause::Os } else { Cause::Below };
    }
}

fn publish(context: &mut Context, cpu: u32, seen: &Seen, distributions: bool) {
    let causes = [(None, None), (Some("os"), Some(Cause::Os)), (Some("below"), Some(Cause::Below))];
    let watched = seen.watched_ns();
    for (word, cause) in causes.into_iter().take(if seen.is_attributed() { 3 } else { 1 }) {
        let place = Labels::new().with_label(Label::Cpu, cpu).with_known(Label::Cause, word);
        let share = |part: &Part| (part.taken(cause).sum::<f64>() / part.watched_ns).min(1.0);
        let shares = seen.parts.iter().filter(|part| part.watched_ns > 0.0).map(share).collect();
        let gaps: Vec<f64> = seen.parts.iter().flat_map(|part| part.taken(cause)).collect();
        let mut share = Measurement::new(metrics::STOLEN_SHARE, place.clone(), shares)
            .with_detail(detail::THRESHOLD_NS, THRESHOLD_NS)
            .with_detail(detail::WATCHED_SECONDS, watched / 1e9)
            .with_detail(detail::GAPS, gaps.len())
            .with_detail(detail::SHARE_OF_ALL, gaps.iter().sum::<f64>() / watched.max(1.0));
        // The mean share is computed over the total time: slices differ in length, so the mean of their shares would be
        // wrong.
        share.summary.mean = share.detail.get(detail::SHARE_OF_ALL).filter(|_| share.summary.n > 0);
        if seen.moved {
            share.marks = mark_migrated(share.samples.len());
            share = judged(share, f64::INFINITY);
        }
        context.push(share);
        let mut gap = Measurement::new(metrics::STOLEN_GAP, place, gaps);
        if distributions {
            gap.distribution = count_by_octave(&gap.samples);
        }
        gap.samples.clear();
        context.push(gap);
    }
}

/// Counts gaps in four buckets per octave, from 1 µs.
fn count_by_octave(gaps: &[f64]) -> Vec<Bucket> {
    let mut counts: std::collections::BTreeMap<i32, u64> = std::collections::BTreeMap::new();
    for gap in gaps {
        *counts.entry((gap.max(1.0).log2() * 4.0).floor() as i32).or_default() += 1;
    }
    let bound = |step: i32| (2f64.powf(f64::from(step) / 4.0) * 10.0).round() / 10.0;
    counts.into_iter().map(|(step, count)| Bucket { from: bound(step), to: bound(step + 1), count }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(ns: f64) -> Gap {
        Gap { ns, cause: Cause::Unknown }
    }

    #[test]
    fn gaps_beyond_the_events_came_from_below_the_longest_first() {
        let mut gaps = [gap(5_000.0), gap(3_000_000.0), gap(2_000.0)];
        attribute_gaps(&mut gaps, 2);
        assert_eq!(gaps.map(|g| g.cause), [Cause::Os, Cause::Below, Cause::Os]);
    }

    #[test]
    fn spinning_watches_as_long_as_asked() {
        let cpu = os::current_cpu().unwrap();
        let (rate, stop) = (watch::ticks_a_second() / 1e9, Stop::new());
        let seen = spin_all(&[cpu], rate, (Duration::from_millis(200), Duration::ZERO), &stop);
        let seen = seen[0].clone().unwrap();
        let watched: f64 = seen.parts.iter().map(|p| p.watched_ns).sum();
        let gaps: f64 = seen.parts.iter().flat_map(|p| &p.gaps).map(|g| g.ns).sum();
        assert!(watched > 0.0 && gaps <= watched, "{gaps} of {watched}");
    }

    #[test]
    fn what_the_kernel_and_what_the_hypervisor_took_are_two_things() {
        let part = Part {
            watched_ns: 1e6,
            gaps: vec![Gap { ns: 2e5, cause: Cause::Os }, Gap { ns: 1e5, cause: Cause::Below }],
        };
        let mut seen = Seen { parts: vec![part], causes_reported: true, ..Seen::default() };
        let shares = seen.shares().unwrap();
        assert_eq!((shares.os, shares.below), (Some(0.2), Some(0.1)));
        assert!((shares.all - 0.3).abs() < 1e-12);
        seen.parts[0].gaps.push(gap(1.0));
        assert_eq!(seen.shares().map(|shares| (shares.os, shares.below)), Some((None, None)));
        assert_eq!(Seen::default().shares(), None);
    }

    #[test]
    fn a_long_gap_with_one_interrupt_is_a_stopped_cpu_if_it_was_no_cpu_time() {
        assert!(is_stopped(20e6, 1, 19.9e6) && is_stopped(6e6, 2, 5.9e6));
        assert!(!is_stopped(20e6, 1, 0.0), "a kernel that counts it as CPU time ran");
        assert!(
            !is_stopped(20e6, 100, 19.9e6),
            "a storm of interrupts, with their time accounted separately"
        );
        assert!(!is_stopped(40e3, 1, 39e3), "an ordinary timer interrupt");
        assert!(
            !is_stopped(2.1e6, 1, 2.1e6),
            "packets that one interrupt deferred, with their time accounted separately"
        );
    }

    #[test]
    fn octaves_hold_every_gap() {
        let gaps = [1_000.0, 1_100.0, 4_000.0, 4e6];
        assert_eq!(count_by_octave(&gaps).iter().map(|b| b.count).sum::<u64>(), 4);
        for value in gaps {
            assert!(count_by_octave(&gaps).iter().any(|b| b.from <= value && value <= b.to));
        }
    }
}
