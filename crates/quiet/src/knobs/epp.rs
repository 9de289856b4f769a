//! What the processor itself prefers: speed or saving.

use super::boost::policy_files;
use super::uniform::inspect_words;
use crate::knob::{Inspect, Knob, KnobClass};
use record::Template;

/// `energy_performance_preference` of each policy (Documentation/admin-guide/pm/intel_pstate.rst and amd-pstate.rst).
pub(super) const KNOB: Knob = Knob {
    name: "epp",
    class: KnobClass::Clock,
    effect: Template {
        code: "quiet-epp-effect",
        words: "the processor leaves its highest clock early to save energy, by its own prediction of the load",
    },
    absent: Template {
        code: "quiet-epp-absent",
        words: "the processor has no energy_performance_preference",
    },
    inspect: Inspect::With(|knob, context| {
        let files = policy_files(context, "energy_performance_preference");
        let choices = "energy_performance_available_preferences";
        inspect_words(knob, context, files, "performance", Some(choices))
    }),
    ..Knob::ORDINARY
};
