//! A cost put into a step of `linespeed overhead`: a thread that is moved again and again. The step must show what the
//! same routine shows with and without it in turn.

use record::Label;
use record::{DetailKey, detail};
use std::cell::Cell;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kernels::primes;
use record::Record;
use record::diagnosis::LayerStep;
use record::difference::Verdict;

use crate::cpus::allowed;
use crate::disturbance::Watch;
use crate::support::{linespeed, skipped};
use crate::trial::{counted, median, one_at_a_time, record_of, wanted};

/// A thread is moved so often.
const MOVE: Duration = Duration::from_millis(2);
/// A step's cost may differ by so much from what the routine itself shows: a point of per cent.
const AGREEMENT: f64 = 0.01;
/// Rounds of `overhead`.
const STEP_ROUNDS: &str = "6";
/// Rounds of without, with, with, without before and after linespeed.
const ROUNDS: usize = 4;
const ROUND: Duration = Duration::from_millis(300);

/// Portions of the routine in a second.
fn portions() -> f64 {
    let (began, mut done) = (Instant::now(), 0u32);
    while began.elapsed() < ROUND {
        std::hint::black_box(primes::count(900_000, 900_100));
        done += 1;
    }
    f64::from(done) / began.elapsed().as_secs_f64()
}

/// What the cost takes of the time without it, by rounds without, with, with, without.
fn shown(mut work: impl FnMut(bool) -> f64) -> Vec<f64> {
    (0..ROUNDS)
        .map(|_| {
            let [free, held, again, last] = [false, true, true, false].map(|with| work(with).ln());
            ((free + last - held - again) / 2.0).exp() - 1.0
        })
        .collect()
}

fn step(record: &Record, what: &str) -> LayerStep {
    let overhead = record.diagnosis.overhead.as_ref().expect("layers were timed in turn");
    let found = overhead.steps.iter().find(|step| step.what.to_string().starts_with(what));
    found.unwrap_or_else(|| panic!("no step {what:?} in {:?}", overhead.steps)).clone()
}

/// How often something was counted in a second beside a user program that is bound like this.
fn rate(record: &Record, bound: &str, count: DetailKey<f64>) -> f64 {
    let all = record.measurements_of("layer.time");
    let user = |m: &&record::Measurement| {
        m.labels.word(Label::Layer) == Some("user") && m.labels.word(Label::Bound) == Some(bound)
    };
    all.filter(user).find_map(|m| m.detail.get(count)).unwrap_or(0.0)
}

/// How far a step's verdict lies from what the routine shows. A step that resolved nothing tells one only where it rules
/// out what the routine shows; otherwise it is undecided.
fn apart(verdict: &Verdict, shown: f64) -> Result<f64, String> {
    match verdict {
        Verdict::Costs { share, .. } => Ok(share - shown),
        Verdict::NotResolved { smaller_than } if shown.abs() > *smaller_than => Ok(-shown),
        Verdict::NotResolved { smaller_than } if *smaller_than <= AGREEMENT => Ok(-shown),
        Verdict::NotResolved { smaller_than } => Err(format!(
            "the step resolves {:.2} %, more than the {:.2} % that the routine shows",
            smaller_than * 100.0,
            shown * 100.0
        )),
        Verdict::TooNoisy { .. } | Verdict::NotMeasurable { .. } => Err("the step has no verdict".to_owned()),
    }
}

/// All trials whose conditions were met count: in the median a step must show what the work shows. The last of their
/// records.
fn agrees(test: &str, what: &str, mut trial: impl FnMut() -> (Record, f64)) -> Option<Record> {
    let mut all = Vec::new();
    let trials = counted(test, || {
        let watch = Watch::begin();
        let (record, shown) = trial();
        let disturbance = watch.seen();
        let step = step(&record, what);
        let line = format!(
            "{what}: {}, {}; the routine shows {:.2} %; {disturbance}",
            step.says,
            step.each.unwrap_or_default(),
            shown * 100.0
        );
        let _ = writeln!(std::io::stderr(), "{test}: {line}");
        all.push(line);
        if disturbance.is_too_much() {
            return Err(disturbance.to_string());
        }
        apart(&step.verdict, shown).map(|apart| (apart, record))
    })?;
    let apart = median(trials.iter().map(|(apart, _)| *apart).collect());
    assert!(apart.abs() <= AGREEMENT, "the step does not show what the routine shows:\n{}", all.join("\n"));
    trials.into_iter().next_back().map(|(_, record)| record)
}

/// How often a thread of ours was moved so far, where the kernel tells.
fn migrations(thread: i32) -> Option<u64> {
    let sched = std::fs::read_to_string(format!("/proc/self/task/{thread}/sched")).ok()?;
    let line = sched.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// Moves a thread from CPU to CPU.
struct Mover {
    /// The thread, 0 for none, -1 for the end.
    target: Arc<AtomicI32>,
    thread: Option<JoinHandle<()>>,
}

fn bind(thread: i32, cpus: &record::CpuList) -> bool {
    let mut mask = [0u64; 16];
    for cpu in cpus.iter().filter(|cpu| *cpu < 1024) {
        mask[cpu as usize / 64] |= 1 << (cpu % 64);
    }
    // SAFETY: the mask outlives the call.
    unsafe { libc::syscall(libc::SYS_sched_setaffinity, thread, size_of_val(&mask), mask.as_ptr()) == 0 }
}

impl Mover {
    fn start() -> Self {
        let target = Arc::new(AtomicI32::new(0));
        let seen = Arc::clone(&target);
        let cpus: Vec<u32> = allowed().iter().collect();
        let thread = std::thread::spawn(move || {
            for turn in 0usize.. {
                match seen.load(Ordering::SeqCst) {
                    0 => {}
                    -1 => return,
                    thread => {
                        bind(thread, &[cpus[turn % cpus.len()]].into_iter().collect());
                    }
                }
                std::thread::sleep(MOVE);
            }
        });
        Self { target, thread: Some(thread) }
    }

    fn moves(&self, thread: i32) {
        self.target.store(thread, Ordering::SeqCst);
    }
}

impl Drop for Mover {
    fn drop(&mut self) {
        self.moves(-1);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The thread of a linespeed that runs the layer which is not bound.
fn unbound_layer() -> Option<i32> {
    let numbers = |folder: &str| -> Vec<i32> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    };
    let is = |path: String, name: &str| std::fs::read_to_string(path).is_ok_and(|comm| comm.trim() == name);
    let all = allowed().to_string();
    let of = |process: i32| {
        numbers(&format!("/proc/{process}/task")).into_iter().find(|thread| {
            let status =
                std::fs::read_to_string(format!("/proc/{process}/task/{thread}/status")).unwrap_or_default();
            let free = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            is(format!("/proc/{process}/task/{thread}/comm"), "linespeed/layer")
                && free.map(str::trim) == Some(&all)
        })
    };
    let processes = numbers("/proc").into_iter();
    processes.filter(|process| is(format!("/proc/{process}/comm"), "linespeed")).find_map(of)
}

#[test]
fn a_thread_that_is_moved_every_two_milliseconds_shows_in_the_migration_step() {
    const TEST: &str = "a_thread_that_is_moved_every_two_milliseconds_shows_in_the_migration_step";
    if !wanted(TEST) {
        return;
    }
    let _alone = one_at_a_time();
    let cpus = allowed();
    if cpus.len() < 2 {
        return skipped(TEST, "there is one CPU");
    }
    let mover = Mover::start();
    // SAFETY: takes nothing.
    let own = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
    if migrations(own).is_none() {
        return skipped(TEST, "this kernel does not count a thread's migrations");
    }
    // How often the routine was moved, and in how many rounds.
    let (moved, rounds) = (Cell::new(0), Cell::new(0u32));
    let mut work = |with: bool| {
        mover.moves(if with { own } else { 0 });
        bind(own, &if with { cpus.clone() } else { [cpus.iter().last().unwrap()].into_iter().collect() });
        let before = migrations(own);
        let rate = portions();
        if let (true, Some(before), Some(after)) = (with, before, migrations(own)) {
            moved.set(moved.get() + after - before);
            rounds.set(rounds.get() + 1);
        }
        mover.moves(0);
        bind(own, &cpus);
        rate
    };
    let agreed = agrees(TEST, "unpinned", || {
        let mut costs = shown(&mut work);
        let over = AtomicI32::new(0);
        let found = std::thread::scope(|scope| {
            let finder = scope.spawn(|| {
                while over.load(Ordering::SeqCst) == 0 {
                    if let Some(thread) = unbound_layer() {
                        mover.moves(thread);
                        return;
                    }
                    std::thread::sleep(MOVE);
                }
            });
            let record = record_of(linespeed(["overhead", "--rounds", STEP_ROUNDS, "--json"]));
            over.store(1, Ordering::SeqCst);
            let _ = finder.join();
            mover.moves(0);
            record
        });
        costs.extend(shown(&mut work));
        // Linespeed's thread is moved less often than the routine is here; a move costs both the same.
        let here = moved.get() as f64 / (f64::from(rounds.get()) * ROUND.as_secs_f64());
        let there = rate(&found, "none", detail::MIGRATIONS_PER_S);
        (found, median(costs) * there / here)
    });
    let Some(record) = agreed else { return };
    let (free, bound) = (
        rate(&record, "none", detail::MIGRATIONS_PER_S),
        rate(&record, &format!("cpu {}", cpus.iter().last().unwrap()), detail::MIGRATIONS_PER_S),
    );
    assert!(free > 30.0 && bound == 0.0, "500 moves a second were made, {free} and {bound} counted");
}
