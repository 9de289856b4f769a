//! The instruction that spin loops execute between two checks of a lock: PAUSE on x86-64, YIELD on aarch64.

use crate::Work;
use crate::chain::Chain;
use crate::counted::{count_down, counted_loop};

/// 16 hints per iteration: PAUSE on x86-64 (about 10 cycles on Intel cores before Skylake and about 140 since, so that
/// a spin loop tuned for one kind of core waits far too long or too briefly on the other), YIELD on aarch64 (a nop on
/// most cores).
pub const SPIN_HINT: Chain = Chain { name: "spin-hint", work: Work::in_registers(16 + 2, 16), run: hints };

/// All spin hints of this instruction set.
pub fn all() -> &'static [Chain] {
    &[SPIN_HINT]
}

#[cfg(target_arch = "x86_64")]
counted_loop! { [] fn hints; setup []; body [".rept 16", "pause", ".endr"]; finish []; with }

#[cfg(target_arch = "aarch64")]
counted_loop! { [] fn hints; setup []; body [".rept 16", "yield", ".endr"]; finish []; with }
