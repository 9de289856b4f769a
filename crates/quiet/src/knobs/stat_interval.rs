//! The kernel's own counting of memory statistics.

use crate::knob::{FileValue, Inspect, Knob, KnobClass};
use crate::value_syntax::ValueSyntax;
use record::Template;

/// `vm.stat_interval`, seconds (Documentation/admin-guide/sysctl/vm.rst).
pub(super) const KNOB: Knob = Knob {
    name: "stat-interval",
    glossary: "
        How often each CPU adds up its memory statistics, seconds.
        How: `/proc/sys/vm/stat_interval`.
    ",
    class: KnobClass::Kernel,
    effect: Template {
        code: "quiet-stat-interval-effect",
        words: "each CPU sums up its memory statistics every few seconds, interrupting whatever runs there",
    },
    absent: Template {
        code: "quiet-stat-interval-absent",
        words: "the kernel does not show the interval of its memory statistics",
    },
    inspect: Inspect::File(FileValue {
        path: "/proc/sys/vm/stat_interval",
        syntax: ValueSyntax::Word,
        steadier: "10",
        as_steady: |value| value.parse::<u32>().is_ok_and(|seconds| seconds >= 10),
    }),
    ..Knob::ORDINARY
};
