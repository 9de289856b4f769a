//! Threads that sleep: timer slack.

use crate::support::confine::Confine;
use crate::support::linespeed;
use crate::trial::{Side, Trial, one_at_a_time, record_of, wanted};
use crate::worker::Worker;

/// What the kernel may delay a timer by, ns.
const SLACK: libc::c_ulong = 1_000_000;
/// Sleeps a round, and how long each is to last, ns.
const SLEEPS: (usize, i64) = (100, 2_000_000);

/// Allows timers that delay.
fn slack<C: Confine>(command: C) -> C {
    command.step(|| {
        // SAFETY: takes numbers.
        match unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, SLACK, 0, 0, 0) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    })
}

fn now() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Sleeps to a set time again and again; wake-ups in a second of median delay.
fn sleeps() -> impl FnMut() -> f64 {
    || {
        let mut late: Vec<i64> = (0..SLEEPS.0)
            .map(|_| {
                let until = now() + SLEEPS.1;
                let time = libc::timespec { tv_sec: until / 1_000_000_000, tv_nsec: until % 1_000_000_000 };
                let (clock, none) = (libc::CLOCK_MONOTONIC, std::ptr::null_mut());
                // SAFETY: the time outlives the call; no remainder is asked for.
                unsafe { libc::clock_nanosleep(clock, libc::TIMER_ABSTIME, &time, none) };
                now() - until
            })
            .collect();
        late.sort_unstable();
        1e9 / late[late.len() / 2].max(1) as f64
    }
}

#[test]
fn a_timer_slack_of_a_millisecond() {
    const TEST: &str = "a_timer_slack_of_a_millisecond";
    if !wanted(TEST) {
        return;
    }
    let _alone = one_at_a_time();
    let (free, held) = (Worker::default().start(sleeps), slack(Worker::default()).start(sleeps));
    let trial = Trial {
        name: TEST,
        rule: "timer-slack",
        needs: &[],
        run: &|| record_of(slack(linespeed(["run", "--quick", "--json"]))),
        work: &|| Box::new(|side| if side == Side::Held { held.round() } else { free.round() }),
    };
    trial.is_named_first();
}
