//! Repeatedly evicts a cache line from all caches and loads it again: the loop that published comparisons call `memory_bound`. Each
//! iteration takes two round trips to memory; prefetching is impossible.

use std::arch::asm;

use crate::Work;

/// One iteration of [`reload`]: the flush, the barrier, the load, two instructions that make the next flush depend on
/// the loaded value, and the two loop instructions. It counts as one operation, a reload.
pub const WORK: Work = Work { instructions: 7, bytes_read: 1, bytes_written: 0, operations: 1 };

/// Whether this CPU can flush a line in user mode.
///
/// On x86-64, CPUID leaf 1, EDX bit 19 (CLFSH) shows this. On aarch64, the result is always true. User mode may use DC CIVAC if
/// SCTLR_EL1.UCI is set, but cannot read this bit. Linux sets the bit, except on CPUs with a related erratum, where it emulates the
/// instruction (`user_cache_maint_handler` in arch/arm64/kernel/traps.c). That is slower, but raises no signal for readable memory.
pub fn available() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 CPU has CPUID and this leaf. (Since Rust 1.94, the function is safe.)
        #[allow(unused_unsafe)]
        let leaf = unsafe { std::arch::x86_64::__cpuid(1) };
        leaf.edx & 1 << 19 != 0
    }
    #[cfg(target_arch = "aarch64")]
    true
}

/// Flushes the line at `line` and loads a byte of it again, `iterations` times.
///
/// A barrier separates the flush from the load, because neither instruction set otherwise orders a load after a flush
/// of its line. Each flush depends on the previous load, so that no iteration begins before the previous one has loaded
/// its byte. (The published loop has neither the barrier nor the dependency, so its loads may occasionally hit a
/// cache.) The line keeps its contents; if it was modified, the first flush writes it to memory.
///
/// # Safety
/// `line` must be readable, and [`available`] must be true.
#[inline(never)]
pub unsafe fn reload(line: *mut u8, iterations: u64) {
    if iterations == 0 {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the byte at `line`, which the caller guarantees to be valid. Flushing its line does not change contents. Only named
    // registers are written. The loop ends after `iterations` iterations.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "clflush byte ptr [{line}]",
            "mfence",
            "movzx {byte:e}, byte ptr [{line}]",
            // This instruction waits for the byte: unlike a zeroing idiom, it does not ignore its operand.
            "and {byte:e}, 0",
            "add {line}, {byte}",
            "sub {n}, 1",
            "jnz 2b",
            line = inout(reg) line => _,
            byte = out(reg) _,
            n = inout(reg) iterations => _,
            options(nostack)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as on x86-64.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "dc civac, {line}",
            "dsb sy",
            "ldrb {byte:w}, [{line}]",
            // This is an architectural dependency on the register, although the result is always zero.
            "eor {byte}, {byte}, {byte}",
            "add {line}, {line}, {byte}",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            line = inout(reg) line => _,
            byte = out(reg) _,
            n = inout(reg) iterations => _,
            options(nostack)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flushed_line_keeps_its_content() {
        if !available() {
            println!("skipped: this CPU cannot flush a line in user mode");
            return;
        }
        let mut bytes: [u8; 256] = std::array::from_fn(|i| i as u8);
        for place in [0, 1, 63, 64, 200] {
            for iterations in [0, 1, 100] {
                // Modified right before, so that the flush has something to write back.
                bytes[place] = bytes[place].wrapping_add(1);
                let before = bytes;
                // SAFETY: the byte is readable and the CPU can flush.
                unsafe { reload(&raw mut bytes[place], iterations) };
                assert_eq!(bytes, before, "byte {place}, {iterations} times");
            }
        }
    }
}
