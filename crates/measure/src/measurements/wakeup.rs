//! Wake-up latency, measured as in cyclictest, with absolute timers and one thread per CPU. Under
//! SCHED_OTHER, it is measured in three states of the machine: unchanged, with idle states disabled, and fully tuned. If
//! SCHED_FIFO is allowed, the unchanged and the fully tuned machine are also measured under it.
//! Missed periods are counted, and a second set of percentiles is corrected for them.

use std::io;
use std::time::Duration;

use record::long_gap::LongGap;
use record::{Bucket, Coverage, CpuList, Label, Labels, Measurement, detail, metrics, text};

use crate::budget::{Budget, Depth};
use crate::context::{Context, Halt};
use crate::kernel_trace::KernelTrace;
use crate::long_gaps::{Held, Longest, ReadyTime, late_takers, monotonic_ns};
use crate::measure::Measure;
use crate::repeat::there_and_back;
use crate::thread_group::{self, Member};
use crate::wakeups::Wakeups;
use os::Stop;

const NAME: &str = "wakeup";

/// Maximum time by which a late thread may exceed the planned time of its cycles.
const PATIENCE: Duration = Duration::from_millis(50);

/// Maximum number of traced cycles: the ring buffer of the trace has room for the events of a few thousand cycles.
const MOST_TRACED: usize = 1_000;

/// Maximum number of CPUs whose distributions are saved separately; with more CPUs, one combined distribution is saved.
const DISTRIBUTIONS: usize = 32;

/// The tuning of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tuned {
    /// No tuning.
    Nothing,
    /// Idle states are disabled, as in cyclictest.
    Awake,
    /// Idle states are disabled, and timer slack is 1 ns.
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Setting {
    /// The priority of SCHED_FIFO; 0 for SCHED_OTHER.
    priority: u8,
    tuned: Tuned,
}

impl Setting {
    /// All settings; those with SCHED_FIFO are last. A real-time thread has no timer slack, so `Awake` is equivalent to
    /// `All` for such a thread.
    fn all(priority: u8) -> Vec<Setting> {
        let other = [Tuned::Nothing, Tuned::Awake, Tuned::All].map(|tuned| Setting { priority: 0, tuned });
        let fifo = [Tuned::Nothing, Tuned::All].map(|tuned| Setting { priority, tuned });
        other.into_iter().chain(fifo.into_iter().filter(|_| priority > 0)).collect()
    }

    /// cyclictest's setting: SCHED_FIFO with idle states disabled, unless `refused`.
    fn of_cyclictest(priority: u8, refused: &Refused) -> Setting {
        let priority = if refused.fifo.is_some() { 0 } else { priority };
        let tuned = match (refused.idle_states.is_some(), priority) {
            (true, _) => Tuned::Nothing,
            (false, 0) => Tuned::Awake,
            (false, _) => Tuned::All,
        };
        Setting { priority, tuned }
    }

    fn is_fifo(self) -> bool {
        self.priority > 0
    }

    fn place(self) -> Labels {
        let setting = match self.tuned {
            Tuned::Nothing => "as-is",
            Tuned::Awake => "awake",
            Tuned::All => "tuned",
        };
        Labels::new()
            .with_label(Label::Policy, if self.is_fifo() { "fifo" } else { "other" })
            .with_label(Label::Priority, u32::from(self.priority))
            .with_label(Label::Setting, setting)
    }
}

/// The settings that the kernel refused, and why.
#[derive(Debug, Default)]
struct Refused {
    fifo: Option<String>,
    idle_states: Option<io::Error>,
}

impl Refused {
    /// Checks whether each setting is allowed: sets SCHED_FIFO on a thread that exits immediately afterwards, and disables idle states for
    /// a moment.
    fn find(cpu: u32, priority: u8) -> Self {
        let fifo = (priority > 0).then(|| thread_group::run_on(cpu, |_| os::set_fifo(i32::from(priority))));
        Self {
            fifo: fifo.flatten().and_then(Result::err).map(|error| error.to_string()),
            idle_states: os::hold_idle_states(0).err(),
        }
    }
}

/// The results of one thread.
#[derive(Clone, Debug, Default)]
struct Seen {
    thread: i32,
    latencies: Vec<f64>,
    missed: u64,
    last: f64,
    moved: u64,
    /// The thread's timer slack, ns. Real-time threads have none.
    slack: Option<u64>,
    fifo_refused: Option<String>,
    slack_refused: Option<String>,
    pinned: bool,
    longest: Longest,
}

impl Seen {
    fn join(&mut self, other: Seen) {
        self.thread = other.thread;
        self.latencies.extend(other.latencies);
        self.missed += other.missed;
        self.last = other.last;
        self.moved += other.moved;
        self.slack = other.slack;
        self.fifo_refused = self.fifo_refused.take().or(other.fifo_refused);
        self.slack_refused = self.slack_refused.take().or(other.slack_refused);
        self.pinned = other.pinned;
        self.longest.join(other.longest);
    }
}

pub(crate) const WAKEUP: Measure = Measure {
    name: NAME,
    metrics: &[metrics::WAKEUP_LATENCY],
    obstacle: |machine, _, _| {
        let why = text!("SCHED_FIFO is not permitted for this user: measured with SCHED_OTHER only");
        let denied = machine.limits.rt_priority.is_some_and(|most| most < u32::from(Wakeups::USUAL.priority));
        denied.then(|| Coverage::degraded(NAME, why).with_remedy(os::fifo_remedy()))
    },
    budget: |_, cpus, depth| Budget {
        // The budget includes a separate pass with a trace, which takes about a second.
        seconds: depth.pick(1.2, 8.6, 61.0) + cpus.len() as f64 * depth.pick(0.25e-3, 0.5e-3, 1e-3),
        bytes: 0,
    },
    uses_arrays: false,
    run,
};

fn run(context: &mut Context) -> Result<(), Halt> {
    context.lead()?;
    let cpus: Vec<u32> = context.cpus.iter().collect();
    let wakeups = context.wakeups;
    let mut refused = Refused::default();
    let (rounds, settings) = match cpus.first() {
        Some(&cpu) if wakeups.as_cyclictest => {
            refused = Refused::find(cpu, wakeups.priority);
            (1, vec![Setting::of_cyclictest(wakeups.priority, &refused)])
        }
        _ => (context.depth.pick(1, 2, 4), Setting::all(wakeups.priority)),
    };
    let seconds = wakeups.seconds(context.depth) / (settings.len() * rounds) as f64;
    let cycles = ((seconds * 1e9 / wakeups.interval() as f64) as usize).max(1);
    let mut seen: Vec<(Setting, Vec<Seen>)> =
        settings.iter().map(|setting| (*setting, vec![Seen::default(); cpus.len()])).collect();
    let mut ended = Ok(());
    let mut done = 0;
    'rounds: for round in 0..rounds {
        for index in there_and_back(round, seen.len()) {
            let (setting, seen) = &mut seen[index];
            if setting.is_fifo() && seen.iter().any(|one| one.fifo_refused.is_some()) {
                continue;
            }
            ended = context.check();
            if ended.is_err() {
                break 'rounds;
            }
            // The request is in effect as long as the file is open; closing the file, even by exiting, ends it.
            let held = (setting.tuned != Tuned::Nothing).then(|| os::hold_idle_states(0));
            let taken = thread_group::run(&cpus, |member| {
                run_cycles(member, *setting, wakeups, cycles, PATIENCE, context.stop)
            });
            if let Some(held) = held {
                refused.idle_states = held.err();
            }
            for (one, taken) in seen.iter_mut().zip(taken) {
                if let Some(taken) = taken {
                    one.join(taken);
                }
            }
            done += 1;
            context.advance(done as f64 / (rounds * settings.len()) as f64);
        }
    }
    let mut latest = if ended.is_ok() { traced(context, &cpus, &seen, seconds) } else { Vec::new() };
    if latest.is_empty() {
        let all = seen.iter().flat_map(|(_, seen)| seen).map(|one| one.longest.clone());
        latest = all.collect::<Longest>().named(None);
    }
    context.long_gaps.extend(latest);
    let of_threads = || seen.iter().flat_map(|(_, seen)| seen);
    refused.fifo = refused.fifo.or_else(|| of_threads().find_map(|one| one.fifo_refused.clone()));
    report_refusals(context, of_threads(), &refused);
    for (setting, seen) in seen.iter().filter(|(setting, _)| {
        (!setting.is_fifo() || refused.fifo.is_none())
            && (setting.tuned != Tuned::Awake || refused.idle_states.is_none())
    }) {
        publish(context, *setting, &cpus, seen);
    }
    ended
}

/// The most delayed wake-ups in a pass that uses the last allowed setting and the kernel's trace. The pass is separate because the trace
/// slows down the observed threads. There are none if this process may not trace, or in a quick run.
fn traced(context: &Context, cpus: &[u32], seen: &[(Setting, Vec<Seen>)], seconds: f64) -> Vec<LongGap> {
    let allowed = |seen: &[Seen]| seen.iter().any(|one| !one.latencies.is_empty());
    let setting = seen.iter().rev().find(|(_, seen)| allowed(seen)).map(|(setting, _)| *setting);
    let (Some(setting), true) = (setting, context.depth > Depth::Quick) else { return Vec::new() };
    let Some(trace) = KernelTrace::start(cpus) else { return Vec::new() };
    let cycles = ((seconds * 1e9 / context.wakeups.interval() as f64) as usize).clamp(1, MOST_TRACED);
    let run = |member| run_cycles(member, setting, context.wakeups, cycles, PATIENCE, context.stop);
    let seen: Vec<Seen> = thread_group::run(cpus, run).into_iter().flatten().collect();
    let (events, own) = (trace.end(), seen.iter().map(|one| one.thread).collect());
    seen.into_iter().map(|one| one.longest).collect::<Longest>().named(Some((&events, &own)))
}

/// Reports each refusal once.
fn report_refusals<'a>(
    context: &mut Context,
    seen: impl Iterator<Item = &'a Seen> + Clone,
    refused: &Refused,
) {
    if let Some(why) = refused.fifo.clone()
        && context.machine.limits.rt_priority.is_none_or(|most| most >= u32::from(Wakeups::USUAL.priority))
    {
        let why = text!("SCHED_FIFO is refused: {why}");
        context.degrade_with_remedy("wakeup fifo", why, os::fifo_remedy());
    }
    if let Some(why) = refused.idle_states.as_ref().map(ToString::to_string) {
        context.degrade_with_remedy(
            Coverage::TUNED_WAKEUP,
            text!(Coverage::IDLE_STATES_NOT_HELD, why),
            text!("run as root, or give this user access to the device"),
        );
    }
    if let Some(why) = seen.clone().find_map(|s| s.slack_refused.clone()) {
        context.degrade(Coverage::TUNED_WAKEUP, text!("cannot set timer slack: {why}"));
    }
    let moved: u64 = seen.clone().map(|s| s.moved).sum();
    if moved > 0 || seen.clone().any(|s| !s.latencies.is_empty() && !s.pinned) {
        let why = text!("threads did not stay on their CPUs ({moved} wake-ups on other CPUs)");
        context.degrade(NAME, why);
    }
}

fn sleep_until(ns: i64) {
    let time = libc::timespec { tv_sec: (ns / 1_000_000_000) as libc::time_t, tv_nsec: ns % 1_000_000_000 };
    // SAFETY: the timespec outlives the call; with TIMER_ABSTIME nothing is written back. A signal ends the sleep
    // early, and the loop then sleeps again.
    while unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &time, std::ptr::null_mut())
    } == libc::EINTR
    {}
}

/// Latencies of this many wake-ups on all of these CPUs at the same time, in ns, under SCHED_OTHER and on the unchanged
/// machine. A late thread may exceed the planned time by `patience`.
pub(crate) fn sample_latencies(cpus: &[u32], cycles: usize, patience: Duration, stop: &Stop) -> Vec<f64> {
    let setting = Setting { priority: 0, tuned: Tuned::Nothing };
    let run = |member| run_cycles(member, setting, Wakeups::USUAL, cycles, patience, stop);
    let seen = thread_group::run(cpus, run);
    seen.into_iter().flatten().flat_map(|seen| seen.latencies).collect()
}

/// Runs one thread's cycles: sleeps until the next absolute time, then measures the delay.
fn run_cycles(
    member: Member,
    setting: Setting,
    wakeups: Wakeups,
    cycles: usize,
    patience: Duration,
    stop: &Stop,
) -> Seen {
    let interval = wakeups.interval();
    let mut seen = Seen { thread: os::thread_id(), pinned: member.pinned, ..Seen::default() };
    if setting.is_fifo()
        && let Err(error) = os::set_fifo(i32::from(setting.priority))
    {
        seen.fifo_refused = Some(error.to_string());
        return seen;
    }
    if setting.tuned == Tuned::All
        && let Err(error) = os::set_timer_slack(1)
    {
        seen.slack_refused = Some(error.to_string());
    }
    seen.slack = if setting.is_fifo() { None } else { os::timer_slack() };
    seen.latencies.reserve(cycles);
    let mut ready = ReadyTime::new();
    // `Instant` is not used here, because the kernel's timer and this reading must use the same clock, to the
    // nanosecond.
    let mut next = monotonic_ns() + interval;
    let end = monotonic_ns() + cycles as i64 * interval + patience.as_nanos() as i64;
    for _ in 0..cycles {
        sleep_until(next);
        let now = monotonic_ns();
        let late = (now - next).max(0) as f64;
        seen.latencies.push(late);
        seen.last = late;
        let waited = ready.grown().map(|ns| ns as f64);
        if seen.longest.takes(now - next) {
            let woken = Some(if setting.is_fifo() { "fifo" } else { "other" });
            let counted = late_takers(late, waited);
            seen.longest.add(Held { cpu: member.cpu, woken, from: next, to: now, counted });
        }
        if member.has_moved() {
            seen.moved += 1;
        }
        next += interval;
        while now > next {
            // Each missed period is a wake-up that never occurred; cyclictest silently drops them.
            next += interval;
            seen.missed += 1;
        }
        if now > end || stop.signal().is_some() {
            break;
        }
    }
    seen
}

fn publish(context: &mut Context, setting: Setting, cpus: &[u32], seen: &[Seen]) {
    let together = cpus.len() > DISTRIBUTIONS;
    let mut all: Vec<f64> = Vec::new();
    for (cpu, seen) in cpus.iter().zip(seen) {
        if seen.latencies.is_empty() {
            continue;
        }
        for corrected in [false, true] {
            let values = if corrected {
                correct(&seen.latencies, context.wakeups.interval())
            } else {
                seen.latencies.clone()
            };
            let place = setting.place().with_label(Label::Cpu, *cpu).with_label(Label::Corrected, corrected);
            let mut m = Measurement::new(metrics::WAKEUP_LATENCY, place, values);
            keep(&mut m, !together);
            m = m
                .with_detail(detail::INTERVAL_US, context.wakeups.interval() / 1000)
                .with_detail(detail::CYCLES, seen.latencies.len())
                .with_detail(detail::MISSED, seen.missed)
                .with_detail(detail::ACT_NS, seen.last)
                .with_detail(detail::THREAD, seen.thread)
                .with_known_detail(detail::TIMER_SLACK_NS, seen.slack);
            if seen.moved * 2 > seen.latencies.len() as u64 {
                let moved = text!("{moved} wake-ups were on another CPU", moved = seen.moved);
                m.doubt = Some(moved.into());
            }
            context.push(m);
        }
        if together {
            all.extend(&seen.latencies);
        }
    }
    if together && !all.is_empty() {
        let missed: u64 = seen.iter().map(|s| s.missed).sum();
        let place = setting.place().with_label(Label::Corrected, false);
        let mut m = Measurement::new(metrics::WAKEUP_LATENCY, place, all)
            .with_detail(detail::CPUS, cpus.iter().copied().collect::<CpuList>().to_string())
            .with_detail(detail::MISSED, missed);
        keep(&mut m, true);
        context.push(m);
    }
}

/// Saves the results of the two halves of the samples, which show how repeatable the result is, and, if requested, the distribution of the
/// samples.
fn keep(m: &mut Measurement, distribution: bool) {
    if distribution {
        m.distribution = make_distribution(&m.samples);
    }
    if let Some(halves) = m.halves() {
        m.detail.set_parts(detail::HALVES, &halves);
    }
    m.samples.clear();
}

/// Adds the wake-ups that a late one prevented (jHiccup's correction). Each latency v above the interval T represents
/// further latencies of v − T, v − 2 T, …, down to the smallest measured one, because none would have been faster.
fn correct(latencies: &[f64], interval: i64) -> Vec<f64> {
    let interval = interval as f64;
    let least = latencies.iter().copied().fold(f64::INFINITY, f64::min);
    let mut all = Vec::with_capacity(latencies.len());
    for &latency in latencies {
        let mut value = latency;
        loop {
            all.push(value);
            value -= interval;
            if value < least.max(0.0) || all.len() > 10_000_000 {
                break;
            }
        }
    }
    all
}

/// Buckets whose width is at most 3 % of their value, as in an HDR histogram with two significant digits.
fn make_distribution(values: &[f64]) -> Vec<Bucket> {
    let Ok(mut histogram) = hdrhistogram::Histogram::<u64>::new(2) else { return Vec::new() };
    for value in values {
        // The histogram grows with the values, so that recording cannot fail.
        let _ = histogram.record(value.round() as u64);
    }
    histogram
        .iter_recorded()
        .map(|step| {
            let value = step.value_iterated_to();
            Bucket {
                from: histogram.lowest_equivalent(value) as f64,
                to: (histogram.highest_equivalent(value) + 1) as f64,
                count: step.count_at_value(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_late_wake_up_stands_for_those_it_kept_away() {
        assert_eq!(correct(&[5.0], 1_000_000), [5.0]);
        assert_eq!(
            correct(&[3_500_000.0, 500_000.0, 600_000.0], 1_000_000),
            [3_500_000.0, 2_500_000.0, 1_500_000.0, 500_000.0, 500_000.0, 600_000.0]
        );
        // 6 µs does not occur if the minimum is 40 µs.
        assert_eq!(correct(&[2_006_000.0, 40_000.0], 1_000_000), [2_006_000.0, 1_006_000.0, 40_000.0]);
        assert_eq!(correct(&[1_000_000.0], 1_000_000), [1_000_000.0]);
    }

    #[test]
    fn cyclictest_measures_one_setting_with_what_it_is_allowed() {
        let refused = |fifo: bool, idle_states: bool| Refused {
            fifo: fifo.then(|| "not permitted".to_owned()),
            idle_states: idle_states.then(|| io::ErrorKind::PermissionDenied.into()),
        };
        let setting = |priority, tuned| Setting { priority, tuned };
        let chosen = |priority, fifo, idle| Setting::of_cyclictest(priority, &refused(fifo, idle));
        assert_eq!(chosen(80, false, false), setting(80, Tuned::All));
        assert_eq!(chosen(80, false, true), setting(80, Tuned::Nothing));
        assert_eq!(chosen(80, true, false), setting(0, Tuned::Awake));
        assert_eq!(chosen(0, false, false), setting(0, Tuned::Awake));
        assert_eq!(chosen(80, true, true), setting(0, Tuned::Nothing));
    }

    #[test]
    fn a_thread_wakes_as_often_as_asked() {
        let cpu = os::current_cpu().unwrap();
        let stop = Stop::new();
        let setting = Setting { priority: 0, tuned: Tuned::All };
        let seen = thread_group::run(&[cpu], |m| run_cycles(m, setting, Wakeups::USUAL, 20, PATIENCE, &stop));
        let seen = seen[0].clone().unwrap();
        assert!(seen.latencies.len() as u64 + seen.missed >= 20 || !seen.latencies.is_empty());
        assert_eq!(seen.slack_refused, None);
    }

    proptest! {
        #[test]
        fn a_distribution_holds_every_value_once(values in proptest::collection::vec(0.0f64..1e9, 1..200)) {
            let buckets = make_distribution(&values);
            prop_assert_eq!(buckets.iter().map(|b| b.count).sum::<u64>(), values.len() as u64);
            for value in values {
                let value = value.round();
                prop_assert!(buckets.iter().any(|b| b.from <= value && value < b.to));
            }
            prop_assert!(buckets.windows(2).all(|w| w[0].to <= w[1].from));
        }
    }
}
