//! For how long the machine slept.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Two clocks that are read further apart than this were read by a thread that lost its CPU between them.
const APART: Duration = Duration::from_millis(1);

fn now(clock: ClockId) -> Duration {
    clock_gettime(clock).try_into().unwrap_or_default()
}

/// The time since boot in which the machine was suspended: the monotonic clock stands still then, the clock of the time since
/// boot does not (clock_gettime(2)). To some milliseconds.
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
