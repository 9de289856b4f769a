//! One random Hamiltonian cycle through the lines of a working set, for dependent loads.

use std::io;

use kernels::cycle;
pub(crate) use kernels::cycle::{LINE, Random};

use os::mapping::{Mapping, Page};

/// A growing cycle. It visits each of the first `lines` lines once, in an order drawn uniformly from all cyclic orders,
/// so that no prefetcher finds a stride and no predictor can learn a short cycle.
///
/// A new line is inserted after a line drawn at random. By induction, each cyclic order of n + 1 lines results from
/// exactly one order of n lines and one position, all equally likely, so the result is as random as Sattolo's shuffle
/// of all lines. A curve over many sizes therefore needs one pass over the largest size instead of one pass per size.
#[derive(Debug)]
pub(crate) struct Cycle {
    mapping: Mapping,
    lines: usize,
    random: Random,
    /// The line at which the last walk ended.
    at: usize,
}

impl Cycle {
    /// A cycle of one line in a mapping with room for `bytes`, bound to `node` if given. If binding fails, the kernel's error is returned
    /// together with the cycle; the cycle's memory is then on the node of the thread that first touches it.
    pub(crate) fn new(bytes: usize, page: Page, node: Option<u32>) -> io::Result<(Self, Option<io::Error>)> {
        let mapping = Mapping::new(bytes, page)?;
        let bound = node.and_then(|node| os::bind_to_node(&mapping, node).err());
        mapping.secure()?;
        let mut cycle = Self { mapping, lines: 0, random: Random::new(0x9E37_79B9_7F4A_7C15), at: 0 };
        cycle.grow_to(LINE);
        Ok((cycle, bound))
    }

    /// Size of the cycle, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.lines * LINE
    }

    /// Maximum size of the cycle, bytes.
    pub(crate) fn capacity(&self) -> usize {
        self.mapping.len()
    }

    /// Releases the memory for other uses: returns the mapping and the number of its touched bytes.
    pub(crate) fn into_mapping(self) -> (Mapping, usize) {
        let touched = self.bytes();
        (self.mapping, touched)
    }

    /// The mapping that contains the cycle.
    pub(crate) fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// Draws `count` starting points from the whole cycle.
    pub(crate) fn starts(&mut self, count: usize) -> Vec<*const u8> {
        (0..count)
            .map(|_| {
                let line = self.random.below(self.lines);
                self.line(line).cast_const().cast()
            })
            .collect()
    }

    fn line(&self, index: usize) -> *mut *mut u8 {
        debug_assert!(index * LINE < self.mapping.len());
        // SAFETY: an index is either below `lines` or that of the line being added, which `grow_to` keeps within the mapping.
        unsafe { self.mapping.start().add(index * LINE).cast() }
    }

    /// Grows the cycle to `bytes` (at most its capacity).
    pub(crate) fn grow_to(&mut self, bytes: usize) {
        let wanted = bytes.min(self.capacity()) / LINE;
        if wanted > self.lines {
            // SAFETY: the mapping contains `wanted` lines, of which the first `lines` form the cycle; only this thread
            // uses it.
            unsafe { cycle::grow(self.mapping.start(), self.lines, wanted, &mut self.random) };
            self.lines = wanted;
        }
    }

    /// Reads each line once, in scattered order. This leaves the caches in the same state as one lap of chasing, but
    /// with many loads in flight instead of one. (After a sweep in address order, working sets of about the size of the last-level cache
    /// were up to 50 % slower.)
    pub(crate) fn touch_scattered(&self) {
        // SAFETY: the first `lines` lines of the mapping were written when they joined the cycle.
        unsafe { cycle::touch_scattered(self.mapping.start(), self.lines) };
    }

    /// Follows `hops` links from line `at` and returns the last line.
    pub(crate) fn chase(&self, at: usize, hops: u64) -> usize {
        let from = self.line(at % self.lines);
        // SAFETY: every line on the cycle contains the address of a line on the cycle, and `from` is one of them.
        let end = unsafe { kernels::chase::chase(from.cast_const().cast(), hops) };
        (end as usize - self.mapping.start() as usize) / LINE
    }

    /// The line after line `at`.
    pub(crate) fn next(&self, at: usize) -> usize {
        // SAFETY: every line on the cycle contains the address of a line on the cycle.
        let next = unsafe { *self.line(at % self.lines) };
        (next as usize - self.mapping.start() as usize) / LINE
    }

    /// Follows `hops` links from the end of the last walk.
    pub(crate) fn walk(&mut self, hops: u64) {
        self.at = self.chase(self.at, hops);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The order of the lines along the cycle, from line 0.
    fn order(cycle: &Cycle) -> Vec<usize> {
        let first = cycle.mapping().start().cast_const();
        let start = first as usize;
        let mut at = first;
        let mut seen = Vec::new();
        loop {
            seen.push((at as usize - start) / LINE);
            // SAFETY: `at` is a line of the cycle, which contains the address of the next line.
            at = unsafe { *at.cast::<*const u8>() };
            if at == first || seen.len() > cycle.lines {
                return seen;
            }
        }
    }

    #[test]
    fn every_line_is_on_the_cycle_once_at_every_size() {
        let (mut cycle, _) = Cycle::new(1 << 20, Page::Base, None).unwrap();
        for bytes in [64, 128, 4096, 40_000, 1 << 20] {
            cycle.grow_to(bytes);
            let mut order = order(&cycle);
            assert_eq!(order.len(), bytes / LINE);
            order.sort_unstable();
            assert!(order.iter().enumerate().all(|(i, line)| i == *line));
        }
    }

    #[test]
    fn all_cyclic_orders_of_four_lines_come_equally_often() {
        let mut counts: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
        for seed in 0..6000 {
            let (mut cycle, _) = Cycle::new(4096, Page::Base, None).unwrap();
            cycle.random = Random::new(seed);
            cycle.grow_to(4 * LINE);
            *counts.entry(order(&cycle)).or_default() += 1;
        }
        // There are six orders, with 1,000 expected of each; five standard deviations are 150.
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn steps_have_no_stride() {
        let (mut cycle, _) = Cycle::new(1 << 20, Page::Base, None).unwrap();
        cycle.grow_to(1 << 20);
        let order = order(&cycle);
        let short = order.windows(2).filter(|w| w[0].abs_diff(w[1]) <= 2).count();
        // About 4 of 16,384 steps land within two lines.
        assert!(short < 30, "{short} steps are to a neighbour");
    }
}
