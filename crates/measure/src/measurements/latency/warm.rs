//! Brings the caches to the state that results from an endless chase through a working set.

use std::time::{Duration, Instant};

use crate::budget::Depth;
use crate::cycle::{Cycle, LINE};

/// Maximum size of a set that is warmed by chasing it twice.
const SMALL: usize = 2 << 20;

/// Number of laps over the pages after which most lines of the page table are as old as in an endless chase. Pages are
/// visited at random, so a share of e⁻³ of the previous state remains.
const PAGE_LAPS: usize = 3;

/// Hops between two time checks: under a millisecond on any current machine.
const STRIDE: u64 = 2_048;

/// Assumed time of a hop that misses the caches and the TLB, s. Used only for planning.
const HOP_SECONDS: f64 = 250e-9;

/// Maximum time for a set to settle, unless the minimum number of hops ([`at_least`]) takes longer.
fn patience(depth: Depth) -> Duration {
    Duration::from_millis(depth.pick(25, 60, 300))
}

/// Number of hops after which a set is settled: one lap, after which every line is as old as in an endless chase.
fn lap(bytes: usize) -> u64 {
    (bytes / LINE) as u64
}

/// Minimum number of hops; applies even if the time is too short for a lap.
fn at_least(bytes: usize, page: usize) -> u64 {
    (PAGE_LAPS * bytes.div_ceil(page)) as u64
}

/// Seconds that [`warm`] may need in addition to reading the set once; used for planning a curve.
pub(super) fn settling(bytes: usize, page: usize, depth: Depth) -> f64 {
    if bytes <= SMALL {
        return 0.0;
    }
    let within = (patience(depth).as_secs_f64() / HOP_SECONDS) as u64;
    lap(bytes).min(within.max(at_least(bytes, page))) as f64 * HOP_SECONDS
}

/// Warms the set. Returns the duration of the part that grows with the set's size, in seconds.
///
/// Larger sets are first read once in a scattered order, with many loads in flight. Because of these fast loads, the set then occupies far
/// more of a shared cache than it does during a chase, which reuses its lines and page tables much less often. A chase therefore follows
/// and continues until the set occupies only as much of the cache as a chase can keep. Without this chase, loads on a shared machine were
/// up to 50 % faster directly after the reading than some milliseconds later.
pub(super) fn warm(cycle: &mut Cycle, page: usize, depth: Depth, out_of_time: impl Fn() -> bool) -> f64 {
    let (from, bytes) = (Instant::now(), cycle.bytes());
    if bytes <= SMALL {
        cycle.walk(2 * lap(bytes));
        return from.elapsed().as_secs_f64();
    }
    cycle.touch_scattered();
    let read = from.elapsed();
    settle(cycle, page, depth, out_of_time);
    read.as_secs_f64()
}

/// Chases a large set until only the chase determines which of its lines and page tables remain in the caches.
pub(super) fn settle(cycle: &mut Cycle, page: usize, depth: Depth, out_of_time: impl Fn() -> bool) {
    let (from, bytes) = (Instant::now(), cycle.bytes());
    let mut hops = 0;
    while hops < lap(bytes)
        && (hops < at_least(bytes, page) || from.elapsed() < patience(depth))
        && !out_of_time()
    {
        cycle.walk(STRIDE);
        hops += STRIDE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use os::mapping::Page;
    use std::cell::Cell;

    #[test]
    fn a_large_set_is_chased_a_lap_or_over_all_its_pages() {
        assert_eq!(settling(SMALL, 4096, Depth::Quick), 0.0);
        // A lap of 4 MiB is short; a lap of 128 MiB is ended by the time limit; for 1 GiB on base pages, the pages need
        // longer than that limit.
        let hops = |bytes, page| (settling(bytes, page, Depth::Quick) / HOP_SECONDS).round();
        assert_eq!(hops(4 << 20, 4096), 65_536.0);
        assert_eq!(hops(128 << 20, 2 << 20), 100_000.0);
        assert_eq!(hops(1 << 30, 4096), 786_432.0);
        assert_eq!(hops(1 << 30, 2 << 20), 100_000.0);
    }

    #[test]
    fn warming_ends_when_time_is_out() {
        let (mut cycle, _) = Cycle::new(4 << 20, Page::Base, None).unwrap();
        cycle.grow_to(4 << 20);
        let asked = Cell::new(0);
        let out_of_time = || {
            asked.set(asked.get() + 1);
            asked.get() > 3
        };
        warm(&mut cycle, 4096, Depth::Full, out_of_time);
        assert_eq!(asked.get(), 4);
    }
}
