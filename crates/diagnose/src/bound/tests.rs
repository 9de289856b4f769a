//! Tests each cause with a record for which it is the answer, and with a record that lacks the necessary results.

use proptest::prelude::*;
use record::Label;
use record::detail;
use record::{Labels, Record};

use super::*;
use crate::samples::measured;

/// A command that runs for one second on 8 CPUs: seconds in user mode, in the kernel, runnable, and off-CPU.
fn command(times: [f64; 4]) -> Record {
    let mut record = Record::new("0.1.0", String::new(), Vec::new());
    let place = || Labels::new().with_label(Label::Workload, "command");
    let mut time = measured("workload.time", place(), 1.0);
    time.detail.set(detail::CPU_COUNT, 8u32);
    record.measurements.push(time);
    for (state, seconds) in ["user", "system", "runnable", "off-cpu"].iter().zip(times) {
        record.measurements.push(measured(
            "workload.cpu_time",
            place().with_label(Label::State, *state),
            seconds,
        ));
    }
    record
}

fn with_thread(mut record: Record, name: &str, seconds: f64) -> Record {
    let place = Labels::new()
        .with_label(Label::Workload, "command")
        .with_label(Label::State, "on-cpu")
        .with_label(Label::Thread, name);
    record.measurements.push(measured("workload.cpu_time", place, seconds));
    record
}

fn with_count(mut record: Record, event: &str, count: f64) -> Record {
    let place = Labels::new().with_label(Label::Workload, "command").with_label(Label::Event, event);
    record.measurements.push(measured("counter.count", place, count));
    record
}

fn with_share(mut record: Record, category: &str, share: f64) -> Record {
    let place = Labels::new().with_label(Label::Workload, "command").with_label(Label::Category, category);
    record.measurements.push(measured("counter.share", place, share));
    record
}

fn with_detail(mut record: Record, key: &str, json: &str) -> Record {
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
    record.measurements[0].detail.set_named(key, value);
    record
}

fn bound(record: &Record) -> Option<Bound> {
    super::bound(&RecordIndex::new(record))
}

/// Checks the limiting cause in a record; the verdict's sentences must have these codes, and their placeholders
/// these values.
#[track_caller]
fn is_bound(record: &Record, by: BoundBy, codes: &[&str], figures: &[(&str, &str)]) -> Bound {
    let bound = bound(record).expect("there is a command");
    assert_eq!(bound.by, by, "{}", bound.says);
    let said: Vec<&str> = bound.says.sentences().iter().filter_map(Text::code).collect();
    assert_eq!(said, codes, "{}", bound.says);
    for (name, figure) in figures {
        assert_eq!(
            bound.says.value(name).map(ToString::to_string).as_deref(),
            Some(*figure),
            "{}",
            bound.says
        );
    }
    assert!(!bound.evidence.is_empty() && !bound.advice.is_empty());
    bound
}

const UNCOUNTED: &str = "bound-cpu-uncounted";

#[test]
fn one_busy_thread_on_a_machine_of_eight_is_reported_by_its_name() {
    let record = with_thread(command([0.98, 0.01, 0.0, 0.01]), "bc 1234", 0.98);
    let figures = [("name", "bc"), ("cpus", "8"), ("idle", "the other 7 CPUs sat idle")];
    let bound = is_bound(&record, BoundBy::OneThread, &["bound-one-thread"], &figures);
    insta::assert_snapshot!(bound.says, @"One thread (bc) did the work, on one of 8 CPUs; the other 7 CPUs sat idle.");
    let mut alone = record;
    alone.measurements[0].detail.set(detail::CPU_COUNT, 1u32);
    is_bound(&alone, BoundBy::Cpu, &["bound-cpu-one", UNCOUNTED], &[]);
}

#[test]
fn one_thread_that_waited_for_a_cpu_is_not_reported_that_more_of_them_do_not_help() {
    let waited = |around: &str| {
        with_detail(
            with_thread(command([0.88, 0.0, 0.12, 0.0]), "bc 1234", 0.88),
            "around",
            &format!(r#"{{"busy_seconds": {around}, "seconds": 1.0}}"#),
        )
    };
    // Other processes use two of eight CPUs.
    let figures = [("name", "bc"), ("idle", "5.12 CPUs sat idle and other processes used the rest")];
    let bound = is_bound(
        &waited("2.88"),
        BoundBy::OneThread,
        &["bound-one-thread", "bound-besides", "bound-cpu-contention"],
        &figures,
    );
    assert_eq!(bound.advice[0].code(), Some("bound-try-free-core"));
    // Other processes use all CPUs: the command mostly computed, so the wait is mentioned second.
    let besides = ["bound-cpu-beside-others", UNCOUNTED, "bound-besides", "bound-cpu-contention"];
    is_bound(&waited("7.95"), BoundBy::Cpu, &besides, &[("used", "0.88"), ("cpus", "8")]);
    let long = with_thread(command([0.6, 0.0, 0.4, 0.0]), "bc 1234", 0.6);
    let long = with_detail(long, "around", r#"{"busy_seconds": 7.95, "seconds": 1.0}"#);
    let bound = is_bound(&long, BoundBy::CpuContention, &["bound-cpu-contention"], &[]);
    assert_eq!(bound.advice[0].code(), Some("bound-try-own-cpus"), "pinning does not help: {bound:?}");
}

#[test]
fn what_others_took_does_not_hide_what_the_command_did_in_the_rest() {
    // The command lost about 20 % of its time to other processes: too little to come first, but enough for a second sentence.
    let record = with_thread(command([0.26, 0.54, 0.2, 0.0]), "cat 1234", 0.8);
    let record = with_detail(record, "around", r#"{"busy_seconds": 7.95, "seconds": 1.0}"#);
    let second = ["bound-kernel", "bound-besides", "bound-cpu-contention"];
    is_bound(&record, BoundBy::Kernel, &second, &[]);
}

#[test]
fn who_computes_beside_others_is_reported_what_they_used() {
    let beside = |busy: &str| {
        let times = format!(r#"{{"busy_seconds": {busy}, "seconds": 1.0}}"#);
        with_detail(with_thread(command([0.97, 0.0, 0.02, 0.01]), "bc 1234", 0.97), "around", &times)
    };
    let figures = [("used", "0.97"), ("cpus", "8"), ("others", "6.98")];
    let bound = is_bound(&beside("7.95"), BoundBy::Cpu, &["bound-cpu-beside-others", UNCOUNTED], &figures);
    insta::assert_snapshot!(bound.says, @"0.97 of 8 CPUs busy; other processes \
    use 6.98. Without hardware counters, computing cannot be distinguished from stalls and spinning; stat --probe distinguishes them.");
    let alone =
        with_detail(command([7.9, 0.0, 0.02, 0.01]), "around", r#"{"busy_seconds": 7.95, "seconds": 1.0}"#);
    is_bound(&alone, BoundBy::Cpu, &["bound-cpu-busy", UNCOUNTED], &[("cpus", "8")]);
}

#[test]
fn many_short_processes_are_not_called_a_thread() {
    let record = with_thread(command([0.6, 0.35, 0.0, 0.05]), "make 7", 0.1);
    let sampled = |threads: u32, looks: u32, runs: u64| {
        let looks = format!(r#"{{"all": {looks}, "idle": 0, "active": {looks}, "most_active": 1}}"#);
        let threads = format!(r#"{{"most": 2, "seen": {threads}, "seen_seconds": 0.1}}"#);
        let mut record = with_detail(with_detail(record.clone(), "looks", &looks), "threads", &threads);
        record.measurements[0].summary.n = runs;
        record
    };
    let codes = ["bound-short-processes", "bound-besides", "bound-kernel"];
    for short in [sampled(9, 10, 1), sampled(9, 100, 10)] {
        let bound = is_bound(&short, BoundBy::OneThread, &codes, &[]);
        assert_eq!(bound.advice[0].code(), Some("bound-try-fewer-processes"));
    }
    // One hardly sampled process, directly or under a shell; and a record without this information.
    let codes = ["bound-hardly-sampled", "bound-besides", "bound-kernel"];
    for single in [sampled(1, 1, 1), sampled(1, 30, 1), sampled(2, 5, 1), sampled(9, 2, 1), record] {
        is_bound(&single, BoundBy::OneThread, &codes, &[("used", "0.95")]);
    }
}

#[test]
fn waiting_is_reported_with_what_for() {
    let idle = command([0.05, 0.01, 0.0, 0.94]);
    is_bound(&idle, BoundBy::Waiting, &["bound-waiting"], &[("share", "94.0 %")]);
    for (kind, code) in
        [("disk", "bound-waiting-disk"), ("lock", "bound-waiting-lock"), ("sleep", "bound-waiting-sleep")]
    {
        let record = with_detail(idle.clone(), "waiting", &format!("{{\"{kind}\": 15, \"unknown\": 3}}"));
        let bound = is_bound(&record, BoundBy::Waiting, &[code], &[]);
        let kinds = bound.evidence.iter().find_map(|evidence| evidence.says.value("kinds")).unwrap();
        assert!(kinds.to_string().starts_with(kind), "{kinds}");
    }
}

#[test]
fn no_cpu_to_run_on_is_reported_with_who_had_it() {
    let record = command([0.4, 0.0, 0.6, 0.0]);
    let bound = is_bound(&record, BoundBy::CpuContention, &["bound-cpu-contention"], &[]);
    insta::assert_snapshot!(bound.says, @"Waited in the run queue for 600 ms, 60.0 % of its threads' runnable time: other processes, or its own threads, used the CPU.");
    let mut own = command([7.0, 0.9, 9.0, 0.0]);
    for thread in 0..16 {
        own = with_thread(own, &format!("worker {thread}"), 0.5);
    }
    let figures = [("used", "7.90"), ("cpus", "8 CPUs")];
    is_bound(&own, BoundBy::TooFewCpus, &["bound-too-few-cpus"], &figures);
    // Four jobs on one CPU, and another program on the other CPU.
    let mut jobs =
        with_detail(command([0.95, 0.048, 3.0, 0.0]), "around", r#"{"busy_seconds": 2.0, "seconds": 1.0}"#);
    jobs.measurements[0].detail.set(detail::CPU_COUNT, 1u32);
    let bound = is_bound(&jobs, BoundBy::TooFewCpus, &["bound-too-few-cpus"], &[("cpus", "1 CPU")]);
    assert_eq!(bound.advice[0].code(), Some("bound-try-more-cpus"));
    // Eight threads on two CPUs, of which other processes used nearly all.
    let mut many =
        with_detail(command([0.3, 0.0, 7.6, 0.0]), "around", r#"{"busy_seconds": 2.0, "seconds": 1.0}"#);
    many.measurements[0].detail.set(detail::CPU_COUNT, 2u32);
    is_bound(&many, BoundBy::CpuContention, &["bound-cpu-contention"], &[]);
}

#[test]
fn a_short_want_of_a_cpu_is_not_what_a_sleeper_is_bound_by() {
    is_bound(
        &command([0.003, 0.0, 0.016, 0.98]),
        BoundBy::Waiting,
        &["bound-waiting"],
        &[("share", "98.0 %")],
    );
}

#[test]
fn the_kernel_the_quota_and_the_hypervisor_are_reported_apart() {
    let record = with_count(command([0.2, 5.0, 0.0, 0.0]), "page-faults", 3e6);
    let bound =
        is_bound(&record, BoundBy::Kernel, &["bound-kernel", "bound-kernel-faults"], &[("share", "96.2 %")]);
    insta::assert_snapshot!(bound.says, @"96.2 % of CPU time was in the kernel. It caused 3,000,000 page faults per second.");
    let around =
        "{\"seconds\": 1.0, \"throttled_seconds\": 3.0, \"stolen_seconds\": 0.0, \"busy_seconds\": 1.0}";
    // The kernel counts threads throttled by a quota as runnable.
    is_bound(
        &with_detail(command([1.0, 0.0, 3.1, 0.0]), "around", around),
        BoundBy::Quota,
        &["bound-quota", "bound-besides", "bound-hardly-sampled"],
        &[],
    );
    let around = "{\"seconds\": 1.0, \"stolen_seconds\": 6.0, \"busy_seconds\": 2.0}";
    let of = |times| with_detail(command(times), "around", around);
    is_bound(&of([2.0, 0.0, 0.0, 0.0]), BoundBy::Stolen, &["bound-stolen"], &[("share", "75.0 %")]);
    is_bound(&of([0.02, 0.0, 0.0, 0.98]), BoundBy::Waiting, &["bound-waiting"], &[]);
}

#[test]
fn uneven_threads_are_reported() {
    let of = |name: &str| {
        let first = with_thread(command([2.4, 0.0, 0.0, 0.0]), "worker 1", 1.0);
        (2..9).fold(first, |record, thread| with_thread(record, &format!("{name} {thread}"), 0.2))
    };
    is_bound(&of("worker"), BoundBy::Imbalance, &["bound-imbalance"], &[("threads", "8")]);
    // In a pipeline, the slowest program limits the others.
    let slowest = [("name", "worker"), ("threads", "8")];
    is_bound(&of("wc"), BoundBy::OneThread, &["bound-slowest-program"], &slowest);
}

const CEILINGS: &str = "{\"bandwidth_one\": 1e10, \"bandwidth_all\": 4e10, \"latency_ns\": 100.0, \
                        \"ipc\": {\"nop\": 6.0, \"flops\": 3.1, \"primes\": 1.5, \"memory-bound\": 0.02}}";

#[test]
fn counters_tell_what_the_core_waits_for() {
    let busy = || with_detail(command([8.0, 0.0, 0.0, 0.0]), "ceilings", CEILINGS);
    // 30 GB/s of 40 GB/s.
    let stream = with_count(busy(), "LLC-load-misses", 3e10 / 64.0);
    let figures = [("traffic", "30.0 GB/s"), ("share", "75.0 %")];
    is_bound(&stream, BoundBy::MemoryBandwidth, &["bound-bandwidth-all"], &figures);
    // 5 s of 8 s in cache misses, at low bandwidth.
    let chase = with_count(busy(), "LLC-load-misses", 5e7);
    let bound = is_bound(&chase, BoundBy::MemoryLatency, &["bound-memory-latency"], &[("share", "62.5 %")]);
    insta::assert_snapshot!(bound.says, @"Up to 62.5 % of CPU time may be memory stalls: 50,000,000 loads missed the last-level cache.");
    let fetch = with_share(busy(), "frontend-bound", 0.5);
    is_bound(&fetch, BoundBy::Frontend, &["bound-front-end"], &[("share", "50.0 %")]);
    let random = with_count(with_count(busy(), "cycles", 2.4e10), "branch-misses", 4e8);
    is_bound(&random, BoundBy::Branches, &["bound-branches"], &[("share", "28.3 %")]);
    let mut compute = busy();
    let place = Labels::new().with_label(Label::Workload, "command").with_label(Label::Source, "pmu");
    compute.measurements.push(measured("core.ipc", place, 1.4));
    let figures = [
        ("used", "8.00"),
        ("cpus", "8"),
        ("near", "primes"),
        ("near_ipc", "1.50"),
        ("best", "flops"),
        ("best_ipc", "3.10"),
    ];
    let bound = is_bound(&compute, BoundBy::Cpu, &["bound-cpu-busy", "bound-cpu-ipc-beside"], &figures);
    insta::assert_snapshot!(bound.says, @"8.00 of 8 CPUs busy. It runs at 1.40 instructions per cycle; on this machine, primes reaches 1.50, and the highest is 3.10 (flops).");
}

#[test]
fn an_instant_is_not_diagnosed() {
    let mut record = command([0.0005, 0.0005, 0.0, 0.0]);
    record.measurements[0] = {
        let place = Labels::new().with_label(Label::Workload, "command");
        measured("workload.time", place, 0.001)
    };
    is_bound(&record, BoundBy::Unknown, &[TOO_SHORT.code], &[("wall", "1.00 ms")]);
    // Killed immediately on a busy machine: it waited for a CPU to start and for its exit to be noticed, not for a disk.
    let place = || Labels::new().with_label(Label::Workload, "command");
    for (wall, looks, too_short) in [(0.014, "0", true), (0.06, "0", true), (0.06, "2", false)] {
        let mut record = command([0.0005, 0.0005, 0.0, wall - 0.001]);
        record.measurements[0] = measured("workload.time", place(), wall);
        let record = with_detail(record, "looks", &format!("{{\"all\": {looks}}}"));
        let said = bound(&record).unwrap();
        assert_eq!(said.says.is(&TOO_SHORT), too_short, "{wall} s: {}", said.says);
    }
    assert_eq!(bound(&Record::new("0", String::new(), Vec::new())), None);
    // A step of a scaling run is not a command of stat.
    let mut step = command([1.0, 0.0, 0.0, 0.0]);
    step.measurements[0].labels =
        Labels::new().with_label(Label::Workload, "command").with_label(Label::Threads, 2u32);
    assert_eq!(bound(&step), None);
}

proptest! {
    #[test]
    fn whatever_was_measured_there_is_an_answer_of_few_lines(
        wall in proptest::num::f64::ANY,
        times in proptest::array::uniform4(proptest::num::f64::ANY),
        thread in proptest::num::f64::ANY,
        count in proptest::num::f64::ANY,
        around in proptest::num::f64::NORMAL,
    ) {
        let mut record = with_thread(command(times), "x 1", thread);
        record.measurements[0].summary.median = wall;
        for event in ["LLC-load-misses", "branch-misses", "cycles", "page-faults", "context-switches"] {
            record = with_count(record, event, count);
        }
        record = with_share(with_share(record, "frontend-bound", count), "bad-speculation", thread);
        record = with_detail(record, "ceilings", CEILINGS);
        let text = format!("{{\"seconds\": {around:e}, \"stolen_seconds\": {around:e}, \"busy_seconds\": {around:e}, \
            \"throttled_seconds\": {around:e}}}");
        record = with_detail(record, "around", &text);
        if let Some(bound) = bound(&record) {
            prop_assert!(!bound.says.is_empty() && bound.says.to_string().len() < 1000);
        }
    }
}

#[test]
fn what_threads_too_short_for_looks_did_besides_is_not_called_waiting_for_a_disk() {
    let reported = |seen: f64, looks: u32| {
        let record = command([0.2, 0.1, 0.0, 0.7]);
        let record = with_detail(record, "looks", &format!("{{\"all\": {looks}}}"));
        let record = with_detail(record, "threads", &format!("{{\"most\": 2, \"seen_seconds\": {seen}}}"));
        bound(&record).unwrap().says
    };
    assert_eq!(reported(0.1, 9).code(), Some("bound-waiting-unsampled"));
    for (seen, looks) in [(0.3, 9), (0.1, 20), (0.25, 9)] {
        assert_eq!(reported(seen, looks).code(), Some("bound-waiting"));
    }
}

/// Adds lock waits of one process's threads within a second, and the number of active threads, summed over 20 samples.
fn with_locks(record: Record, [blocked, mutex, active]: [f64; 3], at_work: u32) -> Record {
    let looks = format!(r#"{{"all": 20, "idle": 0, "active": {at_work}, "most_active": 4}}"#);
    let locks = format!(r#"{{"blocked": {blocked}, "mutex": {mutex}, "active": {active}}}"#);
    let waits = format!(r#"{{"lock": {{"threads": 60, "again": 40, "locks": {locks}}}}}"#);
    with_detail(with_detail(with_detail(record, "cpus", "2"), "looks", &looks), "waits", &waits)
}

#[test]
fn threads_on_one_lock_are_not_told_to_read_more_at_a_time_or_to_take_more_cpus() {
    // Two of four threads run while the others wait for the lock; most CPU time is in the kernel.
    let convoy = |waits: [f64; 3], system: f64| {
        let record = with_count(command([2.0 - system, system, 1.8, 0.0]), "context-switches", 22_259.0);
        with_locks(record, waits, 40)
    };
    let figures = [("share", "50.0 %"), ("switches", "22,259")];
    let convoyed = is_bound(&convoy([2.0, 1.1, 2.0], 1.2), BoundBy::Lock, &["bound-lock"], &figures);
    insta::assert_snapshot!(convoyed.says, @"Its threads spent 50.0 % of their time waiting for locks or for each other (futex): 22,259 context switches per second.");
    assert_eq!(convoyed.advice[0].code(), Some("bound-try-less-locking"));
    // All CPUs compute, as in a pool with enough work: the waits must be for a mutex.
    is_bound(&convoy([2.0, 1.9, 2.0], 0.1), BoundBy::Lock, &["bound-lock"], &figures);
    for waits in [[2.0, 0.9, 2.0], [6.0, 0.0, 2.0], [0.2, 0.2, 2.0], [6.0, 6.0, 0.2]] {
        for system in [0.1, 1.2] {
            assert_ne!(bound(&convoy(waits, system)).unwrap().by, BoundBy::Lock, "{waits:?}");
        }
    }
    // With idle CPUs, threads that wait for each other are as limited as threads that wait for a lock.
    let idle = with_locks(command([0.6, 0.1, 0.1, 0.3]), [1.4, 0.0, 0.8], 16);
    assert_eq!(bound(&idle).unwrap().says.code(), Some("bound-lock"));
}

#[test]
fn threads_of_a_pool_wait_for_work_and_not_for_a_lock() {
    // Eight workers, 0.6 CPUs of 2 busy; a thread receives requests in between.
    let pool = |reason: &str, mutex: f64, idle: u32, switches: f64| {
        let active = if idle > 0 { 12 } else { 34 };
        let record = with_count(command([0.6, 0.0, 0.02, 0.38]), "context-switches", switches);
        let record = with_detail(record, "waiting", &format!(r#"{{"{reason}": 8}}"#));
        let record = with_locks(record, [7.4, mutex, 0.6], 12);
        let record = with_detail(
            record,
            "looks",
            &format!(r#"{{"all": 20, "idle": {idle}, "active": {active}, "most_active": 2}}"#),
        );
        let locks = format!(
            r#"{{"threads": 150, "again": 60, "locks": {{"blocked": 7.4, "mutex": {mutex}, "active": 0.6}}}}"#
        );
        with_detail(
            record,
            "waits",
            &format!(r#"{{"lock": {locks}, "{reason}": {{"threads": 9, "again": 9}}}}"#),
        )
    };
    for reason in ["network", "events", "pipe", "io_uring"] {
        assert_eq!(bound(&pool(reason, 0.0, 8, 6000.0)).unwrap().by, BoundBy::Waiting, "{reason}");
        // On a large machine, some thread is always at work.
        assert_ne!(bound(&pool(reason, 0.0, 0, 6000.0)).unwrap().by, BoundBy::Lock, "{reason}");
        assert_eq!(bound(&pool(reason, 7.4, 8, 6000.0)).unwrap().by, BoundBy::Lock, "{reason}");
    }
    // Threads that sleep for milliseconds at a time do not wait for each other; those that wake each other do.
    assert_eq!(bound(&pool("sleep", 0.0, 8, 70.0)).unwrap().by, BoundBy::Waiting);
    assert_eq!(bound(&pool("sleep", 0.0, 8, 20_000.0)).unwrap().by, BoundBy::Lock);
}

#[test]
fn processes_with_unequal_numbers_of_requests_are_not_told_to_split_their_work() {
    let served = |again: u32| {
        let mut record = with_detail(command([1.5, 0.0, 0.2, 0.0]), "cpus", "2");
        for (worker, on) in [0.8, 0.4, 0.2, 0.1].into_iter().enumerate() {
            record = with_thread(record, &format!("worker {worker}"), on);
        }
        let record =
            with_detail(record, "looks", r#"{"all": 20, "idle": 0, "active": 34, "most_active": 4}"#);
        let waits = format!(r#"{{"network": {{"threads": 50, "again": {again}}}}}"#);
        bound(&with_detail(record, "waits", &waits)).unwrap().by
    };
    assert_ne!(served(40), BoundBy::Imbalance);
    assert_eq!(served(0), BoundBy::Imbalance);
}

#[test]
fn beside_other_programs_a_mutex_is_a_lock_and_a_pool_without_work_is_none() {
    // The program's threads ran for 0.32 s and were runnable for 1.75 s.
    let beside = |waits: [f64; 3]| {
        let record = with_count(command([0.32, 0.0, 1.75, 0.0]), "context-switches", 330.0);
        with_detail(with_locks(record, waits, 42), "around", r#"{"busy_seconds": 2.0, "seconds": 1.0}"#)
    };
    // The longest wait comes first, the other processes second.
    let codes = ["bound-lock", "bound-besides", "bound-cpu-contention"];
    is_bound(&beside([2.4, 2.4, 2.07]), BoundBy::Lock, &codes, &[("share", "53.7 %")]);
    // Two of eight threads have work; the others occasionally wait for work.
    for idle in [[6.0, 0.1, 2.07], [0.0, 0.0, 2.07]] {
        is_bound(&beside(idle), BoundBy::CpuContention, &["bound-cpu-contention"], &[("share", "84.5 %")]);
    }
}

#[test]
fn threads_in_a_lock_for_ever_are_stuck_whatever_another_sleeps_in() {
    let stuck = |stuck: u32, cpu: f64, active: u32| {
        let looks = format!(r#"{{"all": 20, "idle": {}, "active": {active}}}"#, 20 - active);
        let waits = format!(r#"{{"lock": {{"threads": 100, "locks": {{"stuck": {stuck}}}}}}}"#);
        let record = with_detail(command([cpu, 0.0, 0.0, 1.0 - cpu]), "waiting", r#"{"sleep": 20}"#);
        with_detail(with_detail(record, "looks", &looks), "waits", &waits)
    };
    let dead = is_bound(&stuck(5, 0.0, 0), BoundBy::Lock, &["bound-stuck"], &[("stuck", "5")]);
    insta::assert_snapshot!(dead.says, @"No thread ran; 5 are blocked on a lock.");
    is_bound(&stuck(5, 0.002, 0), BoundBy::Lock, &["bound-stuck-beside"], &[("share", "0.2 %")]);
    // Pools: one whose threads wait for work, one that works, and one that may work.
    for record in [stuck(0, 0.0, 0), stuck(5, 0.02, 0), stuck(5, 0.002, 1)] {
        assert_eq!(bound(&record).unwrap().says.code(), Some("bound-waiting-sleep"));
    }
}

#[test]
fn threads_that_queue_for_one_of_two_cpus_do_not_need_more_cpus() {
    // Twelve threads of Java and one monitor; they wake each other on the same CPU.
    let record = with_detail(command([1.03, 0.0, 1.29, 0.0]), "cpus", "2");
    let record = with_detail(record, "around", r#"{"busy_seconds": 1.04, "seconds": 1.0}"#);
    let mut queued = record.clone();
    for thread in 0..12 {
        queued = with_thread(queued, &format!("worker {thread}"), 0.08);
    }
    let said = bound(&queued).unwrap();
    assert_eq!((said.by, said.says.code()), (BoundBy::TooFewCpus, Some("bound-one-cpu-queue")));
    assert_eq!(said.advice[0].code(), Some("bound-try-spread"));
    // If samples show that they wait for a lock, the lock is the cause.
    assert_eq!(bound(&with_locks(queued, [14.1, 0.0, 2.3], 46)).unwrap().by, BoundBy::Lock);
}

#[test]
fn threads_that_start_threads_and_wait_for_them_are_bound_by_the_kernel() {
    // One thread starts another and waits until it ends, again and again.
    let record = with_locks(command([0.06, 0.9, 0.04, 0.0]), [0.9, 0.0, 0.9], 20);
    let by = |kind: &str| {
        let share = r#"{"count": 90, "share": 0.9, "low": 0.8, "high": 0.95}"#;
        let samples = format!(
            r#"{{"samples": 7, "undecoded": 0, "in_kernel": 100, "kernel": [{{"kind": "{kind}", "share": {share}}}]}}"#
        );
        bound(&with_detail(record.clone(), "sampled", &samples)).unwrap().by
    };
    assert_eq!([by("process-creation"), by("futex")], [BoundBy::Kernel, BoundBy::Lock]);
}

#[test]
fn calls_that_wait_for_events_have_their_own_sentence_if_they_do_not_wait() {
    for call in ["poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"] {
        assert_eq!(sentences(WORDS, "kernel", &format!("syscall-{call}")).len(), 2, "{call}");
    }
}

#[test]
fn threads_that_take_a_locks_line_from_each_other_are_not_told_to_want_more_cpus() {
    // Four threads lock and unlock one mutex: user, system, runnable and blocked time within one second on two CPUs.
    let record = with_detail(command([1.05, 0.88, 1.8, 0.0]), "cpus", "2");
    let record = with_detail(record, "waits", r#"{"lock": {"threads": 258, "again": 81}}"#);
    let record = with_detail(
        record,
        "sampled",
        r#"{"samples": 2377, "undecoded": 1, "shared": {"count": 1625, "share": 0.684, "low": 0.63, "high": 0.73}}"#,
    );
    let said = bound(&record).unwrap();
    assert_eq!((said.by, said.says.code()), (BoundBy::OwnThreads, Some("bound-sampled-lines")));
    let codes: Vec<_> = said.says.sentences().iter().filter_map(|text| text.code()).collect();
    assert!(!codes.contains(&"bound-too-few-cpus") && !codes.contains(&"bound-kernel"), "{codes:?}");
    // With other programs running, two threads ran simultaneously for less than half of their time.
    let record = with_detail(command([1.27, 0.0, 0.38, 0.0]), "cpus", "2");
    let record = with_detail(
        record,
        "sampled",
        r#"{"samples": 78, "undecoded": 0, "shared": {"count": 28, "share": 0.36, "low": 0.31, "high": 0.41}}"#,
    );
    assert_eq!(bound(&record).unwrap().says.code(), Some("bound-sampled-lines"));
    // Threads that run one at a time do not take cache lines from each other.
    let record = with_detail(command([0.99, 0.01, 0.0, 0.0]), "cpus", "2");
    let record = with_detail(
        record,
        "sampled",
        r#"{"samples": 400, "undecoded": 0, "shared": {"count": 400, "share": 1.0, "low": 0.95, "high": 1.00}}"#,
    );
    assert_ne!(bound(&record).unwrap().by, BoundBy::OwnThreads);
}

#[test]
fn a_ping_pong_names_its_switches_and_its_waiting_comes_after_its_work() {
    let record = command([0.05, 0.65, 0.0, 0.27]);
    let record = with_detail(with_count(record, "context-switches", 73_364.0), "cpus", "2");
    let record = with_detail(record, "waiting", r#"{"pipe": 7}"#);
    let record =
        with_detail(record, "waits", r#"{"lock": {"threads": 27}, "pipe": {"threads": 28, "again": 27}}"#);
    let codes = ["bound-kernel", "bound-kernel-switches-between", "bound-besides"];
    let bound = bound(&record).unwrap();
    let said: Vec<_> = bound.says.sentences().iter().filter_map(Text::code).collect();
    assert!(bound.by == BoundBy::Kernel && said.starts_with(&codes), "{}", bound.says);
    insta::assert_snapshot!(bound.says, @"92.9 % of CPU time was in the kernel. It made 73,364 context switches per second, waiting for pipes. In addition: Blocked 27.0 % of the time, waiting for another process through a pipe.");
}

#[test]
fn one_thread_keeps_its_verdict_beside_other_programs() {
    let record = with_thread(command([0.93, 0.0, 0.05, 0.02]), "gzip 9", 0.93);
    let record = with_detail(record, "cpus", "2");
    let record = with_detail(record, "around", r#"{"busy_seconds": 1.7, "seconds": 1.0}"#);
    let looks = |active: u32, most: u32| {
        let looks = format!(r#"{{"all": 20, "idle": 1, "active": {active}, "most_active": {most}}}"#);
        with_detail(record.clone(), "looks", &looks)
    };
    is_bound(&looks(19, 1), BoundBy::OneThread, &["bound-one-thread"], &[("name", "gzip")]);
    assert_eq!(bound(&looks(30, 2)).unwrap().by, BoundBy::Cpu, "two of its threads were runnable");
}

#[test]
fn what_it_is_bound_by_itself_stands_beside_others_on_its_cpus() {
    // The command was on a CPU for 30 % of its runnable time, nearly all of it in the kernel.
    let record = with_count(command([0.02, 0.28, 0.7, 0.0]), "page-faults", 150_000.0);
    let codes = ["bound-cpu-contention", "bound-besides", "bound-kernel", "bound-kernel-faults"];
    is_bound(&record, BoundBy::CpuContention, &codes, &[]);
}

#[test]
fn whoever_has_the_cpus_the_commands_own_cause_is_second_with_its_share() {
    let mostly = |far: u32| {
        let of = |count: u32| {
            let share = f64::from(count) / 200.0;
            format!(r#"{{"count": {count}, "share": {share}, "low": {share}, "high": {share}}}"#)
        };
        format!(r#"{{"samples": 200, "far": {}, "sequential": {}}}"#, of(far), of(0))
    };
    // On 64 CPUs, nearly the whole machine was idle; even so, memory explains more than the single thread.
    for (cpus, far, second) in [
        ("2", 190, "bound-sampled-loads"),
        ("64", 190, "bound-sampled-loads"),
        ("64", 60, "bound-sampled-loads"),
        ("1", 2, "bound-sampled-computes"),
    ] {
        let record = with_thread(command([0.4, 0.0, 0.6, 0.0]), "own 7", 0.4);
        let looks = r#"{"all": 20, "idle": 0, "active": 20, "most_active": 1}"#;
        let record = with_detail(with_detail(record, "looks", looks), "sampled", &mostly(far));
        let codes = ["bound-cpu-contention", "bound-besides", second];
        let bound = is_bound(&with_detail(record, "cpus", cpus), BoundBy::CpuContention, &codes, &[]);
        let share = bound.says.sentences().iter().filter_map(|text| text.value("share")).next_back();
        let percent = far / 2;
        assert!(share.unwrap().to_string().starts_with(&format!("{percent} %")), "{}", bound.says);
    }
    // Two outside limits do not hide the command's own cause.
    let record = with_thread(command([0.4, 0.0, 0.6, 0.0]), "own 7", 0.4);
    let record = with_detail(with_detail(record, "cpus", "1"), "sampled", &mostly(190));
    let around = r#"{"seconds": 1.0, "busy_seconds": 0.7, "stolen_seconds": 0.3}"#;
    let codes =
        ["bound-cpu-contention", "bound-besides", "bound-stolen", "bound-besides", "bound-sampled-loads"];
    is_bound(&with_detail(record, "around", around), BoundBy::CpuContention, &codes, &[]);
}

#[test]
fn what_an_experiment_shows_goes_before_what_it_looked_like() {
    let probed = |probes: &str| {
        let record = with_thread(command([0.99, 0.0, 0.0, 0.01]), "chase 1", 0.99);
        let looks = r#"{"all": 20, "idle": 0, "active": 40, "most_active": 2}"#;
        with_detail(with_detail(record, "looks", looks), "probes", probes)
    };
    let probe = |kind: &str, ratio: f64, low: f64, high: f64| {
        format!(r#"{{"kind": "{kind}", "ratio": {ratio}, "interval": [{low}, {high}], "rounds": 8}}"#)
    };
    let taken = probe("bandwidth", 1.4, 1.3, 1.5);
    let bound = is_bound(
        &probed(&format!("[{taken}]")),
        BoundBy::MemoryBandwidth,
        &["bound-probe-slowed"],
        &[("ratio", "1.40×")],
    );
    insta::assert_snapshot!(bound.says, @"It needs 1.40× the CPU time (1.30× to 1.50×) while another program uses memory bandwidth.");
    let huge = probe("huge-pages", 0.6, 0.55, 0.7);
    let codes = ["bound-probe-slowed", "bound-probe-huge-pages"];
    is_bound(&probed(&format!("[{huge}, {taken}]")), BoundBy::MemoryLatency, &codes, &[]);
    let cache = probe("cache", 1.6, 1.5, 1.7);
    let says = bound_by(&probed(&format!("[{cache}, {taken}]")));
    assert_eq!(says, BoundBy::Cache);
    // Two probes with equal effect mean memory; samples show which resource.
    let (wide, wider) = (probe("cache", 1.17, 1.02, 1.59), probe("bandwidth", 1.15, 1.03, 1.69));
    let both = probed(&format!("[{wider}, {wide}]"));
    is_bound(&both, BoundBy::MemoryBandwidth, &["bound-probe-slowed-alike"], &[("cache", "1.17×")]);
    let samples = r#"{"samples": 300, "undecoded": 2, "far": {"count": 295, "share": 0.99, "low": 0.94, "high": 1.00}, "working_set": 7e7}"#;
    let both = with_detail(both, "sampled", samples);
    let codes = ["bound-sampled-loads", "bound-probe-slowed-alike"];
    is_bound(&both, BoundBy::MemoryLatency, &codes, &[("ratio", "1.15×")]);
    let sampled = with_detail(probed(&format!("[{taken}]")), "sampled", samples);
    is_bound(&sampled, BoundBy::MemoryLatency, &["bound-sampled-loads", "bound-probe-slowed"], &[]);
    let fewer = probe("fewer-cpus-time", 0.4, 0.3, 0.5);
    assert_eq!(bound_by(&probed(&format!("[{fewer}]"))), BoundBy::OwnThreads);
    // An unresolved or small effect gives no verdict.
    let loose = probe("bandwidth", 1.4, 0.9, 2.0);
    let little = probe("bandwidth", 1.02, 1.01, 1.03);
    let none = r#"{"kind": "bandwidth", "ratio": 1.4, "rounds": 2}"#;
    for probes in [loose.as_str(), little.as_str(), none] {
        assert_eq!(bound_by(&probed(&format!("[{probes}]"))), BoundBy::Cpu, "{probes}");
    }
}

fn bound_by(record: &Record) -> BoundBy {
    bound(record).unwrap().by
}

#[test]
fn a_command_that_waits_for_memory_is_told_from_one_that_computes_by_samples() {
    let one = |samples: &str| with_detail(command([0.97, 0.01, 0.0, 0.0]), "sampled", samples);
    let waits = one(
        r#"{"samples": 80, "undecoded": 2, "far": {"count": 73, "share": 0.93, "low": 0.88, "high": 0.98}, "working_set": 2.6e8}"#,
    );
    let said = bound(&waits).unwrap();
    assert_eq!(said.by, BoundBy::MemoryLatency);
    assert!(said.evidence.iter().any(|one| one.says.code() == Some("bound-samples")), "{said:?}");
    let computes = one(
        r#"{"samples": 80, "undecoded": 2, "far": {"count": 2, "share": 0.03, "low": 0.00, "high": 0.08}, "working_set": 2.6e8}"#,
    );
    assert!([BoundBy::Cpu, BoundBy::OneThread].contains(&bound(&computes).unwrap().by));
    // Loads of an unknown level may be the cause, so neither computing nor one thread is the answer.
    for (hidden, is_unknown) in [(72, true), (8, false)] {
        let share = f64::from(hidden) / 78.0;
        let samples = format!(
            r#"{{"samples": 80, "undecoded": 2, "far": {{"count": 0, "share": 0.0, "low": 0.0, "high": {share}}}, "hidden": {{"count": {hidden}, "share": {share}, "low": {share}, "high": 1.0}}}}"#
        );
        let by = bound(&with_thread(one(&samples), "own 7", 0.97)).unwrap().by;
        assert_eq!(by == BoundBy::Unknown, is_unknown, "{hidden}: {by:?}");
    }
}

#[test]
fn every_verdict_has_its_sentence_and_every_place_its_value() {
    let sources = [
        include_str!("core.rs"),
        include_str!("machine/mod.rs"),
        include_str!("machine/rules.rs"),
        include_str!("probes.rs"),
        include_str!("sampled.rs"),
        include_str!("service.rs"),
        include_str!("threads.rs"),
        include_str!("time.rs"),
    ]
    .concat();
    for row in rows(WORDS, "verdicts") {
        assert!(sources.contains(&format!("\"{}\"", row[0])), "nobody says {}", row[0]);
    }
    for said in sources.split("text!(verdict(\"").skip(1) {
        let (key, rest) = said.split_once("\")").unwrap();
        let mut open = 1;
        let is_inside = |c: &char| {
            open += i32::from(*c == '(') - i32::from(*c == ')');
            open > 0
        };
        let values: String = rest.chars().take_while(is_inside).collect();
        let places = verdict(key).words.split('{').skip(1).filter_map(|part| part.split_once('}'));
        for (place, _) in places {
            assert!(
                values.split(|c: char| !c.is_alphanumeric() && c != '_').any(|name| name == place),
                "{key}: {place}"
            );
        }
    }
}
