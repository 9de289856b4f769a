//! Tests the results that `stat` reports for a command.

use super::*;
use crate::tasks::{Thread, Waiting};
use record::Label;

fn ran(line: &str) -> Run {
    let argv: Vec<OsString> = ["sh", "-c", line].map(OsString::from).to_vec();
    run(
        &Job { argv: &argv, cpus: None, env: &[], events: false, samples: None, guard: None },
        &Stop::new(),
        &mut |_| {},
    )
    .unwrap()
}

fn value(figures: &Figures, metric: &str, key: (Label, &str)) -> f64 {
    let found = figures.measurements.iter().find(|m| {
        m.metric == metric && m.labels.word(key.0) == Some(key.1) && m.labels.get(Label::Thread).is_none()
    });
    found.map(record::Measurement::value).unwrap_or_else(|| panic!("no {metric} {key:?}"))
}

#[test]
fn a_sleep_is_time_off_the_cpu_and_reported_as_a_sleep() {
    let run = ran("sleep 0.5");
    let argv = [OsString::from("sleep")];
    let figures = figures(
        std::slice::from_ref(&run),
        &Job { argv: &argv, cpus: None, env: &[], events: false, samples: None, guard: None },
        2,
    );
    let (off, on) = (
        value(&figures, "workload.cpu_time", (Label::State, "off-cpu")),
        value(&figures, "workload.cpu_time", (Label::State, "user"))
            + value(&figures, "workload.cpu_time", (Label::State, "system")),
    );
    assert!(off > on, "{off} off, {on} on");
    // If other processes keep the CPUs busy, the command may hardly be sampled, or only while it starts.
    if run.seen.looks.idle < 5 {
        return println!("skipped: it was sampled only {} times while it slept", run.seen.looks.idle);
    }
    let most = run.seen.waiting.iter().max_by_key(|(_, count)| **count).unwrap();
    assert_eq!(*most.0, Waiting::Sleep, "{:?}", run.seen.waiting);
}

#[test]
fn a_command_of_two_processes_is_seen_as_two() {
    let line = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";
    // If other processes keep the CPUs busy, the command may hardly be sampled.
    let is_seen = (0..5).any(|_| {
        let run = ran(&format!("({line}) & ({line}) & wait"));
        let seen: u64 = run.seen.threads.iter().map(|thread| thread.on_cpu_ns).sum();
        let used = (run.ended.usage.user + run.ended.usage.system) * 1e9;
        assert!(seen as f64 <= used * 1.1 + 20e6, "the threads used more ({seen}) than the command ({used})");
        let busy = run.seen.threads.iter().filter(|thread| thread.on_cpu_ns > 0).count();
        run.seen.most_threads >= 3 && busy >= 2
    });
    assert!(is_seen, "both processes were never sampled in any of five runs");
}

#[test]
fn switches_and_faults_are_there_with_or_without_counters() {
    let run = ran("true");
    let argv = [OsString::from("true")];
    let runs = [run.clone(), run];
    let figures = figures(
        &runs,
        &Job { argv: &argv, cpus: None, env: &[], events: false, samples: None, guard: None },
        2,
    );
    for event in ["task-clock", "page-faults", "context-switches", "minor-faults", "voluntary-switches"] {
        assert!(value(&figures, "counter.count", (Label::Event, event)) >= 0.0);
    }
    assert!(value(&figures, "counter.count", (Label::Event, "page-faults")) > 0.0);
    // Each result has one sample per run, and belongs to a known metric.
    assert!(figures.measurements.iter().all(|m| m.labels.get(Label::Thread).is_some() || m.summary.n == 2));
    let names: Vec<_> = figures.measurements.iter().map(|m| m.labels.clone()).collect();
    assert!((0..names.len()).all(|at| {
        let same = |other: usize| {
            names[other] == names[at] && figures.measurements[other].metric == figures.measurements[at].metric
        };
        !(0..at).any(same)
    }));
}

#[test]
fn what_was_before_the_program_is_not_the_commands() {
    let mut ended = ran("true").ended;
    ended.wall = std::time::Duration::from_millis(100);
    (ended.usage.user, ended.usage.system) = (0.090, 0.020);
    (ended.usage.voluntary_switches, ended.usage.involuntary_switches) = (3, 1);
    let mut two = ended.clone();
    leave_out(&Had { on_cpu_ns: 4_000_000, switches: (1, 2), ..Had::default() }, &mut ended, 1);
    let used = ended.usage.user + ended.usage.system;
    assert!((used - 0.1).abs() < 1e-9, "more than one CPU gives: {used}");
    assert_eq!((ended.usage.voluntary_switches, ended.usage.involuntary_switches), (2, 0));
    leave_out(&Had { on_cpu_ns: 4_000_000, ..Had::default() }, &mut two, 2);
    let used = two.usage.user + two.usage.system;
    assert!((used - 0.106).abs() < 1e-9, "{used}");
}

#[test]
fn switches_and_their_kinds_add_up() {
    let run = ran("sleep 0.05; true");
    let argv = [OsString::from("sh")];
    let figures = figures(
        std::slice::from_ref(&run),
        &Job { argv: &argv, cpus: None, env: &[], events: false, samples: None, guard: None },
        2,
    );
    let of = |event| value(&figures, "counter.count", (Label::Event, event));
    assert_eq!(of("context-switches"), of("voluntary-switches") + of("involuntary-switches"));
}

#[test]
fn time_of_processes_too_short_to_be_looked_at_is_reported() {
    let reported = |line: &str| {
        let run = ran(line);
        let argv = [OsString::from("sh")];
        let figures = figures(
            &[run],
            &Job { argv: &argv, cpus: None, env: &[], events: false, samples: None, guard: None },
            1,
        );
        figures.coverage.into_iter().find(|one| one.what == "runnable").and_then(|one| one.reason)
    };
    let short = reported("i=0; while [ $i -lt 600 ]; do /bin/true; i=$((i+1)); done");
    assert!(short.as_ref().and_then(|why| why.code()) == Some("stat-short-threads-unseen"), "{short:?}");
    // For a long process, only the CPU time after its last sample is missing: a small part, if it is sampled in time.
    let long = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";
    assert!((0..5).any(|_| reported(long).is_none()), "in five runs, most of a long process was missed");
}

#[test]
fn what_short_processes_waited_for_a_cpu_is_no_waiting_where_looks_tell() {
    let mut run = ran("true");
    run.ended.wall = std::time::Duration::from_secs(4);
    (run.ended.usage.user, run.ended.usage.system) = (1.0, 0.0);
    run.seen.threads = vec![Thread { on_cpu_ns: 200_000_000, ..Thread::new(1, 1) }];
    (run.seen.looks.all, run.seen.looks.idle, run.seen.looks.active, run.seen.most_threads) = (80, 4, 76, 2);
    let argv = [OsString::from("sh")];
    let job = Job { argv: &argv, cpus: None, env: &[], events: false, samples: None, guard: None };
    let reported = |run: &Run, state| {
        value(&figures(std::slice::from_ref(run), &job, 2), "workload.cpu_time", (Label::State, state))
    };
    assert!((reported(&run, "off-cpu") - 0.2).abs() < 1e-9, "{}", reported(&run, "off-cpu"));
    assert!((reported(&run, "runnable") - 2.8).abs() < 1e-9, "{}", reported(&run, "runnable"));
    // All threads were sampled until their ends, so the rest of the time was spent waiting for something else.
    run.seen.threads[0].on_cpu_ns = 1_000_000_000;
    run.seen.looks.idle = 60;
    assert!((reported(&run, "off-cpu") - 3.0).abs() < 1e-9, "{}", reported(&run, "off-cpu"));
    // All samples were taken while the thread slept.
    run.seen.looks.idle = 80;
    assert!((reported(&run, "off-cpu") - 3.0).abs() < 1e-9, "{}", reported(&run, "off-cpu"));
}

#[test]
fn what_threads_are_blocked_for_is_summed_where_all_were_looked_at() {
    let mut run = ran("true");
    run.ended.wall = std::time::Duration::from_secs(4);
    (run.ended.usage.user, run.ended.usage.system) = (4.0, 0.0);
    let thread = |pid, on_cpu_ns, blocked_ns| Thread { on_cpu_ns, blocked_ns, ..Thread::new(pid, pid) };
    run.seen.threads =
        vec![thread(1, 3_900_000_000, 0), thread(2, 0, 4_000_000_000), thread(3, 0, 3_500_000_000)];
    (run.seen.looks.all, run.seen.looks.active, run.seen.looks.most_active, run.seen.most_threads) =
        (80, 80, 1, 3);
    let argv = [OsString::from("sh")];
    let job = Job { argv: &argv, cpus: None, env: &[], events: false, samples: None, guard: None };
    let all = |run: &Run| figures(std::slice::from_ref(run), &job, 2);
    let blocked = |run: &Run| value(&all(run), "workload.cpu_time", (Label::State, "blocked"));
    // One thread works all the time, so there was always a ready thread.
    assert_eq!(
        (blocked(&run), value(&all(&run), "workload.cpu_time", (Label::State, "off-cpu"))),
        (7.5, 0.0)
    );
    // Unsampled threads may also have been blocked.
    run.seen.threads.remove(0);
    let untold = all(&run).measurements;
    let state = |m: &record::Measurement| {
        m.labels.word(Label::State) == Some("blocked") && m.labels.get(Label::Thread).is_none()
    };
    assert!(!untold.iter().any(state), "{untold:?}");
    // Processes started by a watched process are reported.
    run.attached = vec![2];
    assert_eq!(all(&run).measurements[0].detail.get(record::detail::THREADS_SEEN).unwrap().below, 1);
}

#[test]
fn the_shares_of_one_thread_are_no_more_than_its_time() {
    let mut run = ran("true");
    run.ended.wall = std::time::Duration::from_millis(1);
    (run.ended.usage.user, run.ended.usage.system) = (0.0006, 0.0003);
    run.seen.threads = vec![Thread { runnable_ns: 400_000, ..Thread::new(1, 1) }];
    run.seen.most_threads = 0;
    let argv = [OsString::from("true")];
    let job = Job { argv: &argv, cpus: None, env: &[], events: false, samples: None, guard: None };
    let figures = figures(&[run], &job, 2);
    let sum: f64 = ["user", "system", "runnable", "off-cpu"]
        .iter()
        .map(|state| value(&figures, "workload.cpu_time", (Label::State, state)))
        .sum();
    assert!((sum - 0.001).abs() < 1e-9, "{sum} of 0.001 s");
}
