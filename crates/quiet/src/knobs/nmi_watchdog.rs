//! The hard-lockup detector.

use crate::knob::{FileValue, Inspect, Knob, KnobClass};
use record::Template;

/// `kernel.nmi_watchdog` (Documentation/admin-guide/lockup-watchdogs.rst).
pub(super) const KNOB: Knob = Knob {
    name: "nmi-watchdog",
    glossary: "
        The kernel's detector of hard lockups: an interrupt on each CPU some times a minute, and a hardware
        counter that perf then lacks.
        How: `/proc/sys/kernel/nmi_watchdog`.
    ",
    class: KnobClass::Kernel,
    effect: Template {
        code: "quiet-nmi-watchdog-effect",
        words: "a non-maskable interrupt a few times a minute on each CPU, and one hardware counter less for perf",
    },
    absent: Template { code: "quiet-nmi-watchdog-absent", words: "the kernel has no hard-lockup detector" },
    inspect: Inspect::File(FileValue::word("/proc/sys/kernel/nmi_watchdog", "0")),
    ..Knob::ORDINARY
};
