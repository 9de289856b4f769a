//! `flops`: double-precision multiply-adds on vectors, as many side by side as any core can do. The widest that this
//! CPU has is `flops`, a narrower one `flops-256` and so on.

use kernels::Variant;
use kernels::heavy::{self, Heavy};
use record::{Machine, Unavailable, text};

use super::arithmetic;
use super::workload::{Site, Worker, Workload, WrongResult, iterations_a_round};

/// The loop of one vector width.
pub(crate) struct Flops {
    variant: Variant,
}

/// One a vector width of this instruction set, widest first.
pub(crate) const LOOPS: &[Flops] = if cfg!(target_arch = "x86_64") {
    &[Flops { variant: Variant::Avx512 }, Flops { variant: Variant::Avx2 }, Flops { variant: Variant::Sse2 }]
} else {
    &[Flops { variant: Variant::Neon }]
};

impl Flops {
    fn heavy(&self) -> Option<&'static Heavy> {
        heavy::all().iter().find(|heavy| heavy.variant == self.variant)
    }

    fn is_widest(&self) -> bool {
        Variant::usable_vectors().last() == Some(self.variant)
    }
}

impl Workload for Flops {
    fn name(&self) -> &'static str {
        if self.is_widest() {
            return "flops";
        }
        match self.variant.bits() {
            512 => "flops-512",
            256 => "flops-256",
            _ => "flops-128",
        }
    }

    fn work(&self) -> &'static str {
        match self.variant {
            Variant::Avx512 => "double-precision flop on 512-bit vectors",
            Variant::Avx2 => "double-precision flop on 256-bit vectors",
            _ => "double-precision flop on 128-bit vectors",
        }
    }

    fn instructions(&self) -> Option<f64> {
        let work = self.heavy()?.work;
        Some(f64::from(work.instructions) / f64::from(work.operations))
    }

    fn usable(&self, _: &Machine) -> Result<(), Unavailable> {
        if self.variant.usable() && self.heavy().is_some() {
            Ok(())
        } else {
            Err(text!(
                "workload-no-multiply-add",
                "this CPU has no multiply-add on {bits}-bit vectors",
                bits = self.variant.bits().to_string()
            )
            .into())
        }
    }

    fn prepare(&self, _: &Site) -> Result<Box<dyn Worker>, Unavailable> {
        let heavy = self.heavy().filter(|heavy| heavy.variant.usable());
        let heavy = heavy.ok_or_else(|| {
            text!("workload-no-vectors", "this CPU has no {variant} vectors", variant = self.variant.name())
        })?;
        // SAFETY: the variant is usable on this CPU.
        let iterations = iterations_a_round(|n| unsafe { (heavy.run)(n) });
        Ok(Box::new(Loop { heavy, iterations }))
    }
}

struct Loop {
    heavy: &'static Heavy,
    iterations: u64,
}

impl Worker for Loop {
    fn round(&mut self) -> f64 {
        // SAFETY: `prepare` takes usable variants only.
        unsafe { (self.heavy.run)(self.iterations) };
        self.iterations as f64 * f64::from(self.heavy.work.operations)
    }

    /// The loop keeps no result: the same arithmetic is done again where it can be looked at.
    fn verify(&mut self) -> Result<(), WrongResult> {
        arithmetic::check(self.heavy.variant)
    }
}
