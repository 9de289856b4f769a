//! Distinguishes working sets that reach memory from those that fit in the caches.

use record::text::Value;
use record::units::parse_bytes;
use record::{Ended, Label, Level, Measurement, Record, RunMode, State, Text, detail, metrics, text};

use crate::figures::middle;
use crate::record_index::RecordIndex;

/// One sentence per memory result that was measured only within the caches.
pub(crate) fn not_reached(index: &RecordIndex) -> Vec<Text> {
    let RecordIndex { record, .. } = *index;
    let mut said = Vec::new();
    // An imported record describes a machine that cannot be measured again here.
    if record.import.is_some() {
        return said;
    }
    // A measurement that ended before the signal was not affected by the signal.
    let is_interrupted = matches!(record.ended, Ended::Interrupted { .. });
    let is_done =
        |name: &str| record.coverage.iter().any(|of| of.what == name && of.state == State::Measured);
    let is_cut = |name: &str| is_interrupted && !is_done(name);
    // A quick run uses smaller arrays and working sets than a normal one.
    let full = if record.mode == Some(RunMode::Quick) { "" } else { " --full" };
    let bus = || index.figures_of(metrics::MEMORY_BANDWIDTH);
    let least = beyond(record, index.levels(), Walk::Arrays);
    if let Some(most) = bus().map(walked).max().filter(|most| *most < least) {
        said.push(if is_cut("bandwidth") {
            text!(
                "memory-bandwidth-interrupted",
                "memory bandwidth not measured, because the run was interrupted; use linespeed run bandwidth"
            )
        } else {
            text!(
                "memory-bandwidth-not-reached",
                "memory bandwidth not measured, because the largest arrays ({size} in total) fit in the caches; use linespeed run bandwidth{full}",
                size = Value::Bytes(most))
        });
    }
    let least = beyond(record, index.levels(), Walk::Loads);
    let pair = index.pages().and_then(|(small, _)| small.labels.count(Label::Bytes));
    let any = || index.figures_of(metrics::LOAD_LATENCY);
    let largest = any().filter_map(|m| m.labels.count(Label::Bytes)).max();
    if let Some(most) = pair.or(largest).filter(|most| *most < least) {
        // Allocating ordinary pages may be slow, so sometimes only the curve on huge pages reaches memory.
        let reached = any().filter(|m| m.labels.count(Label::Bytes) == largest && largest >= Some(least));
        let size = Value::Bytes(most);
        // The text states the same latency as the table of levels.
        let memory = index.levels().last().filter(|level| level.name == MEMORY);
        said.push(match middle(reached) {
            Some(m) => {
                let page = m.labels.word(Label::Page).and_then(|page| parse_bytes(page).ok());
                text!(
                    "memory-latency-not-reached-on-small-pages",
                    "memory latency on ordinary pages not measured, because the largest working set ({size}) fits in the caches; on {page} \
                     pages, the latency is {latency}. Use linespeed run latency{full}",
                    latency = Value::Figure(memory.map_or(m.value(), |level| level.latency_ns), "ns"),
                    page = page.map_or(Value::from("other"), Value::Bytes)
                )
            }
            None if is_cut("latency") => text!(
                "memory-latency-interrupted",
                "memory latency not measured, because the run was interrupted; use linespeed run latency"
            ),
            None => text!(
                "memory-latency-not-reached",
                "memory latency not measured, because the largest working set ({size}) fits in the caches; use linespeed run latency{full}"),
        });
    }
    said
}

/// The name of the level beyond all caches.
pub(crate) const MEMORY: &str = "memory";

/// The last cache before memory, according to the detected levels.
pub(crate) fn last_cache(levels: &[Level]) -> Option<&Level> {
    match levels {
        [.., last, memory] if memory.name == MEMORY => Some(last),
        _ => None,
    }
}

fn count_last_caches(record: &Record) -> u64 {
    record.machine.data_caches(record.machine.last_level()).count().max(1) as u64
}

/// The access pattern of a working set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Walk {
    /// One CPU issues loads.
    Loads,
    /// All CPUs stream through arrays, so the caches of the entire machine must be exceeded.
    Arrays,
}

/// If no cache is known, working sets of at least this size count as memory.
const UNKNOWN_CACHES: u64 = 32 << 20;
/// If the size of the last cache is known only from measurements, working sets below this size never count as memory, because TLB steps
/// occur in this range.
const LEAST_FOUND: u64 = 32 << 20;

impl Walk {
    /// The size of the smallest working set that mostly exceeds caches of this size.
    fn past(self, caches: u64) -> u64 {
        match self {
            Walk::Loads => caches.saturating_add(caches / 2),
            Walk::Arrays => caches.saturating_mul(2),
        }
    }
}

/// The smallest working set that is mostly in memory, based on the caches that the kernel shows.
pub(super) fn beyond_advertised(record: &Record, walk: Walk) -> u64 {
    match record.machine.last_level_bytes() {
        0 => UNKNOWN_CACHES,
        caches => walk.past(caches),
    }
}

/// Minimum total size of arrays as a multiple of the size of the last-level caches: STREAM's rule, minus a small amount for rounding to
/// whole chunks.
const LEAST_TIMES: f64 = 3.5;

/// Whether arrays are so small that the last-level caches, as advertised or as measured, may contain part of the data. Arrays of another
/// tool are assumed to lie in memory, not in a cache, if they are at least twice the size of the advertised caches.
pub(super) fn maybe_cached(record: &Record, levels: &[Level], bandwidth: &Measurement) -> bool {
    let walked = walked(bandwidth);
    if record.import.is_some() {
        return walked < beyond_advertised(record, Walk::Arrays);
    }
    let found = last_cache(levels).and_then(|last| last.measured_bytes).unwrap_or(0);
    let caches = record.machine.last_level_bytes().max(found.saturating_mul(count_last_caches(record)));
    walked < beyond_advertised(record, Walk::Arrays) || (walked as f64) < LEAST_TIMES * caches as f64
}

/// The smallest working set that is mostly in memory: 1.5 times the size of the last-level caches for loads, twice their size for arrays.
/// If the kernel shows the host's cache but the virtual machine has only a part of it, the size in the latency curve counts instead.
pub(crate) fn beyond(record: &Record, levels: &[Level], walk: Walk) -> u64 {
    let reported = beyond_advertised(record, walk);
    last_cache(levels).and_then(|last| last.measured_bytes).map_or(reported, |found| {
        let owners = match walk {
            Walk::Loads => 1,
            Walk::Arrays => count_last_caches(record),
        };
        // For arrays, the advertised size is a lower limit, because streams are prefetched and a temporarily idle neighbor leaves the
        // entire cache to them.
        let least = match walk {
            Walk::Loads => LEAST_FOUND,
            Walk::Arrays => record.machine.last_level_bytes().max(LEAST_FOUND),
        };
        reported.min(walk.past(found.saturating_mul(owners)).max(least))
    })
}

/// Whether the arrays of a bandwidth result were mostly beyond the caches, according to the record's diagnosis.
pub fn beyond_caches(record: &Record, bandwidth: &Measurement) -> bool {
    walked(bandwidth) >= beyond(record, &record.diagnosis.levels, Walk::Arrays)
}

/// Total size of the arrays of a bandwidth result, bytes; 0 if the record does not contain the size.
pub(crate) fn walked(m: &Measurement) -> u64 {
    m.detail.get(detail::ARRAY_BYTES).unwrap_or(0).saturating_mul(m.detail.get(detail::ARRAYS).unwrap_or(1))
}
