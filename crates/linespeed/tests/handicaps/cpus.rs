//! CPU time that is not to be had: a competitor, a quota, a cpuset.

use std::time::{Duration, Instant};

use kernels::primes;
use record::CpuList;

use crate::disturbance::online;
use crate::precedence::SHARES;
use crate::support::cgroup::Group;
use crate::support::confine::Confine;
use crate::support::{linespeed, skipped};
use crate::trial::{Side, Trial, one_at_a_time, record_of, wanted};
use crate::worker::{Running, Worker, together};

/// A round: many turns of the scheduler and periods of a quota.
const ROUND: Duration = Duration::from_millis(600);

/// Counts primes for a round; numbers looked at in a second.
fn primes() -> impl FnMut() -> f64 {
    const NUMBERS: u64 = 100;
    || {
        let (began, mut chunks) = (Instant::now(), 0u64);
        while began.elapsed() < ROUND {
            std::hint::black_box(primes::count(900_000, 900_000 + NUMBERS));
            chunks += 1;
        }
        (chunks * NUMBERS) as f64 / began.elapsed().as_secs_f64()
    }
}

/// Never stops.
pub fn spin() -> impl FnMut() -> f64 {
    || loop {
        std::hint::black_box(primes::count(900_000, 901_000));
    }
}

/// The CPUs that the tests may use.
pub fn allowed() -> CpuList {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().parse().unwrap()
}

/// A process for each CPU.
fn team(confine: impl Fn(Worker) -> Worker) -> Vec<Running> {
    (0..online()).map(|_| confine(Worker::default()).start(primes)).collect()
}

#[test]
fn a_competitor_that_spins_on_one_cpu() {
    const TEST: &str = "a_competitor_that_spins_on_one_cpu";
    if !wanted(TEST) {
        return;
    }
    let _alone = one_at_a_time();
    let cpu = allowed().iter().last().unwrap();
    let competitor = Worker::default().on_cpu(cpu).start(spin);
    competitor.begin();
    // The loss is one of all CPUs, so each CPU has a worker.
    let workers: Vec<_> = allowed().iter().map(|cpu| Worker::default().on_cpu(cpu).start(primes)).collect();
    let trial = Trial {
        name: TEST,
        rule: "other-load",
        needs: &[],
        run: &|| {
            competitor.resume();
            record_of(linespeed(["run", "--quick", "--json"]))
        },
        work: &|| {
            Box::new(|side| {
                if side == Side::Held {
                    competitor.resume()
                } else {
                    competitor.pause()
                };
                workers.iter().map(|worker| worker.round()).sum()
            })
        },
    };
    trial.is_named_first();
}

#[test]
fn a_quota_of_half_the_machine() {
    const TEST: &str = "a_quota_of_half_the_machine";
    if !wanted(TEST) {
        return;
    }
    let _alone = one_at_a_time();
    let (period, quota) = (100_000, 100_000 * online() / 2);
    let (both, period, quota) = (format!("{quota} {period}"), period.to_string(), quota.to_string());
    let settings = [
        (["cpu.cfs_period_us", period.as_str()], ["cpu.max", both.as_str()]),
        (["cpu.cfs_quota_us", quota.as_str()], ["cpu.max", both.as_str()]),
        (SHARES[0], SHARES[1]),
    ];
    let group = match Group::new("cpu", &settings) {
        Ok(group) => group,
        Err(why) => return skipped(TEST, &why),
    };
    let (free, held) = (team(|worker| worker), team(|worker| worker.in_group(&group)));
    let trial = Trial {
        name: TEST,
        rule: "cpu-quota",
        needs: &[],
        run: &|| record_of(linespeed(["run", "--quick", "--json"]).in_group(&group)),
        work: &|| Box::new(|side| together(if side == Side::Held { &held } else { &free })),
    };
    trial.is_named_first();
    drop((free, held));
}

#[test]
fn a_cpuset_of_one_cpu() {
    const TEST: &str = "a_cpuset_of_one_cpu";
    if !wanted(TEST) {
        return;
    }
    let _alone = one_at_a_time();
    if online() < 2 {
        return skipped(TEST, "this machine has one CPU");
    }
    let cpu = allowed().iter().next().unwrap().to_string();
    let nodes = std::fs::read_to_string("/sys/devices/system/node/has_memory").unwrap_or("0".to_owned());
    let settings = [
        (["cpuset.cpus", &cpu], ["cpuset.cpus", cpu.as_str()]),
        (["cpuset.mems", &nodes], ["cpuset.mems", nodes.as_str()]),
    ];
    let group = match Group::new("cpuset", &settings) {
        Ok(group) => group,
        Err(why) => return skipped(TEST, &why),
    };
    let (free, held) = (team(|worker| worker), team(|worker| worker.in_group(&group)));
    let trial = Trial {
        name: TEST,
        rule: "cpuset-smaller",
        needs: &[],
        run: &|| record_of(linespeed(["run", "--quick", "--json"]).in_group(&group)),
        work: &|| Box::new(|side| together(if side == Side::Held { &held } else { &free })),
    };
    trial.is_named_first();
    drop((free, held));
}
