//! Timers that move to busy CPUs.

use super::file_knob::{FileKnob, none};
use crate::knob::KnobClass;
use crate::value_syntax::ValueSyntax;

/// `kernel.timer_migration` (Documentation/admin-guide/sysctl/kernel.rst).
pub const KNOB: FileKnob = FileKnob {
    name: "timer-migration",
    glossary: "
        Whether timers of idle CPUs move to a busy one, which is the one that measures.
        How: `/proc/sys/kernel/timer_migration`. With CPUs isolated for real-time work some leave it on, so
        that timers move away from them.
    ",
    class: KnobClass::Kernel,
    path: "/proc/sys/kernel/timer_migration",
    syntax: ValueSyntax::Word,
    steadier: "0",
    as_steady: none,
    effect: "timers of idle CPUs move to the CPU that is busy, which is the one that measures",
    disputed: "with CPUs isolated for real-time work some leave it on, so that timers set there move away",
    absent: "a kernel without high-resolution timers or with one CPU has no timers to move",
    only_when_named: false,
};
