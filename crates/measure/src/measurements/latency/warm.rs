//! Brings a working set to the state in which an endless chase would leave the caches.

use std::time::{Duration, Instant};

use crate::budget::Depth;
use crate::cycle::{Cycle, LINE};

/// Up to this size a set is warmed by chasing it twice.
const SMALL: usize = 2 << 20;

/// Laps over the pages after which most of their table's lines are as old as in an endless chase: pages come at random,
/// so the share e⁻³ of the state before remains.
const PAGE_LAPS: usize = 3;

/// Hops between two time checks: under a millisecond on any machine today.
const STRIDE: u64 = 2_048;

/// The time of a hop beyond the caches and the TLB, only for plans, s.
const HOP_SECONDS: f64 = 250e-9;

/// How long a chase may take to settle, if a lap over the set's pages does not need more.
fn patience(depth: Depth) -> Duration {
    Duration::from_millis(depth.pick(25, 60, 300))
}

/// Hops after which a set is settled: one lap, after which the age of every line is a chase's.
fn lap(bytes: usize) -> u64 {
    (bytes / LINE) as u64
}

/// Hops needed even if a lap takes too long.
fn at_least(bytes: usize, page: usize) -> u64 {
    (PAGE_LAPS * bytes.div_ceil(page)) as u64
}

/// Seconds that [`warm`] may add to reading the set once, for the plan of a curve.
pub(super) fn settling(bytes: usize, page: usize, depth: Depth) -> f64 {
    if bytes <= SMALL {
        return 0.0;
    }
    let within = (patience(depth).as_secs_f64() / HOP_SECONDS) as u64;
    lap(bytes).min(within.max(at_least(bytes, page))) as f64 * HOP_SECONDS
}

/// Warms the set; returns the seconds of the part that grows with it.
///
/// Larger sets are first read once in a scattered order, with many loads in flight. At that pace a set keeps far more
/// of a shared cache than a chase can, whose lines and page tables wait thousands of times longer for their next use.
/// So a chase follows, until its own pace has settled what stays: on a shared machine loads directly after the reading
/// alone were up to half faster than those some milliseconds later.
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

/// Chases a large set until the chase alone determines what the caches keep of it and of its page tables.
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
        // A lap of 4 MiB is short; of 128 MiB the patience ends it; of 1 GiB on base pages the pages need longer.
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
