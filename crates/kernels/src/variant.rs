//! The instruction set extension of a kernel.

use strum::{Display, IntoStaticStr, VariantArray};

/// The vectors that a kernel uses, narrowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Variant {
    /// General-purpose registers only.
    Scalar,
    /// 128-bit vectors of x86-64; every x86-64 CPU has them.
    Sse2,
    /// 256-bit vectors of x86-64, with fused multiply-add. Nearly all processors have both AVX2 and FMA, or
    /// neither.
    Avx2,
    /// 512-bit vectors of x86-64 (AVX512F).
    Avx512,
    /// 128-bit vectors of aarch64; every aarch64 CPU that runs Linux has them.
    Neon,
}

impl Variant {
    /// All variants, narrowest first within an instruction set.
    pub const ALL: &[Self] = <Self as VariantArray>::VARIANTS;

    /// Whether this CPU supports the extension and the operating system saves the extension's registers. Queries the
    /// CPU directly, so the result is correct under emulators and hypervisors that hide extensions.
    pub fn usable(self) -> bool {
        match self {
            Variant::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Variant::Sse2 => true,
            #[cfg(target_arch = "x86_64")]
            Variant::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Variant::Avx512 => is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "aarch64")]
            Variant::Neon => true,
            _ => false,
        }
    }

    /// Width of a register in bits.
    pub const fn bits(self) -> u32 {
        match self {
            Variant::Scalar => 64,
            Variant::Sse2 | Variant::Neon => 128,
            Variant::Avx2 => 256,
            Variant::Avx512 => 512,
        }
    }

    /// The variant's name in a record and on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The vector variants that are usable here, widest last; never empty.
    pub fn usable_vectors() -> impl Iterator<Item = Variant> {
        Variant::ALL.iter().copied().filter(|variant| *variant != Variant::Scalar && variant.usable())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_a_vector_and_the_widest_is_last() {
        let bits: Vec<u32> = Variant::usable_vectors().map(Variant::bits).collect();
        assert!(!bits.is_empty(), "bandwidth would have no kernel to run");
        assert!(bits.is_sorted(), "{bits:?}: callers take the last as the widest");
    }

    #[test]
    fn variants_of_the_other_instruction_set_are_not_usable() {
        // Running one would raise an illegal-instruction exception.
        assert_ne!(Variant::Neon.usable(), cfg!(target_arch = "x86_64"));
        assert_ne!(Variant::Sse2.usable(), cfg!(target_arch = "aarch64"));
        assert!(!(cfg!(target_arch = "aarch64") && Variant::Avx2.usable()));
    }
}
