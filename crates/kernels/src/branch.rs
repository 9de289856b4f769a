//! One data-dependent conditional branch per item. The difference in time between random and periodic bits is the cost
//! of mispredictions.

use std::arch::asm;

use crate::Work;

/// A loop of conditional branches.
#[derive(Clone, Copy, Debug)]
pub struct Branches {
    /// The name of the loop.
    pub name: &'static str,
    /// The work for one item, whether or not its branch is taken.
    pub work: Work,
    /// See [`branches`].
    ///
    /// # Safety
    /// As for [`branches`].
    pub run: unsafe fn(bits: *const u8, count: u64) -> u64,
}

/// The loop of [`branches`].
pub const BRANCHES: Branches = Branches {
    name: "branches",
    work: Work { instructions: INSTRUCTIONS, bytes_read: 1, bytes_written: 0, operations: 1 },
    run: branches,
};

/// x86-64: test, branch, count, next byte, and the two loop instructions. aarch64: load with increment, combined test
/// and branch, count, and the two loop instructions.
const INSTRUCTIONS: u32 = if cfg!(target_arch = "x86_64") { 6 } else { 5 };

/// Branches on the lowest bit of each of `count` bytes at `bits` and returns the number of set bits.
///
/// Both arms have the same instructions, each with its own loop end and exit, so that mispredictions are the only
/// difference between inputs and no compiler can use a conditional move. Predictors memorize thousands of outcomes, so
/// use fresh random bytes each time.
///
/// # Safety
/// `bits` must be readable for `count` bytes.
pub unsafe fn branches(bits: *const u8, count: u64) -> u64 {
    if count == 0 {
        return 0;
    }
    let set: u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads `count` bytes from `bits`, which the caller guarantees, and writes only the named registers.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "test byte ptr [{bits}], 1",
            "jnz 3f",
            "add {clear}, 1",
            "add {bits}, 1",
            "sub {n}, 1",
            "jnz 2b",
            "jmp 4f",
            ".p2align 5",
            "3:",
            "add {set}, 1",
            "add {bits}, 1",
            "sub {n}, 1",
            "jnz 2b",
            "jmp 4f",
            "4:",
            bits = inout(reg) bits => _,
            n = inout(reg) count => _,
            clear = inout(reg) 0u64 => _,
            set = inout(reg) 0u64 => set,
            options(nostack, readonly)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as on x86-64.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "ldrb {byte:w}, [{bits}], #1",
            "tbnz {byte:w}, #0, 3f",
            "add {clear}, {clear}, #1",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            "b 4f",
            ".p2align 5",
            "3:",
            "add {set}, {set}, #1",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            "b 4f",
            "4:",
            bits = inout(reg) bits => _,
            n = inout(reg) count => _,
            clear = inout(reg) 0u64 => _,
            set = inout(reg) 0u64 => set,
            byte = out(reg) _,
            options(nostack, readonly)
        );
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_follows_the_lowest_bit() {
        // Other bits must not affect the branch; otherwise, random bytes would be less random than assumed.
        let bits: Vec<u8> = (0..1000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for count in [0, 1, 2, 3, 17, 1000] {
            let set = bits[..count].iter().filter(|byte| *byte & 1 == 1).count() as u64;
            // SAFETY: `count` is at most the length of `bits`.
            assert_eq!(unsafe { branches(bits.as_ptr(), count as u64) }, set, "{count} items");
        }
    }
}
