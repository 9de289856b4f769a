//! The governor: who decides on the clock, and how late.

use super::boost::policy_files;
use crate::knob::{Inspect, Knob, KnobClass, WordFiles};

/// `scaling_governor` of each policy (Documentation/admin-guide/pm/cpufreq.rst).
pub(super) const KNOB: Knob = Knob {
    name: "governor",
    class: KnobClass::Clock,
    effect: "the core clock follows the load with a delay: a short run is slow, a run right after another is fast",
    absent: "no governor here: the firmware or the host controls the clock",
    inspect: Inspect::Words(WordFiles {
        files: |context, cpus| policy_files(context, cpus, "scaling_governor"),
        choices: Some("scaling_available_governors"),
        steadier: "performance",
    }),
    ..Knob::ORDINARY
};
