//! The mailbox between the two threads of a pair of CPUs, and the partner, which executes the driver's commands. The
//! partner runs for the whole matrix, because starting a thread takes as long as measuring a pair.

use std::sync::atomic::{AtomicU64, Ordering};

use kernels::handover::{Way, hand_over, swap_over};
use os::pin::Pinned;
use record::Handover;

use crate::watch::{involuntary_switches, look_at_clock};

pub(super) const MOVE: u64 = 1;
pub(super) const LOOK_AT_CLOCK: u64 = 2;
pub(super) const END: u64 = 3;
/// The command for the first hand-over method; the methods in [`Handover::ALL`] have consecutive numbers from here on.
pub(super) const PING_PONG: u64 = 4;

/// Flags in an answer to a ping-pong command: whether the thread ran on a different CPU, and whether a wait was
/// unsuccessful. The lower bits of the answer count involuntary switches.
pub(super) const MOVED: u64 = 1 << 62;
pub(super) const WAITED: u64 = 1 << 61;

/// The driver's part. A command is valid once its number is written, and remains valid until the partner has answered.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Command {
    pub(super) number: AtomicU64,
    pub(super) kind: AtomicU64,
    pub(super) line: AtomicU64,
    pub(super) first: AtomicU64,
    pub(super) rounds: AtomicU64,
    /// The number of a command to abandon.
    pub(super) cancelled: AtomicU64,
}

/// The partner's part, on separate cache lines.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Answer {
    pub(super) number: AtomicU64,
    pub(super) value: AtomicU64,
}

/// The mailbox between driver and partner.
#[derive(Default)]
pub(crate) struct Mailbox {
    pub(super) command: Command,
    pub(super) answer: Answer,
}

impl Mailbox {
    /// Executes the mailbox's commands until the end command. Runs on a separate thread.
    pub(crate) fn run_partner(&self) {
        let mut pinned = None;
        let mut cpu = u32::MAX;
        let mut last = 0;
        loop {
            let number = self.next(last, pinned.is_some());
            let command = &self.command;
            let argument = |field: &AtomicU64| field.load(Ordering::Relaxed);
            let value = match argument(&command.kind) {
                MOVE => {
                    // The old pin is released first, because dropping it later would undo the new one.
                    drop(pinned.take());
                    cpu = argument(&command.first) as u32;
                    pinned = Pinned::to(cpu).ok();
                    u64::from(pinned.is_some())
                }
                kind @ PING_PONG.. => {
                    let Some(&how) = Handover::ALL.get((kind - PING_PONG) as usize) else { return };
                    let (start, first) = (argument(&command.line) as *mut u64, argument(&command.first));
                    let rounds = argument(&command.rounds);
                    let before = involuntary_switches();
                    let cancelled = || command.cancelled.load(Ordering::Acquire) >= number;
                    let mut waited = false;
                    for line in lines(start) {
                        // SAFETY: the driver keeps the lines mapped until this command is answered or this thread has
                        // ended, and only accesses them with the same function.
                        let (done, in_vain) = unsafe { ping_pong(how, line, first, rounds, cancelled) };
                        waited |= in_vain;
                        if done < rounds {
                            break;
                        }
                    }
                    let switched = involuntary_switches().saturating_sub(before);
                    let moved = os::current_cpu().is_some_and(|now| now != cpu);
                    switched | if moved { MOVED } else { 0 } | if waited { WAITED } else { 0 }
                }
                LOOK_AT_CLOCK => look_at_clock().to_bits(),
                _ => return,
            };
            last = number;
            self.answer.value.store(value, Ordering::Relaxed);
            self.answer.number.store(number, Ordering::Release);
        }
    }

    /// Waits for a command after number `last` by spinning, which keeps the clock high. While this thread is not
    /// pinned, it yields occasionally, because the driver may need the same CPU.
    fn next(&self, last: u64, pinned: bool) -> u64 {
        loop {
            for _ in 0..PATIENCE {
                let number = self.command.number.load(Ordering::Acquire);
                if number != last {
                    return number;
                }
            }
            if !pinned {
                std::thread::yield_now();
            }
        }
    }
}

/// Number of loads before a side stops waiting and checks whether to continue: 0.1 to 0.2 ms on current cores, a
/// hundred times the slowest hand-over.
pub(crate) const PATIENCE: u64 = 200_000;

/// Number of compare-and-swap attempts that, on an uncontended line, take as long as [`PATIENCE`] loads.
const PATIENCE_TO_SWAP: u64 = 20_000;

/// Lines that a sample uses one after another, with the same number of rounds on each. The cache slice of a line is
/// random and changes the result by ±15 % on a mesh, so the result from one line would not represent the pair.
pub(crate) const LINES: usize = 8;

/// Distance between lines: adjacent 64-byte lines are fetched in pairs.
pub(crate) const LINES_APART: usize = 128;

/// The lines of one sample.
pub(crate) fn lines(start: *mut u64) -> impl Iterator<Item = *mut u64> {
    (0..LINES).map(move |index| start.wrapping_byte_add(index * LINES_APART))
}

/// Runs one side of the ping-pong until its rounds are done. Returns `(rounds done, whether a wait was unsuccessful)`.
/// Stops when `enough` returns true.
///
/// # Safety
/// As for [`hand_over`].
pub(crate) unsafe fn ping_pong(
    how: Handover,
    line: *mut u64,
    first: u64,
    rounds: u64,
    enough: impl Fn() -> bool,
) -> (u64, bool) {
    let (way, patience): (Way, u64) = match how {
        Handover::Cas => (swap_over, PATIENCE_TO_SWAP),
        Handover::Store => (hand_over, PATIENCE),
    };
    let (mut done, mut waited) = (0, false);
    loop {
        // SAFETY: guaranteed by the caller; the call continues where it stopped, as the function's documentation
        // requires.
        done += unsafe { way(line, first + 2 * done, rounds - done, patience) };
        if done >= rounds || enough() {
            return (done, waited);
        }
        // The side spins instead of yielding: on a busy machine, two sides that both yield hardly ever run at the same time.
        waited = true;
    }
}

#[cfg(test)]
mod ping_pong_tests {
    use super::*;
    use crate::measurements::core_to_core::pages::Pages;

    #[test]
    fn a_vanished_partner_ends_by_patience() {
        for how in Handover::ALL {
            let mut pages = Pages::new(None).unwrap();
            let (page, _) = pages.fresh().unwrap();
            let asked = std::cell::Cell::new(0);
            let enough = || {
                asked.set(asked.get() + 1);
                asked.get() == 3
            };
            // SAFETY: a fresh page that nothing else accesses.
            let (done, waited) = unsafe { ping_pong(how, page.cast(), 0, 100, enough) };
            let reported = "one store, then three unsuccessful waits";
            assert_eq!((done, waited, asked.get()), (1, true, 3), "{how:?}: {reported}");
        }
    }
}
