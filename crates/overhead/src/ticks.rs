//! Time measured with the counter that user mode, the kernel and guests all read.

use kernels::counter;

/// The rate of the counter. All layers of a run use the same rate, so that the ratios of their times are correct even
/// if the rate is slightly wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ticks {
    hz: f64,
}

impl Ticks {
    /// Determines the rate. If the architecture does not report the rate, this takes 50 ms.
    pub fn calibrate() -> Self {
        Self { hz: measure::watch::ticks_a_second() }
    }

    /// Converts ticks to seconds.
    pub fn seconds(self, ticks: u64) -> f64 {
        ticks as f64 / self.hz
    }

    /// The current counter value, read after all preceding instructions have been executed.
    pub fn now(self) -> u64 {
        counter::ticks_ordered()
    }

    /// Seconds since the counter had the value `from`.
    pub fn since(self, from: u64) -> f64 {
        // If the counter differs between CPUs and appears to go backwards, the result is 0, which all callers reject.
        self.seconds(self.now().saturating_sub(from))
    }

    /// The duration of the fastest of several runs of `work`, seconds.
    pub fn fastest(self, runs: usize, work: impl Fn()) -> f64 {
        let times = (0..runs).map(|_| {
            let from = self.now();
            work();
            self.since(from)
        });
        times.fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_sleep_lasts_as_long_by_the_counter_as_by_the_clock() {
        let ticks = Ticks::calibrate();
        let (clock, from) = (Instant::now(), ticks.now());
        std::thread::sleep(Duration::from_millis(30));
        let (seconds, clock) = (ticks.since(from), clock.elapsed().as_secs_f64());
        assert!(
            seconds >= 0.029 && seconds <= clock * 1.01,
            "{seconds} s by the counter, {clock} s by the clock"
        );
    }
}
