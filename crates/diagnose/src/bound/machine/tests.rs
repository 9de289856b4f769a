//! Tests intervals as recorded on machines, and the limiting cause of each.

use super::*;
use record::command_run::{Ceilings, ProbePoint, Waits};
use record::live::{CpuTimes, Probe, Process, Remote, Sampled, Share, Throttled, Traffic};

/// An interval of ten seconds on four CPUs.
fn interval(user: f64, system: f64, idle: f64) -> Interval {
    let times = CpuTimes { user, system, idle, ..CpuTimes::default() };
    Interval { seconds: 10.0, cpus: 4, times, runnable: Some((user + system) / 10.0), ..Interval::default() }
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
    Some(Probe { latency_ns: [(0, ns)].into(), clock_hz: Some(hz), late_us: Some(60.0), ..Probe::default() })
}

#[test]
fn an_idle_machine_is_idle_and_one_that_computes_works() {
    assert_eq!(by(&interval(0.5, 0.2, 39.3)), BoundBy::Idle);
    assert_eq!(by(&interval(39.0, 0.5, 0.5)), BoundBy::Cpu);
    // The process with most of the busy time is named.
    let mysqld =
        Process { pid: 4711, name: "mysqld".to_owned(), cpu: 28.0, threads: 3, ..Process::default() };
    let busy =
        Interval { processes: vec![mysqld], processes_seconds: Some(10.0), ..interval(39.0, 0.5, 0.5) };
    let says = watched(&busy, &reference()).unwrap().says;
    assert!(says.to_string().ends_with("mysqld (pid 4711) uses 71 % of the busy time."), "{says}");
    assert_eq!(by(&interval(20.0, 0.5, 19.5)), BoundBy::Cpu);
    // A few threads that briefly shared one CPU do not limit the machine.
    let met = Interval { runnable: Some(0.2), ..interval(0.5, 0.2, 39.3) };
    let bound = watched(&met, &reference()).unwrap();
    assert_eq!((bound.by, bound.says.sentences().len(), bound.advice.len()), (BoundBy::Idle, 1, 1));
    // Threads of one process that briefly shared a CPU do not limit the machine either.
    let pool = Process { pid: 7, name: "pool".to_owned(), cpu: 0.69, threads: 14, ..Process::default() };
    let met = Interval { runnable: Some(0.2), processes: vec![pool], ..interval(0.5, 0.2, 39.3) };
    assert_eq!(by(&met), BoundBy::Idle);
    assert!(watched(&Interval::default(), &reference()).is_none());
    // Half of the requested CPU time was stolen, which matters only if at least half a CPU was requested.
    let with_steal = |busy: f64, steal: f64| {
        let quiet = interval(busy, 0.0, 160.0 - busy - steal);
        by(&Interval { cpus: 16, times: CpuTimes { steal, ..quiet.times }, ..quiet })
    };
    assert_eq!((with_steal(0.3, 0.4), with_steal(5.0, 5.0)), (BoundBy::Idle, BoundBy::Stolen));
}

#[test]
fn memory_is_full_where_the_probe_hears_it_through_this_machines_curve() {
    let busy = interval(38.0, 0.5, 1.5);
    assert_eq!(by(&Interval { probe: heard(290.0, 3e9), ..busy.clone() }), BoundBy::MemoryBandwidth);
    assert_eq!(by(&Interval { probe: heard(112.0, 3e9), ..busy.clone() }), BoundBy::Cpu);
    // Without a curve, only the latency ratio decides, and the verdict says so.
    let calibrated = Reference { calibrated_ns: Some(100.0), ..Reference::default() };
    let bound = watched(&Interval { probe: heard(290.0, 3e9), ..busy }, &calibrated).unwrap();
    assert_eq!(bound.by, BoundBy::MemoryBandwidth);
    // An idle machine with busy neighbors is idle.
    assert_eq!(by(&Interval { probe: heard(290.0, 3e9), ..interval(0.5, 0.2, 39.3) }), BoundBy::Idle);
}

#[test]
fn a_flat_curve_does_not_tell_how_full_memory_is() {
    let points = [(1e9, 146.0), (3e9, 147.0), (6.9e9, 153.0)];
    let probe = points.map(|(bandwidth, ns)| ProbePoint { bandwidth, ns }).to_vec();
    let flat = Reference { ceilings: Ceilings { probe, ..Ceilings::default() }, calibrated_ns: None };
    assert_eq!((flat.fill(152.0), flat.fill(146.0), flat.idle_ns()), (None, None, Some(146.0)));
    let slow = Interval { probe: heard(290.0, 3e9), ..interval(38.0, 0.5, 1.5) };
    assert_eq!(watched(&slow, &flat).unwrap().by, BoundBy::Cpu, "a neighbor caused the latency");
    assert_eq!((reference().fill(130.0), reference().fill(90.0)), (Some(0.5), Some(0.0)));
}

#[test]
fn what_controllers_count_goes_before_what_the_probe_hears() {
    let busy = interval(38.0, 0.5, 1.5);
    let carries = |bytes_per_second: f64, doubtful: bool, bus: Option<f64>| {
        Some(Traffic { bytes_per_second, doubtful, bus, source: "amd_umc".to_owned(), ..Traffic::default() })
    };
    // 27 of 30 GB/s are in use.
    let full = Interval { traffic: carries(27e9, false, None), ..busy.clone() };
    assert_eq!(by(&full), BoundBy::MemoryBandwidth);
    let loud = Interval { probe: heard(290.0, 3e9), ..busy.clone() };
    let quiet = Interval { traffic: carries(3e9, false, None), ..loud.clone() };
    assert_eq!(by(&quiet), BoundBy::Cpu);
    // Doubtful counts are ignored.
    assert_eq!(by(&Interval { traffic: carries(3e9, true, None), ..loud }), BoundBy::MemoryBandwidth);
    // Without a reference record, the buses' busy time decides.
    let untold = |interval: &Interval| watched(interval, &Reference::default()).unwrap().by;
    assert_eq!(
        untold(&Interval { traffic: carries(27e9, false, Some(0.8)), ..busy.clone() }),
        BoundBy::MemoryBandwidth
    );
    assert_eq!(untold(&Interval { traffic: carries(27e9, false, Some(0.2)), ..busy.clone() }), BoundBy::Cpu);
    assert_eq!(untold(&Interval { traffic: carries(27e9, false, None), ..busy }), BoundBy::Cpu);
}

#[test]
fn instructions_a_cycle_are_held_against_this_machines_own_and_stalls_are_said() {
    let says = |interval: &Interval, reference: &Reference| {
        let bound = watched(interval, reference).unwrap();
        assert_eq!(bound.by, BoundBy::Cpu);
        bound.says.sentences().iter().filter_map(|text| text.code().map(str::to_owned)).collect::<Vec<_>>()
    };
    let mut known = reference();
    known.ceilings.ipc = [("sorting".to_owned(), 1.5), ("hashing".to_owned(), 3.0)].into();
    let busy = interval(39.0, 0.5, 0.5);
    let alone = Interval { cores: Some(Cores { ipc: Some(0.4), ..Cores::default() }), ..busy.clone() };
    assert_eq!(says(&busy, &known), ["live-working", "live-computing-untold"]);
    assert_eq!(says(&alone, &reference()), ["live-working", "live-computing-untold"]);
    assert_eq!(says(&alone, &known), ["live-working", "bound-cpu-ipc-beside"]);
    let top_down = [("backend-bound".to_owned(), 0.7)].into();
    let stalled = Interval { cores: Some(Cores { ipc: Some(0.4), top_down, ..Cores::default() }), ..busy };
    assert_eq!(says(&stalled, &reference()), ["live-working", "live-stalled"]);
}

#[test]
fn memory_is_far_where_the_cores_wait_and_it_is_another_nodes() {
    let with = |backend: f64, touched: f64| {
        let cores = Cores { top_down: [("backend-bound".to_owned(), backend)].into(), ..Cores::default() };
        let remote = Remote { touched: Some(touched), ..Remote::default() };
        by(&Interval { cores: Some(cores), remote: Some(remote), ..interval(39.0, 0.5, 0.5) })
    };
    assert_eq!(with(0.8, 0.7), BoundBy::MemoryLatency);
    assert_eq!((with(0.2, 0.7), with(0.8, 0.1)), (BoundBy::Cpu, BoundBy::Cpu));
}

#[test]
fn the_curve_is_read_between_its_points() {
    let reference = reference();
    assert_eq!(reference.fill(100.0), Some(0.0));
    assert_eq!(reference.fill(130.0), Some(0.5));
    assert_eq!(reference.fill(1000.0), Some(1.0));
    assert_eq!(Reference::default().fill(100.0), None);
    let heard = Probe {
        latency_ns: [(0, 110.0), (1, 130.0)].into(),
        latency_interval_ns: [(0, (109.0, 111.0)), (1, (100.0, 1000.0))].into(),
        ..Probe::default()
    };
    assert_eq!(reference.fill_interval(&heard), Some((0.0, 1.0)));
    // A single probe may be inexact, and a latency below idle does not prove zero load.
    let alone = |ns: f64| Probe { latency_ns: [(0, ns)].into(), ..Probe::default() };
    let (low, high) = reference.fill_interval(&alone(130.0)).unwrap();
    assert!((0.4..0.5).contains(&low) && (0.5..0.6).contains(&high), "{low} {high}");
    let (low, high) = reference.fill_interval(&alone(90.0)).unwrap();
    assert!(low == 0.0 && (0.1..0.2).contains(&high), "{high}");
}

#[test]
fn a_clock_below_this_machines_own_is_held_down() {
    let busy = Interval { probe: heard(100.0, 1.5e9), ..interval(39.0, 0.5, 0.5) };
    assert_eq!(by(&busy), BoundBy::Clock);
    assert_eq!(by(&Interval { probe: heard(100.0, 2.9e9), ..busy.clone() }), BoundBy::Cpu);
    // When all cores are busy, each runs slower than a single one; this is not a loss.
    let mut known = reference();
    known.ceilings.clock_all_hz = Some(2e9);
    let by_all = |interval: &Interval| watched(interval, &known).unwrap().by;
    let at = |hz: f64| Interval { probe: heard(100.0, hz), ..busy.clone() };
    assert_eq!((by_all(&at(1.9e9)), by(&at(1.9e9))), (BoundBy::Cpu, BoundBy::Clock));
    assert_eq!(by_all(&at(1.2e9)), BoundBy::Clock);
    assert_eq!(
        (known.ceilings.clock_at(0.2), known.ceilings.clock_at(0.9)),
        (Some((3e9, false)), Some((2e9, true)))
    );
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
    let full = Interval { runnable: Some(16.0), processes_seconds: Some(10.0), ..interval(39.5, 0.5, 0.0) };
    assert_eq!(by(&Interval { processes: vec![process(false, 16)], ..full.clone() }), BoundBy::TooFewCpus);
    assert_eq!(by(&Interval { processes: vec![process(true, 1)], ..full.clone() }), BoundBy::CpuContention);
    assert_eq!(by(&full), BoundBy::CpuContention);
    // The kernel's counts take precedence over samples.
    assert_eq!(by(&Interval { run_queue_delay: Some(0.1), ..full }), BoundBy::Cpu);
}

#[test]
fn the_kernels_work_is_named_by_its_rates() {
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
fn tasks_that_wait_for_a_disk_show_in_pressure() {
    let mut waiting = interval(1.0, 1.0, 38.0);
    waiting.pressure.insert("io".to_owned(), 0.9);
    waiting.waits.insert("fsync".to_owned(), Waits { threads: 9, again: 9, locks: None });
    assert_eq!(by(&waiting), BoundBy::Waiting);
    // If all CPUs are busy, the disk wait is mentioned second.
    let codes = |pressure: f64| {
        let mut full = Interval { runnable: Some(7.0), ..interval(39.5, 0.5, 0.0) };
        full.pressure.insert("io".to_owned(), pressure);
        full.waits.insert("fsync".to_owned(), Waits { threads: 9, again: 9, locks: None });
        let bound = watched(&full, &reference()).unwrap();
        assert_eq!(bound.by, BoundBy::CpuContention);
        bound.says.sentences().iter().filter_map(|text| text.code().map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(codes(0.4), ["live-run-queue", "bound-besides", "live-waiting-disk"]);
    assert_eq!(codes(0.1), ["live-run-queue"]);
}

#[test]
fn sampled_threads_waited_as_long_as_the_pressure_tells() {
    // An fsync loop on Linux 6.18, which counts more runnable threads than need a CPU.
    let mut synced = Interval { runnable: Some(1.0), ..interval(0.4, 4.4, 35.2) };
    let delay = |interval: &Interval| run_queue_delay(interval);
    assert!((delay(&synced) - 5.2).abs() < 1e-9);
    synced.pressure.insert("cpu".to_owned(), 0.158);
    assert!((delay(&synced) - 0.158 * 4.8).abs() < 1e-9);
    synced.pressure.insert("io".to_owned(), 0.559);
    synced.times = CpuTimes { idle: 30.4, system: 9.2, user: 0.4, ..CpuTimes::default() };
    synced.runnable = Some(1.4);
    assert_eq!(by(&synced), BoundBy::Waiting);
    // Eight threads on four CPUs all the time; then the kernel's own count.
    let mut full = Interval { runnable: Some(8.0), ..interval(39.5, 0.5, 0.0) };
    full.pressure.insert("cpu".to_owned(), 1.0);
    assert!((delay(&full) - 40.0).abs() < 1e-9);
    full.run_queue_delay = Some(7.0);
    assert_eq!(delay(&full), 7.0);
    // Threads on all CPUs, each next to a real-time thread that runs 30 % of the time: samples find half of the waiting threads.
    let mut urgent = Interval { runnable: Some(4.6), ..interval(39.9, 0.1, 0.0) };
    urgent.pressure.insert("cpu".to_owned(), 0.31);
    assert!((delay(&urgent) - 12.4).abs() < 1e-9);
    let of = |pid, real_time, cpu| Process { pid, real_time, cpu, threads: 1, ..Process::default() };
    urgent.processes = vec![of(1, false, 13.9), of(2, false, 13.9), of(3, true, 6.1), of(4, true, 6.1)];
    urgent.processes_seconds = Some(10.0);
    assert_eq!(by(&urgent), BoundBy::CpuContention);
}

/// Builds a share of 400 samples.
fn share(share: f64) -> Share {
    Share::of((share * 400.0) as u64, 400, 0)
}

#[test]
fn samples_tell_memory_streams_shared_lines_and_spinning_from_computing() {
    let busy = interval(39.0, 0.5, 0.5);
    let with = |sampled: Sampled| {
        let sampled = Sampled { samples: 400, working_set: Some(2e8), ..sampled };
        by(&Interval { sampled: Some(sampled), ..busy.clone() })
    };
    assert_eq!(with(Sampled { far: share(0.9), ..Sampled::default() }), BoundBy::MemoryLatency);
    assert_eq!(
        with(Sampled { far: share(0.9), sequential: share(0.8), ..Sampled::default() }),
        BoundBy::MemoryBandwidth
    );
    assert_eq!(with(Sampled { shared: share(0.8), ..Sampled::default() }), BoundBy::OwnThreads);
    assert_eq!(with(Sampled { spinning: share(0.8), ..Sampled::default() }), BoundBy::OwnThreads);
    assert_eq!(with(Sampled { far: share(0.1), ..Sampled::default() }), BoundBy::Cpu);
    // Too few decoded samples; then samples of CPUs that are mostly idle.
    assert_eq!(with(Sampled { far: share(0.9), undecoded: 390, ..Sampled::default() }), BoundBy::Cpu);
    let few = Sampled { samples: 400, far: share(0.9), working_set: Some(2e8), ..Sampled::default() };
    assert_eq!(by(&Interval { sampled: Some(few.clone()), ..interval(2.0, 0.5, 37.5) }), BoundBy::Idle);
    // Memory controllers count exactly: memory is saturated, regardless of the access order.
    let traffic = Traffic { bytes_per_second: 28e9, source: "uncore_imc".to_owned(), ..Traffic::default() };
    let counted = Interval { sampled: Some(few), traffic: Some(traffic), ..busy.clone() };
    assert_eq!(by(&counted), BoundBy::MemoryBandwidth);
    // The share of stalled issue slots is exact as well.
    let far = Sampled { samples: 400, far: share(0.9), working_set: Some(2e8), ..Sampled::default() };
    let with_slots = |backend: f64| {
        let cores = Cores { top_down: [("backend-bound".to_owned(), backend)].into(), ..Cores::default() };
        by(&Interval { sampled: Some(far.clone()), cores: Some(cores), ..busy.clone() })
    };
    assert_eq!((with_slots(0.8), with_slots(0.1)), (BoundBy::MemoryLatency, BoundBy::Cpu));
}
