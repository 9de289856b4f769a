//! Checks a CPU's multiply-adds, on every lane of each vector width, against exact results computed with fractions. The
//! timed loops discard their results, so this check verifies `flops`.

use super::workload::WrongResult;
use kernels::Variant;
use record::{Template, text};

/// Multipliers of the even and the odd steps, and the addend: values used in the timed loops, with equal numbers of set
/// and clear bits in their significands.
const FACTORS: [f64; 2] = [1.482_513_370_718, 0.607_197_325_841];
const TERM: f64 = 0.373_141_592_653;

/// Number of steps. Each lane starts from 1 + lane ÷ 8.
const STEPS: usize = 16;

/// Number of repetitions of all steps in a check: 30,000 multiply-adds per lane.
const TIMES: usize = 2_000;

/// The final bits of each lane if multiplication and addition are fused, with a single rounding.
const FUSED: [u64; 8] = [
    0x400e_ca25_82b2_993e,
    0x400f_3885_50c3_2b48,
    0x400f_a6e5_1ed3_bd51,
    0x4010_0aa2_7672_27ad,
    0x4010_41d2_5d7a_70b2,
    0x4010_7902_4482_b9b8,
    0x4010_b032_2b8b_02bb,
    0x4010_e762_1293_4bc1,
];

/// The final bits of each lane if multiplication and addition are rounded separately.
#[cfg(any(target_arch = "x86_64", test))]
const APART: [u64; 8] = [
    0x400e_ca25_82b2_993d,
    0x400f_3885_50c3_2b48,
    0x400f_a6e5_1ed3_bd50,
    0x4010_0aa2_7672_27ae,
    0x4010_41d2_5d7a_70b2,
    0x4010_7902_4482_b9b5,
    0x4010_b032_2b8b_02bb,
    0x4010_e762_1293_4bc0,
];

/// The CPU lacks the vector instructions.
pub(super) const NO_VECTORS: Template =
    Template::new("workload-no-vectors", "this CPU has no {variant} vectors");

/// Executes the steps on the vectors of `variant`, which must be usable, and checks every lane's bits.
pub(crate) fn check(variant: Variant) -> Result<(), WrongResult> {
    for _ in 0..TIMES {
        let (lanes, known): (Vec<f64>, &[u64]) = match variant {
            _ if !variant.usable() => {
                return Err(WrongResult(text!(NO_VECTORS, variant = variant.name())));
            }
            // SAFETY: the variant is usable on this CPU.
            #[cfg(target_arch = "x86_64")]
            Variant::Avx512 => (unsafe { x86::avx512() }.to_vec(), &FUSED),
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Variant::Avx2 => (unsafe { x86::avx2() }.to_vec(), &FUSED),
            #[cfg(target_arch = "x86_64")]
            Variant::Sse2 => (x86::sse2().to_vec(), &APART),
            #[cfg(target_arch = "aarch64")]
            Variant::Neon => (neon().to_vec(), &FUSED),
            _ => return Ok(()),
        };
        compare(&lanes, known)?;
    }
    Ok(())
}

fn compare(lanes: &[f64], known: &[u64]) -> Result<(), WrongResult> {
    match lanes.iter().zip(known).position(|(lane, known)| lane.to_bits() != *known) {
        None => Ok(()),
        Some(at) => Err(WrongResult(text!(
            "multiply-adds on lane {at} of {lanes} yielded {got}, expected {right}",
            lanes = lanes.len(),
            got = format!("{:?}", lanes[at]),
            right = format!("{:?}", f64::from_bits(known[at]))
        ))),
    }
}

/// The start value of each lane, hidden from the compiler so that it cannot compute the steps at compile time.
fn start<const LANES: usize>() -> [f64; LANES] {
    std::hint::black_box(std::array::from_fn(|lane| 1.0 + lane as f64 / 8.0))
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;
    use std::mem::transmute;

    use super::{FACTORS, STEPS, TERM, start};

    #[target_feature(enable = "avx512f")]
    pub(crate) fn avx512() -> [f64; 8] {
        // SAFETY: a vector is an array of its lanes.
        let mut x: __m512d = unsafe { transmute(start::<8>()) };
        for step in 0..STEPS {
            x = _mm512_fmadd_pd(x, _mm512_set1_pd(FACTORS[step % 2]), _mm512_set1_pd(TERM));
        }
        // SAFETY: as above.
        unsafe { transmute(x) }
    }

    #[target_feature(enable = "avx2,fma")]
    pub(crate) fn avx2() -> [f64; 4] {
        // SAFETY: a vector is an array of its lanes.
        let mut x: __m256d = unsafe { transmute(start::<4>()) };
        for step in 0..STEPS {
            x = _mm256_fmadd_pd(x, _mm256_set1_pd(FACTORS[step % 2]), _mm256_set1_pd(TERM));
        }
        // SAFETY: as above.
        unsafe { transmute(x) }
    }

    pub(crate) fn sse2() -> [f64; 2] {
        // SAFETY: a vector is an array of its lanes; every x86-64 CPU has SSE2.
        unsafe {
            let mut x: __m128d = transmute(start::<2>());
            for step in 0..STEPS {
                x = _mm_add_pd(_mm_mul_pd(x, _mm_set1_pd(FACTORS[step % 2])), _mm_set1_pd(TERM));
            }
            transmute(x)
        }
    }
}

#[cfg(target_arch = "aarch64")]
fn neon() -> [f64; 2] {
    use std::arch::aarch64::{float64x2_t, vdupq_n_f64, vfmaq_f64};
    use std::mem::transmute;
    // SAFETY: a vector is an array of its lanes; Linux programs on aarch64 have NEON.
    unsafe {
        let mut x: float64x2_t = transmute(start::<2>());
        for step in 0..STEPS {
            x = vfmaq_f64(vdupq_n_f64(TERM), x, vdupq_n_f64(FACTORS[step % 2]));
        }
        transmute(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_computes_right() {
        for variant in Variant::usable_vectors() {
            assert_eq!(check(variant), Ok(()), "{variant}");
        }
    }

    #[test]
    fn a_wrong_bit_on_one_lane_is_noticed() {
        let mut lanes: Vec<f64> = FUSED.iter().map(|bits| f64::from_bits(*bits)).collect();
        assert_eq!(compare(&lanes, &FUSED), Ok(()));
        lanes[5] = f64::from_bits(FUSED[5] ^ 1);
        let wrong = compare(&lanes, &FUSED).unwrap_err().0;
        assert_eq!((wrong.value("at"), wrong.value("lanes")), (Some(&5u64.into()), Some(&8u64.into())));
    }

    #[test]
    fn fused_and_apart_differ_so_that_neither_passes_for_the_other() {
        let step = |x: f64, at: usize| x * FACTORS[at % 2] + TERM;
        let apart = (0..8).map(|lane| (0..STEPS).fold(1.0 + f64::from(lane) / 8.0, step).to_bits());
        assert_eq!(apart.collect::<Vec<_>>(), APART);
        assert_ne!(FUSED[0], APART[0]);
    }
}
