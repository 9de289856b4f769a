//! Work done: workloads, commands, counters, layers.

use super::{Definition, HIGHER, LOWER, Whole};
use crate::label::Label;

metrics! {
    // What one unit of work is depends on the workload (`detail.work`), so only absurd rates are withheld.
    WORKLOAD_THROUGHPUT = Definition::new("workload.throughput", "Workload throughput", "work/s", HIGHER, (1e-9, 1e18))
        .at(&[Label::Workload, Label::Bytes, Label::Threads, Label::Placement, Label::Setting])
        .explained("
            Work a second that `threads` copies of a workload do together, in the workload's unit (`detail.work`): a
            count of primes, a byte enciphered, a power, a flop.
            How: A start deadline, each thread on its own CPU and its own memory, work counted over the window in
            which all ran. Commands (`linespeed scale`): copies started together, one pinned to each CPU, the sum
            of what each did in its own time; or one command that is told how many CPUs it has, by its own score.
            `placement` says which CPUs come first: `cores-first` (one CPU a core, then the siblings),
            `siblings-first` (both siblings of a core before the next core), `node-compact` (a node full before
            the next), `node-spread` (nodes in turn). `setting=tuned` is what was published of a machine after it was set up
            better.
            Usual: No usual range: it is for comparing machines and settings. Compute-bound work should grow by
            one a core.
            Moves: Cores, clock, siblings, and whatever the workload shares: caches, memory, a power budget.
        "),
    WORKLOAD_TIME = Definition::new("workload.time", "Workload run time", "s", LOWER, (0.0, 1e9))
        .at(&[Label::Workload, Label::Cpu, Label::Threads, Label::Placement])
        .explained("
            Seconds that one pass of a workload, or a command, takes on the wall clock.
            Also: time of a run
            How: Built-in workloads: one pass on one pinned CPU. Commands: from before the start of the first
            process to the end of the last that was waited for. With `threads` and `placement`: each copy's own,
            at that step of `linespeed scale`.
            Usual: No usual range: it is for comparing machines, settings and versions of a program.
            Moves: The clock, memory, what else runs, and for commands disks and networks too.
        "),
    WORKLOAD_CPU_TIME = Definition::new("workload.cpu_time", "CPU time", "s", LOWER, (0.0, 1e9))
        .at(&[Label::Workload, Label::State, Label::Thread])
        .part_of(Whole::Time)
        .explained("
            Where a command's time went, in seconds by `state`: on a CPU in its own code (`user`) and in the
            kernel (`system`), ready but without a CPU (`runnable`), neither of these (`blocked`), all summed over its
            threads and processes; and time in which none of them ran or was ready (`off-cpu`). With `thread`, one
            thread's: `on-cpu`, `runnable`, `blocked`. The line User time of `live` is another thing (`sampled`).
            Also: user time, system time
            How: The kernel's own accounting: rusage of all processes, those that forked away too, and schedstat
            of each thread, looked at every 50 ms from 20 ms on. `off-cpu` is exact for one thread; for several it
            is the share of those looks at which none ran or was ready. What threads waited for a CPU after the
            last look at them is not in `runnable`, what they did before the first not in `blocked`; where that may be much, the coverage says so.
            Usual: `user` + `system` = wall time × CPUs used. `runnable` near 0 on a machine that is not
            overloaded.
            Moves: Other programs, quotas, disks, locks, the number of threads.
        "),
    // 12: beyond the width of any core sold (Lion Cove and Cortex-X925 take in 8 to 10 instructions a cycle).
    CORE_IPC = Definition::new("core.ipc", "IPC", "instructions/cycle", HIGHER, (1e-4, 12.0))
        .at(&[
            Label::Workload, Label::Cpu, Label::Kind, Label::Threads,
            Label::Placement, Label::Source, Label::Scope,
        ])
        .explained("
            Instructions that a core completes in a cycle of its clock while it runs a workload.
            Also: instructions a cycle, instructions per cycle, ipc counted
            How: `source=declared`: the instructions that the loop is known to have, over the CPU time
            that the thread had × the clock measured beside it; needs no counter. `source=pmu`: instructions and cycles as the hardware counted
            them. Where there are both they agree within 1 %.
            Usual: `nop` reads the width of the core: 4 to 10 on today's cores, twice that where it takes two nops
            as one (Zen 4). Databases run at 0.3 to 1, a chain of dependent loads far below 0.1.
            Moves: Waiting for memory, mispredicted branches, a busy sibling (which takes half), the mix of
            instructions.
        "),
    // Eight siblings a core is the most that runs Linux (POWER); each can at best be worth a core of its own.
    SMT_YIELD = Definition::new("smt.yield", "SMT yield", "ratio", HIGHER, (0.05, 8.5))
        .at(&[Label::Workload, Label::Core])
        .explained("
            Throughput of all siblings of a core together, relative to one of them alone. 1 means that the second
            thread brought nothing, 2 that it is worth a core.
            How: One alone and all of the core in turn, in interleaved rounds; median of the rounds' ratios.
            Usual: 1.0 to 1.3 for compute-bound work, up to 1.75 for divisions on Intel, 1.02 to 1.04 for the same
            on AMD; more where threads wait for memory.
            Moves: The workload. A machine's number of CPUs counts siblings as if this were 2. It is a finding
            where siblings together are slower than one alone, and, as a note, where they add less than a quarter
            of a core or more than three quarters.
        "),
    COUNTER_COUNT = Definition::new("counter.count", "Counters", "count", None, (0.0, 1e19))
        .at(&[
            Label::Event, Label::Workload, Label::Cpu, Label::Threads,
            Label::Placement, Label::Thread, Label::Scope,
        ])
        .explained("
            How often an `event` happened while a workload or a command ran: cycles, instructions, misses, faults,
            switches.
            Also: event, counted for, per 1000 instructions
            How: perf_event_open, events in groups, children included. When the CPU has fewer counters than
            events, groups take turns, and the count is scaled up from the share of time that it was counted for
            (`detail.coverage`). Without a PMU the kernel's accounts of each process remain (`detail.source`:
            `rusage` from `wait4`, `sched` from /proc, of threads that were looked at); with `--perf-format` its
            software events, as perf has them: where nobody counts yet the first of those keeps its caller for ten
            milliseconds and more.
            Usual: See the ratios that are printed beside: branch misses under 1 % of branches, page faults a
            second in the hundreds.
            Moves: The program, its data, and where it runs.
        "),
    // A pass of one leaf routine in each layer; the unit of published figures is the clock counter's tick.
    LAYER_TIME = Definition::new("layer.time", "One routine in each layer", "cycles", LOWER, (1.0, 1e18))
        .at(&[Label::Layer, Label::Bound, Label::Interrupts])
        .added_up()
        .explained("
            Time of one pass of the same routine in one layer of the machine, in cycles of the core's clock: user
            program or kernel thread, in a guest or not, bound to a CPU or not, with interrupts or without.
            Also: layer, overhead, over fastest
            How: A pass counts the primes below 1,000,000 by trial division, in 16 portions; the layers take turns
            portion by portion, there and back. The same bytes of machine code run in each, at the same place of a
            page (CRC-32 and place are compared before any figure is shown, and so is the count, 78,498). Time is
            read from the counter that all layers share, the core's clock from dependent adds right before and
            after each portion; their product is cycles. `user again` is the bound user program once more: what
            differs is noise. `user real-time` runs with SCHED_FIFO, so that no other task takes its place.
            `kernel` is a thread of the kernel in a module that is loaded for the run (`--kernel`); with
            interrupts off they are let in between bursts of 2 ms at most, which then are no part of the time.
            `guest user` and `guest kernel` are raw KVM without other software; `guest OS user` and `guest OS
            kernel` are a user program of a whole operating system under QEMU (`--vm full`) and a thread of its
            kernel (with `--kernel`), withheld where QEMU emulates. That guest has two CPUs, each bound to one of
            this machine: what is bound there runs on the named CPU. A row's time is the mean of its passes; a step
            is the ratio of what both layers took in all portions that they ran in turn, so that bursts of other
            work count, with an interval from blocks of four portions that holds for all steps together. Published
            figures count ticks of the cycle counter.
            Usual: The layers of one machine lie within a few per cent of each other; passes of one layer within
            0.3 % on an idle machine.
            Moves: Interrupts, other tasks on the CPU, migrations, the sibling thread of the core, the hypervisor.
        "),
    COUNTER_SHARE = Definition::new("counter.share", "Top-down slots", "ratio", None, (0.0, 1.0))
        .at(&[Label::Category, Label::Workload, Label::Threads, Label::Placement])
        .part_of(Whole::Slots)
        .explained("
            Share of a core's issue slots by `category` (top-down): `retiring` did work,
            `bad-speculation` was thrown away, `frontend-bound` found no instruction to issue, `backend-bound`
            waited for memory or for an execution unit. Of imported records also level 2, two of each: heavy and light
            operations, branch mispredicts and machine clears, fetch latency and fetch bandwidth, memory and core bound.
            Also: retiring, bad speculation, front end, back end, top-down, heavy, light, mispredicts, clears, fetch latency,
            fetch bandwidth
            How: The CPU's own slots and top-down events where the kernel exposes them (Intel), their published
            formulas on AMD and Arm.
            Usual: Retiring 0.2 to 0.3 for databases, above 0.7 for tight loops. Backend-bound above 0.5 means
            that the core waits for memory most of the time.
            Moves: Working set, code size, branches.
        "),
}
