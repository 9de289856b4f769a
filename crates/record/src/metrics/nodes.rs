//! Distances: from node to node, from core to core.

use super::{Definition, HIGHER, LOWER, MOST_BANDWIDTH};
use crate::label::Label;

metrics! {
    NUMA_LATENCY = Definition::new("numa.latency", "NUMA latency", "ns", LOWER, (0.15, 1e6))
        .at(&[Label::From, Label::To])
        .explained("
            Time of one dependent load by a CPU of node `from` from memory of node `to`, ns: a matrix, whose
            diagonal is local.
            How: The chase of `load.latency` on huge pages that are bound to the node and proven to lie there page
            by page (`detail.on_node`); a cell with less than 99 % of its pages in place is withheld. Every line
            is thrown out of all caches before it is loaded, and loaded once, so that no cache of either node has
            a part in it. The columns of a row are measured in turn, round by round, so that what drifts touches
            all alike. Rows are nodes with CPUs, columns nodes with memory.
            Usual: Local 75 to 125 ns on servers. The other socket 1.5 to 2 times local on two Xeon packages, 2
            to 2.9 times on machines of several dies a package; nodes of one package 1.1 to 1.6 times.
            Moves: The way between the nodes, how the firmware interleaves memory, snooping, load on the links.
        "),
    NUMA_BANDWIDTH = Definition::new("numa.bandwidth", "NUMA bandwidth", "B/s", HIGHER, (1e5, MOST_BANDWIDTH))
        .at(&[Label::From, Label::To, Label::Op, Label::Threads])
        .explained("
            Bytes a second that all CPUs of node `from` (`threads` of them) read together from memory of node
            `to`.
            How: The `read` loop of `memory.bandwidth` with the widest vectors, each thread on its own part, all
            parts bound to `to` and proven there.
            Usual: A third to a half of local across packages on Xeon; a third on machines of several dies a
            package.
            Moves: Width and number of the links between packages, memory channels of the node, the number of CPUs
            a node has.
        "),
    // 0.5 ns: two siblings that share an L1 need a store and a load, some cycles.
    CORE_TO_CORE_LATENCY = Definition::new("core_to_core.latency", "Core-to-core latency", "ns", LOWER, (0.5, 1e8))
        .at(&[
            Label::From, Label::To, Label::Home, Label::Handover,
            Label::State, Label::WriterNode, Label::ReaderNode,
        ])
        .explained("
            Time that a cache line takes from one CPU to another, one way, ns. What a lock, a queue or a shared
            counter costs at least when two CPUs use it.
            Also: cas, compare and swap, kind of pair, slowest pair, one way, home, by stores
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
        "),
}
