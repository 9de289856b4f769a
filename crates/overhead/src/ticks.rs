//! Time by the counter that user mode, the kernel and a guest all read.

use std::time::{Duration, Instant};

use kernels::counter;

/// How long the counter is held against the kernel's clock: their readings are 50 ns apart at most, so the rate is
/// known to one in a million.
const CALIBRATION: Duration = Duration::from_millis(50);

/// The counter's rate: one for all layers of a run, so that their times are in proportion whatever its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ticks {
    hz: f64,
}

impl Ticks {
    /// Finds the rate out: from the architecture where it tells, else against the kernel's clock, in 50 ms.
    pub fn calibrate() -> Self {
        if let Some(hz) = counter::architectural_hz() {
            return Self { hz: hz as f64 };
        }
        let (from, ticks) = (Instant::now(), counter::ticks_ordered());
        while from.elapsed() < CALIBRATION {
            std::hint::spin_loop();
        }
        let (elapsed, ticks) = (from.elapsed(), counter::ticks_ordered().wrapping_sub(ticks));
        Self { hz: ticks as f64 / elapsed.as_secs_f64() }
    }

    /// Ticks a second.
    pub fn hz(self) -> f64 {
        self.hz
    }

    /// Ticks as seconds.
    pub fn seconds(self, ticks: u64) -> f64 {
        ticks as f64 / self.hz
    }

    /// The counter now, after everything before it.
    pub fn now(self) -> u64 {
        counter::ticks_ordered()
    }

    /// Seconds since the counter stood at `from`.
    pub fn since(self, from: u64) -> f64 {
        // A counter that steps back between CPUs makes a time of 0, which no caller takes for one.
        self.seconds(self.now().saturating_sub(from))
    }
}

#[cfg(test)]
mod tests {
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
