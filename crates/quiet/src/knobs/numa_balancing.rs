//! Automatic NUMA balancing.

use crate::knob::{FileValue, Inspect, Knob};
use record::Template;

/// `kernel.numa_balancing` (Documentation/admin-guide/sysctl/kernel.rst).
pub(super) const KNOB: Knob = Knob {
    name: "numa-balancing",
    effect: Template {
        code: "quiet-numa-balancing-effect",
        words: "the kernel unmaps pages to see who uses them, and moves them between NUMA nodes while a program runs",
    },
    absent: Template { code: "quiet-numa-balancing-absent", words: "the kernel has no NUMA balancing" },
    inspect: Inspect::File(FileValue::word("/proc/sys/kernel/numa_balancing", "0")),
    ..Knob::ORDINARY
};
