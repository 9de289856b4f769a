//! Two intervals that follow one another as one: times are summed, rates and readings averaged by their time.

use std::collections::BTreeMap;

use crate::command_run::{LockWaits, Looks, ThreadWaits};
use crate::live::{
    Clock, Cores, CpuTimes, Interval, Probe, Process, Remote, Sampled, Sensors, Service, Thread, Throttled,
    Traffic,
};

/// What both tell as the mean by their lengths; what one alone tells stands for both.
fn mean(a: Option<f64>, b: Option<f64>, (of_a, of_b): (f64, f64)) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) if of_a + of_b > 0.0 => Some((a * of_a + b * of_b) / (of_a + of_b)),
        (a, b) => a.or(b),
    }
}

fn means<K: Ord + Clone>(a: BTreeMap<K, f64>, b: BTreeMap<K, f64>, lengths: (f64, f64)) -> BTreeMap<K, f64> {
    let names = a.keys().chain(b.keys()).cloned().collect::<std::collections::BTreeSet<K>>();
    let of = |name: K| {
        let value = mean(a.get(&name).copied(), b.get(&name).copied(), lengths)?;
        Some((name, value))
    };
    names.into_iter().filter_map(of).collect()
}

fn highest(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::max)
}

fn add_waits(all: &mut ThreadWaits, more: ThreadWaits) {
    for (what, waits) in more {
        let sum = all.entry(what).or_default();
        sum.threads += waits.threads;
        sum.again += waits.again;
        sum.locks = match (sum.locks, waits.locks) {
            (Some(a), Some(b)) => Some(LockWaits {
                blocked: a.blocked + b.blocked,
                mutex: a.mutex + b.mutex,
                active: a.active + b.active,
                stuck: a.stuck.min(b.stuck),
            }),
            (a, b) => a.or(b),
        };
    }
}

fn add_looks(all: &mut Looks, more: Looks) {
    all.all += more.all;
    all.idle += more.idle;
    all.active += more.active;
    all.most_active = all.most_active.max(more.most_active);
    all.unread += more.unread;
}

fn join_service(a: Option<Service>, b: Option<Service>) -> Option<Service> {
    let (Some(mut all), Some(more)) = (a.clone(), b.clone()) else { return a.or(b) };
    all.seconds += more.seconds;
    for (state, seconds) in more.states {
        *all.states.entry(state).or_default() += seconds;
    }
    add_waits(&mut all.waits, more.waits);
    add_looks(&mut all.looks, more.looks);
    all.sampled = join_sampled(all.sampled.take(), more.sampled);
    all.below = all.below.max(more.below);
    all.threads = all.threads.max(more.threads);
    all.ended = all.ended.max(more.ended);
    Some(all)
}

/// The group that was held back more; the same group in both for as long as in both.
fn join_throttled(a: Option<Throttled>, b: Option<Throttled>, lengths: (f64, f64)) -> Option<Throttled> {
    let (Some(a), Some(b)) = (a.clone(), b.clone()) else { return a.or(b) };
    if a.group == b.group {
        let periods = mean(Some(a.periods), Some(b.periods), lengths).unwrap_or_default();
        return Some(Throttled { seconds: a.seconds + b.seconds, used: a.used + b.used, periods, ..a });
    }
    Some(if b.seconds > a.seconds { b } else { a })
}

fn join_cores(a: Option<Cores>, b: Option<Cores>, lengths: (f64, f64)) -> Option<Cores> {
    let (Some(a), Some(b)) = (a.clone(), b.clone()) else { return a.or(b) };
    Some(Cores {
        ipc: mean(a.ipc, b.ipc, lengths),
        ipc_user: mean(a.ipc_user, b.ipc_user, lengths),
        ipc_kernel: mean(a.ipc_kernel, b.ipc_kernel, lengths),
        top_down: means(a.top_down, b.top_down, lengths),
        coverage: a.coverage.min(b.coverage),
    })
}

/// Shares are averaged by their numbers. Samples of a longer time than an interval are in both, so that these are not summed.
fn join_sampled(a: Option<Sampled>, b: Option<Sampled>) -> Option<Sampled> {
    let (Some(a), Some(b)) = (a.clone(), b.clone()) else { return a.or(b) };
    let numbers = (a.samples as f64, b.samples as f64);
    let share = |a: f64, b: f64| mean(Some(a), Some(b), numbers).unwrap_or_default();
    Some(Sampled {
        samples: a.samples.max(b.samples),
        unread: a.unread.max(b.unread),
        far: share(a.far, b.far),
        sequential: share(a.sequential, b.sequential),
        working_set: highest(a.working_set, b.working_set),
        hidden: share(a.hidden, b.hidden),
        shared: share(a.shared, b.shared),
        spinning: share(a.spinning, b.spinning),
    })
}

fn join_traffic(a: Option<Traffic>, b: Option<Traffic>, lengths: (f64, f64)) -> Option<Traffic> {
    let (Some(a), Some(b)) = (a.clone(), b.clone()) else { return a.or(b) };
    let all = mean(Some(a.bytes_per_second), Some(b.bytes_per_second), lengths);
    Some(Traffic {
        bytes_per_second: all.unwrap_or(b.bytes_per_second),
        read: mean(a.read, b.read, lengths),
        written: mean(a.written, b.written, lengths),
        bus: mean(a.bus, b.bus, lengths),
        source: b.source,
        doubtful: a.doubtful || b.doubtful,
    })
}

fn join_remote(a: Option<Remote>, b: Option<Remote>, lengths: (f64, f64)) -> Option<Remote> {
    let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
    Some(Remote {
        taken: mean(a.taken, b.taken, lengths),
        touched: mean(a.touched, b.touched, lengths),
        held: mean(a.held, b.held, lengths),
    })
}

/// Takes the interval that follows into this one; of processes at most so many stay.
pub(super) fn join(all: &mut Interval, next: Interval, most: usize) {
    let lengths = (all.seconds, next.seconds);
    // In whole, so that a field that is added is joined, too.
    let Interval {
        seconds,
        suspended,
        cpus,
        times: CpuTimes { user, system, irq, softirq, iowait, idle, steal },
        run_queue_delay,
        runnable,
        blocked,
        pressure,
        rates,
        clock,
        probe,
        sensors: Sensors { celsius, fan_rpm, watts, heat_throttled },
        cores,
        cores_of_group,
        sampled,
        traffic,
        remote,
        throttled,
        processes,
        threads,
        processes_seconds,
        waits,
        looks,
        service,
        own_seconds,
    } = next;
    all.seconds += seconds;
    all.suspended = all.suspended.map_or(suspended, |sum| Some(sum + suspended.unwrap_or(0.0)));
    all.cpus = cpus;
    all.times.user += user;
    all.times.system += system;
    all.times.irq += irq;
    all.times.softirq += softirq;
    all.times.iowait += iowait;
    all.times.idle += idle;
    all.times.steal += steal;
    // A sum over the time that it is told of, as a share of all of it.
    let delay = |sum: Option<f64>, of: f64| sum.map(|sum| sum / of.max(1e-9));
    let a_second = mean(delay(all.run_queue_delay, lengths.0), delay(run_queue_delay, lengths.1), lengths);
    all.run_queue_delay = a_second.map(|share| share * all.seconds);
    all.runnable = mean(all.runnable, runnable, lengths);
    all.blocked = mean(all.blocked, blocked, lengths);
    all.pressure = means(std::mem::take(&mut all.pressure), pressure, lengths);
    all.rates = means(std::mem::take(&mut all.rates), rates, lengths);
    all.clock = match (all.clock.take(), clock) {
        (Some(a), Some(b)) => {
            let hz = mean(Some(a.hz), Some(b.hz), lengths).unwrap_or(a.hz);
            Some(Clock { hz, source: b.source })
        }
        (a, b) => a.or(b),
    };
    all.probe = match (all.probe.take(), probe) {
        (Some(a), Some(b)) => Some(Probe {
            latency_interval_ns: {
                let end = |of: &Probe, end: fn(&(f64, f64)) -> f64| {
                    of.latency_interval_ns.iter().map(|(node, range)| (*node, end(range))).collect()
                };
                let means = |which: fn(&(f64, f64)) -> f64| means(end(&a, which), end(&b, which), lengths);
                let (low, mut high): (_, BTreeMap<u32, f64>) =
                    (means(|range| range.0), means(|range| range.1));
                low.into_iter().filter_map(|(node, low)| Some((node, (low, high.remove(&node)?)))).collect()
            },
            latency_ns: means(a.latency_ns, b.latency_ns, lengths),
            clock_hz: mean(a.clock_hz, b.clock_hz, lengths),
            late_us: mean(a.late_us, b.late_us, lengths),
        }),
        (a, b) => a.or(b),
    };
    all.sensors = Sensors {
        celsius: highest(all.sensors.celsius, celsius),
        fan_rpm: highest(all.sensors.fan_rpm, fan_rpm),
        watts: mean(all.sensors.watts, watts, lengths),
        heat_throttled: mean(all.sensors.heat_throttled, heat_throttled, lengths),
    };
    all.cores = join_cores(all.cores.take(), cores, lengths);
    all.cores_of_group = join_cores(all.cores_of_group.take(), cores_of_group, lengths);
    all.sampled = join_sampled(all.sampled.take(), sampled);
    all.traffic = join_traffic(all.traffic.take(), traffic, lengths);
    all.remote = join_remote(all.remote.take(), remote, lengths);
    all.throttled = join_throttled(all.throttled.take(), throttled, lengths);
    add_processes(&mut all.processes, &processes, most);
    add_threads(&mut all.threads, &threads, most);
    all.processes_seconds = match (all.processes_seconds, processes_seconds) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    };
    add_waits(&mut all.waits, waits);
    add_looks(&mut all.looks, looks);
    all.service = join_service(all.service.take(), service);
    all.own_seconds += own_seconds;
}

/// Adds the time of processes, each known by its number and name; those with the most stay.
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

/// The same of threads.
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
        // Of what was told for a second alone, so much in four.
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
            sampled: Some(Sampled { samples: 100, far: off, ..Sampled::default() }),
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
        assert_eq!((sampled.samples, sampled.far), (100, 0.375));
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
