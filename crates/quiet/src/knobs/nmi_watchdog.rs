//! The hard-lockup detector.

use super::file_knob::{FileKnob, none};
use crate::knob::KnobClass;
use crate::value_syntax::ValueSyntax;
use record::Template;

/// `kernel.nmi_watchdog` (Documentation/admin-guide/lockup-watchdogs.rst).
pub const KNOB: FileKnob = FileKnob {
    name: "nmi-watchdog",
    glossary: "
        The kernel's detector of hard lockups: an interrupt on each CPU some times a minute, and a hardware
        counter that perf then lacks.
        How: `/proc/sys/kernel/nmi_watchdog`.
    ",
    class: KnobClass::Kernel,
    path: "/proc/sys/kernel/nmi_watchdog",
    syntax: ValueSyntax::Word,
    steadier: "0",
    as_steady: none,
    effect: Template {
        code: "quiet-nmi-watchdog-effect",
        words: "a non-maskable interrupt a few times a minute on each CPU, and one hardware counter less for perf",
    },
    disputed: None,
    absent: Template { code: "quiet-nmi-watchdog-absent", words: "the kernel has no hard-lockup detector" },
    only_when_named: false,
};
