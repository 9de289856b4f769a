//! Sampling by perf.

use crate::knob::{FileValue, Inspect, Knob, KnobClass, SetWhen};
use record::Template;

/// `kernel.perf_event_max_sample_rate`, a second (Documentation/admin-guide/sysctl/kernel.rst).
pub(super) const KNOB: Knob = Knob {
    name: "perf-sample-rate",
    glossary: "
        How often a second whoever profiles may interrupt a CPU. Set only when it is named: one who profiles
        the command needs it.
        How: `/proc/sys/kernel/perf_event_max_sample_rate`.
    ",
    class: KnobClass::Kernel,
    set: SetWhen::Named,
    effect: Template {
        code: "quiet-perf-sample-rate-effect",
        words: "how often a second a profiler may interrupt a CPU meanwhile",
    },
    disputed: Some(Template {
        code: "quiet-perf-sample-rate-disputed",
        words: "who wants to profile the command needs the rate as it is",
    }),
    absent: Template { code: "quiet-perf-sample-rate-absent", words: "the kernel has no perf events" },
    inspect: Inspect::File(FileValue::word("/proc/sys/kernel/perf_event_max_sample_rate", "1")),
    ..Knob::ORDINARY
};
