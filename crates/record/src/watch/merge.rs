//! Merges two consecutive intervals. Times are added. Rates and readings are averaged, weighted by the lengths of the
//! intervals.

use std::collections::BTreeMap;
use std::ops::Add;

use crate::command_run::{LockWaits, Looks, ThreadWaits};
use crate::live::{
    Clock, Cores, Interval, Probe, Process, Remote, Sampled, Sensors, Service, Share, Thread, Throttled,
    Traffic,
};

/// Combines two values; if only one side has a value, the result is that value.
fn both<T>(a: Option<T>, b: Option<T>, join: impl FnOnce(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(join(a, b)),
        (a, b) => a.or(b),
    }
}

/// The weights of two values in a mean.
#[derive(Clone, Copy)]
struct Weights(f64, f64);

impl Weights {
    fn mean(self, a: f64, b: f64) -> f64 {
        let all = self.0 + self.1;
        if all > 0.0 { (a * self.0 + b * self.1) / all } else { a }
    }

    fn of(self, a: Option<f64>, b: Option<f64>) -> Option<f64> {
        both(a, b, |a, b| self.mean(a, b))
    }

    fn of_each<K: Ord>(self, mut a: BTreeMap<K, f64>, b: BTreeMap<K, f64>) -> BTreeMap<K, f64> {
        for (name, b) in b {
            a.entry(name).and_modify(|a| *a = self.mean(*a, b)).or_insert(b);
        }
        a
    }
}

fn join_waits(mut all: ThreadWaits, more: ThreadWaits) -> ThreadWaits {
    for (what, waits) in more {
        let sum = all.entry(what).or_default();
        sum.threads += waits.threads;
        sum.again += waits.again;
        sum.locks = both(sum.locks, waits.locks, |a, b| LockWaits {
            blocked: a.blocked + b.blocked,
            mutex: a.mutex + b.mutex,
            active: a.active + b.active,
            stuck: a.stuck.min(b.stuck),
        });
    }
    all
}

fn join_looks(a: Looks, b: Looks) -> Looks {
    Looks {
        all: a.all + b.all,
        idle: a.idle + b.idle,
        active: a.active + b.active,
        most_active: a.most_active.max(b.most_active),
        unread: a.unread + b.unread,
    }
}

fn join_service(mut all: Service, more: Service) -> Service {
    for (state, seconds) in more.states {
        *all.states.entry(state).or_default() += seconds;
    }
    Service {
        seconds: all.seconds + more.seconds,
        states: all.states,
        waits: join_waits(all.waits, more.waits),
        looks: join_looks(all.looks, more.looks),
        sampled: both(all.sampled, more.sampled, join_sampled),
        below: all.below.max(more.below),
        threads: all.threads.max(more.threads),
        ended: all.ended.max(more.ended),
    }
}

/// The group that was throttled longer; if both are the same group, the times are added.
fn join_throttled(a: Throttled, b: Throttled, weights: Weights) -> Throttled {
    if a.group == b.group {
        let periods = weights.mean(a.periods, b.periods);
        return Throttled { seconds: a.seconds + b.seconds, used: a.used + b.used, periods, ..a };
    }
    if b.seconds > a.seconds { b } else { a }
}

fn join_cores(a: Cores, b: Cores, weights: Weights) -> Cores {
    Cores {
        ipc: weights.of(a.ipc, b.ipc),
        ipc_user: weights.of(a.ipc_user, b.ipc_user),
        ipc_kernel: weights.of(a.ipc_kernel, b.ipc_kernel),
        top_down: weights.of_each(a.top_down, b.top_down),
        coverage: a.coverage.min(b.coverage),
    }
}

/// Shares are averaged, weighted by their numbers of samples. The numbers of samples are not added, because both
/// intervals may contain the same samples: an interval's samples can be those of the last 10 s.
fn join_sampled(a: Sampled, b: Sampled) -> Sampled {
    let weights = Weights(a.decoded() as f64, b.decoded() as f64);
    let share = |a: Share, b: Share| Share {
        count: a.count.max(b.count),
        share: weights.mean(a.share, b.share),
        low: weights.mean(a.low, b.low),
        high: weights.mean(a.high, b.high),
    };
    let main = if b.far.share > a.far.share { (b.level, b.load_ns) } else { (a.level, a.load_ns) };
    Sampled {
        samples: a.samples.max(b.samples),
        undecoded: a.undecoded.max(b.undecoded),
        lost: a.lost.max(b.lost),
        loads: share(a.loads, b.loads),
        far: share(a.far, b.far),
        remote: share(a.remote, b.remote),
        sequential: share(a.sequential, b.sequential),
        last_cache: share(a.last_cache, b.last_cache),
        own_cache: share(a.own_cache, b.own_cache),
        hidden: share(a.hidden, b.hidden),
        shared: share(a.shared, b.shared),
        spinning: share(a.spinning, b.spinning),
        atomic: share(a.atomic, b.atomic),
        long: share(a.long, b.long),
        float: share(a.float, b.float),
        jumps: share(a.jumps, b.jumps),
        working_set: both(a.working_set, b.working_set, f64::max),
        level: main.0,
        load_ns: main.1,
        in_kernel: a.in_kernel.max(b.in_kernel),
        kernel: if b.in_kernel > a.in_kernel { b.kernel } else { a.kernel },
    }
}

fn join_traffic(a: Traffic, b: Traffic, weights: Weights) -> Traffic {
    Traffic {
        bytes_per_second: weights.mean(a.bytes_per_second, b.bytes_per_second),
        read: weights.of(a.read, b.read),
        written: weights.of(a.written, b.written),
        bus: weights.of(a.bus, b.bus),
        source: b.source,
        doubtful: a.doubtful || b.doubtful,
    }
}

fn join_probe(a: Probe, b: Probe, weights: Weights) -> Probe {
    let mut intervals = a.latency_interval_ns;
    for (node, b) in b.latency_interval_ns {
        let join = |a: &mut (f64, f64)| *a = (weights.mean(a.0, b.0), weights.mean(a.1, b.1));
        intervals.entry(node).and_modify(join).or_insert(b);
    }
    Probe {
        latency_ns: weights.of_each(a.latency_ns, b.latency_ns),
        latency_interval_ns: intervals,
        clock_hz: weights.of(a.clock_hz, b.clock_hz),
        late_us: weights.of(a.late_us, b.late_us),
    }
}

/// Merges the following interval into this one; at most `most` processes are kept.
pub(super) fn join(all: &mut Interval, next: Interval, most: usize) {
    let mut a = std::mem::take(all);
    let weights = Weights(a.seconds, next.seconds);
    let seconds = a.seconds + next.seconds;
    // A sum of times as a share of the length of its interval.
    let share = |sum: Option<f64>, of: f64| sum.map(|sum| sum / of.max(1e-9));
    let delay = weights.of(share(a.run_queue_delay, weights.0), share(next.run_queue_delay, weights.1));
    add_processes(&mut a.processes, &next.processes, most);
    add_threads(&mut a.threads, &next.threads, most);
    a.times += next.times;
    // All fields are listed explicitly, so that the compiler reports a new field that is not merged.
    *all = Interval {
        seconds,
        suspended: both(a.suspended, next.suspended, Add::add),
        cpus: next.cpus,
        times: a.times,
        run_queue_delay: delay.map(|share| share * seconds),
        runnable: weights.of(a.runnable, next.runnable),
        blocked: weights.of(a.blocked, next.blocked),
        pressure: weights.of_each(a.pressure, next.pressure),
        rates: weights.of_each(a.rates, next.rates),
        clock: both(a.clock, next.clock, |a, b| Clock { hz: weights.mean(a.hz, b.hz), source: b.source }),
        probe: both(a.probe, next.probe, |a, b| join_probe(a, b, weights)),
        sensors: Sensors {
            celsius: both(a.sensors.celsius, next.sensors.celsius, f64::max),
            fan_rpm: both(a.sensors.fan_rpm, next.sensors.fan_rpm, f64::max),
            watts: weights.of(a.sensors.watts, next.sensors.watts),
            heat_throttled: weights.of(a.sensors.heat_throttled, next.sensors.heat_throttled),
        },
        cores: both(a.cores, next.cores, |a, b| join_cores(a, b, weights)),
        cores_of_group: both(a.cores_of_group, next.cores_of_group, |a, b| join_cores(a, b, weights)),
        sampled: both(a.sampled, next.sampled, join_sampled),
        traffic: both(a.traffic, next.traffic, |a, b| join_traffic(a, b, weights)),
        remote: both(a.remote, next.remote, |a, b| Remote {
            taken: weights.of(a.taken, b.taken),
            touched: weights.of(a.touched, b.touched),
            held: weights.of(a.held, b.held),
        }),
        throttled: both(a.throttled, next.throttled, |a, b| join_throttled(a, b, weights)),
        processes: a.processes,
        threads: a.threads,
        shape: next.shape.or(a.shape),
        processes_seconds: both(a.processes_seconds, next.processes_seconds, Add::add),
        waits: join_waits(a.waits, next.waits),
        looks: join_looks(a.looks, next.looks),
        service: both(a.service, next.service, join_service),
        own_seconds: a.own_seconds + next.own_seconds,
    };
}

/// Adds up the times of processes, which are identified by PID and name; the `most` processes with the most time are
/// kept.
pub(super) fn add_processes(all: &mut Vec<Process>, more: &[Process], most: usize) {
    for process in more {
        match all.iter_mut().find(|one| one.pid == process.pid && one.name == process.name) {
            Some(one) => {
                one.cpu += process.cpu;
                one.system += process.system;
                one.threads = one.threads.max(process.threads);
                one.real_time |= process.real_time;
                one.ended = process.ended;
            }
            None => all.push(process.clone()),
        }
    }
    all.sort_by(|a, b| b.cpu.total_cmp(&a.cpu).then(a.pid.cmp(&b.pid)));
    all.truncate(most);
}

/// Adds up the times of threads in the same way.
pub(super) fn add_threads(all: &mut Vec<Thread>, more: &[Thread], most: usize) {
    for thread in more {
        match all.iter_mut().find(|one| one.tid == thread.tid && one.name == thread.name) {
            Some(one) => {
                one.cpu += thread.cpu;
                one.runnable += thread.runnable;
                one.blocked += thread.blocked;
                one.state.clone_from(&thread.state);
            }
            None => all.push(thread.clone()),
        }
    }
    all.sort_by(|a, b| b.cpu.total_cmp(&a.cpu).then(a.tid.cmp(&b.tid)));
    all.truncate(most);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_summed_and_readings_averaged_by_their_time() {
        let interval = |seconds: f64, ns: f64, delay: Option<f64>| Interval {
            seconds,
            suspended: delay,
            run_queue_delay: delay,
            pressure: [("io".to_owned(), ns / 1000.0)].into(),
            probe: Some(Probe {
                latency_ns: [(0, ns)].into(),
                latency_interval_ns: [(0, (ns - 10.0, ns + 30.0))].into(),
                ..Probe::default()
            }),
            sensors: Sensors { celsius: Some(ns / 2.0), watts: None, ..Sensors::default() },
            traffic: Some(Traffic { bytes_per_second: ns, ..Traffic::default() }),
            cores: Some(Cores { ipc: Some(ns), coverage: 1.0, ..Cores::default() }),
            remote: Some(Remote { held: Some(ns), ..Remote::default() }),
            ..Interval::default()
        };
        let mut all = interval(1.0, 100.0, Some(0.5));
        join(&mut all, interval(3.0, 200.0, None), 3);
        assert_eq!(all.seconds, 4.0);
        assert_eq!(all.suspended, Some(0.5));
        // A value of a single second, averaged over four seconds.
        assert_eq!(all.run_queue_delay, Some(2.0));
        let hardware =
            (all.traffic.unwrap().bytes_per_second, all.cores.unwrap().ipc, all.remote.unwrap().held);
        assert_eq!(hardware, (175.0, Some(175.0), Some(175.0)));
        let probe = all.probe.unwrap();
        assert_eq!((probe.latency_ns[&0], probe.latency_interval_ns[&0]), (175.0, (165.0, 205.0)));
        assert!((all.pressure["io"] - 0.175).abs() < 1e-9 && all.sensors.celsius == Some(100.0));
    }

    #[test]
    fn what_a_service_waited_for_is_summed() {
        let service = |off: f64| Service {
            seconds: 1.0,
            states: [("off-cpu".to_owned(), off)].into(),
            waits: [("lock".to_owned(), crate::command_run::Waits { threads: 2, again: 1, locks: None })]
                .into(),
            looks: Looks { all: 10, most_active: 3, ..Looks::default() },
            sampled: Some(Sampled {
                samples: 100,
                far: Share { share: off, ..Share::default() },
                ..Sampled::default()
            }),
            below: (off * 8.0) as u64,
            threads: (off * 16.0) as u64,
            ended: u64::from(off < 0.5),
        };
        let mut all = Interval { service: Some(service(0.5)), ..Interval::default() };
        join(&mut all, Interval { service: Some(service(0.25)), ..Interval::default() }, 3);
        let sum = all.service.unwrap();
        assert_eq!((sum.states["off-cpu"], sum.waits["lock"].threads, sum.looks.all), (0.75, 4, 20));
        assert_eq!((sum.below, sum.threads), (4, 8), "the most at once");
        assert_eq!(sum.ended, 1, "they have ended in the last of both");
        let sampled = sum.sampled.unwrap();
        assert_eq!((sampled.samples, sampled.far.share), (100, 0.375));
        assert_eq!((sum.seconds, sum.looks.most_active), (2.0, 3));
    }

    #[test]
    fn two_processes_of_one_number_differ_by_their_names() {
        let process =
            |name: &str, cpu: f64| Process { pid: 7, name: name.to_owned(), cpu, ..Process::default() };
        let mut all = vec![process("a", 1.0)];
        add_processes(&mut all, &[process("b", 2.0), process("a", 3.0)], 2);
        assert_eq!(
            all.iter().map(|one| (one.name.as_str(), one.cpu)).collect::<Vec<_>>(),
            [("a", 4.0), ("b", 2.0)]
        );
    }
}
