//! The timed loop: each load returns the address of the next load, with one instruction per hop.

use std::arch::asm;

/// Number of loads in the loop body; the loop's counter and branch execute while the loads wait.
const UNROLLED: usize = 8;

/// The number of hops that [`hops`] makes for `count`: complete iterations of the loop, at least one.
pub fn whole(count: usize) -> usize {
    (count / UNROLLED).max(1) * UNROLLED
}

/// Follows the chain from `place` for `whole(count)` hops and returns the last address. `place` must come from [`crate::cycle::link`].
pub fn hops(place: *const u8, count: usize) -> *const u8 {
    let rounds = whole(count) / UNROLLED;
    let end: *const u8;
    // SAFETY: each line that `link` wrote contains the address of another line of the same region, which stays mapped
    // while the caller owns it; the loop only reads, and `rounds` is at least 1.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!(
            "2:",
            "mov {place}, qword ptr [{place}]",
            "mov {place}, qword ptr [{place}]",
            "mov {place}, qword ptr [{place}]",
            "mov {place}, qword ptr [{place}]",
            "mov {place}, qword ptr [{place}]",
            "mov {place}, qword ptr [{place}]",
            "mov {place}, qword ptr [{place}]",
            "mov {place}, qword ptr [{place}]",
            "sub {rounds}, 1",
            "jnz 2b",
            place = inout(reg) place => end,
            rounds = inout(reg) rounds => _,
            options(readonly, nostack)
        );
        #[cfg(target_arch = "aarch64")]
        asm!(
            "2:",
            "ldr {place}, [{place}]",
            "ldr {place}, [{place}]",
            "ldr {place}, [{place}]",
            "ldr {place}, [{place}]",
            "ldr {place}, [{place}]",
            "ldr {place}, [{place}]",
            "ldr {place}, [{place}]",
            "ldr {place}, [{place}]",
            "subs {rounds}, {rounds}, #1",
            "b.ne 2b",
            place = inout(reg) place => end,
            rounds = inout(reg) rounds => _,
            options(readonly, nostack)
        );
    }
    end
}
