//! The loop that published comparisons of cores call `cpu_bound`: three nops and a loop counter, not limited by memory, caches or dependencies. A
//! core with an IPC far below its width here is shared.

use crate::Work;
use crate::chain::Chain;
use crate::counted::{count_down, counted_loop};

/// One iteration is one of the source's loop `for (i = 0; i < 1u << 31; i++) asm("nop\nnop\nnop")`: three
/// nops, in the one-byte form that a C compiler's assembler writes on x86-64, and the two instructions of the
/// loop. A compiler generates three instructions instead of these two (count, compare, branch), so its IPC may differ accordingly.
pub const CPU_BOUND: Chain = Chain { name: "cpu-bound", work: Work::in_registers(3 + 2, 1), run: nops };

counted_loop! { [] fn nops; setup []; body ["nop", "nop", "nop"]; finish []; with }
