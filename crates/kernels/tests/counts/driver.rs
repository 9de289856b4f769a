//! The common part of the instruction counts: runs any kernel of the inventory for a given number of iterations in its
//! own memory.

use std::fmt;

#[path = "inventory.rs"]
mod inventory;

use inventory::{Entry, Kernel, inventory};
use kernels::{chase, flush, primes};

/// Maximum number of iterations for which there is memory.
pub const MOST: u64 = 5;
/// The smaller number of iterations, with which [`MOST`] is compared.
pub const FEW: u64 = 2;

/// Ranges for counting the instructions of the prime routine: the start, and the ends of the shorter and the longer
/// run. They contain no numbers; small numbers; mostly composite numbers; one large prime.
const RANGES: [(u64, [u64; 2]); 4] =
    [(0, [0, 3]), (0, [3, 60]), (900, [901, 1000]), (999_981, [999_982, 999_984])];

/// A routine whose instructions are counted. It is run twice, the second time with more work.
#[derive(Clone, Copy)]
pub enum Case {
    /// A kernel of the inventory: [`FEW`] and [`MOST`] iterations.
    Kernel(Entry),
    /// The primes of a range, up to the first and to the second end.
    Primes(u64, [u64; 2]),
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Case::Kernel(entry) => entry.fmt(f),
            Case::Primes(from, [few, most]) => write!(f, "primes.{from}-{few}-{most}"),
        }
    }
}

impl Case {
    /// All counted routines, whether usable on this CPU or not.
    pub fn all() -> impl Iterator<Item = Case> {
        let ranges = RANGES.iter().map(|(from, ends)| Case::Primes(*from, *ends));
        inventory().map(Case::Kernel).chain(ranges)
    }

    /// Whether this CPU can run it.
    pub fn usable(&self) -> bool {
        match self {
            Case::Kernel(Entry { kernel: Kernel::Reload, .. }) => flush::available(),
            Case::Kernel(entry) => entry.variant.usable(),
            Case::Primes(..) => true,
        }
    }

    /// The declared number of additional instructions in the second run.
    pub fn declared(&self) -> u64 {
        match self {
            Case::Kernel(entry) => u64::from(entry.work.instructions) * (MOST - FEW),
            Case::Primes(from, [few, most]) => {
                primes::instructions(*from, *most) - primes::instructions(*from, *few)
            }
        }
    }
}

/// One of the two runs.
#[derive(Clone, Copy)]
pub enum Run {
    Few,
    Most,
}

/// One cache line.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([u64; 8]);

/// The arrays, chains and bits used by the kernels.
pub struct Memory {
    dst: Vec<Line>,
    a: Vec<Line>,
    b: Vec<Line>,
    /// Lines that point to themselves, which suffices for counting a chase.
    chains: Vec<Line>,
    bits: Vec<u8>,
}

impl Memory {
    /// Allocates enough memory for [`MOST`] iterations of every kernel.
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
            // Both directions of the branch, in an irregular order.
            bits: vec![1, 0, 0, 1, 1],
        }
    }

    /// Does one of the two runs of `case`. Allocates nothing, so it may run in a forked child.
    #[inline(never)]
    pub fn run(&mut self, case: &Case, run: Run) {
        // Only indexed, so that both runs execute the same instructions here.
        let run = run as usize;
        match case {
            Case::Kernel(entry) => self.iterate(entry, [FEW, MOST][run]),
            Case::Primes(from, ends) => {
                std::hint::black_box(primes::count(*from, ends[run]));
            }
        }
    }

    /// Runs `entry` for `iterations`, at most [`MOST`].
    #[inline(never)]
    fn iterate(&mut self, entry: &Entry, iterations: u64) {
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
                // SAFETY: each line points to itself.
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
            // SAFETY: the line belongs to `dst`; the CPU can flush, because otherwise the case would not be usable.
            Kernel::Reload => unsafe { flush::reload(self.dst.as_mut_ptr().cast(), iterations) },
        }
    }
}
