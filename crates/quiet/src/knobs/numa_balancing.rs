//! Automatic NUMA balancing.

use super::single::{Single, none};
use crate::form::Form;

/// `kernel.numa_balancing` (Documentation/admin-guide/sysctl/kernel.rst).
pub const KNOB: Single = Single {
    name: "numa-balancing",
    path: "/proc/sys/kernel/numa_balancing",
    form: Form::Word,
    steadier: "0",
    as_steady: none,
    effect: "the kernel unmaps pages to see who uses them and moves them between nodes while a program runs",
    disputed: "",
    absent: "this kernel does not balance memory between nodes",
    only_when_named: false,
};
