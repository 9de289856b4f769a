//! One cache line handed back and forth between two CPUs: what it takes a value to get from one to the other.
//!
//! Each side spins on a plain load, without a hint that would make it look away, and stores only when it is
//! its turn, so that the line moves twice a round and never for nothing. (A compare-and-exchange in the spin,
//! as some tools have it, takes the line for writing at every look.) On aarch64 load-acquire and
//! store-release, which promise what plain moves promise on x86-64: a hand-over as a lock makes it. It stands
//! outside of the [`crate::inventory()`]: how often it looks is what the hardware decides.

use std::arch::asm;

/// Waits until the value at `line` is `first`, stores `first + 1`, waits for `first + 2`, and so on for
/// `rounds` rounds; returns how many rounds were completed.
///
/// Two threads make a game: one with `first` 0 and the other with `first` 1, on a line that begins as 0. The
/// values only grow, so no round can be mistaken for another. After `n` rounds of both the line holds `2 n`
/// and the value has crossed over `2 n - 1` times between the two.
///
/// A side gives up when one of its waits has taken `patience` looks in vain (at least one look is made), and
/// leaves the line as it is: a partner that is gone or not running hangs nobody. It may be called again with
/// `first` more by twice the rounds returned, to go on where it stopped.
///
/// # Safety
/// `line` must be aligned to 8 bytes and valid for reading and writing for as long as the call runs, and
/// nothing but this function and atomic accesses may touch it meanwhile.
#[inline(never)]
pub unsafe fn hand_over(line: *mut u64, first: u64, rounds: u64, patience: u64) -> u64 {
    if rounds == 0 {
        return 0;
    }
    let patience = patience.max(1);
    let left: u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads and writes the 8 bytes at `line`, which the caller vouches for, and only registers that
    // are named. Each wait ends after `patience` looks and the loop after `rounds` waits.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "cmp qword ptr [{line}], {value}",
            "je 3f",
            "sub {looks}, 1",
            "jnz 2b",
            "jmp 4f",
            "3:",
            "add {value}, 1",
            "mov qword ptr [{line}], {value}",
            "add {value}, 1",
            "mov {looks}, {patience}",
            "sub {left}, 1",
            "jnz 2b",
            "4:",
            line = in(reg) line,
            value = inout(reg) first => _,
            looks = inout(reg) patience => _,
            patience = in(reg) patience,
            left = inout(reg) rounds => left,
            options(nostack)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as on x86-64.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "ldar {seen}, [{line}]",
            "cmp {seen}, {value}",
            "b.eq 3f",
            "subs {looks}, {looks}, #1",
            "b.ne 2b",
            "b 4f",
            "3:",
            "add {value}, {value}, #1",
            "stlr {value}, [{line}]",
            "add {value}, {value}, #1",
            "mov {looks}, {patience}",
            "subs {left}, {left}, #1",
            "b.ne 2b",
            "4:",
            line = in(reg) line,
            seen = out(reg) _,
            value = inout(reg) first => _,
            looks = inout(reg) patience => _,
            patience = in(reg) patience,
            left = inout(reg) rounds => left,
            options(nostack)
        );
    }
    rounds - left
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Plays one side to its end, however often the partner is not running meanwhile; the rounds completed.
    fn play(line: &AtomicU64, first: u64, rounds: u64) -> u64 {
        let mut done = 0;
        for _ in 0..1_000_000 {
            // SAFETY: the line is an atomic that outlives the call and is touched atomically only.
            done += unsafe { hand_over(line.as_ptr(), first + 2 * done, rounds - done, 20_000) };
            if done == rounds {
                break;
            }
            std::thread::yield_now();
        }
        done
    }

    #[test]
    fn the_line_goes_back_and_forth_as_often_as_asked() {
        let line = AtomicU64::new(0);
        const ROUNDS: u64 = 2_000;
        let (one, other) = std::thread::scope(|scope| {
            let other = scope.spawn(|| play(&line, 1, ROUNDS));
            (play(&line, 0, ROUNDS), other.join().unwrap())
        });
        assert_eq!((one, other), (ROUNDS, ROUNDS), "a time would be divided by rounds that were not made");
        assert_eq!(line.load(Ordering::Relaxed), 2 * ROUNDS);
    }

    #[test]
    fn a_partner_that_does_not_come_hangs_nobody() {
        let line = AtomicU64::new(0);
        // SAFETY: as above; no other thread knows the line.
        let done = |first, rounds, patience| unsafe { hand_over(line.as_ptr(), first, rounds, patience) };
        assert_eq!(done(1, 5, 1000), 0, "it is not this side's turn");
        assert_eq!(line.load(Ordering::Relaxed), 0, "who gives up must leave the line alone");
        assert_eq!(done(0, 5, 1000), 1, "one round, then nobody answers");
        assert_eq!(line.load(Ordering::Relaxed), 1);
        assert_eq!(done(1, 0, 1000), 0, "no round was asked for");
        assert_eq!(done(1, 1, 0), 1, "no patience is still one look");
        assert_eq!(line.load(Ordering::Relaxed), 2);
    }
}
