//! The older preference of Intel's processors between speed and saving.

use crate::knob::{Inspect, Knob, KnobClass, WordFiles};

/// `energy_perf_bias` of each CPU, 0 for speed to 15 for saving (Documentation/admin-guide/pm/intel_epb.rst).
pub(super) const KNOB: Knob = Knob {
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
