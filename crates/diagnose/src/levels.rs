//! The levels of the memory hierarchy: the latency curve of one CPU, compared with the caches that the kernel
//! advertises for it.

use std::collections::HashMap;

use record::machine::Cache;
use record::statistics::median_of_sorted;
use record::text::Value;
use record::units::parse_bytes;
use record::{Label, Labels, Level, Measurement, Record, Text, metrics, text};

use crate::curve::{Curve, Edge, Plateau};
use crate::latency_curve::{LEAST_POINTS, LatencyCurve, size_of};
use crate::record_index::RecordIndex;
use crate::resources::{MEMORY, Walk, beyond};

/// A cache counts as having its advertised size if its measured size is at least this share of it: conflicts within sets and the program's
/// own stack and page tables account for the rest.
const AS_ADVERTISED: f64 = 0.8;
/// The curve may stay at the latency of a cache up to this multiple of its advertised size (plus the size of the previous cache, if the
/// cache is exclusive): with random replacement, a cache still contains half of a working set of twice its size.
const AT_MOST: f64 = 2.0;
/// Below this share, the cache does not have the advertised size: neither the step between two measured sizes nor cache pollution explains
/// a factor of two.
pub(crate) const MUCH_SMALLER: f64 = 0.5;
/// The cost of leaving a cache or an edge unmatched; the cost of a match is the logarithm of the size ratio. This cost is high because a
/// virtual machine may have only a thirtieth of the cache that the kernel shows.
const UNMATCHED: f64 = 3.0;
/// If an edge is at a size well above that of a cache, it is probably the edge of another cache. The cost of a match is therefore
/// multiplied by this factor if the edge is at a larger size than the cache.
const BEYOND: f64 = 5.0;
/// Working sets beyond the caches form a separate memory level if their latency is more than this multiple of that of the last plateau.
const NOT_ITS_OWN: f64 = 1.5;
/// If an edge rises this many times as much as another edge, it marks the end of the caches, and the other edge does not.
const MUCH_STEEPER: f64 = 2.0;
/// The curve is still rising at its end if the latency of the largest working sets is at least this many times that of the last plateau.
const CLIMBS: f64 = 1.05;

impl RecordIndex<'_> {
    /// The levels of the memory hierarchy, as found by [`levels`].
    pub fn levels(&self) -> &[Level] {
        self.levels.get_or_init(|| levels(self))
    }
}

/// The levels found in the record's latency curve, nearest first, memory last. Empty if there is no curve.
///
/// The curve is that of the CPU with the most points on its nearest node, on 2 MiB pages where available and on 4 KiB pages for smaller
/// sizes. If one working set was measured on both page sizes, the memory level uses the same result as the headline.
pub fn levels(index: &RecordIndex) -> Vec<Level> {
    let Some(source) = index.curve() else {
        return Vec::new();
    };
    let curve = Curve::new(source.points.iter().map(|m| (size_of(m), m.value())));
    if curve.len() < LEAST_POINTS {
        return Vec::new();
    }
    let cpu = source.place.cpu.and_then(|cpu| u32::try_from(cpu).ok());
    let caches = advertised(index.record, cpu);
    let mut levels: Vec<Level> = Vec::new();
    for (mut level, flat) in name(&curve, &caches) {
        // A level may be placed between two plateaus; its latency is at least that of the previous level.
        level.latency_ns = level.latency_ns.max(levels.last().map_or(0.0, |level| level.latency_ns));
        level.latency_cycles = source.cycles(index, flat, level.latency_ns);
        levels.push(level);
    }
    // The memory level has the same result as the headline.
    let least = beyond(index.record, &levels, Walk::Loads);
    let figure = source.of_both_pages(index).filter(|figure| size_of(figure) >= least);
    if let (Some([.., before, memory]), Some(figure)) = (levels.get_mut(..), figure)
        && memory.name == MEMORY
    {
        let bytes = size_of(figure);
        memory.latency_ns = figure.value().max(before.latency_ns);
        memory.latency_cycles = source.cycles(index, (bytes, bytes), memory.latency_ns);
        let page = figure.labels.word(Label::Page).and_then(|page| parse_bytes(page).ok());
        memory.judgement = text!(
            "{size} on {page} pages",
            size = Value::Bytes(bytes),
            page = page.map_or(Value::from("other"), Value::Bytes)
        );
    }
    levels
}

impl<'a> LatencyCurve<'a> {
    /// At the largest working set measured on both page sizes, the result for the page size that the curve uses; `None` if the curve does
    /// not contain this result.
    fn of_both_pages(&self, index: &RecordIndex<'a>) -> Option<&'a Measurement> {
        let (small, huge) = index.pages()?;
        [huge, small].into_iter().find(|figure| self.points.iter().any(|point| std::ptr::eq(*point, *figure)))
    }

    /// The latency in cycles over the working sets of `flat`: as measured or, if it was not measured, computed from the clock of one core.
    fn cycles(&self, index: &RecordIndex, flat: (u64, u64), latency_ns: f64) -> Option<f64> {
        let within = |m: &&Measurement| (flat.0..=flat.1).contains(&size_of(m));
        let mut places: HashMap<u64, Vec<&Labels>> = HashMap::new();
        for m in self.points.iter().copied().filter(within) {
            places.entry(size_of(m)).or_default().push(&m.labels);
        }
        let mut cycles: Vec<f64> = index
            .figures_of(metrics::LOAD_LATENCY_CYCLES)
            .filter(within)
            .filter(|m| places.get(&size_of(m)).is_some_and(|places| places.contains(&&m.labels)))
            .map(Measurement::value)
            .filter(|value| value.is_finite() && *value > 0.0)
            .collect();
        if !cycles.is_empty() {
            cycles.sort_by(f64::total_cmp);
            return Some(median_of_sorted(&cycles));
        }
        let clock = index.figures_of(metrics::CORE_CLOCK).find(|m| {
            m.labels.word(Label::Active) == Some("one")
                && m.labels.word(Label::Vector) == Some("scalar")
                && m.labels.count(Label::Cpu) == self.place.cpu
        })?;
        let cycles = latency_ns * clock.value() * 1e-9;
        (cycles.is_finite() && cycles > 0.0).then_some(cycles)
    }
}

/// One cache that the kernel advertises for a CPU.
#[derive(Clone, Copy, Debug)]
struct Advertised {
    level: u32,
    bytes: u64,
}

/// The data and unified caches of `cpu` with a known size, nearest first.
fn advertised(record: &Record, cpu: Option<u32>) -> Vec<Advertised> {
    let Some(cpu) = cpu else {
        return Vec::new();
    };
    let mut caches: Vec<Advertised> = (1..=record.machine.last_level().min(8))
        .filter_map(|level| {
            let bytes = record.machine.data_cache_of(cpu, level).and_then(|cache: &Cache| cache.bytes)?;
            (bytes > 0).then_some(Advertised { level, bytes })
        })
        .collect();
    // Absurd tables (an L2 smaller than L1) are ignored.
    caches.dedup_by(|next, before| next.bytes <= before.bytes);
    caches
}

/// A level whose latency in cycles is not yet known, and the smallest and largest working set of its flattest part.
type Named = (Level, (u64, u64));

/// The level of a plateau.
fn of_plateau(name: String, plateau: &Plateau, advertised: Option<u64>, judgement: Text) -> Named {
    let level = Level {
        name,
        latency_ns: plateau.latency,
        latency_cycles: None,
        measured_bytes: plateau.left_at,
        advertised_bytes: advertised,
        judgement,
    };
    (level, plateau.flat)
}

/// Names the plateaus of a curve after the caches to which they belong.
fn name(curve: &Curve, caches: &[Advertised]) -> Vec<Named> {
    let Some((_, largest)) = curve.range() else {
        return Vec::new();
    };
    let edges = curve.edges();
    let left: Vec<u64> = curve.plateaus(&edges).iter().filter_map(|plateau| plateau.left_at).collect();
    let mut matched = align(&left, caches);
    let ripple = to_its_wall(&edges, &mut matched, caches.len());
    // An edge that matches no cache is used only beyond the last edge that matches one; an earlier edge without a match has another cause,
    // such as a TLB or a port.
    let last_matched = matched.iter().rposition(Option::is_some);
    let (kept, of_cache): (Vec<Edge>, Vec<Option<usize>>) = edges
        .iter()
        .zip(matched)
        .enumerate()
        .filter(|(i, _)| Some(*i) != ripple)
        .filter(|(i, (_, cache))| cache.is_some() || last_matched.is_none_or(|last| *i > last))
        .map(|(_, (edge, cache))| (*edge, cache))
        .unzip();
    let plateaus = curve.plateaus(&kept);
    let mut found: Vec<Named> = Vec::new();
    let mut next = 0;
    for (i, plateau) in plateaus.iter().enumerate() {
        // A cache that is smaller than the working set at which this plateau ends, and that has no edge of its own, causes no visible step.
        let own = of_cache.get(i).copied().flatten();
        let end = plateau.left_at.unwrap_or(largest);
        while next < own.unwrap_or(caches.len()) && caches[next].bytes < end {
            let before = i.checked_sub(1).map(|before| &plateaus[before]);
            found.extend(unseen(curve, &caches[next], before, plateau));
            next += 1;
        }
        if let Some(own) = own {
            next = own;
        }
        match (caches.get(next), plateau.left_at) {
            (Some(cache), Some(left)) => {
                let before = next.checked_sub(1).map_or(0, |before| caches[before].bytes);
                found.push(seen(plateau, left, cache, before));
                next += 1;
            }
            (Some(cache), None) => found.push(not_left(plateau, cache, largest)),
            (None, Some(left)) => {
                found.push(unadvertised(plateau, left, found.len() + 1));
            }
            (None, None) => found.push(memory(curve, plateau, caches)),
        }
    }
    found
}

/// If an edge between those of the last two caches is much steeper than the edge of the last cache, assigns the last cache to this steeper
/// edge. Memory then begins at the steeper edge. The edge at about the advertised size is a mere ripple, and its index is returned. Such a
/// curve is typical of a virtual machine that gets only a small part of the cache that the kernel shows.
fn to_its_wall(edges: &[Edge], matched: &mut [Option<usize>], caches: usize) -> Option<usize> {
    let own = matched.iter().rposition(Option::is_some)?;
    let last = matched[own].filter(|cache| *cache > 0 && cache + 1 == caches)?;
    let before = matched.iter().position(|cache| *cache == Some(last - 1))?;
    let wall = (before + 1..own).max_by(|a, b| edges[*a].rise.total_cmp(&edges[*b].rise))?;
    (edges[wall].rise > edges[own].rise * MUCH_STEEPER).then(|| {
        matched.swap(wall, own);
        own
    })
}

/// The level for a cache that is larger than the largest measured working set.
fn not_left(plateau: &Plateau, own: &Advertised, largest: u64) -> Named {
    let judgement = text!(
        "level-not-left",
        "holds the largest measured working set, {largest}; advertised {advertised}",
        largest = Value::Bytes(largest),
        advertised = Value::Bytes(own.bytes)
    );
    of_plateau(format!("L{}", own.level), plateau, Some(own.bytes), judgement)
}

/// The level for a step that matches no cache in the kernel's tables.
fn unadvertised(plateau: &Plateau, left: u64, level: usize) -> Named {
    let judgement = text!(
        "not in the kernel's tables: latency rises beyond {left}, possibly because of other processes",
        left = Value::Bytes(left)
    );
    of_plateau(format!("L{level}"), plateau, None, judgement)
}

/// A cache that the curve leaves at `left` bytes; `before` is the size of the previous cache.
fn seen(plateau: &Plateau, left: u64, own: &Advertised, before: u64) -> Named {
    // The size is between the last working set that fit in the cache and the first one that did not.
    let share = plateau.gone_at.unwrap_or(left) as f64 / own.bytes as f64;
    // The capacity of an exclusive cache is added to that of the previous one.
    let with_before = own.bytes.saturating_add(before) as f64 * AT_MOST;
    let (left_at, advertised) = (Value::Bytes(left), Value::Bytes(own.bytes));
    let judgement = if share < MUCH_SMALLER {
        text!(
            "level-part-of-cache",
            "advertised {advertised}, but latency rises beyond {left}: this CPU gets only part of the cache (virtual machine, cache allocation or \
            other users)",
            left = left_at
        )
    } else if (left as f64) < own.bytes as f64 * MUCH_SMALLER {
        text!(
            "between {left} and {gone} (advertised {advertised}): no size in between was measured",
            left = left_at,
            gone = Value::Bytes(plateau.gone_at.unwrap_or(left))
        )
    } else if share < AS_ADVERTISED {
        text!("level-seen-at", "measured: {left} of the advertised {advertised}", left = left_at)
    } else if (left as f64) <= with_before {
        text!("level-as-advertised", "as advertised")
    } else {
        text!(
            "advertised {advertised}, latency rises only beyond {left}: the cache is larger than advertised",
            left = left_at
        )
    };
    of_plateau(format!("L{}", own.level), plateau, Some(own.bytes), judgement)
}

/// The level for a cache that causes no separate step, although the curve extends beyond its size. Its latency is taken at the geometric
/// mean of the previous level's size and the advertised size.
fn unseen(curve: &Curve, own: &Advertised, before: Option<&Plateau>, after: &Plateau) -> Option<Named> {
    let from = before.and_then(|plateau| plateau.left_at).or(curve.range().map(|range| range.0))?;
    let to = own.bytes.max(from);
    let middle = (from as f64 * to as f64).sqrt();
    let latency = curve.latency_at(middle)?.min(after.latency);
    let (low, high) = (curve.latency_at(from as f64)?, curve.latency_at(to as f64)?);
    let judgement = text!(
        "level-no-step",
        "no distinct step: latency is {low} at {from} and {high} at {to} (advertised)",
        low = Value::Figure(low, "ns"),
        from = Value::Bytes(from),
        high = Value::Figure(high, "ns"),
        to = Value::Bytes(to)
    );
    let at = Plateau { latency, left_at: None, gone_at: None, flat: (middle as u64, middle as u64) };
    Some(of_plateau(format!("L{}", own.level), &at, Some(own.bytes), judgement))
}

/// The memory level: the last plateau. If that plateau belongs to a cache because too few larger working sets were measured to form another
/// plateau, the memory level consists of those larger sets.
fn memory(curve: &Curve, plateau: &Plateau, caches: &[Advertised]) -> Named {
    let caches: u64 = caches.iter().map(|cache| cache.bytes).fold(0, u64::saturating_add);
    let mut plateau = *plateau;
    let beyond = curve.from(caches.saturating_mul(2).max(1)).filter(|_| plateau.flat.0 < caches);
    if let (Some((latency, from)), Some((_, largest))) = (beyond, curve.range())
        && latency > plateau.latency * NOT_ITS_OWN
    {
        (plateau.latency, plateau.flat) = (latency, (from, largest));
    }
    // If a curve still rises or has few sizes, the largest sizes count as memory.
    if let Some((_, largest)) = curve.range()
        && let Some((latency, from)) = curve.from(largest / 2)
        && latency > plateau.latency * CLIMBS
    {
        (plateau.latency, plateau.flat) = (latency, (from, largest));
    }
    let largest = Value::Bytes(plateau.flat.1);
    let judgement = if plateau.flat.1 / 2 < caches {
        text!("largest working set {largest}: partly in the caches")
    } else {
        let smallest = Value::Bytes(plateau.flat.0);
        text!("working sets of {smallest} to {largest}")
    };
    of_plateau(MEMORY.to_owned(), &plateau, None, judgement)
}

/// The cache of each edge (in order, each cache at most once), based on the sizes in bytes at which the curve leaves a plateau: the
/// assignment with the smallest total distance between cache and edge sizes.
fn align(left: &[u64], caches: &[Advertised]) -> Vec<Option<usize>> {
    let far = |left: u64, cache: &Advertised| {
        let off = (left.max(1) as f64 / cache.bytes as f64).ln();
        if off > 0.0 { off * BEYOND } else { -off }
    };
    let (n, m) = (left.len(), caches.len());
    // cost[i][j]: the minimum for the edges from i on and the caches from j on.
    let mut cost = vec![vec![0.0f64; m + 1]; n + 1];
    for i in (0..=n).rev() {
        for j in (0..=m).rev() {
            cost[i][j] = match (i < n, j < m) {
                (false, _) => (m - j) as f64 * UNMATCHED,
                (_, false) => (n - i) as f64 * UNMATCHED,
                _ => (far(left[i], &caches[j]) + cost[i + 1][j + 1])
                    .min(UNMATCHED + cost[i + 1][j])
                    .min(UNMATCHED + cost[i][j + 1]),
            };
        }
    }
    let mut matched = vec![None; n];
    let (mut i, mut j) = (0, 0);
    while i < n && j < m {
        if far(left[i], &caches[j]) + cost[i + 1][j + 1] <= cost[i][j] {
            matched[i] = Some(j);
            (i, j) = (i + 1, j + 1);
        } else if UNMATCHED + cost[i + 1][j] <= cost[i][j] {
            i += 1;
        } else {
            j += 1;
        }
    }
    matched
}

#[cfg(test)]
mod tests;
