//! The arrays for bandwidth kernels: each CPU's part of three arrays, first touched by its own thread.

use std::sync::Arc;
use std::time::Instant;

use kernels::Variant;
use kernels::stream::{self, Op, Stores, Stream};
use os::Stop;
use os::mapping::{Mapping, Page};
use os::placement::Placement;

/// Bytes of each array per call of a kernel: about 100 µs of work. A slice of some milliseconds therefore consists of
/// many calls, and the overhead of a call is negligible.
pub(crate) const CHUNK: usize = 512 << 10;

/// Arrays per part: triad and add read two arrays and write one.
pub(crate) const ARRAYS: usize = 3;

/// The loop of this kind with the widest vectors of this CPU and with regular stores, such as compilers generate for
/// STREAM.
pub(crate) fn widest_stream(op: Op) -> Option<&'static Stream> {
    widest_stream_with(op, Stores::Regular)
}

/// Like [`widest_stream`], with this kind of stores.
pub(crate) fn widest_stream_with(op: Op, stores: Stores) -> Option<&'static Stream> {
    Variant::usable_vectors().filter_map(|variant| stream::find(op, stores, variant)).last()
}

/// Distance between the starts of arrays modulo 4 KiB. With this distance, the streams of a kernel use different cache
/// sets, and no load aliases an earlier store.
pub(crate) const SKEW: usize = 2048 - 64;

/// Extra space in a mapping for the skews.
const ROOM: usize = 64 << 10;

#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) mapping: Arc<Mapping>,
    pub(crate) offset: usize,
}

/// One CPU's part of the arrays.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) slots: Vec<Slot>,
    /// Size of each of the CPU's arrays in bytes, a multiple of [`CHUNK`].
    pub bytes: usize,
}

impl Part {
    /// The address of a usable chunk, `offset` bytes into array `index`.
    pub(crate) fn array(&self, index: usize, offset: usize) -> *mut f64 {
        let slot = &self.slots[index];
        debug_assert!(offset + CHUNK <= self.bytes && slot.offset + offset + CHUNK <= slot.mapping.len());
        // SAFETY: the slot has `bytes` bytes from its offset in the mapping, and the chunk is within them.
        unsafe { slot.mapping.start().add(slot.offset + offset).cast() }
    }

    /// Maps two arrays and touches their chunks alternately until `deadline` or a signal. The touched size becomes the
    /// part's size, at least one chunk.
    pub(crate) fn two_arrays(bytes: usize, deadline: Instant, stop: &Stop) -> std::io::Result<Self> {
        let bytes = (bytes / CHUNK).max(1) * CHUNK;
        let mapping = Arc::new(Mapping::new(2 * bytes + ROOM, Page::Any)?);
        let second = Slot { mapping: mapping.clone(), offset: bytes + SKEW / 64 * 64 };
        let mut part = Self { slots: vec![Slot { mapping, offset: 0 }, second], bytes };
        let mut touched = 0;
        let go_on = || Instant::now() < deadline && stop.signal().is_none();
        while touched < bytes && (touched == 0 || go_on()) {
            part.fill(0, touched);
            part.fill(1, touched);
            touched += CHUNK;
        }
        part.bytes = touched;
        Ok(part)
    }

    /// Maps one array and touches it. After a signal, it is mapped but not fully touched, and must not be used.
    pub(crate) fn one_array(bytes: usize, stop: &Stop) -> std::io::Result<Slot> {
        let mapping = Arc::new(Mapping::new(bytes + ROOM, Page::Any)?);
        let part = Self { slots: vec![Slot { mapping: mapping.clone(), offset: 0 }], bytes };
        part.fill_all(stop);
        Ok(Slot { mapping, offset: 0 })
    }

    /// Writes a chunk, which allocates its pages on this thread's node.
    fn fill(&self, index: usize, offset: usize) {
        let start = self.array(index, offset);
        for at in 0..CHUNK / 8 {
            // SAFETY: the address is within the chunk, which is within the array.
            unsafe { start.add(at).write(1.0) };
        }
    }

    /// Writes the first array, or as much of it as possible before a signal. This takes seconds if a hypervisor
    /// provides memory slowly.
    pub(crate) fn fill_all(&self, stop: &Stop) {
        let chunks = (0..self.bytes).step_by(CHUNK);
        chunks.take_while(|_| stop.signal().is_none()).for_each(|offset| self.fill(0, offset));
    }

    /// The placement of the part's pages.
    pub(crate) fn placement(&self, node: u32) -> Placement {
        // This covers the two arrays in the part's own mapping. The placement of a third array from the cycle's memory
        // was verified when that cycle was created.
        let own = &self.slots[self.slots.len() - 1];
        Placement::check_range(&own.mapping, own.offset, self.bytes, node)
    }
}

/// The parts of all CPUs, with two arrays each (enough for reading) or, after [`crate::array_setup::with_third`], three.
#[derive(Clone, Debug)]
pub(crate) struct Arrays {
    /// The parts in the order of the context's CPUs.
    pub parts: Vec<Part>,
    /// Whether the arrays are smaller than memory allows, because creating them took too long.
    pub slow: bool,
}

impl Arrays {
    /// Size of each array, summed over all parts, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes as u64).sum()
    }
}
