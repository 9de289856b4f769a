//! Draws conclusions from many samples: the amount of memory accessed beyond the caches, lines written by several
//! threads, and other waits.

use std::collections::HashMap;

use record::live::{MemoryLevel, Sampled, Share};

use super::caches::{Caches, Fits, Set};
use super::code::Waits;
use super::sighting::{Seen, Touch};
use super::spread;

/// Minimum number of accesses for a code location to be evaluated separately.
const OWN: usize = 16;
/// Minimum number of accesses, combined from several code locations, for concluding that they miss the first cache. With fewer accesses, up
/// to half of them may be to hot pages in the first cache that are not recognized, because a page needs four accesses to count as hot.
const VAGUE: usize = 96;
/// The owner number of memory shared by several processes: related programs map it at the same addresses.
const OF_SEVERAL: i32 = 0;

/// An access, with the key by which accesses are grouped.
#[derive(Clone, Copy, Debug)]
struct Placed {
    /// The cache, the owner of the memory, and which of the sample's two instructions accesses it. Accesses to the same
    /// memory by different instructions do not indicate a repeated access.
    of: (usize, i32, usize),
    /// The number of the sample, and its thread.
    number: usize,
    tid: i32,
    touch: Touch,
}

/// The owner of the memory accessed by a sample.
fn owner(one: &Seen, touch: &Touch) -> i32 {
    if touch.shared { OF_SEVERAL } else { one.pid }
}

/// For each sample, by its number: the access that counts, and the smallest cache in which the accessed memory fits.
fn places(all: &[Seen], caches: &Caches) -> Vec<Option<(Touch, Fits)>> {
    let mut placed: Vec<Placed> = Vec::new();
    for (number, one) in all.iter().enumerate() {
        for (which, touch) in one.touches.iter().enumerate() {
            placed.extend(touch.map(|touch| Placed {
                of: (caches.of_cpu(one.cpu), owner(one, &touch), which),
                number,
                tid: one.tid,
                touch,
            }));
        }
    }
    placed.sort_by_key(|one| (one.of, one.touch.place));
    let mut places: Vec<Option<(Touch, Fits)>> = vec![None; all.len()];
    for of_cache in placed.chunk_by(|a, b| a.of.0 == b.of.0) {
        let mut parts: Vec<Vec<Placed>> = Vec::new();
        for of_one in of_cache.chunk_by(|a, b| a.of == b.of) {
            // The accesses of each separate code location; code locations with too few accesses are combined.
            let mut rest = Vec::new();
            for place in of_one.chunk_by(|a, b| a.touch.place == b.touch.place) {
                if place.len() < OWN { rest.extend_from_slice(place) } else { parts.push(place.to_vec()) }
            }
            parts.push(rest);
        }
        let cache = of_cache.first().map_or(0, |one| one.of.0);
        let mut put = |one: &Placed, fits: Fits| {
            // The awaited memory takes precedence over the instruction's own operand, unless that operand is in a more
            // distant level.
            let place = &mut places[one.number];
            if place.is_none_or(|(_, known)| fits > known) {
                *place = Some((one.touch, fits));
            }
        };
        let mut sets = Vec::new();
        for part in &mut parts {
            let (set, hot) = gone_through(part);
            let fits = caches.fits(hot.len() as f64 * spread::PAGE, cache);
            hot.iter().flat_map(|page| page.iter()).for_each(|one| put(one, fits));
            sets.push(set);
        }
        let fit = caches.fit(cache, &sets);
        let is_mixed = |of: &[Placed]| of.windows(2).any(|two| two[0].touch.place != two[1].touch.place);
        for (part, fits) in parts.iter().zip(fit) {
            // With few accesses from several code locations, hot pages are not recognized.
            let is_vague = fits == Fits::OwnCache && part.len() < VAGUE && is_mixed(part);
            part.iter().for_each(|one| put(one, if is_vague { Fits::FirstCache } else { fits }));
        }
    }
    places
}

/// The memory of these accesses. Accesses spread over the memory remain in `touches`; repeated accesses to a few pages
/// are returned separately, grouped by page.
fn gone_through(touches: &mut Vec<Placed>) -> (Set, Vec<Vec<Placed>>) {
    let addresses: Vec<u64> = touches.iter().map(|one| one.touch.address).collect();
    let (bytes, cold) = spread::of(&addresses);
    let mut is_cold = cold.into_iter();
    let (mut left, mut hot): (Vec<Placed>, Vec<Placed>) =
        touches.drain(..).partition(|_| is_cold.next() == Some(true));
    hot.sort_by_key(|one| one.touch.address);
    let page = |one: &Placed| (one.touch.address as f64 / spread::PAGE) as u64;
    let hot = hot.chunk_by(|a, b| page(a) == page(b)).map(<[Placed]>::to_vec).collect();
    touches.append(&mut left);
    // Each CPU's private cache contains only the memory of that CPU's threads.
    touches.sort_by_key(|one| one.tid);
    let addresses = |of: &[Placed]| of.iter().map(|one| one.touch.address).collect::<Vec<_>>();
    let size = |of: &[Placed]| if of.len() < OWN { bytes } else { spread::of(&addresses(of)).0 };
    let of_thread = touches.chunk_by(|a, b| a.tid == b.tid).map(size).fold(0.0, f64::max);
    let owner = touches.first().map_or(OF_SEVERAL, |one| one.of.1);
    (Set::new(owner, (bytes, of_thread), addresses(touches)), hot)
}

/// If a load has at least this many known addresses, its unknown addresses are assumed to be in the same memory.
const ALIKE: usize = 8;

/// The cache level of a sample's memory, and whether the memory is accessed in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    by: Fits,
    sequential: bool,
}

/// A sample, its memory, and the cache level of that memory.
struct Judged<'a> {
    seen: &'a Seen,
    place: Option<(Touch, Fits)>,
    held: Option<Held>,
}

impl Judged<'_> {
    fn weight(&self) -> f64 {
        let in_order = self.place.filter(|(touch, _)| touch.sequential && !self.seen.flushed);
        in_order.map_or(1.0, |(touch, _)| touch.weight)
    }

    fn is_far(&self) -> bool {
        self.seen.flushed || self.held.is_some_and(|held| held.by == Fits::Nothing)
    }

    /// Whether the sample waits for a jump and not for memory: any load that the jump depends on is from the nearest cache, or from unknown
    /// memory.
    fn is_jump(&self) -> bool {
        let is_near = self.held.is_none_or(|held| held.by == Fits::FirstCache);
        self.seen.waits == Waits::Jump && !self.seen.flushed && is_near
    }
}

/// All samples, each with the level of the memory hierarchy that it accessed. For loads with an unknown address, the most
/// frequent level at the same code location is used.
fn hold<'a>(all: &'a [Seen], caches: &Caches) -> Vec<Judged<'a>> {
    let places = places(all, caches);
    let mut known: HashMap<(i32, u64), Vec<Held>> = HashMap::new();
    for (one, place) in all.iter().zip(&places) {
        if let (Some(load), Some((touch, by))) = (one.load, place)
            && touch.place == load
        {
            known.entry((one.pid, load)).or_default().push(Held { by: *by, sequential: touch.sequential });
        }
    }
    known.values_mut().for_each(|of_place| of_place.sort_unstable());
    let alike = |one: &Seen| {
        let of_place = known.get(&(one.pid, one.load.filter(|_| one.hidden)?))?;
        if of_place.len() < ALIKE { None } else { of_place.get(of_place.len() / 2).copied() }
    };
    let judged = |(seen, place): (&'a Seen, Option<(Touch, Fits)>)| {
        let own = place.map(|(touch, by)| Held { by, sequential: touch.sequential });
        Judged { seen, place, held: own.or_else(|| alike(seen)) }
    };
    all.iter().zip(places).map(judged).collect()
}

/// Evaluates the samples selected by `of`; the memory of the other samples still occupies its part of the caches.
pub(super) fn judge(all: &[Seen], of: impl Fn(&Seen) -> bool, lost: u64, caches: &Caches) -> Sampled {
    let mut all = hold(all, caches);
    all.retain(|one| of(one.seen));
    let count = |is: &dyn Fn(&Judged) -> bool| all.iter().filter(|one| is(one)).count() as u64;
    let decoded = count(&|one| one.seen.decoded);
    let hidden = count(&|one| one.seen.hidden && one.held.is_none() && !one.seen.flushed);
    // Accesses with unknown memory may belong to any level.
    let share = |count: u64| Share::of(count, decoded, hidden);
    let sure = |count: u64| Share::of(count, decoded, 0);
    let waits = |what: Waits| sure(count(&|one| one.seen.waits == what && one.seen.load.is_none()));
    let memory = |level: Fits| {
        let of_level = all.iter().filter_map(|one| {
            let (touch, _) = one.place.filter(|(_, fits)| *fits == level)?;
            Some((owner(one.seen, &touch), touch.address))
        });
        working_set(of_level.collect())
    };
    let sum = |is: &dyn Fn(&Judged) -> bool| {
        all.iter().filter(|one| is(one)).map(Judged::weight).sum::<f64>().max(0.0).round() as u64
    };
    let far = share(sum(&|one| one.is_far()));
    let cached = |level: Fits| {
        // Memory accessed in order is prefetched before it is needed.
        let waits =
            |one: &Judged| one.seen.load.is_some() && one.held == Some(Held { by: level, sequential: false });
        share(count(&|one| waits(one) && !one.seen.flushed))
    };
    let (last_cache, own_cache) = (cached(Fits::LastCache), cached(Fits::OwnCache));
    // The farthest level with at least half as many samples as the most frequent level, because farther levels cost more.
    let main =
        [(far.count, Fits::Nothing), (last_cache.count, Fits::LastCache), (own_cache.count, Fits::OwnCache)];
    let most = main.iter().map(|(count, _)| *count).max().unwrap_or(0);
    let main = main.iter().find(|(count, _)| *count > 0 && 2 * count >= most).map(|(_, fits)| *fits);
    let bytes = main.and_then(memory);
    let remote = count(&|one| one.is_far() && one.seen.remote);
    let seen: Vec<&Seen> = all.iter().map(|one| one.seen).collect();
    Sampled {
        samples: all.len() as u64,
        undecoded: all.len() as u64 - decoded,
        lost,
        loads: sure(count(&|one| one.seen.load.is_some() && !one.is_jump())),
        far,
        sequential: sure(sum(&|one| {
            !one.seen.flushed && one.held == Some(Held { by: Fits::Nothing, sequential: true })
        })),
        last_cache,
        own_cache,
        hidden: sure(hidden),
        shared: sure(at_shared_lines(&seen).into_iter().filter(|shared| *shared).count() as u64),
        spinning: sure(count(&|one| one.seen.spins)),
        atomic: sure(count(&|one| one.seen.waits == Waits::Atomic)),
        long: waits(Waits::Long),
        float: waits(Waits::Float),
        jumps: sure(count(&|one| one.is_jump())),
        working_set: bytes,
        level: main.map(|fits| match caches.level(fits) {
            // If memory is spread over two nodes, half of the far accesses are remote, so only a larger share counts as remote.
            MemoryLevel::Dram if 2 * remote > far.count => MemoryLevel::Remote,
            level => level,
        }),
        remote: sure(remote),
        load_ns: match (main, bytes) {
            (Some(Fits::Nothing), None) => caches.memory_ns(),
            (Some(_), Some(bytes)) => caches.ns_of(bytes),
            _ => None,
        },
        ..Sampled::default()
    }
}

/// The total size of the accessed memory, from owners and addresses.
fn working_set(mut touches: Vec<(i32, u64)>) -> Option<f64> {
    touches.sort_by_key(|(owner, _)| *owner);
    let of_one = |of: &[(i32, u64)]| {
        let addresses: Vec<u64> = of.iter().map(|(_, address)| *address).collect();
        spread::of(&addresses).0
    };
    (!touches.is_empty()).then(|| touches.chunk_by(|a, b| a.0 == b.0).map(of_one).sum())
}

/// Size of the cache lines exchanged between cores (log2 of bytes).
const LINE: u32 = 6;
/// Minimum number of samples per thread for a line to count as shared rather than accessed by chance.
const AGAIN: usize = 2;

/// An access to a line, with the file or else the process to which the line belongs, and the accessing thread.
#[derive(Clone, Copy, Debug)]
struct OfLine {
    line: (Result<u64, i32>, u64),
    tid: i32,
    time: u64,
    cpu: u32,
    writes: bool,
    /// The number of the sample.
    number: usize,
}

/// For each sample, whether it accesses a line that several threads, of one or several processes, on several CPUs access at the same time, with at
/// least one writer. Accesses at different times do not count, because memory released by one thread may be reused by
/// another, such as the stack of an ended thread.
fn at_shared_lines(all: &[&Seen]) -> Vec<bool> {
    let mut touches: Vec<OfLine> = Vec::new();
    for (number, one) in all.iter().enumerate() {
        // Processes may map the same file at different addresses.
        let line = |touch: &Touch| match touch.in_file {
            Some((file, at)) => (Ok(file), at >> LINE),
            None => (Err(one.pid), touch.address >> LINE),
        };
        touches.extend(one.touches.iter().flatten().map(|touch| OfLine {
            line: line(touch),
            tid: one.tid,
            time: one.time,
            cpu: one.cpu,
            writes: touch.writes || touch.atomic,
            number,
        }));
    }
    touches.sort_unstable_by_key(|one| (one.line, one.tid, one.time));
    let mut shared = vec![false; all.len()];
    for line in touches.chunk_by(|a, b| a.line == b.line) {
        let threads: Vec<&[OfLine]> =
            line.chunk_by(|a, b| a.tid == b.tid).filter(|thread| thread.len() >= AGAIN).collect();
        let times = |thread: &[OfLine]| Some((thread.first()?.time, thread.last()?.time));
        let overlap = |a: &[OfLine], b: &[OfLine]| {
            let (Some(a), Some(b)) = (times(a), times(b)) else { return false };
            a.0 < b.1 && b.0 < a.1
        };
        let writes = |thread: &[OfLine]| thread.iter().any(|one| one.writes);
        let meet = |a: &[OfLine], b: &[OfLine]| overlap(a, b) && (writes(a) || writes(b));
        let several_cpus = line.iter().any(|one| line.first().is_some_and(|first| first.cpu != one.cpu));
        let met = || threads.iter().enumerate().any(|(at, a)| threads[at + 1..].iter().any(|b| meet(a, b)));
        if several_cpus && met() {
            line.iter().for_each(|one| shared[one.number] = true);
        }
    }
    shared
}
