//! Dependent adds as a leaf function whose machine code can be executed at any address. It measures the core's clock
//! where [`crate::chain::ADD`] cannot be called, for example in a kernel.
//!
//! Like [`crate::primes`], it is position-independent, uses no stack, vectors or calls, and depends only on its
//! argument. An iteration is the same as in [`crate::chain::ADD`]: [`ADDS`] register-to-register adds, each dependent
//! on the previous one, and the two loop instructions.

use crate::leaf::leaf;

/// Adds per iteration, one cycle each.
pub const ADDS: u32 = 256;

#[cfg(target_arch = "x86_64")]
leaf! { "linespeed_adds" align 6 [
    "endbr64",
    "test rdi, rdi", // rdi: iterations
    "jz 3f",
    "mov eax, 1",
    "mov edx, 3",
    ".p2align 6",
    "2:",
    ".rept 256",
    "add rax, rdx",
    ".endr",
    "sub rdi, 1",
    "jnz 2b",
    "3:",
    "ret",
] after [] }

#[cfg(target_arch = "aarch64")]
leaf! { "linespeed_adds" align 6 [
    "hint #34",   // bti c
    "cbz x0, 3f", // x0: iterations
    "mov x1, #1",
    "mov x2, #3",
    ".p2align 6",
    "2:",
    ".rept 256",
    "add x1, x1, x2",
    ".endr",
    "subs x0, x0, #1",
    "b.ne 2b",
    "3:",
    "ret",
] after [] }

unsafe extern "C" {
    fn linespeed_adds(iterations: u64);
    static linespeed_adds_end: u8;
}

/// Runs this many iterations of [`ADDS`] adds; none if 0.
pub fn run(iterations: u64) {
    // SAFETY: the routine accesses no memory, changes only registers that its calling convention permits, and ends
    // after `iterations` iterations.
    unsafe { linespeed_adds(iterations) }
}

/// The machine code of the routine, from its first instruction to its last; it starts on a 64-byte boundary. It follows
/// the C calling convention, with the number of iterations as argument (rdi, x0), and changes only caller-saved
/// registers.
pub fn code() -> &'static [u8] {
    let start = linespeed_adds as *const u8;
    let bytes = (&raw const linespeed_adds_end).addr() - start.addr();
    // SAFETY: both symbols are in one section, the end is after the start, and code is readable.
    unsafe { std::slice::from_raw_parts(start, bytes) }
}

/// The offset in [`code`] of its last instruction, the return.
pub fn return_at() -> usize {
    code().len() - if cfg!(target_arch = "x86_64") { 1 } else { 4 }
}

/// Panics unless there is a return instruction at `at`.
#[cfg(test)]
pub(crate) fn assert_return(code: &[u8], at: usize) {
    let ret: &[u8] = if cfg!(target_arch = "x86_64") { &[0xc3] } else { &[0xc0, 0x03, 0x5f, 0xd6] };
    assert_eq!(code.get(at..at + ret.len()), Some(ret), "no return at {at} of {code:02x?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_whatever_is_asked() {
        for iterations in [0, 1, 2, 1000] {
            run(iterations);
        }
    }

    #[test]
    fn its_return_is_where_it_says_and_ends_it() {
        let code = code();
        assert_return(code, return_at());
    }

    #[test]
    fn it_is_a_block_of_so_many_adds() {
        let code = code();
        assert_eq!(code.as_ptr().addr() % 64, 0, "copies would have different positions in cache lines");
        let add: &[u8] = if cfg!(target_arch = "x86_64") {
            &[0x48, 0x01, 0xd0]
        } else {
            // add x1, x1, x2
            &[0x21, 0x00, 0x02, 0x8b]
        };
        let adds = code[64..].chunks(add.len()).take_while(|bytes| *bytes == add).count();
        assert_eq!(adds, ADDS as usize, "the clock would be off by that ratio");
    }
}
