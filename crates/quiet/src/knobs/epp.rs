//! What the processor itself prefers: speed or saving.

use super::governor::each;
use crate::knob::{Knob, Look, Scene};

/// `energy_performance_preference` of each policy (Documentation/admin-guide/pm/intel_pstate.rst and amd-pstate.rst).
#[derive(Debug)]
pub struct Epp;

impl Knob for Epp {
    fn name(&self) -> &'static str {
        "epp"
    }

    fn effect(&self) -> &'static str {
        "the processor leaves its highest clock early to save energy, by its own guess of what will come"
    }

    fn look(&self, scene: &Scene) -> Look {
        each(scene, self.name(), "energy_performance_preference", "performance", |policy| {
            let all = scene.text(&format!("{policy}/energy_performance_available_preferences"));
            all.is_none_or(|all| all.split_ascii_whitespace().any(|word| word == "performance"))
        })
        .unwrap_or_else(|| Look::absent("the processor here takes no such preference"))
    }
}
