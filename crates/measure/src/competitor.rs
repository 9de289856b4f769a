//! Competitors that deliberately use one resource: memory bandwidth or a shared cache. They are threads of this
//! process, so that none outlives it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::arrays::widest_stream_with;
use kernels::stream::{Op, Stores};
use os::mapping::{Mapping, Page};
use os::pin::Pinned;
use record::machine::CacheKind;
use record::{CpuList, Machine};

/// The resource used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Memory bandwidth, bypassing the caches.
    Bandwidth,
    /// The last-level cache, by repeatedly reading as much memory as fits in it.
    Cache,
}

/// Bytes that the threads write cyclically to use bandwidth: more than fits in the caches. Up to four threads share this amount.
const BEYOND_CACHES: usize = 256 << 20;
/// Bytes that the threads read together: the default if the size of the last-level cache is unknown, and the maximum.
const CACHE: (usize, usize) = (8 << 20, 64 << 20);
/// Bytes between two checks of the stop flag.
const CHUNK: usize = 1 << 20;

/// Threads that use the resource until the value is dropped.
#[derive(Debug)]
pub struct Competitor {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Competitor {
    /// Starts one thread on each of the CPUs; fails if there is not enough memory for the threads to use.
    pub fn start(resource: Resource, machine: &Machine, cpus: &CpuList) -> std::io::Result<Self> {
        let bytes = match resource {
            Resource::Bandwidth => BEYOND_CACHES / cpus.len().clamp(1, 4),
            Resource::Cache => last_cache(machine, cpus) / cpus.len().max(1),
        };
        let bytes = (bytes / CHUNK).max(1) * CHUNK;
        let mut competitor = Self { over: Arc::default(), threads: Vec::new() };
        for cpu in cpus.iter() {
            let memory = Mapping::new(bytes, Page::Base)?;
            memory.touch(bytes);
            // The measured command must not inherit the mapping: copying its page tables would slow the command down.
            memory.keep_from_children();
            let over = Arc::clone(&competitor.over);
            let work = move || {
                // A thread that cannot be pinned competes nevertheless.
                let _pinned = Pinned::to(cpu);
                while !over.load(Ordering::Relaxed) {
                    pass(resource, &memory, &over);
                }
            };
            competitor.threads.push(std::thread::Builder::new().name("competitor".to_owned()).spawn(work)?);
        }
        Ok(competitor)
    }
}

impl Drop for Competitor {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that panicked has also stopped using the resource.
            let _ = thread.join();
        }
    }
}

/// Makes one pass over the memory.
fn pass(resource: Resource, memory: &Mapping, over: &AtomicBool) {
    let (op, stores) = match resource {
        Resource::Bandwidth => (Op::Write, Stores::Streaming),
        Resource::Cache => (Op::Read, Stores::Regular),
    };
    let Some(kernel) = widest_stream_with(op, stores) else { return };
    let start = memory.start().cast::<f64>();
    for offset in (0..memory.len()).step_by(CHUNK) {
        if over.load(Ordering::Relaxed) {
            return;
        }
        // SAFETY: the chunk is within the mapping, which is page-aligned. The loop is usable here and accesses only
        // this array, as `dst` or as `a`.
        unsafe {
            let at = start.byte_add(offset);
            (kernel.run)(at, at, at, CHUNK);
        }
    }
}

/// The size of the last-level cache of these CPUs, limited to the maximum.
fn last_cache(machine: &Machine, cpus: &CpuList) -> usize {
    let of_cpus = |cpu: u32| machine.caches.iter().filter(move |cache| cache.cpus.contains(cpu));
    let data = cpus.iter().flat_map(of_cpus).filter(|cache| cache.kind != CacheKind::Instruction);
    let bytes = data.max_by_key(|cache| cache.level).and_then(|cache| cache.bytes);
    bytes.map_or(CACHE.0, |bytes| usize::try_from(bytes).unwrap_or(CACHE.1).min(CACHE.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn competitors_end_when_they_are_dropped() {
        let machine = Machine::default();
        let cpus = os::pin::allowed().and_then(|cpus| cpus.first()).into_iter().collect();
        for resource in [Resource::Bandwidth, Resource::Cache] {
            let competitor = Competitor::start(resource, &machine, &cpus).unwrap();
            let over = Arc::clone(&competitor.over);
            drop(competitor);
            assert_eq!(Arc::strong_count(&over), 1, "a thread is still running");
        }
        assert_eq!(last_cache(&machine, &cpus), CACHE.0);
    }
}
