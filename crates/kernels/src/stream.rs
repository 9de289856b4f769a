//! Loops over arrays of doubles: bandwidth. Every operation for every vector width, with regular and with
//! streaming (non-temporal) stores.
//!
//! Each loop moves whole 64-byte lines, at least two per iteration, with plain pointers that step forward;
//! there is no software prefetch. Counting: [`Stream::stream_bytes`] are the bytes of the program, as counted by STREAM; [`Stream::bus_bytes`]
//! adds the lines that caches read before regular stores. A cache that detects the overwriting of whole lines may omit these reads (Neoverse V2
//! does, and Intel's SpecI2M under load), so the bus bytes of regular stores are an upper bound.

mod declared;
mod loops;

use crate::Variant;

pub use declared::{CONSTANT, Op, Stores, Stream};

/// Every loop of this instruction set, narrowest vectors first. Not all of them are usable on every CPU.
pub fn all() -> &'static [Stream] {
    loops::LOOPS.as_flattened()
}

/// The loop for these, if this instruction set has it: reading has only regular stores. It may still not be
/// usable on this CPU.
pub fn find(op: Op, stores: Stores, variant: Variant) -> Option<&'static Stream> {
    all().iter().find(|stream| (stream.op, stream.stores, stream.variant) == (op, stores, variant))
}
