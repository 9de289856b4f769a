//! Memory: latency and bandwidth.

use super::{Definition, HIGHER, LOWER, MOST_BANDWIDTH, Whole};
use crate::label::Label;

metrics! {
    // Below 0.15 ns no load-to-use latency exists: one cycle at 6.5 GHz.
    LOAD_LATENCY = Definition::new("load.latency", "Load latency", "ns", LOWER, (0.15, 1e5))
        .at(&[Label::Cpu, Label::Node, Label::Bytes, Label::Page])
        .explained("
            Time from one load to the next that needs its result, in ns, when the data lies scattered over a
            working set of `bytes`. Read as a curve over the working set it shows every cache as a step and memory
            as the end. It is the time a program waits when it follows pointers.
            Also: memory latency
            How: One cycle through every 64-byte line of the working set in random order, so that neither a
            prefetcher nor a predictor can help; warmed by reading every line once and then by the chase itself,
            until what stays in the caches is what its own slow pace keeps there; then samples of about 0.3 ms.
            Twice, size by size in turn: on 2 MiB pages, which is the hardware's own latency, and on 4 KiB pages,
            which adds the page walk. The largest set on 4 KiB pages is taken on three sets of pages of the
            machine where time allows (`sets_of_pages`: the median of each), since one process's pages can walk
            twice as dear as another's. `node` is where the memory was, `cpu` who asked.
            Usual: L1 4 to 5 cycles, L2 12 to 17 cycles, L3 34 to 80 cycles (10 to 35 ns) on today's server cores.
            Memory of the own node, idle: 80 to 90 ns on dual Xeon (Cascade Lake, Ice Lake), 95 to 97 ns on
            Sapphire Rapids with four nodes a package, 95 to 125 ns on EPYC and Hygon, 95 ns on Graviton2, 110 to
            115 ns on Graviton4, about 115 ns on Ampere Altra and Kunpeng 920, 150 ns on Phytium FT-2500.
            Moves: Memory speed, distance to the memory, page size, nested paging under a hypervisor, uncore
            clock, other load on the memory, the core's clock (caches only).
        "),
    LOAD_LATENCY_CYCLES = Definition::new("load.latency_cycles", "Load latency in cycles", "cycles", LOWER, (0.9, 3e5))
        .at(&[Label::Cpu, Label::Node, Label::Bytes, Label::Page])
        .explained("
            Load latency in cycles of the core's own clock: the form in which the maker's manual gives L1 and L2.
            Also: in cycles
            How: `load.latency` times the core clock measured beside it.
            Usual: L1 4 cycles (3 on some), L1 with 48 KiB 5 cycles, L2 12 to 17 cycles, L3 34 to 80 cycles.
            Moves: For L1 and L2 only the core design. For L3 and memory, which keep their own clock, more cycles
            as the core gets faster.
        "),
    LOAD_PARALLELISM = Definition::new("load.parallelism", "Memory-level parallelism", "ratio", HIGHER, (0.2, 64.0))
        .at(&[Label::Cpu, Label::Bytes, Label::Chains])
        .explained("
            How many cache misses one core keeps under way at once: how much faster `chains` independent pointer
            chases run than one after the other. Beside latency it decides how fast a single core can read memory.
            How: k chases through disjoint parts of the working set in one loop, k from 1 to 16; t(1) × k ÷ t(k).
            The largest of them is the core's memory-level parallelism.
            Usual: In memory about 8 to 16 on server cores: the number of line-fill buffers is the limit (10 on
            Intel to Broadwell, 12 since Skylake, 16 since Golden Cove; 22 to 24 on Zen 2 and Zen 3). In L1 it is
            limited by loads a cycle times latency.
            Moves: The core design, a busy sibling (which shares the buffers), 4 KiB pages (page walks take
            buffers too).
        "),
    MEMORY_BANDWIDTH = Definition::new("memory.bandwidth", "Memory bandwidth", "B/s", HIGHER, (1e6, MOST_BANDWIDTH))
        .at(&[Label::Op, Label::Stores, Label::BytesCounted, Label::Threads, Label::Cpus, Label::Node])
        .explained("
            Bytes a second that `threads` CPUs move between memory and themselves with one loop (`op`): read,
            write, copy, scale, add, triad or a mix. `stores` is `regular` or `streaming` (past the caches).
            Also: op, operation, memory bandwidth
            How: Arrays at least four times all last-level caches together, each thread on its own part that it
            touched first, widest vectors of the CPU, bytes counted only while all threads ran. Counted twice:
            `bytes_counted=stream` as STREAM does, loads and stores of the program; `bytes_counted=bus` adds a
            read of each line before a regular store to it (write-allocate). A processor may leave that read
            out, so for regular stores memory carried something between the two figures:
            `memory.write_allocate_avoided` tells where. The headline is the best triad of all CPUs in STREAM
            bytes, in every mode; memory carried at least as many, so they may be held against channels × MT/s
            × 8 B.
            Usual: One core 5 to 20 GB/s. All cores, triad: 190 GB/s on dual Cascade Lake, 320 on dual Ice Lake,
            424 on dual Sapphire Rapids, 330 to 350 on dual EPYC of Zen 3, 650 to 780 on dual EPYC of Zen 4 with
            stacked cache (Azure HBv4), 807 on two Grace: 2.7 to 5.7 GB/s per core of a whole server, more where
            few cores of one are a guest's. Reads: 225, 352 and 492 GB/s on the Xeons, 170 on
            Graviton2, 466 on Graviton4. Reads reach 75 to 95 % of what the channels could carry, triad 67 to 85
            %.
            Moves: Populated channels, configured memory speed, threads and where they run, streaming stores,
            remote memory, huge pages a little, memory bandwidth limits of a hypervisor.
        "),
    // A share, as far as the rates that it follows from allow it to be one.
    MEMORY_WRITE_ALLOCATE_AVOIDED = Definition::new("memory.write_allocate_avoided", "Write-allocate avoided", "ratio", HIGHER, (-1.0, 1.5))
        .at(&[Label::Threads, Label::Cpus])
        .part_of(Whole::Stores)
        .explained("
            The share of the lines overwritten whole by regular stores that the processor does not read first,
            with all CPUs writing: 0 reads each, 1 reads none.
            Also: write-allocate evasion, SpecI2M, write streaming
            How: All CPUs read, write with regular and with streaming stores, and copy with streaming stores, in
            turns. e = 2 − B ÷ R: R the bytes a second that regular stores write, B what the bus carries when all
            CPUs read or write with streaming stores, whichever is more. The median over the rounds; `by_copy` is
            the same with copies by streaming stores for B, which read and write in equal parts as a regular
            store with its read does. Unreliable, so that bus bytes are a range, where the two differ, where the
            interval is wide or outside 0 to 1, or where the CPUs do not saturate memory. Counters of the memory
            controllers are not read.
            Usual: 0 on Intel to Cascade Lake and AMD to Zen 4; up to about 0.5 on Ice Lake and later, near
            saturation; near 1 on Neoverse V2 and other Arm designs with write streaming. Not known of Kunpeng
            and Phytium.
            Moves: The processor's design, stores that leave lines in part, how full the memory is.
        "),
    MEMORY_LOADED_LATENCY = Definition::new("memory.loaded_latency", "Loaded latency", "ns", LOWER, (0.15, 1e6))
        .at(&[Label::Cpu, Label::Bandwidth, Label::ShareOfPeak])
        .explained("
            Load latency while other CPUs load the memory with `bandwidth` bytes a second. The curve stays flat,
            then bends: at the knee the memory is full in practice, whatever its peak.
            Also: loaders, loader, of loaders' maximum, share_of_peak
            How: A pointer chase on one CPU while all others read and write with a pause that shrinks step by
            step. The knee is where latency is twice idle. `share_of_peak` is the bandwidth over the most that
            these loaders read, which with few of them is less than memory can carry.
            Usual: Flat to 60 to 80 % of peak, then 2 to 4 times idle at the peak: dual Cascade Lake 79 ns at 3
            GB/s and 260 ns at 225 GB/s.
            Moves: All that moves bandwidth; one node's memory carrying the load of all.
        "),
    PROBE_LATENCY = Definition::new("probe.latency", "Memory probe", "ns", LOWER, (0.15, 1e6))
        .at(&[Label::Cpu, Label::Bandwidth, Label::ShareOfPeak])
        .explained("
            Time of a load of a line that was flushed from all caches just before, while other CPUs load the memory with
            `bandwidth` bytes a second: what `linespeed live` reads later to tell how full memory is.
            Also: software memory probe
            How: Bursts of 32 dependent loads of lines in one huge page, each flushed with CLFLUSH or DC CIVAC; the
            median of the bursts that nothing cut into. Taken beside `memory.loaded_latency`, between its samples.
            Usual: No usual range: it is held against its own without load.
            Moves: What moves `memory.loaded_latency`; in a guest also what the host's other guests do.
        "),
    STREAM_NS_PER_ELEMENT = Definition::new("stream.ns_per_element", "Time per element (lmbench stream)", "ns", LOWER, (1e-4, 1e5))
        .at(&[Label::Op, Label::Cpu, Label::Node])
        .explained("
            Time per element of the STREAM loops on one CPU, in ns. lmbench's `stream` prints this and calls it
            latency; it is not one. 16 B (copy, scale) or 24 B (add, triad) divided by it is STREAM bandwidth in
            GB/s.
            How: The same loops as `memory.bandwidth` with one thread, regular stores; `linespeed run numa` times copy
            and triad from each node's CPUs to each node's memory.
            Usual: Copy 1.1 to 1.6 ns on Xeon (Broadwell, Cascade Lake), 1.2 to 1.4 ns on Hygon, 1.8 ns on Kunpeng
            920, 2.8 ns on Phytium FT-2500; memory of the other socket 1.3 to 3 times as much.
            Moves: What moves `memory.bandwidth` of one core: distance to the memory, latency, misses under way at
            once, prefetchers.
        "),
}
