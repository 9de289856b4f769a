//! Measures the bandwidth of a cell: all CPUs of a row read a column's memory, each a separate part.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kernels::stream::Stream;

use crate::common_interval::{self, WorkLog};
use os::Stop;
use os::mapping::Mapping;

/// Bytes per call of the read loop: about 10 µs of work, much longer than the time to log the call.
const CHUNK: usize = 128 << 10;

/// The results of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Read {
    /// Total B/s of all threads, per slice.
    pub rates: Vec<f64>,
    /// Number of threads that read.
    pub threads: usize,
    /// Whether any thread ran on a different CPU.
    pub moved: bool,
}

/// The reading time of a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// Time for which all threads read, s.
    pub window: f64,
    /// Number of samples in this time.
    pub slices: usize,
    /// Maximum wait for a thread that gets no CPU time.
    pub patience: Duration,
}

/// Reads the first `bytes` of `memory` with a thread on each of `cpus`.
pub(crate) fn run(
    cpus: &[u32],
    memory: &Mapping,
    bytes: usize,
    kernel: &Stream,
    terms: Terms,
    stop: &Stop,
) -> Read {
    let bytes = bytes.min(memory.len());
    let threads = cpus.len().min(bytes / CHUNK);
    let cpus = &cpus[..threads];
    let part = bytes / threads.max(1) / CHUNK * CHUNK;
    let window = Duration::from_secs_f64(terms.window);
    let (begun, finished) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (rates, moved) = common_interval::run(cpus, terms.slices, |member| {
        let mut log = WorkLog::with_capacity(4096);
        let limit = member.start + terms.patience;
        let start = memory.start().wrapping_add(member.index * part);
        let (mut done, mut offset, mut counted) = (0.0, 0, false);
        // The time at which all threads had started.
        let mut together: Option<Instant> = None;
        member.wait();
        begun.fetch_add(1, Ordering::Relaxed);
        log.note(member.start, done);
        loop {
            let from = start.wrapping_add(offset).cast::<f64>();
            // SAFETY: the chunk is within the thread's part of the memory, which was written and is only read now; it is aligned to 64
            // bytes, and the loop's vector instructions are usable here.
            unsafe { (kernel.run)(std::ptr::null_mut(), from, std::ptr::null(), CHUNK) };
            done += CHUNK as f64;
            log.note(member.start, done);
            offset = if offset + 2 * CHUNK <= part { offset + CHUNK } else { 0 };
            // All threads continue until the last one has finished its window, so that none reads alone.
            let now = Instant::now();
            if together.is_none() && begun.load(Ordering::Relaxed) >= threads {
                together = Some(now);
            }
            if !counted && together.is_some_and(|together| now >= together + window) {
                counted = true;
                finished.fetch_add(1, Ordering::Relaxed);
            }
            let over = counted && finished.load(Ordering::Relaxed) >= threads;
            if over || now >= limit || stop.signal().is_some() {
                break;
            }
        }
        (log, member.has_moved() || !member.pinned)
    });
    Read { rates, threads, moved }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrays::widest_stream;
    use kernels::stream::Op;
    use os::mapping::Page;

    fn terms(window: f64, slices: usize) -> Terms {
        Terms { window, slices, patience: Duration::from_secs_f64((window * 20.0).max(1.0)) }
    }

    #[test]
    fn threads_share_the_memory_and_no_more_of_them_than_it_has_parts() {
        let cpu = os::current_cpu().unwrap();
        let memory = Mapping::new(2 << 20, Page::Base).unwrap();
        memory.touch(2 << 20);
        let kernel = widest_stream(Op::Read).unwrap();
        // If other tests keep the CPU busy, the two may not run at the same time immediately.
        let tries = (0..50).map(|_| run(&[cpu, cpu], &memory, 2 << 20, kernel, terms(0.02, 4), &Stop::new()));
        let read = tries.into_iter().find(|read| !read.rates.is_empty()).expect("never simultaneous");
        assert_eq!((read.threads, read.rates.len()), (2, 4));
        assert!(read.rates.iter().all(|rate| *rate > 0.0), "{read:?}");
        // Enough memory for only one part, and for none.
        assert_eq!(run(&[cpu, cpu], &memory, CHUNK + 5, kernel, terms(0.001, 1), &Stop::new()).threads, 1);
        assert!(run(&[cpu], &memory, 7, kernel, terms(0.001, 1), &Stop::new()).rates.is_empty());
    }

    #[test]
    fn a_signal_ends_a_long_window() {
        let cpu = os::current_cpu().unwrap();
        let memory = Mapping::new(2 << 20, Page::Base).unwrap();
        let stop = Stop::new();
        stop.ask(2);
        let from = Instant::now();
        run(&[cpu], &memory, 2 << 20, widest_stream(Op::Read).unwrap(), terms(600.0, 4), &stop);
        assert!(from.elapsed() < Duration::from_secs(300));
    }
}
