//! Counts primes by trial division: the work for comparing user mode, kernel and guest.
//!
//! The routine is a leaf function in its own page: it is position-independent, uses no stack, vectors or calls, and depends only on its
//! two arguments. The same bytes ([`code`]) can therefore run anywhere, at the same page offset. Every number is divided by 2, 3, 4 …
//! until a divisor is found or the square of the divisor exceeds the number: the plain algorithm of the published comparisons, with 64-bit
//! division.

use crate::leaf::leaf;

/// Each pass of the published comparisons counts the primes below this limit.
pub const LIMIT: u64 = 1_000_000;

/// Primes below [`LIMIT`] (the prime-counting function; OEIS A006880).
pub const KNOWN: u64 = 78_498;

/// Number of divisions in a complete pass, `divisions(0, LIMIT)`.
pub const DIVISIONS: u64 = 67_740_403;

/// Number of instructions in a complete pass on this instruction set, `instructions(0, LIMIT)`.
pub const INSTRUCTIONS: u64 =
    OVERHEAD + (LIMIT - 2) * PER_NUMBER + KNOWN * PER_PRIME + DIVISIONS * PER_DIVISION;

// The routine uses the C calling convention of each instruction set, so that it can also be called from C. It begins with the landing pad
// for indirect branches, which some kernels require and other CPUs execute as a nop. The inner loop begins at a 64-byte boundary and fits
// into a single 64-byte block.
#[cfg(target_arch = "x86_64")]
leaf! { "linespeed_primes" align 12 [
    "endbr64",
    "mov r8, rdi",  // r8: the number
    "xor r9d, r9d", // r9: primes so far
    "mov eax, 2",
    "cmp r8, rax",
    "cmovb r8, rax",
    "mov ecx, 2", // rcx: the divisor
    "cmp r8, rsi",
    "jb 2f",
    "xor eax, eax",
    ".globl linespeed_primes_empty",
    ".hidden linespeed_primes_empty",
    "linespeed_primes_empty:",
    "ret",
    ".p2align 6, 0xcc",
    "2:",
    "mov rax, rcx",
    "imul rax, rcx",
    "cmp rax, r8",
    "ja 4f",
    "mov rax, r8",
    "xor edx, edx",
    "div rcx",
    "add rcx, 1",
    "test rdx, rdx",
    "jnz 2b",
    "3:",
    "add r8, 1",
    "mov ecx, 2",
    "cmp r8, rsi",
    "jb 2b",
    "mov rax, r9",
    ".globl linespeed_primes_counted",
    ".hidden linespeed_primes_counted",
    "linespeed_primes_counted:",
    "ret",
    "4:",
    "add r9, 1",
    "jmp 3b",
] after [".p2align 12, 0xcc"] }
#[cfg(target_arch = "aarch64")]
leaf! { "linespeed_primes" align 12 [
    "hint #34", // bti c
    "mov x9, #2",
    "cmp x0, x9",
    "csel x10, x9, x0, lo", // x10: the number
    "mov x11, #0",          // x11: primes so far
    "mov x12, #2",          // x12: the divisor
    "cmp x10, x1",
    "b.lo 2f",
    "mov x0, #0",
    ".globl linespeed_primes_empty",
    ".hidden linespeed_primes_empty",
    "linespeed_primes_empty:",
    "ret",
    ".p2align 6, 0",
    "2:",
    "mul x13, x12, x12",
    "cmp x13, x10",
    "b.hi 4f",
    "udiv x14, x10, x12",
    "msub x15, x14, x12, x10",
    "add x12, x12, #1",
    "cbnz x15, 2b",
    "3:",
    "add x10, x10, #1",
    "mov x12, #2",
    "cmp x10, x1",
    "b.lo 2b",
    "mov x0, x11",
    ".globl linespeed_primes_counted",
    ".hidden linespeed_primes_counted",
    "linespeed_primes_counted:",
    "ret",
    "4:",
    "add x11, x11, #1",
    "b 3b",
] after [".p2align 12, 0"] }

/// Instructions of a call with an empty range, from the first one to the return: the overhead of a call.
const OVERHEAD: u64 = if cfg!(target_arch = "x86_64") { 11 } else { 10 };
/// Instructions per number: increment, reset of the divisor to 2, check for the end of the range.
const PER_NUMBER: u64 = 4;
/// Instructions per division: comparison of the square, division, next divisor, check of the remainder.
const PER_DIVISION: u64 = if cfg!(target_arch = "x86_64") { 10 } else { 7 };
/// Instructions per prime: the final comparison of the square, and the count.
const PER_PRIME: u64 = if cfg!(target_arch = "x86_64") { 6 } else { 5 };

/// The largest end of a range: beyond it, a divisor's square could overflow.
const END: u64 = 1 << 63;

unsafe extern "C" {
    fn linespeed_primes(from: u64, below: u64) -> u64;
    static linespeed_primes_empty: u8;
    static linespeed_primes_counted: u8;
    static linespeed_primes_end: u8;
}

/// The number of primes from `from` up to, but excluding, `below` (2⁶³ at most); 0 if the range is empty. A pass may be split into
/// portions: `count(0, m) + count(m, n) == count(0, n)`.
pub fn count(from: u64, below: u64) -> u64 {
    // SAFETY: the routine accesses no memory and changes only registers that its calling convention permits. It
    // terminates, because only divisors up to the square root of each number are tried, and `below` is reached.
    unsafe { linespeed_primes(from, below.min(END)) }
}

/// The machine code of the routine, from its first instruction to its last. It starts on a page boundary; the rest of the page is padding.
/// It follows the C calling convention: it takes the range (rdi and rsi, x0 and x1), returns the count (rax, x0), and
/// changes only caller-saved registers.
pub fn code() -> &'static [u8] {
    let start = linespeed_primes as *const u8;
    let bytes = (&raw const linespeed_primes_end).addr() - start.addr();
    // SAFETY: both symbols are in one section, the end is after the start, and code is readable.
    unsafe { std::slice::from_raw_parts(start, bytes) }
}

/// The offsets of the return instructions in [`code`], in order. Tools that check kernel code require return
/// instructions to be marked.
pub fn returns() -> [usize; 2] {
    let start = (linespeed_primes as *const u8).addr();
    [(&raw const linespeed_primes_empty).addr() - start, (&raw const linespeed_primes_counted).addr() - start]
}

/// The number of divisions that [`count`] performs for this number, and whether the number is prime.
fn divisions_of(number: u64) -> (u64, bool) {
    // The smallest divisor is a prime number, so after 2 and 3 it has the form 6 k - 1 or 6 k + 1.
    let divides = |divisor: u64| number.is_multiple_of(divisor);
    let root = number.isqrt();
    if root >= 2 && divides(2) {
        return (1, false);
    }
    if root >= 3 && divides(3) {
        return (2, false);
    }
    let mut divisor = 5;
    while divisor <= root {
        if divides(divisor) {
            return (divisor - 1, false);
        }
        if divisor + 2 <= root && divides(divisor + 2) {
            return (divisor + 1, false);
        }
        divisor += 6;
    }
    (root.saturating_sub(1), true)
}

/// The number of divisions, numbers and primes in a call.
fn model(from: u64, below: u64) -> (u64, u64, u64) {
    let from = from.max(2);
    let below = below.min(END);
    (from..below).map(divisions_of).fold((0, 0, 0), |(divisions, numbers, primes), (more, prime)| {
        (divisions + more, numbers + 1, primes + u64::from(prime))
    })
}

/// The number of trial divisions of [`count`] in this range. Computing this number is much faster than counting the primes; for a complete
/// pass, it is [`DIVISIONS`].
pub fn divisions(from: u64, below: u64) -> u64 {
    model(from, below).0
}

/// The number of instructions of the routine for this range, including its return, excluding the caller. Computing this number is much
/// faster than counting the primes; for a complete pass, it is [`INSTRUCTIONS`].
pub fn instructions(from: u64, below: u64) -> u64 {
    let (divisions, numbers, primes) = model(from, below);
    OVERHEAD + numbers * PER_NUMBER + primes * PER_PRIME + divisions * PER_DIVISION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_finds_the_primes_that_there_are() {
        // Powers of ten: OEIS A006880.
        assert_eq!([10, 100, 1000, 10_000, 100_000].map(|n| count(0, n)), [4, 25, 168, 1229, 9592]);
        assert_eq!(count(0, LIMIT), KNOWN);
    }

    #[test]
    fn portions_add_up_and_their_ends_are_right() {
        let portions: u64 = (0..1000).step_by(7).map(|from| count(from, (from + 7).min(1000))).sum();
        assert_eq!(portions, 168);
        for (from, below, primes) in
            [(0, 0, 0), (0, 2, 0), (0, 3, 1), (2, 3, 1), (3, 4, 1), (4, 5, 0), (9, 2, 0)]
        {
            assert_eq!(count(from, below), primes, "from {from} below {below}");
        }
        // Larger than 32 bits: the prime 2³² + 15 and the numbers around it.
        assert_eq!(count((1 << 32) + 14, (1 << 32) + 17), 1);
        assert_eq!(count(u64::MAX, u64::MAX), 0, "a range beyond the maximum is empty, and the call returns");
    }

    #[test]
    fn the_model_divides_as_often_as_the_plain_algorithm() {
        for (from, below) in [(0, 0), (0, 30), (20, 2000), (999_000, 1_000_000), (9, 2)] {
            let (mut plain, mut primes) = (0, 0);
            for number in from.max(2)..below {
                let mut divisor = 2;
                loop {
                    if divisor * divisor > number {
                        primes += 1;
                        break;
                    }
                    plain += 1;
                    if number % divisor == 0 {
                        break;
                    }
                    divisor += 1;
                }
            }
            assert_eq!(divisions(from, below), plain, "from {from} below {below}");
            assert_eq!(count(from, below), primes, "from {from} below {below}");
        }
    }

    #[test]
    fn a_whole_pass_has_as_many_divisions_and_instructions_as_the_constants_say() {
        assert_eq!(divisions(0, LIMIT), DIVISIONS);
        assert_eq!(instructions(0, LIMIT), INSTRUCTIONS, "IPC would be wrong");
        let portions: u64 = (0..10).map(|tenth| instructions(tenth * 100_000, (tenth + 1) * 100_000)).sum();
        assert_eq!(portions, INSTRUCTIONS + 9 * OVERHEAD);
    }

    #[test]
    fn the_routine_has_a_page_of_its_own() {
        let code = code();
        assert_eq!(code.as_ptr().addr() % 4096, 0, "two copies could not have the same page offset");
        assert!((64..=256).contains(&code.len()), "{} bytes", code.len());
    }

    #[test]
    fn its_returns_are_where_it_says() {
        let code = code();
        for at in returns() {
            crate::adds::assert_return(code, at);
        }
        assert!(returns()[0] < returns()[1]);
    }

    /// Tests its use in a kernel module and a guest.
    #[test]
    fn a_copy_elsewhere_computes_the_same() {
        const BYTES: usize = 65_536;
        // SAFETY: a new private mapping that contains no Rust objects; the code is copied into it before it becomes
        // executable, and is called with its calling convention.
        unsafe {
            let writable = libc::PROT_READ | libc::PROT_WRITE;
            let shared = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let place = libc::mmap(std::ptr::null_mut(), BYTES, writable, shared, -1, 0);
            assert_ne!(place, libc::MAP_FAILED);
            place.cast::<u8>().copy_from(code().as_ptr(), code().len());
            assert_eq!(libc::mprotect(place, BYTES, libc::PROT_READ | libc::PROT_EXEC), 0);
            #[cfg(target_arch = "aarch64")]
            for line in (0..code().len()).step_by(4) {
                let line = place.cast::<u8>().add(line);
                std::arch::asm!("dc cvau, {0}", "dsb ish", "ic ivau, {0}", "dsb ish", "isb", in(reg) line);
            }
            let copy: extern "C" fn(u64, u64) -> u64 = std::mem::transmute(place);
            assert_eq!(copy(0, 10_000), 1229);
            libc::munmap(place, BYTES);
        }
    }
}
