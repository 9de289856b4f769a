//! The work of one iteration of a kernel.

/// The declared work of one iteration of a kernel's loop. Every result derived from a kernel uses these
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Architectural instructions, including those of the loop itself (counter, pointers, branch). A fused pair counts as two, and the
    /// `rep` prefix is not used.
    pub instructions: u32,
    /// Bytes read by the load instructions.
    pub bytes_read: u32,
    /// Bytes written by the store instructions.
    pub bytes_written: u32,
    /// Operations that the kernel times: links of a chain, hops of a chase, double-precision flops of a heavy loop or a stream, branches,
    /// or hints. The loop's own instructions are not operations.
    pub operations: u32,
}

impl Work {
    /// Work without memory accesses.
    pub(crate) const fn in_registers(instructions: u32, operations: u32) -> Work {
        Work { instructions, bytes_read: 0, bytes_written: 0, operations }
    }
}
