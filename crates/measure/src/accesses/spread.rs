//! How much memory some addresses are of: by how often two of them lie in one block. Of n addresses that are chosen evenly among F
//! blocks, n(n − 1) ÷ 2F pairs share one (the birthday problem; as an estimate of F: Simpson's index).

/// Blocks, as shifts: 4 KiB, 64 KiB, 2 MiB. Of larger ones a part alone may be gone through, in smaller ones too few pairs meet to
/// tell: the smallest that tells counts.
const BLOCKS: [u32; 3] = [12, 16, 21];
/// The smallest of them, bytes.
pub(super) const PAGE: f64 = 4096.0;
/// So many pairs tell.
const MET: f64 = 16.0;
/// A cache line, as a shift, and pairs in one that are no chance.
const LINE: u32 = 6;
const MET_IN_LINES: f64 = 4.0;
/// So often in one page is no part of going through much.
const HOT: usize = 4;
/// Fewer addresses tell nothing.
const LEAST: usize = 8;

/// The part of meetings in one line, one as long after the first as in others, from which on a program goes through its memory in a
/// circle and samples meet it at the same places: that tells nothing of how large the circle is.
const CIRCLING: f64 = 0.5;
/// By so much such times differ, ns.
const ALIKE: u64 = 1_000_000;

/// The bytes that these addresses are of, with the times of their samples, ns, without those that come back to a few pages; and which
/// of them those are that count.
pub(super) fn of(samples: &[(u64, u64)]) -> (f64, Vec<bool>) {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let page = |sample: &(u64, u64)| sample.0 >> BLOCKS[0];
    let of_page = |number: u64| {
        sorted.partition_point(|sample| page(sample) <= number)
            - sorted.partition_point(|sample| page(sample) < number)
    };
    let cold: Vec<bool> = samples.iter().map(|sample| of_page(page(sample)) < HOT).collect();
    let mut rest: Vec<(u64, u64)> = sorted
        .chunk_by(|a, b| page(a) == page(b))
        .filter(|page| page.len() < HOT)
        .flatten()
        .copied()
        .collect();
    if rest.len() < LEAST {
        return (0.0, vec![false; samples.len()]);
    }
    if circles(&rest) {
        rest.dedup_by_key(|sample| sample.0 >> LINE);
    }
    let pairs = rest.len() as f64 * (rest.len() as f64 - 1.0) / 2.0;
    let of_blocks = |shift: u32| {
        let blocks = rest.chunk_by(|a, b| a.0 >> shift == b.0 >> shift).map(<[(u64, u64)]>::len);
        let met: f64 = blocks.map(|n| (n * (n - 1)) as f64 / 2.0).sum();
        (met, f64::from(1_u32 << shift))
    };
    // A few lines that lie far apart fit a cache, however much lies between them.
    let (met, bytes) = of_blocks(LINE);
    if met >= MET_IN_LINES.max(rest.len() as f64 / 100.0) {
        return (pairs / met * bytes, cold);
    }
    let all = BLOCKS.map(of_blocks);
    let known = all.iter().find(|(met, _)| *met >= MET).map(|(met, bytes)| pairs / met * bytes);
    // Where hardly two meet in the largest: at least so much.
    let least = |(met, bytes): &(f64, f64)| pairs / (met + 1.0) * bytes;
    (known.or(all.last().map(least)).unwrap_or(0.0), cold)
}

/// Whether most samples that meet in one line do so after one and the same time.
fn circles(sorted: &[(u64, u64)]) -> bool {
    let lines = sorted.chunk_by(|a, b| a.0 >> LINE == b.0 >> LINE);
    let mut after: Vec<u64> =
        lines.flat_map(|line| line.windows(2).map(|pair| pair[0].1.abs_diff(pair[1].1))).collect();
    after.sort_unstable();
    let alike = after.chunk_by(|a, b| b - a <= ALIKE).map(<[u64]>::len).max().unwrap_or(0);
    alike as f64 > CIRCLING * after.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses of lines chosen evenly among those of some MiB.
    fn evenly(count: u64, mib: u64) -> Vec<(u64, u64)> {
        let lines = (mib << 20) / 64;
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        (0..count).map(|at| (0x7f00_0000_0000 + next() % lines * 64, at * at * 5_000_000)).collect()
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
    fn what_comes_back_to_some_pages_is_little_wherever_they_lie() {
        // 64 stacks, 8 MiB apart.
        let far_apart: Vec<(u64, u64)> =
            (0..400).map(|at: u64| (0x7f00_0000_0000 + at % 64 * (8 << 20), at)).collect();
        assert_eq!(of(&far_apart), (0.0, vec![false; 400]));
        assert!(of(&evenly(400, 1)).0 < f64::from(2 << 20));
        // One line each 64 KiB, 512 KiB in all.
        let sparse: Vec<(u64, u64)> = evenly(400, 128)
            .iter()
            .map(|(address, time)| ((address >> 6) % 8192 * 65_536 + 0x7f00_0000_0000, *time))
            .collect();
        assert!(of(&sparse).0 < f64::from(2 << 20), "{}", of(&sparse).0);
        assert_eq!(of(&[]).0, 0.0);
        assert_eq!(of(&evenly(5, 1024)).0, 0.0);
        // A circle through much memory that samples meet at the same places again.
        let circle = evenly(60, 128);
        let again = |round: u64| {
            circle.iter().map(move |(address, time)| (*address, time % 300_000_000 + round * 300_000_000))
        };
        let met: Vec<(u64, u64)> = (0..2).flat_map(again).collect();
        assert!(of(&met).0 > f64::from(50 << 20), "{}", of(&met).0);
        // Beside them what goes through much is still found.
        let mut both = far_apart;
        both.extend(evenly(200, 512));
        let (bytes, cold) = of(&both);
        assert!(bytes > f64::from(200 << 20), "{bytes}");
        assert_eq!(cold.iter().filter(|cold| **cold).count(), 200);
    }
}
