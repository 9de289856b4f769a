//! Metrics of cores: clock, instructions, siblings, cache lines, counters.

use super::{HIGHER, LOWER, Metric};
use crate::label::Label;

// 6.5 GHz: above the highest stock boost clock sold (6.2 GHz); overclocked records are not a server's.
pub(super) const CORE_CLOCK: Metric = Metric {
    name: "core.clock",
    title: "Core clock",
    unit: "Hz",
    better: HIGHER,
    keys: &[Label::Cpu, Label::Active, Label::Vector],
    plausible: (2e7, 6.5e9),
    glossary: "
        The clock that a core really runs at, in Hz: cycles a second while it works, not what a file in sysfs
        claims.
        How: A chain of dependent register additions takes one cycle each, so time tells the clock; a chain of
        dependent multiplies must give the same answer within 1 %. Time for 2N minus time for N, so that
        starting and stopping cancel. `active=one` runs alone, `active=all` on every CPU at once; `vector`
        says whether plain (`scalar`) or heavy 256-bit or 512-bit work ran beside it.
        Usual: 2 to 5.7 GHz. Servers: base clock 2.0 to 3.0 GHz, one core alone 3.2 to 4.5 GHz; all cores
        together a tenth to a third lower. Kunpeng 920 stays at 2.6 GHz and Phytium FT-2500 at 2.1 GHz,
        whatever runs.
        Moves: Governor, boost, EPP, limits set by hand, heat, power limits, how many cores work, wide
        vectors, a hypervisor that gives the CPU away.
    ",
};

// 0.5 ns: two siblings that share an L1 need a store and a load, some cycles.
pub(super) const CORE_TO_CORE_LATENCY: Metric = Metric {
    name: "core_to_core.latency",
    title: "Core-to-core latency",
    unit: "ns",
    better: LOWER,
    keys: &[
        Label::From,
        Label::To,
        Label::Home,
        Label::Handover,
        Label::State,
        Label::WriterNode,
        Label::ReaderNode,
    ],
    plausible: (0.5, 1e8),
    glossary: "
        Time that a cache line takes from one CPU to another, one way, ns. What a lock, a queue or a shared
        counter costs at least when two CPUs use it.
        Also: kind of pair, slowest pair, one way, home, by stores
        How: Two pinned threads hand one line back and forth; half the round trip, over eight lines, since
        some lines have their place in a nearer slice of the cache than others. `handover` says how: `cas` by
        trying to compare and swap until it succeeds, as a spin lock is taken and as other tools measure;
        `store` by waiting with plain loads and storing only on one's turn, as an index of a queue is passed
        on. Both are measured, in turns on the same lines. Maps, plans and sentences take `cas`; a comparison
        never holds one against the other. A record without `handover` is `store`. A fresh page for each pair,
        bound to the node `home` (that of `from`, then that of `to`), because a line that lives on a third
        node makes a pair look slower than it is. With more than 256 CPUs a sample of pairs of each kind
        (siblings, one cluster, one package, …).
        Usual: Siblings 5 to 10 ns; cores of one cache cluster 20 to 35 ns; of one package 45 to 60 ns (100
        and more across dies); across packages 110 to 270 ns. Which way is faster is the processor's choice: a
        Zen 4 guest takes half as long again by `store`. Of Intel MLC's, which are imported, `state` is that
        of the line in the other cache (`hit`, or `hitm`: modified), `writer_node` and `reader_node` are the
        nodes of the two CPUs, and no pair is told.
        Moves: Topology, the clock of cores and uncore, a hypervisor that moves CPUs about.
    ",
};

// 12: beyond the width of any core sold (Lion Cove and Cortex-X925 take in 8 to 10 instructions a cycle).
pub(super) const CORE_IPC: Metric = Metric {
    name: "core.ipc",
    title: "IPC",
    unit: "instructions/cycle",
    better: HIGHER,
    keys: &[
        Label::Workload,
        Label::Cpu,
        Label::Kind,
        Label::Threads,
        Label::Placement,
        Label::Source,
        Label::Scope,
    ],
    plausible: (1e-4, 12.0),
    glossary: "
        Instructions that a core completes in a cycle of its clock while it runs a workload.
        Also: instructions a cycle, instructions per cycle, ipc counted
        How: `source=declared`: the instructions that the loop is known to have, over time × the clock
        measured beside it; needs no counter. `source=pmu`: instructions and cycles as the hardware counted
        them. Where there are both they agree within 1 %.
        Usual: `nop` reads the width of the core: 4 to 10 on today's cores, twice that where it takes two nops
        as one (Zen 4). Databases run at 0.3 to 1, a chain of dependent loads far below 0.1.
        Moves: Waiting for memory, mispredicted branches, a busy sibling (which takes half), the mix of
        instructions.
    ",
};

// Eight siblings a core is the most that runs Linux (POWER); each can at best be worth a core of its own.
pub(super) const SMT_YIELD: Metric = Metric {
    name: "smt.yield",
    title: "SMT yield",
    unit: "ratio",
    better: HIGHER,
    keys: &[Label::Workload, Label::Core],
    plausible: (0.05, 8.5),
    glossary: "
        Throughput of all siblings of a core together, relative to one of them alone. 1 means that the second
        thread brought nothing, 2 that it is worth a core.
        How: One alone and all of the core in turn, in interleaved rounds; median of the rounds' ratios.
        Usual: 1.0 to 1.3 for compute-bound work, up to 1.75 for divisions on Intel, 1.02 to 1.04 for the same
        on AMD; more where threads wait for memory.
        Moves: The workload. A machine's number of CPUs counts siblings as if this were 2. It is a finding
        where siblings together are slower than one alone, and, as a note, where they add less than a quarter
        of a core or more than three quarters.
    ",
};

pub(super) const COUNTER_COUNT: Metric = Metric {
    name: "counter.count",
    title: "Counters",
    unit: "count",
    better: None,
    keys: &[
        Label::Event,
        Label::Workload,
        Label::Cpu,
        Label::Threads,
        Label::Placement,
        Label::Thread,
        Label::Scope,
    ],
    plausible: (0.0, 1e19),
    glossary: "
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
    ",
};

pub(super) const COUNTER_SHARE: Metric = Metric {
    name: "counter.share",
    title: "Top-down slots",
    unit: "ratio",
    better: None,
    keys: &[Label::Category, Label::Workload, Label::Threads, Label::Placement],
    plausible: (0.0, 1.0),
    glossary: "
        Share of a core's issue slots by `category` (top-down, level 1): `retiring` did work,
        `bad-speculation` was thrown away, `frontend-bound` found no instruction to issue, `backend-bound`
        waited for memory or for an execution unit.
        Also: retiring, bad speculation, front end, back end, top-down
        How: The CPU's own slots and top-down events where the kernel exposes them (Intel), their published
        formulas on AMD and Arm.
        Usual: Retiring 0.2 to 0.3 for databases, above 0.7 for tight loops. Backend-bound above 0.5 means
        that the core waits for memory most of the time.
        Moves: Working set, code size, branches.
    ",
};
