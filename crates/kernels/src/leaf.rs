//! Position-independent routines, whose machine code can be executed at any address.

/// Places the instructions of a leaf function in a separate section, with symbols for its first instruction (the name) and its end (the
/// name followed by `_end`). The function starts at a multiple of 2^`align` and is followed by `after`.
macro_rules! leaf {
    ($name:literal align $align:literal [$($line:literal),* $(,)?] after [$($after:literal)?]) => {
        std::arch::global_asm!(
            concat!(".pushsection .text.", $name, ",\"ax\",@progbits"),
            concat!(".p2align ", $align),
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ",@function"),
            concat!($name, ":"),
            $($line,)*
            concat!(".size ", $name, ", . - ", $name),
            concat!(".globl ", $name, "_end"),
            concat!(".hidden ", $name, "_end"),
            concat!($name, "_end:"),
            $($after,)?
            ".popsection",
        );
    };
}

pub(crate) use leaf;
