//! What the processor itself prefers: speed or saving.

use super::governor::inspect_policies;
use crate::knob::{Inspection, Knob, KnobClass, KnobContext};
use record::{Text, text};

/// `energy_performance_preference` of each policy (Documentation/admin-guide/pm/intel_pstate.rst and amd-pstate.rst).
#[derive(Debug)]
pub struct Epp;

impl Knob for Epp {
    fn name(&self) -> &'static str {
        "epp"
    }

    fn class(&self) -> KnobClass {
        KnobClass::Clock
    }

    fn effect(&self) -> Text {
        text!(
            "quiet-epp-effect",
            "the processor leaves its highest clock early to save energy, by its own prediction of the load"
        )
    }

    fn inspect(&self, context: &KnobContext) -> Inspection {
        inspect_policies(context, self.name(), "energy_performance_preference", "performance", |policy| {
            let all = context.text(&format!("{policy}/energy_performance_available_preferences"));
            all.is_none_or(|all| all.split_ascii_whitespace().any(|word| word == "performance"))
        })
        .unwrap_or_else(|| {
            Inspection::absent(text!(
                "quiet-epp-absent",
                "the processor has no energy_performance_preference"
            ))
        })
    }
}
