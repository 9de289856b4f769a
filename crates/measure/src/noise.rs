//! How noisy a machine is, in a fraction of a second: one block of looks, to be compared with others before and after
//! something was turned.

use std::time::{Duration, Instant};

use record::statistics::{median_of_sorted, percentile_of_sorted};

use crate::context::Stop;
use crate::measurements::{stolen, wakeup};
use crate::{team, watch};

/// What one block showed. A figure that could not be had is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Block {
    /// How much longer the same work takes in its 95th percentile than in its median: a share. The worst of the CPUs.
    pub work_spread: Option<f64>,
    /// Time taken from a thread that never sleeps: a share, the worst of the CPUs.
    pub stolen: Option<f64>,
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
    let stolen = stolen::shares(cpus, SPIN, stop);
    let mut late = wakeup::latencies(cpus, WAKES, stop);
    late.sort_by(f64::total_cmp);
    let worked: Vec<Worked> =
        team::run(cpus, |member| work(&member, stop)).into_iter().flatten().flatten().collect();
    Block {
        work_spread: worst(worked.iter().map(|worked| worked.spread).collect()),
        stolen: worst(stolen),
        wakeup_p99: (late.len() >= LEAST).then(|| percentile_of_sorted(&late, 0.99)),
        clock_spread: worst(worked.iter().map(|worked| worked.clock_spread).collect()),
        clock: worked.first().map(|worked| worked.clock),
    }
}

/// The fewest values with a 99th percentile.
const LEAST: usize = 100;

struct Worked {
    spread: f64,
    clock_spread: f64,
    clock: f64,
}

/// The same piece of work again and again, with a look at the clock after each.
fn work(member: &team::Member, stop: &Stop) -> Option<Worked> {
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
        spread: at(&times, 0.95) / time - 1.0,
        clock_spread: (at(&clocks, 0.95) - at(&clocks, 0.05)) / clock,
        clock,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_every_figure_within_what_can_be() {
        let cpu = crate::sys::current_cpu().unwrap();
        let block = block(&[cpu], &Stop::new());
        assert!((0.0..=1.0).contains(&block.stolen.unwrap()), "{block:?}");
        assert!(block.wakeup_p99.unwrap() >= 0.0);
        assert!(block.clock.unwrap() > 1e7);
        assert!(block.work_spread.is_none_or(|spread| spread >= 0.0));
        assert!(block.clock_spread.is_none_or(|spread| spread >= 0.0));
    }

    #[test]
    fn a_block_ends_when_it_is_asked_to() {
        let (stop, cpu) = (Stop::new(), crate::sys::current_cpu().unwrap());
        stop.ask(2);
        let block = block(&[cpu], &stop);
        assert_eq!((block.wakeup_p99, block.work_spread), (None, None));
    }
}
