//! The bottleneck of selected processes of a recorded machine, from the rules of `stat` and the machine's probe.

use record::diagnosis::{Bound, BoundBy};
use record::live::{Interval, Process};
use record::text::Value;
use record::{Measurement, Record, detail, text};

use super::machine::{Reference, counted, name, watched};
use super::sampled::ENOUGH;
use super::{advice, verdict};
use crate::record_index::RecordIndex;

/// The bottleneck of processes, from the activity of the whole machine and from results of the same form as a command's.
pub fn watched_service(seen: Vec<Measurement>, interval: &Interval, reference: &Reference) -> Option<Bound> {
    let mut record = Record::new("", String::new(), Vec::new());
    let sampled = interval.service.as_ref().and_then(|service| service.sampled.as_ref());
    record.measurements = seen;
    if let Some(time) = record.measurements.first_mut() {
        time.detail.set_parts(detail::CEILINGS, &reference.ceilings);
        sampled.into_iter().for_each(|sampled| time.detail.set_parts(detail::SAMPLED, sampled));
    }
    record.measurements.extend(interval.cores_of_group.iter().flat_map(counted));
    let mut own = super::bound(&RecordIndex::new(&record))?;
    // If a program ran during part of the interval and was then stopped, the verdict on its run is kept.
    let stopped = !interval.threads.is_empty() && interval.threads.iter().all(|thread| thread.state == "T");
    if own.by == BoundBy::Waiting && stopped {
        own.says = text!(verdict("stopped"));
        own.advice = vec![advice("stopped")];
        return Some(own);
    }
    say_who(&mut own, interval);
    say_of_memory(&mut own, interval);
    // A running program may wait for memory. If it has too few samples of its own, the machine's probe and samples show whether it does.
    let is_memory = |by: &BoundBy| matches!(by, BoundBy::MemoryBandwidth | BoundBy::MemoryLatency);
    let unknown = sampled.is_none_or(|sampled| sampled.decoded() < ENOUGH);
    let applies = |by: &BoundBy| *by == BoundBy::Clock || unknown && is_memory(by);
    let heard = watched(interval, reference).filter(|machine| applies(&machine.by));
    Some(heard.filter(|_| [BoundBy::Cpu, BoundBy::OneThread].contains(&own.by)).unwrap_or(own))
}

/// A process that uses less than this share of a CPU is not named as a cause of delays.
const MUCH: f64 = 0.1;

/// Adds the processes that used the CPUs needed by the selected processes.
fn say_who(own: &mut Bound, interval: &Interval) {
    let is_its = |process: &&Process| interval.threads.iter().any(|thread| thread.pid == process.pid);
    let seconds = interval.processes_seconds.unwrap_or(interval.seconds).max(1e-9);
    let Some(other) = interval.processes.iter().find(|process| !is_its(process)) else { return };
    if own.by != BoundBy::CpuContention || other.cpu / seconds < MUCH {
        return;
    }
    let (who, share) = (name(other), Value::Share(other.cpu / seconds));
    own.says.push(text!(verdict(if other.real_time { "who-real-time" } else { "who" }), who, share));
}

/// If tasks wait for memory for more than this share of the time, a memory limit or a lack of memory is the cause.
const PRESSED: f64 = 0.1;

/// Tasks that wait for page reclaim appear to wait for a disk or to work in the kernel.
fn say_of_memory(own: &mut Bound, interval: &Interval) {
    let pressure = interval.pressure.get("memory").copied().unwrap_or(0.0);
    if pressure < PRESSED || ![BoundBy::Waiting, BoundBy::Kernel].contains(&own.by) {
        return;
    }
    own.says.push(text!(verdict("memory-pressure"), pressure = Value::Share(pressure)));
    own.advice.insert(0, advice("memory-limit"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::live::{CpuTimes, Thread};
    use record::{Label, Labels};

    /// One second of one thread: time on-CPU, in the run queue, and blocked.
    fn one_thread([cpu, runnable, blocked]: [f64; 3]) -> Vec<Measurement> {
        let place = || Labels::new().with_label(Label::Workload, "command");
        let states = [("user", cpu), ("system", 0.0), ("runnable", runnable), ("off-cpu", blocked)];
        let mut all = vec![Measurement::new("workload.time", place(), vec![1.0])];
        all.extend(states.map(|(state, seconds)| {
            Measurement::new("workload.cpu_time", place().with_label(Label::State, state), vec![seconds])
        }));
        let place = place().with_label(Label::State, "on-cpu").with_label(Label::Thread, "w 7");
        all.push(Measurement::new("workload.cpu_time", place, vec![cpu]));
        all[0].detail.set(detail::CPU_COUNT, 2.0);
        all
    }

    fn interval(state: &str) -> Interval {
        let thread = Thread { pid: 7, tid: 7, state: state.to_owned(), ..Thread::default() };
        let times = CpuTimes { user: 1.5, idle: 0.5, ..CpuTimes::default() };
        Interval { seconds: 1.0, cpus: 2, times, threads: vec![thread], ..Interval::default() }
    }

    fn codes(figures: [f64; 3], interval: &Interval) -> Vec<String> {
        let bound = watched_service(one_thread(figures), interval, &Reference::default()).unwrap();
        bound.says.sentences().iter().filter_map(|text| text.code().map(str::to_owned)).collect()
    }

    #[test]
    fn who_had_the_cpu_of_a_service_is_named() {
        let hog = Process { pid: 9, name: "hog".to_owned(), cpu: 0.9, real_time: true, ..Process::default() };
        let own = Process { pid: 7, name: "w".to_owned(), cpu: 0.95, ..Process::default() };
        let beside = Interval { processes: vec![own, hog], ..interval("R") };
        let said = codes([0.2, 0.8, 0.0], &beside);
        assert_eq!(said.last().map(String::as_str), Some("bound-who-real-time"), "{said:?}");
        let bound = watched_service(one_thread([0.2, 0.8, 0.0]), &beside, &Reference::default()).unwrap();
        let who = bound.says.sentences().iter().find_map(|text| text.value("who")).unwrap().to_string();
        assert_eq!(who, "other processes", "a single thread does not delay itself");
        assert!(!codes([0.9, 0.0, 0.1], &beside).contains(&"bound-who-real-time".to_owned()));
    }

    #[test]
    fn the_memory_that_others_wait_for_is_not_a_verdict_on_this_service() {
        let share = |count| record::live::Share::of(count, 100, 0);
        let sampled = |far| record::live::Sampled {
            samples: 100,
            loads: share(60),
            far: share(far),
            level: Some(record::live::MemoryLevel::Dram),
            ..Default::default()
        };
        let by = |own: Option<u64>| {
            let service = record::live::Service { sampled: own.map(sampled), ..Default::default() };
            let all = Interval { sampled: Some(sampled(60)), service: Some(service), ..interval("R") };
            watched_service(one_thread([1.0, 0.0, 0.0]), &all, &Reference::default()).unwrap().by
        };
        assert_eq!((by(None), by(Some(60))), (BoundBy::MemoryLatency, BoundBy::MemoryLatency));
        assert_eq!(by(Some(0)), BoundBy::OneThread);
    }

    #[test]
    fn what_somebody_stopped_waits_for_nothing() {
        assert_eq!(codes([0.0, 0.0, 1.0], &interval("T")), ["bound-stopped"]);
        assert_eq!(codes([0.0, 0.0, 1.0], &interval("S")), ["bound-waiting"]);
    }

    #[test]
    fn a_disk_that_serves_what_a_memory_limit_took_is_not_all_there_is() {
        let pressed = Interval { pressure: [("memory".to_owned(), 0.3)].into(), ..interval("D") };
        assert_eq!(codes([0.1, 0.0, 0.9], &pressed), ["bound-waiting", "bound-memory-pressure"]);
        assert_eq!(codes([0.1, 0.0, 0.9], &interval("D")), ["bound-waiting"]);
    }
}
