//! The kernel's brake on real-time threads.

use crate::knob::{FileValue, Inspect, Knob, KnobClass, SetWhen};
use record::Template;

/// `kernel.sched_rt_runtime_us` (Documentation/scheduler/sched-rt-group.rst).
pub(super) const KNOB: Knob = Knob {
    name: "rt-runtime",
    glossary: "
        How long real-time threads may run in each second, µs, before the kernel lets others run. Set only
        when it is named: without it a thread that never sleeps can lock a machine up.
        Also: sched_rt_runtime_us
        How: `/proc/sys/kernel/sched_rt_runtime_us`.
    ",
    class: KnobClass::Kernel,
    set: SetWhen::Named,
    effect: Template {
        code: "quiet-rt-runtime-effect",
        words: "a command under SCHED_FIFO is throttled for 50 ms of each second",
    },
    disputed: Some(Template {
        code: "quiet-rt-runtime-disputed",
        words: "unthrottled, a real-time thread that never sleeps can lock up the machine: only for commands that end",
    }),
    absent: Template {
        code: "quiet-rt-runtime-absent",
        words: "the kernel does not throttle real-time threads",
    },
    inspect: Inspect::File(FileValue::word("/proc/sys/kernel/sched_rt_runtime_us", "-1")),
    ..Knob::ORDINARY
};
