//! The hard-lockup detector.

use super::single::{Single, none};
use crate::form::Form;

/// `kernel.nmi_watchdog` (Documentation/admin-guide/lockup-watchdogs.rst).
pub const KNOB: Single = Single {
    name: "nmi-watchdog",
    path: "/proc/sys/kernel/nmi_watchdog",
    form: Form::Word,
    steadier: "0",
    as_steady: none,
    effect: "a non-maskable interrupt some times a minute on each CPU, and one hardware counter gone for perf",
    disputed: "",
    absent: "this kernel has no hard-lockup detector",
    only_when_named: false,
};
