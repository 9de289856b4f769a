//! Who decides on the clock, and between speed and saving: a word in a file of each policy or CPU.

use super::boost::policy_files;
use crate::knob::{Inspect, Knob, KnobClass, WordFiles};

/// `scaling_governor` of each policy (Documentation/admin-guide/pm/cpufreq.rst).
pub(super) const GOVERNOR: Knob = Knob {
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

/// `energy_performance_preference` of each policy (Documentation/admin-guide/pm/intel_pstate.rst and amd-pstate.rst).
pub(super) const EPP: Knob = Knob {
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

/// `energy_perf_bias` of each CPU, 0 for speed to 15 for saving (Documentation/admin-guide/pm/intel_epb.rst).
pub(super) const EPB: Knob = Knob {
    name: "epb",
    class: KnobClass::Clock,
    effect: "the processor lowers core and uncore clocks to save energy, by its own prediction of the load",
    absent: "the processor has no energy_perf_bias",
    inspect: Inspect::Words(WordFiles {
        files: |context, cpus| {
            let file = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/power/energy_perf_bias");
            cpus.unwrap_or(&context.online).iter().map(file).collect()
        },
        choices: None,
        steadier: "0",
    }),
    ..Knob::ORDINARY
};
