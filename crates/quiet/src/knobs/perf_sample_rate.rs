//! Sampling by perf.

use super::file_knob::FileKnob;
use crate::knob::KnobClass;
use crate::value_syntax::ValueSyntax;
use record::Template;

/// `kernel.perf_event_max_sample_rate`, a second (Documentation/admin-guide/sysctl/kernel.rst).
pub const KNOB: FileKnob = FileKnob {
    name: "perf-sample-rate",
    glossary: "
        How often a second whoever profiles may interrupt a CPU. Set only when it is named: one who profiles
        the command needs it.
        How: `/proc/sys/kernel/perf_event_max_sample_rate`.
    ",
    class: KnobClass::Kernel,
    path: "/proc/sys/kernel/perf_event_max_sample_rate",
    syntax: ValueSyntax::Word,
    steadier: "1",
    as_steady: |value| value == "1",
    effect: Template {
        code: "quiet-perf-sample-rate-effect",
        words: "how often a second a profiler may interrupt a CPU meanwhile",
    },
    disputed: Some(Template {
        code: "quiet-perf-sample-rate-disputed",
        words: "who wants to profile the command needs the rate as it is",
    }),
    absent: Template { code: "quiet-perf-sample-rate-absent", words: "the kernel has no perf events" },
    only_when_named: true,
};
