//! The loop that published comparisons of cores call `cpu_bound`: three nops and a loop counter, not limited by memory, caches or
//! dependencies. If the IPC of this loop is far below the width of the core, another thread shares the core.

use crate::Work;
use crate::chain::Chain;
use crate::counted::{count_down, counted_loop};

/// One iteration corresponds to one iteration of the C loop `for (i = 0; i < 1u << 31; i++) asm("nop\nnop\nnop")`: three nops, in the
/// one-byte form that an assembler generates on x86-64, and the two loop instructions. A compiler generates three loop instructions
/// instead of two (count, compare, branch), so the IPC of the C loop may differ accordingly.
pub const CPU_BOUND: Chain = Chain { name: "cpu-bound", work: Work::in_registers(3 + 2, 1), run: nops };

counted_loop! { [] fn nops; setup []; body ["nop", "nop", "nop"]; finish []; with }
