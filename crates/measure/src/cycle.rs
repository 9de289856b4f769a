//! One random Hamiltonian cycle through the lines of a working set, for dependent loads.

use std::io;

use crate::mapping::{Mapping, Page};

/// Distance of the loads: one cache line of every machine since 2000. On parts with 128-byte lines (POWER, Apple)
/// two loads share a line, which the curve's first octaves show.
pub const LINE: usize = 64;

/// Lines drawn and fetched ahead while growing: as many as the cores of today keep in flight, and some.
const AHEAD: usize = 24;

/// A cycle that grows: every line of the first `lines` is on it once, in an order drawn uniformly from all cyclic
/// orders, so that no prefetcher finds a stride and no short cycle can be learnt.
///
/// Growing by a line inserts it after a line drawn at random. By induction each cyclic order of n + 1 lines comes
/// from exactly one order of n lines and one place, all equally likely, so the result is as random as Sattolo's
/// shuffle of the whole; but a curve over many sizes costs one pass over the largest instead of one for each.
#[derive(Debug)]
pub struct Cycle {
    mapping: Mapping,
    lines: usize,
    random: Random,
}

impl Cycle {
    /// A cycle of one line in a mapping that can hold `bytes`; on `node` if given (an error of the kernel is
    /// returned beside the cycle, which then takes memory where first touched).
    pub fn new(bytes: usize, page: Page, node: Option<u32>) -> io::Result<(Self, Option<io::Error>)> {
        let mapping = Mapping::new(bytes, page)?;
        let bound = node.and_then(|node| crate::sys::bind_to_node(&mapping, node).err());
        mapping.secure()?;
        let mut cycle = Self { mapping, lines: 0, random: Random::new(0x9E37_79B9_7F4A_7C15) };
        cycle.grow_to(LINE);
        Ok((cycle, bound))
    }

    /// Bytes on the cycle.
    pub fn bytes(&self) -> usize {
        self.lines * LINE
    }

    /// Bytes it can grow to.
    pub fn capacity(&self) -> usize {
        self.mapping.len()
    }

    /// Gives the memory up for other uses: the mapping and how much of it was touched.
    pub fn into_mapping(self) -> (Mapping, usize) {
        let touched = self.bytes();
        (self.mapping, touched)
    }

    /// The mapping.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// `count` starting points drawn from the whole cycle.
    pub fn starts(&mut self, count: usize) -> Vec<*const u8> {
        (0..count)
            .map(|_| {
                let line = self.random.below(self.lines);
                self.line(line).cast_const().cast()
            })
            .collect()
    }

    fn line(&self, index: usize) -> *mut *mut u8 {
        debug_assert!(index * LINE < self.mapping.len());
        // SAFETY: indices are below `lines`, or the line being added, which `grow_to` keeps within the mapping.
        unsafe { self.mapping.start().add(index * LINE).cast() }
    }

    /// Grows the cycle to `bytes` (at most its capacity).
    pub fn grow_to(&mut self, bytes: usize) {
        let wanted = bytes.min(self.capacity()) / LINE;
        if self.lines == 0 && wanted > 0 {
            let first = self.line(0);
            // SAFETY: the first line lies within the mapping; alone, it points to itself.
            unsafe { *first = first.cast() };
            self.lines = 1;
        }
        // Drawn and fetched ahead: the lines are on their way together instead of one after the other. (Left to
        // itself the core takes turns too: at multiples of 64 bytes most loads share their page offset with a store
        // that still waits.)
        let mut ahead = [0usize; AHEAD];
        while self.lines < wanted {
            let batch = AHEAD.min(wanted - self.lines);
            for (index, place) in ahead[..batch].iter_mut().enumerate() {
                *place = self.random.below(self.lines + index);
                kernels::prefetch::prefetch_for_write(self.mapping.start().wrapping_add(*place * LINE));
            }
            for place in &ahead[..batch] {
                let (new, after) = (self.line(self.lines), self.line(*place));
                // SAFETY: both lines lie within the mapping, are aligned to 64 bytes, and only this thread has them;
                // `after` is below `lines`, so it was written when it joined the cycle.
                unsafe {
                    *new = *after;
                    *after = new.cast();
                }
                self.lines += 1;
            }
        }
    }

    /// Reads each line once, scattered: leaves the caches as a lap of chasing does, at many loads in flight instead of
    /// one. (A sweep in address order does not: working sets around the size of the last level then read up to a half
    /// slower.)
    pub fn touch_scattered(&self) {
        // A step near the golden section of the set, coprime to it, comes past every line once and never near the last.
        let mut step = ((self.lines as f64 * 0.618_033_988_75) as usize).max(1);
        while greatest_common_divisor(step, self.lines) != 1 {
            step += 1;
        }
        let (mut at, mut sum) = (0, 0usize);
        for _ in 0..self.lines {
            // SAFETY: the line is within the mapping and was written when it joined the cycle.
            sum = sum.wrapping_add(unsafe { self.line(at).read_volatile() } as usize);
            at += step;
            if at >= self.lines {
                at -= self.lines;
            }
        }
        std::hint::black_box(sum);
    }

    /// Follows `hops` links from `at` and returns where it ends.
    pub fn chase(&self, at: Place, hops: u64) -> Place {
        let from = self.line(at.0 % self.lines);
        // SAFETY: every line on the cycle holds the address of a line on the cycle, and `from` is one of them.
        let end = unsafe { kernels::chase::chase(from.cast_const().cast(), hops) };
        Place((end as usize - self.mapping.start() as usize) / LINE)
    }
}

fn greatest_common_divisor(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A line of a cycle, where a chase begins or ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place(usize);

/// splitmix64 (Steele, Lea, Flood 2014): a few cycles a number, good enough to defeat prefetchers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound` (Lemire's multiplication; the bias is below 2⁻³² for any set that fits in memory).
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.number()) * bound as u128) >> 64) as usize
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
            // SAFETY: `at` is a line of the cycle, which holds the next one's address.
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
        // Six orders, 1000 expected of each; five standard deviations are 150.
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_step_coprime_to_the_set_is_found_at_any_size() {
        for lines in [1usize, 2, 3, 64, 97, 1000] {
            let (mut cycle, _) = Cycle::new(1 << 20, Page::Base, None).unwrap();
            cycle.grow_to(lines * LINE);
            // Ends, and within the mapping: a step that were a multiple would leave lines out or run over.
            cycle.touch_scattered();
        }
        assert_eq!(greatest_common_divisor(12, 18), 6);
    }

    #[test]
    fn steps_have_no_stride() {
        let (mut cycle, _) = Cycle::new(1 << 20, Page::Base, None).unwrap();
        cycle.grow_to(1 << 20);
        let order = order(&cycle);
        let short = order.windows(2).filter(|w| w[0].abs_diff(w[1]) <= 2).count();
        // Of 16,384 steps about 4 in 16,384 land within two lines.
        assert!(short < 30, "{short} steps are to a neighbour");
    }
}
