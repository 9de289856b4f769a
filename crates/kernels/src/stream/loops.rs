//! The loops of streams, in assembly: nine operations, two kinds of stores, each vector width.

use std::arch::asm;

use super::declared::{CONSTANT, Op, Stores, Stream, declare};
use crate::Variant;

/// Loops of one vector width: each operation but reading has both kinds of stores.
const PER_VARIANT: usize = 2 * Op::ALL.len() - 1;

/// `$body` for each of the lines of a block that are listed, and in them for each vector.
macro_rules! per_line {
    ($parts:literal, $lines:literal, [$($body:expr),*]) => {
        concat!(".irp line, ", $lines, "\n.irp part, ", $parts, "\n", $($body, "\n",)* ".endr\n.endr\n")
    };
}

/// Defines `fn $name(dst, a, b, bytes)` and its loop. dst, a, b and the count of iterations are in the first
/// four argument registers of the C convention; register 15 (x86-64) or 31 (aarch64) holds [`CONSTANT`].
#[cfg(target_arch = "x86_64")]
macro_rules! stream_loop {
    ($name:ident, $op:ident, [$($setup:expr),*], [$($body:expr),*], [$($finish:expr),*]) => {
        pub(super) unsafe fn $name(dst: *mut f64, a: *const f64, b: *const f64, bytes: usize) {
            let iterations = bytes / Op::$op.block();
            if iterations == 0 {
                return;
            }
            // SAFETY: the caller vouches for the instructions and for `bytes` of each array that the
            // operation has; the loop goes over whole blocks of them only. All that it writes are registers
            // that the convention lets a function change.
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
    ($name:ident, $op:ident, [$($body:expr),*]) => {
        pub(super) unsafe fn $name(dst: *mut f64, a: *const f64, b: *const f64, bytes: usize) {
            let iterations = bytes / Op::$op.block();
            if iterations == 0 {
                return;
            }
            // SAFETY: the caller vouches for `bytes` of each array that the operation has; the loop goes over
            // whole blocks of them only. The registers that it writes are named.
            unsafe {
                asm!(
                    "dup v31.2d, v31.d[0]",
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

/// A load into vector register 0 and a store from register `$r`, at the place that [`per_line`] has come to.
#[cfg(target_arch = "x86_64")]
macro_rules! load {
    ($load:literal $vector:literal $base:literal) => {
        concat!($load, " ", $vector, "0, [", $base, "+\\line+\\part]")
    };
}
#[cfg(target_arch = "x86_64")]
macro_rules! store {
    ($store:literal $vector:literal $r:literal) => {
        concat!($store, " [rdi+\\line+\\part], ", $vector, $r)
    };
}

/// Defines a module with the storing loops of one vector width of x86-64 and one kind of stores. Loads and
/// stores are given by name; the arithmetic works on vector register 0 and has [`CONSTANT`] in each lane of
/// 15.
#[cfg(target_arch = "x86_64")]
macro_rules! x86_stores {
    (
        $module:ident $v:literal $parts:literal $load:literal $store:literal
        splat [$($splat:literal),*] scale [$scale:literal] add [$add:literal] triad [$($triad:literal),*]
        finish [$($finish:literal),*]
    ) => {
        mod $module {
            use super::*;

            stream_loop! { write, Write, [$($splat),*], [
                per_line!($parts, "0, 64, 128, 192", [store!($store $v "15")]),
                "add rdi, 256"
            ], [$($finish),*] }
            stream_loop! { copy, Copy, [], [
                per_line!($parts, "0, 64, 128, 192", [load!($load $v "rsi"), store!($store $v "0")]),
                "add rsi, 256", "add rdi, 256"
            ], [$($finish),*] }
            stream_loop! { scale, Scale, [$($splat),*], [
                per_line!($parts, "0, 64, 128, 192", [load!($load $v "rsi"), $scale, store!($store $v "0")]),
                "add rsi, 256", "add rdi, 256"
            ], [$($finish),*] }
            stream_loop! { add, Add, [], [
                per_line!($parts, "0, 64, 128, 192", [load!($load $v "rsi"), $add, store!($store $v "0")]),
                "add rsi, 256", "add rdx, 256", "add rdi, 256"
            ], [$($finish),*] }
            stream_loop! { triad, Triad, [$($splat),*], [
                per_line!($parts, "0, 64, 128, 192", [
                    load!($load $v "rdx"), $($triad,)* store!($store $v "0")
                ]),
                "add rsi, 256", "add rdx, 256", "add rdi, 256"
            ], [$($finish),*] }
            stream_loop! { read3write1, Read3Write1, [$($splat),*], [
                per_line!($parts, "0, 64, 128", [load!($load $v "rdi")]),
                per_line!($parts, "192", [store!($store $v "15")]),
                "add rdi, 256"
            ], [$($finish),*] }
            stream_loop! { read2write1, Read2Write1, [$($splat),*], [
                per_line!($parts, "0, 64", [load!($load $v "rdi")]),
                per_line!($parts, "128", [store!($store $v "15")]),
                per_line!($parts, "192, 256", [load!($load $v "rdi")]),
                per_line!($parts, "320", [store!($store $v "15")]),
                "add rdi, 384"
            ], [$($finish),*] }
            stream_loop! { read1write1, Read1Write1, [$($splat),*], [
                per_line!($parts, "0", [load!($load $v "rdi")]),
                per_line!($parts, "64", [store!($store $v "15")]),
                per_line!($parts, "128", [load!($load $v "rdi")]),
                per_line!($parts, "192", [store!($store $v "15")]),
                "add rdi, 256"
            ], [$($finish),*] }
        }
    };
}

/// Defines all loops of one vector width of x86-64: the module of reading, and those of the two kinds of
/// stores.
#[cfg(target_arch = "x86_64")]
macro_rules! x86_loops {
    (
        $read:ident $regular:ident $streaming:ident $v:literal $parts:literal
        $load:literal $nontemporal:literal
        splat $splat:tt scale $scale:tt add $add:tt triad $triad:tt finish [$($finish:literal),*]
    ) => {
        stream_loop! { $read, Read, [], [
            per_line!($parts, "0, 64, 128, 192", [load!($load $v "rsi")]),
            "add rsi, 256"
        ], [$($finish),*] }
        x86_stores! {
            $regular $v $parts $load $load
            splat $splat scale $scale add $add triad $triad finish [$($finish),*]
        }
        // Non-temporal stores are weakly ordered: the fence makes them visible, and is part of their time.
        x86_stores! {
            $streaming $v $parts $load $nontemporal
            splat $splat scale $scale add $add triad $triad finish ["sfence" $(, $finish)*]
        }
    };
}

#[cfg(target_arch = "x86_64")]
x86_loops! {
    sse2_read sse2 sse2_streaming "xmm" "0, 16, 32, 48" "movaps" "movntps"
    splat ["unpcklpd xmm15, xmm15"]
    scale ["mulpd xmm0, xmm15"]
    add ["addpd xmm0, [rdx+\\line+\\part]"]
    triad ["mulpd xmm0, xmm15", "addpd xmm0, [rsi+\\line+\\part]"]
    finish []
}
#[cfg(target_arch = "x86_64")]
x86_loops! {
    avx2_read avx2 avx2_streaming "ymm" "0, 32" "vmovaps" "vmovntps"
    splat ["vbroadcastsd ymm15, xmm15"]
    scale ["vmulpd ymm0, ymm0, ymm15"]
    add ["vaddpd ymm0, ymm0, [rdx+\\line+\\part]"]
    triad ["vfmadd213pd ymm0, ymm15, [rsi+\\line+\\part]"]
    finish ["vzeroupper"]
}
#[cfg(target_arch = "x86_64")]
x86_loops! {
    avx512_read avx512 avx512_streaming "zmm" "0" "vmovaps" "vmovntps"
    splat ["vbroadcastsd zmm15, xmm15"]
    scale ["vmulpd zmm0, zmm0, zmm15"]
    add ["vaddpd zmm0, zmm0, [rdx+\\line+\\part]"]
    triad ["vfmadd213pd zmm0, zmm15, [rsi+\\line+\\part]"]
    finish ["vzeroupper"]
}

/// Defines a module with the storing loops of aarch64 with one kind of stores. Vectors move in pairs of 32
/// bytes; the arithmetic works on the pair v0, v1, with the second array in v2, v3 and [`CONSTANT`] in v31.
#[cfg(target_arch = "aarch64")]
macro_rules! neon_stores {
    ($module:ident $store:literal) => {
        mod $module {
            use super::*;

            stream_loop! { write, Write, [
                per_line!("0, 32", "0, 64, 128, 192", [concat!($store, " q31, q31, [x0, #\\line+\\part]")]),
                "add x0, x0, #256"
            ] }
            stream_loop! { copy, Copy, [
                per_line!("0, 32", "0, 64, 128, 192", [
                    "ldp q0, q1, [x1, #\\line+\\part]",
                    concat!($store, " q0, q1, [x0, #\\line+\\part]")
                ]),
                "add x1, x1, #256", "add x0, x0, #256"
            ] }
            stream_loop! { scale, Scale, [
                per_line!("0, 32", "0, 64, 128, 192", [
                    "ldp q0, q1, [x1, #\\line+\\part]",
                    "fmul v0.2d, v0.2d, v31.2d", "fmul v1.2d, v1.2d, v31.2d",
                    concat!($store, " q0, q1, [x0, #\\line+\\part]")
                ]),
                "add x1, x1, #256", "add x0, x0, #256"
            ] }
            stream_loop! { add, Add, [
                per_line!("0, 32", "0, 64, 128, 192", [
                    "ldp q0, q1, [x1, #\\line+\\part]", "ldp q2, q3, [x2, #\\line+\\part]",
                    "fadd v0.2d, v0.2d, v2.2d", "fadd v1.2d, v1.2d, v3.2d",
                    concat!($store, " q0, q1, [x0, #\\line+\\part]")
                ]),
                "add x1, x1, #256", "add x2, x2, #256", "add x0, x0, #256"
            ] }
            stream_loop! { triad, Triad, [
                per_line!("0, 32", "0, 64, 128, 192", [
                    "ldp q0, q1, [x1, #\\line+\\part]", "ldp q2, q3, [x2, #\\line+\\part]",
                    "fmla v0.2d, v2.2d, v31.2d", "fmla v1.2d, v3.2d, v31.2d",
                    concat!($store, " q0, q1, [x0, #\\line+\\part]")
                ]),
                "add x1, x1, #256", "add x2, x2, #256", "add x0, x0, #256"
            ] }
            stream_loop! { read3write1, Read3Write1, [
                per_line!("0, 32", "0, 64, 128", ["ldp q0, q1, [x0, #\\line+\\part]"]),
                per_line!("0, 32", "192", [concat!($store, " q31, q31, [x0, #\\line+\\part]")]),
                "add x0, x0, #256"
            ] }
            stream_loop! { read2write1, Read2Write1, [
                per_line!("0, 32", "0, 64", ["ldp q0, q1, [x0, #\\line+\\part]"]),
                per_line!("0, 32", "128", [concat!($store, " q31, q31, [x0, #\\line+\\part]")]),
                per_line!("0, 32", "192, 256", ["ldp q0, q1, [x0, #\\line+\\part]"]),
                per_line!("0, 32", "320", [concat!($store, " q31, q31, [x0, #\\line+\\part]")]),
                "add x0, x0, #384"
            ] }
            stream_loop! { read1write1, Read1Write1, [
                per_line!("0, 32", "0", ["ldp q0, q1, [x0, #\\line+\\part]"]),
                per_line!("0, 32", "64", [concat!($store, " q31, q31, [x0, #\\line+\\part]")]),
                per_line!("0, 32", "128", ["ldp q0, q1, [x0, #\\line+\\part]"]),
                per_line!("0, 32", "192", [concat!($store, " q31, q31, [x0, #\\line+\\part]")]),
                "add x0, x0, #256"
            ] }
        }
    };
}

#[cfg(target_arch = "aarch64")]
stream_loop! { neon_read, Read, [
    per_line!("0, 32", "0, 64, 128, 192", ["ldp q0, q1, [x1, #\\line+\\part]"]),
    "add x1, x1, #256"
] }
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

#[cfg(target_arch = "x86_64")]
pub(super) static LOOPS: [Stream; 3 * PER_VARIANT] = {
    let widths: [[Stream; PER_VARIANT]; 3] = [
        list!(Sse2 sse2_read sse2 sse2_streaming),
        list!(Avx2 avx2_read avx2 avx2_streaming),
        list!(Avx512 avx512_read avx512 avx512_streaming),
    ];
    let mut all = [widths[0][0]; 3 * PER_VARIANT];
    let mut i = 0;
    while i < all.len() {
        all[i] = widths[i / PER_VARIANT][i % PER_VARIANT];
        i += 1;
    }
    all
};
#[cfg(target_arch = "aarch64")]
pub(super) static LOOPS: [Stream; PER_VARIANT] = list!(Neon neon_read neon neon_streaming);
