//! The bottleneck of an entire recorded machine: applies the rules of `stat` to all programs together, and then rules that apply only to
//! machines.

mod reference;
mod rules;

use record::command_run::Around;
use record::diagnosis::{Bound, BoundBy};
use record::live::{Cores, Interval};
use record::text::Value;
use record::{Label, Labels, Measurement, Metric, Record, detail, metrics, text};

use super::{Cause, Facts, core, sampled, threads, time, verdict};
use crate::record_index::RecordIndex;
pub use reference::Reference;
pub(crate) use rules::cut;
pub(super) use rules::name;

/// Converts an interval to measurements like those of a record, because the rules take such measurements.
fn figures(interval: &Interval, reference: &Reference) -> Vec<Measurement> {
    let labels = Labels::new().with_label(Label::Workload, "command");
    let mut time = Measurement::new(metrics::WORKLOAD_TIME, labels, vec![interval.seconds]);
    let times = &interval.times;
    let around = Around {
        seconds: Some(interval.seconds),
        stolen_seconds: Some(times.steal),
        busy_seconds: Some(times.busy()),
        throttled_seconds: interval.throttled.as_ref().map(|throttled| throttled.seconds),
        pressure_cpu: interval.pressure.get("cpu").copied(),
        pressure_io: interval.pressure.get("io").copied(),
        pressure_memory: interval.pressure.get("memory").copied(),
    };
    time.detail.set_parts(detail::AROUND, &around);
    time.detail.set(detail::CPU_COUNT, interval.cpus);
    time.detail.set_parts(detail::LOOKS, &interval.looks);
    time.detail.set_parts(detail::WAITS, &interval.waits);
    interval.sampled.iter().for_each(|sampled| time.detail.set_parts(detail::SAMPLED, sampled));
    time.detail.set_parts(detail::CEILINGS, &reference.ceilings);
    let idle = times.share(times.idle + times.iowait) * interval.seconds;
    let (kernel, runnable) = (times.kernel(), run_queue_delay(interval));
    let states = [("user", times.user), ("system", kernel), ("runnable", runnable), ("off-cpu", idle)];
    let states = states.map(|(state, time)| figure(metrics::WORKLOAD_CPU_TIME, Label::State, state, time));
    let events = ["context-switches", "page-faults", "forks"].into_iter().filter_map(|event| {
        let count = interval.rates.get(event)? * interval.seconds;
        Some(figure(metrics::COUNTER_COUNT, Label::Event, event, count))
    });
    let cores = interval.cores.iter().flat_map(counted);
    std::iter::once(time).chain(states).chain(events).chain(cores).collect()
}

/// Builds a result like those of a command.
fn figure(metric: Metric, label: Label, word: &str, value: f64) -> Measurement {
    let labels = Labels::new().with_label(Label::Workload, "command").with_label(label, word);
    Measurement::new(metric, labels, vec![value])
}

/// Converts the cores' counters to measurements like those of a command.
pub(super) fn counted(cores: &Cores) -> Vec<Measurement> {
    let ipc = cores.ipc.map(|ipc| figure(metrics::CORE_IPC, Label::Source, "pmu", ipc));
    let share = |(category, share): (&String, &f64)| {
        figure(metrics::COUNTER_SHARE, Label::Category, category, *share)
    };
    ipc.into_iter().chain(cores.top_down.iter().map(share)).collect()
}

/// Run-queue time of threads, s: the kernel's count or, without one, an estimate from the sampled number of runnable threads without a CPU.
/// Samples may overcount (five runnable threads instead of two, on Linux 6.18 with cgroups of unequal weight), and they miss threads that
/// waited while a real-time thread prevented sampling. CPU pressure is the share of time in which at least one thread waited for a CPU,
/// averaged over CPUs and weighted by their busy time (kernel/sched/psi.c, `collect_percpu_times`). It therefore bounds the estimate:
/// during that share of the time, the number of waiting threads was at least one and at most the number of threads that were not running.
fn run_queue_delay(interval: &Interval) -> f64 {
    let busy = interval.times.busy() + interval.times.steal;
    let sampled = || {
        let runnable = interval.runnable.unwrap_or(0.0);
        let beyond = (runnable * interval.seconds - busy).max(0.0);
        let Some(share) = interval.pressure.get("cpu") else { return beyond };
        let one = share * busy;
        beyond.max(one).min(one * (runnable - busy / interval.seconds).max(1.0))
    };
    interval.run_queue_delay.unwrap_or_else(sampled)
}

/// The bottleneck of a machine in an interval.
pub fn watched(interval: &Interval, reference: &Reference) -> Option<Bound> {
    let mut record = Record::new("", String::new(), Vec::new());
    record.measurements = figures(interval, reference);
    let index = RecordIndex::new(&record);
    let facts = Facts::from_index(&index)?;
    let all = interval.times.all();
    if all <= 0.0 {
        return None;
    }
    let mut causes: Vec<Cause> = [
        rules::quota(&facts, interval),
        time::stolen(&facts),
        rules::waiting(interval),
        rules::run_queue(&facts, interval),
        rules::kernel(&facts, interval),
        threads::lock(&facts),
        core::bandwidth(&facts),
        core::latency(&facts),
        rules::memory(interval, reference),
        rules::far(&facts, interval),
        rules::clock(interval, reference),
    ]
    .into_iter()
    .flatten()
    .collect();
    sampled::add(&mut causes, &facts, interval.times.share(interval.times.user));
    // Kernel time caused by threads that contend for a lock is attributed to the lock.
    if causes.iter().any(|cause| cause.by == BoundBy::Lock && cause.share >= super::SECOND) {
        causes.retain(|cause| ![BoundBy::Kernel, BoundBy::TooFewCpus].contains(&cause.by));
    }
    // Tasks that wait for a disk do not slow down busy CPUs, so they are mentioned second.
    let pressure = interval.pressure.get("io").copied().unwrap_or(0.0);
    let waits = |cause: &Cause| cause.by == BoundBy::Waiting && pressure >= super::SECOND;
    causes.retain(|cause| cause.share >= super::WORTH || waits(cause));
    // A cause outside the programs comes first, unless tasks waited longer for something else.
    let waited = |cause: &Cause| [BoundBy::Waiting, BoundBy::Lock].contains(&cause.by);
    let outside = causes.iter().filter(|c| c.is_outside()).map(|c| c.share).fold(0.0, f64::max);
    let rank = |cause: &Cause| match (waited(cause) && cause.share > outside, cause.is_outside()) {
        (true, _) => 2,
        (false, is_outside) => u8::from(is_outside),
    };
    causes.sort_by(|a, b| rank(b).cmp(&rank(a)).then(b.share.total_cmp(&a.share)));
    let idle = interval.times.share(interval.times.idle + interval.times.iowait);
    if idle >= IDLE {
        // Steal time counts only if enough CPU time is requested: a single delayed thread requests just one CPU.
        let wanted = (interval.times.busy() + interval.times.steal) / interval.seconds >= WANTED;
        let is_none = |by: &BoundBy| match by {
            BoundBy::CpuContention | BoundBy::TooFewCpus => true,
            BoundBy::Stolen => !wanted,
            _ => false,
        };
        causes.retain(|cause| cause.share >= super::FIRST && !is_none(&cause.by));
    }
    let first = causes.first().map_or(0.0, |cause| cause.share);
    if first < super::FIRST {
        let of_memory = |c: &Cause| [BoundBy::MemoryLatency, BoundBy::MemoryBandwidth].contains(&c.by);
        // The first sentence omits memory if the second sentence covers it.
        let memory_follows = causes.first().is_some_and(of_memory);
        let at = if idle >= IDLE { self::idle(interval) } else { working(&facts, interval, memory_follows) };
        causes.insert(0, at);
    }
    let mut causes = causes.into_iter();
    let (first, second) = (causes.next()?, causes.next());
    let is_busy = OF_THE_BUSY.contains(&first.by);
    let most = is_busy.then(|| rules::most(&facts, interval, second.is_none())).flatten();
    Some(super::answer(first, second, most))
}

/// The causes that may limit the busy programs.
const OF_THE_BUSY: [BoundBy; 5] =
    [BoundBy::Cpu, BoundBy::Kernel, BoundBy::MemoryBandwidth, BoundBy::MemoryLatency, BoundBy::Clock];

/// Above this share of idle CPU time, a machine is idle.
const IDLE: f64 = 0.9;
/// Minimum number of requested CPUs for steal time to matter.
const WANTED: f64 = 0.5;

fn busy(interval: &Interval) -> Value {
    Value::Rounded(Box::new(Value::Share(interval.times.share(interval.times.busy()))), 2)
}

fn idle(interval: &Interval) -> Cause {
    Cause::new(BoundBy::Idle, 1.0, text!("Idle: CPUs {busy} busy.", busy = busy(interval)), "idle")
}

fn working(facts: &Facts, interval: &Interval, memory_follows: bool) -> Cause {
    let mut says = text!("live-working", "CPUs {busy} busy.", busy = busy(interval));
    // An IPC is meaningless by itself, so it is compared with those of workloads on this machine.
    let ipc = facts.ipc().filter(|ipc| facts.ipc_of_workloads(ipc.value()).is_some());
    let stalled = facts.share("backend-bound");
    if let Some(ipc) = ipc {
        says.push(core::computes(facts, ipc.value()));
    }
    if let Some(stalled) = stalled {
        let stalled = Value::Rounded(Box::new(Value::Share(stalled.value())), 2);
        says.push(text!(verdict("stalled"), stalled));
    }
    if ipc.is_none() && stalled.is_none() && !memory_follows {
        says.push(sampled::computes(facts).unwrap_or_else(|| text!(verdict("computing-untold"))));
    }
    let by = if core::is_hidden(facts) { BoundBy::Unknown } else { BoundBy::Cpu };
    Cause::new(by, 1.0, says, "profile").cite_ipc(ipc)
}

#[cfg(test)]
mod tests;
