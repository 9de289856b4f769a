//! The kernel's own counting of memory statistics.

use super::file_knob::FileKnob;
use crate::knob::KnobClass;
use crate::value_syntax::ValueSyntax;

/// `vm.stat_interval`, seconds (Documentation/admin-guide/sysctl/vm.rst).
pub const KNOB: FileKnob = FileKnob {
    name: "stat-interval",
    glossary: "
        How often each CPU adds up its memory statistics, seconds.
        How: `/proc/sys/vm/stat_interval`.
    ",
    class: KnobClass::Kernel,
    path: "/proc/sys/vm/stat_interval",
    syntax: ValueSyntax::Word,
    steadier: "10",
    as_steady: |value| value.parse::<u32>().is_ok_and(|seconds| seconds >= 10),
    effect: "each CPU adds up its memory statistics once in so many seconds, in the middle of whatever runs there",
    disputed: "",
    absent: "this kernel does not tell how often it adds up memory statistics",
    only_when_named: false,
};
