//! Measures the time per element from each node to each node, as printed by lmbench's `stream`: one thread runs copy
//! and triad loops within a column's memory. This measurement runs last, because it overwrites the cycle of the latency
//! measurement.

use std::time::{Duration, Instant};

use kernels::stream::{Op, Stream};

use crate::arrays::SKEW;
use crate::common_interval::{self, WorkLog};
use crate::thread_group;
use os::Stop;
use os::mapping::Mapping;

/// The loops for which the most results have been published.
pub(crate) const OPS: [Op; 2] = [Op::Copy, Op::Triad];

/// Bytes of each array that a loop processes per call.
const CHUNK: usize = 128 << 10;

/// Samples of a run.
const SLICES: usize = 6;

/// Three arrays in a column's memory, and the position at which the last run ended. The next run continues there, so that earlier loads
/// have not brought its data into a cache.
#[derive(Debug)]
pub(crate) struct Arrays<'a> {
    memory: &'a Mapping,
    /// Size of each array, a multiple of [`CHUNK`].
    bytes: usize,
    at: usize,
}

impl<'a> Arrays<'a> {
    /// Places the arrays in the first `touched` bytes of `memory`; `None` if there is no room.
    pub(crate) fn new(memory: &'a Mapping, touched: usize) -> Option<Self> {
        let bytes = touched.min(memory.len()).checked_sub(2 * SKEW)? / 3 / CHUNK * CHUNK;
        (bytes > 0).then_some(Self { memory, bytes, at: 0 })
    }

    /// Bytes of each array.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn array(&self, index: usize, offset: usize) -> *mut f64 {
        self.memory.start().wrapping_add(index * (self.bytes + SKEW) + offset).cast()
    }

    /// Fills the arrays with ones. The cycle's content, read as floating-point numbers, is denormal, and arithmetic on
    /// it is a hundred times slower.
    fn fill(&self, stop: &Stop) {
        for offset in (0..self.bytes).step_by(CHUNK).take_while(|_| stop.signal().is_none()) {
            for (index, at) in (0..3).flat_map(|index| (0..CHUNK / 8).map(move |at| (index, at))) {
                // SAFETY: the address is within the array, which is within the memory (`new`) and not used by anything
                // else now.
                unsafe { self.array(index, offset).add(at).write(1.0) };
            }
        }
    }

    /// Nanoseconds per element for a thread on `cpu`, and whether it ran on a different CPU.
    pub(crate) fn run(
        &mut self,
        cpu: u32,
        stream: &Stream,
        window: Duration,
        stop: &Stop,
    ) -> (Vec<f64>, bool) {
        let this = &*self;
        let walk = |member: thread_group::Member| {
            let mut log = WorkLog::with_capacity(4096);
            let (mut at, mut done) = (this.at, 0.0);
            member.wait();
            let end = Instant::now() + window;
            log.note(member.start, done);
            while Instant::now() < end && stop.signal().is_none() {
                let array = |index| this.array(index, at);
                // SAFETY: three arrays of at least a chunk each from this offset, aligned to 64 bytes, disjoint and
                // used only by this thread; the loop's vector instructions are usable here.
                unsafe { (stream.run)(array(0), array(1), array(2), CHUNK) };
                done += (CHUNK / size_of::<f64>()) as f64;
                log.note(member.start, done);
                at = (at + CHUNK) % this.bytes;
            }
            (log, at, member.has_moved() || !member.pinned)
        };
        let Some((log, at, moved)) = thread_group::run(&[cpu], walk).into_iter().flatten().next() else {
            return (Vec::new(), false);
        };
        self.at = at;
        (common_interval::rates(&[log], SLICES).into_iter().map(|rate| 1e9 / rate).collect(), moved)
    }
}

/// Fills the arrays of all columns at the same time, each with a thread on the CPU that created its memory.
pub(crate) fn fill_all(all: &[(u32, Option<Arrays>)], stop: &Stop) {
    let cpus: Vec<u32> = all.iter().map(|(cpu, _)| *cpu).collect();
    thread_group::run(&cpus, |member| {
        if let Some((_, Some(arrays))) = all.get(member.index) {
            arrays.fill(stop);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrays::widest_stream;
    use os::mapping::Page;

    #[test]
    fn both_loops_give_a_time_per_element_and_go_on_where_they_ended() {
        let cpu = os::current_cpu().unwrap();
        let memory = Mapping::new(4 << 20, Page::Base).unwrap();
        memory.touch(4 << 20);
        assert!(Arrays::new(&memory, 2 * CHUNK).is_none());
        let mut all = [(cpu, Arrays::new(&memory, 4 << 20))];
        fill_all(&all, &Stop::new());
        let arrays = all[0].1.as_mut().unwrap();
        assert_eq!(arrays.bytes(), 10 * CHUNK);
        for op in OPS {
            let from = arrays.at;
            let stream = widest_stream(op).unwrap();
            // On a busy machine, a window may get no CPU time, or may end exactly where it began, after complete laps.
            let moved = (0..50).any(|_| {
                let samples = arrays.run(cpu, stream, Duration::from_millis(20), &Stop::new()).0;
                assert!(samples.iter().all(|ns| ns.is_finite() && *ns > 0.0) && arrays.at < arrays.bytes);
                !samples.is_empty() && arrays.at != from
            });
            assert!(moved);
        }
        // SAFETY: the first element of the array that copy and triad wrote.
        let first = unsafe { arrays.array(0, 0).read() };
        assert!(first.is_normal(), "{first}");
    }
}
