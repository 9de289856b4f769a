//! Routines whose bytes can run anywhere.

/// Puts the instructions of a leaf into a section of its own, with symbols for its first instruction and its end, of which the
/// second is the name with `_end`. It begins at a multiple of 2^`align`, and `after` comes behind its end.
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
