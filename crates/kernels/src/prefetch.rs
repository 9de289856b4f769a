//! Prefetches a line before it is written. This is not timed; it only speeds up the creation of large working
//! sets.

/// Prefetches the line of `address` for writing. This is a hint: any address is allowed, and an invalid one has no
/// effect.
#[inline(always)]
pub fn prefetch_for_write(address: *const u8) {
    // SAFETY: prefetches never fault, and change only caches.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        // PREFETCHW is a no-op on processors that do not support it.
        core::arch::asm!("prefetchw [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
}
