//! The work of one iteration of a kernel.

/// The declared work of one iteration of a kernel's loop. Every result derived from a kernel uses these
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Instructions, including those of the loop itself (counter, pointers, branch), as counted by the instruction set:
    /// a fused pair counts as two; the `rep` prefix is not used.
    pub instructions: u32,
    /// Bytes read by the load instructions.
    pub bytes_read: u32,
    /// Bytes written by the store instructions.
    pub bytes_written: u32,
    /// Operations of the kernel's kind: links of a chain, hops of a chase, double-precision flops of a heavy
    /// loop or a stream, branches, hints. The loop's own instructions are not operations.
    pub operations: u32,
}

impl Work {
    /// Work without memory accesses.
    pub(crate) const fn in_registers(instructions: u32, operations: u32) -> Work {
        Work { instructions, bytes_read: 0, bytes_written: 0, operations }
    }
}
