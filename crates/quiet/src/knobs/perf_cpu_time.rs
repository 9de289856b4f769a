//! The kernel's limit on time spent in perf's interrupts.

use crate::knob::{FileValue, Inspect, Knob, KnobClass, SetWhen};
use record::Template;

/// `kernel.perf_cpu_time_max_percent` (Documentation/admin-guide/sysctl/kernel.rst).
pub(super) const KNOB: Knob = Knob {
    name: "perf-cpu-time",
    glossary: "
        What share of a CPU perf's interrupts may take, percent, before the kernel slows them down. Set only
        when it is named.
        How: `/proc/sys/kernel/perf_cpu_time_max_percent`.
    ",
    class: KnobClass::Kernel,
    set: SetWhen::Named,
    effect: Template {
        code: "quiet-perf-cpu-time-effect",
        words: "the share of a CPU that perf's interrupts may take before the kernel throttles them",
    },
    disputed: Some(Template {
        code: "quiet-perf-cpu-time-disputed",
        words: "throttled in the middle of a profile, the samples change",
    }),
    absent: Template { code: "quiet-perf-cpu-time-absent", words: "the kernel has no perf events" },
    inspect: Inspect::File(FileValue::word("/proc/sys/kernel/perf_cpu_time_max_percent", "1")),
    ..Knob::ORDINARY
};
