//! The definition of a loop over arrays: its operation, its kind of stores, and its declared work.

use strum::{Display, IntoStaticStr, VariantArray};

use crate::{Variant, Work};

/// The operation of a loop on its arrays, in STREAM's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Op {
    /// Loads `a`.
    Read,
    /// dst = [`CONSTANT`]
    Write,
    /// dst = a
    Copy,
    /// dst = [`CONSTANT`] · a
    Scale,
    /// dst = a + b
    Add,
    /// dst = a + [`CONSTANT`] · b
    Triad,
    /// In dst: loads 3 of every 4 lines and sets the fourth to [`CONSTANT`].
    Read3Write1,
    /// In dst: loads 2 of every 3 lines and sets the third to [`CONSTANT`].
    Read2Write1,
    /// In dst: loads the first of every 2 lines and sets the second to [`CONSTANT`].
    Read1Write1,
}

/// The scalar of scale and triad, and the value stored by write and the mixes.
pub const CONSTANT: f64 = 3.0;

impl Op {
    /// All operations.
    pub const ALL: &[Self] = <Self as VariantArray>::VARIANTS;

    /// The operation's name in a record.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The number of arrays. [`Op::Read`] has only `a`; the others with one array have only `dst`.
    pub const fn arrays(self) -> u8 {
        match self {
            Op::Read | Op::Write | Op::Read3Write1 | Op::Read2Write1 | Op::Read1Write1 => 1,
            Op::Copy | Op::Scale => 2,
            Op::Add | Op::Triad => 3,
        }
    }

    /// Bytes of each array per iteration: a whole number of lines and, for a mix, of groups of lines.
    pub const fn block(self) -> usize {
        if matches!(self, Op::Read2Write1) { 6 * 64 } else { 4 * 64 }
    }
}

/// The kind of stores of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Stores {
    /// Stores into the cache; an uncached line is read first.
    Regular,
    /// Stores that bypass the caches. x86-64 uses MOVNTPS, with one SFENCE after the loop. aarch64 uses STNP, which is only a hint.
    Streaming,
}

impl Stores {
    /// Both kinds.
    pub const ALL: &[Self] = <Self as VariantArray>::VARIANTS;

    /// The name of this kind in a record.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A loop over arrays.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// The loop's operation.
    pub op: Op,
    /// The loop's kind of stores; [`Stores::Regular`] for [`Op::Read`], which does not store.
    pub stores: Stores,
    /// The vector extension that the loop needs.
    pub variant: Variant,
    /// The work of one iteration, which covers [`Op::block`] bytes of each array; `operations` are flops.
    pub work: Work,
    /// The number of arrays; see [`Op::arrays`].
    pub arrays: u8,
    /// Runs over the first `bytes` of each array, rounded down to whole blocks of [`Op::block`] bytes (multiples of 1024, except for
    /// [`Op::Read2Write1`], which needs multiples of 3072). Arrays that the operation does not use are ignored and may be null.
    ///
    /// # Safety
    /// `variant.usable()` must be true. The arrays that the operation uses must be aligned to 64 bytes and valid for `bytes` (dst also for
    /// writes), and dst must not overlap the others.
    pub run: unsafe fn(dst: *mut f64, a: *const f64, b: *const f64, bytes: usize),
}

impl Stream {
    /// The number of iterations of a run over `bytes` of each array.
    pub const fn iterations(&self, bytes: usize) -> u64 {
        (bytes / self.op.block()) as u64
    }

    /// Bytes that the program loads and stores in one iteration, as STREAM counts them.
    pub const fn stream_bytes(&self) -> u32 {
        self.work.bytes_read + self.work.bytes_written
    }

    /// Maximum number of bytes on the memory bus per iteration if no array is cached. No operation stores to a line
    /// that it has read. With regular stores, each written line may therefore also be read (write-allocate); with
    /// streaming stores, it is not.
    pub const fn bus_bytes(&self) -> u32 {
        let allocated = match self.stores {
            Stores::Regular => self.work.bytes_written,
            Stores::Streaming => 0,
        };
        self.stream_bytes() + allocated
    }
}

/// Declares one of the loops listed in `loops`.
pub(super) const fn declare(
    op: Op,
    stores: Stores,
    variant: Variant,
    run: unsafe fn(*mut f64, *const f64, *const f64, usize),
) -> Stream {
    let neon = matches!(variant, Variant::Neon);
    // A step is one vector or, on aarch64, the pair of vectors moved by LDP and STP.
    let step = if neon { 32 } else { variant.bits() / 8 };
    let block = op.block() as u32;
    let per_step = match op {
        Op::Read | Op::Write | Op::Read3Write1 | Op::Read2Write1 | Op::Read1Write1 => 1,
        Op::Copy => 2,
        // For a pair of vectors: one load, two arithmetic instructions, one store, and one more load if there is a second array.
        Op::Scale if neon => 4,
        Op::Add | Op::Triad if neon => 5,
        // If the CPU has no fused multiply-add, one more instruction is needed.
        Op::Triad if matches!(variant, Variant::Sse2) => 4,
        // Load, compute, store. On x86-64, the add loads the second array from memory.
        Op::Scale | Op::Add | Op::Triad => 3,
    };
    let (bytes_read, bytes_written, flops) = match op {
        Op::Read => (block, 0, 0),
        Op::Write => (0, block, 0),
        Op::Copy => (block, block, 0),
        Op::Scale => (block, block, block / 8),
        Op::Add => (2 * block, block, block / 8),
        Op::Triad => (2 * block, block, block / 8 * 2),
        Op::Read3Write1 => (block / 4 * 3, block / 4, 0),
        Op::Read2Write1 => (block / 3 * 2, block / 3, 0),
        Op::Read1Write1 => (block / 2, block / 2, 0),
    };
    // One instruction per array advances the array's pointer, and there are two loop instructions.
    let instructions = block / step * per_step + op.arrays() as u32 + 2;
    let work = Work { instructions, bytes_read, bytes_written, operations: flops };
    Stream { op, stores, variant, work, arrays: op.arrays(), run }
}
