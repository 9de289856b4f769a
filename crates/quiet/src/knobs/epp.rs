//! What the processor itself prefers: speed or saving.

use super::boost::policy_files;
use crate::knob::{Inspect, Knob, KnobClass, WordFiles};

/// `energy_performance_preference` of each policy (Documentation/admin-guide/pm/intel_pstate.rst and amd-pstate.rst).
pub(super) const KNOB: Knob = Knob {
    name: "epp",
    class: KnobClass::Clock,
    effect: "the processor leaves its highest clock early to save energy, by its own prediction of the load",
    absent: "the processor has no energy_performance_preference",
    inspect: Inspect::Words(WordFiles {
        files: |context, cpus| policy_files(context, cpus, "energy_performance_preference"),
        choices: Some("energy_performance_available_preferences"),
        steadier: "performance",
    }),
    ..Knob::ORDINARY
};
