//! The definitions, in display order. Their descriptions are in `glossary/metrics.md`.

use super::*;
use crate::Label::*;

metrics! {
    // The core's clock. The limit of 6.5 GHz is above the highest stock boost clock on the market (6.2 GHz); extreme
    // overclocking does not occur on servers.
    CORE_CLOCK = Definition::new("core.clock", "Core clock", "Hz", HIGHER, (2e7, 6.5e9))
        .at(&[Cpu, Active, Vector]),

    // Memory: latency and bandwidth.
    // No load-to-use latency is below 0.15 ns: one cycle at 6.5 GHz.
    LOAD_LATENCY = Definition::new("load.latency", "Load latency", "ns", LOWER, (0.15, 1e5))
        .at(&[Cpu, Node, Bytes, Page]),
    LOAD_LATENCY_CYCLES = Definition::new("load.latency_cycles", "Load latency in cycles", "cycles", LOWER, (0.9, 3e5))
        .at(&[Cpu, Node, Bytes, Page]),
    LOAD_PARALLELISM = Definition::new("load.parallelism", "Memory-level parallelism", "ratio", HIGHER, (0.2, 64.0))
        .at(&[Cpu, Bytes, Chains]),
    MEMORY_BANDWIDTH = Definition::new("memory.bandwidth", "Memory bandwidth", "B/s", HIGHER, (1e6, MOST_BANDWIDTH))
        .at(&[Op, Stores, BytesCounted, Threads, Cpus, Node]),
    // This is computed from rates, so it may lie slightly outside 0 to 1.
    MEMORY_WRITE_ALLOCATE_AVOIDED = Definition::new("memory.write_allocate_avoided", "Write-allocate avoided", "ratio", HIGHER, (-1.0, 1.5))
        .at(&[Threads, Cpus])
        .part_of(Whole::Stores),
    MEMORY_LOADED_LATENCY = Definition::new("memory.loaded_latency", "Loaded latency", "ns", LOWER, (0.15, 1e6))
        .at(&[Cpu, Bandwidth, ShareOfPeak]),
    PROBE_LATENCY = Definition::new("probe.latency", "Memory probe", "ns", LOWER, (0.15, 1e6))
        .at(&[Cpu, Bandwidth, ShareOfPeak]),
    STREAM_NS_PER_ELEMENT = Definition::new("stream.ns_per_element", "Time per element (lmbench stream)", "ns", LOWER, (1e-4, 1e5))
        .at(&[Op, Cpu, Node]),

    // Costs of the kernel and the hypervisor: wake-ups, stolen time, system calls.
    WAKEUP_LATENCY = Definition::new("wakeup.latency", "Wake-up latency", "ns", LOWER, (0.0, TEN_SECONDS))
        .at(&[Cpu, Policy, Priority, Setting, Corrected]),
    // cyclictest's summary line has no median; these metrics are its Min, Avg and Max.
    WAKEUP_MINIMUM = Definition::new("wakeup.minimum", "Wake-up latency, minimum", "ns", LOWER, (0.0, TEN_SECONDS))
        .at(&[Cpu, Policy, Priority, Setting]),
    WAKEUP_AVERAGE = Definition::new("wakeup.average", "Wake-up latency, average", "ns", LOWER, (0.0, TEN_SECONDS))
        .at(&[Cpu, Policy, Priority, Setting]),
    WAKEUP_MAXIMUM = Definition::new("wakeup.maximum", "Wake-up latency, maximum", "ns", LOWER, (0.0, TEN_SECONDS))
        .at(&[Cpu, Policy, Priority, Setting]),
    STOLEN_SHARE = Definition::new("stolen.share", "Time lost to interruptions", "ratio", LOWER, (0.0, 1.0))
        .at(&[Cpu, Cause])
        .part_of(Whole::Time)
        .added_up(),
    STOLEN_GAP = Definition::new("stolen.gap", "Gaps in busy loops", "ns", LOWER, (0.0, TEN_SECONDS))
        .at(&[Cpu, Cause]),
    COST_SYSCALL = Definition::new("cost.syscall", "System call", "ns", LOWER, (1.0, 1e7)).at(&[Cpu]),
    COST_CLOCK_READ = Definition::new("cost.clock_read", "Clock read", "ns", LOWER, (0.5, 1e7))
        .at(&[Cpu, Clocksource]),
    COST_CONTEXT_SWITCH = Definition::new("cost.context_switch", "Context switch", "ns", LOWER, (10.0, 1e8))
        .at(&[Cpu, ToCpu]),
    COST_PAGE_FAULT = Definition::new("cost.page_fault", "Page fault", "ns", LOWER, (10.0, TEN_SECONDS))
        .at(&[Cpu, Page]),
    COST_MUTEX_HANDOVER = Definition::new("cost.mutex_handover", "Mutex handover", "ns", LOWER, (10.0, 1e8))
        .at(&[Cpu, ToCpu]),
    COST_BRANCH_MISPREDICT = Definition::new("cost.branch_mispredict", "Branch mispredict", "ns", LOWER, (0.1, 1e4))
        .at(&[Cpu]),
    COST_SPIN_HINT = Definition::new("cost.spin_hint", "Spin hint", "ns", LOWER, (0.05, 1e5)).at(&[Cpu]),
    POWER_PACKAGE = Definition::new("power.package", "Power", "W", None, (0.05, 20_000.0))
        .at(&[Workload, Scope]),

    // Distances from node to node and from core to core.
    NUMA_LATENCY = Definition::new("numa.latency", "NUMA latency", "ns", LOWER, (0.15, 1e6)).at(&[From, To]),
    NUMA_BANDWIDTH = Definition::new("numa.bandwidth", "NUMA bandwidth", "B/s", HIGHER, (1e5, MOST_BANDWIDTH))
        .at(&[From, To, Op, Threads]),
    // At least 0.5 ns: even two siblings that share an L1 need a store and a load, which take several cycles.
    CORE_TO_CORE_LATENCY = Definition::new("core_to_core.latency", "Core-to-core latency", "ns", LOWER, (0.5, 1e8))
        .at(&[From, To, Home, Handover, State, WriterNode, ReaderNode]),

    // CPU time by state, and event rates, as printed by monitoring tools.
    CPU_STATE = Definition::new("cpu.state", "CPU time by state", "ratio", None, (0.0, 1.0))
        .at(&[Cpu, State])
        .part_of(Whole::Time),
    EVENT_RATE = Definition::new("event.rate", "Events per second", "1/s", None, (0.0, 1e12))
        .at(&[Cpu, Event]),

    // Completed work: workloads, commands, counters, layers. The unit of work depends on the workload (`detail.work`),
    // so only absurd rates are withheld.
    WORKLOAD_THROUGHPUT = Definition::new("workload.throughput", "Workload throughput", "work/s", HIGHER, (1e-9, 1e18))
        .at(&[Workload, Bytes, Threads, Placement, Setting]),
    WORKLOAD_TIME = Definition::new("workload.time", "Workload run time", "s", LOWER, (0.0, 1e9))
        .at(&[Workload, Cpu, Threads, Placement]),
    WORKLOAD_CPU_TIME = Definition::new("workload.cpu_time", "CPU time", "s", LOWER, (0.0, 1e9))
        .at(&[Workload, State, Thread])
        .part_of(Whole::Time),
    // The limit of 12 exceeds the width of any core on the market (Lion Cove and Cortex-X925 decode 8 to 10
    // instructions per cycle).
    CORE_IPC = Definition::new("core.ipc", "IPC", "instructions/cycle", HIGHER, (1e-4, 12.0))
        .at(&[Workload, Cpu, Kind, Threads, Placement, Source, Scope]),
    // No machine that runs Linux has more than eight siblings per core (POWER); each adds at most one full core.
    SMT_YIELD = Definition::new("smt.yield", "SMT yield", "ratio", HIGHER, (0.05, 8.5)).at(&[Workload, Core]),
    COUNTER_COUNT = Definition::new("counter.count", "Counters", "count", None, (0.0, 1e19))
        .at(&[Event, Workload, Cpu, Threads, Placement, Thread, Scope]),
    // One pass of the same routine in each layer; published results are in ticks of the cycle counter.
    LAYER_TIME = Definition::new("layer.time", "Routine time by layer", "cycles", LOWER, (1.0, 1e18))
        .at(&[Layer, Bound, Interrupts])
        .added_up(),
    COUNTER_SHARE = Definition::new("counter.share", "Top-down slots", "ratio", None, (0.0, 1.0))
        .at(&[Category, Workload, Threads, Placement])
        .part_of(Whole::Slots),
}
