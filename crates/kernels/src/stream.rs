//! Loops over arrays of doubles: bandwidth. Every operation for every vector width, with regular and with
//! streaming (non-temporal) stores.
//!
//! Each loop moves whole 64-byte lines, at least two per iteration, with plain pointers that step forward;
//! there is no software prefetch. Counting: [`Stream::stream_bytes`] is what the program asks for, as STREAM
//! counts; [`Stream::bus_bytes`] adds the lines that regular stores make a cache read first. A cache that
//! sees whole lines being overwritten may leave that reading out (Neoverse V2 does, Intel's SpecI2M does
//! under load): the bus bytes of regular stores are an upper bound there.

mod declared;
mod loops;

use crate::Variant;

pub use declared::{CONSTANT, Op, Stores, Stream};

/// Every loop of this instruction set, narrowest vectors first. Not each is usable on each CPU.
pub fn all() -> &'static [Stream] {
    loops::LOOPS.as_flattened()
}

/// The loop for these, if this instruction set has it: reading has only regular stores. It may still not be
/// usable on this CPU.
pub fn find(op: Op, stores: Stores, variant: Variant) -> Option<&'static Stream> {
    all().iter().find(|stream| (stream.op, stream.stores, stream.variant) == (op, stores, variant))
}
