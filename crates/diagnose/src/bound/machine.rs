//! What holds a whole machine back that is watched at work: the rules of `stat`, of all programs together, and those that only
//! a machine has.

use record::command_run::{Around, Ceilings};
use record::diagnosis::{Bound, BoundBy};
use record::live::{Interval, Process};
use record::text::Value;
use record::units::{significant, thousands};
use record::{Label, Labels, Measurement, Record, Template, Text, detail, text};

use super::{Cause, Facts, core, detail as place, threads, time};
use crate::record_index::RecordIndex;

/// What a machine is held against: its own figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reference {
    /// Its ceilings, with the probe's curve, of a record.
    pub ceilings: Ceilings,
    /// What the probe heard before the watch, ns, where no record tells: the machine may not have been idle then.
    pub calibrated_ns: Option<f64>,
}

impl Reference {
    /// What the probe hears without load, ns.
    pub fn idle_ns(&self) -> Option<f64> {
        self.ceilings.probe.first().map(|point| point.ns).or(self.calibrated_ns)
    }

    /// How full memory is where the probe hears so much: the load at which it heard that, of the most, between the curve's
    /// points by a straight line. 1 beyond its end.
    pub fn fill(&self, ns: f64) -> Option<f64> {
        let curve = &self.ceilings.probe;
        let most = curve.last()?.bandwidth;
        // What is heard only rises with the load; where it was heard to fall, others were quieter.
        let mut rising: Vec<(f64, f64)> = Vec::new();
        for point in curve {
            let ns = rising.last().map_or(point.ns, |(_, before)| point.ns.max(*before));
            rising.push((point.bandwidth, ns));
        }
        if ns <= rising.first()?.1 {
            return Some(0.0);
        }
        let between = rising.windows(2).find(|pair| pair[0].1 < ns && ns <= pair[1].1);
        let bandwidth = between.map_or(most, |pair| {
            pair[0].0 + (pair[1].0 - pair[0].0) * (ns - pair[0].1) / (pair[1].1 - pair[0].1)
        });
        (most > 0.0).then(|| (bandwidth / most).clamp(0.0, 1.0))
    }
}

/// What an interval is made of, as a record's measurements: what the rules read.
fn figures(interval: &Interval, reference: &Reference) -> Vec<Measurement> {
    let labels = || Labels::new().with_label(Label::Workload, "command");
    let mut time = Measurement::new("workload.time", labels(), vec![interval.seconds]);
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
    time.detail.set_parts(detail::CEILINGS, &reference.ceilings);
    let mut all = vec![time];
    let idle = times.share(times.idle + times.iowait) * interval.seconds;
    for (state, seconds) in [
        ("user", times.user),
        ("system", times.kernel()),
        ("runnable", run_queue_delay(interval)),
        ("off-cpu", idle),
    ] {
        all.push(Measurement::new(
            "workload.cpu_time",
            labels().with_label(Label::State, state),
            vec![seconds],
        ));
    }
    for event in ["context-switches", "page-faults"] {
        let rate = interval.rates.get(event).map(|rate| rate * interval.seconds);
        let count =
            |value| Measurement::new("counter.count", labels().with_label(Label::Event, event), vec![value]);
        all.extend(rate.map(count));
    }
    all
}

/// Time for which threads were ready and had no CPU, s: as the kernel counts it, else of the threads that were ready at samples
/// beyond those that had a CPU.
fn run_queue_delay(interval: &Interval) -> f64 {
    let busy = interval.times.busy() + interval.times.steal;
    let sampled = || (interval.runnable.unwrap_or(0.0) * interval.seconds - busy).max(0.0);
    interval.run_queue_delay.unwrap_or_else(sampled)
}

/// What a machine was bound by in an interval.
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
        quota(&facts, interval),
        time::stolen(&facts),
        waiting(interval),
        run_queue(&facts, interval),
        kernel(&facts, interval),
        threads::lock(&facts),
        core::bandwidth(&facts),
        core::latency(&facts),
        memory(interval, reference),
        clock(interval, reference),
    ]
    .into_iter()
    .flatten()
    .collect();
    // What the kernel does for threads that meet at a lock is the lock's.
    if causes.iter().any(|cause| cause.by == BoundBy::Lock && cause.share >= super::SECOND) {
        causes.retain(|cause| ![BoundBy::Kernel, BoundBy::TooFewCpus].contains(&cause.by));
    }
    causes.retain(|cause| cause.share >= super::WORTH);
    causes.sort_by(|a, b| b.is_outside().cmp(&a.is_outside()).then(b.share.total_cmp(&a.share)));
    let idle = interval.times.share(interval.times.idle + interval.times.iowait);
    let first = causes.first().map_or(0.0, |cause| cause.share);
    if first < super::FIRST {
        let at = if idle >= IDLE { self::idle(interval) } else { working(&facts, interval) };
        causes.insert(0, at);
    }
    let mut causes = causes.into_iter();
    let first = causes.next()?;
    let (mut says, mut advice, mut evidence) = (first.says, vec![first.advice], first.evidence);
    if let Some(second) = causes.next() {
        says.push(super::BESIDES);
        says.push(second.says);
        advice.push(second.advice);
        evidence.extend(second.evidence);
    }
    Some(Bound { by: first.by, says, evidence, advice })
}

/// From this share of the CPUs' time on a machine is idle.
const IDLE: f64 = 0.9;

fn busy(interval: &Interval) -> Value {
    Value::Rounded(Box::new(Value::Share(interval.times.share(interval.times.busy()))), 2)
}

fn idle(interval: &Interval) -> Cause {
    let says = text!("live-idle", "Idle: CPUs {busy} busy.", busy = busy(interval));
    let advice = text!("live-try-load", "nothing holds it back: it has no more work");
    Cause::new(BoundBy::Idle, 1.0, says, advice)
}

fn working(facts: &Facts, interval: &Interval) -> Cause {
    let mut says = text!("live-working", "CPUs {busy} busy.", busy = busy(interval));
    match facts.ipc() {
        Some(ipc) => says.push(text!("live-ipc", "{ipc} instructions a cycle.", ipc = significant(ipc.value()))),
        None => says.push(text!(
            "live-computing-untold",
            "Without hardware counters, computing cannot be told from memory latency, branch misses or spinning."
        )),
    }
    let advice = text!("bound-profile", "a profile shows where: perf record -g, perf report");
    Cause::new(BoundBy::Cpu, 1.0, says, advice)
}

/// From this share of a group's periods on a quota is felt.
const FELT: f64 = 0.1;

fn quota(facts: &Facts, interval: &Interval) -> Option<Cause> {
    let throttled = interval.throttled.as_ref()?;
    let name = throttled.group.trim_start_matches("/sys/fs/cgroup").to_owned();
    let says = text!(
        "live-quota",
        "The CPU quota of cgroup {name} ended {periods} of its periods early and held its threads for {seconds}.",
        name,
        periods = Value::Share(throttled.periods),
        seconds = Value::Figure(throttled.seconds, "s")
    );
    let advice = text!(
        "bound-raise-quota",
        "raise the quota (cpu.max; Kubernetes: the CPU limit), or start fewer threads than the quota allows"
    );
    let share = throttled.seconds / (throttled.seconds + facts.cpu()).max(1e-9);
    let share = if throttled.periods >= FELT { share } else { 0.0 };
    Some(Cause::new(BoundBy::Quota, share, says, advice))
}

/// What threads may wait in that a disk has to end, and its words.
const DISKS: [(&str, Template); 3] = [
    ("fsync", Template { code: "live-between-fsync", words: "in fsync" }),
    ("disk", Template { code: "live-between-disk", words: "for a disk" }),
    ("faults", Template { code: "live-between-faults", words: "for page faults that a disk serves" }),
];

fn waiting(interval: &Interval) -> Option<Cause> {
    let pressure = *interval.pressure.get("io")?;
    let idle = interval.times.share(interval.times.idle + interval.times.iowait);
    let threads = |what: &str| interval.waits.get(what).map_or(0, |waits| waits.threads);
    let (_, what) = DISKS
        .iter()
        .max_by_key(|(what, _)| threads(what))
        .filter(|(what, _)| threads(what) > 0)
        .unwrap_or(&DISKS[1]);
    let says = text!(
        "live-waiting-disk",
        "Tasks waited {what} {share} of the time; CPUs {busy} busy.",
        what = Text::from(*what),
        share = Value::Share(pressure),
        busy = busy(interval)
    );
    let advice = text!("live-try-disk", "look at the disk: iostat -x 1; who: pidstat -d 1");
    let seen = text!("live-pressure-io", "I/O pressure (some) {share}", share = Value::Share(pressure));
    // A machine that works elsewhere meanwhile is not held back by as much.
    Some(Cause::new(BoundBy::Waiting, pressure.min(idle), says, advice).cite(seen, place("around")))
}

/// The process with most CPU time, with its share of what was busy.
fn busiest(interval: &Interval) -> Option<(&Process, f64)> {
    let first = interval.processes.first()?;
    let seconds = interval.processes_seconds?;
    let busy = interval.times.busy() / interval.seconds * seconds;
    Some((first, (first.cpu / busy.max(1e-9)).min(1.0)))
}

fn name(process: &Process) -> Text {
    text!("live-process", "{name} (pid {pid})", name = process.name.clone(), pid = process.pid.to_string())
}

/// The share of the CPUs' time from which a real-time process is named.
const REAL_TIME: f64 = 0.1;

fn run_queue(facts: &Facts, interval: &Interval) -> Option<Cause> {
    let delay = (facts.runnable - facts.around().throttled_seconds.unwrap_or(0.0)).max(0.0);
    let wanted = delay + facts.cpu();
    let share = delay / wanted.max(1e-9);
    let runnable = significant(wanted / interval.seconds);
    let says = text!(
        "live-run-queue",
        "Threads waited for a CPU {share} of the time that they wanted one: {runnable} runnable on {cpus} CPUs.",
        share = Value::Share(share),
        runnable,
        cpus = interval.cpus
    );
    let capacity =
        interval.times.all() / interval.seconds * interval.processes_seconds.unwrap_or(interval.seconds);
    let urgent = interval.processes.iter().find(|one| one.real_time && one.cpu >= REAL_TIME * capacity);
    let (by, says, advice) = match (urgent, busiest(interval)) {
        (Some(urgent), _) => {
            let mut says = says;
            says.push(text!(
                "live-real-time",
                "{who} has a real-time priority and {share} of the CPUs' time.",
                who = name(urgent),
                share = Value::Share(urgent.cpu / capacity)
            ));
            let advice = text!(
                "live-try-other-priority",
                "give it CPUs of its own, or SCHED_OTHER (chrt -o -p 0 PID)"
            );
            (BoundBy::CpuContention, says, advice)
        }
        (None, Some((first, of_busy))) if of_busy >= 0.8 && first.threads as f64 > interval.cpus as f64 => {
            let advice = text!(
                "live-try-fewer-threads",
                "start as many threads as there are CPUs, or give it more CPUs"
            );
            let mut says = says;
            says.push(text!(
                "live-too-many-threads",
                "{who} has {threads} threads.",
                who = name(first),
                threads = first.threads
            ));
            (BoundBy::TooFewCpus, says, advice)
        }
        _ => {
            let advice = text!("live-try-who", "see who: top; move work away, or give each its CPUs");
            (BoundBy::CpuContention, says, advice)
        }
    };
    Some(Cause::new(by, share, says, advice))
}

/// What the kernel does where it takes this share of the busy time.
const IN_KERNEL: f64 = 0.3;
/// A softirq or a reclaimed page costs the kernel about so much, s: one to five microseconds a packet, a quarter a page.
const SOFTIRQ: f64 = 1e-6;

fn kernel(facts: &Facts, interval: &Interval) -> Option<Cause> {
    let times = &interval.times;
    let share = times.kernel() / times.busy().max(1e-9);
    if share < IN_KERNEL {
        return None;
    }
    let rate = |name: &str| interval.rates.get(name).copied().unwrap_or(0.0);
    let reclaimed = rate("reclaimed-pages");
    let pressure = interval.pressure.get("memory").copied().unwrap_or(0.0);
    let (what, advice) = if times.softirq + times.irq > times.system {
        let packets = rate("softirqs-net-rx") + rate("softirqs-net-tx");
        let what = if packets * SOFTIRQ > 0.05 {
            text!(
                "live-softirqs-net",
                "{share} of busy time in interrupts and softirqs, {rate} network softirqs a second.",
                share = Value::Share((times.softirq + times.irq) / times.busy()),
                rate = thousands(packets.round())
            )
        } else {
            text!(
                "live-softirqs",
                "{share} of busy time in interrupts and softirqs, {rate} softirqs a second.",
                share = Value::Share((times.softirq + times.irq) / times.busy()),
                rate = thousands(rate("softirqs").round())
            )
        };
        (
            what,
            text!(
                "live-try-softirqs",
                "see which: /proc/softirqs, mpstat -I SCPU 1; spread interrupts over CPUs"
            ),
        )
    } else if reclaimed > 1000.0 || pressure > 0.1 {
        let what = text!(
            "live-reclaim",
            "{share} of busy time in the kernel, reclaiming memory: {rate} pages scanned a second by tasks that want some, \
             memory pressure {pressure}.",
            share = Value::Share(share),
            rate = thousands(reclaimed.round()),
            pressure = Value::Share(pressure)
        );
        (what, text!("live-try-memory", "raise the memory limit (memory.max), or use less; vmstat 1"))
    } else {
        return time::kernel(facts).map(|cause| Cause { share: times.share(times.kernel()), ..cause });
    };
    Some(Cause::new(BoundBy::Kernel, times.share(times.kernel()), what, advice))
}

/// The probe hears so much more than idle before memory is said to be busy: readings of an idle machine differ by less.
const HEARD: f64 = 1.3;
/// Memory this full is full: beyond it latency rises faster than bandwidth.
const FULL: f64 = 0.5;

fn memory(interval: &Interval, reference: &Reference) -> Option<Cause> {
    let probe = interval.probe.as_ref()?;
    let idle = reference.idle_ns().filter(|ns| *ns > 0.0)?;
    let (node, now) = probe.latency_ns.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
    let ratio = now / idle;
    if ratio < HEARD {
        return None;
    }
    let fill = reference.fill(*now);
    let mut says = text!(
        "live-memory",
        "CPUs {busy} busy, but waiting for memory: loads take {now}, {idle} when idle.",
        busy = busy(interval),
        now = Value::Rounded(Box::new(Value::Figure(*now, "ns")), 3),
        idle = Value::Rounded(Box::new(Value::Figure(idle, "ns")), 3)
    );
    match fill {
        Some(fill) => says.push(text!(
            "live-memory-fill",
            "By this machine's own curve memory is about {fill} full.",
            fill = Value::Rounded(Box::new(Value::Share(fill)), 1)
        )),
        None => says.push(text!(
            "live-memory-uncalibrated",
            "How full memory is needs this machine's curve: linespeed, once, while it is idle."
        )),
    }
    if probe.latency_ns.len() > 1 {
        says.push(text!("live-memory-node", "Node {node} is the fullest.", node = node.to_string()));
    }
    let advice = text!(
        "live-try-memory-bound",
        "touch less memory, or spread it over nodes; who: perf top -e LLC-load-misses where there is a PMU"
    );
    // The CPUs that work wait for what the probe waits for.
    let user = interval.times.share(interval.times.user);
    let full = fill.map_or(1.0 - 1.0 / ratio, |fill| if fill >= FULL { fill } else { 0.0 });
    let seen = text!("live-probe", "memory probe {ratio} idle", ratio = Value::Factor(ratio));
    Some(
        Cause::new(BoundBy::MemoryBandwidth, user * full, says, advice)
            .cite(seen, "probe.latency_ns".to_owned()),
    )
}

/// A clock this far below the best seen is held down.
const HELD_DOWN: f64 = 0.9;

fn clock(interval: &Interval, reference: &Reference) -> Option<Cause> {
    let best = reference.ceilings.clock_hz.filter(|hz| *hz > 0.0)?;
    let now = interval.probe.as_ref()?.clock_hz?;
    let busy = interval.times.share(interval.times.busy());
    let lost = 1.0 - now / best;
    if now / best > HELD_DOWN || busy < 0.5 {
        return None;
    }
    let mut says = text!(
        "live-clock",
        "The clock is held down: {now}, {best} at its best.",
        now = Value::Figure(now, "Hz"),
        best = Value::Figure(best, "Hz")
    );
    let advice = match interval.sensors.heat_throttled.filter(|share| *share > 0.01) {
        Some(share) => {
            says.push(text!(
                "live-clock-heat",
                "Heat throttled it {share} of the time.",
                share = Value::Share(share)
            ));
            text!("live-try-cooling", "look at fans, airflow and power limits: ipmitool sdr, turbostat")
        }
        None => text!(
            "live-try-governor",
            "look at the governor, power limits and heat: linespeed quiet, turbostat"
        ),
    };
    Some(Cause::new(BoundBy::Clock, lost * busy, says, advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::command_run::{ProbePoint, Waits};
    use record::live::{CpuTimes, Probe, Throttled};

    /// Ten seconds of four CPUs.
    fn interval(user: f64, system: f64, idle: f64) -> Interval {
        let times = CpuTimes { user, system, idle, ..CpuTimes::default() };
        Interval {
            seconds: 10.0,
            cpus: 4,
            times,
            runnable: Some((user + system) / 10.0),
            ..Interval::default()
        }
    }

    fn reference() -> Reference {
        let points = [(1e9, 100.0), (10e9, 110.0), (20e9, 150.0), (30e9, 300.0)];
        let probe = points.map(|(bandwidth, ns)| ProbePoint { bandwidth, ns }).to_vec();
        Reference {
            ceilings: Ceilings { probe, clock_hz: Some(3e9), ..Ceilings::default() },
            calibrated_ns: None,
        }
    }

    fn by(interval: &Interval) -> BoundBy {
        watched(interval, &reference()).unwrap().by
    }

    fn heard(ns: f64, hz: f64) -> Option<Probe> {
        Some(Probe { latency_ns: [(0, ns)].into(), clock_hz: Some(hz), late_us: Some(60.0) })
    }

    #[test]
    fn an_idle_machine_is_idle_and_one_that_computes_works() {
        assert_eq!(by(&interval(0.5, 0.2, 39.3)), BoundBy::Idle);
        assert_eq!(by(&interval(39.0, 0.5, 0.5)), BoundBy::Cpu);
        assert_eq!(by(&interval(20.0, 0.5, 19.5)), BoundBy::Cpu);
        assert!(watched(&Interval::default(), &reference()).is_none());
    }

    #[test]
    fn memory_is_full_where_the_probe_hears_it_through_this_machines_curve() {
        let busy = interval(38.0, 0.5, 1.5);
        assert_eq!(by(&Interval { probe: heard(290.0, 3e9), ..busy.clone() }), BoundBy::MemoryBandwidth);
        assert_eq!(by(&Interval { probe: heard(112.0, 3e9), ..busy.clone() }), BoundBy::Cpu);
        // Without a curve by the ratio alone, and said so.
        let calibrated = Reference { calibrated_ns: Some(100.0), ..Reference::default() };
        let bound = watched(&Interval { probe: heard(290.0, 3e9), ..busy }, &calibrated).unwrap();
        assert_eq!(bound.by, BoundBy::MemoryBandwidth);
        // An idle machine beside busy neighbours is idle.
        assert_eq!(by(&Interval { probe: heard(290.0, 3e9), ..interval(0.5, 0.2, 39.3) }), BoundBy::Idle);
    }

    #[test]
    fn the_curve_is_read_between_its_points() {
        let reference = reference();
        assert_eq!(reference.fill(100.0), Some(0.0));
        assert_eq!(reference.fill(130.0), Some(0.5));
        assert_eq!(reference.fill(1000.0), Some(1.0));
        assert_eq!(Reference::default().fill(100.0), None);
    }

    #[test]
    fn a_clock_below_this_machines_own_is_held_down() {
        let busy = Interval { probe: heard(100.0, 1.5e9), ..interval(39.0, 0.5, 0.5) };
        assert_eq!(by(&busy), BoundBy::Clock);
        assert_eq!(by(&Interval { probe: heard(100.0, 2.9e9), ..busy }), BoundBy::Cpu);
    }

    #[test]
    fn what_is_taken_from_outside_comes_first() {
        let stolen = interval(20.0, 0.5, 0.0);
        let times = CpuTimes { steal: 19.5, ..stolen.times };
        assert_eq!(by(&Interval { times, ..stolen }), BoundBy::Stolen);
        let throttled =
            Throttled { group: "/sys/fs/cgroup/a".to_owned(), seconds: 10.0, periods: 0.9, used: 10.0 };
        assert_eq!(by(&Interval { throttled: Some(throttled), ..interval(10.0, 0.2, 29.8) }), BoundBy::Quota);
    }

    #[test]
    fn more_threads_than_cpus_wait_for_a_cpu() {
        let process = |real_time, threads| Process {
            pid: 7,
            name: "spin".to_owned(),
            cpu: 38.0,
            threads,
            real_time,
            ..Process::default()
        };
        let full =
            Interval { runnable: Some(16.0), processes_seconds: Some(10.0), ..interval(39.5, 0.5, 0.0) };
        assert_eq!(
            by(&Interval { processes: vec![process(false, 16)], ..full.clone() }),
            BoundBy::TooFewCpus
        );
        assert_eq!(
            by(&Interval { processes: vec![process(true, 1)], ..full.clone() }),
            BoundBy::CpuContention
        );
        assert_eq!(by(&full), BoundBy::CpuContention);
        // What the kernel counts goes before samples.
        assert_eq!(by(&Interval { run_queue_delay: Some(0.1), ..full }), BoundBy::Cpu);
    }

    #[test]
    fn what_the_kernel_does_is_told_by_its_rates() {
        let code = |interval: &Interval| watched(interval, &reference()).unwrap().says.to_string();
        let with = |rates: &[(&str, f64)], interval: Interval| {
            let rates = rates.iter().map(|(name, rate)| ((*name).to_owned(), *rate)).collect();
            Interval { rates, ..interval }
        };
        let faults = with(&[("page-faults", 2e6)], interval(5.0, 34.0, 1.0));
        assert_eq!(by(&faults), BoundBy::Kernel);
        let packets = interval(5.0, 4.0, 1.0);
        let times = CpuTimes { softirq: 30.0, ..packets.times };
        let packets = with(&[("softirqs-net-rx", 3e5)], Interval { times, ..packets });
        assert_eq!(by(&packets), BoundBy::Kernel);
        let reclaim = with(&[("reclaimed-pages", 5e4)], interval(5.0, 34.0, 1.0));
        assert_eq!(by(&reclaim), BoundBy::Kernel);
        assert_eq!(
            3,
            [code(&faults), code(&packets), code(&reclaim)]
                .into_iter()
                .collect::<std::collections::BTreeSet<_>>()
                .len()
        );
    }

    #[test]
    fn tasks_that_wait_for_a_disk_are_told_by_pressure() {
        let mut waiting = interval(1.0, 1.0, 38.0);
        waiting.pressure.insert("io".to_owned(), 0.9);
        waiting.waits.insert("fsync".to_owned(), Waits { threads: 9, again: 9 });
        assert_eq!(by(&waiting), BoundBy::Waiting);
    }
}
