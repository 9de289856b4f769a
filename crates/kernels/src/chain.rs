//! Chains of integer operations: a dependent chain takes a known number of cycles, so its time tells the core
//! clock; independent ones tell how many instructions a core issues in a cycle.

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

/// 64 adds an iteration that do not wait for each other (8 chains on x86-64, 16 on aarch64): how many adds a
/// cycle. As many chains bound what can be seen: no core of either set has that many adders.
pub const INDEPENDENT_ADDS: Chain =
    Chain { name: "independent-adds", work: Work::in_registers(64 + 2, 64), run: loops::independent_adds };

/// 64 instructions an iteration that do nothing: how many instructions a cycle a core takes in. On x86-64 the
/// 4-byte form, because single-byte ones overfill the decoded-instruction cache of Intel cores and would show
/// the width of the decoders.
pub const NOPS: Chain = Chain { name: "nops", work: Work::in_registers(64 + 2, 64), run: loops::nops };

/// The loop alone: what to subtract from the others.
pub const EMPTY: Chain = Chain { name: "empty", work: Work::in_registers(2, 0), run: loops::empty };

/// Every chain.
pub fn all() -> &'static [Chain] {
    &[ADD, MULTIPLY, INDEPENDENT_ADDS, NOPS, EMPTY]
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
    counted_loop! { [] pub(super) fn independent_adds;
    setup [];
    body [".rept 8", ".irp r, rax, rcx, rdx, rsi, r8, r9, r10, r11", "add \\r, {b}", ".endr", ".endr"];
    finish [];
    with b = in(reg) 3u64, out("rax") _, out("rcx") _, out("rdx") _, out("rsi") _, out("r8") _, out("r9") _,
        out("r10") _, out("r11") _, }
    // nop dword ptr [rax + 0]
    counted_loop! { [] pub(super) fn nops;
    setup []; body [".rept 64", ".byte 0x0f, 0x1f, 0x40, 0x00", ".endr"]; finish []; with }
    counted_loop! { [] pub(super) fn empty; setup []; body []; finish []; with }
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
    counted_loop! { [] pub(super) fn independent_adds; setup [];
    body [".rept 4", ".irp r, x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15",
        "add \\r, \\r, {b}", ".endr", ".endr"]; finish [];
    with b = in(reg) 3u64, out("x0") _, out("x1") _, out("x2") _, out("x3") _, out("x4") _, out("x5") _,
        out("x6") _, out("x7") _, out("x8") _, out("x9") _, out("x10") _, out("x11") _, out("x12") _,
        out("x13") _, out("x14") _, out("x15") _, }
    counted_loop! { [] pub(super) fn nops; setup []; body [".rept 64", "nop", ".endr"]; finish []; with }
    counted_loop! { [] pub(super) fn empty; setup []; body []; finish []; with }
}
