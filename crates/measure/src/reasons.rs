//! Reasons and remedies shared by several measurements.

use record::Template;

/// Nothing to run on.
pub(crate) const NO_CPU: Template = Template::new("no-cpu-allowed", "no CPU is available");

/// A measurement between CPUs on a single one.
pub(crate) const NEEDS_TWO_CPUS: Template = Template::new("needs-two-cpus", "it needs two CPUs");

/// The remedy for too few CPUs.
pub(crate) const MORE_CPUS: Template =
    Template::new("allow-more-cpus", "allow more CPUs (--cpus, taskset, cpuset)");

/// The one thread of a measurement.
pub(crate) const OWN_THREAD_NOT_STARTED: Template =
    Template::new("own-thread-not-started", "its thread could not be started");

/// One of several threads.
pub(crate) const THREAD_NOT_STARTED: Template =
    Template::new("thread-not-started", "a thread could not be started");

/// CPUs that sched_setaffinity refuses.
pub(crate) const NOT_PINNED: Template =
    Template::new("not-pinned", "no thread could be pinned to CPU {cpus}");

/// The remedy for a CPU to which no thread can be pinned.
pub(crate) const LEAVE_OUT: Template = Template::new("cpu-leave-out", "linespeed --cpus LIST, excluding it");

/// Memory that mmap refuses.
pub(crate) const NOT_MAPPED: Template = Template::new("memory-not-mapped", "cannot map the memory: {error}");

/// Nothing to chase through.
pub(crate) const NO_MEMORY: Template = Template::new("no-memory-left", "not enough memory for a working set");

/// The remedy for too little memory.
pub(crate) const MORE_MEMORY: Template =
    Template::new("memory-limit-raise", "raise the memory limit or free memory");

/// The remedy for too little memory on a node.
pub(crate) const FREE_MEMORY: Template =
    Template::new("numa-free-memory", "free memory on that node: numactl --hardware shows how much it has");

/// The remedy for memory that cannot be bound to its node.
pub(crate) const ALLOW_MBIND: Template =
    Template::new("mbind-allow", "allow mbind, which a seccomp filter blocks");

/// Pages whose place the kernel does not report.
pub(crate) const PLACEMENT_NOT_VERIFIED: Template =
    Template::new("placement-not-verified", "placement is not verified: {why}");

/// Pages whose size the kernel does not report.
pub(crate) const PAGE_SIZE_NOT_VERIFIED: Template =
    Template::new("page-size-not-verified", "the page size is not verified: /proc/self/smaps cannot be read");

/// The remedy for missing huge pages.
pub(crate) const HUGE_PAGES: Template = Template::new(
    "huge-pages-provide",
    "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, or reserve huge pages with vm.nr_hugepages",
);

/// A CPU without the vectors of any read loop.
pub(crate) const NO_READ_KERNEL: Template = Template::new("no-read-kernel", "no read kernel is usable here");
