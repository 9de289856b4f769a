//! Lays out the cycle of lines that [`chase`](crate::chase) follows, and reads the lines in a scattered order. This
//! code is not timed, but it determines how quickly a large working set is created.

use crate::prefetch::prefetch_for_write;

/// Distance between loads: one cache line on nearly all machines since 2000. On machines with 128-byte lines (POWER,
/// Apple), two loads share a line, which is visible in the first octaves of the curve.
pub const LINE: usize = 64;

/// Number of lines that are drawn and prefetched ahead while a cycle grows: slightly more than current cores keep in
/// flight.
const AHEAD: usize = 24;

/// Grows a cycle from its first `lines` lines to `wanted` lines. Each new line is inserted after a randomly drawn line. If `lines` is 0,
/// the first line points to itself.
///
/// # Safety
/// `memory` must be aligned to a line and contain `wanted` lines that nothing else uses at the same time. The first
/// `lines` of them must contain a cycle laid out by this function.
pub unsafe fn grow(memory: *mut u8, mut lines: usize, wanted: usize, random: &mut Random) {
    let line = |index: usize| memory.wrapping_add(index * LINE).cast::<*mut u8>();
    if lines == 0 && wanted > 0 {
        // SAFETY: the first line is within the memory.
        unsafe { *line(0) = memory };
        lines = 1;
    }
    // Lines are drawn and prefetched ahead, so that they are fetched in parallel instead of one after another.
    // (Otherwise, the core serializes them: at multiples of 64 bytes, most loads share their page offset with a
    // pending store.)
    let mut ahead = [0usize; AHEAD];
    while lines < wanted {
        let batch = AHEAD.min(wanted - lines);
        for (index, place) in ahead[..batch].iter_mut().enumerate() {
            *place = random.below(lines + index);
            prefetch_for_write(line(*place).cast_const().cast());
        }
        for place in &ahead[..batch] {
            let (new, after) = (line(lines), line(*place));
            // SAFETY: both lines are within the memory and aligned. The line `after` is already in the cycle, so it has been written.
            unsafe {
                *new = *after;
                *after = new.cast();
            }
            lines += 1;
        }
    }
}

/// Reads the first word of each of `lines` lines once, with consecutive reads far apart.
///
/// # Safety
/// `memory` must be aligned to a line and contain `lines` written lines.
pub unsafe fn touch_scattered(memory: *const u8, lines: usize) {
    let step = scattered_step(lines);
    let (mut at, mut sum) = (0, 0usize);
    for _ in 0..lines {
        // SAFETY: `at` is below `lines`.
        sum = sum.wrapping_add(unsafe { memory.add(at * LINE).cast::<usize>().read_volatile() });
        at += step;
        if at >= lines {
            at -= lines;
        }
    }
    std::hint::black_box(sum);
}

/// A step near the golden section of `lines` and coprime to `lines`, so that every line is visited once, with
/// consecutive visits far apart.
fn scattered_step(lines: usize) -> usize {
    let mut step = ((lines as f64 * 0.618_033_988_75) as usize).max(1);
    while greatest_common_divisor(step, lines) != 1 {
        step += 1;
    }
    step
}

fn greatest_common_divisor(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// splitmix64 (Steele, Lea, Flood 2014): a few cycles per number, and random enough to defeat prefetchers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts a sequence from a seed.
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

    #[test]
    fn a_scattered_step_comes_past_every_line_once() {
        for lines in [1usize, 2, 3, 64, 97, 1000] {
            let step = scattered_step(lines);
            let mut seen: Vec<usize> = (0..lines).map(|index| index * step % lines).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..lines), "{lines} lines, step {step}");
        }
    }
}
