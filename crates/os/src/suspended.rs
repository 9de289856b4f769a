//! For how long the machine slept.

use std::time::Duration;

/// Two clocks that are read further apart than this were read by a thread that lost its CPU between them.
const APART: Duration = Duration::from_millis(1);

fn now(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the timespec; a clock that it does not have leaves zeros.
    unsafe { libc::clock_gettime(clock, &mut time) };
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The time since boot in which the machine was suspended: the monotonic clock stands still then, the clock of the time since
/// boot does not (clock_gettime(2)). To some milliseconds.
pub fn suspended() -> Duration {
    let mut asleep = Duration::ZERO;
    for _ in 0..10 {
        let awake = now(libc::CLOCK_MONOTONIC);
        asleep = now(libc::CLOCK_BOOTTIME).saturating_sub(awake);
        if now(libc::CLOCK_MONOTONIC).saturating_sub(awake) < APART {
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
