//! Runs the threads of a group, which walk their parts of the arrays.

use std::time::{Duration, Instant};

use kernels::stream::Stream;

use crate::arrays::{CHUNK, Part};
use crate::common_interval::{self, WorkLog};
use crate::thread_group;

/// Number of slices in a run; each is a sample.
pub(super) const SLICES: usize = 6;

/// The CPUs that work, and the parts that they use.
pub(super) struct Group {
    pub(super) cpus: Vec<u32>,
    /// For each CPU, the parts (by index) that it walks.
    pub(super) parts: Vec<Vec<usize>>,
    pub(super) node: Option<u32>,
}

/// Runs a loop on a group for `seconds`. Returns the total iterations per second of all threads in each slice, and
/// whether a thread ran on a different CPU than its own.
pub(super) fn run(group: &Group, parts: &[Part], stream: &Stream, seconds: f64) -> (Vec<f64>, bool) {
    common_interval::run(&group.cpus, SLICES, |member| {
        member.wait();
        let log = walk(group, parts, stream, seconds, member);
        (log, member.has_moved())
    })
}

/// Runs one thread until `seconds` after the group's start and logs its iterations.
pub(super) fn walk(
    group: &Group,
    parts: &[Part],
    stream: &Stream,
    seconds: f64,
    member: thread_group::Member,
) -> WorkLog {
    let per_chunk = stream.iterations(CHUNK) as f64;
    let mine: Vec<&Part> = group.parts[member.index].iter().filter_map(|index| parts.get(*index)).collect();
    let mut log = WorkLog::with_capacity((seconds * 2e5) as usize);
    let end = member.start + Duration::from_secs_f64(seconds);
    let mut done = 0.0;
    let mut place = (0usize, 0usize);
    log.note(member.start, 0.0);
    while Instant::now() < end {
        let Some(part) = mine.get(place.0) else { break };
        // SAFETY: there are three arrays of at least a chunk each from this offset, aligned to 64 bytes and used only
        // by this thread.
        unsafe {
            (stream.run)(part.array(0, place.1), part.array(1, place.1), part.array(2, place.1), CHUNK)
        };
        done += per_chunk;
        log.note(member.start, done);
        place.1 += CHUNK;
        if place.1 >= part.bytes {
            place = ((place.0 + 1) % mine.len(), 0);
        }
    }
    log
}

/// The mean rate of a run, from its slices; `None` if there was no time at which all of its threads ran.
pub(super) fn mean_rate(rates: &[f64]) -> Option<f64> {
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    (mean.is_finite() && mean > 0.0).then_some(mean)
}
