//! Runs every usable kernel twice, with little and with more work, between calls of an empty function that an
//! instruction counter recognizes (callgrind's dumps, qemu's log). Prints one line per kernel, in execution order: its
//! name, and the declared number of additional instructions in the second run.

#[path = "../tests/counts/driver.rs"]
mod driver;

use std::fmt::Write;

use driver::{Case, Memory, Run};

/// The mark that the counter looks for: called before, between and after the two runs of a kernel.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn linespeed_count_mark() {
    // SAFETY: the assembly is empty. It prevents the call from being optimized away without being a call itself,
    // because the function must be seen exactly once each time.
    unsafe { std::arch::asm!("nop", options(nomem, nostack, preserves_flags)) };
}

fn main() {
    let mut memory = Memory::new();
    let mut list = String::new();
    for case in Case::all().filter(Case::usable) {
        // The first run may include one-time work that later runs do not need.
        memory.run(&case, Run::Few);
        linespeed_count_mark();
        memory.run(&case, Run::Few);
        linespeed_count_mark();
        memory.run(&case, Run::Most);
        linespeed_count_mark();
        let _ = writeln!(list, "{case} {}", case.declared());
    }
    print!("{list}");
}
