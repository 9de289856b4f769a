//! `flops`: double-precision multiply-adds on vectors, with enough parallelism for any core. The widest loop on this
//! CPU is `flops`; narrower ones are `flops-256` and so on.

use kernels::Variant;
use kernels::heavy::{self, Heavy};
use record::{Template, Unavailable, text};

use super::arithmetic::{self, NO_VECTORS};
use super::loops::{instructions_each, repeat};
use super::workload::{Definition, Site, Worker, Workload};

/// The loop of one vector width.
pub(crate) struct Flops {
    variant: Variant,
}

/// One loop per vector width of this instruction set, widest first.
pub(crate) const LOOPS: &[Flops] = if cfg!(target_arch = "x86_64") {
    &[Flops { variant: Variant::Avx512 }, Flops { variant: Variant::Avx2 }, Flops { variant: Variant::Sse2 }]
} else {
    &[Flops { variant: Variant::Neon }]
};

const WORK_512: Template = Template::new("work-flops-512", "double-precision flop on 512-bit vectors");
const WORK_256: Template = Template::new("work-flops-256", "double-precision flop on 256-bit vectors");
const WORK_128: Template = Template::new("work-flops-128", "double-precision flop on 128-bit vectors");

impl Flops {
    fn heavy(&self) -> Option<&'static Heavy> {
        heavy::all().iter().find(|heavy| heavy.variant == self.variant)
    }
}

impl Workload for Flops {
    fn definition(&self) -> Definition {
        let (name, work) = match self.variant.bits() {
            512 => ("flops-512", WORK_512),
            256 => ("flops-256", WORK_256),
            _ => ("flops-128", WORK_128),
        };
        let is_widest = Variant::usable_vectors().last() == Some(self.variant);
        Definition::new(if is_widest { "flops" } else { name }, work)
    }

    fn instructions(&self) -> Option<f64> {
        Some(instructions_each(&self.heavy()?.work))
    }

    fn usable(&self) -> Result<(), Unavailable> {
        if self.variant.usable() && self.heavy().is_some() {
            return Ok(());
        }
        let bits = self.variant.bits().to_string();
        Err(text!("this CPU has no multiply-add on {bits}-bit vectors").into())
    }

    fn prepare(&self, _: &Site) -> Result<Box<dyn Worker>, Unavailable> {
        let variant = self.variant;
        let heavy = self.heavy().filter(|_| variant.usable());
        let heavy = heavy.ok_or_else(|| text!(NO_VECTORS, variant = variant.name()))?;
        // SAFETY: the variant is usable on this CPU.
        let run = move |n| unsafe { (heavy.run)(n) };
        // The loop does not keep its results, so a separate function repeats the same arithmetic and checks its results.
        Ok(repeat(&heavy.work, run, move || arithmetic::check(variant)))
    }
}
