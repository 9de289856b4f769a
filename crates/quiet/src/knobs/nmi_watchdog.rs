//! The hard-lockup detector.

use super::file_knob::{FileKnob, none};
use crate::knob::KnobClass;
use crate::value_syntax::ValueSyntax;

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
    effect: "a non-maskable interrupt some times a minute on each CPU, and one hardware counter gone for perf",
    disputed: "",
    absent: "this kernel has no hard-lockup detector",
    only_when_named: false,
};
