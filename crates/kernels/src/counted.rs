//! The loop of register-only kernels: it runs its body a given number of times and counts down, which takes two instructions per iteration on
//! both instruction sets.

/// The two loop instructions: the counter is the operand `n`, and the loop's label is `2`.
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

/// Defines a function that takes the number of iterations and runs `setup` once, `body` in a loop, and `finish` once. `with`
/// lists the operands of all three, which must include every register that they write. A kernel for an instruction set
/// extension is `unsafe`, because the caller must check [`crate::Variant::usable`].
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
            // SAFETY: the instructions access no memory or stack, and only registers named as operands. The loop ends after `iterations`
            // iterations. The CPU supports the instructions, because the caller of an unsafe function guarantees this, and the other
            // functions use only the base instruction set.
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
