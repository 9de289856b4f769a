//! Chains of integer operations: a dependent chain takes a known number of cycles, so its time gives the core
//! clock; those that do nothing tell how many instructions a core takes in a cycle.

use crate::Work;

/// A loop that touches no memory and takes no argument.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    /// Its name.
    pub name: &'static str,
    /// What one iteration is; `operations` are the unrolled instructions, without the two of the loop.
    pub work: Work,
    /// Runs this many iterations; none when 0.
    pub run: fn(iterations: u64),
}

/// 256 dependent register-to-register adds an iteration: one cycle each on every core since the Pentium but
/// POWER's, so adds a second are the core clock in Hz. Both operands are registers because some cores (Golden
/// Cove and later) execute a chain of adds of an immediate two or more a cycle, which makes 4 GHz look like
/// 8. The loop counter is no part of the chain; on a core that does one instruction a cycle the loop's two are
/// below 1 % of it.
pub const ADD: Chain = Chain { name: "add", work: Work::in_registers(256 + 2, 256), run: loops::add };

/// 32 dependent 64-bit multiplies an iteration. Their latency is a whole number of cycles on every core
/// ([`MULTIPLY_CYCLES`]), so this is a second reading of the clock that shares no execution unit with
/// [`ADD`]: the two times an operation must stand in a whole-number ratio.
pub const MULTIPLY: Chain =
    Chain { name: "multiply", work: Work::in_registers(32 + 2, 32), run: loops::multiply };

/// Cycles that one link of [`MULTIPLY`] takes on the cores known: 3 on Intel's server and client cores since Nehalem
/// and AMD's since Zen 2, more on older AMD and on Intel's small cores, 2 to 5 on aarch64 (measured tables of
/// uops.info and Agner Fog, Arm's software optimization guides). A measured ratio of multiply to add that is a whole
/// number in here is that core's latency; one that is not means that one of the chains does not show the clock, as
/// when a core runs two dependent adds a cycle.
pub const MULTIPLY_CYCLES: core::ops::RangeInclusive<u32> =
    if cfg!(target_arch = "x86_64") { 3..=5 } else { 2..=5 };

/// 64 instructions an iteration that do nothing: how many instructions a cycle a core takes in. On x86-64 the
/// 4-byte form, because single-byte ones overfill the decoded-instruction cache of Intel cores and would show
/// the width of the decoders.
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
    // An odd multiplier and an odd start keep the product odd, so it never sinks to 0.
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
    // An odd multiplier and an odd start keep the product odd, so it never sinks to 0.
    counted_loop! { [] pub(super) fn multiply;
    setup []; body [".rept 32", "mul {a}, {a}, {b}", ".endr"]; finish [];
    with a = inout(reg) 3u64 => _, b = in(reg) 0x9e37_79b9_7f4a_7c15u64, }
    counted_loop! { [] pub(super) fn nops; setup []; body [".rept 64", "nop", ".endr"]; finish []; with }
}
