//! Timers that move to busy CPUs.

use super::file_knob::{FileKnob, none};
use crate::knob::KnobClass;
use crate::value_syntax::ValueSyntax;
use record::Template;

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
    effect: Template {
        code: "quiet-timer-migration-effect",
        words: "timers of idle CPUs migrate to the busy CPU, which is the measured one",
    },
    disputed: Some(Template {
        code: "quiet-timer-migration-disputed",
        words: "with CPUs isolated for real-time work some leave it on, so that timers migrate away from them",
    }),
    absent: Template {
        code: "quiet-timer-migration-absent",
        words: "no timers can migrate (no high-resolution timers, or one CPU)",
    },
    only_when_named: false,
};
