//! Observations made with every sample: the effective core clock, context switches, and the CPU.

use std::time::{Duration, Instant};

use kernels::{chain, counter};
use os::procfs::find_ticks;
use record::Mark;

/// Number of add instructions timed for one clock reading: about 10 µs, short compared with any sample.
const LOOK_ADDS: u64 = 32_768;

/// Number of readings. The fastest one is used, so that an interruption is not mistaken for a slow clock.
const LOOKS: usize = 3;

/// Maximum difference between the clocks before and after a sample; beyond this, the clock counts as changed.
const CLOCK_MOVED: f64 = 0.01;

/// Nanoseconds since `from`.
pub fn ns_since(from: Instant) -> f64 {
    from.elapsed().as_nanos() as f64
}

/// Duration of `work`, ns.
pub(crate) fn time_ns(work: impl FnOnce()) -> f64 {
    let from = Instant::now();
    work();
    ns_since(from)
}

/// The calling thread's involuntary switches, if reported by the kernel.
pub(crate) fn involuntary_switches() -> u64 {
    os::switches().map_or(0, |(involuntary, _)| involuntary)
}

/// The time that two clock reads add to the interval between them, in ns: the minimum of many attempts.
pub fn reading_cost_ns() -> f64 {
    (0..200).map(|_| ns_since(Instant::now())).fold(f64::INFINITY, f64::min)
}

/// The core's current effective clock, in Hz, measured with a chain of dependent adds: the best of a few readings of 10
/// µs.
pub fn look_at_clock() -> f64 {
    (0..LOOKS).map(|_| look_once()).fold(0.0, f64::max)
}

fn look_once() -> f64 {
    let iterations = LOOK_ADDS / u64::from(chain::ADD.work.operations);
    let adds = (iterations * u64::from(chain::ADD.work.operations)) as f64;
    adds / time_ns(|| (chain::ADD.run)(iterations)) * 1e9
}

/// The effective clock from t(2N) − t(N) of a chain, in Hz per chained operation; `iterations` is N. `Err` with that
/// rate if the second time differs by more than 5 % from twice the first: one of the two runs was interrupted, so the
/// rate is unreliable.
pub fn chain_rate(chain: &chain::Chain, iterations: u64) -> Result<f64, f64> {
    let time = |n: u64| time_ns(|| (chain.run)(n));
    let (one, two) = (time(iterations), time(2 * iterations));
    let undisturbed = (two / one / 2.0 - 1.0).abs() < 0.05;
    let rate = (iterations * u64::from(chain.work.operations)) as f64 / (two - one) * 1e9;
    if undisturbed { Ok(rate) } else { Err(rate) }
}

/// Time for which the counter is compared with the kernel's clock. The two are read at most 50 ns apart, so the rate is
/// accurate to a few parts per million.
const CALIBRATION: Duration = Duration::from_millis(50);

/// The rate of the counter that user mode, the kernel and guests all read, in Hz: from the architecture if it reports
/// the rate, otherwise by comparison with the monotonic clock.
pub fn ticks_a_second() -> f64 {
    if let Some(hz) = counter::architectural_hz() {
        return hz as f64;
    }
    let (from, ticks) = (Instant::now(), counter::ticks_ordered());
    while from.elapsed() < CALIBRATION {
        std::hint::spin_loop();
    }
    let (elapsed, ticks) = (from.elapsed(), counter::ticks_ordered().wrapping_sub(ticks));
    ticks as f64 / elapsed.as_secs_f64()
}

/// A sample with its observations.
#[derive(Clone, Debug, PartialEq)]
pub struct Watched {
    /// The sample's duration, ns.
    pub ns: f64,
    /// The core clock during the sample, Hz: the mean of the readings before and after.
    pub clock_hz: f64,
    /// Events during the sample.
    pub marks: Vec<Mark>,
    /// Number of placement checks made before the sample.
    pub look: u32,
}

/// Observes samples of one thread on one CPU.
#[derive(Debug)]
pub struct Watch {
    pub(crate) cpu: u32,
    /// Number of placement checks made so far.
    pub(crate) look: u32,
    reading_cost: f64,
    last_clock: f64,
}

impl Watch {
    /// Observes the calling thread, pinned to `cpu`.
    pub fn new(cpu: u32) -> Self {
        Self { cpu, look: 0, reading_cost: reading_cost_ns(), last_clock: look_at_clock() }
    }

    /// Times `work` and reads the clock afterwards (the reading before is from the last sample).
    pub fn sample(&mut self, work: impl FnOnce()) -> Watched {
        let switches = involuntary_switches();
        let before = self.last_clock;
        let from = Instant::now();
        work();
        let ns = (ns_since(from) - self.reading_cost).max(0.0);
        let after = look_at_clock();
        self.last_clock = after;
        let mut marks = Vec::new();
        if (after / before - 1.0).abs() > CLOCK_MOVED {
            marks.push(Mark::ClockMoved);
        }
        if involuntary_switches() > switches {
            marks.push(Mark::Switched);
        }
        if os::current_cpu().is_some_and(|cpu| cpu != self.cpu) {
            marks.push(Mark::Migrated);
        }
        Watched { ns, clock_hz: (before + after) / 2.0, marks, look: self.look }
    }

    /// Reads the clock again, after unsampled work.
    pub fn refresh(&mut self) {
        self.last_clock = look_at_clock();
    }
}

/// Steal time of `cpu` since boot, in ticks of 10 ms, from /proc/stat.
pub fn steal_ticks(cpu: u32) -> Option<u64> {
    find_ticks(&std::fs::read_to_string("/proc/stat").ok()?, &format!("cpu{cpu}"))?.stolen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_inside_a_sample_is_counted_in_it() {
        let cpu = os::current_cpu().unwrap();
        let mut watch = Watch::new(cpu);
        let slept = watch.sample(|| std::thread::sleep(std::time::Duration::from_millis(5)));
        assert!(slept.ns >= 5e6);
        assert!(slept.clock_hz > 0.0);
    }
}
