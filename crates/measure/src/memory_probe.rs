//! Measures the current memory latency, however busy the machine is: a few hundred lines are flushed from all caches
//! and loaded again, one after another.
//!
//! Such a probe needs no permissions or counters, and also shows the load from a guest's noisy neighbors (Sim, Iyer,
//! Solihin and others, "Software-based memory probes", HP Laboratories HPL-2013-3, used it to find contention that
//! counters miss). A flushed line may cost more than an evicted one, so the probe is compared with its own results on
//! the idle machine.

use std::io;

use kernels::{evict, flush};
use os::mapping::{HUGE, Page};
use record::Summary;

use crate::cycle::{Cycle, LINE};
use crate::watch::{involuntary_switches, ns_since, reading_cost_ns};

/// Loads per timed burst: a few µs, so that few bursts are interrupted.
const HOPS: u64 = 32;
/// Bursts per reading.
const BURSTS: usize = 8;

/// The probe's memory, which is as large as one huge page. The chain of lines stays within it, so no page walk is timed.
#[derive(Debug)]
pub struct MemoryProbe {
    cycle: Cycle,
    at: usize,
    reading_cost: f64,
}

impl MemoryProbe {
    /// A probe in memory on `node`, or wherever the kernel allocates it; `None` if this CPU cannot flush lines in user
    /// mode.
    pub fn new(node: Option<u32>) -> io::Result<Option<Self>> {
        if !flush::available() {
            return Ok(None);
        }
        let (mut cycle, bound) = Cycle::new(HUGE, Page::Any, node)?;
        if let Some(error) = bound {
            return Err(error);
        }
        cycle.grow_to(HUGE);
        Ok(Some(Self { cycle, at: 0, reading_cost: reading_cost_ns() }))
    }

    /// Takes a reading, in ns per load: the median of the uninterrupted bursts, or `None` if all bursts were
    /// interrupted.
    pub fn read(&mut self) -> Option<f64> {
        let bursts: Vec<f64> = (0..BURSTS).filter_map(|_| self.burst()).collect();
        (bursts.len() > BURSTS / 2).then(|| Summary::from_samples(&bursts).median)
    }

    fn burst(&mut self) -> Option<f64> {
        // The next lines of the cycle can only be determined by following the cycle. This loads them into the caches,
        // so they are then flushed.
        let mut next = self.at;
        for _ in 0..HOPS {
            let line = self.cycle.mapping().start().wrapping_add(next * LINE);
            next = self.cycle.next(next);
            // SAFETY: the line is within the mapping, and `new` checked that this CPU can flush lines.
            unsafe { evict::evict(line.cast_const(), LINE) };
        }
        let switches = involuntary_switches();
        let from = std::time::Instant::now();
        self.at = self.cycle.chase(self.at, HOPS);
        let ns = ns_since(from) - self.reading_cost;
        (involuntary_switches() == switches && ns > 0.0).then_some(ns / HOPS as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_were_flushed_come_from_farther_than_those_that_were_not() {
        let Some(mut probe) = MemoryProbe::new(None).unwrap() else {
            println!("skipped: this CPU cannot flush a line in user mode");
            return;
        };
        let read: Vec<f64> = (0..200).filter_map(|_| probe.read()).collect();
        let flushed = Summary::from_samples(&read).median;
        let near = |times: u64| {
            let from = std::time::Instant::now();
            for _ in 0..times {
                probe.cycle.chase(0, HOPS);
            }
            ns_since(from) / (times * HOPS) as f64
        };
        let near = Summary::from_samples(&[near(300), near(300), near(300), near(300), near(300)]).median;
        // An instruction interpreter (user-mode emulation) takes longer for a load than any cache, and has no cache to flush.
        if near > 5.0 {
            println!("skipped: a load from the nearest cache takes {near} ns here");
            return;
        }
        assert!(flushed > 3.0 * near, "{flushed} ns per load after a flush, {near} ns without");
    }
}
