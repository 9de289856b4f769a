//! Runs every usable kernel twice, with little and with more work, between calls of an empty function that an
//! instruction counter can see (callgrind's dumps, qemu's log). Prints a line for each kernel in the order in
//! which they ran: its name and the instructions that the second run is declared to have beyond the first.

#[path = "../tests/counts/driver.rs"]
mod driver;

use std::fmt::Write;

use driver::{Case, Memory, Run};

/// What the counter looks for: one call before, one between and one after the two runs of a kernel.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn linespeed_count_mark() {
    // SAFETY: does nothing. It keeps the call, and is no call itself: the function must be seen once each
    // time.
    unsafe { std::arch::asm!("nop", options(nomem, nostack, preserves_flags)) };
}

fn main() {
    let mut memory = Memory::new();
    let mut list = String::new();
    for case in Case::all().filter(Case::usable) {
        // The first run may do what the next ones need not.
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
