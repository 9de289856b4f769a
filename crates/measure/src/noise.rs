//! How noisy a machine is, in a fraction of a second: one block of looks, to be compared with others before and after
//! something was turned.

use std::time::{Duration, Instant};

use record::statistics::{median_of_sorted, percentile_of_sorted};

use crate::measurements::{stolen, wakeup};
use crate::{thread_group, watch};
use os::Stop;

/// What one block showed. A figure that could not be had is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Block {
    /// The 95th percentile of the time that the same work takes over its median: 1 where it always takes the same. The worst of
    /// the CPUs.
    pub work_p95: Option<f64>,
    /// What the kernel, its interrupts and other tasks took from a thread that never sleeps: a share, the worst of the CPUs;
    /// absent where whose it was is not told.
    pub taken_by_os: Option<f64>,
    /// What was taken from below the kernel, by the hypervisor or the firmware; likewise.
    pub taken_below: Option<f64>,
    /// What anybody took, the worst of the CPUs.
    pub taken: Option<f64>,
    /// 99th percentile of wake-up latency under SCHED_OTHER, ns; of all CPUs together.
    pub wakeup_p99: Option<f64>,
    /// How far the core clock moved: its 95th less its 5th percentile over its median, a share; the worst of the CPUs.
    pub clock_spread: Option<f64>,
    /// The median core clock, Hz, of the first CPU.
    pub clock: Option<f64>,
}

/// Parts of a block: spinning, waking up, working.
const SPIN: Duration = Duration::from_millis(60);
/// Wake-ups, a millisecond apart.
const WAKES: usize = 120;
/// How long the work is repeated.
const WORK: Duration = Duration::from_millis(60);
/// One piece of work: some hundred microseconds, so that most have no tick of the kernel within.
const PIECE: Duration = Duration::from_micros(150);

/// Takes a block on these CPUs, all at once: about a quarter of a second.
pub fn block(cpus: &[u32], stop: &Stop) -> Block {
    let worst = |values: Vec<f64>| values.into_iter().max_by(f64::total_cmp);
    let taken = stolen::shares(cpus, SPIN, stop);
    let mut late = wakeup::latencies(cpus, WAKES, stop);
    late.sort_by(f64::total_cmp);
    let worked: Vec<Worked> =
        thread_group::run(cpus, |member| work(&member, stop)).into_iter().flatten().flatten().collect();
    let reported = |share: fn(&stolen::Shares) -> Option<f64>| {
        let shares: Option<Vec<f64>> = taken.iter().map(share).collect();
        shares.and_then(worst)
    };
    Block {
        work_p95: worst(worked.iter().map(|worked| worked.p95).collect()),
        taken_by_os: reported(|shares| shares.os),
        taken_below: reported(|shares| shares.below),
        taken: reported(|shares| Some(shares.all)),
        wakeup_p99: (late.len() >= LEAST).then(|| percentile_of_sorted(&late, 0.99)),
        clock_spread: worst(worked.iter().map(|worked| worked.clock_spread).collect()),
        clock: worked.first().map(|worked| worked.clock),
    }
}

/// Rounds of the comparison of work with itself: enough that not the worst round alone decides.
const ROUNDS: usize = 12;
/// One of the two runs of a round.
const RUN: Duration = Duration::from_millis(8);

/// The same work twice in turn, on one CPU: seconds of the two runs of each round. About a fifth of a second.
pub fn twice(cpu: u32, stop: &Stop) -> Vec<(f64, f64)> {
    let runs = thread_group::run_on(cpu, |_| {
        let chain = &kernels::chain::ADD;
        let iterations = (RUN.as_secs_f64() * watch::look_at_clock() / chain.work.operations as f64) as u64;
        let time = || {
            let from = Instant::now();
            (chain.run)(iterations.max(1));
            watch::ns_since(from) / 1e9
        };
        let round = |round: usize| {
            let (first, second) = (time(), time());
            if round.is_multiple_of(2) { (first, second) } else { (second, first) }
        };
        (0..ROUNDS).take_while(|_| stop.signal().is_none()).map(round).collect()
    });
    runs.unwrap_or_default()
}

/// The fewest values with a 99th percentile.
const LEAST: usize = 100;

struct Worked {
    p95: f64,
    clock_spread: f64,
    clock: f64,
}

/// The same piece of work again and again, with a look at the clock after each.
fn work(member: &thread_group::Member, stop: &Stop) -> Option<Worked> {
    let chain = &kernels::chain::ADD;
    let hz = watch::look_at_clock();
    let iterations = (PIECE.as_secs_f64() * hz / chain.work.operations as f64) as u64;
    let (mut times, mut clocks) = (Vec::new(), Vec::new());
    member.wait();
    let began = Instant::now();
    while began.elapsed() < WORK && stop.signal().is_none() {
        let from = Instant::now();
        (chain.run)(iterations.max(1));
        times.push(watch::ns_since(from));
        clocks.push(watch::look_at_clock());
    }
    if times.len() < 20 {
        return None;
    }
    times.sort_by(f64::total_cmp);
    clocks.sort_by(f64::total_cmp);
    let (time, clock) = (median_of_sorted(&times), median_of_sorted(&clocks));
    let at = |sorted: &[f64], share| percentile_of_sorted(sorted, share);
    (time > 0.0 && clock > 0.0).then(|| Worked {
        p95: at(&times, 0.95) / time,
        clock_spread: (at(&clocks, 0.95) - at(&clocks, 0.05)) / clock,
        clock,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_every_figure_within_what_can_be() {
        let cpu = os::current_cpu().unwrap();
        let block = block(&[cpu], &Stop::new());
        assert!((0.0..=1.0).contains(&block.taken.unwrap()), "{block:?}");
        if let (Some(os), Some(below)) = (block.taken_by_os, block.taken_below) {
            assert!(os >= 0.0 && below >= 0.0 && os + below <= block.taken.unwrap() + 1e-9, "{block:?}");
        }
        assert!(block.wakeup_p99.unwrap() >= 0.0);
        assert!(block.clock.unwrap() > 1e7);
        assert!(block.work_p95.is_none_or(|p95| p95 >= 1.0));
        assert!(block.clock_spread.is_none_or(|spread| spread >= 0.0));
    }

    #[test]
    fn work_that_is_compared_with_itself_takes_time_both_times() {
        let cpu = os::current_cpu().unwrap();
        let rounds = twice(cpu, &Stop::new());
        assert_eq!(rounds.len(), ROUNDS);
        assert!(rounds.iter().all(|(one, other)| *one > 0.0 && *other > 0.0), "{rounds:?}");
        let stop = Stop::new();
        stop.ask(2);
        assert!(twice(cpu, &stop).is_empty());
    }

    #[test]
    fn a_block_ends_when_it_is_asked_to() {
        let (stop, cpu) = (Stop::new(), os::current_cpu().unwrap());
        stop.ask(2);
        let block = block(&[cpu], &stop);
        assert_eq!((block.wakeup_p99, block.work_p95), (None, None));
    }
}
