//! The time for which the machine was suspended.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// If two clock reads are further apart than this, the reading thread lost its CPU in between.
const APART: Duration = Duration::from_millis(1);

fn now(clock: ClockId) -> Duration {
    clock_gettime(clock).try_into().unwrap_or_default()
}

/// The total time since boot for which the machine was suspended. During suspension, the monotonic clock stops, but the
/// boot-time clock does not (clock_gettime(2)). The result is accurate to a few milliseconds.
pub fn suspended() -> Duration {
    let mut asleep = Duration::ZERO;
    for _ in 0..10 {
        let awake = now(ClockId::Monotonic);
        asleep = now(ClockId::Boottime).saturating_sub(awake);
        if now(ClockId::Monotonic).saturating_sub(awake) < APART {
            break;
        }
    }
    asleep
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_machine_that_is_awake_sleeps_no_longer() {
        let before = super::suspended();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(super::suspended().abs_diff(before).as_secs_f64() < 0.5);
    }
}
