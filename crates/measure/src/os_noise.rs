//! Measures the noise of a machine in a fraction of a second: one block of samples, for comparison before and after
//! changing a setting.

use std::time::{Duration, Instant};

use record::statistics::{median_of_sorted, percentile_of_sorted};
use serde::{Deserialize, Serialize};

use crate::measurements::{time_taken, wakeup};
use crate::{thread_group, watch};
use os::Stop;

/// The results of one block. A result that could not be measured is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// The machine's noise floor: the relative difference between two runs of the same work, measured together with a
    /// block.
    pub floor: Option<f64>,
    /// The 95th percentile of the duration of repeated identical work divided by its median: 1 if the work always takes
    /// the same time. The result is from the worst CPU.
    #[serde(skip)]
    pub work_p95: Option<f64>,
    /// Share of time that the kernel, its interrupts and other tasks steal from a thread that never sleeps, on the
    /// worst CPU; absent if the cause of the stolen time is unknown.
    pub taken_by_os: Option<f64>,
    /// Like `taken_by_os`, but for time stolen below the kernel, by the hypervisor or the firmware.
    pub taken_below: Option<f64>,
    /// Like `taken_by_os`, but for any cause.
    pub taken: Option<f64>,
    /// 99th percentile of wake-up latency under SCHED_OTHER over all CPUs, seconds.
    pub wakeup_p99: Option<f64>,
    /// The variation of the core clock: the difference between its 95th and 5th percentiles, relative to its median, on
    /// the worst CPU.
    pub clock_spread: Option<f64>,
}

impl Block {
    /// Whether the stored values are plausible.
    pub fn is_sound(&self) -> bool {
        [self.floor, self.taken_by_os, self.taken_below, self.taken, self.wakeup_p99, self.clock_spread]
            .into_iter()
            .flatten()
            .all(|value| value.is_finite() && value >= 0.0)
    }
}

/// Duration of the part of a block in which threads spin; the other parts measure wake-ups and repeated work.
const SPIN: Duration = Duration::from_millis(60);
/// Number of wake-ups, a millisecond apart.
const WAKES: usize = 120;
/// Minimum number of wake-ups for a 99th percentile.
const LEAST_WAKES: usize = 100;
/// Time for which the work is repeated.
const WORK: Duration = Duration::from_millis(60);
/// Minimum number of pieces of work for a 95th percentile.
const LEAST_PIECES: usize = 20;
/// Duration of one piece of work: so short that most pieces contain no timer tick.
const PIECE: Duration = Duration::from_micros(150);
/// On a busy CPU, a part continues until it has the minimum number of samples, but not longer than this.
const PATIENCE: Duration = Duration::from_secs(5);

/// Samples a block on all of these CPUs at the same time, which takes about a quarter of a second.
pub fn sample_block(cpus: &[u32], stop: &Stop) -> Block {
    let worst = |values: Vec<f64>| values.into_iter().max_by(f64::total_cmp);
    let taken = time_taken::sample_shares(cpus, SPIN, stop);
    let mut late = wakeup::sample_latencies(cpus, WAKES, PATIENCE, stop);
    late.sort_by(f64::total_cmp);
    let worked: Vec<Worked> =
        thread_group::run(cpus, |member| work(&member, stop)).into_iter().flatten().flatten().collect();
    let reported = |share: fn(&time_taken::Shares) -> Option<f64>| {
        taken.iter().map(share).collect::<Option<_>>().and_then(worst)
    };
    Block {
        floor: None,
        work_p95: worst(worked.iter().map(|worked| worked.p95).collect()),
        taken_by_os: reported(|shares| shares.os),
        taken_below: reported(|shares| shares.below),
        taken: reported(|shares| Some(shares.all)),
        wakeup_p99: (late.len() >= LEAST_WAKES).then(|| percentile_of_sorted(&late, 0.99) / 1e9),
        clock_spread: worst(worked.iter().map(|worked| worked.clock_spread).collect()),
    }
}

/// Rounds of the A/A control: enough that a single bad round does not determine the result.
const ROUNDS: usize = 12;
/// Duration of each of the two runs in a round.
const RUN: Duration = Duration::from_millis(8);

/// An A/A control: alternates two runs of the same work on one CPU. Returns the seconds of the two runs of each
/// round. Takes about a fifth of a second.
pub fn time_same_work(cpu: u32, stop: &Stop) -> Vec<(f64, f64)> {
    let runs = thread_group::run_on(cpu, |_| {
        let iterations = iterations_in(RUN);
        let time = || watch::time_ns(|| (kernels::chain::ADD.run)(iterations)) / 1e9;
        let round = |round: usize| {
            let (first, second) = (time(), time());
            if round.is_multiple_of(2) { (first, second) } else { (second, first) }
        };
        (0..ROUNDS).take_while(|_| stop.signal().is_none()).map(round).collect()
    });
    runs.unwrap_or_default()
}

/// Number of iterations of the chain of adds in this time.
fn iterations_in(time: Duration) -> u64 {
    let each = f64::from(kernels::chain::ADD.work.operations);
    ((time.as_secs_f64() * watch::look_at_clock() / each) as u64).max(1)
}

struct Worked {
    p95: f64,
    clock_spread: f64,
}

/// Repeats the same piece of work, and reads the clock after each repetition.
fn work(member: &thread_group::Member, stop: &Stop) -> Option<Worked> {
    let iterations = iterations_in(PIECE);
    let (mut times, mut clocks) = (Vec::new(), Vec::new());
    member.wait();
    let began = Instant::now();
    let goes_on = |pieces| began.elapsed() < if pieces < LEAST_PIECES { PATIENCE } else { WORK };
    while goes_on(times.len()) && stop.signal().is_none() {
        times.push(watch::time_ns(|| (kernels::chain::ADD.run)(iterations)));
        clocks.push(watch::look_at_clock());
    }
    if times.len() < LEAST_PIECES {
        return None;
    }
    times.sort_by(f64::total_cmp);
    clocks.sort_by(f64::total_cmp);
    let (time, clock) = (median_of_sorted(&times), median_of_sorted(&clocks));
    let clock_at = |share| percentile_of_sorted(&clocks, share);
    (time > 0.0 && clock > 0.0).then(|| Worked {
        p95: percentile_of_sorted(&times, 0.95) / time,
        clock_spread: (clock_at(0.95) - clock_at(0.05)) / clock,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_every_figure_within_what_can_be() {
        let cpu = os::current_cpu().unwrap();
        let block = sample_block(&[cpu], &Stop::new());
        assert!((0.0..=1.0).contains(&block.taken.unwrap()), "{block:?}");
        if let (Some(os), Some(below)) = (block.taken_by_os, block.taken_below) {
            assert!(os >= 0.0 && below >= 0.0 && os + below <= block.taken.unwrap() + 1e-9, "{block:?}");
        }
        assert!(block.wakeup_p99.unwrap() >= 0.0);
        assert!(block.work_p95.unwrap() >= 1.0, "{block:?}");
        assert!(block.clock_spread.unwrap() >= 0.0, "{block:?}");
    }

    #[test]
    fn work_that_is_compared_with_itself_takes_time_both_times() {
        let cpu = os::current_cpu().unwrap();
        let rounds = time_same_work(cpu, &Stop::new());
        assert_eq!(rounds.len(), ROUNDS);
        assert!(rounds.iter().all(|(one, other)| *one > 0.0 && *other > 0.0), "{rounds:?}");
        let stop = Stop::new();
        stop.ask(2);
        assert!(time_same_work(cpu, &stop).is_empty());
    }

    #[test]
    fn a_block_ends_when_it_is_asked_to() {
        let (stop, cpu) = (Stop::new(), os::current_cpu().unwrap());
        stop.ask(2);
        let block = sample_block(&[cpu], &stop);
        assert_eq!((block.wakeup_p99, block.work_p95), (None, None));
    }
}
