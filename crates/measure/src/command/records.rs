//! Converts runs of a command to measurements. Results without a separate metric (the command's exit, its waits, the
//! machine's activity) are in the details of `workload.time`.

use std::collections::BTreeSet;

use record::command_run::{Looks, RunEnd, ThreadsSeen, Waiting};
use record::{Coverage, Detail, Label, Labels, Measurement, Template, Unavailable, detail, metrics, text};

use super::{Job, Run};
use crate::context::find_implausible;
use crate::counters::{NO_COUNTERS, TopDown, availability, counts, find, shares};
use crate::tasks::thread_waits;
use os::child::Exit;

/// The name of the workload in the labels of a command's results.
const WORKLOAD: &str = "command";
/// Maximum number of threads listed separately in a record; the others are summed.
const MOST_THREADS: usize = 32;
/// Minimum number of samples for estimating the idle time to within 10 % from the share of idle samples.
const ENOUGH_LOOKS: u64 = 20;

/// The number of observed processes that the user did not specify; 0 for a started command.
fn below(run: &Run) -> u64 {
    if run.attached.is_empty() {
        return 0;
    }
    let pids: BTreeSet<i32> = run.seen.threads.iter().map(|thread| thread.pid).collect();
    pids.iter().filter(|pid| !run.attached.contains(pid)).count() as u64
}

/// Unsampled threads are reported if they used more than this share of a command's CPU time. A smaller share may be
/// missed between a thread's last sample and its end.
const UNSEEN: f64 = 0.1;
/// Minimum CPU time of a command, s, for which unsampled threads are reported. With less CPU time, the time between a thread's last sample
/// and its end can exceed that share.
const LEAST_USED: f64 = 0.2;

/// A value of one run.
type Of<T> = fn(&T) -> f64;

/// Results of runs in the form written to a record.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// The measurements.
    pub measurements: Vec<Measurement>,
    /// Unmeasured items, with the reasons.
    pub coverage: Vec<Coverage>,
}

impl Figures {
    /// Labels these as results of the workload with this name. Its command is number `turn` (from 1) of several commands
    /// that run alternately.
    pub fn in_turn(mut self, workload: &str, turn: usize) -> Self {
        for m in &mut self.measurements {
            m.labels = std::mem::take(&mut m.labels).with_label(Label::Workload, workload);
        }
        if let Some(time) = self.measurements.first_mut() {
            time.detail.set(detail::TURN, turn);
        }
        self
    }
}

/// The CPU seconds of a run, and of its sampled threads.
fn cpu_seconds(run: &Run) -> (f64, f64) {
    let seen = run.seen.threads.iter().map(|thread| thread.on_cpu_ns).sum::<u64>() as f64 / 1e9;
    (run.ended.usage.user + run.ended.usage.system, seen)
}

fn place() -> Labels {
    Labels::new().with_label(Label::Workload, WORKLOAD)
}

/// Seconds of one run, by state.
struct Times {
    user: f64,
    system: f64,
    runnable: f64,
    off_cpu: f64,
    /// Summed over threads; absent if unsampled threads used a CPU.
    blocked: Option<f64>,
}

fn times(run: &Run) -> Times {
    let (user, system) = (run.ended.usage.user, run.ended.usage.system);
    let runnable = run.seen.threads.iter().map(|thread| thread.runnable_ns).sum::<u64>() as f64 / 1e9;
    let wall = run.ended.wall.as_secs_f64();
    // A single thread is in one state at a time, so its states cannot add up to more than the run. They might without
    // this limit, because the kernel's accounting starts and ends at slightly different times than ours.
    let alone = run.seen.most_threads <= 1 && run.seen.threads.len() == 1;
    let runnable = if alone { runnable.min((wall - user - system).max(0.0)) } else { runnable };
    // For one thread, `least` is exact. For several threads, it is only a lower bound, and samples are more accurate.
    let least = (wall - user - system - runnable).max(0.0);
    let looked = run.seen.looks.all >= ENOUGH_LOOKS && run.seen.most_threads > 1;
    let idle = if looked { wall * run.seen.looks.idle as f64 / run.seen.looks.all as f64 } else { 0.0 };
    // Samples may coincide with the sleeps of a thread that runs periodically.
    let busiest = run.seen.threads.first().map_or(0.0, |thread| thread.on_cpu_ns as f64 / 1e9);
    let idle = idle.min((wall - busiest).max(0.0));
    // If many threads were not sampled, `least` also includes the time for which they waited for a CPU.
    let off_cpu = if looked && unseen_share(run) > UNSEEN { idle.min(least) } else { least.max(idle) };
    let rest = (wall - user - system - off_cpu).max(0.0);
    // Whether the command's threads were almost never running or ready at the same time.
    let busy = run.seen.looks.all.saturating_sub(run.seen.looks.idle);
    let one_at_a_time = busy > 0 && run.seen.looks.active as f64 <= busy as f64 * 1.1;
    let runnable = if looked && one_at_a_time { runnable.max(rest) } else { runnable };
    let blocked = run.seen.threads.iter().map(|thread| thread.blocked_ns).sum::<u64>() as f64 / 1e9;
    let blocked = blocked + wall * run.seen.resting as f64;
    let blocked = if alone { off_cpu } else { blocked.max(off_cpu) };
    let blocked = (!run.seen.threads.is_empty() && unseen_share(run) <= UNSEEN).then_some(blocked);
    Times { user, system, runnable, off_cpu, blocked }
}

/// Converts the runs of one command, at least one, to measurements and coverage. `cpus` is the number of CPUs on which
/// it may run.
pub fn figures(runs: &[Run], job: &Job, cpus: usize) -> Figures {
    let mut figures = Figures::default();
    let Some(typical) = typical(runs) else { return figures };
    let walls = runs.iter().map(|run| run.ended.wall.as_secs_f64()).collect();
    let mut time = Measurement::new(metrics::WORKLOAD_TIME, place(), walls);
    time.detail = details(runs, typical, job, cpus);
    let late = runs.iter().map(|run| run.ended.late.as_secs_f64()).fold(0.0, f64::max);
    if late > LATE_SECONDS && late > LATE_SHARE * typical.ended.wall.as_secs_f64() {
        time.doubt = Some(text!(ENDED_UNSEEN, late = text::Value::Figure(late, "s")).into());
    }
    figures.measurements.push(time);
    let all: Vec<Times> = runs.iter().map(times).collect();
    let states: [(&str, Of<Times>); 4] = [
        ("user", |times| times.user),
        ("system", |times| times.system),
        ("runnable", |times| times.runnable),
        ("off-cpu", |times| times.off_cpu),
    ];
    let sampled_by_few_ticks = typical.ended.usage.user + typical.ended.usage.system < FEW_TICKS;
    let in_state = |state: &str, samples: Vec<f64>| {
        Measurement::new(metrics::WORKLOAD_CPU_TIME, place().with_label(Label::State, state), samples)
    };
    for (state, of) in states {
        let mut time = in_state(state, all.iter().map(of).collect());
        if sampled_by_few_ticks && ["user", "system"].contains(&state) {
            time.doubt = Some(record::Text::from(SAMPLED_BY_FEW_TICKS).into());
        }
        figures.measurements.push(time);
    }
    let blocked: Option<Vec<f64>> = all.iter().map(|times| times.blocked).collect();
    figures.measurements.extend(blocked.map(|samples| in_state("blocked", samples)));
    for thread in typical.seen.threads.iter().take(MOST_THREADS) {
        let name = format!("{} {}", thread.name, thread.tid);
        let (on_cpu, runnable, blocked) = (thread.on_cpu_ns, thread.runnable_ns, thread.blocked_ns);
        for (state, ns) in [("on-cpu", on_cpu), ("runnable", runnable), ("blocked", blocked)] {
            let mut time = in_state(state, vec![ns as f64 / 1e9]);
            time.labels = time.labels.with_label(Label::Thread, name.clone());
            figures.measurements.push(time);
        }
    }
    counted(runs, &mut figures);
    accounted(runs, &mut figures);
    moved(runs, &mut figures);
    cover(runs, &mut figures);
    figures
}

/// Minimum CPU seconds for separating user from kernel time. Most kernels separate them by the mode at each timer tick,
/// 100 to 1,000 times per second. In a run with less CPU time, each tick has too much weight.
const FEW_TICKS: f64 = 0.1;
const SAMPLED_BY_FEW_TICKS: Template = Template::new(
    "stat-few-ticks",
    "the user/system split is sampled at timer ticks, which are too few in such a short run; the sum is exact",
);

/// The time is unreliable if the end is detected more than `LATE_SECONDS` late, and the delay also exceeds `LATE_SHARE` of
/// the run.
const LATE_SECONDS: f64 = 0.02;
const LATE_SHARE: f64 = 0.01;
const ENDED_UNSEEN: Template = Template::new(
    "stat-ended-unseen",
    "up to {late} too long: linespeed was stopped or descheduled when the command exited",
);

/// The run with the median time.
fn typical(runs: &[Run]) -> Option<&Run> {
    let mut sorted: Vec<&Run> = runs.iter().collect();
    sorted.sort_by_key(|run| run.ended.wall);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

fn details(runs: &[Run], typical: &Run, job: &Job, cpus: usize) -> Detail {
    let mut all = Detail::default();
    let words: Vec<String> = job.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    all.set(detail::COMMAND, words);
    all.set(detail::CPU_COUNT, cpus);
    let list = |pids: &[i32]| pids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    if typical.attached.is_empty() {
        all.set_parts(detail::ENDS, &runs.iter().map(|run| end(run.ended.exit)).collect());
    } else {
        all.set(detail::ATTACHED_TO, list(&typical.attached));
        if !typical.attached_ended.is_empty() {
            all.set(detail::ATTACHED_ENDED, list(&typical.attached_ended));
        }
    }
    // The peak memory of a program that needs less memory than linespeed is unknown.
    let known = runs.iter().all(|run| run.rss_known);
    let most = if known { detail::MAX_RSS_BYTES } else { detail::MAX_RSS_BELOW_BYTES };
    all.set(most, runs.iter().map(|run| run.ended.usage.max_rss_bytes).max());
    let sum = |of: fn(&Run) -> u64| runs.iter().map(of).sum::<u64>();
    let looks = Looks {
        all: sum(|run| run.seen.looks.all),
        idle: sum(|run| run.seen.looks.idle),
        active: sum(|run| run.seen.looks.active),
        most_active: runs.iter().map(|run| run.seen.looks.most_active).max().unwrap_or(0),
        unread: sum(|run| run.seen.looks.unread),
    };
    all.set_parts(detail::LOOKS, &looks);
    let seen = ThreadsSeen {
        most: typical.seen.most_threads as u64,
        seen: typical.seen.threads.len() as u64,
        seen_seconds: cpu_seconds(typical).1,
        below: below(typical),
    };
    all.set_parts(detail::THREADS_SEEN, &seen);
    if let Some(cpus) = job.cpus {
        all.set(detail::BOUND_TO, cpus.to_string());
    }
    let mut waiting = Waiting::new();
    for (what, count) in runs.iter().flat_map(|run| &run.seen.waiting) {
        *waiting.entry(what.word().to_owned()).or_default() += count;
    }
    if !waiting.is_empty() {
        all.set_parts(detail::WAITING, &waiting);
    }
    let waits = thread_waits(runs.iter().map(|run| &run.seen), typical.seen.locks);
    if !waits.is_empty() {
        all.set_parts(detail::WAITS, &waits);
    }
    // If runs alternated between different conditions, only the first run was sampled.
    let sampled = || runs.iter().filter_map(|run| run.sampled.as_ref()).max_by_key(|sampled| sampled.samples);
    if let Some(sampled) = typical.sampled.as_ref().or_else(sampled) {
        all.set_parts(detail::SAMPLED, sampled);
    }
    if !typical.ended.left.is_empty() {
        let names: Vec<String> = typical.ended.left.iter().map(|process| process.name.clone()).collect();
        all.set(detail::LEFT_BEHIND, names);
    }
    if let Some((hz, source)) = typical.clock {
        all.set(detail::CLOCK_HZ, hz);
        all.set(detail::CLOCK_SOURCE, source);
    }
    if let Some(around) = &typical.around {
        all.set_parts(detail::AROUND, around);
    }
    all
}

fn end(exit: Exit) -> RunEnd {
    match exit {
        Exit::Code(code) => RunEnd::Code(code.into()),
        Exit::Signal(signal) => RunEnd::Signal(signal.into()),
        Exit::TimedOut => RunEnd::TimedOut(true),
        Exit::Stopped(signal) => RunEnd::Stopped(signal.into()),
    }
}

/// Adds the counter values of the runs.
fn counted(runs: &[Run], figures: &mut Figures) {
    let mut events: Vec<&'static str> = Vec::new();
    for count in runs.iter().flat_map(|run| &run.reading.counts) {
        if !events.contains(&count.event) && find(count.event).is_some() {
            events.push(count.event);
        }
    }
    // Only the kernel's accounting separates the kinds of switches. Their sum is also taken from there, to avoid
    // contradictions.
    events.retain(|event| *event != "context-switches");
    for event in events {
        let all: Vec<_> = runs.iter().filter_map(|run| run.reading.get(event)).collect();
        figures.measurements.push(counts(event, &all, &place()));
    }
    let ipc: Vec<f64> = runs.iter().filter_map(|run| run.reading.ipc()).collect();
    if !ipc.is_empty() {
        let place = place().with_label(Label::Source, "pmu");
        push_plausible(Measurement::new(metrics::CORE_IPC, place, ipc), figures);
    }
    let top_downs: Vec<TopDown> = runs.iter().filter_map(|run| run.reading.top_down()).collect();
    shares(&top_downs, &place()).into_iter().for_each(|share| push_plausible(share, figures));
}

fn push_plausible(measurement: Measurement, figures: &mut Figures) {
    match find_implausible(&measurement) {
        None => figures.measurements.push(measurement),
        withheld => figures.coverage.extend(withheld),
    }
}

/// Adds the kernel's accounting of each process for events that were not counted.
fn accounted(runs: &[Run], figures: &mut Figures) {
    let events: [(&str, Of<Run>); 7] = [
        ("task-clock", |run| (run.ended.usage.user + run.ended.usage.system) * 1e9),
        ("context-switches", |run| {
            (run.ended.usage.voluntary_switches + run.ended.usage.involuntary_switches) as f64
        }),
        ("voluntary-switches", |run| run.ended.usage.voluntary_switches as f64),
        ("involuntary-switches", |run| run.ended.usage.involuntary_switches as f64),
        ("page-faults", |run| (run.ended.usage.minor_faults + run.ended.usage.major_faults) as f64),
        ("minor-faults", minor_faults),
        ("major-faults", |run| run.ended.usage.major_faults as f64),
    ];
    for (event, of) in events {
        if has(figures, event) {
            continue;
        }
        figures.measurements.push(count(event, runs.iter().map(of).collect(), "rusage"));
    }
}

/// Counts of an event from the kernel's accounting.
fn count(event: &str, samples: Vec<f64>, source: &str) -> Measurement {
    let place = place().with_label(Label::Event, event);
    Measurement::new(metrics::COUNTER_COUNT, place, samples).with_detail(detail::SOURCE, source)
}

fn has(figures: &Figures, event: &str) -> bool {
    figures.measurements.iter().any(|m| m.labels.word(Label::Event) == Some(event))
}

/// Adds migrations from the kernel's count for each thread, if no counter counted them and all threads were sampled.
fn moved(runs: &[Run], figures: &mut Figures) {
    const EVENT: &str = "cpu-migrations";
    if has(figures, EVENT) {
        return;
    }
    let samples: Option<Vec<f64>> = runs.iter().map(moves).collect();
    if let Some(samples) = samples {
        figures.measurements.push(count(EVENT, samples, "sched"));
    } else {
        let reason =
            text!("migrations are counted only for sampled threads, and some threads were never sampled");
        let remedy = text!("--perf-format counts all migrations, at the cost of a slower start");
        figures.coverage.push(Coverage::skipped("counter cpu-migrations", reason).with_remedy(remedy));
    }
}

/// Migrations of a run's threads; `None` if the kernel does not report them, or unsampled threads used a CPU.
fn moves(run: &Run) -> Option<f64> {
    let (used, seen) = cpu_seconds(run);
    if run.seen.threads.is_empty() || seen < used * (1.0 - UNSEEN) {
        return None;
    }
    run.seen.threads.iter().map(|thread| thread.migrations.map(|moves| moves as f64)).sum()
}

/// Minor faults: the counted faults minus major ones, or else the kernel's accounting, which includes faults between
/// fork and exec.
fn minor_faults(run: &Run) -> f64 {
    let accounts = &run.ended.usage;
    match run.reading.get("page-faults") {
        Some(all) => (all.value - accounts.major_faults as f64).max(0.0),
        None => accounts.minor_faults as f64,
    }
}

fn cover(runs: &[Run], figures: &mut Figures) {
    let here = availability();
    if runs.iter().any(|run| !run.attached.is_empty()) {
        let reason = text!("running processes are observed through /proc only");
        figures.coverage.push(Coverage::skipped(Coverage::COUNTERS, reason));
    } else if !here.pmu {
        let refusal = here.refusal.clone().unwrap_or_else(|| Unavailable::new(NO_COUNTERS));
        figures.coverage.push(refusal.into_impossible(Coverage::COUNTERS));
    }
    figures.coverage.extend(runs.iter().find_map(|run| run.samples.clone()));
    let refused = runs.iter().flat_map(|run| &run.refused);
    let not_counted = runs.iter().flat_map(|run| &run.reading.not_counted);
    if let Some((_, why)) = refused.clone().chain(not_counted).find(|(event, _)| *event == "task-clock") {
        figures.coverage.push(Coverage::degraded("kernel events", why.clone()));
    }
    let mut reported: Vec<&str> = Vec::new();
    let missing = runs.iter().flat_map(|run| {
        let refused = run.refused.iter().map(|(event, why)| (event, why, false));
        refused.chain(run.reading.not_counted.iter().map(|(event, why)| (event, why, true)))
    });
    for (event, why, opened) in missing {
        let is_counted =
            |m: &Measurement| m.labels.word(Label::Event) == Some(event) && !m.detail.has(detail::SOURCE);
        if reported.contains(event) || figures.measurements.iter().any(is_counted) {
            continue;
        }
        reported.push(event);
        let what = format!("counter {event}");
        figures.coverage.push(if opened {
            Coverage::skipped(what, why.clone())
        } else {
            Coverage::impossible(what, why.clone())
        });
    }
    if runs.iter().all(|run| run.seen.looks.all == 0) {
        let reason = text!(
            "the command exited before its threads were first sampled, after {delay}",
            delay = text::Value::Figure(crate::tasks::FIRST.as_secs_f64() * 1e3, "ms")
        );
        figures.coverage.push(Coverage::skipped("threads", reason));
    } else if runs.iter().any(|run| run.seen.too_many) {
        let reason = text!("too many threads to sample all of them; only the first are included");
        figures.coverage.push(Coverage::degraded("threads", reason));
    }
    let asked: u64 = runs.iter().flat_map(|run| run.seen.waits.values()).map(|waits| waits.threads).sum();
    let unread: u64 = runs.iter().map(|run| run.seen.looks.unread).sum();
    if unread > asked {
        let reason = text!("wait reasons are not readable: /proc/PID/syscall and wchan are hidden or empty");
        let remedy = text!("run as the user of the process, or as root");
        figures.coverage.push(Coverage::skipped("waits", reason).with_remedy(remedy));
    }
    // For threads that start and end between two samples, the CPU time is known from the kernel's totals of ended
    // threads, but the wait reasons are unknown.
    let unseen = runs.iter().map(unseen_share).fold(0.0, f64::max);
    if unseen > UNSEEN && runs.iter().all(|run| run.seen.looks.all > 0) {
        let reason = text!(
            "stat-short-threads-unseen",
            "{share} of CPU time belongs to threads that exited between two samples: their run-queue delay is not \
             included",
            share = text::Value::Share(unseen)
        );
        figures.coverage.push(Coverage::degraded("runnable", reason));
    }
}

/// The share of a run's CPU time used by unsampled threads.
fn unseen_share(run: &Run) -> f64 {
    let (used, seen) = cpu_seconds(run);
    if used > LEAST_USED { (1.0 - seen / used).clamp(0.0, 1.0) } else { 0.0 }
}
