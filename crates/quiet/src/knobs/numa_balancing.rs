//! Automatic NUMA balancing.

use super::file_knob::{FileKnob, none};
use crate::knob::KnobClass;
use crate::value_syntax::ValueSyntax;
use record::Template;

/// `kernel.numa_balancing` (Documentation/admin-guide/sysctl/kernel.rst).
pub const KNOB: FileKnob = FileKnob {
    name: "numa-balancing",
    glossary: "",
    class: KnobClass::Other,
    path: "/proc/sys/kernel/numa_balancing",
    syntax: ValueSyntax::Word,
    steadier: "0",
    as_steady: none,
    effect: Template {
        code: "quiet-numa-balancing-effect",
        words: "the kernel unmaps pages to see who uses them, and moves them between NUMA nodes while a program runs",
    },
    disputed: None,
    absent: Template { code: "quiet-numa-balancing-absent", words: "the kernel has no NUMA balancing" },
    only_when_named: false,
};
