//! The stream loops, in assembly: nine operations, two kinds of stores, and all vector widths.

use std::arch::asm;

use super::declared::{CONSTANT, Op, Stores, Stream, declare};
use crate::Variant;

/// Loops per vector width: each operation except reading has both kinds of stores.
const PER_VARIANT: usize = 2 * Op::ALL.len() - 1;

/// Emits `$body` for each vector in each of the listed lines of a block.
macro_rules! per_line {
    ($parts:literal, $lines:literal, [$($body:expr),*]) => {
        concat!(".irp line, ", $lines, "\n.irp part, ", $parts, "\n", $($body, "\n",)* ".endr\n.endr\n")
    };
}

/// Defines `fn $name(dst, a, b, bytes)` and its loop. dst, a, b and the number of iterations are in the first four
/// argument registers of the C calling convention; register 15 (x86-64) or 31 (aarch64) contains [`CONSTANT`].
#[cfg(target_arch = "x86_64")]
macro_rules! stream_loop {
    ($name:ident, $op:ident, [$($setup:expr),*], [$($body:expr),*], [$($finish:expr),*]) => {
        pub(super) unsafe fn $name(dst: *mut f64, a: *const f64, b: *const f64, bytes: usize) {
            let iterations = bytes / Op::$op.block();
            if iterations == 0 {
                return;
            }
            // SAFETY: the caller guarantees that the instructions are supported and that `bytes` of each array of the operation are valid.
            // The loop only accesses complete blocks of these bytes, and only writes registers that the calling convention lets a function
            // change.
            unsafe {
                asm!(
                    $($setup,)*
                    ".p2align 6",
                    "2:",
                    $($body,)*
                    "sub rcx, 1",
                    "jnz 2b",
                    $($finish,)*
                    inout("rdi") dst => _,
                    inout("rsi") a => _,
                    inout("rdx") b => _,
                    inout("rcx") iterations => _,
                    inout("xmm15") CONSTANT => _,
                    clobber_abi("sysv64"),
                    options(nostack)
                );
            }
        }
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! stream_loop {
    ($name:ident, $op:ident, [$($setup:expr),*], [$($body:expr),*], []) => {
        pub(super) unsafe fn $name(dst: *mut f64, a: *const f64, b: *const f64, bytes: usize) {
            let iterations = bytes / Op::$op.block();
            if iterations == 0 {
                return;
            }
            // SAFETY: the caller guarantees that `bytes` of each array of the operation are valid. The loop only accesses complete blocks
            // of these bytes. All registers that it writes are named as operands.
            unsafe {
                asm!(
                    $($setup,)*
                    ".p2align 6",
                    "2:",
                    $($body,)*
                    "subs x3, x3, #1",
                    "b.ne 2b",
                    inout("x0") dst => _,
                    inout("x1") a => _,
                    inout("x2") b => _,
                    inout("x3") iterations => _,
                    inout("v31") CONSTANT => _,
                    out("v0") _,
                    out("v1") _,
                    out("v2") _,
                    out("v3") _,
                    options(nostack)
                );
            }
        }
    };
}

/// Defines a module with the storing loops of one vector width and one kind of stores. `store` and `fill` store vector
/// register 0 and [`CONSTANT`], `load` reads from the destination, and `copy` to `triad` compute in register 0 the
/// value to be stored. The instructions after `per_line!` advance the pointers.
macro_rules! storing_loops {
    (
        $module:ident $parts:literal $dst:literal $a:literal $b:literal setup $setup:tt
        store [$store:expr] fill [$fill:expr] load [$load:expr] copy [$($copy:expr),*] scale [$($scale:expr),*]
        add [$($add:expr),*] triad [$($triad:expr),*] finish $finish:tt
    ) => {
        mod $module {
            use super::*;

            stream_loop! { write, Write, $setup, [
                per_line!($parts, "0, 64, 128, 192", [$fill]), concat!($dst, "256")
            ], $finish }
            stream_loop! { copy, Copy, $setup, [
                per_line!($parts, "0, 64, 128, 192", [$($copy,)* $store]),
                concat!($a, "256"), concat!($dst, "256")
            ], $finish }
            stream_loop! { scale, Scale, $setup, [
                per_line!($parts, "0, 64, 128, 192", [$($scale,)* $store]),
                concat!($a, "256"), concat!($dst, "256")
            ], $finish }
            stream_loop! { add, Add, $setup, [
                per_line!($parts, "0, 64, 128, 192", [$($add,)* $store]),
                concat!($a, "256"), concat!($b, "256"), concat!($dst, "256")
            ], $finish }
            stream_loop! { triad, Triad, $setup, [
                per_line!($parts, "0, 64, 128, 192", [$($triad,)* $store]),
                concat!($a, "256"), concat!($b, "256"), concat!($dst, "256")
            ], $finish }
            stream_loop! { read3write1, Read3Write1, $setup, [
                per_line!($parts, "0, 64, 128", [$load]), per_line!($parts, "192", [$fill]), concat!($dst, "256")
            ], $finish }
            stream_loop! { read2write1, Read2Write1, $setup, [
                per_line!($parts, "0, 64", [$load]), per_line!($parts, "128", [$fill]),
                per_line!($parts, "192, 256", [$load]), per_line!($parts, "320", [$fill]), concat!($dst, "384")
            ], $finish }
            stream_loop! { read1write1, Read1Write1, $setup, [
                per_line!($parts, "0", [$load]), per_line!($parts, "64", [$fill]),
                per_line!($parts, "128", [$load]), per_line!($parts, "192", [$fill]), concat!($dst, "256")
            ], $finish }
        }
    };
}

/// Defines the storing loops for one x86-64 vector width and one kind of stores. The arithmetic uses vector register 0,
/// with [`CONSTANT`] in each lane of register 15.
#[cfg(target_arch = "x86_64")]
macro_rules! x86_stores {
    (
        $module:ident $v:literal $parts:literal $load:literal $store:literal
        setup $setup:tt scale [$scale:literal] add [$add:literal] triad [$($triad:literal),*] finish $finish:tt
    ) => {
        storing_loops! {
            $module $parts "add rdi, " "add rsi, " "add rdx, " setup $setup
            store [concat!($store, " [rdi+\\line+\\part], ", $v, "0")]
            fill [concat!($store, " [rdi+\\line+\\part], ", $v, "15")]
            load [concat!($load, " ", $v, "0, [rdi+\\line+\\part]")]
            copy [concat!($load, " ", $v, "0, [rsi+\\line+\\part]")]
            scale [concat!($load, " ", $v, "0, [rsi+\\line+\\part]"), $scale]
            add [concat!($load, " ", $v, "0, [rsi+\\line+\\part]"), $add]
            triad [concat!($load, " ", $v, "0, [rdx+\\line+\\part]") $(, $triad)*]
            finish $finish
        }
    };
}

/// Defines all loops for one x86-64 vector width: the module for reading, and those for the two kinds of stores.
#[cfg(target_arch = "x86_64")]
macro_rules! x86_loops {
    (
        $read:ident $regular:ident $streaming:ident $v:literal $parts:literal
        $load:literal $nontemporal:literal
        setup $setup:tt scale $scale:tt add $add:tt triad $triad:tt finish [$($finish:literal),*]
    ) => {
        stream_loop! { $read, Read, $setup, [
            per_line!($parts, "0, 64, 128, 192", [concat!($load, " ", $v, "0, [rsi+\\line+\\part]")]),
            "add rsi, 256"
        ], [$($finish),*] }
        x86_stores! {
            $regular $v $parts $load $load
            setup $setup scale $scale add $add triad $triad finish [$($finish),*]
        }
        // Non-temporal stores are weakly ordered. The fence makes them visible to other CPUs, so it is part of their
        // time.
        x86_stores! {
            $streaming $v $parts $load $nontemporal
            setup $setup scale $scale add $add triad $triad finish ["sfence" $(, $finish)*]
        }
    };
}

#[cfg(target_arch = "x86_64")]
x86_loops! {
    sse2_read sse2 sse2_streaming "xmm" "0, 16, 32, 48" "movaps" "movntps"
    setup ["unpcklpd xmm15, xmm15"]
    scale ["mulpd xmm0, xmm15"]
    add ["addpd xmm0, [rdx+\\line+\\part]"]
    triad ["mulpd xmm0, xmm15", "addpd xmm0, [rsi+\\line+\\part]"]
    finish []
}
#[cfg(target_arch = "x86_64")]
x86_loops! {
    avx2_read avx2 avx2_streaming "ymm" "0, 32" "vmovaps" "vmovntps"
    setup ["vbroadcastsd ymm15, xmm15"]
    scale ["vmulpd ymm0, ymm0, ymm15"]
    add ["vaddpd ymm0, ymm0, [rdx+\\line+\\part]"]
    triad ["vfmadd213pd ymm0, ymm15, [rsi+\\line+\\part]"]
    finish ["vzeroupper"]
}
#[cfg(target_arch = "x86_64")]
x86_loops! {
    avx512_read avx512 avx512_streaming "zmm" "0" "vmovaps" "vmovntps"
    setup ["vbroadcastsd zmm15, xmm15"]
    scale ["vmulpd zmm0, zmm0, zmm15"]
    add ["vaddpd zmm0, zmm0, [rdx+\\line+\\part]"]
    triad ["vfmadd213pd zmm0, zmm15, [rsi+\\line+\\part]"]
    finish ["vzeroupper"]
}

/// Defines the storing loops of aarch64 with one kind of stores. Vectors are loaded and stored in pairs of 32 bytes.
/// The arithmetic works on the pair v0, v1; the second array is in v2, v3, and [`CONSTANT`] is in v31.
#[cfg(target_arch = "aarch64")]
macro_rules! neon_stores {
    ($module:ident $store:literal) => {
        storing_loops! {
            $module "0, 32" "add x0, x0, #" "add x1, x1, #" "add x2, x2, #" setup ["dup v31.2d, v31.d[0]"]
            store [concat!($store, " q0, q1, [x0, #\\line+\\part]")]
            fill [concat!($store, " q31, q31, [x0, #\\line+\\part]")]
            load ["ldp q0, q1, [x0, #\\line+\\part]"]
            copy ["ldp q0, q1, [x1, #\\line+\\part]"]
            scale ["ldp q0, q1, [x1, #\\line+\\part]", "fmul v0.2d, v0.2d, v31.2d", "fmul v1.2d, v1.2d, v31.2d"]
            add [
                "ldp q0, q1, [x1, #\\line+\\part]", "ldp q2, q3, [x2, #\\line+\\part]",
                "fadd v0.2d, v0.2d, v2.2d", "fadd v1.2d, v1.2d, v3.2d"
            ]
            triad [
                "ldp q0, q1, [x1, #\\line+\\part]", "ldp q2, q3, [x2, #\\line+\\part]",
                "fmla v0.2d, v2.2d, v31.2d", "fmla v1.2d, v3.2d, v31.2d"
            ]
            finish []
        }
    };
}

#[cfg(target_arch = "aarch64")]
stream_loop! { neon_read, Read, [], [
    per_line!("0, 32", "0, 64, 128, 192", ["ldp q0, q1, [x1, #\\line+\\part]"]),
    "add x1, x1, #256"
], [] }
#[cfg(target_arch = "aarch64")]
neon_stores! { neon "stp" }
#[cfg(target_arch = "aarch64")]
neon_stores! { neon_streaming "stnp" }

/// The loops of one vector width, in the order of [`Op::ALL`], regular stores first.
macro_rules! list {
    ($variant:ident $read:ident $regular:ident $streaming:ident) => {
        list! { @both $variant $read $regular $streaming
            Write write, Copy copy, Scale scale, Add add, Triad triad,
            Read3Write1 read3write1, Read2Write1 read2write1, Read1Write1 read1write1 }
    };
    (@both $variant:ident $read:ident $regular:ident $streaming:ident $($op:ident $run:ident),+) => {
        [
            declare(Op::Read, Stores::Regular, Variant::$variant, $read),
            $(declare(Op::$op, Stores::Regular, Variant::$variant, $regular::$run),
            declare(Op::$op, Stores::Streaming, Variant::$variant, $streaming::$run),)+
        ]
    };
}

/// All loops, by vector width.
#[cfg(target_arch = "x86_64")]
pub(super) static LOOPS: [[Stream; PER_VARIANT]; 3] = [
    list!(Sse2 sse2_read sse2 sse2_streaming),
    list!(Avx2 avx2_read avx2 avx2_streaming),
    list!(Avx512 avx512_read avx512 avx512_streaming),
];
#[cfg(target_arch = "aarch64")]
pub(super) static LOOPS: [[Stream; PER_VARIANT]; 1] = [list!(Neon neon_read neon neon_streaming)];
