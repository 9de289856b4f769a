//! Chains of integer operations. A dependent chain takes a known number of cycles, so its time yields the core clock. A
//! loop of nops yields the number of instructions issued per cycle.

use crate::Work;

/// A loop without memory accesses or data arguments.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    /// The name of the loop.
    pub name: &'static str,
    /// The work of one iteration; `operations` are the unrolled instructions, without the two loop instructions.
    pub work: Work,
    /// Runs this many iterations; none if 0.
    pub run: fn(iterations: u64),
}

/// 256 dependent register-to-register adds per iteration: one cycle each on every core since the Pentium, except on POWER. Adds per second
/// therefore equal the core clock in Hz. Both operands are registers because some cores (Golden Cove and later) execute two or more
/// chained adds of an immediate per cycle, so that 4 GHz would appear as 8 GHz. The loop counter is not part of the
/// chain; on a core that executes one instruction per cycle, the two loop instructions account for less than 1 % of the
/// time.
pub const ADD: Chain = Chain { name: "add", work: Work::in_registers(256 + 2, 256), run: loops::add };

/// 32 dependent 64-bit multiplications per iteration. Their latency is a whole number of cycles on every core
/// ([`MULTIPLY_CYCLES`]), so this is a second measurement of the clock that shares no execution unit with [`ADD`]. The
/// ratio of the two times per operation must be a whole number.
pub const MULTIPLY: Chain =
    Chain { name: "multiply", work: Work::in_registers(32 + 2, 32), run: loops::multiply };

/// Cycles per link of [`MULTIPLY`] on known cores: 3 on Intel server and client cores since Nehalem and on AMD cores
/// since Zen 2, more on older AMD cores and on Intel's small cores, 2 to 5 on aarch64 (measured tables of uops.info and
/// Agner Fog, Arm's software optimization guides). If the measured multiply-to-add ratio is one of these whole numbers,
/// it is the core's latency; otherwise, one of the chains does not show the clock, for instance because the core
/// executes two dependent adds per cycle.
pub const MULTIPLY_CYCLES: core::ops::RangeInclusive<u32> =
    if cfg!(target_arch = "x86_64") { 3..=5 } else { 2..=5 };

/// 64 nops per iteration, to determine the number of instructions issued per cycle. On x86-64, the 4-byte form is used:
/// single-byte nops overflow the decoded-instruction cache of Intel cores, so the result would be the width of the
/// decoders.
pub const NOPS: Chain = Chain { name: "nops", work: Work::in_registers(64 + 2, 64), run: loops::nops };

/// Every chain.
pub fn all() -> &'static [Chain] {
    &[ADD, MULTIPLY, NOPS]
}

#[cfg(target_arch = "x86_64")]
mod loops {
    use crate::counted::{count_down, counted_loop};

    counted_loop! { [] pub(super) fn add; setup []; body [".rept 256", "add {a}, {b}", ".endr"]; finish [];
    with a = inout(reg) 1u64 => _, b = in(reg) 3u64, }
    // An odd multiplier and an odd start keep the product odd, so it is never 0.
    counted_loop! { [] pub(super) fn multiply;
    setup []; body [".rept 32", "imul {a}, {b}", ".endr"]; finish [];
    with a = inout(reg) 3u64 => _, b = in(reg) 0x9e37_79b9_7f4a_7c15u64, }
    // nop dword ptr [rax + 0]
    counted_loop! { [] pub(super) fn nops;
    setup []; body [".rept 64", ".byte 0x0f, 0x1f, 0x40, 0x00", ".endr"]; finish []; with }
}

#[cfg(target_arch = "aarch64")]
mod loops {
    use crate::counted::{count_down, counted_loop};

    counted_loop! { [] pub(super) fn add;
    setup []; body [".rept 256", "add {a}, {a}, {b}", ".endr"]; finish [];
    with a = inout(reg) 1u64 => _, b = in(reg) 3u64, }
    // An odd multiplier and an odd start keep the product odd, so it is never 0.
    counted_loop! { [] pub(super) fn multiply;
    setup []; body [".rept 32", "mul {a}, {a}, {b}", ".endr"]; finish [];
    with a = inout(reg) 3u64 => _, b = in(reg) 0x9e37_79b9_7f4a_7c15u64, }
    counted_loop! { [] pub(super) fn nops; setup []; body [".rept 64", "nop", ".endr"]; finish []; with }
}
