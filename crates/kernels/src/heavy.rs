//! Double-precision multiply-adds on every vector width: peak arithmetic throughput, and the load that lowers a core's
//! clock to its heavy-vector level.
//!
//! Enough chains run in parallel to saturate all multiply-add units (latency × units is 8 on Skylake to Golden Cove and Zen 3, 10 on
//! Haswell and Zen 2, and up to 4 × 4 on aarch64). The values vary in all bits of the significand and stay near 1, because denormals,
//! infinities and trivial operands would change the execution time or the power. On x86-64, each chain steps through x → m₁x + c → m₂x + c
//! with m₁m₂ < 1, so that x settles to two alternating values. On aarch64, each chain alternately adds and subtracts the same product.

use crate::counted::{count_down, counted_loop};
use crate::{Variant, Work};

/// A loop of independent multiply-adds.
#[derive(Clone, Copy, Debug)]
pub struct Heavy {
    /// The name of the loop.
    pub name: &'static str,
    /// The vector extension that the loop needs.
    pub variant: Variant,
    /// The work of one iteration; `operations` are double-precision flops, two per lane of a multiply-add.
    pub work: Work,
    /// Runs this many iterations; none if 0.
    ///
    /// # Safety
    /// `variant.usable()` must be true; otherwise the CPU raises an illegal-instruction exception.
    pub run: unsafe fn(iterations: u64),
}

/// All heavy loops of this instruction set, narrowest first. Some of them are not usable on every CPU.
pub fn all() -> &'static [Heavy] {
    LOOPS
}

/// The work of a loop with this many instructions and fused multiply-adds, plus the two loop instructions.
const fn heavy(variant: Variant, instructions: u32, adds: u32, run: unsafe fn(iterations: u64)) -> Heavy {
    let flops = adds * 2 * (variant.bits() / 64);
    Heavy { name: "heavy", variant, work: Work::in_registers(instructions + 2, flops), run }
}

#[cfg(target_arch = "x86_64")]
const LOOPS: &[Heavy] = &[
    // Without AVX2, there is no fused multiply-add; a multiply and an add are used instead.
    heavy(Variant::Sse2, 2 * 4 * 12, 4 * 12, sse2),
    heavy(Variant::Avx2, 4 * 12, 4 * 12, avx2),
    heavy(Variant::Avx512, 4 * 16, 4 * 16, avx512),
];

/// m₁, m₂ and c of the alternating steps, with half of the significand bits set.
#[cfg(target_arch = "x86_64")]
const SWING: (f64, f64, f64) = (1.482_513_370_718, 0.607_197_325_841, 0.373_141_592_653);

// Registers 13, 14 and 15 contain m₁, m₂ and c in every lane; 0 to 11 (and 16 to 19 with AVX-512) are the chains.
#[cfg(target_arch = "x86_64")]
counted_loop! { [unsafe] fn sse2;
setup ["unpcklpd xmm13, xmm13", "unpcklpd xmm14, xmm14", "unpcklpd xmm15, xmm15",
    ".irp r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11", "movapd xmm\\r, xmm15", ".endr"];
body [".rept 2", ".irp m, 13, 14", ".irp r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11",
    "mulpd xmm\\r, xmm\\m", "addpd xmm\\r, xmm15", ".endr", ".endr", ".endr"];
finish [];
with inout("xmm13") SWING.0 => _, inout("xmm14") SWING.1 => _, inout("xmm15") SWING.2 => _,
    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
    out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, }

#[cfg(target_arch = "x86_64")]
counted_loop! { [unsafe] fn avx2;
setup [".irp r, 13, 14, 15", "vbroadcastsd ymm\\r, xmm\\r", ".endr",
    ".irp r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11", "vmovapd ymm\\r, ymm15", ".endr"];
body [".rept 2", ".irp m, 13, 14", ".irp r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11",
    "vfmadd213pd ymm\\r, ymm\\m, ymm15", ".endr", ".endr", ".endr"];
finish ["vzeroupper"];
with inout("xmm13") SWING.0 => _, inout("xmm14") SWING.1 => _, inout("xmm15") SWING.2 => _,
    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
    out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
    out("xmm12") _, }

#[cfg(target_arch = "x86_64")]
counted_loop! { [unsafe] fn avx512;
setup [".irp r, 13, 14, 15", "vbroadcastsd zmm\\r, xmm\\r", ".endr",
    ".irp r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19", "vmovapd zmm\\r, zmm15", ".endr"];
body [".rept 2", ".irp m, 13, 14", ".irp r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19",
    "vfmadd213pd zmm\\r, zmm\\m, zmm15", ".endr", ".endr", ".endr"];
finish ["vzeroupper"];
with inout("xmm13") SWING.0 => _, inout("xmm14") SWING.1 => _, inout("xmm15") SWING.2 => _,
    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
    out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
    out("xmm12") _, out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _, }

#[cfg(target_arch = "aarch64")]
const LOOPS: &[Heavy] = &[heavy(Variant::Neon, 2 * 28, 2 * 28, neon)];

// v28 and v29 contain the factors in every lane; v0 to v27 are the chains.
#[cfg(target_arch = "aarch64")]
counted_loop! { [unsafe] fn neon;
setup ["dup v28.2d, v28.d[0]", "dup v29.2d, v29.d[0]",
    ".irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
    "mov v\\r\\().16b, v28.16b", ".endr"];
body [".irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
    "fmla v\\r\\().2d, v28.2d, v29.2d", ".endr",
    ".irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27",
    "fmls v\\r\\().2d, v28.2d, v29.2d", ".endr"];
finish [];
with inout("v28") 1.482_513_370_718_f64 => _, inout("v29") 0.607_197_325_841_f64 => _,
    out("v0") _, out("v1") _, out("v2") _, out("v3") _, out("v4") _, out("v5") _, out("v6") _,
    out("v7") _, out("v8") _, out("v9") _, out("v10") _, out("v11") _, out("v12") _, out("v13") _,
    out("v14") _, out("v15") _, out("v16") _, out("v17") _, out("v18") _, out("v19") _, out("v20") _,
    out("v21") _, out("v22") _, out("v23") _, out("v24") _, out("v25") _, out("v26") _, out("v27") _, }
