//! Dependent loads: each hop loads the address of the next one, so its time is the load latency of the memory that
//! contains the addresses. Several
//! simultaneous chains show how many misses a core keeps in flight.
//!
//! The load uses plain addressing (`mov r, [r]`; `ldr x, [x]`), because indexed addressing costs a cycle more in the
//! first-level cache. Every visited address must contain the address of the next one; see [`chase`].

use std::arch::asm;

use crate::Work;
use crate::counted::count_down;

/// Hops per iteration; hop counts are rounded up to a multiple of this. The two loop instructions overlap with the loads.
pub const UNROLL: u64 = 16;

/// Maximum number of chains that [`chase_parallel`] follows simultaneously.
pub const MAX_CHAINS: usize = 16;

/// The work of one iteration of `chains` chains ([`UNROLL`] hops each); `None` if there is no such loop.
pub fn work(chains: usize) -> Option<Work> {
    WORK.get(chains.checked_sub(1)?).copied()
}

const WORK: [Work; MAX_CHAINS] = {
    let mut all = [Work::in_registers(0, 0); MAX_CHAINS];
    let mut chains = 1;
    while chains <= MAX_CHAINS {
        let loads = chains as u32 * UNROLL as u32;
        // A chain whose pointer is in a vector register needs two moves for each load.
        let moves = 2 * UNROLL as u32 * in_vectors(chains) as u32;
        all[chains - 1] = Work {
            instructions: loads + moves + 2,
            bytes_read: 8 * loads,
            bytes_written: 0,
            operations: loads,
        };
        chains += 1;
    }
    all
};

/// How many of `chains` chains have their pointers in vector registers.
const fn in_vectors(chains: usize) -> usize {
    if cfg!(target_arch = "x86_64") && chains > 12 { chains - 11 } else { 0 }
}

/// One hop, with the pointer in the named operand.
#[cfg(target_arch = "x86_64")]
macro_rules! hop {
    ($name:ident) => {
        concat!("mov {", stringify!($name), "}, [{", stringify!($name), "}]")
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! hop {
    ($name:ident) => {
        concat!("ldr {", stringify!($name), "}, [{", stringify!($name), "}]")
    };
}

/// One hop, with the pointer in a vector register, through the general-purpose register `t`.
#[cfg(target_arch = "x86_64")]
macro_rules! vector_hop {
    ($name:ident) => {
        concat!("movq {t}, {", stringify!($name), "}\nmov {t}, [{t}]\nmovq {", stringify!($name), "}, {t}")
    };
}

/// Defines the loop over the named pointers, each with its index. Pointers before the semicolon are in general-purpose
/// registers, and those after it are in vector registers.
macro_rules! lock_step {
    ($($p:ident $i:literal)*) => {{
        unsafe fn run(pointers: *mut *const u8, iterations: u64) {
            // SAFETY: `pointers` has an element for each index, and the caller guarantees that every load is valid.
            unsafe {
                asm!(
                    ".p2align 6",
                    "2:",
                    ".rept 16",
                    $(hop!($p),)*
                    ".endr",
                    count_down!(),
                    n = inout(reg) iterations => _,
                    $($p = inout(reg) *pointers.add($i),)*
                    options(nostack, readonly)
                );
            }
        }
        run
    }};
    ($($p:ident $i:literal)*; $($x:ident $j:literal)*) => {{
        #[cfg(target_arch = "aarch64")]
        let run = lock_step! { $($p $i)* $($x $j)* };

        #[cfg(target_arch = "x86_64")]
        unsafe fn run(pointers: *mut *const u8, iterations: u64) {
            // SAFETY: `pointers` has an element for each index; the caller guarantees that every load is valid. A pointer
            // consists only of its bits, so it can also be in a vector register.
            unsafe {
                asm!(
                    ".p2align 6",
                    "2:",
                    ".rept 16",
                    $(hop!($p),)*
                    $(vector_hop!($x),)*
                    ".endr",
                    count_down!(),
                    n = inout(reg) iterations => _,
                    t = out(reg) _,
                    $($p = inout(reg) *pointers.add($i),)*
                    $($x = inout(xmm_reg) *pointers.cast::<u64>().add($j),)*
                    options(nostack, readonly)
                );
            }
        }
        run
    }};
}

/// Follows the chain from `start` for `hops` hops (rounded up to a multiple of [`UNROLL`]) and returns the final
/// address.
///
/// # Safety
/// `start`, and every address that the chain reaches within the rounded-up hops, must be readable and contain the next address in its first 8
/// bytes (native byte order). Use a cycle.
pub unsafe fn chase(start: *const u8, hops: u64) -> *const u8 {
    if hops == 0 {
        return start;
    }
    let iterations = hops.div_ceil(UNROLL);
    let end: *const u8;
    // SAFETY: the caller guarantees that every load is valid, and only the named registers are written.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            ".rept 16",
            hop!(p),
            ".endr",
            count_down!(),
            p = inout(reg) start => end,
            n = inout(reg) iterations => _,
            options(nostack, readonly)
        );
    }
    end
}

/// Follows one chain per pointer, 1 to [`MAX_CHAINS`] (further pointers are ignored), in lock-step for `hops` hops each (rounded up to a multiple
/// of [`UNROLL`]), and stores the final addresses in `pointers`.
///
/// On x86-64 only 12 pointers fit in general-purpose registers. With 13 or more chains, 11 pointers stay there, and the
/// rest are in vector registers and pass through the remaining general-purpose register, which is renamed as needed.
/// Each of their hops takes two more instructions, and is slower by the transfer to the vector register and back (about
/// 5 cycles on Sapphire Rapids). That is negligible for a miss to memory, but visible in the caches:
/// compare 13 to 16 chains with fewer only if the latency is well above 20 cycles.
///
/// # Safety
/// As for [`chase`], for each of the pointers.
pub unsafe fn chase_parallel(pointers: &mut [*const u8], hops: u64) {
    let iterations = hops.div_ceil(UNROLL);
    let chains = pointers.len().min(MAX_CHAINS);
    if iterations == 0 || chains == 0 {
        return;
    }
    let run = LOCK_STEP[chains - 1];
    // SAFETY: `pointers` has the k elements that entry k − 1 needs, and the caller guarantees that every load is valid.
    unsafe { run(pointers.as_mut_ptr(), iterations) }
}

/// Entry k − 1 follows the k pointers at the first argument for the number of iterations in the second argument, at least 1.
const LOCK_STEP: [unsafe fn(*mut *const u8, u64); MAX_CHAINS] = [
    lock_step!(p0 0),
    lock_step!(p0 0 p1 1),
    lock_step!(p0 0 p1 1 p2 2),
    lock_step!(p0 0 p1 1 p2 2 p3 3),
    lock_step!(p0 0 p1 1 p2 2 p3 3 p4 4),
    lock_step!(p0 0 p1 1 p2 2 p3 3 p4 4 p5 5),
    lock_step!(p0 0 p1 1 p2 2 p3 3 p4 4 p5 5 p6 6),
    lock_step!(p0 0 p1 1 p2 2 p3 3 p4 4 p5 5 p6 6 p7 7),
    lock_step!(p0 0 p1 1 p2 2 p3 3 p4 4 p5 5 p6 6 p7 7 p8 8),
    lock_step!(p0 0 p1 1 p2 2 p3 3 p4 4 p5 5 p6 6 p7 7 p8 8 p9 9),
    lock_step!(p0 0 p1 1 p2 2 p3 3 p4 4 p5 5 p6 6 p7 7 p8 8 p9 9 p10 10),
    lock_step!(p0 0 p1 1 p2 2 p3 3 p4 4 p5 5 p6 6 p7 7 p8 8 p9 9 p10 10 p11 11),
    lock_step!(p0 0 p1 1 p2 2 p3 3 p4 4 p5 5 p6 6 p7 7 p8 8 p9 9 p10 10; x11 11 x12 12),
    lock_step!(p0 0 p1 1 p2 2 p3 3 p4 4 p5 5 p6 6 p7 7 p8 8 p9 9 p10 10; x11 11 x12 12 x13 13),
    lock_step!(p0 0 p1 1 p2 2 p3 3 p4 4 p5 5 p6 6 p7 7 p8 8 p9 9 p10 10; x11 11 x12 12 x13 13 x14 14),
    lock_step!(p0 0 p1 1 p2 2 p3 3 p4 4 p5 5 p6 6 p7 7 p8 8 p9 9 p10 10; x11 11 x12 12 x13 13 x14 14 x15 15),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A cycle through `length` lines in an order that differs between chains, and the address of its first line.
    fn cycle(memory: &mut Vec<[*const u8; 8]>, length: usize) -> *const u8 {
        memory.resize(length, [std::ptr::null(); 8]);
        let base = memory.as_ptr();
        for (i, line) in memory.iter_mut().enumerate() {
            // No length used is a multiple of 7, so a single cycle visits all lines.
            // SAFETY: the index is below the length.
            line[0] = unsafe { base.add((i + 7) % length) }.cast();
        }
        base.cast()
    }

    /// The address after `hops` hops from `start`, with plain loads.
    fn follow(mut at: *const u8, hops: u64) -> *const u8 {
        for _ in 0..hops {
            // SAFETY: the address is within a cycle made by `cycle`.
            at = unsafe { *at.cast::<*const u8>() };
        }
        at
    }

    #[test]
    fn a_chase_ends_where_the_pointers_lead() {
        // A loop that skipped or repeated loads would show a wrong latency.
        let mut memory = Vec::new();
        let start = cycle(&mut memory, 1009);
        for hops in [0, 1, 15, 16, 17, 160, 1000, 5000] {
            // SAFETY: a cycle never leaves its memory.
            let end = unsafe { chase(start, hops) };
            assert_eq!(end, follow(start, hops.next_multiple_of(UNROLL)), "{hops} hops");
        }
    }

    #[test]
    fn parallel_chases_end_where_single_ones_do() {
        let mut memories: Vec<Vec<[*const u8; 8]>> = vec![Vec::new(); MAX_CHAINS];
        // Lengths differ, so that swapped chains would be detected.
        let starts: Vec<*const u8> =
            memories.iter_mut().enumerate().map(|(i, memory)| cycle(memory, 50 + 7 * i)).collect();
        for chains in 1..=MAX_CHAINS {
            for hops in [0, 1, 16, 33, 1000] {
                let mut pointers = starts.clone();
                // SAFETY: cycles never leave their memory.
                unsafe { chase_parallel(&mut pointers[..chains], hops) };
                for (i, (end, start)) in pointers.iter().zip(&starts).enumerate() {
                    let hops = if i < chains { hops } else { 0 };
                    // SAFETY: as above.
                    let alone = unsafe { chase(*start, hops) };
                    assert_eq!(*end, alone, "chain {i} of {chains}, {hops} hops");
                }
            }
        }
    }

    #[test]
    fn work_is_declared_for_each_number_of_chains_and_no_other() {
        assert_eq!(work(0), None);
        assert_eq!(work(MAX_CHAINS + 1), None);
        for chains in 1..=MAX_CHAINS {
            assert_eq!(work(chains).map(|work| work.bytes_read), Some(8 * 16 * chains as u32));
        }
    }
}
