//! What one iteration of a kernel is.

/// What one iteration of a kernel's loop does. Every result derived from a kernel uses these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Instructions, with those of the loop itself (counter, pointers, branch), as the instruction set counts
    /// them: a fused pair is two, a `rep` prefix does not occur.
    pub instructions: u32,
    /// Bytes that its load instructions ask for.
    pub bytes_read: u32,
    /// Bytes that its store instructions write.
    pub bytes_written: u32,
    /// Operations of the kernel's kind: links of a chain, hops of a chase, double-precision flops of a heavy
    /// loop or a stream, branches, hints. The loop's own instructions are not operations.
    pub operations: u32,
}

impl Work {
    /// Work that touches no memory.
    pub(crate) const fn in_registers(instructions: u32, operations: u32) -> Work {
        Work { instructions, bytes_read: 0, bytes_written: 0, operations }
    }
}
