//! One random cycle through every line of a region.

use crate::memory::Region;

/// Bytes between two stops: the line size of every x86-64 and of nearly every aarch64 server core.
pub const LINE: usize = 64;

/// The index of the next line for each of `lines` lines, which form one random cycle (Sattolo's shuffle: like Fisher and
/// Yates', but no element stays in its place, so that there is exactly one cycle).
///
/// Fails if there are fewer than two lines, or more lines than 32 bits can number.
pub fn sattolo(lines: usize) -> Result<Vec<u32>, String> {
    if lines < 2 {
        return Err(format!("a working set of at least {} bytes is needed", 2 * LINE));
    }
    let count = u32::try_from(lines).map_err(|_| "a working set this large has too many lines".to_owned())?;
    let mut next: Vec<u32> = (0..count).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for last in (1..lines).rev() {
        let other = below(last as u64, &mut state) as usize;
        next.swap(last, other);
    }
    Ok(next)
}

/// A number below `bound`, from the upper half of a 128-bit product; `bound` is under 2³², so that the bias is
/// below one part in 2³².
fn below(bound: u64, state: &mut u64) -> u64 {
    // xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016.
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    let drawn = state.wrapping_mul(0x2545_f491_4f6c_dd1d);
    ((u128::from(drawn) * u128::from(bound)) >> 64) as u64
}

/// Writes the cycle into `region`: each line begins with the address of the next line. Returns the address of the first line.
pub fn link(region: &Region, next: &[u32]) -> *const u8 {
    for (line, &to) in next.iter().enumerate() {
        region.store(line * LINE, region.address(to as usize * LINE) as u64);
    }
    region.address(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a cycle that closes early, the chase would use only part of the memory, like a smaller working set.
    #[test]
    fn the_cycle_visits_every_line_before_it_closes() {
        for lines in [2, 3, 64, 1000, 65_537] {
            let next = sattolo(lines).unwrap();
            let (mut at, mut steps) = (0, 0);
            loop {
                at = next[at] as usize;
                steps += 1;
                if at == 0 {
                    break;
                }
            }
            assert_eq!(steps, lines);
        }
        assert!(sattolo(1).is_err());
    }

    /// A prefetcher could predict lines that are adjacent both in memory and in the cycle.
    #[test]
    fn few_hops_go_to_the_next_line() {
        let next = sattolo(100_000).unwrap();
        let near = next.iter().enumerate().filter(|(at, to)| at.abs_diff(**to as usize) <= 2).count();
        // Four of 100,000 lines are that close, so about four such hops are expected in total.
        assert!(near < 40, "{near} of 100000 hops go to a neighbour");
    }

    #[test]
    fn the_walk_follows_the_links() {
        let lines = 4096;
        let region = Region::new(lines * LINE).unwrap();
        let first = link(&region, &sattolo(lines).unwrap());
        assert_eq!(crate::walk::hops(first, lines), first);
        assert_ne!(crate::walk::hops(first, lines - 8), first);
    }
}
