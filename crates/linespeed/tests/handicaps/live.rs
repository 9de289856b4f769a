//! Staged loads: `linespeed live --once 10s` names each by its first verdict, the whole machine's and that of its process alone, with
//! this machine's record and without one; and none on an idle machine.

use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Seek, Write};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use record::diagnosis::BoundBy;
use record::live::Interval;

use crate::cpus::{allowed, spin};
use crate::disturbance::{Watch, online};
use crate::support::cgroup::Group;
use crate::support::confine::Confine;
use crate::support::{folder, linespeed, measured, skipped};
use crate::trial::{counted, wanted, without_precedence};
use crate::worker::{Running, Worker};

/// How long each is watched.
const WATCHED: &str = "10s";

/// How a load is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The whole machine, with its record.
    Recorded,
    /// The load's processes, with the record.
    Attached,
    /// The whole machine, without a record.
    Unrecorded,
}

impl Way {
    /// Those that are tried: the last in `./test everything` alone.
    fn all() -> &'static [Way] {
        let all = &[Way::Recorded, Way::Attached, Way::Unrecorded];
        let everything = std::env::var_os("LINESPEED_TEST_EVERYTHING").is_some_and(|value| !value.is_empty());
        if everything { all } else { &all[..2] }
    }
}

/// What live says.
#[derive(Debug)]
struct Said {
    by: BoundBy,
    says: String,
    interval: Interval,
}

/// A home with a record of this machine, and one without.
pub fn homes() -> &'static (PathBuf, PathBuf) {
    static HOMES: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();
    HOMES.get_or_init(|| {
        let home = |name: &str| {
            let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(&path).expect("a folder");
            path
        };
        let homes = (home("live-recorded"), home("live-unrecorded"));
        let mut main_job = linespeed(["-q"]);
        main_job.env("HOME", &homes.0);
        let ran = measured(main_job);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        homes
    })
}

/// Processes of a load, and those that hold it back from beside.
struct Staged {
    load: Vec<Running>,
    _beside: Vec<Running>,
}

impl From<Vec<Running>> for Staged {
    fn from(load: Vec<Running>) -> Self {
        Self { load, _beside: Vec::new() }
    }
}

fn watch(way: Way, load: &[Running]) -> Said {
    let (recorded, unrecorded) = homes();
    let pids: Vec<String> = load.iter().map(|one| one.pid().to_string()).collect();
    let mut line = vec!["live".to_owned(), "--once".to_owned(), WATCHED.to_owned(), "--json".to_owned()];
    if way == Way::Attached {
        line.extend(["-p".to_owned(), pids.join(",")]);
    }
    let mut command = linespeed(line);
    command.env("HOME", if way == Way::Unrecorded { unrecorded } else { recorded });
    let ran = measured(command).succeeds();
    let object: serde_json::Value = serde_json::from_str(&ran.stdout).expect("one object");
    let part = |value: &serde_json::Value| value.clone();
    Said {
        by: serde_json::from_value(part(&object["bound"]["by"])).expect("a verdict"),
        says: object["bound"]["says"].to_string(),
        interval: serde_json::from_value(part(&object["interval"])).expect("an interval"),
    }
}

/// What a load does in one thread, for ever.
pub fn for_ever(mut work: impl FnMut()) -> f64 {
    loop {
        work();
    }
}

/// So many threads that do it, for ever.
fn threads(count: u32, work: impl Fn() + Sync) -> f64 {
    thread::scope(|scope| {
        (1..count).for_each(|_| drop(scope.spawn(|| for_ever(&work))));
        for_ever(&work)
    })
}

/// Numbers that depend on each other.
pub fn compute() {
    black_box(
        (0..100_000).fold(1, |x: u64, _| x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695)),
    );
}

/// A load that runs.
fn begun(worker: Worker, work: fn() -> f64) -> Running {
    let running = worker.start(|| work);
    running.begin();
    running
}

/// The trials of a load that count, watched in one way: on a machine that is otherwise idle.
fn trials<S: Into<Staged>>(test: &str, way: Way, stage: impl Fn() -> Result<S, String>) -> Option<Vec<Said>> {
    homes();
    let trial = || {
        let beside = Watch::begin();
        let running: Staged = stage()?.into();
        // It has begun, and the caches of the watch before are gone.
        thread::sleep(Duration::from_millis(500));
        let said = watch(way, &running.load);
        drop(running);
        let seen = beside.seen();
        let _ = writeln!(std::io::stderr(), "{test}: {way:?}: {:?}: {}", said.by, said.says);
        if seen.is_too_much() { Err(seen.to_string()) } else { Ok(said) }
    };
    counted(&format!("{test} ({way:?})"), trial)
}

/// A load named by one of these verdicts in most trials, of the whole machine and of its processes alone.
#[track_caller]
fn is_named_in<S: Into<Staged>>(
    test: &str,
    (named, attached): (&[BoundBy], &[BoundBy]),
    stage: impl Fn() -> Result<S, String>,
) {
    if !wanted(test) {
        return;
    }
    let _alone = without_precedence();
    for way in Way::all() {
        let named = if *way == Way::Attached { attached } else { named };
        if named.is_empty() {
            continue;
        }
        let Some(all) = trials(test, *way, &stage) else { continue };
        let right = all.iter().filter(|said| named.contains(&said.by)).count();
        let _ = writeln!(std::io::stderr(), "{test}: {way:?}: {right} of {} trials named it", all.len());
        assert!(2 * right > all.len(), "{way:?}: not {named:?}: {all:#?}");
    }
}

/// The same verdict of the whole machine and of the load's processes.
#[track_caller]
fn is_named<S: Into<Staged>>(test: &str, named: &[BoundBy], stage: impl Fn() -> Result<S, String>) {
    is_named_in(test, (named, named), stage);
}

#[test]
fn live_names_an_idle_machine() {
    is_named_in("live_names_an_idle_machine", (&[BoundBy::Idle], &[]), || Ok(Vec::<Running>::new()));
}

#[test]
fn live_names_computing_on_all_cpus() {
    is_named("live_names_computing_on_all_cpus", &[BoundBy::Cpu], || {
        let team = (0..online()).map(|_| Worker::default().start(spin));
        let team: Vec<Running> = team.collect();
        team.iter().for_each(Running::begin);
        Ok(team)
    });
}

#[test]
fn live_names_a_convoy_on_one_mutex() {
    is_named("live_names_a_convoy_on_one_mutex", &[BoundBy::Lock], || {
        Ok(vec![begun(Worker::default(), || {
            let sum = Mutex::new(0u64);
            threads(4, || {
                let mut sum = sum.lock().unwrap();
                *sum = (0..200).fold(*sum, |x, y| black_box(x.wrapping_mul(31).wrapping_add(y)));
            })
        })])
    });
}

#[test]
fn live_names_four_threads_for_each_cpu() {
    is_named("live_names_four_threads_for_each_cpu", &[BoundBy::TooFewCpus], || {
        Ok(vec![begun(Worker::default(), || threads(4 * online(), compute))])
    });
}

#[test]
fn live_names_a_quota() {
    const TEST: &str = "live_names_a_quota";
    // No multiple of the tick, by which CPU time is accounted.
    let period = ["cpu.cfs_period_us", "73000"];
    let half = (online() * 36_500).to_string();
    let both = format!("{half} 73000");
    let settings = [
        (period, ["cpu.max", both.as_str()]),
        (["cpu.cfs_quota_us", half.as_str()], ["cpu.max", both.as_str()]),
    ];
    let group = match Group::new("cpu", &settings) {
        Ok(group) => group,
        Err(why) => return skipped(TEST, &why),
    };
    is_named(TEST, &[BoundBy::Quota], || {
        let worker = Worker::default().in_group(&group);
        Ok(vec![begun(worker, || threads(online(), compute))])
    });
}

#[test]
fn live_names_a_real_time_competitor() {
    const TEST: &str = "live_names_a_real_time_competitor";
    is_named(TEST, &[BoundBy::CpuContention], || {
        let load = (0..online()).map(|_| begun(Worker::default(), || for_ever(compute))).collect();
        let mut beside = Vec::new();
        for cpu in allowed().iter() {
            let urgent = Worker::default().on_cpu(cpu).step(|| os::set_fifo(10));
            // For 30 % of the time.
            let competitor = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                begun(urgent, || {
                    for_ever(|| {
                        let began = Instant::now();
                        while began.elapsed() < Duration::from_millis(6) {
                            compute();
                        }
                        thread::sleep(Duration::from_millis(14));
                    })
                })
            }));
            beside.push(competitor.map_err(|_| "SCHED_FIFO is refused".to_owned())?);
        }
        Ok(Staged { load, _beside: beside })
    });
}

#[test]
fn live_names_fsync_in_a_loop() {
    is_named("live_names_fsync_in_a_loop", &[BoundBy::Waiting], || {
        Ok(vec![begun(Worker::default(), || {
            let folder = folder();
            let mut file = File::create(folder.path().join("file")).unwrap();
            for_ever(|| {
                file.rewind().unwrap();
                file.write_all(&[0; 4096]).unwrap();
                file.sync_all().unwrap();
            })
        })])
    });
}

#[test]
fn live_names_a_storm_of_page_faults() {
    is_named("live_names_a_storm_of_page_faults", &[BoundBy::Kernel], || {
        let team = (0..online()).map(|_| {
            begun(Worker::default(), || {
                for_ever(|| {
                    let mut bytes: Vec<u8> = Vec::with_capacity(32 << 20);
                    // A page each: what is mapped anew is made by a fault.
                    bytes.spare_capacity_mut().iter_mut().step_by(4096).for_each(|byte| _ = byte.write(1));
                    black_box(&bytes);
                })
            })
        });
        Ok(team.collect::<Vec<_>>())
    });
}

#[test]
fn live_names_a_storm_of_softirqs() {
    is_named("live_names_a_storm_of_softirqs", &[BoundBy::Kernel], || {
        let team = (0..online()).map(|_| {
            begun(Worker::default(), || {
                let to = UdpSocket::bind("127.0.0.1:0").unwrap();
                to.set_nonblocking(true).unwrap();
                let (from, place) = (UdpSocket::bind("127.0.0.1:0").unwrap(), to.local_addr().unwrap());
                for_ever(|| {
                    let _ = from.send_to(&[0; 64], place);
                    let _ = to.recv(&mut [0; 64]);
                })
            })
        });
        Ok(team.collect::<Vec<_>>())
    });
}

#[test]
fn live_names_reclaim_under_a_memory_limit() {
    const TEST: &str = "live_names_reclaim_under_a_memory_limit";
    let limit = (64 << 20).to_string();
    let settings = [(["memory.limit_in_bytes", limit.as_str()], ["memory.max", limit.as_str()])];
    let group = match Group::new("memory", &settings) {
        Ok(group) => group,
        Err(why) => return skipped(TEST, &why),
    };
    is_named(TEST, &[BoundBy::Kernel, BoundBy::Waiting], || {
        let worker = Worker::default().in_group(&group);
        Ok(vec![begun(worker, || {
            let folder = folder();
            let path = folder.path().join("file");
            let mut file = File::create(&path).unwrap();
            (0..256).for_each(|_| file.write_all(&vec![1; 1 << 20]).unwrap());
            threads(online(), || {
                let mut file = File::open(&path).unwrap();
                let mut part = vec![0; 1 << 20];
                while file.read(&mut part).unwrap() > 0 {}
            })
        })])
    });
}

/// What counters or samples alone tell from computing. Where whole CPUs may not be sampled it is named as nothing else.
#[track_caller]
fn is_named_by_samples<S: Into<Staged>>(test: &str, named: BoundBy, stage: impl Fn() -> Result<S, String>) {
    let untold = [
        BoundBy::Cpu,
        BoundBy::MemoryLatency,
        BoundBy::MemoryBandwidth,
        BoundBy::OwnThreads,
        BoundBy::OneThread,
    ];
    let all = if are_sampled() { vec![named] } else { untold.to_vec() };
    is_named(test, &all, stage);
}

/// Whether this user may sample whole CPUs.
fn are_sampled() -> bool {
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let open = paranoid.is_ok_and(|level| level.trim().parse::<i32>().is_ok_and(|level| level <= 0));
    os::is_root() || open
}

#[test]
fn live_names_streaming_on_all_cpus() {
    is_named_by_samples("live_names_streaming_on_all_cpus", BoundBy::MemoryBandwidth, || {
        let team = (0..online()).map(|_| {
            begun(Worker::default(), || {
                let (mut to, from) = (vec![1u8; 64 << 20], vec![2u8; 64 << 20]);
                for_ever(|| black_box(&mut to).copy_from_slice(black_box(&from)))
            })
        });
        Ok(team.collect::<Vec<_>>())
    });
}

#[test]
fn live_names_loads_from_memory_on_all_cpus() {
    is_named_by_samples("live_names_loads_from_memory_on_all_cpus", BoundBy::MemoryLatency, || {
        let team = (0..online()).map(|_| {
            let worker = Worker::default();
            let running = worker.start(|| {
                // One cycle through all lines of 128 MiB: a generator of full period modulo a power of two.
                let lines: usize = 1 << 21;
                let mut next = vec![0_usize; lines * 8];
                let first = next.as_ptr() as usize;
                let after = |line: usize| (line.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)) % lines;
                (0..lines).for_each(|line| next[line * 8] = first + after(line) * 64);
                move || {
                    let mut at = first;
                    // SAFETY: each line holds the address of another, of an array that is there until the end.
                    let load = |at: usize| unsafe { std::ptr::read_volatile(at as *const usize) };
                    for_ever(|| at = black_box((&next, (0..100_000).fold(at, |at, _| load(at)))).1)
                }
            });
            running.begin();
            running
        });
        Ok(team.collect::<Vec<_>>())
    });
}

#[test]
fn live_names_lines_that_two_threads_share() {
    is_named_by_samples("live_names_lines_that_two_threads_share", BoundBy::OwnThreads, || {
        Ok(vec![begun(Worker::default(), || {
            let shared = AtomicU64::new(0);
            threads(online().max(2), || {
                (0..100_000).for_each(|_| _ = shared.fetch_add(1, Ordering::Relaxed));
            })
        })])
    });
}

#[test]
fn a_load_on_one_cpu_has_that_share_and_no_more() {
    const TEST: &str = "a_load_on_one_cpu_has_that_share_and_no_more";
    if !wanted(TEST) || online() < 2 {
        return;
    }
    let _alone = without_precedence();
    let stage = || Ok(vec![begun(Worker::default(), || for_ever(compute))]);
    let Some(all) = trials(TEST, Way::Recorded, stage) else { return };
    let wanted = 1.0 / f64::from(online());
    for said in &all {
        let times = &said.interval.times;
        let busy = times.share(times.busy());
        assert!((busy - wanted).abs() < 0.1, "{busy} of the CPUs, and not {wanted}: {said:#?}");
        assert!([BoundBy::Cpu, BoundBy::Idle].contains(&said.by), "{said:#?}");
    }
}
