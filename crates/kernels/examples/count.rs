//! Runs every usable kernel of the inventory twice, with few and with more iterations, between calls of an
//! empty function that an instruction counter can see (callgrind's dumps, qemu's log). Prints a line for each
//! kernel in the order in which they ran: its name and the instructions that it declares.

#[path = "../tests/counts/driver.rs"]
mod driver;

use std::fmt::Write;

use driver::{FEW, MOST, Memory};

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
    for entry in kernels::inventory().filter(|entry| entry.variant.usable()) {
        // The first run may do what the next ones need not.
        memory.run(&entry, 1);
        linespeed_count_mark();
        memory.run(&entry, FEW);
        linespeed_count_mark();
        memory.run(&entry, MOST);
        linespeed_count_mark();
        let _ = writeln!(list, "{entry} {}", entry.work.instructions);
    }
    print!("{list}");
}
