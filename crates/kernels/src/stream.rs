//! Loops over arrays of doubles, to measure bandwidth. There is a loop for each operation and vector width, with
//! regular and with streaming (non-temporal) stores.
//!
//! Each loop moves whole 64-byte lines, at least two per iteration, with plain pointers that step forward;
//! there is no software prefetch. [`Stream::stream_bytes`] counts the bytes of the program, as STREAM does;
//! [`Stream::bus_bytes`] adds the lines that caches read before regular
//! stores. A cache that detects that whole lines are overwritten may
//! omit these reads (Neoverse V2
//! does, and Intel's SpecI2M under load), so the bus bytes of regular stores are an upper bound.

mod declared;
mod loops;

use crate::Variant;

pub use declared::{CONSTANT, Op, Stores, Stream};

/// All loops of this instruction set, narrowest vectors first. Some of them are not usable on every CPU.
pub fn all() -> &'static [Stream] {
    loops::LOOPS.as_flattened()
}

/// The loop with this operation, kind of stores and vector width, if this instruction set has one. [`Op::Read`] exists
/// only with regular stores. The loop may be unusable on this CPU.
pub fn find(op: Op, stores: Stores, variant: Variant) -> Option<&'static Stream> {
    all().iter().find(|stream| (stream.op, stream.stores, stream.variant) == (op, stores, variant))
}
