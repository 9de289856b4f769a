//! The loop of register-only kernels: it runs its body a given number of times and counts down, which takes two instructions per iteration on
//! both instruction sets.

/// The two instructions: the counter is the operand `n`, the loop's label `2`.
#[cfg(target_arch = "x86_64")]
macro_rules! count_down {
    () => {
        "sub {n}, 1\njnz 2b"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! count_down {
    () => {
        "subs {n}, {n}, #1\nb.ne 2b"
    };
}

/// Defines a function of the number of iterations whose loop is `body`, after `setup` once and before
/// `finish` once. `with` takes their operands, which must include every register that is written. A kernel for an instruction set extension is
/// `unsafe`, because the caller must check [`crate::Variant::usable`].
macro_rules! counted_loop {
    (
        [$($qualifier:tt)?] $visibility:vis fn $name:ident;
        setup [$($setup:expr),* $(,)?];
        body [$($body:expr),* $(,)?];
        finish [$($finish:expr),* $(,)?];
        with $($operand:tt)*
    ) => {
        $visibility $($qualifier)? fn $name(iterations: u64) {
            if iterations == 0 {
                return;
            }
            // SAFETY: the instructions touch no memory and no stack, and only registers that are named as
            // operands. The loop ends after `iterations` rounds. That the CPU has the instructions is the
            // caller's promise where the function is unsafe, and the instruction set's own otherwise.
            unsafe {
                std::arch::asm!(
                    $($setup,)*
                    ".p2align 6",
                    "2:",
                    $($body,)*
                    count_down!(),
                    $($finish,)*
                    n = inout(reg) iterations => _,
                    $($operand)*
                    options(nomem, nostack)
                );
            }
        }
    };
}

pub(crate) use {count_down, counted_loop};
