//! The timed loop: loads of which each gives the address of the next, one instruction a hop.

use std::arch::asm;

/// Loads in the body of the loop; its counter and branch run in the shadow of the loads.
const UNROLLED: usize = 8;

/// The hops that [`hops`] makes when asked for `count`: whole rounds of the loop, at least one.
pub fn whole(count: usize) -> usize {
    (count / UNROLLED).max(1) * UNROLLED
}

/// Follows the chain from `place` for `whole(count)` hops and returns where it ended. `place` must come from [`crate::cycle::link`].
pub fn hops(place: *const u8, count: usize) -> *const u8 {
    let rounds = whole(count) / UNROLLED;
    let end: *const u8;
    // SAFETY: each line that `link` wrote holds the address of another line of the same region, which is mapped for
    // as long as the caller holds it; the loop only reads, and `rounds` is at least 1.
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
