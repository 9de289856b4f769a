//! Timers that move to busy CPUs.

use crate::knob::{FileValue, Inspect, Knob, KnobClass};
use record::Template;

/// `kernel.timer_migration` (Documentation/admin-guide/sysctl/kernel.rst).
pub(super) const KNOB: Knob = Knob {
    name: "timer-migration",
    glossary: "
        Whether timers of idle CPUs move to a busy one, which is the one that measures.
        How: `/proc/sys/kernel/timer_migration`. With CPUs isolated for real-time work some leave it on, so
        that timers move away from them.
    ",
    class: KnobClass::Kernel,
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
    inspect: Inspect::File(FileValue::word("/proc/sys/kernel/timer_migration", "0")),
    ..Knob::ORDINARY
};
