//! Metrics of workloads and commands.

use super::{HIGHER, LOWER, Metric};
use crate::label::Label;

// What one unit of work is depends on the workload (`detail.work`), so only absurd rates are withheld.
pub(super) const WORKLOAD_THROUGHPUT: Metric = Metric {
    name: "workload.throughput",
    title: "Workload throughput",
    unit: "work/s",
    better: HIGHER,
    keys: &[Label::Workload, Label::Bytes, Label::Threads, Label::Placement],
    plausible: (1e-9, 1e18),
    glossary: "
        Work a second that `threads` copies of a workload do together. What a unit of work is stands in
        `detail.work`: a count of primes, a byte enciphered, a power, a flop.
        How: A start deadline, each thread on its own CPU and its own memory, work counted over the window in
        which all ran. Commands (`linespeed scale`): copies started together, one pinned to each CPU, the sum
        of what each did in its own time; or one command that is told how many CPUs it has, by its own score.
        `placement` says which CPUs come first: `cores-first` (one CPU a core, then the siblings),
        `siblings-first` (both siblings of a core before the next core), `node-compact` (a node full before
        the next), `node-spread` (nodes in turn).
        Usual: No usual range: it is for comparing machines and settings. Compute-bound work should grow by
        one a core.
        Moves: Cores, clock, siblings, and whatever the workload shares: caches, memory, a power budget.
    ",
};

pub(super) const WORKLOAD_TIME: Metric = Metric {
    name: "workload.time",
    title: "Workload run time",
    unit: "s",
    better: LOWER,
    keys: &[Label::Workload, Label::Cpu, Label::Threads, Label::Placement],
    plausible: (0.0, 1e9),
    glossary: "
        Seconds that one pass of a workload, or a command, takes on the wall clock.
        Also: time of a run
        How: Built-in workloads: one pass on one pinned CPU. Commands: from before the start of the first
        process to the end of the last that was waited for. With `threads` and `placement`: each copy's own,
        at that step of `linespeed scale`.
        Usual: No usual range: it is for comparing machines, settings and versions of a program.
        Moves: The clock, memory, what else runs, and for commands disks and networks too.
    ",
};

pub(super) const WORKLOAD_CPU_TIME: Metric = Metric {
    name: "workload.cpu_time",
    title: "CPU time",
    unit: "s",
    better: LOWER,
    keys: &[Label::Workload, Label::State, Label::Thread],
    plausible: (0.0, 1e9),
    glossary: "
        Where a command's time went, in seconds by `state`: on a CPU in its own code (`user`) and in the
        kernel (`system`), ready but without a CPU (`runnable`), both summed over its threads and processes;
        and time in which nothing of it ran or was ready (`off-cpu`). With `thread`, one thread's: `on-cpu`
        and `runnable`.
        Also: user time, system time
        How: The kernel's own accounting: rusage of all processes, those that forked away too, and schedstat
        of each thread, looked at every 50 ms from 20 ms on. `off-cpu` is exact for one thread; for several it
        is the share of those looks at which none ran or was ready. What threads waited for a CPU after the
        last look at them is not in `runnable`; where that may be much, the coverage says so.
        Usual: `user` + `system` = wall time × CPUs used. `runnable` near 0 on a machine that is not
        overloaded.
        Moves: Other programs, quotas, disks, locks, the number of threads.
    ",
};
