//! Each cause on a record where it is the answer, and where its figures are missing.

use proptest::prelude::*;
use record::Label;
use record::detail;
use record::{Labels, Record};

use super::*;
use crate::samples::measured;

/// A command of one second on 8 CPUs: seconds in user mode, in the kernel, ready, off CPU.
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

#[track_caller]
fn is_bound(record: &Record, by: &str, words: &[&str]) -> Bound {
    let bound = bound(record).expect("there is a command");
    assert_eq!(bound.by, by, "{}", bound.says);
    for word in words {
        assert!(bound.says.to_string().contains(word), "no {word:?} in: {}", bound.says);
    }
    assert!(!bound.evidence.is_empty() && !bound.advice.is_empty());
    bound
}

#[test]
fn one_busy_thread_on_a_machine_of_eight_is_reported_by_its_name() {
    let record = with_thread(command([0.98, 0.01, 0.0, 0.01]), "bc 1234", 0.98);
    is_bound(&record, "one-thread", &["One thread (bc)", "one CPU of 8", "7.01 CPUs"]);
    let mut alone = record;
    alone.measurements[0].detail.set(detail::CPU_COUNT, 1u32);
    is_bound(&alone, "cpu", &["its one CPU"]);
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
    // Others use two of eight.
    let bound = is_bound(&waited("2.88"), "one-thread", &["One thread (bc)", "5.12 CPUs"]);
    assert!(
        !bound.advice[0].to_string().contains("more cores") && bound.advice[0].to_string().contains("--cpus"),
        "{bound:?}"
    );
    // And all of them: most of its time it computed, and that it waited is told beside.
    is_bound(&waited("7.95"), "cpu", &["0.88 of 8 CPUs busy", "without getting a CPU"]);
    let long = with_thread(command([0.6, 0.0, 0.4, 0.0]), "bc 1234", 0.6);
    let long = with_detail(long, "around", r#"{"busy_seconds": 7.95, "seconds": 1.0}"#);
    let bound = is_bound(&long, "cpu-contention", &["without getting a CPU"]);
    assert!(bound.advice[0].to_string().contains("quiet --cpus"), "binding keeps nobody away: {bound:?}");
}

#[test]
fn who_computes_beside_others_is_reported_what_they_used() {
    let beside = |busy: &str| {
        let times = format!(r#"{{"busy_seconds": {busy}, "seconds": 1.0}}"#);
        with_detail(with_thread(command([0.97, 0.0, 0.02, 0.01]), "bc 1234", 0.97), "around", &times)
    };
    is_bound(&beside("7.95"), "cpu", &["0.97 of 8 CPUs busy, other programs 6.98."]);
    let alone =
        with_detail(command([7.9, 0.0, 0.02, 0.01]), "around", r#"{"busy_seconds": 7.95, "seconds": 1.0}"#);
    let alone = is_bound(&alone, "cpu", &[" of 8 CPUs busy.", "only counters would tell"]);
    assert!(
        !alone.says.to_string().contains("other") && !alone.says.to_string().contains("computes"),
        "{alone:?}"
    );
}

#[test]
fn many_short_processes_are_not_called_a_thread() {
    let record = with_thread(command([0.6, 0.35, 0.0, 0.05]), "make 7", 0.1);
    let bound = is_bound(&record, "one-thread", &["one short process after the other"]);
    assert!(bound.advice[0].to_string().contains("make -j"));
}

#[test]
fn waiting_is_reported_with_what_for() {
    let idle = command([0.05, 0.01, 0.0, 0.94]);
    is_bound(&idle, "waiting", &["94.0 %", "something else than a CPU"]);
    for (kind, words) in [("disk", "for a disk"), ("lock", "for locks"), ("sleep", "in sleeps")] {
        let record = with_detail(idle.clone(), "waiting", &format!("{{\"{kind}\": 15, \"unknown\": 3}}"));
        let bound = is_bound(&record, "waiting", &[words]);
        assert!(bound.evidence.iter().any(|evidence| evidence.says.to_string().contains(kind)));
    }
}

#[test]
fn no_cpu_to_run_on_is_reported_with_who_had_it() {
    let record = command([0.4, 0.0, 0.6, 0.0]);
    is_bound(&record, "cpu-contention", &["without getting a CPU", "other programs"]);
    let mut own = command([7.0, 0.9, 9.0, 0.0]);
    for thread in 0..16 {
        own = with_thread(own, &format!("worker {thread}"), 0.5);
    }
    is_bound(&own, "too-few-cpus", &["7.90 of 8 CPUs busy itself", "more of its threads"]);
    // Four jobs on one CPU, beside a program on another.
    let mut jobs =
        with_detail(command([0.95, 0.048, 3.0, 0.0]), "around", r#"{"busy_seconds": 2.0, "seconds": 1.0}"#);
    jobs.measurements[0].detail.set(detail::CPU_COUNT, 1u32);
    let bound = is_bound(&jobs, "too-few-cpus", &["of 1 CPU busy itself"]);
    assert!(
        bound.advice[0].to_string().contains("more CPUs") && !bound.advice[0].to_string().contains("top"),
        "{bound:?}"
    );
}

#[test]
fn a_short_want_of_a_cpu_is_not_what_a_sleeper_is_bound_by() {
    is_bound(&command([0.003, 0.0, 0.016, 0.98]), "waiting", &["98.0 %"]);
}

#[test]
fn the_kernel_the_quota_and_the_hypervisor_are_reported_apart() {
    let record = with_count(command([0.2, 5.0, 0.0, 0.0]), "page-faults", 3e6);
    is_bound(&record, "kernel", &["96.2 %", "page faults"]);
    let around =
        "{\"seconds\": 1.0, \"throttled_seconds\": 3.0, \"stolen_seconds\": 0.0, \"busy_seconds\": 1.0}";
    // The kernel counts threads that a quota holds as ready.
    is_bound(&with_detail(command([1.0, 0.0, 3.1, 0.0]), "around", around), "quota", &["quota"]);
    let around = "{\"seconds\": 1.0, \"stolen_seconds\": 6.0, \"busy_seconds\": 2.0}";
    is_bound(&with_detail(command([2.0, 0.0, 0.0, 0.0]), "around", around), "stolen", &["75.0 %"]);
}

#[test]
fn uneven_threads_are_reported() {
    let mut record = with_thread(command([2.4, 0.0, 0.0, 0.0]), "big 1", 1.0);
    for thread in 2..9 {
        record = with_thread(record, &format!("small {thread}"), 0.2);
    }
    is_bound(&record, "imbalance", &["busiest of 8"]);
}

const CEILINGS: &str = "{\"bandwidth_one\": 1e10, \"bandwidth_all\": 4e10, \"latency_ns\": 100.0, \
                        \"ipc\": {\"nop\": 6.0, \"primes\": 1.5, \"memory-bound\": 0.02}}";

#[test]
fn counters_tell_what_the_core_waits_for() {
    let busy = || with_detail(command([8.0, 0.0, 0.0, 0.0]), "ceilings", CEILINGS);
    // 30 GB/s of 40.
    let stream = with_count(busy(), "LLC-load-misses", 3e10 / 64.0);
    is_bound(&stream, "memory-bandwidth", &["30.0 GB/s", "75.0 %", "all CPUs"]);
    // 5 s of 8 behind misses, at little bandwidth.
    let chase = with_count(busy(), "LLC-load-misses", 5e7);
    is_bound(&chase, "memory-latency", &["62.5 %"]);
    is_bound(&with_share(busy(), "frontend-bound", 0.5), "frontend", &["50.0 %"]);
    let random = with_count(with_count(busy(), "cycles", 2.4e10), "branch-misses", 4e8);
    is_bound(&random, "branches", &["28.3 %"]);
    let mut compute = busy();
    let place = Labels::new().with_label(Label::Workload, "command").with_label(Label::Source, "pmu");
    compute.measurements.push(measured("core.ipc", place, 1.4));
    is_bound(&compute, "cpu", &["8.00 of 8 CPUs", "primes reaches 1.50", "nop, the most, 6.00"]);
}

#[test]
fn an_instant_is_not_diagnosed() {
    let mut record = command([0.0005, 0.0005, 0.0, 0.0]);
    record.measurements[0] = {
        let place = Labels::new().with_label(Label::Workload, "command");
        measured("workload.time", place, 0.001)
    };
    is_bound(&record, "unknown", &["too short"]);
    // Killed at once on a busy machine: it waited for a CPU to begin and for somebody to notice its end, not for a disk.
    let place = || Labels::new().with_label(Label::Workload, "command");
    for (wall, looks, too_short) in [(0.014, "0", true), (0.06, "0", true), (0.06, "2", false)] {
        let mut record = command([0.0005, 0.0005, 0.0, wall - 0.001]);
        record.measurements[0] = measured("workload.time", place(), wall);
        let record = with_detail(record, "looks", &format!("{{\"all\": {looks}}}"));
        let said = bound(&record).unwrap();
        assert_eq!(said.says.to_string().contains("too short"), too_short, "{wall} s: {}", said.says);
    }
    assert_eq!(bound(&Record::new("0", String::new(), Vec::new())), None);
    // A step of scaling is no command of stat's.
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
    assert!(
        reported(0.1, 9).to_string().contains("Whether it waited or was ready and got no CPU is not told"),
        "{}",
        reported(0.1, 9)
    );
    for (seen, looks) in [(0.3, 9), (0.1, 20), (0.25, 9)] {
        assert!(
            reported(seen, looks).to_string().contains("it waited for something else than a CPU"),
            "{}",
            reported(seen, looks)
        );
    }
}
