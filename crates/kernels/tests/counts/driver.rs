//! Runs any kernel of the inventory a given number of iterations, on memory of its own: what the instruction
//! counts have in common.

use kernels::{Entry, Kernel, chase};

/// The most iterations that the memory here is made for.
pub const MOST: u64 = 5;
/// The fewer iterations that [`MOST`] are compared with.
pub const FEW: u64 = 2;

/// One cache line.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([u64; 8]);

/// The arrays, chains and bits that kernels work on.
pub struct Memory {
    dst: Vec<Line>,
    a: Vec<Line>,
    b: Vec<Line>,
    /// Each line points at itself: a chase needs no more in order to be counted.
    chains: Vec<Line>,
    bits: Vec<u8>,
}

impl Memory {
    /// Enough for [`MOST`] iterations of every kernel.
    pub fn new() -> Memory {
        let lines = MOST as usize * 384 / 64;
        let mut chains = vec![Line([0; 8]); chase::MAX_CHAINS];
        for line in &mut chains {
            line.0[0] = std::ptr::from_mut(line).expose_provenance() as u64;
        }
        Memory {
            dst: vec![Line([0; 8]); lines],
            a: vec![Line([0; 8]); lines],
            b: vec![Line([0; 8]); lines],
            chains,
            // Both ways of the branch, in no simple order.
            bits: vec![1, 0, 0, 1, 1],
        }
    }

    /// Runs `entry` for `iterations`, at most [`MOST`]. Allocates nothing, so it may run in a forked child.
    pub fn run(&mut self, entry: &Entry, iterations: u64) {
        assert!(iterations <= MOST);
        assert!(entry.variant.usable());
        match entry.kernel {
            Kernel::Chain(chain) => (chain.run)(iterations),
            // SAFETY: the variant is usable, as asserted.
            Kernel::Heavy(heavy) => unsafe { (heavy.run)(iterations) },
            Kernel::Chase(chains) => {
                let mut pointers = [std::ptr::null::<u8>(); chase::MAX_CHAINS];
                for (pointer, line) in pointers.iter_mut().zip(&self.chains) {
                    *pointer = std::ptr::from_ref(line).cast();
                }
                // SAFETY: each line points at itself.
                unsafe { chase::chase_parallel(&mut pointers[..chains], iterations * chase::UNROLL) };
            }
            Kernel::Stream(stream) => {
                let bytes = iterations as usize * stream.op.block();
                let (dst, a, b) =
                    (self.dst.as_mut_ptr().cast(), self.a.as_ptr().cast(), self.b.as_ptr().cast());
                // SAFETY: the arrays are aligned lines, as many as the largest block times MOST needs; the
                // variant is usable.
                unsafe { (stream.run)(dst, a, b, bytes) };
            }
            // SAFETY: there are `MOST` bits.
            Kernel::Branches(branches) => unsafe {
                (branches.run)(self.bits.as_ptr(), iterations);
            },
        }
    }
}
