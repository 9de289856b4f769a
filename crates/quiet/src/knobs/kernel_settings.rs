//! Settings of the kernel that are one file with one value.

use record::text;

use crate::knob::{
    Adjustment, FileValue, Inspect, Inspection, Knob, KnobClass, KnobContext, ProcessSetting, Seen, SetWhen,
};
use crate::value_syntax::ValueSyntax;

/// `kernel.nmi_watchdog` (Documentation/admin-guide/lockup-watchdogs.rst).
pub(super) const NMI_WATCHDOG: Knob = Knob {
    name: "nmi-watchdog",
    effect: "a non-maskable interrupt a few times a minute on each CPU, and one hardware counter less for perf",
    absent: "the kernel has no hard-lockup detector",
    ..Knob::of_file("/proc/sys/kernel/nmi_watchdog", "0")
};

/// `kernel.timer_migration` (Documentation/admin-guide/sysctl/kernel.rst).
pub(super) const TIMER_MIGRATION: Knob = Knob {
    name: "timer-migration",
    effect: "timers of idle CPUs migrate to the busy CPU, which is the measured one",
    disputed: Some(
        "with CPUs isolated for real-time work some leave it on, so that timers migrate away from them",
    ),
    absent: "no timers can migrate (no high-resolution timers, or one CPU)",
    ..Knob::of_file("/proc/sys/kernel/timer_migration", "0")
};

/// `vm.stat_interval`, seconds (Documentation/admin-guide/sysctl/vm.rst).
pub(super) const STAT_INTERVAL: Knob = Knob {
    name: "stat-interval",
    class: KnobClass::Kernel,
    effect: "each CPU sums up its memory statistics every few seconds, interrupting whatever runs there",
    absent: "the kernel does not show the interval of its memory statistics",
    inspect: Inspect::File(FileValue {
        path: "/proc/sys/vm/stat_interval",
        syntax: ValueSyntax::Word,
        steadier: "10",
        as_steady: |value| value.parse::<u32>().is_ok_and(|seconds| seconds >= 10),
    }),
    ..Knob::ORDINARY
};

/// `kernel.numa_balancing` (Documentation/admin-guide/sysctl/kernel.rst).
pub(super) const NUMA_BALANCING: Knob = Knob {
    name: "numa-balancing",
    class: KnobClass::Other,
    effect: "the kernel unmaps pages to see who uses them, and moves them between NUMA nodes while a program runs",
    absent: "the kernel has no NUMA balancing",
    ..Knob::of_file("/proc/sys/kernel/numa_balancing", "0")
};

/// `/sys/kernel/mm/ksm/run` (Documentation/admin-guide/mm/ksm.rst): 0 stops the thread and keeps what is merged.
pub(super) const KSM: Knob = Knob {
    name: "ksm",
    effect: "a kernel thread scans memory for equal pages, and the first write to a merged page copies it",
    absent: "the kernel does not merge equal pages",
    ..Knob::of_file("/sys/kernel/mm/ksm/run", "0")
};

/// `/sys/kernel/mm/transparent_hugepage/enabled` (Documentation/admin-guide/mm/transhuge.rst).
pub(super) const THP: Knob = Knob {
    name: "thp",
    set: SetWhen::Named,
    effect: "whether a program gets huge pages depends on how much contiguous memory is free at that moment",
    disputed: Some(
        "with madvise a program that does not ask for huge pages is measured without them: compare like with like",
    ),
    absent: "the kernel has no THP",
    inspect: Inspect::File(FileValue {
        path: "/sys/kernel/mm/transparent_hugepage/enabled",
        syntax: ValueSyntax::Chosen,
        steadier: "madvise",
        as_steady: |value| value == "never",
    }),
    ..Knob::ORDINARY
};

/// `vm.compaction_proactiveness` (Documentation/admin-guide/sysctl/vm.rst): 0 leaves compaction to whoever needs a huge page.
/// Linux 5.9 and later.
pub(super) const COMPACTION: Knob = Knob {
    name: "compaction",
    effect: "kcompactd moves pages in the background, and a program that touches one waits until it has moved",
    absent: "the kernel does not compact memory ahead of need",
    ..Knob::of_file("/proc/sys/vm/compaction_proactiveness", "0")
};

/// `kernel.perf_event_max_sample_rate`, a second (Documentation/admin-guide/sysctl/kernel.rst).
pub(super) const PERF_SAMPLE_RATE: Knob = Knob {
    name: "perf-sample-rate",
    set: SetWhen::Named,
    effect: "how often a second a profiler may interrupt a CPU meanwhile",
    disputed: Some("who wants to profile the command needs the rate as it is"),
    absent: "the kernel has no perf events",
    ..Knob::of_file("/proc/sys/kernel/perf_event_max_sample_rate", "1")
};

/// `kernel.perf_cpu_time_max_percent` (Documentation/admin-guide/sysctl/kernel.rst).
pub(super) const PERF_CPU_TIME: Knob = Knob {
    name: "perf-cpu-time",
    set: SetWhen::Named,
    effect: "the share of a CPU that perf's interrupts may take before the kernel throttles them",
    disputed: Some("throttled in the middle of a profile, the samples change"),
    absent: "the kernel has no perf events",
    ..Knob::of_file("/proc/sys/kernel/perf_cpu_time_max_percent", "1")
};

/// `kernel.sched_rt_runtime_us` (Documentation/scheduler/sched-rt-group.rst).
pub(super) const RT_RUNTIME: Knob = Knob {
    name: "rt-runtime",
    set: SetWhen::Named,
    effect: "a command under SCHED_FIFO is throttled for 50 ms of each second",
    disputed: Some(
        "unthrottled, a real-time thread that never sleeps can lock up the machine: only for commands that end",
    ),
    absent: "the kernel does not throttle real-time threads",
    ..Knob::of_file("/proc/sys/kernel/sched_rt_runtime_us", "-1")
};

/// Address space layout randomization, off for one command by `personality(ADDR_NO_RANDOMIZE)`.
pub(super) const ASLR: Knob = Knob {
    name: "aslr",
    set: SetWhen::Named,
    effect: "each run has a new memory layout: lines and pages fall into other cache sets, which changes times by some \
                percent now and then",
    disputed: Some(
        "experts disagree: off, every run has the same layout, lucky or unlucky; on, many runs give the average over \
                layouts",
    ),
    absent: "the kernel does not show randomize_va_space",
    ..Knob::looked_at(inspect_aslr)
};

fn inspect_aslr(_: &Knob, context: &KnobContext) -> Seen {
    Ok(context.text("/proc/sys/kernel/randomize_va_space").map(|value| match value.as_str() {
        "0" => Inspection::steady(text!("off for all programs")),
        _ => Inspection::noisy(
            "on",
            text!("off for the command"),
            Adjustment::ProcessSetting(ProcessSetting::FixedAddresses),
        ),
    }))
}
