//! Determines which memory fits in the last-level caches. Programs that run at the same time share a cache, and each
//! can use only the part left by the others.

use record::Machine;
use record::command_run::CurvePoint;
use record::live::MemoryLevel;

/// Assumed size of the last-level cache if it is unknown, bytes.
const USUAL: u64 = 32 << 20;
/// Memory counts as not fitting in the cache if it is more than this many times as large as the part available to it.
const FAR: f64 = 1.25;
/// Minimum number of accesses for a set to count as occupying part of the cache. Sets with fewer accesses occupy
/// little, and their size cannot be estimated.
const MANY: usize = 32;
/// A range of accessed memory ends at a gap of this many times the average distance between adjacent addresses. For n
/// randomly distributed addresses, the largest gap is about ln n times that average.
const GAP: u64 = 8;
/// Minimum size of a gap, bytes.
const LEAST_GAP: u64 = 2 << 20;

/// The last-level caches of a machine.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Caches {
    /// The index of each CPU's cache; CPUs not listed use the first.
    of_cpu: Vec<(u32, usize)>,
    /// Size of each cache, bytes.
    bytes: Vec<f64>,
    /// Size of a CPU's private cache before the last level, bytes.
    own: f64,
    /// Size of the first cache, bytes.
    first: f64,
    /// Load latency by working-set size, from this machine's latency curve; empty if the curve was not measured.
    curve: Vec<CurvePoint>,
}

/// The smallest cache in which some memory fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fits {
    FirstCache,
    /// A private cache of a core.
    OwnCache,
    LastCache,
    Nothing,
}

impl Default for Caches {
    fn default() -> Self {
        Self::one(USUAL)
    }
}

impl Caches {
    /// One cache of this size for all CPUs.
    pub(super) fn one(bytes: u64) -> Self {
        Self { of_cpu: Vec::new(), bytes: vec![bytes as f64], own: 0.0, first: 0.0, curve: Vec::new() }
    }

    /// The caches of a machine. The size of the last level is taken from the latency curve, because a virtual machine
    /// reports the full size of a cache but can use only a part of it.
    pub(super) fn of(machine: &Machine, curve: &[CurvePoint]) -> Self {
        let last = machine.last_level();
        let mut all = Self { bytes: Vec::new(), ..Self::default() };
        for cache in machine.data_caches(last) {
            let Some(bytes) = cache.bytes.filter(|bytes| *bytes > 0) else { continue };
            all.of_cpu.extend(cache.cpus.iter().map(|cpu| (cpu, all.bytes.len())));
            all.bytes.push(bytes as f64);
        }
        if all.bytes.is_empty() {
            return Self::default();
        }
        all.of_cpu.sort_unstable();
        let before = |level: &u32| machine.data_caches(*level).filter_map(|cache| cache.bytes).min();
        all.own = (1..last).rev().find_map(|level| before(&level)).unwrap_or(0) as f64;
        all.first = before(&1).unwrap_or(0) as f64;
        all.curve = curve.to_vec();
        all.curve.sort_by_key(|point| point.bytes);
        if let Some(given) = all.given() {
            all.bytes.iter_mut().for_each(|bytes| *bytes = bytes.min(given));
        }
        all
    }

    /// Size of the last-level cache according to the curve: the point at which the latency is halfway (logarithmically)
    /// between the latency right beyond a core's private caches and that of the largest working set.
    fn given(&self) -> Option<f64> {
        let beyond = self.curve.iter().find(|point| point.bytes as f64 >= FAR * self.own)?;
        let most = self.curve.last()?;
        // A curve that ends within the caches does not show their size.
        if (most.bytes as f64) < 4.0 * self.bytes.iter().copied().fold(f64::INFINITY, f64::min)
            || most.ns < 1.5 * beyond.ns
        {
            let flat = most.ns < 1.5 * beyond.ns && most.bytes as f64 > 16.0 * self.own.max(1.0);
            return flat.then_some(self.own);
        }
        let halfway = (beyond.ns * most.ns).sqrt();
        let within = self
            .curve
            .iter()
            .take_while(|point| (point.bytes as f64) < FAR * self.own || point.ns <= halfway);
        within.last().map(|point| point.bytes as f64)
    }

    /// The latency of a load from a working set of this size, ns: interpolated logarithmically between two points of
    /// the curve.
    pub(super) fn ns_of(&self, bytes: f64) -> Option<f64> {
        let after = self.curve.iter().position(|point| point.bytes as f64 >= bytes);
        let (from, to) = match after {
            Some(0) => return self.curve.first().map(|point| point.ns),
            None => return self.curve.last().map(|point| point.ns),
            Some(after) => (self.curve.get(after - 1)?, self.curve.get(after)?),
        };
        let part = (bytes / from.bytes as f64).ln() / (to.bytes as f64 / from.bytes as f64).ln();
        Some((from.ns.ln() + part * (to.ns / from.ns).ln()).exp())
    }

    /// The latency of a load from the largest working set, ns.
    pub(super) fn memory_ns(&self) -> Option<f64> {
        self.curve.last().map(|point| point.ns)
    }

    /// The level of the memory hierarchy for memory that fits in this cache. Without a curve, the effective size of the
    /// last-level cache is unknown.
    pub(super) fn level(&self, fits: Fits) -> MemoryLevel {
        match fits {
            Fits::FirstCache | Fits::OwnCache => MemoryLevel::L2,
            _ if self.curve.is_empty() => MemoryLevel::CachesOrMemory,
            Fits::LastCache => MemoryLevel::L3,
            Fits::Nothing => MemoryLevel::Dram,
        }
    }

    /// The smallest cache in which this many bytes fit if nothing else uses it, on a CPU whose last-level cache has this number.
    pub(super) fn fits(&self, bytes: f64, number: usize) -> Fits {
        match bytes {
            _ if bytes <= FAR * self.first => Fits::FirstCache,
            _ if bytes <= FAR * self.own => Fits::OwnCache,
            _ if bytes <= FAR * self.bytes.get(number).copied().unwrap_or(USUAL as f64) => Fits::LastCache,
            _ => Fits::Nothing,
        }
    }

    /// The number of a CPU's last-level cache.
    pub(super) fn of_cpu(&self, cpu: u32) -> usize {
        let found = self.of_cpu.binary_search_by_key(&cpu, |(cpu, _)| *cpu);
        found.map_or(0, |at| self.of_cpu[at].1)
    }

    /// The smallest cache in which each of these sets fits, in the same order. The sets are in use simultaneously and
    /// share the last-level cache with this number.
    pub(super) fn fit(&self, number: usize, sets: &[Set]) -> Vec<Fits> {
        let cache = self.bytes.get(number).copied().unwrap_or(USUAL as f64);
        let part = part_of_each(&new_bytes(sets), cache).max(self.own);
        // Rarely accessed memory is compared with the full size of the cache.
        let has = |set: &Set| if set.counts() { part } else { cache };
        let fits = |set: &Set| match self.fits(set.bytes, number).min(self.fits(set.of_thread, number)) {
            Fits::LastCache if set.bytes > FAR * has(set) => Fits::Nothing,
            fits => fits,
        };
        sets.iter().map(fits).collect()
    }
}

/// Memory accessed by one code location of a program.
#[derive(Debug)]
pub(super) struct Set {
    /// The owner of the memory.
    owner: i32,
    /// The size of the memory, and the largest part accessed by a single thread.
    bytes: f64,
    of_thread: f64,
    /// The accessed addresses, in ascending order.
    addresses: Vec<u64>,
}

impl Set {
    pub(super) fn new(owner: i32, (bytes, of_thread): (f64, f64), mut addresses: Vec<u64>) -> Self {
        addresses.sort_unstable();
        Self { owner, bytes, of_thread, addresses }
    }

    fn counts(&self) -> bool {
        self.addresses.len() >= MANY
    }

    /// The address ranges of this memory, as first and last accessed address.
    fn pieces(&self) -> Vec<(u64, u64)> {
        let (Some(first), Some(last)) = (self.addresses.first(), self.addresses.last()) else {
            return Vec::new();
        };
        let gap = ((last - first) / self.addresses.len() as u64).saturating_mul(GAP).max(LEAST_GAP);
        let together = self.addresses.chunk_by(|a, b| b - a <= gap);
        together.filter_map(|piece| Some((*piece.first()?, *piece.last()?))).collect()
    }
}

/// Bytes of each set that are not contained in a larger set with the same owner.
fn new_bytes(sets: &[Set]) -> Vec<f64> {
    let mut all: Vec<&Set> = sets.iter().filter(|set| set.counts()).collect();
    all.sort_by(|a, b| a.owner.cmp(&b.owner).then(b.bytes.total_cmp(&a.bytes)));
    let mut new = Vec::new();
    for of_one in all.chunk_by(|a, b| a.owner == b.owner) {
        let mut known: Vec<(u64, u64)> = Vec::new();
        for set in of_one {
            let is_new = |at: &&u64| !known.iter().any(|(from, to)| (from..=to).contains(at));
            let part = set.addresses.iter().filter(is_new).count() as f64 / set.addresses.len() as f64;
            new.push(set.bytes * part);
            known.extend(set.pieces());
        }
    }
    new
}

/// The part of a cache available to each large set: space that small sets do not use is left to the larger ones. If the
/// total demand is at most [`FAR`] times the cache size, each set may use the whole cache.
fn part_of_each(wanted: &[f64], cache: f64) -> f64 {
    if wanted.iter().sum::<f64>() <= FAR * cache {
        return cache;
    }
    let mut wanted = wanted.to_vec();
    wanted.sort_by(f64::total_cmp);
    let mut left = cache;
    for (done, bytes) in wanted.iter().enumerate() {
        let part = left / (wanted.len() - done) as f64;
        if *bytes > part {
            return part;
        }
        left -= bytes;
    }
    cache
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: f64 = (1 << 20) as f64;

    /// Evenly accessed memory of this many MiB, starting at this address.
    fn set(owner: i32, from: u64, mib: u64, touches: u64) -> Set {
        let at = |number: u64| (from << 20) + (mib << 20) * number / touches;
        Set::new(owner, (mib as f64 * MIB, mib as f64 * MIB), (0..touches).map(at).collect())
    }

    fn overflown(cache: u64, sets: &[Set]) -> Vec<bool> {
        far(&Caches::one(cache << 20), 0, sets)
    }

    fn far(caches: &Caches, number: usize, sets: &[Set]) -> Vec<bool> {
        caches.fit(number, sets).into_iter().map(|fits| fits == Fits::Nothing).collect()
    }

    #[test]
    fn what_fits_alone_does_not_beside_others_that_want_as_much() {
        assert_eq!(overflown(300, &[set(1, 0, 128, 290)]), [false]);
        assert_eq!(overflown(300, &[set(1, 0, 400, 290)]), [true]);
        let all: Vec<Set> = (0..16).map(|owner| set(owner, 0, 128, 290)).collect();
        assert_eq!(overflown(300, &all), [true; 16]);
        // Small sets remain cached alongside large ones, and rarely accessed sets displace nothing.
        assert_eq!(overflown(300, &[set(1, 0, 4000, 290), set(2, 0, 16, 290)]), [true, false]);
        let mut seldom: Vec<Set> = (1..16).map(|owner| set(owner, 0, 128, 10)).collect();
        seldom.push(set(0, 0, 128, 290));
        assert_eq!(overflown(300, &seldom), [false; 16]);
    }

    #[test]
    fn loops_through_the_same_memory_want_it_once_and_those_through_different_memory_both() {
        let same: Vec<Set> = (0..100).map(|_| set(1, 0, 200, 64)).collect();
        assert_eq!(overflown(300, &same), [false; 100]);
        assert_eq!(overflown(300, &[set(1, 0, 256, 100), set(1, 100_000, 256, 100)]), [true; 2]);
        // Memory in two distant pieces, with other memory between them.
        let mut apart = set(1, 0, 100, 100);
        apart.addresses.extend(set(1, 100_000, 100, 100).addresses);
        assert_eq!(apart.pieces().len(), 2);
        assert_eq!(new_bytes(&[apart, set(1, 50_000, 90, 100)]), [100.0 * MIB, 90.0 * MIB]);
    }

    #[test]
    fn each_cache_has_its_own_and_a_core_keeps_what_nobody_shares() {
        let machine: Machine = serde_json::from_value(serde_json::json!({ "caches": [
            { "level": 1, "kind": "instruction", "bytes": 32 << 10, "cpus": "0-1" },
            { "level": 2, "kind": "unified", "bytes": 1 << 20, "cpus": "0" },
            { "level": 3, "kind": "unified", "bytes": 16 << 20, "cpus": "0-1" },
            { "level": 3, "kind": "unified", "bytes": 96 << 20, "cpus": "2-3" }
        ] }))
        .unwrap();
        let caches = Caches::of(&machine, &[]);
        assert_eq!((caches.bytes.len(), caches.of_cpu(1), caches.of_cpu(3), caches.of_cpu(9)), (2, 0, 1, 0));
        assert_eq!(far(&caches, 0, &[set(1, 0, 64, 100)]), [true]);
        assert_eq!(far(&caches, 1, &[set(1, 0, 64, 100)]), [false]);
        let all: Vec<Set> = (0..64).map(|owner| set(owner, 0, 1, 100)).collect();
        assert_eq!(far(&caches, 0, &all), [false; 64]);
        assert_eq!(Caches::of(&Machine::default(), &[]), Caches::default());
    }

    proptest! {
        #[test]
        fn parts_fill_a_cache_and_no_more(wanted in proptest::collection::vec(0.0..1e9_f64, 1..50), cache in 1.0..1e9_f64) {
            let part = part_of_each(&wanted, cache);
            let had: f64 = wanted.iter().map(|bytes| bytes.min(part)).sum();
            prop_assert!(part > 0.0 && part <= cache && had <= FAR * cache * (1.0 + 1e-9));
        }

        #[test]
        fn any_addresses_lie_in_their_pieces(addresses in proptest::collection::vec(any::<u64>(), 0..100)) {
            let set = Set::new(1, (1.0, 1.0), addresses);
            let pieces = set.pieces();
            prop_assert!(set.addresses.iter().all(|at| pieces.iter().any(|(from, to)| (from..=to).contains(&at))));
        }
    }
}
