//! Automatic NUMA balancing.

use super::file_knob::{FileKnob, none};
use crate::knob::KnobClass;
use crate::value_syntax::ValueSyntax;

/// `kernel.numa_balancing` (Documentation/admin-guide/sysctl/kernel.rst).
pub const KNOB: FileKnob = FileKnob {
    name: "numa-balancing",
    glossary: "",
    class: KnobClass::Other,
    path: "/proc/sys/kernel/numa_balancing",
    syntax: ValueSyntax::Word,
    steadier: "0",
    as_steady: none,
    effect: "the kernel unmaps pages to see who uses them and moves them between nodes while a program runs",
    disputed: "",
    absent: "this kernel does not balance memory between nodes",
    only_when_named: false,
};
