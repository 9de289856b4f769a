//! Evicts a range from all caches, so that the next load of each of its lines is served from memory.

use std::arch::asm;

/// Distance between flushes: the line size of x86-64, and the minimum line size of aarch64 cores that run Linux.
const LINE: usize = 64;

/// Flushes the lines of `[start, start + bytes)` from the caches of all CPUs, writes modified lines back, and waits for
/// completion. Their contents do not change.
///
/// Like [`crate::flush`], it needs [`crate::flush::available`]. On aarch64, DC CIVAC reaches the point of coherency; a
/// memory-side cache beyond that point may keep the line.
///
/// # Safety
/// The range must be readable, and [`crate::flush::available`] must be true.
#[inline(never)]
pub unsafe fn evict(start: *const u8, bytes: usize) {
    let lines = bytes.div_ceil(LINE);
    if lines == 0 {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: flushing does not change contents, and the caller guarantees that the range is valid. Only named registers change. The loop
    // ends after `lines` iterations.
    unsafe {
        asm!(
            "2:",
            "clflush byte ptr [{at}]",
            "add {at}, {step}",
            "sub {n}, 1",
            "jnz 2b",
            "mfence",
            at = inout(reg) start => _,
            step = const LINE,
            n = inout(reg) lines => _,
            options(nostack)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as on x86-64.
    unsafe {
        asm!(
            "2:",
            "dc civac, {at}",
            "add {at}, {at}, #{step}",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            "dsb sy",
            at = inout(reg) start => _,
            step = const LINE,
            n = inout(reg) lines => _,
            options(nostack)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_still_there() {
        let mut bytes = vec![0u8; 10_000];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = index as u8;
        }
        if crate::flush::available() {
            // SAFETY: the range belongs to a live vector.
            unsafe {
                evict(bytes.as_ptr(), bytes.len());
                evict(bytes.as_ptr(), 0);
            }
        }
        assert!(bytes.iter().enumerate().all(|(index, byte)| *byte == index as u8));
    }
}
