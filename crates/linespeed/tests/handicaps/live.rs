//! Staged loads: `linespeed live --once` names each by its first verdict, and none on an idle machine.

use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Seek, Write};
use std::net::UdpSocket;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use record::diagnosis::BoundBy;
use record::live::Interval;

use crate::cpus::{allowed, spin};
use crate::disturbance::{Watch, online};
use crate::support::cgroup::Group;
use crate::support::confine::Confine;
use crate::support::{folder, linespeed, measured, skipped};
use crate::trial::{counted, without_precedence};
use crate::worker::{Running, Worker};

/// How long each is watched.
const WATCHED: &str = "5s";

/// Whether loads are to be staged: each takes a minute, so that `./test` takes no share of them.
fn wanted(test: &str) -> bool {
    if std::env::var_os("LINESPEED_TEST_EVERYTHING").is_none_or(|value| value.is_empty()) {
        skipped(test, "only ./test everything stages loads for live");
        return false;
    }
    crate::trial::wanted(test)
}

/// What live says.
#[derive(Debug)]
struct Said {
    by: BoundBy,
    says: String,
    interval: Interval,
}

fn watch(options: &[&str]) -> Said {
    let line = ["live", "--once", WATCHED, "--json"];
    let ran = measured(linespeed(line.iter().chain(options))).succeeds();
    let object: serde_json::Value = serde_json::from_str(&ran.stdout).expect("one object");
    let part = |value: &serde_json::Value| value.clone();
    Said {
        by: serde_json::from_value(part(&object["bound"]["by"])).expect("a verdict"),
        says: object["bound"]["says"].to_string(),
        interval: serde_json::from_value(part(&object["interval"])).expect("an interval"),
    }
}

/// What a load does in one thread, for ever.
fn for_ever(mut work: impl FnMut()) -> f64 {
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
fn compute() {
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

/// A load named by one of these verdicts, in most trials beside a machine that is otherwise idle.
#[track_caller]
fn is_named(test: &str, named: &[BoundBy], stage: impl Fn() -> Result<Vec<Running>, String>) {
    if !wanted(test) {
        return;
    }
    let _alone = without_precedence();
    let trial = || {
        let beside = Watch::begin();
        let running = match stage() {
            Ok(running) => running,
            Err(why) => return Err(why),
        };
        // It has begun, and the caches of the watch before are gone.
        thread::sleep(Duration::from_millis(500));
        let said = watch(&[]);
        drop(running);
        let seen = beside.seen();
        let _ = writeln!(std::io::stderr(), "{test}: {:?}: {}", said.by, said.says);
        if seen.is_too_much() { Err(seen.to_string()) } else { Ok(said) }
    };
    let Some(all) = counted(test, trial) else { return };
    let right = all.iter().filter(|said| named.contains(&said.by)).count();
    assert!(2 * right > all.len(), "not {named:?}: {all:#?}");
}

#[test]
fn live_names_an_idle_machine() {
    is_named("live_names_an_idle_machine", &[BoundBy::Idle], || Ok(Vec::new()));
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
        let mut all: Vec<Running> =
            (0..online()).map(|_| begun(Worker::default(), || for_ever(compute))).collect();
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
            all.push(competitor.map_err(|_| "SCHED_FIFO is refused".to_owned())?);
        }
        Ok(all)
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
        Ok(team.collect())
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
        Ok(team.collect())
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

/// Loads that only counters, or a memory that its CPUs can fill, tell from computing: never named as something else.
#[test]
fn live_names_nothing_that_it_cannot_tell() {
    const TEST: &str = "live_names_nothing_that_it_cannot_tell";
    let memory = [BoundBy::Cpu, BoundBy::MemoryLatency, BoundBy::MemoryBandwidth];
    is_named(TEST, &memory, || {
        let team = (0..online()).map(|_| {
            begun(Worker::default(), || {
                let (mut to, from) = (vec![1u8; 64 << 20], vec![2u8; 64 << 20]);
                for_ever(|| black_box(&mut to).copy_from_slice(black_box(&from)))
            })
        });
        Ok(team.collect())
    });
}

#[test]
fn a_load_on_one_cpu_has_that_share_and_no_more() {
    const TEST: &str = "a_load_on_one_cpu_has_that_share_and_no_more";
    if !wanted(TEST) || online() < 2 {
        return;
    }
    let _alone = without_precedence();
    let trial = || {
        let beside = Watch::begin();
        let load = begun(Worker::default(), || for_ever(compute));
        let said = watch(&[]);
        drop(load);
        let seen = beside.seen();
        if seen.is_too_much() { Err(seen.to_string()) } else { Ok(said) }
    };
    let Some(all) = counted(TEST, trial) else { return };
    let wanted = 1.0 / f64::from(online());
    for said in &all {
        let times = &said.interval.times;
        let busy = times.share(times.busy());
        assert!((busy - wanted).abs() < 0.1, "{busy} of the CPUs, and not {wanted}: {said:#?}");
        assert!([BoundBy::Cpu, BoundBy::Idle].contains(&said.by), "{said:#?}");
    }
}
