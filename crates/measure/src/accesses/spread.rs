//! Estimates the size of the memory that contains some addresses from the number of address pairs in the same block. If
//! n addresses are chosen uniformly among F blocks, n(n − 1) ÷ 2F pairs share a block (the birthday problem). Solving
//! this for F yields the estimate, which corresponds to Simpson's index.

/// Block sizes (log2 of bytes), from 4 KiB to 2 MiB. Larger blocks may be accessed only in part, and smaller blocks
/// contain too few pairs. The smallest conclusive size is used.
const BLOCKS: [u32; 5] = [12, 14, 16, 18, 21];
/// The smallest block size, bytes.
pub(super) const PAGE: f64 = 4096.0;
/// The number of pairs required for a conclusive estimate. With this number, the relative standard deviation of the estimate is one eighth.
const MET: f64 = 64.0;
/// The size of a cache line (log2 of bytes), and the minimum number of pairs in the same line that cannot be
/// due to chance.
const LINE: u32 = 6;
const MET_IN_LINES: f64 = 4.0;
/// A page with this many accesses is not part of a large working set.
const HOT: usize = 4;
/// Minimum number of addresses for a result.
const LEAST: usize = 8;

/// A block size (log2 of bytes), and a limit on the ratio of pairs in the same block of this size to pairs in the same line. If
/// only a few distant lines are accessed, the ratio is within the limit. If some lines in a large memory area are accessed
/// often, it is much larger.
const AROUND: u32 = 16;
const MORE: f64 = 4.0;

/// The size of the memory of these addresses, excluding repeated accesses to a few pages; and a flag per address that
/// shows whether it was counted.
pub(super) fn of(addresses: &[u64]) -> (f64, Vec<bool>) {
    let mut sorted = addresses.to_vec();
    sorted.sort_unstable();
    let page = |address: &u64| address >> BLOCKS[0];
    let of_page = |number: u64| {
        sorted.partition_point(|address| page(address) <= number)
            - sorted.partition_point(|address| page(address) < number)
    };
    let cold: Vec<bool> = addresses.iter().map(|address| of_page(page(address)) < HOT).collect();
    let rest: Vec<u64> = sorted
        .chunk_by(|a, b| page(a) == page(b))
        .filter(|page| page.len() < HOT)
        .flatten()
        .copied()
        .collect();
    if rest.len() < LEAST {
        return (0.0, vec![false; addresses.len()]);
    }
    let pairs = rest.len() as f64 * (rest.len() as f64 - 1.0) / 2.0;
    let of_blocks = |shift: u32| {
        let blocks = rest.chunk_by(|a, b| a >> shift == b >> shift).map(<[u64]>::len);
        let met: f64 = blocks.map(|n| (n * (n - 1)) as f64 / 2.0).sum();
        (met, f64::from(1_u32 << shift))
    };
    // A few distant lines fit in a cache, regardless of the distance between them.
    let (met, bytes) = of_blocks(LINE);
    if met >= MET_IN_LINES.max(rest.len() as f64 / 100.0) && of_blocks(AROUND).0 <= MORE * met {
        return (pairs / met * bytes, cold);
    }
    let all = BLOCKS.map(of_blocks);
    // A block that contains nearly all of a few addresses may be much larger than their memory.
    let least_met = MET.min(pairs / 8.0);
    let known = all.iter().find(|(met, _)| *met >= least_met).map(|(met, bytes)| pairs / met * bytes);
    // If hardly any pairs share even the largest block, the result is a lower bound.
    let least = |(met, bytes): &(f64, f64)| pairs / (met + 1.0) * bytes;
    (known.or(all.last().map(least)).unwrap_or(0.0), cold)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses of lines chosen uniformly from this many MiB.
    fn evenly(count: u64, mib: u64) -> Vec<u64> {
        chosen(count, mib, 7)
    }

    fn chosen(count: u64, mib: u64, mut state: u64) -> Vec<u64> {
        let lines = (mib << 20) / 64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        (0..count).map(|_| 0x7f00_0000_0000 + next() % lines * 64).collect()
    }

    #[test]
    fn memory_that_is_gone_through_evenly_is_as_much_as_that() {
        for (count, mib) in [(40, 128), (200, 128), (1000, 128), (200, 1024), (1000, 16), (200, 8)] {
            let bytes = of(&evenly(count, mib)).0 / f64::from(1 << 20);
            let ratio = bytes / mib as f64;
            assert!((0.4..2.0).contains(&ratio), "{count} of {mib} MiB: {bytes}");
        }
    }

    #[test]
    fn few_addresses_in_little_memory_are_not_a_whole_block() {
        for seed in 0..2000 {
            let bytes = of(&chosen(8 + seed % 24, 1, seed * 0x9e37_79b9)).0;
            assert!(bytes < 3.0 * f64::from(1 << 20), "{seed}: {bytes}");
        }
        let mean = |count: u64| {
            let all: Vec<f64> = (0..500).map(|seed| of(&chosen(count, 1, seed * 0x9e37_79b9)).0).collect();
            all.iter().sum::<f64>() / all.len() as f64 / f64::from(1 << 20)
        };
        for count in [10, 15, 20, 30] {
            assert!((0.7..1.5).contains(&mean(count)), "{count}: {}", mean(count));
        }
    }

    #[test]
    fn memory_of_twice_a_cache_never_appears_to_fit_it() {
        for seed in 0..2000 {
            let bytes = of(&chosen(100 + seed % 200, 64, seed * 0x9e37_79b9)).0 / f64::from(1 << 20);
            assert!((42.0..110.0).contains(&bytes), "{seed}: {bytes}");
        }
    }

    #[test]
    fn what_comes_back_to_some_pages_is_little_wherever_they_lie() {
        // 64 stacks, 8 MiB apart.
        let far_apart: Vec<u64> = (0..400).map(|at: u64| 0x7f00_0000_0000 + at % 64 * (8 << 20)).collect();
        assert_eq!(of(&far_apart), (0.0, vec![false; 400]));
        assert!(of(&evenly(400, 1)).0 < f64::from(2 << 20));
        // One line per 64 KiB, 512 KiB in total.
        let sparse: Vec<u64> = evenly(400, 128)
            .iter()
            .map(|address| (address >> 6) % 8192 * 65_536 + 0x7f00_0000_0000)
            .collect();
        assert!(of(&sparse).0 < f64::from(2 << 20), "{}", of(&sparse).0);
        assert_eq!(of(&[]).0, 0.0);
        assert_eq!(of(&evenly(5, 1024)).0, 0.0);
        // Some frequently accessed lines of a large memory.
        let mut often = evenly(360, 64);
        (0..6).for_each(|at| often[at * 20] = often[at * 20 + 7]);
        assert!(of(&often).0 > f64::from(20 << 20), "{}", of(&often).0);
        // A large working set is still detected alongside them.
        let mut both = far_apart;
        both.extend(evenly(200, 512));
        let (bytes, cold) = of(&both);
        assert!(bytes > f64::from(200 << 20), "{bytes}");
        assert_eq!(cold.iter().filter(|cold| **cold).count(), 200);
    }
}
