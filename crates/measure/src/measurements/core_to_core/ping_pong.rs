//! One side of a ping-pong on the lines of one sample, in either way of handing over.

use kernels::handover::{Way, hand_over, swap_over};
use record::Handover;

/// Loads before a side gives up and sees whether it should go on: 0.1 to 0.2 ms on cores of today, a hundred times the
/// slowest hand-over.
pub(crate) const PATIENCE: u64 = 200_000;

/// Tries to compare and swap that take as long, on a line that nobody else takes.
const PATIENCE_TO_SWAP: u64 = 20_000;

/// Lines that a sample uses one after the other, the same rounds on each. In which slice of a cache a line has its
/// place is chance, and worth ±15 % on a mesh of slices: a figure of one line is that line's, not the pair's.
pub(crate) const LINES: usize = 8;

/// Distance of lines: neighbours of 64 bytes are fetched in pairs.
pub(crate) const LINES_APART: usize = 128;

/// The lines of one sample.
pub(crate) fn lines(start: *mut u64) -> impl Iterator<Item = *mut u64> {
    (0..LINES).map(move |index| start.wrapping_byte_add(index * LINES_APART))
}

/// Runs one side to its end; `(rounds done, whether a wait was in vain)`. Gives up when `enough` says so.
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
        // SAFETY: the caller's promise; going on where it stopped as the function's description says.
        done += unsafe { way(line, first + 2 * done, rounds - done, patience) };
        if done >= rounds || enough() {
            return (done, waited);
        }
        // Spinning on, not giving way: two sides that give way by turns on a busy machine hardly ever meet.
        waited = true;
    }
}

#[cfg(test)]
mod tests {
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
            // SAFETY: a fresh page that nobody else touches.
            let (done, waited) = unsafe { ping_pong(how, page.cast(), 0, 100, enough) };
            let reported = "one store, then three waits in vain";
            assert_eq!((done, waited, asked.get()), (1, true, 3), "{how:?}: {reported}");
        }
    }
}
