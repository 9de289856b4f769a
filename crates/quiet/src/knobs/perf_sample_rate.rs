//! Sampling by perf.

use super::file_knob::FileKnob;
use crate::knob::KnobClass;
use crate::value_syntax::ValueSyntax;

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
    effect: "whoever profiles the machine meanwhile may interrupt a CPU so often a second",
    disputed: "one who wants to profile the command needs it as it is",
    absent: "this kernel has no perf events",
    only_when_named: true,
};
